//! Personal agents in the console: the list, one with what lives under it, and what becomes of it.

mod change;
mod list;
mod one;

use actix_web::{HttpRequest, HttpResponse, web};

use super::list::{address, export, show};
use crate::domain::id::Issuer;
use list::PersonalAgents;

pub use change::{
    change_personal_agent, disable_personal_agent, enable_personal_agent, register_personal_agent,
    show_register_personal_agent,
};
pub use one::show_personal_agent;

/// The address of a personal agent's page.
pub(super) fn address_of(issuer: &Issuer) -> String {
    address("/personal-agents/one", [("issuer", issuer.as_str())])
}

/// The list.
pub async fn show_personal_agents(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    show::<PersonalAgents>(&req).await
}

/// The list as CSV.
pub async fn export_personal_agents(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    export::<PersonalAgents>(&req).await
}
