//! Keys: rotated, retired and given up, each after a page that says what follows.

use assent::crypto::jwks::KeySet;
use assent::domain::administrator::Access;
use assent::outbound::Method;

use super::{contents, key_of, who_did};
use crate::support::console::Browser;
use crate::support::database::on_both_databases;
use crate::support::world::{SHOP, World};

async fn jwks(world: &World) -> String {
    let answer = world.at_issuer(Method::GET, SHOP, "/jwks.json").send().await;
    assert!(KeySet::parse(&answer.0.body).is_ok());
    answer.text()
}

/// The first word behind "State" on a key's page.
async fn state(anna: &Browser<'_>, key: &str) -> String {
    let html = anna.page(&format!("/keys/{key}")).await;
    let (_, rest) = html.split_once("<dt>State</dt><dd><bdi>").unwrap_or_else(|| panic!("{html}"));
    rest.split('<').next().unwrap().to_owned()
}

on_both_databases! {
    async fn a_key_is_shown_with_its_public_half_and_what_it_is_good_for(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        let key = key_of(&world, SHOP).await;
        let html = anna.page(&format!("/keys/{key}")).await;
        for shown in [&key, "Example Shop", "ES256", "signing", "&#34;kty&#34;: &#34;EC&#34;", "/retire\"", "/compromise\""] {
            assert!(html.contains(shown), "{shown}: {html}");
        }
        assert!(!html.contains("&#34;d&#34;"), "the private half stays here");
        world.stop().await;
    }

    async fn a_new_key_signs_after_a_day_or_at_once_as_is_chosen(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        let (path, first) = (format!("/brands/{SHOP}/rotate"), key_of(&world, SHOP).await);
        let html = anna.page(&path).await;
        assert!(html.contains("stay good") && html.contains("24 hours") && html.contains("five minutes"), "{html}");
        let before = contents(&db).await;
        for pairs in [&[][..], &[("when", "never")]] {
            assert_eq!(anna.sent(&path, pairs).await.status(), 422);
        }
        assert_eq!(contents(&db).await, before);
        let made = anna.sent(&path, &[("when", "later")]).await;
        assert!(made.status() == 200 && made.text().contains("A new key is made"), "{}", made.text());
        let second = key_of(&world, SHOP).await;
        assert_ne!(second, first);
        assert_eq!(who_did(&world, "key_created").await, ("anna".to_owned(), second.clone()));
        assert_eq!((state(&anna, &first).await.as_str(), state(&anna, &second).await.as_str()), ("signing", "next"));
        let again = anna.sent(&path, &[("when", "later")]).await;
        assert!(again.text().contains("A rotation is under way") && again.text().contains("Nothing was done"));
        let sooner = anna.sent(&path, &[("when", "now")]).await;
        assert!(sooner.text().contains("The next key starts sooner"), "{}", sooner.text());
        world.advance(4);
        assert_eq!((state(&anna, &first).await.as_str(), state(&anna, &second).await.as_str()), ("retired", "signing"));
        assert!(jwks(&world).await.contains(&first));
        world.stop().await;
    }

    async fn the_last_key_leaves_only_when_another_takes_its_place(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        let key = key_of(&world, SHOP).await;
        let path = format!("/keys/{key}/retire");
        let html = anna.page(&path).await;
        assert!(html.contains("name=\"replace\"") && html.contains("receipts that it signed stay good"), "{html}");
        let before = contents(&db).await;
        let refused = anna.sent(&path, &[]).await;
        assert!(refused.status() == 409 && refused.text().contains("no key that signs"), "{}", refused.text());
        assert_eq!(contents(&db).await, before);
        let retired = anna.sent(&path, &[("replace", "yes")]).await;
        assert!(retired.status() == 200 && retired.text().contains("Signs in its place"), "{}", retired.text());
        assert_eq!(who_did(&world, "key_retired").await, ("anna".to_owned(), key.clone()));
        world.advance(4);
        assert_eq!(state(&anna, &key).await, "retired");
        let again = anna.sent(&path, &[]).await;
        assert!(again.status() == 409 && again.text().contains("has left already"), "{}", again.text());
        world.stop().await;
    }

    async fn a_key_is_given_up_when_its_id_is_typed_and_what_it_signed_is_refused(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        let tokens = world.tokens(SHOP, "user-1", "jane", &["orders:read"]).await;
        let key = key_of(&world, SHOP).await;
        let path = format!("/keys/{key}/compromise");
        let html = anna.page(&path).await;
        assert!(html.contains("Every receipt that it signed") && html.contains("Every delegation token"), "{html}");
        let before = contents(&db).await;
        for typed in ["", "yes", &key[1..]] {
            let answer = anna.sent(&path, &[("typed", typed), ("replace", "yes")]).await;
            assert!(answer.status() == 422 && answer.text().contains("not the key&#39;s id"), "{}", answer.text());
        }
        assert_eq!(contents(&db).await, before);
        let done = anna.sent(&path, &[("typed", &key), ("replace", "yes")]).await;
        assert!(done.status() == 200 && done.text().contains("The key is given up"), "{}", done.text());
        assert_eq!(who_did(&world, "key_compromised").await, ("anna".to_owned(), key.clone()));
        assert!(!jwks(&world).await.contains(&key));
        let reply = world.send(SHOP, "user-1", Some(&tokens.access), "m-1", None, "Hello").await;
        reply.assert_invalid_token();
        assert_eq!(state(&anna, &key).await, "compromised");
        world.stop().await;
    }
}
