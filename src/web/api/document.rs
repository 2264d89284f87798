//! The OpenAPI 3.1 document, generated from the table of operations and the types that they read and answer.

use std::sync::LazyLock;

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::input::Parameter;
use super::operation::Operation;
use super::serve::IDEMPOTENCY_KEY;
use super::{PREFIX, table};
use crate::protocol::admin::ProblemJson;
use crate::web::error::Kind;

const DESCRIPTION: &str = "\
What an administrator of an Assent Provider sees and does, for programs. Each request carries an API key.

A role that does not allow an operation gets 403; what belongs to a Brand out of the key's reach is not there (404). What \
is wrong is told as `application/problem+json` (RFC 9457), with the `parameter` where it is one. Ids that hold a slash, \
such as issuers, are percent-encoded in a path. Lists come in pages: `nextCursor` of one asks for the next.

A write may carry an `Idempotency-Key`. It is carried out once at most; sent again within 24 hours, it gets the same \
answer with `Idempotency-Replayed: true`. Another request under the same key is refused (422), and so is the same one while \
the first is still being carried out (409 `under-way`). After 503 and 429 nothing was done, and the same may be sent again. \
When something went wrong in the middle nobody knows whether it was done, and it is not done a second time (409 \
`outcome-unknown`): look, and use another key.";

/// The document as JSON.
pub fn text() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| document().to_string());
    &TEXT
}

fn document() -> Value {
    let mut settings = SchemaSettings::draft2020_12().for_serialize();
    settings.meta_schema = None;
    settings.definitions_path = "/components/schemas".into();
    let mut generator = settings.into_generator();
    let problem: Value = generator.subschema_for::<ProblemJson>().into();
    let (mut paths, mut bodies) = (Map::new(), Map::new());
    for operation in table::operations() {
        let described = described(&operation, &mut generator, &mut bodies);
        let path = paths.entry(operation.path).or_insert_with(|| Value::Object(Map::new()));
        set(path, &operation.method.as_str().to_ascii_lowercase(), described);
    }
    let mut schemas = generator.take_definitions(true);
    schemas.extend(bodies);
    schemas.sort_keys();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Assent administration", "version": "1", "description": DESCRIPTION,
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "servers": [{ "url": PREFIX }],
        "security": [{ "apiKey": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "apiKey": {
                "type": "http", "scheme": "bearer",
                "description": "An API key, `assent_key_…`, as `assent admin key create` or `createApiKey` makes it.",
            } },
            "responses": responses(&problem),
            "schemas": schemas,
        },
    })
}

/// Each status of a problem as a response.
fn responses(problem: &Value) -> Value {
    let mut all = Map::new();
    for kind in Kind::ALL {
        let name = format!("{}", kind.status.as_u16());
        let title = kind.title;
        let entry = all.entry(name).or_insert_with(|| {
            json!({
                "description": "", "headers": headers_of(kind),
                "content": { "application/problem+json": { "schema": problem } },
            })
        });
        let so_far = entry.get("description").and_then(Value::as_str).unwrap_or_default();
        let words = if so_far.is_empty() { title.to_owned() } else { format!("{so_far}; or: {title}") };
        set(entry, "description", words.into());
    }
    Value::Object(all)
}

fn headers_of(kind: &Kind) -> Value {
    match kind.status.as_u16() {
        401 => json!({ "WWW-Authenticate": { "required": true, "schema": { "type": "string" } } }),
        405 => json!({ "Allow": { "required": true, "schema": { "type": "string" } } }),
        429 | 503 => json!({ "Retry-After": {
            "required": true, "schema": { "type": "string", "pattern": "^[1-9][0-9]*$" },
            "description": "Waiting so many seconds works.",
        } }),
        _ => json!({}),
    }
}

fn described(operation: &Operation, generator: &mut SchemaGenerator, bodies: &mut Map<String, Value>) -> Value {
    let in_path = operation.in_path.iter().map(|parameter| described_parameter("path", true, parameter));
    let in_query = operation.in_query.iter().map(|parameter| described_parameter("query", false, parameter));
    let mut parameters: Vec<Value> = in_path.chain(in_query).collect();
    if operation.effect.writes() {
        parameters.push(json!({
            "name": IDEMPOTENCY_KEY, "in": "header", "required": false,
            "description": "Names this request, so that it is carried out once however often it is sent.",
            "schema": { "type": "string", "minLength": 1, "maxLength": 255, "pattern": "^[!-~]+$" },
        }));
    }
    let mut answer = json!({
        "description": "It is so.",
        "content": { "application/json": { "schema": (operation.answer)(generator) } },
    });
    if operation.effect.writes() {
        let replayed = json!({ "Idempotency-Replayed": {
            "description": "Whether this was answered before, under the same key.", "schema": { "const": "true" },
        } });
        set(&mut answer, "headers", replayed);
    }
    let mut responses = Map::from_iter([(operation.status.to_string(), answer)]);
    for status in statuses(operation) {
        responses.insert(status.to_string(), json!({ "$ref": format!("#/components/responses/{status}") }));
    }
    let mut described = json!({
        "operationId": operation.id,
        "summary": operation.summary,
        "description": format!("For {}.", operation.effect.roles()),
        "tags": [operation.noun()],
        "parameters": parameters,
        "responses": responses,
    });
    if let Some((schema, example)) = &operation.body {
        let name = format!("{}Body", capitalised(operation.id));
        let body = json!({
            "required": true,
            "content": { "application/json": {
                "schema": { "$ref": format!("#/components/schemas/{name}") }, "example": example,
            } },
        });
        set(&mut described, "requestBody", body);
        bodies.insert(name, schema.clone());
    }
    described
}

fn set(object: &mut Value, name: &str, value: Value) {
    if let Some(object) = object.as_object_mut() {
        object.insert(name.to_owned(), value);
    }
}

/// What can go wrong.
fn statuses(operation: &Operation) -> Vec<u16> {
    let has_body = operation.body.is_some();
    let mut statuses = vec![400, 401, 404, 405, 408, 413, 415, 422, 429, 500, 503];
    if operation.effect.writes() {
        statuses.extend([403, 409]);
    }
    if operation.id == "getGrantEvidence" {
        statuses.push(409);
    }
    statuses.retain(|status| match status {
        415 => true,
        408 => has_body || operation.effect.writes(),
        _ => true,
    });
    statuses.sort_unstable();
    statuses
}

fn described_parameter(place: &str, required: bool, Parameter { name, schema }: &Parameter) -> Value {
    let mut schema = schema.clone();
    let description = schema.as_object_mut().and_then(|schema| schema.remove("description"));
    json!({
        "name": name, "in": place, "required": required, "schema": schema,
        "description": description.unwrap_or_default(),
    })
}

fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
