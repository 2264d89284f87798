//! The assertion of a Brand's login (PACT §5.3): who signed in, and for which user code.
//!
//! Refuses what [`super::jws`] and the claims' times refuse, a `typ` other than `JWT`, another `iss`, an `aud` that is not
//! the expected address (as a string or an array of one), a `sub` or `jti` that is empty, longer than 255 characters or
//! has control characters, and a `user_code` that is none. That a `jti` is spent once is the store's to see to.

use serde_json::Value;

use super::claims::{Claims, Life};
use super::jwks::KeySet;
use super::jws::{Refused, Unverified};
use crate::clock::Timestamp;
use crate::domain::assertion::Assertion;
use crate::domain::consent::SignInRecord;
use crate::domain::id::BrandUser;
use crate::domain::user_code::UserCode;

/// Characters of a `name`, `email` or `locale`.
const LONGEST_DISPLAY: usize = 200;

/// Whose assertion, and for which address, is accepted.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// The Brand's configured assertion issuer, exact.
    pub issuer: &'a str,
    /// The address that it is posted to, without query: the consent URL or the `/grants` URL.
    pub audience: &'a str,
}

/// A verified sign-in to the `/grants` page: an assertion without `user_code`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GrantsSignIn {
    /// The Brand's login, exact.
    pub issuer: String,
    /// The User's id at the Brand.
    pub sub: BrandUser,
    /// Accepted once per Brand.
    pub jti: String,
    /// When the User signed in, by the Brand's clock.
    pub issued_at: Timestamp,
    /// Until when the assertion may be used.
    pub expires_at: Timestamp,
    /// For display only.
    pub name: Option<String>,
    /// For display only.
    pub email: Option<String>,
    /// A language tag (BCP 47), for display only.
    pub locale: Option<String>,
}

impl From<&GrantsSignIn> for SignInRecord {
    fn from(sign_in: &GrantsSignIn) -> Self {
        Self {
            iss: sign_in.issuer.clone(),
            sub: sign_in.sub.as_str().to_owned(),
            jti: sign_in.jti.clone(),
            iat: sign_in.issued_at.seconds(),
            exp: sign_in.expires_at.seconds(),
            name: sign_in.name.clone(),
            email: sign_in.email.clone(),
            locale: sign_in.locale.clone(),
        }
    }
}

/// The sign-in for one user code that `token` proves at `now`.
///
/// # Errors
/// [`Refused`]; [`Refused::UnknownKey`] when a newer key set could help.
pub fn verify(token: &str, keys: &KeySet, expected: &Expected<'_>, now: Timestamp) -> Result<Assertion, Refused> {
    let claims = verified_claims(token, keys, expected)?;
    let user_code = UserCode::parse(claims.text("user_code")?).ok_or(Refused::Claim("user_code"))?;
    let GrantsSignIn { issuer, sub, jti, issued_at, expires_at, name, email, locale } =
        sign_in(&claims, expected, now)?;
    Ok(Assertion { issuer, sub, user_code, jti, issued_at, expires_at, name, email, locale })
}

/// The sign-in to the `/grants` page that `token` proves at `now`. It has no `user_code`, so that no assertion is good
/// for both pages.
///
/// # Errors
/// [`Refused`]; [`Refused::UnknownKey`] when a newer key set could help.
pub fn verify_for_grants(
    token: &str,
    keys: &KeySet,
    expected: &Expected<'_>,
    now: Timestamp,
) -> Result<GrantsSignIn, Refused> {
    let claims = verified_claims(token, keys, expected)?;
    if claims.get("user_code").is_some() {
        return Err(Refused::Claim("user_code"));
    }
    sign_in(&claims, expected, now)
}

fn verified_claims(token: &str, keys: &KeySet, expected: &Expected<'_>) -> Result<Claims, Refused> {
    let token = Unverified::parse(token)?;
    token.ensure_plain_jwt()?;
    keys.verify(&token)?;
    let claims = Claims::parse(token.payload())?;
    if claims.text("iss")? != expected.issuer {
        return Err(Refused::Issuer);
    }
    let audience = match claims.get("aud") {
        Some(Value::String(one)) => Some(one.as_str()),
        Some(Value::Array(all)) => match all.as_slice() {
            [one] => one.as_str(),
            _ => None,
        },
        _ => None,
    };
    match audience {
        Some(audience) if audience == expected.audience => Ok(claims),
        Some(_) => Err(Refused::Audience),
        None => Err(Refused::Claim("aud")),
    }
}

fn sign_in(claims: &Claims, expected: &Expected<'_>, now: Timestamp) -> Result<GrantsSignIn, Refused> {
    let Life { issued_at, expires_at } = claims.life(now)?;
    // The pages fall back to `sub` where there is no name, so it may not reorder what stands beside it.
    let sub = Some(claims.text("sub")?).filter(|sub| !sub.contains(is_bidi_control));
    let sub = sub.and_then(|sub| BrandUser::parse(sub).ok()).ok_or(Refused::Claim("sub"))?;
    let jti = claims.text("jti")?;
    if jti.is_empty() || jti.chars().count() > 255 || jti.contains(char::is_control) {
        return Err(Refused::Claim("jti"));
    }
    Ok(GrantsSignIn {
        issuer: expected.issuer.to_owned(),
        sub,
        jti: jti.to_owned(),
        issued_at,
        expires_at,
        name: display(claims, "name")?,
        email: display(claims, "email")?,
        locale: display(claims, "locale")?,
    })
}

/// An optional text that is only shown: control and bidi-control characters are taken out, since people's names come with
/// a stray direction mark; what is too long is refused, since a cut address reads as another. Null counts as absent.
fn display(claims: &Claims, name: &'static str) -> Result<Option<String>, Refused> {
    match claims.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => {
            let shown: String = text.chars().filter(|c| !c.is_control() && !is_bidi_control(*c)).collect();
            let shown = shown.trim();
            if shown.chars().count() > LONGEST_DISPLAY {
                return Err(Refused::Claim(name));
            }
            Ok((!shown.is_empty()).then(|| shown.to_owned()))
        }
        Some(_) => Err(Refused::Claim(name)),
    }
}

/// Unicode's Bidi_Control, and the two separators that break a line.
fn is_bidi_control(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests;
