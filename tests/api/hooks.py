"""What a request must be beside its schema, so that a run can go on and a good request is taken."""

import itertools
import os

import schemathesis

OWN_KEY = os.environ["ASSENT_API_KEY_ID"]
numbers = itertools.count()


@schemathesis.hook
def filter_case(context, case):
    """Nobody revokes the key that the rest of the run needs."""
    return not is_end_of_the_run(case)


def is_end_of_the_run(case):
    revokes = case.operation.definition.raw.get("operationId") == "revokeApiKey"
    return revokes and (case.path_parameters or {}).get("keyId") == OWN_KEY


@schemathesis.hook
def before_call(context, case, kwargs):
    """Each request has an idempotency key of its own: one that came before would be another request's, and is refused (422).
    And a cursor is what a page gave, which no schema can say: one that is made up is refused (422)."""
    if is_end_of_the_run(case):
        case.path_parameters["keyId"] = "01M3R53Q5SZQ6FQSMSDBSSREAZ"
    for name, key in [] if is_without_api_key(case) else list((case.headers or {}).items()):
        if name.lower() == "idempotency-key" and is_good_key(key):
            case.headers[name] = f"{key}-{next(numbers)}"[-255:]
    cursor = (case.query or {}).get("cursor")
    if isinstance(cursor, str) and cursor:
        del case.query["cursor"]


def is_without_api_key(case):
    """Headers that are set here would bring `Authorization` back with them."""
    data = getattr(getattr(case.meta, "phase", None), "data", None)
    return str(getattr(data, "parameter", "")).lower() == "authorization"


def is_good_key(key):
    return isinstance(key, str) and 1 <= len(key) <= 255 and all("!" <= letter <= "~" for letter in key)
