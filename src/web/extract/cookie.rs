//! The cookies of browsers (RFC 6265): of a User's session at one Brand, and of an administrator's.
//!
//! A cookie that comes twice counts as absent: another host of the same site may have set one of the two.

use actix_web::HttpRequest;
use actix_web::cookie::time::Duration;
use actix_web::cookie::{Cookie, SameSite};
use actix_web::http::header;

use crate::domain::id::BrandId;
use crate::flow::sign_in::SESSION_LIFE;

/// The cookie's name; browsers let a `__Host-` cookie be set only over HTTPS and by that very host.
pub fn session_cookie_name(brand: &BrandId, https: bool) -> String {
    if https { format!("__Host-assent-{brand}") } else { format!("assent-{brand}") }
}

/// The session cookie of a browser that signed in at `brand`.
pub fn session_cookie(brand: &BrandId, session: &str, https: bool) -> Cookie<'static> {
    Cookie::build(session_cookie_name(brand, https), session.to_owned())
        .http_only(true)
        .same_site(SameSite::Lax)
        .path("/")
        .secure(https)
        .max_age(Duration::try_from(SESSION_LIFE).unwrap_or(Duration::ZERO))
        .finish()
}

/// A cookie on the administrators' listener.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdminCookie {
    /// The session, or the first half of a log-in.
    Session,
    /// The log-in page that this browser was shown.
    LogInPage,
    /// That somebody has logged in with this browser.
    Known,
}

impl AdminCookie {
    /// Its name; browsers let a `__Host-` cookie be set only over HTTPS and by that very host.
    pub const fn name(self, https: bool) -> &'static str {
        match (self, https) {
            (Self::Session, true) => "__Host-assent-admin",
            (Self::Session, false) => "assent-admin",
            (Self::LogInPage, true) => "__Host-assent-admin-log-in",
            (Self::LogInPage, false) => "assent-admin-log-in",
            (Self::Known, true) => "__Host-assent-admin-known",
            (Self::Known, false) => "assent-admin-known",
        }
    }

    /// The cookie with this `value`, which browsers keep for `life`; without one, until they are closed. No page of
    /// another site makes them send it.
    pub fn with(self, value: &str, life: Option<std::time::Duration>, https: bool) -> Cookie<'static> {
        let cookie = Cookie::build(self.name(https), value.to_owned());
        let cookie = cookie.http_only(true).same_site(SameSite::Strict).path("/").secure(https);
        match life {
            Some(life) => cookie.max_age(Duration::try_from(life).unwrap_or(Duration::ZERO)).finish(),
            None => cookie.finish(),
        }
    }
}

/// The value of the cookie called `name`, when it is there exactly once.
pub fn read<'a>(req: &'a HttpRequest, name: &str) -> Option<&'a str> {
    let mut values = req
        .headers()
        .get_all(header::COOKIE)
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .filter(|(given, _)| *given == name)
        .map(|(_, value)| value);
    let value = values.next()?;
    values.next().is_none().then_some(value)
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn brand() -> BrandId {
        BrandId::parse("01M3R53Q5SZQ6FQSMSDBSSREAA").unwrap()
    }

    #[test]
    fn a_session_cookie_is_for_this_host_alone() {
        assert_eq!(
            session_cookie(&brand(), "s", true).to_string(),
            "__Host-assent-01M3R53Q5SZQ6FQSMSDBSSREAA=s; HttpOnly; SameSite=Lax; Secure; Path=/; Max-Age=900"
        );
        assert_eq!(
            session_cookie(&brand(), "s", false).to_string(),
            "assent-01M3R53Q5SZQ6FQSMSDBSSREAA=s; HttpOnly; SameSite=Lax; Path=/; Max-Age=900"
        );
    }

    #[test]
    fn an_administrators_cookie_is_sent_by_pages_of_this_host_alone() {
        let life = Some(std::time::Duration::from_secs(8 * 3600));
        assert_eq!(
            AdminCookie::Session.with("s", life, true).to_string(),
            "__Host-assent-admin=s; HttpOnly; SameSite=Strict; Secure; Path=/; Max-Age=28800"
        );
        assert_eq!(
            AdminCookie::LogInPage.with("s", None, false).to_string(),
            "assent-admin-log-in=s; HttpOnly; SameSite=Strict; Path=/"
        );
    }

    // case 47
    #[test]
    fn a_cookie_is_read_by_its_exact_name_and_only_once() {
        let read = |values: &[&str]| {
            let start = TestRequest::default();
            let request = values.iter().fold(start, |request, value| request.append_header((header::COOKIE, *value)));
            super::read(&request.to_http_request(), "a").map(str::to_owned)
        };
        assert_eq!(read(&["b=1; a=2;c=3"]).as_deref(), Some("2"));
        assert_eq!(read(&["a=x=y"]).as_deref(), Some("x=y"));
        for absent in [&["a=1; a=1"][..], &["a=1", "a=2"], &["A=1"], &["a"], &[]] {
            assert_eq!(read(absent), None, "{absent:?}");
        }
    }
}
