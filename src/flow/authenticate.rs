//! Who calls (PACT §3.2): the personal-agent JWT against the JWKS of a known, enabled personal agent.

use crate::app::App;
use crate::crypto::pa_jwt;
use crate::domain::id::Caller;

/// Why a caller is not known, in a word for logs and metrics. The answer is one and the same 401.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unauthenticated(pub &'static str);

/// The caller that `token` proves.
///
/// # Errors
/// [`Unauthenticated`] for every way in which it does not.
pub async fn authenticate(app: &App, token: &str) -> Result<Caller, Unauthenticated> {
    let now = app.clock.now();
    let issuer = pa_jwt::issuer(token).map_err(|refused| Unauthenticated(refused.label()))?;
    let directory = app.directory.current();
    let agent = directory.personal_agent(&issuer).ok_or(Unauthenticated("unknown_personal_agent"))?;
    if !agent.enabled {
        return Err(Unauthenticated("disabled_personal_agent"));
    }
    let audience = &app.config.audience;
    app.directory
        .with_remote_keys(&agent.jwks_uri, now, |keys| pa_jwt::verify(token, keys, &issuer, audience, now))
        .await
        .map_err(|refused| Unauthenticated(refused.map_or("no_key_set", |refused| refused.label())))
}
