//! Forms of the console: taken only from a page of the same session.

use std::fs;
use std::path::Path;

use assent::domain::administrator::Access;
use assent::outbound::Method;

use crate::support::console::{Browser, hidden};
use crate::support::database::on_both_databases;
use crate::support::world::World;

/// The paths of every form of the console, as the table of routes has them: a new one cannot be forgotten here.
fn forms() -> Vec<String> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/web/routes.rs");
    let source = fs::read_to_string(source).unwrap();
    let rows =
        source.split("Row::at(\"").skip(1).filter(|row| row.split("Row::at").next().unwrap().contains(".post(admin::"));
    let paths: Vec<String> = rows.map(|row| row.split('"').next().unwrap().to_owned()).collect();
    assert!(paths.contains(&"/log-out".to_owned()) && paths.contains(&"/log-in".to_owned()), "{paths:?}");
    // Whatever a path names, it is never looked for.
    paths.into_iter().map(|path| path.replace(['{', '}'], "")).collect()
}

/// Sends `body` as a page of this listener would, with other headers in their place.
async fn send(browser: &Browser<'_>, path: &str, headers: &[(&str, &str)], kind: &str, body: &str) -> u16 {
    let ask = browser.ask(Method::POST, path).body(kind, body.to_owned());
    let ask = headers.iter().fold(ask, |ask, (name, value)| ask.header(name, value));
    let answer = browser.send(ask).await;
    assert!(answer.text().contains("Nothing was done"), "{path}: {}", answer.text());
    answer.status()
}

const FORM: &str = "application/x-www-form-urlencoded";

on_both_databases! {
    // case 76
    async fn a_form_from_another_site_without_its_token_or_sent_as_text_does_nothing(db: Database) {
        // So that no limit answers in the place of what is looked at.
        let world = World::with(&db, "[limits]\npage_per_second = 10000\npage_burst = 100000\n").await;
        world.administrator("anna", Access::EVERYTHING).await;
        world.administrator("bert", Access::EVERYTHING).await;
        let (anna, bert) = (world.logged_in("anna").await, world.logged_in("bert").await);
        let token_of = async |browser: &Browser<'_>| hidden(&browser.get("/account").await.text(), "form_token");
        let (token, berts) = (token_of(&anna).await, token_of(&bert).await);
        let own = format!("http://{}", world.admin());
        // When a session was used last is kept with it.
        let before = db.contents_but(&["administrator_session"]).await;
        for path in forms() {
            // What is right about it is right, so that each refusal hangs on one thing alone.
            let good = format!("form_token={token}&password=x&name=anna&code=1");
            for headers in [
                &[("origin", "https://evil.example")][..],
                &[("origin", "null")],
                &[("origin", "http://127.0.0.1:1")],
                &[("origin", own.as_str()), ("sec-fetch-site", "cross-site")],
                &[("origin", own.as_str()), ("sec-fetch-site", "same-site")],
                &[("sec-fetch-site", "cross-site")],
                &[("sec-fetch-site", "none")],
            ] {
                assert_eq!(send(&anna, &path, headers, FORM, &good).await, 403, "{path} {headers:?}");
            }
            let origin = [("origin", own.as_str())];
            for wrong in ["", "x", &berts, &anna.cookie("assent-admin").unwrap()] {
                let body = format!("form_token={wrong}&password=x&name=anna&code=1");
                assert_eq!(send(&anna, &path, &origin, FORM, &body).await, 403, "{path} {wrong}");
            }
            assert_eq!(send(&anna, &path, &origin, FORM, "password=x").await, 403, "{path}");
            let json = format!("{{\"form_token\":\"{token}\",\"password\":\"x\"}}");
            for kind in ["text/plain", "application/json", "text/plain;charset=utf-8", "multipart/form-data; boundary=b"] {
                for body in [&json, &good] {
                    assert_eq!(send(&anna, &path, &origin, kind, body).await, 403, "{path} {kind}");
                }
            }
            // Nobody's browser, with a token that was somebody's.
            assert_eq!(send(&world.browser(), &path, &origin, FORM, &good).await, 403, "{path}");
        }
        assert_eq!(db.contents_but(&["administrator_session"]).await, before);
        assert!(anna.is_in().await && bert.is_in().await);
        world.stop().await;
    }

    // case 76
    async fn a_form_is_read_strictly(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        let token = hidden(&anna.get("/account").await.text(), "form_token");
        let before = db.contents().await;
        for body in [
            format!("form_token={token}&form_token={token}"),
            format!("form_token={token}&password=%ff"),
            format!("form_token={token}&password=%00"),
        ] {
            assert_eq!(send(&anna, "/log-out", &[], FORM, &body).await, 400, "{body}");
        }
        let in_url = send(&anna, &format!("/log-out?form_token={token}"), &[], FORM, &format!("form_token={token}")).await;
        assert_eq!(in_url, 400);
        for path in forms() {
            let got = anna.send(anna.ask(Method::PUT, &path)).await;
            assert_eq!(got.status(), 405, "{path}");
        }
        assert_eq!(db.contents().await, before);
        world.stop().await;
    }
}
