//! `apply` files that are refused as a whole, and a directory that cannot be read in part.

use assent::domain::id::Issuer;
use assent::flow::admin::apply::{ApplyOutcome, apply, parse};
use assent::flow::admin::{Run, Verdict};

use crate::support::database::on_both_databases;
use crate::support::world::{CLUB, PLAIN, Party, SHOP, World, brand_table, owner, personal_agent_table};

on_both_databases! {
    async fn a_file_that_names_something_twice_or_keys_that_verify_nothing_changes_nothing(db: Database) {
        let world = World::start(&db).await;
        let before = db.contents().await;
        let agent = "{ builtin = \"demo\" }";
        let plain = brand_table(PLAIN, "Renamed", agent, None);
        let minted = brand_table(PLAIN, "New Brand", agent, None).replace(&format!("id = \"{PLAIN}\"\n"), "");
        let renamed = brand_table(PLAIN, "New Brand", agent, None);
        let caller = personal_agent_table("https://new.example", "New agent", &world.pa_keys.url(), true);
        let login = Party::new("https://login.example");
        let offers = brand_table(PLAIN, "Plain Store", agent, Some((&login, "")));
        let curve = "crv = \"P-256\"";
        for (file, parameter) in [
            (format!("{plain}{plain}"), "brand[1].id"),
            (format!("{minted}{minted}"), "brand[1].id"),
            (format!("{minted}{renamed}"), "brand[1].id"),
            (format!("{renamed}{minted}"), "brand[1].id"),
            (format!("{caller}{caller}"), "personal_agent[1].issuer"),
            (offers.replace(curve, "crv = \"P-999\""), "brand[0].delegation.assertion.jwks"),
            (offers.replace(curve, "crv = \"P-256\", d = \"canary\""), "brand[0].delegation.assertion.jwks"),
        ] {
            let outcome = apply(&world.app, &parse(&file).unwrap(), &owner(), Run::Real).await.unwrap();
            let Verdict::Done(ApplyOutcome::Refused(problem)) = outcome else { panic!("{parameter}: {outcome:?}") };
            assert!(problem.starts_with(parameter) && !problem.contains("canary"), "{problem}");
            assert_eq!(db.contents().await, before, "{parameter}");
        }
        world.stop().await;
    }

    async fn brands_of_one_file_may_pass_their_origins_on_to_each_other(db: Database) {
        let world = World::start(&db).await;
        let at = |id, name, origin: &str| {
            let more = format!("auth_origin = \"https://{origin}\"\n");
            brand_table(id, name, "{ builtin = \"demo\" }", Some((&world.brand_login, &more)))
        };
        let two = |shop, club| format!("{}{}", at(SHOP, "Example Shop", shop), at(CLUB, "Book Club", club));
        world.apply(&two("one.example", "two.example")).await;
        world.apply(&two("two.example", "one.example")).await;
        world.apply(&two("three.example", "two.example")).await;
        let origins = db.rows("SELECT id, auth_origin FROM brand WHERE auth_origin IS NOT NULL ORDER BY id").await;
        assert!(origins.contains(&format!("id={SHOP} auth_origin=https://three.example")), "{origins:?}");
        assert!(origins.contains(&format!("id={CLUB} auth_origin=https://two.example")), "{origins:?}");
        world.stop().await;
    }

    async fn a_key_that_cannot_be_opened_hides_no_other_change(db: Database) {
        let world = World::start(&db).await;
        db.statement("UPDATE signing_key SET sealed_private = 'x', created_at = created_at + 1").await.unwrap();
        world.set_pa_enabled(false).await;
        let directory = world.app.directory.current();
        let issuer = Issuer::parse(world.pa.issuer.as_str()).unwrap();
        assert!(!directory.personal_agent(&issuer).unwrap().enabled);
        assert_eq!(directory.brands().filter(|hosted| hosted.ring.keys().count() == 1).count(), 4, "the old keys serve");
        world.stop().await;
    }
}
