//! Every operation, in one table: the routes and the document are both made of it, and the tests walk it.

use actix_web::http::Method;
use serde_json::{Value, json};

use super::operation::Operation as Op;
use super::{
    administrators, api_keys, audit, brands, grants, keys, overview, personal_agents, receipts, resource_server_keys,
};

/// Every operation. Of one path they stand together, and the more particular path stands first.
pub fn operations() -> Vec<Op> {
    let of = [
        about_grants(),
        about_personal_agents(),
        about_brands(),
        about_keys(),
        about_the_log(),
        about_administrators(),
        about_api_keys(),
    ];
    let first = Op::get("/overview", "getOverview", "How things stand at the Brands within reach.", overview::show);
    std::iter::once(first).chain(of.into_iter().flatten()).collect()
}

fn about_grants() -> Vec<Op> {
    vec![
        Op::get("/grants", "listGrants", "The grants that fit.", grants::list),
        Op::get("/grants/count", "countGrants", "How many grants fit, and of how many Brands.", grants::count),
        Op::post(
            "/grants/revoke",
            "revokeGrants",
            "End all live grants that fit, once their count was seen.",
            grants::revoke_all,
        )
        .example(json!({ "filter": { "personalAgent": "https://pa.example.com" }, "shown": 12 })),
        Op::get("/grants/{grantId}", "getGrant", "A grant with what happened under it.", grants::show),
        Op::get(
            "/grants/{grantId}/tokens",
            "listGrantTokens",
            "The tokens that were issued under a grant.",
            grants::tokens,
        ),
        Op::get(
            "/grants/{grantId}/evidence",
            "getGrantEvidence",
            "All that is kept of a grant, signed by its Brand.",
            grants::evidence,
        ),
        Op::post("/grants/{grantId}/revoke", "revokeGrant", "End a grant, at once and on every node.", grants::revoke),
        Op::get("/receipts", "listReceipts", "The receipts that fit.", receipts::list),
    ]
}

fn about_personal_agents() -> Vec<Op> {
    let agent = json!({
        "issuer": "https://pa.example.com", "name": "Demo personal agent",
        "jwksUri": "https://pa.example.com/.well-known/jwks.json",
    });
    vec![
        Op::get("/personal-agents", "listPersonalAgents", "The personal agents that fit.", personal_agents::list),
        Op::post("/personal-agents", "registerPersonalAgent", "Register a personal agent.", personal_agents::register)
            .creating()
            .example(agent),
        Op::get("/personal-agents/{issuer}", "getPersonalAgent", "A personal agent.", personal_agents::show),
        Op::post(
            "/personal-agents/{issuer}",
            "changePersonalAgent",
            "Change what is given of a personal agent.",
            personal_agents::change,
        )
        .with(Method::PATCH)
        .example(json!({ "name": "Another name" })),
        Op::post(
            "/personal-agents/{issuer}/disable",
            "disablePersonalAgent",
            "Disable a personal agent: its requests get 401, and its grants stay.",
            personal_agents::disable,
        ),
        Op::post(
            "/personal-agents/{issuer}/enable",
            "enablePersonalAgent",
            "Enable a personal agent again.",
            personal_agents::enable,
        ),
    ]
}

fn about_brands() -> Vec<Op> {
    vec![
        Op::get("/brands", "listBrands", "The Brands that fit.", brands::list),
        Op::post("/brands", "createBrand", "Make a Brand. Its id is minted.", brands::create).example(brand()),
        Op::get("/brands/{brandId}", "getBrand", "A Brand, removed or not.", brands::show),
        Op::post(
            "/brands/{brandId}",
            "putBrand",
            "Make the Brand with this id, or change it to what the body says.",
            brands::put,
        )
        .with(Method::PUT)
        .example(brand()),
        Op::post(
            "/brands/{brandId}/remove",
            "removeBrand",
            "Serve a Brand no more and end its grants, for good. Its name confirms that it is this one.",
            brands::remove,
        )
        .example(json!({ "name": "Skyline Airways" })),
        Op::get("/brands/{brandId}/keys", "listBrandKeys", "A Brand's keys, their public halves.", keys::list_of_brand),
        Op::post(
            "/brands/{brandId}/keys/rotate",
            "rotateKeys",
            "Give a Brand a new key, which signs a day after it was published, or now.",
            keys::rotate,
        )
        .example(json!({ "now": false })),
    ]
}

/// A Brand as it is written in a body.
fn brand() -> Value {
    json!({
        "name": "Skyline Airways",
        "description": "Flight status and trip changes.",
        "version": "1.0.0",
        "skills": [{ "id": "flights", "name": "Flights", "description": "Status and changes.", "tags": ["flights"] }],
        "agent": { "url": "https://agents.provider.example.com/skyline", "timeout_seconds": 30 },
        "delegation": {
            "login_url": "https://skyline.example/login",
            "assertion": {
                "issuer": "https://skyline.example", "jwks_uri": "https://skyline.example/.well-known/jwks.json",
            },
            "scopes": [
                { "id": "flights:upcoming:read", "description": "View upcoming flights" },
                { "id": "flights:rebook", "description": "Rebook flights", "writes": true },
            ],
        },
    })
}

fn about_keys() -> Vec<Op> {
    let made = json!({ "brandId": "01M3R53Q5SZQ6FQSMSDBSSREAA", "name": "account API", "days": 90 });
    vec![
        Op::get("/keys", "listKeys", "The keys of the Brands within reach, their public halves.", keys::list),
        Op::post("/keys/{kid}/retire", "retireKey", "Let a key sign no more. What it signed stays good.", keys::retire)
            .example(json!({ "now": false })),
        Op::post(
            "/keys/{kid}/compromise",
            "giveUpKey",
            "Give up a key that may be in other hands: whatever it signed is refused, receipts too.",
            keys::compromise,
        )
        .example(json!({ "now": true })),
        Op::get(
            "/resource-server-keys",
            "listResourceServerKeys",
            "The resource-server keys, newest first.",
            resource_server_keys::list,
        ),
        Op::post(
            "/resource-server-keys",
            "createResourceServerKey",
            "Make a resource-server key. It is shown now or never.",
            resource_server_keys::create,
        )
        .creating()
        .example(made),
        Op::get(
            "/resource-server-keys/{keyId}",
            "getResourceServerKey",
            "A resource-server key, without the key itself.",
            resource_server_keys::show,
        ),
        Op::post(
            "/resource-server-keys/{keyId}/revoke",
            "revokeResourceServerKey",
            "Revoke a resource-server key, at once and on every node.",
            resource_server_keys::revoke,
        ),
    ]
}

fn about_the_log() -> Vec<Op> {
    vec![
        Op::get("/audit", "listAudit", "The audit log, newest row first.", audit::list),
        Op::post("/audit/verify", "verifyAudit", "Verify the audit log. It changes nothing.", audit::verify)
            .reading()
            .example(json!({ "chain": "provider" })),
        Op::post(
            "/audit/{chain}/{sequence}/erase",
            "eraseAudit",
            "Erase the payload of a row, for good. The row stays, and another says who erased it.",
            audit::erase,
        ),
    ]
}

fn about_administrators() -> Vec<Op> {
    let new = json!({
        "name": "bert", "role": "operator", "brands": ["01M3R53Q5SZQ6FQSMSDBSSREAA"],
        "password": "correct horse battery staple",
    });
    vec![
        Op::get(
            "/administrators",
            "listAdministrators",
            "The administrators within reach, by name.",
            administrators::list,
        ),
        Op::post("/administrators", "createAdministrator", "Make an administrator.", administrators::create)
            .owning()
            .creating()
            .example(new),
        Op::get("/administrators/{name}", "getAdministrator", "An administrator.", administrators::show),
        Op::post(
            "/administrators/{name}",
            "changeAdministrator",
            "Give an administrator another role, or other Brands. They log in anew.",
            administrators::change,
        )
        .with(Method::PUT)
        .owning()
        .example(json!({ "role": "auditor", "brands": "*" })),
        Op::post(
            "/administrators/{name}/disable",
            "disableAdministrator",
            "Let an administrator in no longer, at once.",
            administrators::disable,
        )
        .owning(),
        Op::post(
            "/administrators/{name}/enable",
            "enableAdministrator",
            "Let an administrator in again.",
            administrators::enable,
        )
        .owning(),
        Op::post(
            "/administrators/{name}/password",
            "setPassword",
            "Give an administrator who has lost theirs another password.",
            administrators::set_password,
        )
        .owning()
        .example(json!({ "password": "correct horse battery staple" })),
        Op::post(
            "/administrators/{name}/second-factor/off",
            "turnSecondFactorOff",
            "Turn off the second factor of an administrator who has lost it.",
            administrators::drop_second_factor,
        )
        .owning(),
        Op::post(
            "/administrators/{name}/remove",
            "removeAdministrator",
            "Remove an administrator. API keys that they made live on until they are revoked.",
            administrators::remove,
        )
        .owning(),
    ]
}

fn about_api_keys() -> Vec<Op> {
    vec![
        Op::get("/api-keys", "listApiKeys", "The API keys within reach, newest first.", api_keys::list),
        Op::post("/api-keys", "createApiKey", "Make an API key. It is shown now or never.", api_keys::create)
            .owning()
            .creating()
            .example(json!({ "name": "deploy", "role": "operator", "brands": "*", "days": 90 })),
        Op::get("/api-keys/{keyId}", "getApiKey", "An API key, without the key itself.", api_keys::show),
        Op::post(
            "/api-keys/{keyId}/revoke",
            "revokeApiKey",
            "Revoke an API key, at once and on every node.",
            api_keys::revoke,
        )
        .owning(),
    ]
}
