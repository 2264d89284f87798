//! Administrators, and their browsers at the console.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use assent::domain::administrator::{Access, Reach, Role};
use assent::domain::audit::{Actor, RequestId};
use assent::domain::id::{AdministratorName, BrandId};
use assent::flow::admin::administrators::{self, Created};
use assent::flow::admin::api_keys::{self, MadeApiKey};
use assent::flow::admin::{By, Verdict};
use assent::outbound::Method;
use assent::secret::Secret;

use super::client::{Answer, Ask};
use super::world::World;

/// What everybody logs in with here.
pub(crate) const PASSWORD: &str = "correct horse battery staple";

pub(crate) fn secret(text: &str) -> Secret<String> {
    Secret::new(text.to_owned())
}

pub(crate) fn name(text: &str) -> AdministratorName {
    AdministratorName::parse(text).unwrap()
}

/// A role at these Brands; at all when there are none.
pub(crate) fn access(role: Role, brands: &[&str]) -> Access {
    let ids = brands.iter().map(|id| BrandId::parse(*id).unwrap()).collect();
    Access { role, reach: if brands.is_empty() { Reach::All } else { Reach::Brands(ids) } }
}

/// Somebody with this access.
pub(crate) fn by(access: Access) -> By {
    By { actor: Actor::Administrator("somebody".to_owned()), access, request: RequestId("request-1".to_owned()) }
}

impl World {
    /// Makes an administrator whose password is [`PASSWORD`].
    pub(crate) async fn administrator(&self, name: &str, access: Access) -> AdministratorName {
        let (name, all) = (self::name(name), by(Access::EVERYTHING));
        let created = administrators::create(&self.app, &all, &name, access, &secret(PASSWORD)).await.unwrap();
        assert_eq!(created, Verdict::Done(Created::Done));
        name
    }

    /// Makes an API key with this access, for a day.
    pub(crate) async fn api_key(&self, access: Access) -> String {
        let (all, day) = (by(Access::EVERYTHING), Duration::from_secs(86_400));
        match api_keys::create(&self.app, &all, "test", access, day).await.unwrap() {
            Verdict::Done(MadeApiKey::Made(made)) => made.secret.expose().clone(),
            other => panic!("{other:?}"),
        }
    }

    /// A browser that has been nowhere.
    pub(crate) fn browser(&self) -> Browser<'_> {
        Browser { world: self, cookies: Mutex::default() }
    }

    /// The browser of an administrator who is logged in.
    pub(crate) async fn logged_in(&self, name: &str) -> Browser<'_> {
        let browser = self.browser();
        let answer = browser.log_in(name, PASSWORD).await;
        assert_eq!((answer.status(), answer.header("location")), (303, Some("/")), "{}", answer.text());
        browser
    }
}

/// A browser at the administrators' listener: it keeps cookies, and sends forms as pages have them.
pub(crate) struct Browser<'a> {
    world: &'a World,
    cookies: Mutex<BTreeMap<String, String>>,
}

impl Browser<'_> {
    /// The same listener asked through another node's world.
    pub(crate) fn at<'b>(&self, world: &'b World) -> Browser<'b> {
        Browser { world, cookies: Mutex::new(self.cookies.lock().unwrap().clone()) }
    }

    pub(crate) fn cookie(&self, name: &str) -> Option<String> {
        self.cookies.lock().unwrap().get(name).cloned()
    }

    pub(crate) fn set_cookie(&self, name: &str, value: &str) {
        self.cookies.lock().unwrap().insert(name.to_owned(), value.to_owned());
    }

    /// A request with the cookies.
    pub(crate) fn ask(&self, method: Method, path: &str) -> Ask {
        let cookies: Vec<String> =
            self.cookies.lock().unwrap().iter().map(|(name, value)| format!("{name}={value}")).collect();
        let ask = self.world.ask_admin(method, path);
        if cookies.is_empty() { ask } else { ask.cookie(&cookies.join("; ")) }
    }

    /// Sends it, and keeps the cookies of the answer.
    pub(crate) async fn send(&self, ask: Ask) -> Answer {
        let answer = ask.send().await;
        for (_, cookie) in answer.0.headers.iter().filter(|(name, _)| name == "set-cookie") {
            let (name, value) = cookie.split(';').next().unwrap().split_once('=').unwrap();
            let mut cookies = self.cookies.lock().unwrap();
            if cookie.contains("Max-Age=0") {
                cookies.remove(name);
            } else {
                cookies.insert(name.to_owned(), value.to_owned());
            }
        }
        answer
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.ask(Method::GET, path)).await
    }

    /// Sends a form as a page of this listener does.
    pub(crate) async fn post(&self, path: &str, pairs: &[(&str, &str)]) -> Answer {
        let origin = format!("http://{}", self.world.admin());
        let ask = self.ask(Method::POST, path).header("origin", &origin).header("sec-fetch-site", "same-origin");
        self.send(ask.form(pairs)).await
    }

    /// Loads `page` and sends its form to `path`, with the hidden fields that the page gave it and these.
    pub(crate) async fn submit(&self, page: &str, path: &str, pairs: &[(&str, &str)]) -> Answer {
        let html = self.get(page).await.text();
        let token = hidden(&html, "form_token");
        let mut all = vec![("form_token", token.as_str())];
        all.extend(pairs);
        self.post(path, &all).await
    }

    pub(crate) async fn log_in(&self, name: &str, password: &str) -> Answer {
        self.submit("/log-in", "/log-in", &[("name", name), ("password", password)]).await
    }

    /// Whether this browser is let in.
    pub(crate) async fn is_in(&self) -> bool {
        let answer = self.get("/account").await;
        match answer.status() {
            200 => true,
            303 => {
                assert_eq!(answer.header("location"), Some("/log-in?next=%2Faccount"));
                false
            }
            status => panic!("{status} {}", answer.text()),
        }
    }
}

/// The value of a page's hidden field.
pub(crate) fn hidden(html: &str, name: &str) -> String {
    let (_, rest) = html.split_once(&format!("name=\"{name}\" value=\"")).unwrap_or_else(|| panic!("{name}: {html}"));
    rest.split_once('"').unwrap().0.to_owned()
}
