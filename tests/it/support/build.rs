//! Values with defaults, and the usual beginnings of a story: a Brand, a code, a grant, tokens, a turn.

use std::sync::LazyLock;
use std::time::Duration;

use assent::clock::Timestamp;
use assent::domain::audit::{Action, Actor, Entry, RequestId};
use assent::domain::brand::Brand;
use assent::domain::consent::{ShownScopes, SignInRecord};
use assent::domain::conversation::{Authority, Reservation};
use assent::domain::device::{Decision, DeviceAuthorization, DeviceState, LIFE, Origin, Shown};
use assent::domain::grant::{Grant, GrantState, expiry};
use assent::domain::id::{
    BrandId, BrandUser, Caller, ContextId, DeviceAuthorizationId, Digest, FamilyId, GrantId, Issuer, MessageId, PaSub,
    ReceiptId, TokenId,
};
use assent::domain::personal_agent::PersonalAgent;
use assent::domain::samples;
use assent::domain::scope::ScopeSet;
use assent::entropy::Entropy;
use assent::store::{
    Applied, Apply, BrowserSession, Completed, ConsentPage, ContextChoice, Created, Decide, Decided, Evidence,
    NewDeviceAuthorization, NewTokens, Redeem, Redeemed, Reserve, Reserved, TurnDone,
};
use serde_json::json;

use super::database::Database;

/// When every test begins.
pub(crate) const NOW: Timestamp = Timestamp::from_seconds(1_767_225_600);

/// How long a context may be silent.
pub(crate) const IDLE: Duration = Duration::from_secs(30 * 86_400);

/// How long a turn may take in the tests.
pub(crate) const LEASE: Duration = Duration::from_secs(35);

/// The request of every audit row in the tests.
pub(crate) static REQUEST: LazyLock<RequestId> = LazyLock::new(|| RequestId("request-1".to_owned()));

/// So many seconds after [`NOW`].
pub(crate) fn after(seconds: u64) -> Timestamp {
    NOW.plus(Duration::from_secs(seconds))
}

pub(crate) fn scopes(text: &str) -> ScopeSet {
    ScopeSet::parse(text).unwrap()
}

pub(crate) fn user(name: &str) -> BrandUser {
    BrandUser::parse(name).unwrap()
}

pub(crate) fn jane() -> BrandUser {
    user("jane-4471")
}

pub(crate) fn message(id: &str) -> MessageId {
    MessageId::parse(id).unwrap()
}

pub(crate) fn shop() -> Brand {
    samples::brand()
}

/// A second Brand with the same scopes.
pub(crate) fn bank() -> Brand {
    Brand {
        id: BrandId::parse("01M3R53Q5SZQ6FQSMSDBSSREAB").unwrap(),
        name: "Example Bank".to_owned(),
        ..samples::brand()
    }
}

/// The shop without this scope.
pub(crate) fn shop_without(scope: &str) -> Brand {
    let mut brand = shop();
    brand.delegation.as_mut().unwrap().scopes.retain(|offered| offered.id.as_str() != scope);
    brand
}

pub(crate) fn caller() -> Caller {
    caller_of("user-7f3a")
}

pub(crate) fn caller_of(sub: &str) -> Caller {
    Caller { issuer: samples::personal_agent().issuer, sub: PaSub::parse(sub).unwrap() }
}

/// A second personal agent.
pub(crate) fn other_agent() -> PersonalAgent {
    PersonalAgent { issuer: Issuer::parse("https://other.example.com").unwrap(), ..samples::personal_agent() }
}

pub(crate) fn entry_at(action: Action, at: Timestamp) -> Entry {
    Entry {
        brand: Some(shop().id),
        at,
        actor: Actor::User("jane-4471".to_owned()),
        action,
        subject: "subject-1".to_owned(),
        request: REQUEST.clone(),
        payload: json!({ "email": "jane@shop.example" }),
    }
}

pub(crate) fn entry(action: Action) -> Entry {
    entry_at(action, NOW)
}

/// A change of the directory by nobody in particular.
pub(crate) fn change(revision: i64) -> Apply {
    Apply {
        revision,
        brands: Vec::new(),
        personal_agents: Vec::new(),
        keys: Vec::new(),
        key_states: Vec::new(),
        removed: Vec::new(),
        audit: Vec::new(),
        actor: Actor::Administrator("root".to_owned()),
        request: REQUEST.clone(),
        at: NOW,
    }
}

pub(crate) fn record(brand_user: &BrandUser) -> SignInRecord {
    SignInRecord {
        iss: "https://shop.example".to_owned(),
        sub: brand_user.as_str().to_owned(),
        jti: "assertion-1".to_owned(),
        iat: NOW.seconds(),
        exp: NOW.seconds() + 300,
        name: Some("Jane \u{202e}Doe <b>".to_owned()),
        email: None,
        locale: Some("de".to_owned()),
    }
}

pub(crate) fn authority(grant: &Grant) -> Authority {
    Authority { grant: grant.id.clone(), brand_user: grant.brand_user.clone(), scopes: grant.scopes.clone() }
}

/// A message that wants to run in this context.
pub(crate) fn reserve<'a>(
    brand: &'a BrandId,
    caller: &'a Caller,
    context: ContextChoice,
    message: &'a MessageId,
    authority: Option<&'a Authority>,
    now: Timestamp,
) -> Reserve<'a> {
    Reserve { brand, caller, context, message, authority, lease_until: now.plus(LEASE), idle: IDLE, now }
}

/// Draws ids and codes, the same in each run.
#[derive(Debug)]
pub(crate) struct Build {
    entropy: Entropy,
}

impl Default for Build {
    fn default() -> Self {
        Self { entropy: Entropy::seeded(1) }
    }
}

impl Build {
    pub(crate) fn digest(&self) -> Digest {
        Digest::new(self.entropy.bytes())
    }

    pub(crate) fn context(&self) -> ContextId {
        ContextId::from_uuid(self.entropy.uuid())
    }

    pub(crate) fn family(&self) -> FamilyId {
        FamilyId::from_uuid(self.entropy.uuid())
    }

    pub(crate) fn receipt(&self) -> ReceiptId {
        ReceiptId::from_uuid(self.entropy.uuid())
    }

    pub(crate) fn device_id(&self) -> DeviceAuthorizationId {
        DeviceAuthorizationId::from_uuid(self.entropy.uuid())
    }

    /// A pending request of the personal agent at the shop for two scopes.
    pub(crate) fn device(&self) -> DeviceAuthorization {
        DeviceAuthorization {
            id: self.device_id(),
            brand: shop().id,
            caller: caller(),
            requested: scopes("orders:read orders:cancel"),
            origin: Origin::Requested,
            created_at: NOW,
            expires_at: NOW.plus(LIFE),
            state: DeviceState::Pending,
        }
    }

    /// A pending step-up of `grant`.
    pub(crate) fn step_up(&self, grant: &Grant, missing: &str) -> DeviceAuthorization {
        DeviceAuthorization {
            requested: scopes(missing),
            origin: Origin::StepUp {
                grant: grant.id.clone(),
                brand_user: grant.brand_user.clone(),
                sealed_user_code: "sealed".to_owned(),
            },
            ..self.device()
        }
    }

    /// A live grant of two scopes.
    pub(crate) fn grant(&self, brand_user: &BrandUser) -> Grant {
        Grant {
            id: GrantId::from_ulid(self.entropy.ulid(NOW)),
            brand: shop().id,
            brand_user: brand_user.clone(),
            caller: caller(),
            scopes: scopes("orders:read orders:cancel"),
            version: 1,
            created_at: NOW,
            decided_at: NOW,
            expires_at: expiry(NOW, 30),
            last_used_at: None,
            state: GrantState::Live,
        }
    }

    pub(crate) fn session(&self, device: &DeviceAuthorization, brand_user: &BrandUser) -> BrowserSession {
        BrowserSession {
            brand: device.brand.clone(),
            brand_user: brand_user.clone(),
            device: Some(device.id),
            sign_in: record(brand_user),
            created_at: NOW,
            expires_at: after(900),
        }
    }

    pub(crate) fn page(
        &self,
        device: &DeviceAuthorization,
        brand_user: &BrandUser,
        grant: Option<&Grant>,
    ) -> ConsentPage {
        ConsentPage {
            brand: device.brand.clone(),
            brand_user: brand_user.clone(),
            device: device.id,
            shown: shown(device, grant),
            language: "en".to_owned(),
            sign_in: record(brand_user),
            sealed_user_code: "sealed".to_owned(),
            grant: grant.map(|grant| (grant.id.clone(), grant.version)),
            created_at: NOW,
            expires_at: after(600),
        }
    }

    pub(crate) fn evidence(&self, device: &DeviceAuthorization, brand_user: &BrandUser) -> Evidence {
        Evidence {
            device: device.id,
            brand: device.brand.clone(),
            brand_user: brand_user.clone(),
            caller: device.caller.clone(),
            shown: shown(device, None),
            language: "en".to_owned(),
            sign_in: record(brand_user),
        }
    }

    /// Tokens for all that the grant has.
    pub(crate) fn tokens(&self, grant: &Grant) -> NewTokens {
        NewTokens {
            refresh: self.digest(),
            token: TokenId::from_uuid(self.entropy.uuid()),
            scopes: grant.scopes.clone(),
            expires_at: after(900),
            grant: grant.id.clone(),
            grant_version: grant.version,
        }
    }
}

fn shown(device: &DeviceAuthorization, grant: Option<&Grant>) -> ShownScopes {
    let Shown { requested, allowed } = device.shown(grant);
    ShownScopes::new(&Shown { requested, allowed }, shop().delegation.as_ref().unwrap(), "en")
}

impl Database {
    /// The two Brands and the two personal agents.
    pub(crate) async fn with_directory(&self) {
        let brands = vec![shop(), bank()];
        let personal_agents = vec![samples::personal_agent(), other_agent()];
        let done = self.apply(&Apply { brands, personal_agents, ..change(0) }).await.unwrap();
        assert_eq!(done, Applied::Done { narrowed: 0, ended: 0 });
    }

    /// Stores this device authorization under fresh codes: the device code's digest (for a request), the user code's.
    pub(crate) async fn store_device(&self, device: &DeviceAuthorization) -> (Digest, Digest) {
        let (device_code, user_code) = (self.build.digest(), self.build.digest());
        let device_code_or_none = (device.origin == Origin::Requested).then_some(device_code);
        let new = NewDeviceAuthorization { device, device_code: device_code_or_none, user_code, most_live: 20 };
        assert_eq!(self.create_device_authorization(&new).await.unwrap(), Created::Created);
        (device_code, user_code)
    }

    /// A pending request.
    pub(crate) async fn requested(&self) -> DeviceAuthorization {
        let device = self.build.device();
        self.store_device(&device).await;
        device
    }

    /// A request that this Brand user approved, with the grant that it made.
    pub(crate) async fn approved_by(&self, brand_user: &BrandUser) -> (DeviceAuthorization, Grant) {
        let device = self.requested().await;
        let grant = self.build.grant(brand_user);
        let decided = self
            .decide(&Decide {
                decision: &Decision::Approve(grant.scopes.clone()),
                page_grant: None,
                grant: &grant,
                evidence: &self.build.evidence(&device, brand_user),
                entry: &entry(Action::GrantCreated),
            })
            .await
            .unwrap();
        assert_eq!(decided, Decided::Done);
        (device, grant)
    }

    /// A grant whose code was redeemed, with the tokens and their family.
    pub(crate) async fn redeemed_by(&self, brand_user: &BrandUser) -> (Grant, FamilyId, NewTokens) {
        let (device, grant) = self.approved_by(brand_user).await;
        let (family, tokens) = (self.build.family(), self.build.tokens(&grant));
        let redeem = Redeem { device: device.id, family, tokens: &tokens, entry: &entry(Action::TokensIssued) };
        assert_eq!(self.redeem(&redeem).await.unwrap(), Redeemed::Done);
        (grant, family, tokens)
    }

    /// Runs `reserve`, which must be admitted.
    pub(crate) async fn running(&self, reserve: &Reserve<'_>) -> Reservation {
        match self.reserve_turn(reserve).await.unwrap() {
            Reserved::Run(reservation) => reservation,
            other => panic!("not admitted: {other:?}"),
        }
    }

    /// Stores an answer, which must be taken.
    pub(crate) async fn answered(&self, done: &TurnDone<'_>) {
        assert_eq!(self.complete_turn(done).await.unwrap(), Completed::Stored);
    }
}
