//! Identifiers. Each is its own type and is parsed once, at the edge; no bare `String` names a thing further in.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use ulid::Ulid;
use uuid::Uuid;

use super::check::PRINTABLE;

/// What was wrong with an identifier; names the kind, never the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {problem}")]
pub struct InvalidId {
    kind: &'static str,
    problem: &'static str,
}

/// Printable text of 1 to `max` characters without control characters, which no store, header or log line trips over.
fn printable(kind: &'static str, value: &str, max: usize) -> Result<(), InvalidId> {
    let problem = if value.is_empty() {
        "is empty"
    } else if value.chars().count() > max {
        "is too long"
    } else if value.chars().any(char::is_control) {
        "has a control character"
    } else {
        return Ok(());
    };
    Err(InvalidId { kind, problem })
}

/// A ULID in its canonical form, as a pattern of ECMA-262.
const ULID: &str = "^[0-7][0-9A-HJKMNP-TV-Z]{25}$";

/// A grant's id, as a pattern of ECMA-262.
const GRANT: &str = "^a2agrant_[0-7][0-9A-HJKMNP-TV-Z]{25}$";

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, ($pattern:expr, $longest:literal, $example:literal), $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks and wraps `value`.
            ///
            /// # Errors
            /// [`InvalidId`] when the value is not of this identifier's form.
            pub fn parse(value: impl Into<String>) -> Result<Self, InvalidId> {
                let value = value.into();
                let check: fn(&'static str, &str) -> Result<(), InvalidId> = $check;
                check($kind, &value)?;
                Ok(Self(value))
            }

            /// The identifier as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(value: String) -> Result<Self, InvalidId> {
                Self::parse(value)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!({
                    "type": "string", "minLength": 1, "maxLength": $longest, "pattern": $pattern, "examples": [$example],
                })
            }
        }
    };
}

text_id!(
    /// A Brand's id, assigned by the Provider: a ULID in its canonical upper-case form (PACT §1).
    BrandId,
    "brand id",
    (ULID, 26, "01M3R53Q5SZQ6FQSMSDBSSREAA"),
    |kind, value| match Ulid::from_string(value) {
        Ok(ulid) if ulid.to_string() == value => Ok(()),
        _ => Err(InvalidId { kind, problem: "is not a ULID in upper case" }),
    }
);

text_id!(
    /// A personal agent's issuer: the exact `iss` of its JWTs and its `client_id` (PACT §3.1, §5).
    Issuer,
    "issuer",
    (PRINTABLE, 512, "https://pa.example.com"),
    |kind, value| printable(kind, value, 512)
);

text_id!(
    /// The `sub` of a personal-agent JWT: stable and opaque, per User of that personal agent (PACT §3.2).
    PaSub,
    "sub",
    (PRINTABLE, 512, "user-7f3a"),
    |kind, value| printable(kind, value, 512)
);

text_id!(
    /// The User's id at the Brand: `sub` of the assertion and of the delegation token (PACT §5.4).
    BrandUser,
    "sub",
    (PRINTABLE, 255, "jane-4471"),
    |kind, value| printable(kind, value, 255)
);

text_id!(
    /// A grant's id: `a2agrant_` and a ULID. Opaque to everyone else (PACT §5.4).
    GrantId,
    "grant id",
    (GRANT, 35, "a2agrant_01M3R53Q5SZQ6FQSMSDBSSREAG"),
    |kind, value| match value.strip_prefix("a2agrant_").map(Ulid::from_string) {
        Some(Ok(ulid)) if value.ends_with(&ulid.to_string()) => Ok(()),
        _ => Err(InvalidId { kind, problem: "is not a2agrant_ and a ULID" }),
    }
);

text_id!(
    /// A message's id, chosen by its sender: 1 to 256 characters (PACT §4.1).
    MessageId,
    "messageId",
    (PRINTABLE, 256, "m-001"),
    |kind, value| printable(kind, value, 256)
);

text_id!(
    /// The `kid` of one of a Brand's keys.
    KeyId,
    "kid",
    (PRINTABLE, 128, "01M3R53Q5SZQ6FQSMSDBSSREAK"),
    |kind, value| printable(kind, value, 128)
);

text_id!(
    /// The name with which an administrator logs in, and which stands in the audit log: 1 to 64 characters, lower case
    /// letters, digits and `. _ - @`, a letter or digit first.
    AdministratorName,
    "name",
    (r"^[a-z0-9][a-z0-9._@-]*$", 64, "anna"),
    |kind, value| {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
        let is_name = value.starts_with(is_plain) && value.chars().all(|c| is_plain(c) || ".-_@".contains(c));
        match is_name && value.len() <= 64 {
            true => Ok(()),
            false => Err(InvalidId { kind, problem: "is not 1 to 64 of a-z, 0-9 and . _ - @, a letter or digit first" }),
        }
    }
);

text_id!(
    /// A resource-server key's id, a ULID: it names the key and opens nothing.
    ResourceServerKeyId,
    "resource-server key id",
    (ULID, 26, "01M3R53Q5SZQ6FQSMSDBSSREAR"),
    |kind, value| match Ulid::from_string(value) {
        Ok(ulid) if ulid.to_string() == value => Ok(()),
        _ => Err(InvalidId { kind, problem: "is not a ULID in upper case" }),
    }
);

text_id!(
    /// The id of an API key, which is no secret: a ULID.
    ApiKeyId,
    "API key id",
    (ULID, 26, "01M3R53Q5SZQ6FQSMSDBSSREAP"),
    |kind, value| match Ulid::from_string(value) {
        Ok(ulid) if ulid.to_string() == value => Ok(()),
        _ => Err(InvalidId { kind, problem: "is not a ULID in upper case" }),
    }
);

impl AdministratorName {
    /// Reads a name as a person types it: case and surrounding space do not matter.
    ///
    /// # Errors
    /// [`InvalidId`] when it is none.
    pub fn typed(text: &str) -> Result<Self, InvalidId> {
        Self::parse(text.trim().to_ascii_lowercase())
    }
}

impl ApiKeyId {
    /// The API key id made of `ulid`.
    pub fn from_ulid(ulid: Ulid) -> Self {
        Self(ulid.to_string())
    }
}

impl BrandId {
    /// The Brand id made of `ulid`.
    pub fn from_ulid(ulid: Ulid) -> Self {
        Self(ulid.to_string())
    }
}

impl GrantId {
    /// The grant id made of `ulid`.
    pub fn from_ulid(ulid: Ulid) -> Self {
        Self(format!("a2agrant_{ulid}"))
    }
}

impl ResourceServerKeyId {
    /// The key's id made of `ulid`.
    pub fn from_ulid(ulid: Ulid) -> Self {
        Self(ulid.to_string())
    }
}

impl KeyId {
    /// The key id made of `ulid`.
    pub fn from_ulid(ulid: Ulid) -> Self {
        Self(ulid.to_string())
    }
}

macro_rules! row_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub struct $name(Uuid);

        impl $name {
            /// Wraps a random UUID.
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            /// Reads the canonical lower-case form and no other.
            pub fn parse(text: &str) -> Option<Self> {
                let uuid = Uuid::try_parse(text).ok()?;
                (uuid.hyphenated().to_string() == text).then_some(Self(uuid))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }
    };
}

row_id!(
    /// A conversation between one `(personal agent, sub)` and one Brand (PACT §4.2).
    ContextId
);
row_id!(
    /// One device authorization: a device code, its user code and what became of them (RFC 8628 §3.2).
    DeviceAuthorizationId
);
row_id!(
    /// The refresh tokens that descend from one redeemed device code.
    FamilyId
);
row_id!(
    /// The `jti` of a delegation token.
    TokenId
);
row_id!(
    /// One signed receipt in the log.
    ReceiptId
);

/// SHA-256 of a code or token: what is stored in its place.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// Wraps 32 bytes.
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes, in the order SHA-256 gives them.
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// 64 lower-case hexadecimal digits: the stored form.
    pub fn to_hex(&self) -> String {
        use fmt::Write as _;
        self.0.iter().fold(String::with_capacity(64), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Digest(…)")
    }
}

/// The caller of a request: the pair that PACT calls the User (PACT §3.2).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Caller {
    /// The personal agent's issuer, which is also its `client_id`.
    pub issuer: Issuer,
    /// Its name for the User.
    pub sub: PaSub,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_brand_id_is_a_ulid_in_upper_case_and_nothing_else() {
        assert!(BrandId::parse("01M3R53Q5SZQ6FQSMSDBSSREAA").is_ok());
        for wrong in [
            "",
            "01m3r53q5szq6fqsmsdbssreaa",
            "01M3R53Q5SZQ6FQSMSDBSSREA",
            "../etc/passwd",
            "81M3R53Q5SZQ6FQSMSDBSSREAA",
        ] {
            assert!(BrandId::parse(wrong).is_err(), "{wrong}");
        }
    }

    // case 67
    #[test]
    fn a_context_id_is_read_in_its_canonical_form_only() {
        let text = "f0c12e6b-231e-4d92-a610-2518a0f27d20";
        assert_eq!(ContextId::parse(text).map(|id| id.to_string()).as_deref(), Some(text));
        for wrong in [
            text.to_uppercase(),
            text.replace('-', ""),
            format!("{{{text}}}"),
            format!("urn:uuid:{text}"),
            String::new(),
        ] {
            assert!(ContextId::parse(&wrong).is_none(), "{wrong}");
        }
    }

    #[test]
    fn text_ids_refuse_control_characters_emptiness_and_excess() {
        assert!(MessageId::parse("m".repeat(256)).is_ok());
        assert!(MessageId::parse("m".repeat(257)).is_err());
        assert!(MessageId::parse("").is_err());
        assert!(BrandUser::parse("jane\u{0}").is_err());
        assert!(BrandUser::parse("jane\u{9b}").is_err());
    }

    #[test]
    fn a_digest_is_written_in_hexadecimal_and_hidden_in_debug_output() {
        let digest = Digest::new([0xab; 32]);
        assert_eq!(digest.to_hex(), "ab".repeat(32));
        assert_eq!(format!("{digest:?}"), "Digest(…)");
    }
}
