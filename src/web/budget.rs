//! What a route's requests are counted against, and how it answers when nothing is left: 429 with a `Retry-After` that is
//! true (RFC 6585 §4, PACT §6).
//!
//! An address is counted before anybody is authenticated; a caller only after its JWT was verified, so that nobody spends
//! another's budget. A JWT that is refused is counted against the address, and none is looked at from an address that has nothing left.

use actix_web::{HttpMessage as _, HttpRequest, HttpResponse};

use super::api::problem::Problem;
use super::extract::client_address;
use super::{admin, consent};
use super::{app, error};
use crate::domain::id::Caller;
use crate::limits::Spent;

/// What a route's requests are counted against.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Budget {
    /// Nothing: signs of life.
    Unlimited,
    /// Its address, as everything that has no other: documents, files, what is not there.
    Address,
    /// Its address's pages and forms.
    Page,
    /// The same on the administrators' listener.
    Console,
    /// Its address too, and answered as the JSON API does.
    ApiKey,
    /// The caller, which speaks A2A.
    A2aCaller,
    /// The caller, which speaks OAuth.
    OAuthCaller,
}

/// Counts a request that came to a route, as far as it can be without knowing the caller. Gives the answer to one that is
/// too much.
pub(super) fn refusal(req: &HttpRequest, budget: Budget) -> Option<HttpResponse> {
    if budget == Budget::Unlimited {
        return None;
    }
    let (limits, from) = (&app(req).limits, client_address::counted(req));
    req.extensions_mut().insert(budget);
    let counted = match budget {
        Budget::Unlimited => Ok(()),
        Budget::Address | Budget::ApiKey => limits.address(&from),
        Budget::Page | Budget::Console => limits.page(&from),
        Budget::A2aCaller | Budget::OAuthCaller => limits.address_left(&from),
    };
    counted.err().map(|spent| too_much(req, budget, spent))
}

/// Counts a request whose JWT was refused.
pub(super) fn note_refused(req: &HttpRequest) {
    // Of those that were looked at together some may find nothing left; they are answered like the others.
    let _ = app(req).limits.address(&client_address::counted(req));
}

/// Counts a request of `caller`, whose JWT was verified. Gives the answer to one that is too much.
pub(super) fn refusal_of_caller(req: &HttpRequest, caller: &Caller) -> Option<HttpResponse> {
    let budget = req.extensions().get::<Budget>().copied().unwrap_or(Budget::A2aCaller);
    app(req).limits.caller(caller).err().map(|spent| too_much(req, budget, spent))
}

/// Counts a request with a resource-server key, good or not. Gives the answer to one that is too much.
pub(super) fn refusal_of_resource_server(req: &HttpRequest) -> Option<HttpResponse> {
    let spent = app(req).limits.address(&client_address::counted(req)).err();
    spent.map(|spent| too_much(req, Budget::OAuthCaller, spent))
}

fn too_much(req: &HttpRequest, budget: Budget, Spent { retry_after }: Spent) -> HttpResponse {
    match budget {
        Budget::Unlimited | Budget::Address | Budget::A2aCaller => error::too_many_requests(retry_after),
        Budget::Page => consent::too_many_requests(req, retry_after),
        Budget::Console => admin::too_many_requests(retry_after),
        Budget::ApiKey => error::problem(Problem::TooMany(Spent { retry_after })),
        Budget::OAuthCaller => error::oauth_too_many_requests(retry_after),
    }
}
