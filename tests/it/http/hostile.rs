//! Everybody whom a Provider calls, at their worst: a personal agent's keys, a login's keys, an agent, and the OpenID
//! configuration of a stranger. Whatever one of them does, the door that depends on it stays shut, and nothing else happens.
//!
//! The node of these tests is set up as in production: HTTPS, checked certificates, public addresses, but for the names
//! that may be private. Sockets, TLS and certificates are real.

mod addresses;
mod bodies;
mod certificates;
mod old_keys;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use assent::crypto::pa_jwt;
use assent::flow::admin::apply::{ApplyOutcome, apply, parse};
use assent::flow::admin::{Run, Verdict};
use assent::outbound::Method;
use futures_util::future::join_all;
use serde_json::json;

use crate::support::client::Answer;
use crate::support::database::Database;
use crate::support::flow::message;
use crate::support::origin::{CONFIGURATION, KEYS, Origin, Reply};
use crate::support::tls::{Authority, IN_2020, IN_2099, Names};
use crate::support::world::{
    AIRLINE, AUDIENCE, PROVIDER, Party, SHOP, Setup, World, airline_table, brand_table, owner, personal_agent_table,
};

/// What an answer of somebody else decides about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Door {
    /// The JWKS of a registered personal agent.
    Keys,
    /// The JWKS of a Brand's login.
    Login,
    /// A Brand's agent.
    Agent,
    /// The OpenID configuration of a personal agent that nobody registered.
    Discovery,
}

impl Door {
    const ALL: [Self; 4] = [Self::Keys, Self::Login, Self::Agent, Self::Discovery];

    /// Where the answer is at its server.
    const fn path(self) -> &'static str {
        match self {
            Self::Keys | Self::Login => KEYS,
            Self::Agent => "/turn",
            Self::Discovery => CONFIGURATION,
        }
    }
}

/// Where the keys of [`Stage::caller`] are.
const CALLERS_HOST: &str = "p199.example";

/// A door that is about to be tried.
struct Visit {
    door: Door,
    /// The user code to sign in for.
    code: String,
    /// The stranger's `iss`.
    issuer: String,
}

/// Names that may be private are `p….example`, those that may not `x….example`.
struct Stage {
    /// In whose database everything is; used as it stands.
    world: World,
    /// The node that calls.
    node: World,
    names: Arc<Names>,
    authority: Authority,
    /// A personal agent whose keys are where they should be.
    caller: Party,
    /// A personal agent at every origin.
    stranger: Party,
    _folder: tempfile::TempDir,
}

impl Stage {
    async fn new(db: &Database) -> Self {
        let world = World::start(db).await;
        let authority = Authority::new("Test authority");
        let folder = tempfile::tempdir().unwrap();
        let ca_file = folder.path().join("ca.pem");
        std::fs::write(&ca_file, authority.pem()).unwrap();
        let names = Arc::new(Names::default());
        let private: Vec<String> = (0..200).map(|n| format!("p{n}.example")).collect();
        let sections = format!(
            "[outbound]\nprivate_hosts = {}\nca_file = \"{}\"\n[open_registration]\nlookups_per_second = 20\n",
            json!(private),
            ca_file.display()
        );
        let setup = Setup { sections, resolver: Arc::<Names>::clone(&names), ..Setup::open("") };
        let node = world.another_node_as(db, &setup).await;
        let (caller, stranger) = (Party::new("https://caller.example"), Party::new(""));
        let stage = Self { world, node, names, authority, caller, stranger, _folder: folder };
        stage.honest(Door::Keys, CALLERS_HOST).reply(KEYS, Reply::json(stage.caller.jwks()));
        let url = format!("https://{CALLERS_HOST}{KEYS}");
        stage.node.apply(&personal_agent_table(&stage.caller.issuer, "Caller", &url, true)).await;
        stage
    }

    /// A server of `host` with a good certificate, which resolves to it and answers at `door` as it should.
    fn honest(&self, door: Door, host: &str) -> Origin {
        let server = Origin::start(Some(self.authority.server(host, (IN_2020, IN_2099))));
        self.names.set(host, &[&[server.address]]);
        server.reply(door.path(), Reply::json(self.good_answer(door, host)));
        if door == Door::Discovery {
            server.reply(KEYS, Reply::json(self.stranger.jwks()));
        }
        server
    }

    fn good_answer(&self, door: Door, host: &str) -> String {
        match door {
            Door::Keys => self.node.pa.jwks(),
            Door::Login => self.node.brand_login.jwks(),
            Door::Agent => json!({ "parts": [{ "text": "hello" }] }).to_string(),
            Door::Discovery => {
                json!({ "issuer": format!("https://{host}"), "jwks_uri": format!("https://{host}{KEYS}") }).to_string()
            }
        }
    }

    /// The tables of an apply file with which `door` depends on `url`; none where nobody needs to be registered.
    fn table(&self, door: Door, url: &str) -> String {
        match door {
            Door::Keys => personal_agent_table(&self.node.pa.issuer, "First agent", url, true),
            Door::Login => {
                let inline =
                    brand_table(SHOP, "Example Shop", "{ builtin = \"demo\" }", Some((&self.node.brand_login, "")));
                let (before, rest) = inline.split_once("jwks = {").unwrap();
                let (_, after) = rest.split_once("}] }").unwrap();
                format!("{before}jwks_uri = \"{url}\"{after}")
            }
            Door::Agent => {
                airline_table(&self.node.brand_login, &format!("{{ url = \"{url}\", timeout_seconds = 2 }}"))
            }
            Door::Discovery => String::new(),
        }
    }

    /// Tries `door`, behind which is `url`: whether it opens. Where it does not, nothing has changed.
    async fn opens(&self, db: &Database, door: Door, url: &str) -> bool {
        let visit = self.visit(door, url).await;
        let before = db.contents().await;
        let opened = self.knock(&visit).await;
        // A turn that failed leaves its context and its released reservation.
        if !opened && door != Door::Agent {
            assert_eq!(db.contents().await, before, "{door:?}");
        }
        opened
    }

    /// Lets `door` depend on `url`, and gets ready what is needed to try it.
    async fn visit(&self, door: Door, url: &str) -> Visit {
        self.node.apply(&self.table(door, url)).await;
        self.node.advance(1);
        let code = match door {
            // Of an agent whose keys are where they were, at the node that may fetch them there.
            Door::Login => {
                let (somebody, form) = (format!("user-{}", self.node.clock.now().millis()), [("scope", "orders:read")]);
                let other = &self.world.other_pa;
                let asked = self.world.oauth_as(other, SHOP, "/device_authorization", &somebody, &form).await;
                asked.oauth_json()["user_code"].as_str().unwrap().to_owned()
            }
            _ => String::new(),
        };
        Visit { door, code, issuer: url::Url::parse(url).unwrap().origin().ascii_serialization() }
    }

    /// Whether the door opens; where it does not, the answer is the one that it has for everything.
    async fn knock(&self, Visit { door, code, issuer }: &Visit) -> bool {
        let answer = match door {
            Door::Keys => self.tasks(&self.node.jwt("user-1")).await,
            Door::Login => {
                let assertion = self.node.assertion(SHOP, "jane", code, json!({}));
                self.node.post_assertion(SHOP, &assertion).await
            }
            Door::Agent => {
                let ask = self.node.ask(Method::POST, PROVIDER, &format!("/a2a/{AIRLINE}/message:send"));
                let token = self.node.jwt_of(&self.caller, "user-1");
                ask.bearer(&token).json(&message("m-1", None, "hello")).send().await
            }
            Door::Discovery => {
                let (now, life) = (self.node.clock.now(), Duration::from_secs(120));
                let token = pa_jwt::sign(&self.stranger.signer, issuer, "user-1", AUDIENCE, now, life).unwrap();
                self.tasks(&token).await
            }
        };
        if answer.status() == 200 {
            return true;
        }
        match door {
            Door::Keys | Door::Discovery => answer.assert_unauthenticated(),
            Door::Login => assert_eq!((answer.status(), answer.text().contains("name=\"session\"")), (403, false)),
            Door::Agent => answer.assert_a2a_error("INTERNAL"),
        }
        false
    }

    /// Tries all doors at once, since each may take its time; at each of them the host that `host` makes up.
    async fn open_at_once(&self, host: impl Fn(Door) -> String) -> [bool; 4] {
        let mut visits = Vec::new();
        for door in Door::ALL {
            visits.push(self.visit(door, &format!("https://{}{}", host(door), door.path())).await);
        }
        let knocks = join_all(visits.iter().map(|visit| self.knock(visit)));
        let opened = tokio::time::timeout(Duration::from_secs(30), knocks).await.unwrap();
        opened.try_into().unwrap()
    }

    async fn tasks(&self, token: &str) -> Answer {
        self.node.ask(Method::GET, PROVIDER, &format!("/a2a/{SHOP}/tasks")).bearer(token).send().await
    }

    async fn stop(self) {
        self.node.stop().await;
        self.world.stop().await;
    }
}

/// Whether a file with this table is refused, with this parameter named.
async fn apply_refuses(node: &World, table: &str, parameter: &str) -> bool {
    match apply(&node.app, &parse(table).unwrap(), &owner(), Run::Real).await.unwrap() {
        Verdict::Done(ApplyOutcome::Refused(problem)) => problem.contains(parameter),
        Verdict::Done(ApplyOutcome::Done { .. }) | Verdict::Forbidden | Verdict::NotThere => false,
    }
}

fn address(text: &str) -> SocketAddr {
    text.parse().unwrap()
}
