//! Keys that were good before their server went bad: they stay in use for an hour, and no longer.

use futures_util::future::join_all;

use super::{Door, Stage};
use crate::support::database::on_both_databases;
use crate::support::origin::{KEYS, Reply};

on_both_databases! {
    // case 14: the old set stays in use
    async fn keys_stay_in_use_for_an_hour_while_their_server_misbehaves(db: Database) {
        let stage = Stage::new(&db).await;
        let doors = [Door::Keys, Door::Login];
        let host = |door: Door| format!("p{}.example", door as usize);
        let servers = doors.map(|door| stage.honest(door, &host(door)));
        let knock = async || {
            let mut visits = Vec::new();
            for door in doors {
                visits.push(stage.visit(door, &format!("https://{}{KEYS}", host(door))).await);
            }
            join_all(visits.iter().map(|visit| stage.knock(visit))).await
        };
        assert_eq!(knock().await, [true, true]);
        let fetched = stage.node.clock.now();
        stage.node.advance(600);
        let elsewhere = stage.honest(Door::Keys, "p9.example");
        let misbehaviours = [
            ("ten megabytes", Reply::of("200 OK", "application/json", &vec![b' '; 10 << 20])),
            ("a byte now and then", Reply::Drip(Reply::head())),
            ("no end", Reply::Endless(Reply::head())),
            ("another host", Reply::redirect("301", &format!("https://p9.example{KEYS}"))),
            ("a page", Reply::html()),
            ("{}", Reply::json("{}")),
            ("no array", Reply::json("{\"keys\":{}}")),
            ("two arrays", Reply::json("{\"keys\":[],\"keys\":[]}")),
            ("an error", Reply::of("503 X", "application/json", b"{\"keys\":[]}")),
            ("nothing", Reply::Whole(Vec::new())),
        ];
        let before = servers.each_ref().map(|server| server.asked(KEYS));
        for (n, (what, reply)) in misbehaviours.into_iter().enumerate() {
            servers.iter().for_each(|server| server.reply(KEYS, reply.clone()));
            stage.node.advance(11);
            assert_eq!(knock().await, [true, true], "{what}");
            let asked = servers.each_ref().map(|server| server.asked(KEYS));
            assert_eq!(asked, before.map(|asked| asked + n + 1), "{what}: it was asked");
        }
        assert_eq!(elsewhere.connections(), 0);
        // Getting ready for both doors takes two seconds.
        stage.node.advance(3599 - 2 - stage.node.clock.now().since(fetched).as_secs());
        assert_eq!(knock().await, [true, true], "not an hour yet");
        stage.node.advance(11);
        assert_eq!(knock().await, [false, false], "an hour is over");
        for (door, server) in doors.into_iter().zip(&servers) {
            server.reply(KEYS, Reply::json(stage.good_answer(door, "")));
        }
        stage.node.advance(11);
        assert_eq!(knock().await, [true, true], "good again");
        stage.stop().await;
    }
}
