//! A node is killed as a power cut would kill it: what was answered is there afterwards, what was not can be asked again.

use std::cell::RefCell;
use std::time::Duration;

use assent::clock::Clock;
use futures_util::future::join_all;
use serde_json::json;

use crate::support::backend::Script;
use crate::support::database::on_both_databases;
use crate::support::flow::{Codes, Tokens, message};
use crate::support::process::Process;
use crate::support::world::{AIRLINE, World};

const SCOPES: &[&str] = &["orders:read"];

/// A receipt for every turn.
fn with_receipt(text: &str) -> Script {
    Script::json(json!({ "parts": [{ "text": text }], "scopesUsed": ["orders:read"] }))
}

/// What one User's agent was answered.
#[derive(Default)]
struct Answered {
    sub: String,
    tokens: Option<(Codes, Tokens)>,
    /// The conversation, and the reply.
    reply: Option<(String, String)>,
    /// Whether a revocation was asked for, and whether it was answered.
    revoked: (bool, bool),
}

/// Goes through the flow as `sub`, noting each answer.
async fn live(world: &World, sub: &str, all: &RefCell<Vec<Answered>>) {
    let mine = all.borrow().len();
    all.borrow_mut().push(Answered { sub: sub.to_owned(), ..Answered::default() });
    let codes = world.codes(AIRLINE, sub, "orders:read").await;
    world.allow(AIRLINE, sub, &codes, SCOPES).await;
    let tokens = Tokens::of(&world.poll(AIRLINE, sub, &codes.device_code).await);
    all.borrow_mut()[mine].tokens = Some((codes, tokens.clone()));
    let reply = world.send(AIRLINE, sub, Some(&tokens.access), "m-1", None, "Hello").await;
    all.borrow_mut()[mine].reply = Some((reply.context(), reply.text()));
    if mine.is_multiple_of(2) {
        all.borrow_mut()[mine].revoked.0 = true;
        world.oauth(AIRLINE, "/revoke", sub, &[("token", &tokens.refresh)]).await.assert_empty(200);
        all.borrow_mut()[mine].revoked.1 = true;
    }
}

on_both_databases! {
    // case 70
    async fn a_turn_whose_node_was_killed_before_it_could_store_runs_again_at_another(db: Database) {
        // The test's own node is the other one. Its clock is moved instead of waiting for the lease.
        let world = World::start_at(&db, Clock::system().now()).await;
        let mut process = Process::start(&db).await;
        let killed = world.through(process.public);
        let tokens = world.tokens(AIRLINE, "user-1", "jane", SCOPES).await;
        let token = Some(tokens.access.as_str());
        world.backend.answer_with(with_receipt("Hello."));
        let context = killed.send(AIRLINE, "user-1", token, "m-0", None, "Hello").await.context();

        world.backend.answer_with(with_receipt("Done.").after(Duration::from_millis(200)));
        let sent = message("m-1", Some(&context), "Do it");
        let ask = killed.message(AIRLINE, "user-1").delegation(&tokens.access).json(&sent);
        let (lost, ()) = tokio::join!(ask.attempt(), async {
            world.backend.seen_at_least(2).await;
            // The agent's answer arrives, and cannot be stored.
            let kill = async || {
                world.backend.answered_at_least(2).await;
                process.kill();
            };
            db.locked("turn", kill).await;
        });
        assert!(lost.is_err());
        let turn = "SELECT state, reply FROM turn WHERE message_id = 'm-1'";
        assert_eq!(db.rows(turn).await, ["state=running reply=NULL"]);
        assert_eq!(db.count("SELECT * FROM receipt WHERE message_id = 'm-1'").await, 0);

        let send = async |node: &World| node.send(AIRLINE, "user-1", token, "m-1", Some(&context), "Do it").await;
        send(&world).await.assert_a2a_error("INVALID_PARAMS");
        // To a second after the lease of 2 and 5 seconds, which the other clock began.
        world.clock.advance(Clock::system().now().since(world.clock.now()) + Duration::from_secs(8));
        let reply = send(&world).await;
        assert_eq!(reply.json()["message"]["parts"], json!([{ "text": "Done." }]), "{}", reply.text());
        let restarted = Process::start(&db).await;
        for node in [&world, &world.through(restarted.public)] {
            assert_eq!(send(node).await.text(), reply.text());
        }
        assert_eq!(db.count("SELECT * FROM receipt WHERE message_id = 'm-1'").await, 1);
        let turns = world.backend.seen();
        let keys: Vec<_> = turns.iter().map(|turn| turn.header("idempotency-key").unwrap()).collect();
        let key = format!("{context}/m-1");
        assert_eq!(keys, [format!("{context}/m-0"), key.clone(), key]);
        world.stop().await;
    }

    // case 84
    async fn what_was_answered_before_the_kill_is_there_after_it_and_nothing_is_issued_twice(db: Database) {
        let world = World::start_at(&db, Clock::system().now()).await;
        let mut process = Process::start(&db).await;
        let node = world.through(process.public);
        world.backend.answer_with(with_receipt("Hello."));
        let all = RefCell::new(Vec::new());
        let load = join_all((0..8).map(|one| {
            let (node, all) = (&node, &all);
            async move {
                for turn in 0.. {
                    live(node, &format!("user-{one}-{turn}"), all).await;
                }
            }
        }));
        let enough = async {
            while all.borrow().iter().filter(|answered| answered.revoked.1).count() < 10 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            process.kill();
        };
        // What is under way when it dies is given up.
        tokio::select! {
            _ = load => unreachable!("the load never ends"),
            () = enough => {}
        }

        let restarted = Process::start(&db).await;
        let node = world.through(restarted.public);
        let receipts = db.rows("SELECT jws FROM receipt").await;
        for Answered { sub, tokens, reply, revoked } in all.take() {
            let Some((codes, tokens)) = tokens else { continue };
            assert_eq!(node.poll(AIRLINE, &sub, &codes.device_code).await.oauth_error(), "invalid_grant");
            if let Some((context, reply)) = &reply {
                let jws = serde_json::from_str::<serde_json::Value>(reply).unwrap();
                let jws = jws["message"]["metadata"]["pact.receipt"]["jws"].as_str().unwrap().to_owned();
                assert!(receipts.contains(&format!("jws={jws}")), "{sub}: a receipt is lost");
                if !revoked.0 {
                    let again = node.send(AIRLINE, &sub, Some(&tokens.access), "m-1", Some(context), "Hello").await;
                    assert_eq!(again.text(), *reply);
                }
            }
            match revoked {
                (false, _) => drop(Tokens::of(&node.refresh(AIRLINE, &sub, &tokens.refresh).await)),
                (true, true) => {
                    assert_eq!(node.refresh(AIRLINE, &sub, &tokens.refresh).await.oauth_error(), "invalid_grant");
                    node.send(AIRLINE, &sub, Some(&tokens.access), "m-2", None, "Hello").await.assert_invalid_token();
                }
                (true, false) => {}
            }
        }
        let redeemed = db.count("SELECT id FROM device_authorization WHERE state = 'redeemed'").await;
        assert_eq!(db.count("SELECT id FROM refresh_family").await, redeemed);
        world.stop().await;
    }
}
