//! The main job from beginning to end: a personal agent asks, a User allows, a receipt verifies.

use assent::crypto::jwks::KeySet;
use assent::crypto::receipt;
use assent::outbound::Method;
use serde_json::json;

use crate::support::database::on_both_databases;
use crate::support::flow::Tokens;
use crate::support::world::{AIRLINE, PROVIDER, SHOP, World, interface_url};

on_both_databases! {
    async fn a_personal_agent_asks_a_user_allows_a_receipt_verifies(db: Database) {
        let world = World::start(&db).await;
        let codes = world.codes(SHOP, "user-1", "orders:cancel orders:read").await;
        assert_eq!(codes.answer["expires_in"], json!(600));
        assert_eq!(codes.answer["interval"], json!(5));
        assert_eq!(world.poll(SHOP, "user-1", &codes.device_code).await.oauth_error(), "authorization_pending");

        world.allow(SHOP, "jane-4471", &codes, &["orders:read"]).await;
        let tokens = Tokens::of(&world.poll(SHOP, "user-1", &codes.device_code).await);
        assert_eq!(tokens.scope, "orders:read");

        let reply = world.send(SHOP, "user-1", Some(&tokens.access), "m-1", None, "Where is my order?").await;
        assert_eq!(reply.status(), 200, "{}", reply.text());
        let message = reply.json()["message"].clone();
        let context = message["contextId"].as_str().unwrap().to_owned();
        let jws = message["metadata"]["pact.receipt"]["jws"].as_str().unwrap().to_owned();
        let jwks = world.at_issuer(Method::GET, SHOP, "/jwks.json").send().await.text();
        let keys = KeySet::parse(jwks.as_bytes()).unwrap();
        let claims = receipt::verify(&jws, &keys, Some(&interface_url(SHOP))).unwrap();
        assert_eq!(serde_json::to_value(&claims).unwrap(), message["metadata"]["pact.receipt"]["claims"]);
        assert_eq!(claims.grant_id.as_str(), tokens.grant());

        let step_up = world.send(SHOP, "user-1", Some(&tokens.access), "m-2", Some(&context), "Refund order A-88213").await;
        let task = step_up.json()["task"].clone();
        assert_eq!(task["status"]["state"], "TASK_STATE_AUTH_REQUIRED");
        assert_eq!(task["metadata"]["pact.missingScopes"], json!(["refunds:issue"]));
        let link = task["metadata"]["pact.verificationUriComplete"].as_str().unwrap();
        let link = url::Url::parse(link).unwrap();
        let code = link.query_pairs().find(|(name, _)| name == "user_code").unwrap().1.into_owned();
        let page = world.sign_in(SHOP, "jane-4471", &code).await;
        let decided = world.decide(SHOP, &page.session, "allow", &["refunds:issue", "orders:read"]).await;
        assert_eq!(decided.status(), 303, "{}", decided.text());

        let tokens = Tokens::of(&world.refresh(SHOP, "user-1", &tokens.refresh).await);
        assert_eq!(tokens.scope, "orders:read refunds:issue");
        let done = world.send(SHOP, "user-1", Some(&tokens.access), "m-2", Some(&context), "Refund order A-88213").await;
        assert_eq!(done.json()["message"]["metadata"]["pact.receipt"]["claims"]["actions"][1]["tool"], "issue_refund", "{}", done.text());

        let revoked = world.oauth(SHOP, "/revoke", "user-1", &[("token", &tokens.refresh)]).await;
        assert_eq!((revoked.status(), revoked.text().as_str()), (200, ""));
        let refused = world.send(SHOP, "user-1", Some(&tokens.access), "m-3", Some(&context), "Hello?").await;
        refused.assert_invalid_token();
        assert_eq!(world.refresh(SHOP, "user-1", &tokens.refresh).await.oauth_error(), "invalid_grant");
        world.stop().await;
    }

    async fn a_brand_on_its_own_host_sends_the_user_back_to_itself(db: Database) {
        let world = World::start(&db).await;
        let codes = world.codes(AIRLINE, "user-1", "orders:read orders:cancel").await;
        let page = world.sign_in(AIRLINE, "jane-4471", &codes.user_code).await;
        let answer = world.decide(AIRLINE, &page.session, "allow", &["orders:read"]).await;
        assert_eq!(answer.status(), 303);
        assert_eq!(
            answer.header("location"),
            Some("https://airline.example/connected?from=assent&client=https%3A%2F%2Fpa.example.com&status=approved&scope=orders%3Aread")
        );
        let on_provider = world.ask(Method::GET, PROVIDER, &format!("/a2a/{AIRLINE}/oauth/jwks.json")).send().await;
        assert_eq!(on_provider.status(), 404);
        world.stop().await;
    }
}
