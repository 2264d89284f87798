//! A Brand's own login (PACT §5.3): it signs the User in, and sends the browser back with a signed assertion.
//!
//! Takes nothing but the `user_code` from `return_to`, or that it is the list of grants, and posts only to the addresses it
//! was configured with: anybody can edit a link. Refuses a sign-in that another site's page submits. Where a real login asks for a password, this one
//! has a button.

use std::fmt::Write as _;
use std::time::Duration;

use actix_web::{HttpRequest, HttpResponse, web};
use serde::Serialize;
use serde_json::json;
use url::Url;

use crate::clock::Clock;
use crate::crypto::CryptoFailure;
use crate::crypto::signer::Signer;
use crate::domain::user_code::UserCode;
use crate::entropy::Entropy;

/// What a User sends who wants to see what they allowed, in place of a code.
const FOR_GRANTS: &str = r#"<input type="hidden" name="grants" value="1">"#;

/// How long the browser has to carry an assertion over.
const LIFE: Duration = Duration::from_secs(120);

/// Where a Brand's login is served, and what it knows of its User and of the Provider.
pub(super) struct BrandLogin {
    /// What the pages call the Brand.
    pub(super) name: &'static str,
    /// `#rrggbb`.
    pub(super) color: &'static str,
    /// The login's own origin, which is also the assertions' `iss`.
    pub(super) origin: String,
    /// The Provider's consent page of this Brand, which is also the assertions' `aud`.
    pub(super) consent_url: String,
    /// The Provider's list of this Brand's grants, which is also the `aud` of the assertions that open it.
    pub(super) grants_url: String,
    /// The User who is at the browser.
    pub(super) user: LoginUser,
    /// Signs the assertions.
    pub(super) signer: Signer,
    /// Time.
    pub(super) clock: Clock,
    /// Chance.
    pub(super) entropy: Entropy,
}

/// A User as the Brand knows them.
#[derive(Clone, Copy)]
pub(super) struct LoginUser {
    /// The Brand's id for them.
    pub(super) id: &'static str,
    /// For display.
    pub(super) name: &'static str,
    /// For display.
    pub(super) email: &'static str,
}

#[derive(Serialize)]
struct AssertionClaims<'a> {
    iss: &'a str,
    aud: &'a str,
    sub: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_code: Option<String>,
    jti: String,
    iat: i64,
    exp: i64,
    name: &'a str,
    email: &'a str,
    locale: &'a str,
}

impl BrandLogin {
    /// The page that says who signs in, with the button to do so. Without a code it asks for one.
    pub(super) fn login_page(&self, code: Option<&UserCode>) -> String {
        let fields = match code {
            Some(code) => format!(r#"<input type="hidden" name="user_code" value="{code}">"#),
            None => concat!(
                r#"<p><label for="code">The code that your agent shows</label></p>"#,
                r#"<p><input type="text" id="code" name="user_code" autocomplete="off" autocapitalize="characters" required></p>"#
            )
            .to_owned(),
        };
        self.sign_in_page(&fields)
    }

    /// The same for a User who wants to see what they allowed.
    fn login_page_for_grants(&self) -> String {
        self.sign_in_page(FOR_GRANTS)
    }

    fn sign_in_page(&self, fields: &str) -> String {
        let (name, email) = (escaped(self.user.name), escaped(self.user.email));
        let body = format!(
            r#"<h1>Sign in to {brand}</h1><p>You sign in as <strong>{name}</strong> ({email}).</p>
<form method="post" action="{origin}/login">{fields}<p><button type="submit">Sign in</button></p></form>
<p class="hint">This stands for the Brand's own login. A real one asks for a password or a passkey here.</p>"#,
            brand = escaped(self.name),
            origin = escaped(&self.origin),
        );
        self.page("Sign in", &body)
    }

    /// The assertion that the User of this browser signed in, for the Provider only: for this code, or without one for the
    /// list of grants.
    pub(super) fn assertion(&self, code: Option<&UserCode>) -> Result<String, CryptoFailure> {
        let now = self.clock.now();
        self.signer.sign_claims(
            "JWT",
            &AssertionClaims {
                iss: &self.origin,
                aud: self.address(code),
                sub: self.user.id,
                user_code: code.map(ToString::to_string),
                jti: self.entropy.uuid().to_string(),
                iat: now.seconds(),
                exp: now.plus(LIFE).seconds(),
                name: self.user.name,
                email: self.user.email,
                locale: "en",
            },
        )
    }

    /// Where an assertion goes.
    fn address(&self, code: Option<&UserCode>) -> &str {
        if code.is_some() { &self.consent_url } else { &self.grants_url }
    }

    /// The page that carries the assertion to the Provider by POST: by itself with script, by its button without.
    pub(super) fn handover_page(&self, code: Option<&UserCode>) -> Result<String, CryptoFailure> {
        let assertion = self.assertion(code)?;
        let body = format!(
            r#"<h1>You are signed in</h1>
<form method="post" action="{}"><input type="hidden" name="assertion" value="{}"><p><button type="submit">Continue</button></p></form>
<script>document.forms[0].submit()</script>"#,
            escaped(self.address(code)),
            escaped(&assertion),
        );
        Ok(self.page("Signed in", &body))
    }

    /// Where the browser ends up after the decision.
    pub(super) fn return_page(&self, status: &str, scope: &str) -> String {
        let outcome = match status {
            "approved" if scope.is_empty() => "Your agent may act for you.".to_owned(),
            "approved" => format!("Your agent may now act for you: {}.", escaped(scope)),
            "denied" => "Nothing was allowed.".to_owned(),
            _ => "Welcome back.".to_owned(),
        };
        let name = escaped(self.name);
        let body = format!(
            r#"<h1>{name}</h1><p>{outcome} You can go back to your agent.</p>
<form method="post" action="{origin}/login">{FOR_GRANTS}<p><button type="submit">Your connected agents</button></p></form>"#,
            origin = escaped(&self.origin),
        );
        self.page("Connected", &body)
    }

    /// The public keys of the login (RFC 7517 §5).
    pub(super) fn jwks(&self) -> String {
        json!({ "keys": [self.signer.public().to_jwk()] }).to_string()
    }

    fn page(&self, title: &str, body: &str) -> String {
        let mut page = String::new();
        let _ = write!(
            page,
            r#"<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{title} · {brand}</title>
<style>body{{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:0 auto;padding:2rem 1rem;border-top:.5rem solid {color}}}button{{font:inherit;padding:.5rem 1.5rem}}.hint{{color:#595959}}</style>
</head><body><main>{body}</main></body></html>"#,
            brand = escaped(self.name),
            color = self.color,
        );
        page
    }
}

/// Text for HTML, in an element or a quoted attribute.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for symbol in text.chars() {
        match symbol {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#x27;"),
            other => safe.push(other),
        }
    }
    safe
}

/// The first value of `name` among form or query pairs.
fn value(pairs: &str, name: &str) -> Option<String> {
    url::form_urlencoded::parse(pairs.as_bytes()).find(|(key, _)| key == name).map(|(_, value)| value.into_owned())
}

/// The routes of a Brand's login.
pub(super) fn routes(config: &mut web::ServiceConfig) {
    config
        .service(web::resource("/login").route(web::get().to(ask)).route(web::post().to(sign_in)))
        .service(web::resource("/connected").route(web::get().to(connected)))
        .service(web::resource("/.well-known/jwks.json").route(web::get().to(jwks)));
}

fn html(page: String) -> HttpResponse {
    HttpResponse::Ok()
        .insert_header(("Cache-Control", "no-store"))
        .insert_header(("Content-Security-Policy", "frame-ancestors 'none'"))
        .content_type("text/html; charset=utf-8")
        .body(page)
}

async fn ask(login: web::Data<BrandLogin>, request: HttpRequest) -> HttpResponse {
    let return_to = value(request.query_string(), "return_to");
    if return_to.as_deref() == Some(login.grants_url.as_str()) {
        return html(login.login_page_for_grants());
    }
    html(login.login_page(return_to.as_deref().and_then(code_in).as_ref()))
}

/// The user code in `return_to`: all that is taken of it, wherever the rest leads.
pub(super) fn code_in(return_to: &str) -> Option<UserCode> {
    let url = Url::parse(return_to).ok()?;
    let (_, code) = url.query_pairs().find(|(name, _)| name == "user_code")?;
    UserCode::parse(&code)
}

async fn sign_in(login: web::Data<BrandLogin>, request: HttpRequest, body: String) -> HttpResponse {
    let origin = request.headers().get("origin").map(|origin| origin.as_bytes());
    if origin.is_some_and(|origin| origin != login.origin.as_bytes()) {
        return HttpResponse::Forbidden().body("This form was not sent from the login's own page.");
    }
    let code = value(&body, "user_code").and_then(|code| UserCode::parse(&code));
    if code.is_none() && value(&body, "grants").is_none() {
        return HttpResponse::BadRequest().body("That is not a code: eight letters, as XXXX-XXXX.");
    }
    match login.handover_page(code.as_ref()) {
        Ok(page) => html(page),
        Err(failure) => HttpResponse::InternalServerError().body(failure.to_string()),
    }
}

async fn connected(login: web::Data<BrandLogin>, request: HttpRequest) -> HttpResponse {
    let query = request.query_string();
    let (status, scope) = (value(query, "status"), value(query, "scope"));
    html(login.return_page(&status.unwrap_or_default(), &scope.unwrap_or_default()))
}

async fn jwks(login: web::Data<BrandLogin>) -> HttpResponse {
    HttpResponse::Ok().content_type("application/json").body(login.jwks())
}

#[cfg(test)]
mod tests {
    use actix_web::http::StatusCode;
    use actix_web::test::{self, TestRequest};

    use super::*;
    use crate::clock::Timestamp;
    use crate::crypto::assertion::{self, Expected};
    use crate::crypto::jwks::KeySet;
    use crate::demo::form::Form;
    use crate::demo::stage::new_signer;

    const NOW: Timestamp = Timestamp::from_seconds(1_767_225_600);
    const CONSENT: &str = "http://auth.shop.localhost:4000/consent";
    const GRANTS: &str = "http://auth.shop.localhost:4000/grants";
    const CODE: &str = "WDJB-MJHT";

    fn login() -> BrandLogin {
        BrandLogin {
            name: "Example <Shop>",
            color: "#1f5f4a",
            origin: "http://shop.localhost:4001".to_owned(),
            consent_url: CONSENT.to_owned(),
            grants_url: GRANTS.to_owned(),
            user: LoginUser { id: "jane-4471", name: "Jane \"J\" Doe", email: "jane@example.com" },
            signer: new_signer("shop-login-1").unwrap(),
            clock: Clock::manual(NOW),
            entropy: Entropy::seeded(1),
        }
    }

    fn code() -> UserCode {
        UserCode::parse(CODE).unwrap()
    }

    #[test]
    fn an_edited_link_gives_its_code_and_nothing_else_and_never_receives_the_assertion() {
        let login = login();
        for return_to in [
            format!("{CONSENT}?user_code={CODE}"),
            format!("https://attacker.example/take?user_code={CODE}"),
            format!("{CONSENT}.attacker.example?user_code={CODE}&user_code=BBBB-BBBB"),
            format!("javascript:alert(1)?user_code={CODE}"),
        ] {
            let found = code_in(&return_to).unwrap();
            assert_eq!(found, code(), "{return_to}");
            let page = login.handover_page(Some(&found)).unwrap();
            assert_eq!(Form::first(&page).unwrap().action, CONSENT);
            assert!(!page.contains("attacker") && !login.login_page(Some(&found)).contains("attacker"));
        }
        for return_to in ["https://attacker.example/", CONSENT, "", "x"] {
            assert_eq!(code_in(return_to), None, "{return_to}");
        }
    }

    #[test]
    fn the_assertion_is_one_that_the_provider_accepts() {
        let login = login();
        let keys = KeySet::parse(login.jwks().as_bytes()).unwrap();
        let page = login.handover_page(Some(&code())).unwrap();
        let form = Form::first(&page).unwrap();
        assert_eq!(form.fields.iter().filter(|field| !field.name.is_empty()).count(), 1);
        let expected = Expected { issuer: "http://shop.localhost:4001", audience: CONSENT };
        let read = assertion::verify(form.value("assertion").unwrap(), &keys, &expected, NOW).unwrap();
        assert_eq!((read.sub.as_str(), &read.user_code), ("jane-4471", &code()));
        assert_eq!(read.name.as_deref(), Some("Jane \"J\" Doe"));
        assert_eq!(read.expires_at, NOW.plus(LIFE));
        let again = login.assertion(Some(&code())).unwrap();
        assert_ne!(assertion::verify(&again, &keys, &expected, NOW).unwrap().jti, read.jti);
    }

    #[actix_web::test]
    async fn a_user_who_wants_to_see_their_grants_is_carried_there_without_a_code() {
        let (status, page) = post("grants=1", Some("http://shop.localhost:4001")).await;
        let form = Form::first(&page).unwrap();
        assert_eq!((status, form.action.as_str()), (StatusCode::OK, GRANTS));
        assert!(login().return_page("approved", "").contains("Your connected agents"));
        let expected = Expected { issuer: "http://shop.localhost:4001", audience: GRANTS };
        let login = login();
        let keys = KeySet::parse(login.jwks().as_bytes()).unwrap();
        let assertion = login.assertion(None).unwrap();
        assert_eq!(assertion::verify_for_grants(&assertion, &keys, &expected, NOW).unwrap().sub.as_str(), "jane-4471");
        assert!(assertion::verify(&assertion, &keys, &expected, NOW).is_err());
        assert!(login.login_page_for_grants().contains(FOR_GRANTS));
    }

    #[test]
    fn what_is_shown_is_escaped() {
        let login = login();
        let page = login.login_page(Some(&code()));
        assert!(page.contains("Example &lt;Shop&gt;") && page.contains("Jane &quot;J&quot; Doe"));
        assert_eq!(Form::first(&page).unwrap().value("user_code"), Some(CODE));
        let page = login.return_page("approved", "<script>alert(1)</script>");
        assert!(!page.contains("<script>") && page.contains("&lt;script&gt;"));
    }

    async fn post(body: &'static str, origin: Option<&str>) -> (StatusCode, String) {
        let app = actix_web::App::new().app_data(web::Data::new(login())).configure(routes);
        let app = test::init_service(app).await;
        let mut request = TestRequest::post().uri("/login").set_payload(body);
        if let Some(origin) = origin {
            request = request.insert_header(("Origin", origin));
        }
        let response = test::call_service(&app, request.to_request()).await;
        let status = response.status();
        (status, String::from_utf8(test::read_body(response).await.to_vec()).unwrap())
    }

    #[actix_web::test]
    async fn signing_in_answers_with_the_form_that_carries_the_assertion() {
        let (status, page) = post("user_code=wdjb+mjht", Some("http://shop.localhost:4001")).await;
        assert_eq!((status, Form::first(&page).unwrap().action.as_str()), (StatusCode::OK, CONSENT));
        assert_eq!(post("user_code=WDJB-MJHT", None).await.0, StatusCode::OK);
    }

    #[actix_web::test]
    async fn a_sign_in_from_another_site_or_without_a_code_is_refused() {
        let (status, page) = post("user_code=WDJB-MJHT", Some("https://attacker.example")).await;
        assert!(status == StatusCode::FORBIDDEN && !page.contains("assertion"));
        for body in ["", "user_code=", "user_code=AEIO-UAEI"] {
            let (status, page) = post(body, None).await;
            assert!(status == StatusCode::BAD_REQUEST && !page.contains("assertion"), "{body}");
        }
    }

    #[actix_web::test]
    async fn the_link_shows_who_signs_in_and_a_button() {
        let app = actix_web::App::new().app_data(web::Data::new(login())).configure(routes);
        let app = test::init_service(app).await;
        let return_to = format!("{CONSENT}?user_code={CODE}").replace('?', "%3F").replace('=', "%3D");
        let link = format!("/login?return_to={return_to}");
        let page = test::call_and_read_body(&app, TestRequest::get().uri(&link).to_request()).await;
        let page = String::from_utf8(page.to_vec()).unwrap();
        assert!(page.contains("jane@example.com") && page.contains("<button type=\"submit\">Sign in</button>"));
        let page = test::call_and_read_body(&app, TestRequest::get().uri("/login").to_request()).await;
        let form = Form::first(std::str::from_utf8(&page).unwrap()).unwrap();
        assert_eq!(form.fields[0].kind, "text");
    }
}
