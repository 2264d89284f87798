//! The end of a grant over HTTP (RFC 7009; PACT §5.4): whoever ends it, everything under it ends at once, on every node.

use assent::crypto::codes;
use assent::domain::administrator::{Access, Role};
use assent::outbound::Method;
use serde_json::json;

use crate::support::client::Answer;
use crate::support::console::{access, hidden};
use crate::support::database::{Database, on_both_databases};
use crate::support::flow::{Codes, Page, Tokens};
use crate::support::process::Program;
use crate::support::world::{AIRLINE, CLUB, SHOP, World};

const PERSONAL_AGENT: &str = "actor_kind=personal_agent actor=https://pa.example.com";
const USER: &str = "actor_kind=user actor=jane";
const COMMAND_LINE: &str = "actor_kind=administrator actor=command line";

/// A grant in full use: everything that must end with it.
struct Connected {
    /// Before a refresh, so used.
    first: Tokens,
    tokens: Tokens,
    /// Allowed, not collected.
    approval: Codes,
    /// Pending, of a turn that lacked a scope.
    step_up: String,
    /// The page of the step-up, and the browser's session.
    page: Page,
    /// With which the Brand's account API asks about tokens.
    key: String,
    /// A context that ran under the grant, with the message `m-1` answered.
    context: String,
}

async fn connect(world: &World) -> Connected {
    let first = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
    let tokens = Tokens::of(&world.refresh(SHOP, "user-1", &first.refresh).await);
    let reply = world.send(SHOP, "user-1", Some(&tokens.access), "m-1", None, "Where is my order?").await;
    let context = reply.json()["message"]["contextId"].as_str().unwrap().to_owned();
    let approval = world.codes(SHOP, "user-1", "orders:read").await;
    world.allow(SHOP, "jane", &approval, &["orders:read"]).await;
    let task = world.send(SHOP, "user-1", Some(&tokens.access), "m-2", Some(&context), "Refund order A-88213").await;
    let link = task.json()["task"]["metadata"]["pact.verificationUriComplete"].as_str().unwrap().to_owned();
    let step_up = link.rsplit_once("user_code=").or(link.rsplit_once("user_code%3D")).unwrap().1.to_owned();
    let page = world.sign_in(SHOP, "jane", &step_up).await;
    let key = world.resource_server_key(SHOP).await;
    for token in [&tokens.access, &tokens.refresh] {
        let told = world.oauth(SHOP, "/introspect", "user-1", &[("token", token)]).await;
        assert_eq!(told.json()["active"], true, "{}", told.text());
    }
    Connected { first, tokens, approval, step_up, page, key, context }
}

/// That nothing of it is good on this node, and that trying changes nothing.
async fn assert_ended(world: &World, db: &Database, it: &Connected) {
    let before = db.contents().await;
    for tokens in [&it.first, &it.tokens] {
        assert_eq!(world.refresh(SHOP, "user-1", &tokens.refresh).await.oauth_error(), "invalid_grant");
        for bearer in [&world.jwt("user-1"), &it.key] {
            for token in [&tokens.access, &tokens.refresh] {
                let ask = world.at_issuer(Method::POST, SHOP, "/introspect").bearer(bearer);
                assert_eq!(ask.form(&[("token", token)]).send().await.text(), r#"{"active":false}"#);
            }
        }
        for (id, context) in
            [("m-3", None), ("m-4", Some(it.context.as_str())), ("m-1", Some(&it.context)), ("m-2", Some(&it.context))]
        {
            world
                .send(SHOP, "user-1", Some(&tokens.access), id, context, "Where is my order?")
                .await
                .assert_invalid_token();
        }
    }
    assert_eq!(world.poll(SHOP, "user-1", &it.approval.device_code).await.oauth_error(), "invalid_grant");

    let assertion = world.assertion(SHOP, "jane", &it.step_up, json!({}));
    assert_eq!(world.post_assertion(SHOP, &assertion).await.status(), 410);
    let decided = world.decide(SHOP, &it.page.session, "allow", &["orders:read", "refunds:issue"]).await;
    assert_eq!(decided.status(), 410, "{}", decided.text());
    let opened = world.open(SHOP, &it.step_up, it.page.cookie.as_deref()).await;
    assert!([303, 410].contains(&opened.status()), "{} {}", opened.status(), opened.text());

    // Without delegation the context is closed, also to a retry of the step-up; a reply under delegation is not for it.
    for (id, reason) in [("m-4", "UNSUPPORTED_OPERATION"), ("m-2", "UNSUPPORTED_OPERATION"), ("m-1", "INVALID_PARAMS")]
    {
        let answer = world.send(SHOP, "user-1", None, id, Some(&it.context), "Where is my order?").await;
        assert_eq!((answer.status(), answer.reason().as_str()), (400, reason), "{id}");
    }
    assert_eq!(db.contents().await, before);
}

/// Which grants end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Which {
    One,
    All,
}

/// Ends the grant by `end`, which tells who did as the audit log names them, then looks at it on the node that ended it and on
/// another.
async fn everything_ends(
    db: &Database,
    ended_by: &str,
    which: Which,
    end: impl AsyncFnOnce(&World, &Connected) -> String,
) {
    let world = World::start(db).await;
    let other = world.another_node(db).await;
    let it = connect(&world).await;
    // The other node has seen the grant alive.
    let alive = other.send(SHOP, "user-1", Some(&it.tokens.access), "m-0", Some(&it.context), "Hello").await;
    assert_eq!(alive.status(), 200, "{}", alive.text());
    // The same User's grants for others, and other Users', are none of its business.
    let bystanders = [
        (SHOP, "user-2", world.tokens(SHOP, "user-2", "jane", &["orders:read"]).await),
        (SHOP, "user-1", world.tokens(SHOP, "user-1", "joe", &["orders:read"]).await),
        (CLUB, "user-1", world.tokens(CLUB, "user-1", "jane", &["orders:read"]).await),
    ];

    let who = end(&world, &it).await;
    assert_ended(&other, db, &it).await;
    assert_ended(&world, db, &it).await;
    let mut ids = vec![it.tokens.grant()];
    if which == Which::All {
        ids.extend(bystanders.iter().map(|(_, _, tokens)| tokens.grant()));
    }
    ids.sort();
    let ended = db.rows("SELECT id, ended_by FROM delegation_grant WHERE state = 'ended' ORDER BY id").await;
    assert_eq!(ended, ids.iter().map(|id| format!("id={id} ended_by={ended_by}")).collect::<Vec<_>>());
    let said = "SELECT subject, actor_kind, actor FROM audit WHERE action = 'grant_ended' ORDER BY subject";
    assert_eq!(db.rows(said).await, ids.iter().map(|id| format!("subject={id} {who}")).collect::<Vec<_>>());
    for (brand, sub, tokens) in bystanders {
        if which == Which::All {
            assert_eq!(world.refresh(brand, sub, &tokens.refresh).await.oauth_error(), "invalid_grant");
            other.send(brand, sub, Some(&tokens.access), "m-1", None, "Hello").await.assert_invalid_token();
            continue;
        }
        assert_eq!(world.refresh(brand, sub, &tokens.refresh).await.status(), 200);
        assert_eq!(other.send(brand, sub, Some(&tokens.access), "m-1", None, "Hello").await.status(), 200);
    }

    // The User may connect again: a new grant, which does not open what has ended.
    let again = world.tokens(SHOP, "user-1", "jane", &["orders:read", "refunds:issue"]).await;
    assert_ne!(again.grant(), it.tokens.grant());
    assert_eq!(world.poll(SHOP, "user-1", &it.approval.device_code).await.oauth_error(), "invalid_grant");
    let closed = world.send(SHOP, "user-1", Some(&again.access), "m-5", Some(&it.context), "Hello").await;
    assert_eq!(closed.reason(), "UNSUPPORTED_OPERATION");
    other.stop().await;
    world.stop().await;
}

async fn revoke_token(world: &World, token: &str) {
    let answer = world.oauth(SHOP, "/revoke", "user-1", &[("token", token)]).await;
    assert_done(&answer);
}

/// 200 without content (RFC 7009 §2.2).
fn assert_done(answer: &Answer) {
    assert_eq!((answer.status(), answer.text().as_str()), (200, ""));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
}

on_both_databases! {
    // case 56
    async fn a_revoked_refresh_token_ends_everything_at_once_on_every_node(db: Database) {
        everything_ends(&db, "personal_agent", Which::One, async |world, it| {
            revoke_token(world, &it.tokens.refresh).await;
            PERSONAL_AGENT.to_owned()
        }).await;
    }

    // case 56
    async fn a_revoked_delegation_token_ends_everything_at_once_on_every_node(db: Database) {
        everything_ends(&db, "personal_agent", Which::One, async |world, it| {
            revoke_token(world, &it.tokens.access).await;
            PERSONAL_AGENT.to_owned()
        }).await;
    }

    // case 56
    async fn a_used_refresh_token_ends_everything_just_as_well(db: Database) {
        everything_ends(&db, "personal_agent", Which::One, async |world, it| {
            revoke_token(world, &it.first.refresh).await;
            PERSONAL_AGENT.to_owned()
        }).await;
    }

    // case 56
    async fn an_administrator_ends_everything_from_the_console(db: Database) {
        everything_ends(&db, "administrator", Which::One, async |world, it| {
            world.administrator("olga", access(Role::Operator, &[SHOP])).await;
            let (olga, page) = (world.logged_in("olga").await, format!("/grants/{}", it.tokens.grant()));
            assert_eq!(olga.submit(&page, &format!("{page}/revoke"), &[]).await.status(), 303);
            "actor_kind=administrator actor=olga".to_owned()
        }).await;
    }

    // case 56
    async fn an_api_key_ends_everything(db: Database) {
        everything_ends(&db, "administrator", Which::One, async |world, it| {
            let key = world.api_key(access(Role::Operator, &[SHOP])).await;
            let path = format!("/api/v1/grants/{}/revoke", it.tokens.grant());
            assert_eq!(world.ask_admin(Method::POST, &path).bearer(&key).send().await.status(), 200);
            let id = db.store.api_key_by_digest(codes::digest(&key)).await.unwrap().unwrap().id;
            format!("actor_kind=administrator actor=api key {id}")
        }).await;
    }

    // case 56
    async fn the_command_line_ends_everything_while_the_server_runs(db: Database) {
        everything_ends(&db, "administrator", Which::One, async |_, it| {
            let (code, out, error) = Program::new(&db).assent(&["grant", "revoke", &it.tokens.grant(), "--yes"]);
            assert_eq!(code, 0, "{out}{error}");
            COMMAND_LINE.to_owned()
        }).await;
    }

    // cases 56 and 78
    async fn all_grants_of_a_personal_agent_end_together_from_the_console(db: Database) {
        everything_ends(&db, "administrator", Which::All, async |world, _| {
            world.administrator("anna", Access::EVERYTHING).await;
            let anna = world.logged_in("anna").await;
            let page = "/personal-agents/one?issuer=https%3A%2F%2Fpa.example.com";
            let token = hidden(&anna.get(page).await.text(), "form_token");
            let form = [
                ("form_token", token.as_str()),
                ("personal_agent", "https://pa.example.com"),
                ("count", "4"),
                ("confirmation", "4"),
            ];
            let done = anna.post("/grants/revoke", &form).await;
            assert_eq!(done.status(), 200, "{}", done.text());
            "actor_kind=administrator actor=anna".to_owned()
        }).await;
    }

    // case 56
    async fn a_user_who_leaves_nothing_ticked_ends_everything_at_once_on_every_node(db: Database) {
        everything_ends(&db, "user", Which::One, async |world, _| {
            let codes = world.codes(SHOP, "user-1", "orders:read").await;
            let page = world.sign_in(SHOP, "jane", &codes.user_code).await;
            assert_eq!(world.decide(SHOP, &page.session, "allow", &[]).await.status(), 303);
            assert_eq!(world.poll(SHOP, "user-1", &codes.device_code).await.oauth_error(), "access_denied");
            USER.to_owned()
        }).await;
    }

    // case 56
    async fn a_user_who_takes_it_back_on_their_list_ends_everything_at_once_on_every_node(db: Database) {
        everything_ends(&db, "user", Which::One, async |world, it| {
            let page = world.grants(SHOP, "jane").await;
            let answer = world.revoke_on_page(SHOP, &page.session, &it.tokens.grant()).await;
            assert_eq!(answer.status(), 200, "{}", answer.text());
            USER.to_owned()
        }).await;
    }

    // case 56: at the same instant
    async fn of_a_revocation_and_refreshes_at_once_no_token_outlives_the_grant(db: Database) {
        let world = World::start(&db).await;
        let other = world.another_node(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let refreshes = futures_util::future::join_all((0..10).map(|_| other.refresh(SHOP, "user-1", &tokens.refresh)));
        let (answers, ()) = tokio::join!(refreshes, revoke_token(&world, &tokens.refresh));
        for answer in answers {
            if answer.status() == 200 {
                let tokens = Tokens::of(&answer);
                assert_eq!(other.refresh(SHOP, "user-1", &tokens.refresh).await.oauth_error(), "invalid_grant");
                other.send(SHOP, "user-1", Some(&tokens.access), "m-1", None, "Hello").await.assert_invalid_token();
            } else {
                assert_eq!(answer.oauth_error(), "invalid_grant");
            }
        }
        other.stop().await;
        world.stop().await;
    }

    // case 57
    async fn a_token_that_is_not_the_callers_revokes_nothing_and_nobody_can_tell(db: Database) {
        let world = World::start(&db).await;
        let used = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let tokens = Tokens::of(&world.refresh(SHOP, "user-1", &used.refresh).await);
        let before = db.contents().await;
        for token in [&tokens.refresh, &tokens.access, &used.refresh] {
            let form = [("token", token.as_str())];
            assert_done(&world.oauth_as(&world.other_pa, SHOP, "/revoke", "user-1", &form).await);
            assert_done(&world.oauth(SHOP, "/revoke", "user-2", &form).await);
            assert_done(&world.oauth(CLUB, "/revoke", "user-1", &form).await);
            assert_done(&world.oauth(AIRLINE, "/revoke", "user-1", &form).await);
        }
        let altered = format!("{}A", tokens.access);
        let unsigned = tokens.access.rsplit_once('.').unwrap().0.to_owned() + ".";
        for garbage in ["x", "rt_", "rt_unknown", "a.b.c", "..", "'; DROP TABLE refresh_token; --", &altered, &unsigned, &tokens.grant()] {
            revoke_token(&world, garbage).await;
        }
        assert_eq!(db.contents().await, before);
        assert_eq!(world.refresh(SHOP, "user-1", &tokens.refresh).await.status(), 200);
        world.stop().await;
    }

    // case 57
    async fn an_expired_delegation_token_revokes_nothing(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        world.advance(900);
        world.send(SHOP, "user-1", Some(&tokens.access), "m-1", None, "Hello").await.assert_invalid_token();
        let before = db.contents().await;
        revoke_token(&world, &tokens.access).await;
        assert_eq!(db.contents().await, before);
        assert_eq!(world.refresh(SHOP, "user-1", &tokens.refresh).await.status(), 200);
        world.stop().await;
    }

    // case 57
    async fn a_refresh_token_of_an_expired_grant_revokes_nothing_and_raises_no_alarm(db: Database) {
        let world = World::start(&db).await;
        let used = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let tokens = Tokens::of(&world.refresh(SHOP, "user-1", &used.refresh).await);
        world.advance(30 * 86_400);
        let before = db.contents().await;
        for token in [&tokens.refresh, &used.refresh] {
            revoke_token(&world, token).await;
            assert_eq!(world.refresh(SHOP, "user-1", token).await.oauth_error(), "invalid_grant");
        }
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 56
    async fn a_used_token_of_a_grant_that_ended_raises_no_alarm(db: Database) {
        let world = World::start(&db).await;
        let used = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let tokens = Tokens::of(&world.refresh(SHOP, "user-1", &used.refresh).await);
        revoke_token(&world, &tokens.refresh).await;
        world.advance(11);
        let before = db.contents().await;
        assert_eq!(world.refresh(SHOP, "user-1", &used.refresh).await.oauth_error(), "invalid_grant");
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }

    // case 57: RFC 7009 §2.1 lets the server find the token whatever the hint says
    async fn a_hint_of_the_wrong_type_does_not_keep_a_token_from_being_revoked(db: Database) {
        let world = World::start(&db).await;
        for hint in ["access_token", "refresh_token", "unknown", ""] {
            let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
            let form = [("token", tokens.refresh.as_str()), ("token_type_hint", hint)];
            assert_done(&world.oauth(SHOP, "/revoke", "user-1", &form).await);
            assert_eq!(world.refresh(SHOP, "user-1", &tokens.refresh).await.oauth_error(), "invalid_grant", "{hint}");
            // Again: nothing more to end.
            let before = db.contents().await;
            assert_done(&world.oauth(SHOP, "/revoke", "user-1", &form).await);
            assert_eq!(db.contents().await, before);
        }
        world.stop().await;
    }
}
