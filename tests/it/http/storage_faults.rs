//! The database fails in the middle of whatever it is doing: the caller may try again, and nothing was half done.
//!
//! Every write of a unit of work is made to fail in turn, so that none of them can leave the others behind.

use assent::outbound::Method;
use serde_json::json;

use crate::support::backend::Script;
use crate::support::client::Answer;
use crate::support::database::{Database, Kind, on_both_databases};
use crate::support::faults::Fault;
use crate::support::flow::{Page, Tokens, code_in};
use crate::support::world::{AIRLINE, CLUB, SHOP, World};

const BOTH: &[&str] = &["orders:read", "orders:cancel"];
const REUSE: &str = "SELECT subject FROM audit WHERE action = 'refresh_reuse'";
/// The writes with which every audited unit ends.
const AUDIT: [&str; 2] = ["INSERT ON audit", "UPDATE ON audit_head"];

/// Who was asked, since each says in its own words that waiting helps.
#[derive(Clone, Copy, Debug)]
enum Surface {
    OAuth,
    A2a,
    Page,
}

impl Surface {
    fn assert_unavailable(self, answer: &Answer, what: &str) {
        assert_eq!(answer.status(), 503, "{what}: {}", answer.text());
        assert_eq!(answer.header("retry-after"), Some("1"), "{what}");
        match self {
            Self::OAuth => assert_eq!(answer.oauth_error(), "temporarily_unavailable", "{what}"),
            Self::A2a => answer.assert_empty(503),
            Self::Page => {
                assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"), "{what}");
                assert_eq!(answer.header("cache-control"), Some("no-store"), "{what}");
                assert!(answer.text().contains("<h1"), "{what}: {}", answer.text());
            }
        }
    }

    /// That `ask` is told to try again when `write` fails, and that nothing was done.
    async fn assert_undone(self, db: &Database, write: &str, ask: impl AsyncFnOnce() -> Answer) {
        let before = db.contents().await;
        let answer = db.with_fault(Fault::Full, write, ask).await;
        self.assert_unavailable(&answer, write);
        assert_eq!(db.contents().await, before, "{write}");
    }
}

/// `writes`, then those of the audit log.
fn audited<'a>(writes: &[&'a str]) -> Vec<&'a str> {
    writes.iter().copied().chain(AUDIT).collect()
}

on_both_databases! {
    // case 55
    async fn a_rotation_that_fails_leaves_the_old_token_good_and_raises_no_alarm(db: Database) {
        let world = World::start(&db).await;
        let mut tokens = world.tokens(SHOP, "user-1", "jane", BOTH).await;
        let writes = ["UPDATE ON delegation_grant", "UPDATE ON refresh_token", "INSERT ON refresh_token"];
        for (index, write) in audited(&writes).into_iter().enumerate() {
            let ask = async || world.refresh(SHOP, "user-1", &tokens.refresh).await;
            Surface::OAuth.assert_undone(&db, write, ask).await;
            // At once, and when a used token would be a theft.
            world.advance(if index % 2 == 0 { 0 } else { 11 });
            tokens = Tokens::of(&world.refresh(SHOP, "user-1", &tokens.refresh).await);
        }
        world.advance(11);
        Tokens::of(&world.refresh(SHOP, "user-1", &tokens.refresh).await);
        assert_eq!(db.count(REUSE).await, 0);
        world.stop().await;
    }

    // case 55: somebody else holds the database
    async fn a_rotation_that_finds_the_database_locked_leaves_the_old_token_good(db: Database) {
        let db = db.hasty("");
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", BOTH).await;
        let before = db.contents().await;
        let ask = async || world.refresh(SHOP, "user-1", &tokens.refresh).await;
        // The audit log comes last: PostgreSQL has spent the token by then, in a transaction that it takes back.
        let answer = db.locked("audit", ask).await;
        Surface::OAuth.assert_unavailable(&answer, "locked");
        assert_eq!(db.contents().await, before);
        world.advance(11);
        Tokens::of(&world.refresh(SHOP, "user-1", &tokens.refresh).await);
        assert_eq!(db.count(REUSE).await, 0);
        world.stop().await;
    }

    // case 55: at the last moment
    async fn a_rotation_whose_commit_fails_leaves_the_old_token_good(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", BOTH).await;
        let before = db.contents().await;
        let ask = async || world.refresh(SHOP, "user-1", &tokens.refresh).await;
        let answer = db.with_fault(Fault::AtCommit, "INSERT ON refresh_token", ask).await;
        let (status, error) = match db.kind {
            Kind::Sqlite => (500, "server_error"),
            Kind::Postgres => (503, "temporarily_unavailable"),
        };
        assert_eq!((answer.status(), answer.oauth_error().as_str()), (status, error));
        assert_eq!(db.contents().await, before);
        world.advance(11);
        Tokens::of(&world.refresh(SHOP, "user-1", &tokens.refresh).await);
        assert_eq!(db.count(REUSE).await, 0);
        world.stop().await;
    }

    // case 55: an alarm that cannot be raised is raised at the next try
    async fn a_theft_that_cannot_be_noted_is_noted_later(db: Database) {
        let world = World::start(&db).await;
        let first = world.tokens(SHOP, "user-1", "jane", BOTH).await;
        let second = Tokens::of(&world.refresh(SHOP, "user-1", &first.refresh).await);
        world.advance(11);
        for write in audited(&["UPDATE ON delegation_grant", "UPDATE ON refresh_family"]) {
            let ask = async || world.refresh(SHOP, "user-1", &first.refresh).await;
            Surface::OAuth.assert_undone(&db, write, ask).await;
        }
        for token in [&first, &second] {
            assert_eq!(world.refresh(SHOP, "user-1", &token.refresh).await.oauth_error(), "invalid_grant");
        }
        assert_eq!(db.count(REUSE).await, 1);
        world.stop().await;
    }

    // case 55: of a device code
    async fn a_code_whose_making_or_redemption_fails_can_be_made_or_redeemed_again(db: Database) {
        let world = World::start(&db).await;
        let scope = [("scope", "orders:read")];
        let ask = async || world.oauth(SHOP, "/device_authorization", "user-1", &scope).await;
        Surface::OAuth.assert_undone(&db, "INSERT ON device_authorization", ask).await;

        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        world.allow(SHOP, "jane", &codes, &["orders:read"]).await;
        let writes = [
            "UPDATE ON delegation_grant",
            "UPDATE ON device_authorization",
            "INSERT ON refresh_family",
            "INSERT ON refresh_token",
        ];
        for write in audited(&writes) {
            Surface::OAuth.assert_undone(&db, write, async || world.poll(SHOP, "user-1", &codes.device_code).await).await;
        }
        let tokens = Tokens::of(&world.poll(SHOP, "user-1", &codes.device_code).await);
        Tokens::of(&world.refresh(SHOP, "user-1", &tokens.refresh).await);
        world.stop().await;
    }

    // case 55: of an assertion
    async fn a_sign_in_that_fails_does_not_spend_the_assertion(db: Database) {
        let world = World::start(&db).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        let assertion = world.assertion(SHOP, "jane", &codes.user_code, json!({}));
        for write in audited(&["INSERT ON assertion_jti", "INSERT ON browser_session", "INSERT ON consent_page"]) {
            Surface::Page.assert_undone(&db, write, async || world.post_assertion(SHOP, &assertion).await).await;
        }
        let page = Page::of(&world.post_assertion(SHOP, &assertion).await);
        let open = async || world.open(SHOP, &codes.user_code, page.cookie.as_deref()).await;
        Surface::Page.assert_undone(&db, "INSERT ON consent_page", open).await;
        assert_eq!(open().await.status(), 200);

        // Where the grant covers the request, the same assertion also approves it.
        world.tokens(CLUB, "user-1", "jane", BOTH).await;
        let covered = world.codes(CLUB, "user-1", "orders:read").await;
        let assertion = world.assertion(CLUB, "jane", &covered.user_code, json!({}));
        let writes = [
            "INSERT ON assertion_jti",
            "INSERT ON browser_session",
            "UPDATE ON delegation_grant",
            "UPDATE ON device_authorization",
            "INSERT ON consent_evidence",
        ];
        for write in audited(&writes) {
            Surface::Page.assert_undone(&db, write, async || world.post_assertion(CLUB, &assertion).await).await;
            assert_eq!(world.poll(CLUB, "user-1", &covered.device_code).await.oauth_error(), "authorization_pending");
            world.advance(5);
        }
        assert_eq!(world.post_assertion(CLUB, &assertion).await.status(), 200);
        Tokens::of(&world.poll(CLUB, "user-1", &covered.device_code).await);
        world.stop().await;
    }

    // case 55: of the User's decision
    async fn a_decision_that_fails_decides_nothing(db: Database) {
        let world = World::start(&db).await;
        let (code, evidence) = ("UPDATE ON device_authorization", "INSERT ON consent_evidence");
        // The first makes the grant, the second changes it, the third ends it.
        for (decided, ticked, status, grant) in [
            ("allow", &["orders:read"][..], "approved", "INSERT ON delegation_grant"),
            ("allow", BOTH, "approved", "UPDATE ON delegation_grant"),
            ("deny", &[], "denied", code),
            ("allow", &[], "denied", "UPDATE ON delegation_grant"),
        ] {
            let codes = world.codes(AIRLINE, "user-1", "orders:read orders:cancel").await;
            let page = world.sign_in(AIRLINE, "jane", &codes.user_code).await;
            let decide = async || world.decide(AIRLINE, &page.session, decided, ticked).await;
            for write in audited(&[grant, code, evidence]) {
                Surface::Page.assert_undone(&db, write, decide).await;
            }
            let done = decide().await;
            let leads_to = done.header("location").unwrap_or_default().to_owned();
            assert!(leads_to.contains(&format!("status={status}")), "{} {leads_to}", done.status());
        }
        world.stop().await;
    }

    // case 55: of a revocation
    async fn a_revocation_that_fails_can_be_asked_for_again(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", BOTH).await;
        for write in audited(&["UPDATE ON delegation_grant"]) {
            for token in [&tokens.refresh, &tokens.access] {
                let ask = async || world.oauth(SHOP, "/revoke", "user-1", &[("token", token)]).await;
                Surface::OAuth.assert_undone(&db, write, ask).await;
            }
        }
        assert_eq!(world.send(SHOP, "user-1", Some(&tokens.access), "m-1", None, "Hello").await.status(), 200);
        world.oauth(SHOP, "/revoke", "user-1", &[("token", &tokens.refresh)]).await.assert_empty(200);
        world.send(SHOP, "user-1", Some(&tokens.access), "m-2", None, "Hello").await.assert_invalid_token();
        world.stop().await;
    }

    // case 55: before the agent runs
    async fn a_message_that_cannot_be_reserved_never_reaches_the_agent(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(AIRLINE, "user-1", "jane", BOTH).await;
        let context = world.send(AIRLINE, "user-1", Some(&tokens.access), "m-0", None, "Hello").await.context();
        let ran = world.backend.seen().len();
        for (context, writes) in [
            (None, ["UPDATE ON delegation_grant", "INSERT ON context", "INSERT ON turn"]),
            (Some(context.as_str()), ["UPDATE ON delegation_grant", "UPDATE ON context", "INSERT ON turn"]),
        ] {
            let send = async || world.send(AIRLINE, "user-1", Some(&tokens.access), "m-1", context, "Hello").await;
            for write in writes {
                Surface::A2a.assert_undone(&db, write, send).await;
            }
            assert_eq!(world.backend.seen().len(), ran, "the agent has not run");
        }
        let sent = world.send(AIRLINE, "user-1", Some(&tokens.access), "m-1", Some(&context), "Hello").await;
        assert_eq!(sent.status(), 200, "{}", sent.text());
        world.stop().await;
    }

    // cases 55, 70: after the agent ran
    async fn a_reply_that_cannot_be_stored_is_not_sent_and_the_message_runs_again(db: Database) {
        const RECEIPTS: &str = "SELECT * FROM receipt WHERE message_id = 'm-1'";
        let world = World::start(&db).await;
        let tokens = world.tokens(AIRLINE, "user-1", "jane", &["orders:read"]).await;
        let context = world.send(AIRLINE, "user-1", Some(&tokens.access), "m-0", None, "Hello").await.context();
        let send = async || world.send(AIRLINE, "user-1", Some(&tokens.access), "m-1", Some(&context), "Do it").await;

        // Nor can the reservation be given back: the message runs again after the lease of 2 and 5 seconds.
        Surface::A2a.assert_unavailable(&db.with_fault(Fault::Full, "UPDATE ON turn", send).await, "turn");
        send().await.assert_a2a_error("INVALID_PARAMS");
        world.advance(7);
        // It can: the message runs again at once.
        Surface::A2a.assert_unavailable(&db.with_fault(Fault::Full, "INSERT ON receipt", send).await, "receipt");
        assert_eq!(db.rows("SELECT state, reply FROM turn WHERE message_id = 'm-1'").await, ["state=released reply=NULL"]);
        assert_eq!(db.count(RECEIPTS).await, 0);
        let reply = send().await;
        assert_eq!(reply.status(), 200, "{}", reply.text());
        assert_eq!(send().await.text(), reply.text());
        assert_eq!(db.count(RECEIPTS).await, 1);
        // The agent can tell that all three runs are of one message.
        let runs = world.backend.seen().split_off(1);
        let key = format!("{context}/m-1");
        let keys: Vec<_> = runs.iter().map(|turn| turn.header("idempotency-key").unwrap()).collect();
        assert_eq!(keys, [&key; 3]);
        world.stop().await;
    }

    // cases 55, 62: of a step-up
    async fn a_step_up_that_cannot_be_stored_is_asked_for_again(db: Database) {
        let world = World::start(&db).await;
        let tokens = world.tokens(AIRLINE, "user-1", "jane", &["orders:read"]).await;
        let context = world.send(AIRLINE, "user-1", Some(&tokens.access), "m-0", None, "Hello").await.context();
        world.backend.answer_with(Script::json(json!({ "parts": [], "missingScopes": ["orders:cancel"] })));
        let send = async || world.send(AIRLINE, "user-1", Some(&tokens.access), "m-1", Some(&context), "Do it").await;
        for write in ["INSERT ON device_authorization", "INSERT ON receipt"] {
            Surface::A2a.assert_unavailable(&db.with_fault(Fault::Full, write, send).await, write);
        }
        let asked = send().await;
        let link = asked.json()["task"]["metadata"]["pact.verificationUriComplete"].as_str().unwrap().to_owned();
        let page = world.sign_in(AIRLINE, "jane", &code_in(&link)).await;
        assert_eq!(world.decide(AIRLINE, &page.session, "allow", BOTH).await.status(), 303);
        assert_eq!(db.count("SELECT * FROM receipt WHERE message_id = 'm-1'").await, 1);
        world.stop().await;
    }

    // case 55: the database is gone altogether
    async fn without_its_database_every_surface_says_when_to_try_again(db: Database) {
        let db = db.hasty("");
        let world = World::start(&db).await;
        let tokens = world.tokens(SHOP, "user-1", "jane", BOTH).await;
        let codes = world.codes(SHOP, "user-1", "orders:read").await;
        let page = world.sign_in(SHOP, "jane", &codes.user_code).await;
        let closing = format!("/consent/decision?session={}", page.session);
        let assertion = world.assertion(SHOP, "jane", &codes.user_code, json!({}));
        db.take_away(&world.app.store).await;
        let token = Some(tokens.access.as_str());
        for (surface, answer) in [
            (Surface::OAuth, world.oauth(SHOP, "/device_authorization", "user-1", &[("scope", "orders:read")]).await),
            (Surface::OAuth, world.poll(SHOP, "user-1", &codes.device_code).await),
            (Surface::OAuth, world.refresh(SHOP, "user-1", &tokens.refresh).await),
            (Surface::OAuth, world.oauth(SHOP, "/revoke", "user-1", &[("token", &tokens.refresh)]).await),
            (Surface::A2a, world.send(SHOP, "user-1", None, "m-1", None, "Hello").await),
            (Surface::A2a, world.send(SHOP, "user-1", token, "m-2", None, "Hello").await),
            (Surface::Page, world.post_assertion(SHOP, &assertion).await),
            (Surface::Page, world.open(SHOP, &codes.user_code, page.cookie.as_deref()).await),
            (Surface::Page, world.decide(SHOP, &page.session, "allow", BOTH).await),
            (Surface::Page, world.at_issuer(Method::GET, SHOP, &closing).send().await),
        ] {
            surface.assert_unavailable(&answer, "gone");
        }
        world.stop().await;
    }
}
