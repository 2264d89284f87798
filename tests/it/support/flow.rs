//! The steps of the protocol, each as its party takes it.

use assent::domain::id::{BrandId, GrantId};
use assent::flow::admin::Verdict;
use assent::flow::admin::evidence::{Exported, export};
use assent::flow::admin::resource_server_keys::{CreatedKey, create};
use assent::outbound::Method;
use serde_json::{Value, json};
use url::Url;

use super::client::{Answer, Ask};
use super::world::{Party, World, consent_url, issuer, owner};

pub(crate) const DEVICE_CODE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// A device authorization that was answered.
#[derive(Clone, Debug)]
pub(crate) struct Codes {
    pub(crate) device_code: String,
    pub(crate) user_code: String,
    pub(crate) answer: Value,
}

/// Both tokens.
#[derive(Clone, Debug)]
pub(crate) struct Tokens {
    pub(crate) access: String,
    pub(crate) refresh: String,
    pub(crate) scope: String,
}

impl Tokens {
    pub(crate) fn of(answer: &Answer) -> Self {
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let json = answer.oauth_json();
        let text = |name: &str| json[name].as_str().unwrap().to_owned();
        Self { access: text("access_token"), refresh: text("refresh_token"), scope: text("scope") }
    }

    /// `grant_id` of the delegation token.
    pub(crate) fn grant(&self) -> String {
        claims(&self.access)["grant_id"].as_str().unwrap().to_owned()
    }
}

/// The claims of a JWT, unverified.
pub(crate) fn claims(token: &str) -> Value {
    use base64::Engine as _;
    let payload = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}

impl World {
    /// A resource-server key of `brand` that is good until it is revoked.
    pub(crate) async fn resource_server_key(&self, brand: &str) -> String {
        self.resource_server_key_for(brand, None).await
    }

    /// One that is good for so many days.
    pub(crate) async fn resource_server_key_for(&self, brand: &str, days: Option<u32>) -> String {
        let brand = BrandId::parse(brand).unwrap();
        match create(&self.app, &owner(), &brand, "account API", days).await.unwrap() {
            Verdict::Done(CreatedKey::Done { secret, .. }) => secret.expose().clone(),
            other => panic!("{other:?}"),
        }
    }

    /// The signature of the auditor's export of a grant.
    pub(crate) async fn evidence(&self, grant: &str) -> String {
        match export(&self.app, &owner(), &GrantId::parse(grant).unwrap()).await.unwrap() {
            Verdict::Done(Exported::Done { document, .. }) => document.signature,
            other => panic!("{other:?}"),
        }
    }

    /// A request to an endpoint under a Brand's issuer.
    pub(crate) fn at_issuer(&self, method: Method, brand: &str, path: &str) -> Ask {
        let (host, prefix) = issuer(brand);
        self.ask(method, host, &format!("{prefix}{path}"))
    }

    /// A form of the first personal agent to an endpoint under a Brand's issuer.
    pub(crate) async fn oauth(&self, brand: &str, path: &str, sub: &str, form: &[(&str, &str)]) -> Answer {
        self.at_issuer(Method::POST, brand, path).bearer(&self.jwt(sub)).form(form).send().await
    }

    pub(crate) async fn oauth_as(
        &self,
        pa: &Party,
        brand: &str,
        path: &str,
        sub: &str,
        form: &[(&str, &str)],
    ) -> Answer {
        self.at_issuer(Method::POST, brand, path).bearer(&self.jwt_of(pa, sub)).form(form).send().await
    }

    pub(crate) async fn codes(&self, brand: &str, sub: &str, scope: &str) -> Codes {
        let answer = self.oauth(brand, "/device_authorization", sub, &[("scope", scope)]).await;
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let json = answer.oauth_json();
        let text = |name: &str| json[name].as_str().unwrap().to_owned();
        Codes { device_code: text("device_code"), user_code: text("user_code"), answer: json }
    }

    pub(crate) async fn poll(&self, brand: &str, sub: &str, device_code: &str) -> Answer {
        let form = [("grant_type", DEVICE_CODE_GRANT), ("device_code", device_code)];
        self.oauth(brand, "/token", sub, &form).await
    }

    pub(crate) async fn refresh(&self, brand: &str, sub: &str, refresh_token: &str) -> Answer {
        let form = [("grant_type", "refresh_token"), ("refresh_token", refresh_token)];
        self.oauth(brand, "/token", sub, &form).await
    }

    /// The same by another personal agent.
    pub(crate) async fn poll_as(&self, pa: &Party, brand: &str, sub: &str, device_code: &str) -> Answer {
        let form = [("grant_type", DEVICE_CODE_GRANT), ("device_code", device_code)];
        self.oauth_as(pa, brand, "/token", sub, &form).await
    }

    /// The Brand's login posts an assertion.
    pub(crate) async fn post_assertion(&self, brand: &str, assertion: &str) -> Answer {
        self.at_issuer(Method::POST, brand, "/consent").form(&[("assertion", assertion)]).send().await
    }

    /// `user` signs in for `code` and sees the consent page.
    pub(crate) async fn sign_in(&self, brand: &str, user: &str, code: &str) -> Page {
        Page::of(&self.post_assertion(brand, &self.assertion(brand, user, code, json!({}))).await)
    }

    /// The consent URL with a code, as a browser with this cookie opens it.
    pub(crate) async fn open(&self, brand: &str, code: &str, cookie: Option<&str>) -> Answer {
        let ask = self.at_issuer(Method::GET, brand, &format!("/consent?user_code={code}"));
        cookie.into_iter().fold(ask, Ask::cookie).send().await
    }

    /// The decision of a page.
    pub(crate) async fn decide(&self, brand: &str, session: &str, decision: &str, scopes: &[&str]) -> Answer {
        let mut form = vec![("session", session), ("decision", decision)];
        form.extend(scopes.iter().map(|scope| ("scope", *scope)));
        self.at_issuer(Method::POST, brand, "/consent/decision").form(&form).send().await
    }

    /// The page to which a decision leads at a Brand without a `return_url`.
    pub(crate) async fn closing(&self, brand: &str, decided: &Answer) -> Answer {
        assert_eq!(decided.status(), 303, "{}", decided.text());
        let query = decided.header("location").unwrap().strip_prefix(&consent_url(brand)).unwrap();
        let closing = self.at_issuer(Method::GET, brand, &format!("/consent{query}")).send().await;
        assert_eq!(closing.status(), 200, "{}", closing.text());
        closing
    }

    /// `user` allows `scopes` of what `sub` asked for with `codes`.
    pub(crate) async fn allow(&self, brand: &str, user: &str, codes: &Codes, scopes: &[&str]) {
        let page = self.sign_in(brand, user, &codes.user_code).await;
        let answer = self.decide(brand, &page.session, "allow", scopes).await;
        assert!([200, 303].contains(&answer.status()), "{} {}", answer.status(), answer.text());
    }

    /// The whole way to tokens: `sub` asks for `scopes`, `user` allows them.
    pub(crate) async fn tokens(&self, brand: &str, sub: &str, user: &str, scopes: &[&str]) -> Tokens {
        let codes = self.codes(brand, sub, &scopes.join(" ")).await;
        self.allow(brand, user, &codes, scopes).await;
        Tokens::of(&self.poll(brand, sub, &codes.device_code).await)
    }

    /// A request to `message:send`.
    pub(crate) fn message(&self, brand: &str, sub: &str) -> Ask {
        let path = format!("/a2a/{brand}/message:send");
        self.ask(Method::POST, super::world::PROVIDER, &path).bearer(&self.jwt(sub))
    }

    /// A message of text, in a context where there is one.
    pub(crate) async fn send(
        &self,
        brand: &str,
        sub: &str,
        token: Option<&str>,
        id: &str,
        context: Option<&str>,
        text: &str,
    ) -> Answer {
        let ask = self.message(brand, sub).json(&message(id, context, text));
        let ask = token.into_iter().fold(ask, |ask, token| ask.delegation(token));
        ask.send().await
    }
}

/// A `SendMessageRequest`.
pub(crate) fn message(id: &str, context: Option<&str>, text: &str) -> Value {
    let mut message = json!({ "messageId": id, "role": "ROLE_USER", "parts": [{ "text": text }] });
    if let Some(context) = context {
        message["contextId"] = json!(context);
    }
    json!({ "message": message })
}

/// A consent page as a browser sees it.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) session: String,
    pub(crate) cookie: Option<String>,
    pub(crate) html: String,
}

impl Page {
    pub(crate) fn of(answer: &Answer) -> Self {
        assert_eq!(answer.status(), 200, "{}", answer.text());
        let html = answer.text();
        let cookie = answer.header("set-cookie").map(|cookie| cookie.split(';').next().unwrap().to_owned());
        Self { session: hidden_session(&html), cookie, html }
    }
}

/// The value of the hidden field `session`, found as a client without an HTML parser would.
pub(crate) fn hidden_session(html: &str) -> String {
    let at = html.find("name=\"session\"").expect("a session field");
    let rest = &html[at..];
    let value = rest.split_once("value=\"").unwrap().1;
    value.split_once('"').unwrap().0.to_owned()
}

/// The user code in a link to the Brand's login or to the consent page.
pub(crate) fn code_in(link: &str) -> String {
    let named = |link: &Url, name: &str| {
        link.query_pairs().find(|(given, _)| given == name).map(|(_, value)| value.into_owned())
    };
    let link = Url::parse(link).unwrap();
    let link = named(&link, "return_to").map_or(link, |inner| Url::parse(&inner).unwrap());
    named(&link, "user_code").unwrap()
}
