//! Administrators, for owners.

use std::collections::BTreeSet;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::Value;

use super::input::{Fields, Written};
use super::operation::{Answer, Call};
use super::problem::{Problem, done};
use crate::domain::account::PoorPassword;
use crate::domain::administrator::{Access, Reach, Role};
use crate::domain::id::{AdministratorName, BrandId};
use crate::flow::admin::administrators::{self, Change, Changed, Created};
use crate::protocol::admin::{AdministratorJson, DoneJson, PageJson};
use crate::secret::Secret;

const WHAT: &str = "such administrator";

/// Who.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct One {
    /// Their name.
    name: AdministratorName,
}

impl Fields for One {}

/// At which Brands: `"*"`, or a list of ids. Nobody gets all of them by leaving something out.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub struct Brands(Reach);

impl Brands {
    /// The role `role` there.
    pub fn access(self, role: Role) -> Access {
        Access { role, reach: self.0 }
    }
}

impl TryFrom<Value> for Brands {
    type Error = &'static str;
    fn try_from(value: Value) -> Result<Self, Self::Error> {
        let wrong = "a role holds at \"*\" or at a list of Brands' ids";
        if value == "*" {
            return Ok(Self(Reach::All));
        }
        let brands: BTreeSet<BrandId> = serde_json::from_value(value).map_err(|_| wrong)?;
        if brands.is_empty() { Err(wrong) } else { Ok(Self(Reach::Brands(brands))) }
    }
}

impl JsonSchema for Brands {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Brands".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let id = generator.subschema_for::<BrandId>();
        json_schema!({
            "anyOf": [{ "type": "string", "const": "*" }, { "type": "array", "items": id, "minItems": 1 }],
        })
    }
}

/// A password that is set. It is shown nowhere.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Password(
    #[schemars(extend("minLength" = 12, "maxLength" = 256, "examples" = ["correct horse battery staple"]))] String,
);

impl From<Password> for Secret<String> {
    fn from(Password(text): Password) -> Self {
        Self::new(text)
    }
}

/// An administrator who is to be made.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct New {
    /// What they log in with.
    name: AdministratorName,
    /// What they may do.
    role: Role,
    /// At which Brands: `"*"` for all, those to come included, or a list of ids.
    brands: Brands,
    /// At least 12 characters, at most 1 024 bytes, and not their name or one character over and over.
    password: Password,
}

impl Written for New {}

/// What they may do from now on. They log in anew.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewAccess {
    /// What.
    role: Role,
    /// At which Brands: `"*"` for all, those to come included, or a list of ids.
    brands: Brands,
}

impl Written for NewAccess {}

/// Another password, for somebody who has lost theirs. They log in anew.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPassword {
    /// At least 12 characters, at most 1 024 bytes, and not their name or one character over and over.
    password: Password,
}

impl Written for NewPassword {}

/// Those within reach, by name.
pub async fn list(call: Call) -> Answer<PageJson<AdministratorJson>> {
    let all = administrators::list(&call.app, &call.by).await?;
    Ok(PageJson { items: all.into_iter().map(AdministratorJson::from).collect(), next_cursor: None })
}

/// One.
pub async fn show(call: Call<One>) -> Answer<AdministratorJson> {
    Ok(done(administrators::show(&call.app, &call.by, &call.path.name).await?, WHAT)?.into())
}

/// Makes one.
pub async fn create(call: Call<(), (), New>) -> Answer<AdministratorJson> {
    let Call { app, by, body: New { name, role, brands, password }, .. } = call;
    let created = administrators::create(&app, &by, &name, brands.access(role), &password.into()).await?;
    match done(created, "such Brand within reach")? {
        Created::Done => show(Call { app, by, path: One { name }, query: (), body: () }).await,
        Created::NameTaken => Err(Problem::Conflict {
            detail: "there is an administrator of this name already".to_owned(),
            parameter: Some("name".to_owned()),
        }),
        Created::PoorPassword(poor) => Err(poor_password(poor)),
        Created::NoBrand(_) => Err(no_brand()),
        Created::Busy(spent) => Err(Problem::Busy(spent)),
    }
}

/// Gives one another role, or other Brands.
pub async fn change(call: Call<One, (), NewAccess>) -> Answer<AdministratorJson> {
    let Call { app, by, path, query, body } = call;
    let call = Call { app, by, path, query, body: () };
    let (_, call) = changed(call, Change::Access(body.brands.access(body.role))).await?;
    show(call).await
}

/// Lets one in no longer, at once.
pub async fn disable(call: Call<One>) -> Answer<AdministratorJson> {
    let (_, call) = changed(call, Change::Disable).await?;
    show(call).await
}

/// Lets one in again.
pub async fn enable(call: Call<One>) -> Answer<AdministratorJson> {
    let (_, call) = changed(call, Change::Enable).await?;
    show(call).await
}

/// Gives one another password.
pub async fn set_password(call: Call<One, (), NewPassword>) -> Answer<DoneJson> {
    let Call { app, by, path, query, body } = call;
    let call = Call { app, by, path, query, body: () };
    let (what, call) = changed(call, Change::Password(body.password.into())).await?;
    Ok(DoneJson { id: call.path.name.to_string(), what })
}

/// Turns the second factor of one off, who has lost it.
pub async fn drop_second_factor(call: Call<One>) -> Answer<DoneJson> {
    let (what, call) = changed(call, Change::NoSecondFactor).await?;
    Ok(DoneJson { id: call.path.name.to_string(), what })
}

/// Removes one.
pub async fn remove(call: Call<One>) -> Answer<DoneJson> {
    let (_, call) = changed(call, Change::Remove).await?;
    Ok(DoneJson { id: call.path.name.to_string(), what: "removed" })
}

async fn changed(call: Call<One>, change: Change) -> Result<(&'static str, Call<One>), Problem> {
    let became = administrators::change(&call.app, &call.by, &call.path.name, &change).await?;
    match done(became, WHAT)? {
        Changed::Done => Ok(("changed", call)),
        Changed::AsBefore => Ok(("unchanged", call)),
        Changed::LastOwner => {
            Err(Problem::conflict("this is the last enabled owner of all Brands: make another first; nothing was done"))
        }
        Changed::PoorPassword(poor) => Err(poor_password(poor)),
        Changed::NoBrand(_) => Err(no_brand()),
        Changed::Busy(spent) => Err(Problem::Busy(spent)),
    }
}

fn poor_password(poor: PoorPassword) -> Problem {
    Problem::invalid("password", poor.to_string())
}

/// A Brand in a list of them is not there.
pub(super) fn no_brand() -> Problem {
    Problem::names_nothing("brands", "such Brand")
}
