//! A Provider at work with everyone around it: two personal agents, four Brands, a clock that the test moves.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use assent::app::App;
use assent::clock::{Clock, Timestamp};
use assent::config::{Config, OutboundConfig};
use assent::crypto::pa_jwt;
use assent::crypto::password::{Cost, Passwords};
use assent::crypto::signer::{GeneratedKey, Signer, generate_key};
use assent::directory::HostedBrand;
use assent::domain::administrator::Access;
use assent::domain::audit::{Actor, RequestId};
use assent::domain::brand::SigningAlg;
use assent::domain::id::BrandId;
use assent::entropy::Entropy;
use assent::flow::admin::apply::{ApplyOutcome, apply, parse};
use assent::flow::admin::{By, Run, Verdict};
use assent::outbound::{Method, Outbound, Resolver, SystemResolver};
use assent::server::{self, Running};
use serde_json::{Value, json};

use super::backend::Backend;
use super::client::Ask;
use super::database::Database;
use super::keys::KeyServer;

/// The instant at which every test begins.
pub(crate) const NOW: Timestamp = Timestamp::from_seconds(1_767_225_600);
/// 32 times the letter A.
pub(crate) const MASTER_KEY: &str = "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE=";
pub(crate) const PROVIDER: &str = "provider.example.com";
pub(crate) const AUDIENCE: &str = "https://provider.example.com/a2a";
/// Path-based, the built-in shop agent, no `return_url`.
pub(crate) const SHOP: &str = "01M3R53Q5SZQ6FQSMSDBSSREAA";
/// On a host of its own, a scripted backend, with `return_url`.
pub(crate) const AIRLINE: &str = "01M3R53Q5SZQ6FQSMSDBSSREAB";
pub(crate) const AIRLINE_HOST: &str = "auth.airline.example";
/// The Identity profile alone.
pub(crate) const PLAIN: &str = "01M3R53Q5SZQ6FQSMSDBSSREAC";
/// Like the shop, but consent is skipped where a grant covers the request, and RS256 signs.
pub(crate) const CLUB: &str = "01M3R53Q5SZQ6FQSMSDBSSREAD";

/// What a password costs in the tests.
pub(crate) const CHEAP: Cost = Cost { memory_kib: 64, passes: 1 };

/// One who signs.
pub(crate) struct Party {
    pub(crate) issuer: String,
    pub(crate) key: GeneratedKey,
    pub(crate) signer: Signer,
}

impl Party {
    pub(crate) fn new(issuer: &str) -> Self {
        let key = generate_key(SigningAlg::Es256, "key-1").unwrap();
        let signer = Signer::from_private_jwk(key.private_jwk.expose()).unwrap();
        Self { issuer: issuer.to_owned(), key, signer }
    }

    pub(crate) fn jwks(&self) -> String {
        format!("{{\"keys\":[{}]}}", self.key.public_jwk)
    }
}

/// How a node is set up.
#[derive(Clone)]
pub(crate) struct Setup {
    /// Lines of the configuration before its first section.
    pub(crate) keys: String,
    /// Its sections.
    pub(crate) sections: String,
    pub(crate) resolver: Arc<dyn Resolver>,
    /// When it begins.
    pub(crate) now: Timestamp,
}

impl Default for Setup {
    fn default() -> Self {
        let sections = "[outbound]\nallow_private = true\n".to_owned();
        Self { keys: String::new(), sections, resolver: Arc::new(SystemResolver), now: NOW }
    }
}

impl Setup {
    /// A Provider at which personal agents register themselves, within these bounds.
    pub(crate) fn open(bounds: &str) -> Self {
        let usual = Self::default();
        let sections = format!("{}[open_registration]\n{bounds}\n", usual.sections);
        Self { keys: "personal_agents = \"open\"\n".to_owned(), sections, ..usual }
    }
}

/// The Provider and everyone around it.
pub(crate) struct World {
    pub(crate) app: Arc<App>,
    pub(crate) clock: Clock,
    pub(crate) pa: Arc<Party>,
    pub(crate) other_pa: Arc<Party>,
    pub(crate) brand_login: Arc<Party>,
    pub(crate) pa_keys: KeyServer,
    pub(crate) backend: Backend,
    http: Outbound,
    public: SocketAddr,
    admin: SocketAddr,
    running: Option<Running>,
}

impl World {
    pub(crate) async fn start(db: &Database) -> Self {
        Self::start_as(db, &Setup::default()).await
    }

    /// The same at another instant.
    pub(crate) async fn start_at(db: &Database, now: Timestamp) -> Self {
        Self::start_as(db, &Setup { now, ..Setup::default() }).await
    }

    /// The same with more lines of the configuration: keys, then sections.
    pub(crate) async fn with(db: &Database, more: &str) -> Self {
        let sections = format!("outbound = {{ allow_private = true }}\n{more}");
        Self::start_as(db, &Setup { sections, ..Setup::default() }).await
    }

    /// The same with a node of this setup, which must allow plain HTTP.
    pub(crate) async fn start_as(db: &Database, setup: &Setup) -> Self {
        let clock = Clock::manual(setup.now);
        let (app, http, running) = node(db, &clock, setup).await;
        let party = |issuer| Arc::new(Party::new(issuer));
        let (pa, other_pa) = (party("https://pa.example.com"), party("https://other-pa.example.com"));
        let brand_login = party("https://login.example");
        let pa_keys = KeyServer::start(pa.jwks()).await;
        let other_keys = KeyServer::start(other_pa.jwks()).await;
        let backend = Backend::start().await;
        let file = Self::apply_file(&pa_keys, &other_keys, &backend, &brand_login);
        let (public, admin, running) = (running.public, running.admin, Some(running));
        let world = Self { app, clock, pa, other_pa, brand_login, pa_keys, backend, http, public, admin, running };
        world.apply(&file).await;
        world
    }

    /// A second node on the same database, with the same parties and clock.
    pub(crate) async fn another_node(&self, db: &Database) -> Self {
        self.another_node_as(db, &Setup::default()).await
    }

    /// The same with a setup of its own.
    pub(crate) async fn another_node_as(&self, db: &Database, setup: &Setup) -> Self {
        let (app, http, running) = node(db, &self.clock, setup).await;
        let view = self.through(running.public);
        Self { app, http, admin: running.admin, running: Some(running), ..view }
    }

    /// A second node whose clock is behind by so much.
    pub(crate) async fn node_behind(&self, db: &Database, by: Duration) -> Self {
        let clock = Clock::manual(self.clock.now().minus(by));
        let (app, http, running) = node(db, &clock, &Setup::default()).await;
        let view = self.through(running.public);
        Self { app, http, clock, admin: running.admin, running: Some(running), ..view }
    }

    /// The same parties, who ask the node at this address.
    pub(crate) fn through(&self, public: SocketAddr) -> Self {
        Self {
            app: Arc::clone(&self.app),
            clock: self.clock.clone(),
            pa: Arc::clone(&self.pa),
            other_pa: Arc::clone(&self.other_pa),
            brand_login: Arc::clone(&self.brand_login),
            pa_keys: self.pa_keys.clone(),
            backend: self.backend.clone(),
            http: self.http.clone(),
            public,
            admin: self.admin,
            running: None,
        }
    }

    fn apply_file(pa: &KeyServer, other: &KeyServer, backend: &Backend, login: &Party) -> String {
        let agents = [
            ("https://pa.example.com", "First agent", pa.url()),
            ("https://other-pa.example.com", "Second agent", other.url()),
        ];
        let agents = agents.map(|(issuer, name, jwks)| personal_agent_table(issuer, name, &jwks, true));
        let shop_agent = "{ builtin = \"demo\" }".to_owned();
        let brands = [
            brand_table(SHOP, "Example Shop", &shop_agent, Some((login, ""))),
            airline_table(login, &http_agent(backend, "")),
            brand_table(PLAIN, "Plain Store", &shop_agent, None),
            brand_table(
                CLUB,
                "Book Club",
                &shop_agent,
                Some((login, "skip_consent = true\nsigning_alg = \"RS256\"\n")),
            ),
        ];
        format!("{}{}", agents.concat(), brands.concat())
    }

    /// Applies a file, as an administrator would, and lets this node see it at once.
    pub(crate) async fn apply(&self, file: &str) {
        let tables = parse(file).unwrap();
        let outcome = apply(&self.app, &tables, &owner(), Run::Real).await.unwrap();
        assert!(matches!(outcome, Verdict::Done(ApplyOutcome::Done { .. })), "{outcome:?}");
        self.app.directory.refresh(&self.app.store).await.unwrap();
    }

    /// Registers the first personal agent anew, enabled or not.
    pub(crate) async fn set_pa_enabled(&self, enabled: bool) {
        self.apply(&personal_agent_table(&self.pa.issuer, "First agent", &self.pa_keys.url(), enabled)).await;
    }

    pub(crate) fn advance(&self, seconds: u64) {
        self.clock.advance(Duration::from_secs(seconds));
    }

    pub(crate) fn ask(&self, method: Method, host: &str, path: &str) -> Ask {
        Ask::new(&self.http, self.public, method, host, path)
    }

    /// A request to the administrators' listener, by its own address.
    pub(crate) fn ask_admin(&self, method: Method, path: &str) -> Ask {
        Ask::new(&self.http, self.admin, method, &self.admin.to_string(), path)
    }

    pub(crate) const fn admin(&self) -> SocketAddr {
        self.admin
    }

    pub(crate) const fn public(&self) -> SocketAddr {
        self.public
    }

    /// A JWT of the first personal agent for `sub`.
    pub(crate) fn jwt(&self, sub: &str) -> String {
        self.jwt_of(&self.pa, sub)
    }

    pub(crate) fn jwt_of(&self, pa: &Party, sub: &str) -> String {
        pa_jwt::sign(&pa.signer, &pa.issuer, sub, AUDIENCE, self.clock.now(), Duration::from_secs(120)).unwrap()
    }

    /// A PA JWT with other or more claims; null takes one away.
    pub(crate) fn jwt_with(&self, changes: Value) -> String {
        let now = self.clock.now().seconds();
        let claims = json!({ "iss": self.pa.issuer, "sub": "user-1", "aud": AUDIENCE, "iat": now, "exp": now + 120 });
        self.pa.signer.sign_claims("JWT", &changed(claims, changes)).unwrap()
    }

    /// The claims of an assertion for `user` and `code`, with other or more of them; null takes one away.
    pub(crate) fn assertion_claims(&self, brand: &str, user: &str, code: &str, changes: Value) -> Value {
        let now = self.clock.now().seconds();
        let claims = json!({
            "iss": self.brand_login.issuer, "aud": consent_url(brand), "sub": user, "user_code": code,
            "jti": Entropy::operating_system().uuid().to_string(), "iat": now, "exp": now + 120,
            "email": format!("{user}@example.com"),
        });
        changed(claims, changes)
    }

    /// An assertion with these claims, as the Brands' login signs it.
    pub(crate) fn assertion(&self, brand: &str, user: &str, code: &str, changes: Value) -> String {
        let claims = self.assertion_claims(brand, user, code, changes);
        self.brand_login.signer.sign_claims("JWT", &claims).unwrap()
    }

    /// A Brand as this node serves it.
    pub(crate) fn hosted(&self, brand: &str) -> Arc<HostedBrand> {
        Arc::clone(self.app.directory.current().brand(&BrandId::parse(brand).unwrap()).unwrap())
    }

    pub(crate) async fn stop(self) {
        if let Some(running) = self.running {
            running.stop(false).await.unwrap();
        }
    }
}

/// An administrator who may do everything.
pub(crate) fn owner() -> By {
    let actor = Actor::Administrator("test".to_owned());
    By { actor, access: Access::EVERYTHING, request: RequestId("test".to_owned()) }
}

/// The configuration of a node of the usual setup.
pub(crate) fn configuration(db: &Database) -> String {
    configured(db, &Setup::default())
}

fn configured(db: &Database, setup: &Setup) -> String {
    format!(
        "public_url = \"https://{PROVIDER}\"\naudience = \"{AUDIENCE}\"\nlisten = \"127.0.0.1:0\"\n\
         admin_listen = \"127.0.0.1:0\"\ndatabase_url = \"{}\"\nshutdown_seconds = 1\n\
         master_key = \"{MASTER_KEY}\"\n{}{}",
        db.url, setup.keys, setup.sections
    )
}

/// A node that listens, and a client to ask it with.
async fn node(db: &Database, clock: &Clock, setup: &Setup) -> (Arc<App>, Outbound, Running) {
    let app = open_app(db, clock, setup).await;
    let asking = OutboundConfig { allow_private: true, ..OutboundConfig::default() };
    let http = Outbound::new(&asking, Arc::new(SystemResolver)).unwrap();
    let running = server::start(Arc::clone(&app)).await.unwrap();
    (app, http, running)
}

/// What a node has beside its listeners and what goes on by itself.
pub(crate) async fn open_app(db: &Database, clock: &Clock, setup: &Setup) -> Arc<App> {
    let config = Config::from_toml(&configured(db, setup)).unwrap();
    let (clock, resolver) = (clock.clone(), Arc::clone(&setup.resolver));
    let mut app = App::open_with_resolver(config, clock, Entropy::operating_system(), resolver).await.unwrap();
    // Hundreds of log-ins at the cost of production would take minutes.
    app.passwords = Passwords::at(CHEAP);
    Arc::new(app)
}

fn changed(mut claims: Value, changes: Value) -> Value {
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            claims.as_object_mut().unwrap().remove(name);
        } else {
            claims[name] = value.clone();
        }
    }
    claims
}

/// The host and the path prefix of a Brand's authorization server.
pub(crate) fn issuer(brand: &str) -> (&'static str, String) {
    if brand == AIRLINE { (AIRLINE_HOST, String::new()) } else { (PROVIDER, format!("/a2a/{brand}/oauth")) }
}

pub(crate) fn consent_url(brand: &str) -> String {
    let (host, prefix) = issuer(brand);
    format!("https://{host}{prefix}/consent")
}

pub(crate) fn interface_url(brand: &str) -> String {
    format!("https://{PROVIDER}/a2a/{brand}")
}

/// A personal agent's table of an `apply` file.
pub(crate) fn personal_agent_table(issuer: &str, name: &str, jwks_uri: &str, enabled: bool) -> String {
    format!(
        "[[personal_agent]]\nname = \"{name}\"\nissuer = \"{issuer}\"\njwks_uri = \"{jwks_uri}\"\nenabled = {enabled}\n"
    )
}

/// A Brand's table of an `apply` file. `delegation` is its login and more lines of `[brand.delegation]`.
pub(crate) fn brand_table(id: &str, name: &str, agent: &str, delegation: Option<(&Party, &str)>) -> String {
    let delegation = delegation.map_or_else(String::new, |(login, more)| {
        let (x, y) = coordinates(&login.key.public_jwk);
        format!(
            "[brand.delegation]\nlogin_url = \"https://login.example/login?lang=en\"\n{more}\
             assertion = {{ issuer = \"{}\", jwks = {{ keys = [{{ kty = \"EC\", crv = \"P-256\", kid = \"key-1\", x = \"{x}\", \
             y = \"{y}\" }}] }} }}\nscopes = [\n\
             {{ id = \"orders:read\", description = \"Look up your orders\", detail = \"Orders and their status\" }},\n\
             {{ id = \"orders:cancel\", description = \"Cancel an order\", writes = true }},\n\
             {{ id = \"refunds:issue\", description = \"Refund an order\", writes = true }},\n]\n",
            login.issuer
        )
    });
    format!(
        "[[brand]]\nid = \"{id}\"\nname = \"{name}\"\ndescription = \"A Brand of the tests.\"\nversion = \"1.0.0\"\n\
         skills = [{{ id = \"orders\", name = \"Orders\", description = \"Orders.\", tags = [\"orders\"] }}]\n\
         agent = {agent}\n{delegation}\n"
    )
}

/// The airline's table with this agent.
pub(crate) fn airline_table(login: &Party, agent: &str) -> String {
    let more = format!(
        "auth_origin = \"https://{AIRLINE_HOST}\"\nreturn_url = \"https://airline.example/connected?from=assent\"\n"
    );
    brand_table(AIRLINE, "Skyline Airways", agent, Some((login, &more)))
}

/// A Brand's `agent` that is called over HTTP, with two seconds for a turn and more members.
pub(crate) fn http_agent(backend: &Backend, more: &str) -> String {
    format!("{{ url = \"{}\", timeout_seconds = 2{more} }}", backend.url())
}

fn coordinates(jwk: &str) -> (String, String) {
    let jwk: Value = serde_json::from_str(jwk).unwrap();
    let text = |name: &str| jwk[name].as_str().unwrap().to_owned();
    (text("x"), text("y"))
}
