//! The real thing: one node on a real database, whose flows do what a step says, all at once.

mod messages;

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use assent::app::App;
use assent::clock::{Clock, Timestamp};
use assent::config::Config;
use assent::crypto::codes;
use assent::directory::HostedBrand;
use assent::domain::administrator::Access;
use assent::domain::audit::{Actor, RequestId};
use assent::domain::device::Button;
use assent::domain::id::{self, BrandId, GrantId, Issuer, PaSub};
use assent::domain::scope::ScopeSet;
use assent::domain::user_code::UserCode;
use assent::entropy::Entropy;
use assent::flow::admin::apply::{ApplyOutcome, apply, parse};
use assent::flow::admin::grants::{self, RevokedGrant};
use assent::flow::admin::{By, Run, Verdict};
use assent::flow::decide_consent::{DecisionOutcome, PostedDecision, decide_consent};
use assent::flow::poll_token::{Polled, poll_token};
use assent::flow::refresh::{Refreshed, refresh};
use assent::flow::revoke::revoke;
use assent::flow::show_consent::{Shown, show_consent};
use assent::flow::sign_in::{PostedAssertion, SignInOutcome, sign_in};
use assent::flow::start_device::{Started, start_device};
use assent::flow::{ConsentView, Fault, IssuedTokens};
use serde_json::{Value, json};

use super::act::{Act, Answer, Cookie, From, ShownPage, Text, Tokens};
use super::operations::Mask;
use super::state::{AGENTS, CALLERS, KEPT, Model, names};
use crate::support::database::Database;
use crate::support::flow::claims;
use crate::support::world::{AUDIENCE, CLUB, NOW, PROVIDER, Party, SHOP, brand_table, personal_agent_table};

/// How many rows leave at a time.
const BATCH: i64 = 500;

/// A node and the Brands' login.
pub(crate) struct Node {
    pub(super) app: Arc<App>,
    login: Party,
    addresses: AtomicU32,
    request: RequestId,
}

impl Node {
    /// A node that serves two Brands to two personal agents.
    pub(crate) async fn start(db: &Database, seed: u64) -> Self {
        let config = format!(
            "public_url = \"https://{PROVIDER}\"\naudience = \"{AUDIENCE}\"\ndatabase_url = \"{}\"\n\
             master_key = \"QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE=\"\n",
            db.url
        );
        let config = Config::from_toml(&config).unwrap();
        let app = App::open(config, Clock::manual(NOW), Entropy::seeded(seed)).await.unwrap();
        let login = Party::new("https://login.example");
        let agent = "{ builtin = \"demo\" }";
        let brands = brand_table(SHOP, "Example Shop", agent, Some((&login, "")))
            + &brand_table(CLUB, "Book Club", agent, Some((&login, "skip_consent = true\n")));
        let node =
            Self { app: Arc::new(app), login, addresses: AtomicU32::new(0), request: RequestId("model".to_owned()) };
        node.apply(&brands).await.unwrap();
        for agent in AGENTS {
            node.apply(&agent_table(agent, true)).await.unwrap();
        }
        node.hear().await;
        node
    }

    async fn apply(&self, file: &str) -> Result<ApplyOutcome, Fault> {
        match apply(&self.app, &parse(file).unwrap(), &self.administrator(), Run::Real).await? {
            Verdict::Done(outcome) => Ok(outcome),
            other => panic!("{other:?}"),
        }
    }

    fn administrator(&self) -> By {
        let actor = Actor::Administrator("model".to_owned());
        By { actor, access: Access::EVERYTHING, request: self.request.clone() }
    }

    /// Enables both personal agents again.
    pub(crate) async fn enable_all(&self) {
        for agent in AGENTS {
            self.apply(&agent_table(agent, true)).await.unwrap();
        }
        self.hear().await;
    }

    /// Time passes, in which this node hears of what has changed in the directory.
    pub(crate) async fn wait(&self, seconds: u64) {
        self.app.clock.advance(Duration::from_secs(seconds));
        self.hear().await;
    }

    async fn hear(&self) {
        self.app.directory.refresh(&self.app.store).await.unwrap();
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.app.clock.now()
    }

    /// The sequence's own Brand, or the other one.
    pub(super) fn hosted(&self, model: &Model, elsewhere: bool) -> Arc<HostedBrand> {
        let brand = if model.skips_consent == elsewhere { SHOP } else { CLUB };
        Arc::clone(self.app.directory.current().brand(&BrandId::parse(brand).unwrap()).unwrap())
    }

    pub(super) fn caller(&self, model: &Model, caller: usize) -> id::Caller {
        let caller = CALLERS[caller];
        id::Caller {
            issuer: Issuer::parse(AGENTS[caller.agent]).unwrap(),
            sub: PaSub::parse(model.names.subs[caller.sub].as_str()).unwrap(),
        }
    }

    /// Whether a personal agent's JWT would be accepted: what a surface asks before any flow.
    pub(super) fn is_authentic(&self, caller: &id::Caller) -> bool {
        self.app.directory.current().personal_agent(&caller.issuer).is_some_and(|agent| agent.enabled)
    }

    pub(super) fn mac(&self, hosted: &HostedBrand, code: &str) -> Text {
        let code = UserCode::parse(code).unwrap();
        codes::user_code_mac(&self.app.master, &hosted.brand.id, &code).unwrap().to_hex().into()
    }

    /// Does what `act` says.
    pub(crate) async fn perform(&self, model: &Model, act: &Act) -> Answer {
        let done = match act {
            Act::Start { caller, scopes } => self.start_device(model, *caller, *scopes).await,
            Act::SignIn { device, user, jti } => self.sign_in(model, *device, *user, jti).await,
            Act::Open { session, device } => self.open(model, *session, *device).await,
            Act::Decide { page, allow, ticked, elsewhere } => {
                let hosted = self.hosted(model, *elsewhere);
                let posted = PostedDecision {
                    session: &model.pages[*page].session,
                    button: if *allow { Button::Allow } else { Button::Deny },
                    ticked: &ticked_scopes(*ticked),
                    accept_language: None,
                    request: &self.request,
                };
                decide_consent(&self.app, &hosted, &posted).await.map(decided)
            }
            Act::Poll { device, from } => self.poll(model, *device, *from).await,
            Act::Refresh { token, scopes, from } => self.refresh(model, *token, *scopes, *from).await,
            Act::RevokeRefresh { token, from } => self.revoke(model, &model.refreshes[*token].value, *from).await,
            Act::RevokeAccess { access, from } => self.revoke(model, &model.accesses[*access].value, *from).await,
            Act::EndGrant { grant } => {
                let id = GrantId::parse(model.grants[*grant].id.as_deref().unwrap()).unwrap();
                grants::revoke(&self.app, &self.administrator(), &id).await.map(|revoked| match revoked {
                    Verdict::Done(RevokedGrant::Ended) => Answer::Done("ended"),
                    Verdict::Done(RevokedGrant::AlreadyEnded) => Answer::Refused("ended before"),
                    Verdict::NotThere => Answer::Refused("unknown grant"),
                    Verdict::Forbidden => Answer::Refused("forbidden"),
                })
            }
            Act::Send(turn) => self.send(model, turn).await,
            Act::Reserve(turn) => self.reserve(model, turn).await,
            Act::Finish { runner, how } => self.finish(model, *runner, *how).await,
            Act::Sweep => self.sweep(model).await,
            Act::Switch { agent, enabled } => {
                self.apply(&agent_table(AGENTS[*agent], *enabled)).await.map(|outcome| match outcome {
                    ApplyOutcome::Done { changes, .. } if changes[0].what == "changed" => Answer::Done("switched"),
                    ApplyOutcome::Done { .. } => Answer::Refused("as it was"),
                    ApplyOutcome::Refused(why) => Answer::Fault(why),
                })
            }
        };
        done.unwrap_or_else(|fault| Answer::Fault(fault.to_string()))
    }

    async fn start_device(&self, model: &Model, caller: usize, scopes: Mask) -> Result<Answer, Fault> {
        let (hosted, caller) = (self.hosted(model, false), self.caller(model, caller));
        if !self.is_authentic(&caller) {
            return Ok(Answer::Refused("unauthenticated"));
        }
        let (delegation, _) = hosted.delegation().unwrap();
        Ok(match start_device(&self.app, &hosted, delegation, &caller, Some(names(scopes))).await? {
            Started::Done(started) => {
                let user_code = started.user_code.to_string();
                Answer::Started {
                    device_code: started.device_code.expose().as_str().into(),
                    mac: self.mac(&hosted, &user_code),
                    user_code: user_code.into(),
                }
            }
            Started::InvalidScope => Answer::Refused("invalid scope"),
            Started::TooMany { .. } => Answer::Refused("too many codes"),
        })
    }

    async fn sign_in(&self, model: &Model, device: usize, user: usize, jti: &str) -> Result<Answer, Fault> {
        let hosted = self.hosted(model, false);
        let now = model.now.seconds();
        let claims = json!({
            "iss": self.login.issuer, "aud": hosted.addresses.consent_url(), "sub": model.names.users[user],
            "user_code": &*model.devices[device].user_code, "jti": jti, "iat": now, "exp": now + 120,
        });
        let posted = PostedAssertion {
            assertion: &self.login.signer.sign_claims("JWT", &claims).unwrap(),
            // Guesses from one address are not what this is about.
            address: IpAddr::V4(Ipv4Addr::from_bits(self.addresses.fetch_add(1, Ordering::Relaxed))).into(),
            accept_language: None,
            request: &self.request,
        };
        let cookie = |cookie: &str| Cookie { value: cookie.into(), digest: codes::digest(cookie).to_hex().into() };
        Ok(match sign_in(&self.app, &hosted, &posted).await? {
            SignInOutcome::Page { view, cookie: value } => {
                Answer::Page { page: shown(&view), cookie: Some(cookie(value.expose())) }
            }
            SignInOutcome::Approved { granted, cookie: value, .. } => {
                Answer::Approved { granted: mask(&granted), cookie: cookie(value.expose()) }
            }
            SignInOutcome::NotVerified => Answer::Refused("not verified"),
            SignInOutcome::CodeNotUsable => Answer::Refused("code not usable"),
            SignInOutcome::TooManyTries { .. } => Answer::Refused("too many tries"),
        })
    }

    async fn open(&self, model: &Model, session: usize, device: usize) -> Result<Answer, Fault> {
        let hosted = self.hosted(model, false);
        let code = UserCode::parse(&model.devices[device].user_code).unwrap();
        let cookie = Some(&*model.sessions[session].cookie);
        Ok(match show_consent(&self.app, &hosted, &code, cookie, None, true).await? {
            Shown::Page(view) => Answer::Page { page: shown(&view), cookie: None },
            Shown::Login => Answer::Refused("login"),
            Shown::Expired => Answer::Refused("expired"),
            Shown::AlreadyDecided { allowed: true } => Answer::Refused("was allowed"),
            Shown::AlreadyDecided { allowed: false } => Answer::Refused("was denied"),
        })
    }

    async fn poll(&self, model: &Model, device: usize, from: From) -> Result<Answer, Fault> {
        let (hosted, caller) = (self.hosted(model, from.elsewhere), self.caller(model, from.caller));
        if !self.is_authentic(&caller) {
            return Ok(Answer::Refused("unauthenticated"));
        }
        let (delegation, _) = hosted.delegation().unwrap();
        let code = model.devices[device].device_code.as_deref().unwrap();
        Ok(match poll_token(&self.app, &hosted, delegation, &caller, code, &self.request).await? {
            Polled::Tokens(issued) => Answer::Tokens(tokens(&issued)),
            Polled::InvalidGrant => Answer::Refused("invalid grant"),
            Polled::AuthorizationPending => Answer::Refused("pending"),
            Polled::SlowDown { .. } => Answer::Refused("slow down"),
            Polled::AccessDenied => Answer::Refused("access denied"),
            Polled::ExpiredToken => Answer::Refused("expired"),
        })
    }

    async fn refresh(&self, model: &Model, token: usize, scopes: Option<Mask>, from: From) -> Result<Answer, Fault> {
        let (hosted, caller) = (self.hosted(model, from.elsewhere), self.caller(model, from.caller));
        if !self.is_authentic(&caller) {
            return Ok(Answer::Refused("unauthenticated"));
        }
        let (delegation, _) = hosted.delegation().unwrap();
        let (token, scope) = (&model.refreshes[token].value, scopes.map(names));
        Ok(match refresh(&self.app, &hosted, delegation, &caller, token, scope, &self.request).await? {
            Refreshed::Tokens(issued) => Answer::Tokens(tokens(&issued)),
            Refreshed::InvalidGrant => Answer::Refused("invalid grant"),
            Refreshed::InvalidScope => Answer::Refused("invalid scope"),
        })
    }

    async fn revoke(&self, model: &Model, token: &str, from: From) -> Result<Answer, Fault> {
        let (hosted, caller) = (self.hosted(model, from.elsewhere), self.caller(model, from.caller));
        if !self.is_authentic(&caller) {
            return Ok(Answer::Refused("unauthenticated"));
        }
        revoke(&self.app, &hosted, &caller, token, &self.request).await.map(|()| Answer::Done("revoked"))
    }

    async fn sweep(&self, model: &Model) -> Result<Answer, Fault> {
        let (store, idle) = (&self.app.store, self.app.config.conversation_idle());
        let mut left = 0;
        let before = model.now.minus(KEPT);
        while let removed @ 1.. = store.sweep(before, BATCH, model.now).await? {
            left += removed;
        }
        while let removed @ 1.. = store.sweep_contexts(model.now.minus(idle + idle), BATCH, model.now).await? {
            left += removed;
        }
        Ok(if left > 0 { Answer::Done("rows left") } else { Answer::Refused("nothing to sweep") })
    }
}

fn agent_table(issuer: &str, enabled: bool) -> String {
    personal_agent_table(issuer, "A personal agent", "https://keys.example/jwks.json", enabled)
}

/// The scopes of a mask, with an id that no Brand offers where its highest bit says so.
fn ticked_scopes(mask: Mask) -> ScopeSet {
    let unknown = if mask & 0b1000 == 0 { "" } else { " unknown" };
    ScopeSet::parse(&format!("{}{unknown}", names(mask))).unwrap()
}

pub(super) fn mask(scopes: &ScopeSet) -> Mask {
    scopes
        .iter()
        .map(|scope| match scope.as_str() {
            "orders:read" => 0b001,
            "orders:cancel" => 0b010,
            "refunds:issue" => 0b100,
            other => panic!("no Brand offers {other}"),
        })
        .fold(0, |mask, bit| mask | bit)
}

fn shown(view: &ConsentView) -> ShownPage {
    let session = view.session.expose();
    ShownPage {
        session: session.as_str().into(),
        digest: codes::digest(session).to_hex().into(),
        shown: mask(&view.page.shown.ids()),
        grant: view.page.grant.as_ref().map(|(grant, version)| (grant.as_str().into(), *version)),
    }
}

fn decided(outcome: DecisionOutcome) -> Answer {
    match outcome {
        DecisionOutcome::Done { granted, ended, .. } => Answer::Decided { granted: mask(&granted), ended },
        DecisionOutcome::AlreadyDecided { allowed: true } => Answer::Refused("was allowed"),
        DecisionOutcome::AlreadyDecided { allowed: false } => Answer::Refused("was denied"),
        DecisionOutcome::Expired => Answer::Refused("expired"),
        DecisionOutcome::PageNotUsable => Answer::Refused("page not usable"),
        DecisionOutcome::NotShown => Answer::Refused("not shown"),
        DecisionOutcome::Changed(view) => Answer::Changed(shown(&view)),
    }
}

fn tokens(issued: &IssuedTokens) -> Tokens {
    let (access, refresh) = (issued.access_token.expose(), issued.refresh_token.expose());
    let claims: Value = claims(access);
    Tokens {
        refresh: refresh.as_str().into(),
        digest: codes::digest(refresh).to_hex().into(),
        access: access.as_str().into(),
        scopes: mask(&ScopeSet::parse(claims["scope"].as_str().unwrap()).unwrap()),
        grant: claims["grant_id"].as_str().unwrap().into(),
        expires: Timestamp::from_seconds(claims["exp"].as_i64().unwrap()),
    }
}
