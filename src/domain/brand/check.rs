//! What a Brand must be so that it can be served and misleads no User: a delegation has scopes, a login is a web address,
//! a grant ends within a year.

use super::{Agent, Brand, Delegation};
use crate::domain::check::{InvalidParameter, ensure, ensure_text, ensure_web};

impl Brand {
    /// Checks what one Brand alone can be checked for. `allow_http` lifts the HTTPS rule, for development.
    ///
    /// # Errors
    /// [`InvalidParameter`] names the first parameter that cannot be served.
    pub fn check(&self, allow_http: bool) -> Result<(), InvalidParameter> {
        ensure_text("name", &self.name, 80)?;
        ensure_text("description", &self.profile.description, 500)?;
        ensure_text("version", &self.profile.version, 40)?;
        ensure(!self.profile.skills.is_empty(), "skills", "has none; an A2A card lists at least one")?;
        for skill in &self.profile.skills {
            ensure_text("skills.id", &skill.id, 80)?;
            ensure_text("skills.name", &skill.name, 80)?;
            ensure_text("skills.description", &skill.description, 500)?;
            ensure(!skill.tags.is_empty(), "skills.tags", "has none; an A2A skill has at least one")?;
        }
        if let Agent::Http(agent) = &self.profile.agent {
            ensure_web("agent.url", &agent.url, allow_http)?;
            let seconds = agent.timeout_seconds;
            ensure((1..=300).contains(&seconds), "agent.timeout_seconds", format!("is {seconds}, expected 1 to 300"))?;
        }
        self.delegation.as_ref().map_or(Ok(()), |delegation| delegation.check(allow_http))
    }
}

impl Delegation {
    fn check(&self, allow_http: bool) -> Result<(), InvalidParameter> {
        if let Some(origin) = &self.auth_origin {
            ensure_web("delegation.auth_origin", origin, allow_http)?;
            let bare = origin.path() == "/" && origin.query().is_none();
            ensure(bare, "delegation.auth_origin", "is an origin: scheme, host and port, nothing after them")?;
        }
        ensure_web("delegation.login_url", &self.login_url, allow_http)?;
        let has_return_to = self.login_url.query_pairs().any(|(name, _)| name == "return_to");
        ensure(!has_return_to, "delegation.login_url", "must not have a return_to parameter of its own")?;
        if let Some(url) = &self.return_url {
            ensure_web("delegation.return_url", url, allow_http)?;
        }
        if let Some(receiver) = &self.events {
            ensure_web("delegation.events.url", &receiver.url, allow_http)?;
        }
        ensure_text("delegation.assertion.issuer", &self.assertion.issuer, 512)?;
        match (&self.assertion.jwks_uri, &self.assertion.jwks) {
            (Some(url), None) => ensure_web("delegation.assertion.jwks_uri", url, allow_http)?,
            (None, Some(jwks)) => ensure_public(jwks)?,
            _ => ensure(false, "delegation.assertion", "needs either jwks_uri or jwks")?,
        }
        let seconds = self.access_token_seconds;
        let range = (60..=3600).contains(&seconds);
        ensure(range, "delegation.access_token_seconds", format!("is {seconds}, expected 60 to 3600"))?;
        let days = self.grant_days;
        ensure((1..=365).contains(&days), "delegation.grant_days", format!("is {days}, expected 1 to 365"))?;
        ensure(
            !self.scopes.is_empty(),
            "delegation.scopes",
            "has none; a Brand that offers delegation has at least one",
        )?;
        let ids = self.scope_ids();
        ensure(ids.len() == self.scopes.len(), "delegation.scopes.id", "stands twice")?;
        ensure(ids.len() <= 50, "delegation.scopes", "has more than 50, which nobody can decide on")?;
        for scope in &self.scopes {
            ensure_text("delegation.scopes.description", &scope.description, 200)?;
            if let Some(detail) = &scope.detail {
                ensure_text("delegation.scopes.detail", detail, 500)?;
            }
        }
        for (language, texts) in &self.texts {
            let is_tag = (2..=8).contains(&language.len()) && language.bytes().all(|byte| byte.is_ascii_lowercase());
            ensure(is_tag, &format!("delegation.texts.{language}"), "is not a primary language subtag, such as de")?;
            for (id, text) in texts {
                let parameter = format!("delegation.texts.{language}.{id}");
                ensure(ids.contains(id), &parameter, "is not one of the scopes")?;
                ensure_text(&parameter, &text.description, 200)?;
                if let Some(detail) = &text.detail {
                    ensure_text(&format!("{parameter}.detail"), detail, 500)?;
                }
            }
        }
        Ok(())
    }
}

/// Inline keys are public ones: what stands in a Brand is kept in the audit log too.
fn ensure_public(jwks: &serde_json::Value) -> Result<(), InvalidParameter> {
    const PRIVATE: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];
    let parameter = "delegation.assertion.jwks";
    let keys = jwks.get("keys").and_then(|keys| keys.as_array()).filter(|keys| !keys.is_empty());
    ensure(keys.is_some(), parameter, "is not a JWK set with at least one key")?;
    let mut members = keys.into_iter().flatten().filter_map(|key| key.as_object()).flat_map(|key| key.keys());
    ensure(
        !members.any(|name| PRIVATE.contains(&name.as_str())),
        parameter,
        "holds a private key; give the public ones",
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use url::Url;

    use super::*;
    use crate::domain::brand::{EventReceiver, ScopeText};
    use crate::domain::samples;

    #[test]
    fn a_brand_that_cannot_be_served_is_refused_by_the_name_of_the_parameter() {
        let refused = |change: fn(&mut Brand), parameter: &str| {
            let mut brand = samples::brand();
            change(&mut brand);
            assert_eq!(brand.check(false).unwrap_err().parameter, parameter);
        };
        assert_eq!(samples::brand().check(false), Ok(()));
        refused(|b| b.name.clear(), "name");
        refused(|b| b.profile.skills.clear(), "skills");
        refused(|b| b.delegation.as_mut().unwrap().scopes.clear(), "delegation.scopes");
        refused(|b| b.delegation.as_mut().unwrap().grant_days = 366, "delegation.grant_days");
        refused(|b| b.delegation.as_mut().unwrap().access_token_seconds = 3601, "delegation.access_token_seconds");
        refused(
            |b| b.delegation.as_mut().unwrap().login_url = Url::parse("http://shop.example/login").unwrap(),
            "delegation.login_url",
        );
        refused(
            |b| b.delegation.as_mut().unwrap().auth_origin = Some(Url::parse("https://auth.example/x").unwrap()),
            "delegation.auth_origin",
        );
        refused(
            |b| {
                let url = Url::parse("http://shop.example/events").unwrap();
                b.delegation.as_mut().unwrap().events = Some(EventReceiver { url });
            },
            "delegation.events.url",
        );
        refused(|b| b.delegation.as_mut().unwrap().assertion.jwks_uri = None, "delegation.assertion");
        for jwks in [json!({}), json!({ "keys": [] }), json!({ "keys": [{ "kty": "EC", "d": "canary" }] })] {
            let mut brand = samples::brand();
            let assertion = &mut brand.delegation.as_mut().unwrap().assertion;
            (assertion.jwks_uri, assertion.jwks) = (None, Some(jwks));
            let problem = brand.check(false).unwrap_err();
            assert_eq!(problem.parameter, "delegation.assertion.jwks");
            assert!(!problem.to_string().contains("canary"));
        }
        let with_text = |language: &str, detail: &str| {
            let mut brand = samples::brand();
            let delegation = brand.delegation.as_mut().unwrap();
            let text = ScopeText { description: "Lesen".to_owned(), detail: Some(detail.to_owned()) };
            let texts = [(delegation.scopes[0].id.clone(), text)].into_iter().collect();
            delegation.texts.insert(language.to_owned(), texts);
            brand.check(false).map_err(|problem| problem.parameter)
        };
        assert_eq!(with_text("de", "Alles"), Ok(()));
        assert_eq!(with_text("not a tag!", "Alles"), Err("delegation.texts.not a tag!".to_owned()));
        let too_long = "delegation.texts.de.orders:read.detail".to_owned();
        assert_eq!(with_text("de", &"x".repeat(501)), Err(too_long));
        refused(
            |b| {
                let scopes = &mut b.delegation.as_mut().unwrap().scopes;
                let again = scopes[0].clone();
                scopes.push(again);
            },
            "delegation.scopes.id",
        );
    }
}
