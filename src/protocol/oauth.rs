//! Answers of the authorization server (RFC 6749 §5, RFC 8414 §2, RFC 8628 §3.2).

use serde::Serialize;

use crate::domain::addresses::Addresses;
use crate::domain::brand::Delegation;

/// RFC 8628 §3.4.
pub const DEVICE_CODE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// RFC 6749 §6.
pub const REFRESH_TOKEN_GRANT: &str = "refresh_token";
/// How clients authenticate, as an absolute URI (RFC 7591 §2): `private_key_jwt` would promise the `client_assertion`
/// parameter.
pub const AUTH_METHOD: &str = "https://openpactprotocol.org/spec#32-personal-agent-jwt";

const SIGNING_ALGS: [&str; 2] = ["ES256", "RS256"];

/// Authorization server metadata (RFC 8414 §2). Only endpoints that are served are listed.
#[derive(Debug, Serialize)]
pub struct ServerMetadata<'a> {
    issuer: &'a str,
    device_authorization_endpoint: String,
    token_endpoint: String,
    revocation_endpoint: String,
    introspection_endpoint: String,
    jwks_uri: String,
    scopes_supported: Vec<&'a str>,
    grant_types_supported: [&'static str; 2],
    response_types_supported: [&'static str; 0],
    token_endpoint_auth_methods_supported: [&'static str; 1],
    token_endpoint_auth_signing_alg_values_supported: [&'static str; 2],
    revocation_endpoint_auth_methods_supported: [&'static str; 1],
    revocation_endpoint_auth_signing_alg_values_supported: [&'static str; 2],
    introspection_endpoint_auth_methods_supported: [&'static str; 1],
    introspection_endpoint_auth_signing_alg_values_supported: [&'static str; 2],
}

impl<'a> ServerMetadata<'a> {
    /// The metadata of a Brand that offers delegation.
    pub fn new(addresses: &'a Addresses, delegation: &'a Delegation) -> Self {
        Self {
            issuer: &addresses.issuer,
            device_authorization_endpoint: addresses.under_issuer("device_authorization"),
            token_endpoint: addresses.under_issuer("token"),
            revocation_endpoint: addresses.under_issuer("revoke"),
            introspection_endpoint: addresses.under_issuer("introspect"),
            jwks_uri: addresses.under_issuer("jwks.json"),
            scopes_supported: delegation.scopes.iter().map(|scope| scope.id.as_str()).collect(),
            grant_types_supported: [DEVICE_CODE_GRANT, REFRESH_TOKEN_GRANT],
            response_types_supported: [],
            token_endpoint_auth_methods_supported: [AUTH_METHOD],
            token_endpoint_auth_signing_alg_values_supported: SIGNING_ALGS,
            revocation_endpoint_auth_methods_supported: [AUTH_METHOD],
            revocation_endpoint_auth_signing_alg_values_supported: SIGNING_ALGS,
            introspection_endpoint_auth_methods_supported: [AUTH_METHOD],
            introspection_endpoint_auth_signing_alg_values_supported: SIGNING_ALGS,
        }
    }
}

/// The answer of the device authorization endpoint (RFC 8628 §3.2).
#[derive(Debug, Serialize)]
pub struct DeviceAuthorizationResponse<'a> {
    /// For polling; a secret.
    pub device_code: &'a str,
    /// `XXXX-XXXX`.
    pub user_code: String,
    /// The Brand's login.
    pub verification_uri: String,
    /// The same with the user code inside.
    pub verification_uri_complete: String,
    /// Seconds.
    pub expires_in: u64,
    /// Seconds between polls.
    pub interval: u32,
}

/// The answer of the token endpoint (RFC 6749 §5.1).
#[derive(Debug, Serialize)]
pub struct TokenResponse<'a> {
    /// `Bearer`.
    pub token_type: &'static str,
    /// A delegation token (PACT §5.4).
    pub access_token: &'a str,
    /// Its successor's key; a secret.
    pub refresh_token: &'a str,
    /// Seconds.
    pub expires_in: u64,
    /// What the token allows, which may be less than was asked for.
    pub scope: String,
}

/// What the introspection endpoint says of a token that is good (RFC 7662 §2.2).
#[derive(Debug, Serialize)]
pub struct ActiveTokenResponse<'a> {
    /// `true`.
    pub active: bool,
    /// The authorization server.
    pub iss: &'a str,
    /// Where the token is presented.
    pub aud: &'a str,
    /// The User's id at the Brand.
    pub sub: &'a str,
    /// The personal agent's issuer.
    pub client_id: &'a str,
    /// What it allows now, separated by spaces; empty when nothing of it is left.
    pub scope: String,
    /// The grant that it is of.
    pub grant_id: &'a str,
    /// When it was made, in seconds since the Unix epoch.
    pub iat: i64,
    /// Until when it may be used.
    pub exp: i64,
    /// `Bearer` for a delegation token, `refresh_token` for a refresh token.
    pub token_type: &'static str,
}

/// What the introspection endpoint says of every other (RFC 7662 §2.2).
#[derive(Debug, Serialize)]
pub struct InactiveTokenResponse {
    active: bool,
}

impl InactiveTokenResponse {
    /// `{"active":false}`, whatever is the matter with it.
    #[expect(clippy::new_without_default, reason = "there is one value, and it is no default of anything")]
    pub const fn new() -> Self {
        Self { active: false }
    }
}

/// The error codes of RFC 6749 §5.2 and RFC 8628 §3.5 that are used here.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// A parameter is missing, repeated or malformed.
    InvalidRequest,
    /// `client_id` is not the caller's.
    InvalidClient,
    /// The code or token is not good.
    InvalidGrant,
    /// Neither of the two grant types.
    UnsupportedGrantType,
    /// A scope that the Brand or the grant does not have.
    InvalidScope,
    /// The User has not decided yet.
    AuthorizationPending,
    /// The same, and the polls come too fast.
    SlowDown,
    /// The User did not allow it.
    AccessDenied,
    /// The device code has run out.
    ExpiredToken,
    /// Too many live codes.
    TooManyRequests,
    /// The database is away.
    TemporarilyUnavailable,
    /// Assent failed.
    ServerError,
}

/// An error answer (RFC 6749 §5.2).
#[derive(Debug, Serialize)]
pub struct ErrorResponse<'a> {
    /// The code.
    pub error: ErrorCode,
    /// For developers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_description: Option<&'a str>,
}
