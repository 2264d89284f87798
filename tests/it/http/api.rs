//! The JSON API with API keys: every operation of its table, who may call it, and how it refuses.

mod access;
mod errors;
mod idempotency;
mod lists;
mod operations;
mod revocation;

use assent::domain::administrator::{Access, Role};

use assent::outbound::Method;
use assent::web::api::operation::Operation;
use assent::web::api::table;
use serde_json::{Value, json};

use crate::support::client::{Answer, Ask};
use crate::support::console::access;
use crate::support::world::{SHOP, World};

/// What there is of one Brand, the shop, and of nobody else.
struct Objects {
    grant: String,
    kid: String,
    resource_server_key: String,
    api_key: String,
    administrator: &'static str,
}

impl Objects {
    async fn of_shop(world: &World) -> Self {
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let reply = world.send(SHOP, "user-1", Some(&tokens.access), "m-1", None, "Where is my order?").await;
        assert_eq!(reply.status(), 200, "{}", reply.text());
        world.administrator("bert", access(Role::Operator, &[SHOP])).await;
        let owner = Api::with(world, Access::EVERYTHING).await;
        let made = |path: &'static str, body: Value| owner.write(Method::POST, path, body);
        let key = made("/resource-server-keys", json!({ "brandId": SHOP, "name": "account API" })).await.json();
        let of_shop = json!({ "name": "of the shop", "role": "auditor", "brands": [SHOP] });
        let api_key = made("/api-keys", of_shop).await.json();
        let keys = owner.get(&format!("/brands/{SHOP}/keys")).await.json();
        Self {
            grant: tokens.grant(),
            kid: text(&keys["items"][0]["kid"]),
            resource_server_key: text(&key["keyId"]),
            api_key: text(&api_key["id"]),
            administrator: "bert",
        }
    }

    /// The path of an operation, with these objects in it.
    fn path(&self, operation: &Operation) -> String {
        let key = if operation.path.starts_with("/api-keys") { &self.api_key } else { &self.resource_server_key };
        operation
            .path
            .replace("{grantId}", &self.grant)
            .replace("{brandId}", SHOP)
            .replace("{kid}", &self.kid)
            .replace("{keyId}", key)
            .replace("{name}", self.administrator)
            .replace("{issuer}", "https%3A%2F%2Fpa.example.com")
            .replace("{chain}", SHOP)
            .replace("{sequence}", "1")
    }

    /// A query that narrows a list to the shop, where the operation has one.
    fn query(operation: &Operation) -> String {
        let has = |name: &str| operation.in_query.iter().any(|parameter| parameter.name == name);
        let parameter = ["brand", "chain"].into_iter().find(|name| has(name));
        parameter.map_or_else(String::new, |name| format!("?{name}={SHOP}"))
    }

    /// A body that names the shop wherever it names something.
    fn body(operation: &Operation) -> Option<Value> {
        operation.body.as_ref()?;
        let (_, example) = operation.body.clone()?;
        Some(match operation.id {
            "revokeGrants" => json!({ "filter": { "brand": SHOP }, "shown": 1 }),
            "registerPersonalAgent" | "changePersonalAgent" | "setPassword" => match operation.id {
                "registerPersonalAgent" => json!({
                    "issuer": "https://new.example", "name": "New agent", "jwksUri": "https://new.example/jwks.json",
                }),
                _ => example,
            },
            "createBrand" => brand_body("New Brand"),
            "putBrand" => brand_body("Example Shop"),
            "removeBrand" => json!({ "name": "Example Shop" }),
            "rotateKeys" | "retireKey" | "giveUpKey" => json!({ "now": true }),
            "createResourceServerKey" => json!({ "brandId": SHOP, "name": "another" }),
            "verifyAudit" => json!({ "chain": SHOP }),
            "createAdministrator" => json!({
                "name": "carl", "role": "auditor", "brands": [SHOP], "password": "correct horse battery staple",
            }),
            "changeAdministrator" => json!({ "role": "auditor", "brands": [SHOP] }),
            "createApiKey" => json!({ "name": "another", "role": "auditor", "brands": [SHOP], "days": 1 }),
            other => panic!("{other} has a body that no test knows"),
        })
    }

    /// A request to an operation about the shop.
    fn ask(&self, api: &Api<'_>, operation: &Operation) -> Ask {
        let path = format!("{}{}", self.path(operation), Self::query(operation));
        let ask = api.ask(method(operation), &path);
        Self::body(operation).into_iter().fold(ask, |ask, body| ask.json(&body))
    }
}

/// A Brand of the Identity profile alone.
fn brand_body(name: &str) -> Value {
    json!({
        "name": name, "description": "A Brand of the tests.", "version": "1.0.0",
        "skills": [{ "id": "orders", "name": "Orders", "description": "Orders.", "tags": ["orders"] }],
        "agent": { "builtin": "demo" },
    })
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value}")).to_owned()
}

/// A program with an API key.
struct Api<'a> {
    world: &'a World,
    key: String,
}

impl<'a> Api<'a> {
    /// One with a key of this access, which was used before, so that its use is noted already.
    async fn with(world: &'a World, access: Access) -> Self {
        let api = Self { world, key: world.api_key(access).await };
        assert_eq!(api.get("/overview").await.status(), 200);
        api
    }

    /// The same at another node.
    fn at<'b>(&self, world: &'b World) -> Api<'b> {
        Api { world, key: self.key.clone() }
    }

    fn ask(&self, method: Method, path: &str) -> Ask {
        self.world.ask_admin(method, &format!("/api/v1{path}")).bearer(&self.key)
    }

    async fn get(&self, path: &str) -> Answer {
        self.ask(Method::GET, path).send().await
    }

    async fn write(&self, method: Method, path: &str, body: Value) -> Answer {
        self.ask(method, path).json(&body).send().await
    }

    async fn post(&self, path: &str) -> Answer {
        self.ask(Method::POST, path).send().await
    }
}

/// That this is a problem of RFC 9457 of this kind, whole and with nothing more.
fn assert_problem(answer: &Answer, status: u16, kind: &str, parameter: Option<&str>) {
    let what = format!("{kind}: {} {}", answer.status(), answer.text());
    assert_eq!(answer.status(), status, "{what}");
    assert_eq!(answer.header("content-type"), Some("application/problem+json"), "{what}");
    assert_eq!(answer.header("cache-control"), Some("no-store"), "{what}");
    let json = answer.json();
    assert_eq!(json["type"], format!("/api/v1#{kind}"), "{what}");
    assert_eq!(json["status"], status, "{what}");
    assert!(json["title"].as_str().unwrap().len() > 5 && json["detail"].as_str().unwrap().len() > 5, "{what}");
    assert_eq!(json["parameter"].as_str(), parameter, "{what}");
    let names = ["type", "title", "status", "detail", "parameter"];
    assert!(json.as_object().unwrap().keys().all(|name| names.contains(&name.as_str())), "{what}");
}

/// The method of an operation.
fn method(operation: &Operation) -> Method {
    Method::from_bytes(operation.method.as_str().as_bytes()).unwrap()
}

/// Every operation.
fn operations() -> Vec<Operation> {
    let all = table::operations();
    assert!(all.len() > 40);
    all
}
