//! The User: somebody at a browser, or the demo itself with plain HTTP requests.
//!
//! The played browser keeps cookies per host, follows redirects, submits forms with `Origin` and `Sec-Fetch-Site` as
//! browsers do, and runs no script. It refuses to decide on a page that is not a consent page.

use std::collections::BTreeMap;

use url::Url;
use url::form_urlencoded::Serializer;

use super::form::Form;
use super::wire::Wire;
use super::{Broken, ensure};
use crate::domain::scope::ScopeSet;
use crate::outbound::{Request, Response};

/// Redirects that are followed in a row, and forms that lead from the link to the consent page.
const MOST_HOPS: usize = 5;

/// Who decides.
pub(super) enum User {
    /// The demo.
    Played(Browser),
    /// The person who started the demo.
    Present,
}

impl User {
    /// A User that the demo plays, who comes back to the Brand's `return_url`.
    pub(super) const fn played(return_url: String) -> Self {
        Self::Played(Browser { cookies: BTreeMap::new(), return_url })
    }
}

/// A browser without a screen.
pub(super) struct Browser {
    /// Values by host and name. Ports do not matter to cookies (RFC 6265 §8.5).
    cookies: BTreeMap<(String, String), String>,
    return_url: String,
}

/// A page, and where it is.
struct Page {
    url: Url,
    html: String,
}

/// What the Brand's return page was told.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decision {
    /// The checkboxes that were shown.
    pub(super) shown: Vec<String>,
    /// `approved` or `denied`.
    pub(super) status: String,
    /// What was approved.
    pub(super) scope: ScopeSet,
}

/// How a request came about.
enum Because<'a> {
    /// The User followed a link, or a redirect did.
    Opened,
    /// A form of the page at this address was submitted.
    Submitted { from: &'a Url, entries: Vec<(String, String)> },
}

impl Browser {
    /// Follows the link to the Brand's login or straight to the consent page, signs in where it is asked to, unticks
    /// `untick`, and allows the rest.
    pub(super) async fn allow(&mut self, wire: &mut Wire, link: &Url, untick: &[&str]) -> Result<Decision, Broken> {
        let mut page = self
            .visit(
                wire,
                "The User opens the link in a browser. The personal agent does not see what follows (PACT §5.3).",
                link.clone(),
                Because::Opened,
            )
            .await?;
        for _ in 0..MOST_HOPS {
            let form = Form::first(&page.html).ok_or_else(|| Broken(format!("{} has no form", page.url)))?;
            if form.value("session").is_some() {
                return self.decide(wire, &page, &form, untick).await;
            }
            let why = if form.value("assertion").is_some() {
                "The login signed an assertion: this User, this code, this consent page, once. The browser carries it to \
                 the Provider by POST. In a browser a line of script submits the form."
            } else {
                "The User signs in with the Brand. Of the link's `return_to` the login takes the user code only."
            };
            page = self.submit(wire, why, &page, &form, form.entries(None, &[])).await?;
        }
        Err(Broken(format!("no consent page after {MOST_HOPS} forms")))
    }

    async fn decide(&mut self, wire: &mut Wire, page: &Page, form: &Form, untick: &[&str]) -> Result<Decision, Broken> {
        let shown: Vec<String> = form.checkboxes("scope").iter().map(|field| field.value.clone()).collect();
        for id in untick {
            ensure(shown.iter().any(|shown| shown == id), || format!("the consent page does not show {id}"))?;
        }
        let choice = match untick {
            [] => "leaves all of them ticked and allows".to_owned(),
            ids => format!("unticks {} and allows the rest", ids.join(" and ")),
        };
        let why = format!(
            "The consent page shows {} as checkboxes. The User {choice}. The hidden `session` ties the \
             decision to what was shown. The answer is a 303 back to the Brand.",
            shown.join(", ")
        );
        let entries = form.entries(Some(("decision", "allow")), untick);
        let page = self.submit(wire, &why, page, form, entries).await?;
        ensure(page.url.as_str().starts_with(&self.return_url), || {
            format!("the browser ended at {}, expected {}", page.url, self.return_url)
        })?;
        let said = |wanted: &str| page.url.query_pairs().find(|(name, _)| name == wanted).map(|(_, value)| value);
        let scope = said("scope").unwrap_or_default();
        let scope = ScopeSet::parse(&scope).map_err(|error| Broken(format!("return_url got {scope}: {error}")))?;
        Ok(Decision { shown, status: said("status").unwrap_or_default().into_owned(), scope })
    }

    async fn submit(
        &mut self,
        wire: &mut Wire,
        why: &str,
        page: &Page,
        form: &Form,
        entries: Vec<(String, String)>,
    ) -> Result<Page, Broken> {
        let action = page.url.join(&form.action).map_err(|_| Broken(format!("{} is no address", form.action)))?;
        self.visit(wire, why, action, Because::Submitted { from: &page.url, entries }).await
    }

    /// Makes a request and follows where it leads.
    async fn visit(&mut self, wire: &mut Wire, why: &str, url: Url, because: Because<'_>) -> Result<Page, Broken> {
        let mut response = wire.exchange(why, self.request(&url, &because)).await?;
        let mut url = url;
        for _ in 0..MOST_HOPS {
            self.keep_cookies(&url, &response);
            if !matches!(response.status, 302 | 303) {
                break;
            }
            let location = response.header("location").unwrap_or_default();
            url = url.join(location).map_err(|_| Broken(format!("redirected to {location}")))?;
            response = wire.exchange("The browser follows.", self.request(&url, &Because::Opened)).await?;
        }
        ensure(response.status == 200, || format!("{url} answered {}, expected a page", response.status))?;
        Ok(Page { url, html: String::from_utf8_lossy(&response.body).into_owned() })
    }

    fn request(&self, url: &Url, because: &Because<'_>) -> Request {
        let (request, same_origin) = match because {
            Because::Opened => (Request::get(url.clone()), true),
            Because::Submitted { from, entries } => {
                let body = Serializer::new(String::new()).extend_pairs(entries).finish();
                let same_origin = from.origin() == url.origin();
                let request = Request::post(url.clone(), "application/x-www-form-urlencoded", body)
                    .header("origin", &from.origin().ascii_serialization())
                    .header("sec-fetch-site", if same_origin { "same-origin" } else { "cross-site" });
                (request, same_origin)
            }
        };
        // Cookies that are SameSite=Lax stay at home when another site's form is submitted.
        let host = url.host_str().unwrap_or_default();
        let cookies = self.cookies.iter().filter(|((of, _), _)| same_origin && of == host);
        let cookies: Vec<String> = cookies.map(|((_, name), value)| format!("{name}={value}")).collect();
        if cookies.is_empty() { request } else { request.header("cookie", &cookies.join("; ")) }
    }

    fn keep_cookies(&mut self, url: &Url, response: &Response) {
        for cookie in response.headers_named("set-cookie") {
            let pair = cookie.split(';').next().unwrap_or_default();
            if let Some((name, value)) = pair.split_once('=') {
                let host = url.host_str().unwrap_or_default().to_owned();
                self.cookies.insert((host, name.trim().to_owned()), value.trim().to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn browser() -> Browser {
        Browser { cookies: BTreeMap::new(), return_url: "http://shop.localhost:4001/connected".to_owned() }
    }

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn header<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
        request.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    fn with_cookie(browser: &mut Browser) {
        let headers = vec![("set-cookie".to_owned(), "assent-1=abc; HttpOnly; SameSite=Lax".to_owned())];
        let response = Response { status: 200, headers, body: Vec::new() };
        browser.keep_cookies(&url("http://auth.shop.localhost:4000/consent"), &response);
    }

    #[test]
    fn a_cookie_goes_back_to_its_host_and_not_with_another_sites_form() {
        let mut browser = browser();
        with_cookie(&mut browser);
        let consent = url("http://auth.shop.localhost:4000/consent?user_code=WDJB-MJHT");
        assert_eq!(header(&browser.request(&consent, &Because::Opened), "cookie"), Some("assent-1=abc"));
        let elsewhere = url("http://shop.localhost:4001/login");
        assert_eq!(header(&browser.request(&elsewhere, &Because::Opened), "cookie"), None);
        let cross = Because::Submitted { from: &elsewhere, entries: Vec::new() };
        assert_eq!(header(&browser.request(&consent, &cross), "cookie"), None);
    }

    #[test]
    fn a_form_is_sent_with_the_origin_of_its_page() {
        let from = url("http://auth.shop.localhost:4000/consent?user_code=WDJB-MJHT");
        let entries = vec![("scope".to_owned(), "orders:read".to_owned()), ("decision".to_owned(), "allow".to_owned())];
        let because = Because::Submitted { from: &from, entries };
        let request = browser().request(&url("http://auth.shop.localhost:4000/consent/decision"), &because);
        assert_eq!(header(&request, "origin"), Some("http://auth.shop.localhost:4000"));
        assert_eq!(header(&request, "sec-fetch-site"), Some("same-origin"));
        assert_eq!(request.body.as_deref(), Some("scope=orders%3Aread&decision=allow".as_bytes()));
        let request = browser().request(&url("http://provider.localhost:4000/consent/decision"), &because);
        assert_eq!(header(&request, "sec-fetch-site"), Some("cross-site"));
    }
}
