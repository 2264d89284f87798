//! Every method and path, in one table, with the budget that its requests are counted against.
//!
//! A path that no row has is 404, a method that the row has not is 405 with `Allow`; both without a body (PACT §2). `HEAD`
//! works wherever `GET` does. A path is percent-decoded once before it is compared, and compared to the letter.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use actix_web::guard::{self, GuardContext};
use actix_web::http::Method;
use actix_web::{HttpRequest, HttpResponse, Resource, web};
use futures_util::FutureExt as _;

use super::budget::{self, Budget};
use super::site::{self, Site};
use super::{a2a, admin, consent, documents, error, grants, health, oauth, request, shared_app, static_files};

/// The Provider's host: its Brands' interfaces, and the authorization servers of those that have no host of their own.
fn provider() -> Vec<Row> {
    let mut rows = vec![
        Row::at("/healthz", Budget::Unlimited).get(health::healthz),
        Row::at("/a2a/{brand}/.well-known/agent-card.json", Budget::Address).get(documents::card),
        Row::at("/.well-known/oauth-authorization-server/a2a/{brand}/oauth", Budget::Address).get(documents::metadata),
        Row::at("/static/{file:.*}", Budget::Address).get(static_file),
    ];
    rows.extend(issuer("/a2a/{brand}/oauth"));
    rows.extend(interface("/a2a/{brand}"));
    rows
}

/// A host that a Brand points here: its authorization server and nothing else.
fn brand() -> Vec<Row> {
    let mut rows = vec![
        Row::at("/healthz", Budget::Unlimited).get(health::healthz),
        Row::at("/.well-known/agent-card.json", Budget::Address).get(documents::to_card),
        Row::at("/static/{file:.*}", Budget::Address).get(static_file),
    ];
    rows.extend(issuer(""));
    rows
}

/// What is under an issuer, wherever that is.
fn issuer(prefix: &str) -> Vec<Row> {
    let at = |path: &str, budget| Row::at(&format!("{prefix}{path}"), budget);
    vec![
        at("/.well-known/oauth-authorization-server", Budget::Address).get(documents::metadata),
        at("/jwks.json", Budget::Address).get(documents::jwks),
        at("/device_authorization", Budget::OAuthCaller).post(oauth::device_authorization),
        at("/token", Budget::OAuthCaller).post(oauth::token),
        at("/revoke", Budget::OAuthCaller).post(oauth::revoke),
        at("/introspect", Budget::OAuthCaller).post(oauth::introspect),
        at("/consent", Budget::Page).get(consent::show).post(consent::sign_in),
        at("/consent/decision", Budget::Page).get(consent::show_decided).post(consent::decide),
        at("/grants", Budget::Page).get(grants::show).post(grants::sign_in),
        at("/grants/revoke", Budget::Page).post(grants::revoke),
    ]
}

/// What is under a Brand's interface URL (PACT §2.2).
fn interface(prefix: &str) -> Vec<Row> {
    let at = |path: &str| Row::at(&format!("{prefix}{path}"), Budget::A2aCaller);
    vec![
        at("/message:send").post(a2a::send),
        at("/message:stream").post(a2a::unsupported),
        at("/extendedAgentCard").get(a2a::unsupported),
        at("/tasks").get(a2a::list_tasks),
        at("/tasks/{id:[^/]+}:cancel").post(a2a::no_task),
        at("/tasks/{id:[^/]+}:subscribe").get(a2a::unsupported).post(a2a::unsupported),
        at("/tasks/{id}/pushNotificationConfigs").get(a2a::no_push_notifications).post(a2a::no_push_notifications),
        at("/tasks/{id}/pushNotificationConfigs/{config}")
            .get(a2a::no_push_notifications)
            .delete(a2a::no_push_notifications),
        at("/tasks/{id}").get(a2a::no_task),
    ]
}

async fn static_file(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    static_files::respond(&site::path_parameter(&req, "file"))
}

/// The administrators' listener.
fn administrators() -> Vec<Row> {
    let mut rows = vec![
        Row::at("/healthz", Budget::Unlimited).get(health::healthz),
        Row::at("/readyz", Budget::Unlimited).get(health::readyz),
        Row::at("/metrics", Budget::Unlimited).get(health::metrics),
        Row::at("/static/{file:.*}", Budget::Address).get(static_file),
        Row::at("/", Budget::Console).get(admin::overview::show),
        Row::at("/log-in", Budget::Console).get(admin::show_log_in).post(admin::log_in),
        Row::at("/log-in/code", Budget::Console).get(admin::show_second_factor).post(admin::second_factor),
        Row::at("/log-out", Budget::Console).post(admin::log_out),
        Row::at("/search", Budget::Console).get(admin::search),
        Row::at("/grants", Budget::Console).get(admin::show_grants),
        Row::at("/grants.csv", Budget::Console).get(admin::export_grants),
        Row::at("/grants/revoke", Budget::Console).get(admin::show_revoke_grants).post(admin::revoke_grants),
        Row::at("/grants/{grant}", Budget::Console).get(admin::show_grant),
        Row::at("/grants/{grant}/evidence", Budget::Console).get(admin::export_evidence),
        Row::at("/grants/{grant}/revoke", Budget::Console).post(admin::revoke_grant),
        Row::at("/personal-agents", Budget::Console).get(admin::show_personal_agents),
        Row::at("/personal-agents.csv", Budget::Console).get(admin::export_personal_agents),
        Row::at("/personal-agents/one", Budget::Console).get(admin::show_personal_agent),
        Row::at("/personal-agents/register", Budget::Console)
            .get(admin::show_register_personal_agent)
            .post(admin::register_personal_agent),
        Row::at("/personal-agents/change", Budget::Console).post(admin::change_personal_agent),
        Row::at("/personal-agents/disable", Budget::Console).post(admin::disable_personal_agent),
        Row::at("/personal-agents/enable", Budget::Console).post(admin::enable_personal_agent),
        Row::at("/account", Budget::Console).get(admin::show_account),
        Row::at("/account/password", Budget::Console).post(admin::change_password),
        Row::at("/account/second-factor", Budget::Console).post(admin::enable_second_factor),
        Row::at("/account/second-factor/off", Budget::Console).post(admin::disable_second_factor),
    ];
    rows.extend(brands_and_keys());
    rows.extend(people_and_records());
    rows
}

/// The console's pages of Brands and what they sign with.
fn brands_and_keys() -> Vec<Row> {
    vec![
        Row::at("/brands", Budget::Console).get(admin::brands::list),
        Row::at("/brands.csv", Budget::Console).get(admin::brands::export_list),
        Row::at("/brands/new", Budget::Console).get(admin::brands::show_new).post(admin::brands::create),
        Row::at("/brands/{brand}", Budget::Console).get(admin::brands::show),
        Row::at("/brands/{brand}/change", Budget::Console).get(admin::brands::show_change).post(admin::brands::change),
        Row::at("/brands/{brand}/remove", Budget::Console).get(admin::brands::show_remove).post(admin::brands::remove),
        Row::at("/brands/{brand}/rotate", Budget::Console).get(admin::keys::show_rotate).post(admin::keys::rotate),
        Row::at("/brands/{brand}/resource-server-keys", Budget::Console)
            .get(admin::resource_server_keys::show_create)
            .post(admin::resource_server_keys::create),
        Row::at("/resource-server-keys/{key}/revoke", Budget::Console)
            .get(admin::resource_server_keys::show_revoke)
            .post(admin::resource_server_keys::revoke),
        Row::at("/keys", Budget::Console).get(admin::keys::list),
        Row::at("/keys.csv", Budget::Console).get(admin::keys::export_list),
        Row::at("/keys/{key}", Budget::Console).get(admin::keys::show),
        Row::at("/keys/{key}/retire", Budget::Console).get(admin::keys::show_retire).post(admin::keys::retire),
        Row::at("/keys/{key}/compromise", Budget::Console)
            .get(admin::keys::show_compromise)
            .post(admin::keys::compromise),
    ]
}

/// The console's pages of administrators, API keys, receipts and the audit log.
fn people_and_records() -> Vec<Row> {
    vec![
        Row::at("/receipts", Budget::Console).get(admin::receipts::list),
        Row::at("/receipts.csv", Budget::Console).get(admin::receipts::export_list),
        Row::at("/receipts/{receipt}", Budget::Console).get(admin::receipts::show),
        Row::at("/audit", Budget::Console).get(admin::audit::list),
        Row::at("/audit.csv", Budget::Console).get(admin::audit::export_list),
        Row::at("/audit/verify", Budget::Console).get(admin::audit::show_verify).post(admin::audit::verify),
        Row::at("/audit/{chain}/{sequence}", Budget::Console).get(admin::audit::show),
        Row::at("/audit/{chain}/{sequence}/erase", Budget::Console)
            .get(admin::audit::show_erase)
            .post(admin::audit::erase),
        Row::at("/administrators", Budget::Console).get(admin::administrators::list),
        // Beside the others, since an administrator may be called anything.
        Row::at("/new-administrator", Budget::Console)
            .get(admin::administrators::show_create)
            .post(admin::administrators::create),
        Row::at("/administrators/{name}", Budget::Console).get(admin::administrators::show),
        Row::at("/administrators/{name}/{deed}", Budget::Console)
            .get(admin::administrators::show_deed)
            .post(admin::administrators::deed),
        Row::at("/api-keys/new", Budget::Console).get(admin::api_keys::show_create).post(admin::api_keys::create),
        Row::at("/api-keys/{key}/revoke", Budget::Console)
            .get(admin::api_keys::show_revoke)
            .post(admin::api_keys::revoke),
    ]
}

/// Configures the public listener; which of the two tables is used follows from the request's [`Site`].
pub fn configure_public(config: &mut web::ServiceConfig) {
    let is_provider = |context: &GuardContext<'_>| matches!(context.req_data().get(), Some(Site::Provider));
    let is_brand = |context: &GuardContext<'_>| matches!(context.req_data().get(), Some(Site::Brand(_)));
    let nothing = || web::to(nothing_here);
    config.service(scope(provider()).guard(guard::fn_guard(is_provider)).default_service(nothing()));
    config.service(scope(brand()).guard(guard::fn_guard(is_brand)).default_service(nothing()));
}

/// Configures the administrators' listener.
pub fn configure_administrators(config: &mut web::ServiceConfig) {
    configure(config, administrators());
}

/// Configures a listener with one table.
pub(crate) fn configure(config: &mut web::ServiceConfig, rows: Vec<Row>) {
    config.service(scope(rows));
}

fn scope(rows: Vec<Row>) -> actix_web::Scope {
    rows.into_iter().fold(web::scope(""), |scope, row| scope.service(row.into_resource()))
}

/// Every row: whether it is on a Brand's own host or on the administrators' listener, its path, methods and budget.
#[cfg(test)]
pub(crate) fn table() -> Vec<(Place, Rc<str>, Vec<Method>, Budget)> {
    let tables = [(Place::Provider, provider()), (Place::Brand, brand()), (Place::Administrators, administrators())];
    let rows = tables.into_iter().flat_map(|(place, rows)| rows.into_iter().map(move |row| (place, row)));
    rows.map(|(place, row)| (place, row.path, row.methods, row.budget)).collect()
}

/// Where a row is served.
#[cfg(test)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    Provider,
    Brand,
    Administrators,
}

/// A path that no row has. Administrators are not counted.
async fn nothing_here(req: HttpRequest) -> HttpResponse {
    budget::refusal(&req, Budget::Address).unwrap_or_else(error::not_found)
}

/// One path of the table with its methods. A handler is `async fn(HttpRequest, web::Payload) -> HttpResponse`.
pub struct Row {
    path: Rc<str>,
    budget: Budget,
    methods: Vec<Method>,
    resource: Resource,
}

impl Row {
    /// The row of `path`, whose requests are counted against `budget`, without methods. Rows are compared in order: the
    /// more particular one stands first.
    pub fn at(path: &str, budget: Budget) -> Self {
        Self { path: path.into(), budget, methods: Vec::new(), resource: web::resource(path) }
    }

    /// Answers `GET` and `HEAD`, for which actix leaves out the body.
    pub fn get<H, F>(self, handler: H) -> Self
    where
        H: Fn(HttpRequest, web::Payload) -> F + Clone + 'static,
        F: Future<Output = HttpResponse> + 'static,
    {
        self.on(&[Method::GET, Method::HEAD], handler)
    }

    /// Answers `POST`.
    pub fn post<H, F>(self, handler: H) -> Self
    where
        H: Fn(HttpRequest, web::Payload) -> F + Clone + 'static,
        F: Future<Output = HttpResponse> + 'static,
    {
        self.on(&[Method::POST], handler)
    }

    /// Answers `DELETE`.
    pub fn delete<H, F>(self, handler: H) -> Self
    where
        H: Fn(HttpRequest, web::Payload) -> F + Clone + 'static,
        F: Future<Output = HttpResponse> + 'static,
    {
        self.on(&[Method::DELETE], handler)
    }

    /// Answers each of `methods`.
    fn on<H, F>(mut self, methods: &[Method], handler: H) -> Self
    where
        H: Fn(HttpRequest, web::Payload) -> F + Clone + 'static,
        F: Future<Output = HttpResponse> + 'static,
    {
        let (path, budget) = (Rc::clone(&self.path), self.budget);
        let answer = move |req: HttpRequest, payload: web::Payload| {
            request::note_route(&path);
            let (handler, path, app) = (handler.clone(), Rc::clone(&path), shared_app(&req));
            async move {
                let began = app.clock.uptime();
                let response = caught(async {
                    match budget::refusal(&req, budget) {
                        Some(refusal) => refusal,
                        None => handler(req, payload).await,
                    }
                })
                .await;
                let took = app.clock.uptime().saturating_sub(began);
                app.metrics.answered(&path, response.status().as_u16(), took);
                response
            }
        };
        for method in methods {
            self.resource = self.resource.route(web::method(method.clone()).to(answer.clone()));
            self.methods.push(method.clone());
        }
        self
    }

    fn into_resource(self) -> Resource {
        let Self { path, budget, methods, resource } = self;
        let budget = if budget == Budget::Unlimited { budget } else { Budget::Address };
        let allow: Vec<&str> = methods.iter().map(Method::as_str).collect();
        let allow = allow.join(", ");
        resource.default_service(web::to(move |req: HttpRequest| {
            request::note_route(&path);
            let refusal = budget::refusal(&req, budget);
            let response = refusal.unwrap_or_else(|| error::method_not_allowed(&allow));
            async { response }
        }))
    }
}

/// A panic would end the connection without an answer: it is an empty 500 instead. The panic hook has logged it, inside
/// the request's span.
async fn caught(answer: impl Future<Output = HttpResponse>) -> HttpResponse {
    AssertUnwindSafe(answer).catch_unwind().await.unwrap_or_else(|_| error::internal())
}

#[cfg(test)]
mod tests;
