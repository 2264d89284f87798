//! Who may do what in these pages, over every one of their forms.

use std::fs;
use std::path::Path;

use assent::domain::administrator::{Access, Role};

use super::{contents, key_of, receipt_of_shop, resource_server_key_of};
use crate::support::console::access;
use crate::support::database::on_both_databases;
use crate::support::world::{AIRLINE, SHOP, World};

/// One thing of each kind, of the shop.
struct Shop {
    grant: String,
    key: String,
    receipt: String,
    resource_server_key: String,
    api_key: String,
}

impl Shop {
    async fn set(world: &World) -> Self {
        world.administrator("root", Access::EVERYTHING).await;
        world.administrator("of-shop", access(Role::Auditor, &[SHOP])).await;
        world.api_key(access(Role::Auditor, &[SHOP])).await;
        let receipt = receipt_of_shop(world, "jane").await;
        Self {
            grant: receipt.grant.to_string(),
            key: key_of(world, SHOP).await,
            receipt: receipt.id.to_string(),
            resource_server_key: resource_server_key_of(world, SHOP).await.to_string(),
            api_key: world.app.store.api_keys().await.unwrap()[0].id.to_string(),
        }
    }

    /// The addresses of a row of the table, of things of the shop.
    fn addresses(&self, path: &str) -> Vec<String> {
        let key = match path.split('/').nth(1).unwrap() {
            "resource-server-keys" => &self.resource_server_key,
            "api-keys" => &self.api_key,
            _ => &self.key,
        };
        let deeds = ["access", "disable", "enable", "password", "second-factor", "remove"];
        let deeds = if path.contains("{deed}") { &deeds[..] } else { &[""] };
        let path = path
            .replace("{brand}", SHOP)
            .replace("{key}", key)
            .replace("{receipt}", &self.receipt)
            .replace("{grant}", &self.grant)
            .replace("{chain}", SHOP)
            .replace("{sequence}", "1")
            .replace("{name}", "of-shop");
        deeds.iter().map(|deed| path.replace("{deed}", deed)).collect()
    }

    /// What every form takes, and would do what it is there for.
    fn pairs(&self, path: &str) -> Vec<(&'static str, String)> {
        let typed = match path.split('/').nth(1).unwrap() {
            "audit" => "1".to_owned(),
            "keys" => self.key.clone(),
            "brands" => "Example Shop".to_owned(),
            _ => "of-shop".to_owned(),
        };
        let password = "another horse battery staple".to_owned();
        vec![
            ("typed", typed),
            ("when", "now".to_owned()),
            ("replace", "yes".to_owned()),
            ("name", "somebody-new".to_owned()),
            ("days", "1".to_owned()),
            ("role", "auditor".to_owned()),
            ("brand", SHOP.to_owned()),
            ("password", password.clone()),
            ("repeated_password", password),
            ("step", "do".to_owned()),
            ("definition", "[[brand]]\nname = \"x\"\n".to_owned()),
        ]
    }
}

/// The paths of the pages that are tried here, and which of them take a form.
fn rows() -> Vec<(String, bool)> {
    let source = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/web/routes.rs")).unwrap();
    let mut rows = Vec::new();
    for row in source.split("Row::at(\"").skip(1) {
        let row = row.split("Row::at").next().unwrap();
        let path = row.split('"').next().unwrap();
        let own = [
            "/brands",
            "/keys",
            "/resource-server-keys",
            "/receipts",
            "/audit",
            "/administrators",
            "/new-administrator",
            "/api-keys",
        ];
        let is_own = own.iter().any(|own| path == *own || path.starts_with(&format!("{own}/")));
        if is_own && row.contains("(admin::") {
            rows.push((path.to_owned(), row.contains(".post(admin::")));
        }
    }
    assert!(rows.iter().filter(|(_, takes_form)| *takes_form).count() >= 14, "{rows:?}");
    rows
}

on_both_databases! {
    // case 77
    async fn an_auditor_is_told_so_at_every_form_and_sees_none(db: Database) {
        let world = World::start(&db).await;
        let shop = Shop::set(&world).await;
        world.administrator("auditor", access(Role::Auditor, &[])).await;
        let auditor = world.logged_in("auditor").await;
        let before = contents(&db).await;
        for (path, takes_form) in rows() {
            for address in shop.addresses(&path) {
                world.advance(1);
                if path.ends_with(".csv") {
                    continue;
                }
                if !takes_form {
                    let html = auditor.page(&address).await;
                    let only_forms = html.matches("method=\"post\"").count();
                    assert_eq!(only_forms, 1, "the way out: {address}");
                    for deed in ["remove", "change", "rotate", "retire", "compromise", "revoke", "erase", "new", "disable"] {
                        assert!(!html.contains(&format!("/{deed}\"")), "{address} shows {deed}");
                    }
                    continue;
                }
                if path == "/audit/verify" {
                    assert_eq!(auditor.get(&address).await.status(), 200);
                    assert_eq!(auditor.sent(&address, &[]).await.status(), 200);
                    continue;
                }
                assert_eq!(auditor.get(&address).await.status(), 403, "{address}");
                let pairs = shop.pairs(&address);
                let pairs: Vec<(&str, &str)> = pairs.iter().map(|(name, value)| (*name, value.as_str())).collect();
                let answer = auditor.sent(&address, &pairs).await;
                assert_eq!(answer.status(), 403, "{address}: {}", answer.text());
                assert!(answer.text().contains("Your role does not allow this"), "{address}");
            }
        }
        assert_eq!(contents(&db).await, before);
        world.stop().await;
    }

    // case 77
    async fn what_belongs_to_another_brand_is_not_there_in_any_page_or_form(db: Database) {
        let world = World::start(&db).await;
        let shop = Shop::set(&world).await;
        world.administrator("owner", access(Role::Owner, &[AIRLINE])).await;
        world.administrator("operator", access(Role::Operator, &[AIRLINE])).await;
        let (owner, operator) = (world.logged_in("owner").await, world.logged_in("operator").await);
        let before = contents(&db).await;
        // An owner of some Brands makes people and keys for those, and sees their lists.
        let own = ["/new-administrator", "/api-keys/new", "/audit/verify"];
        for (path, takes_form) in rows() {
            if path.ends_with(".csv") {
                continue;
            }
            let is_list = ["/brands", "/keys", "/receipts", "/audit", "/administrators"].contains(&path.as_str());
            for address in shop.addresses(&path) {
                world.advance(1);
                if is_list {
                    let html = owner.page(&address).await;
                    for theirs in [SHOP, "Example Shop", &shop.key, &shop.receipt, "of-shop", &shop.api_key] {
                        assert!(!html.contains(theirs), "{address} shows {theirs}");
                    }
                    continue;
                }
                if !own.contains(&path.as_str()) {
                    assert_eq!(owner.get(&address).await.status(), 404, "{address}");
                }
                if !takes_form || path == "/audit/verify" {
                    continue;
                }
                let pairs = shop.pairs(&address);
                let pairs: Vec<(&str, &str)> = pairs.iter().map(|(name, value)| (*name, value.as_str())).collect();
                let answer = owner.sent(&address, &pairs).await;
                assert_eq!(answer.status(), 404, "{address}: {}", answer.text());
                let is_for_owners = ["administrator", "api-keys", "/erase"].iter().any(|word| address.contains(word));
                let expected = if is_for_owners { 403 } else { 404 };
                assert_eq!(operator.sent(&address, &pairs).await.status(), expected, "{address}");
            }
        }
        for address in ["/audit/provider/1", "/audit/provider/1/erase"] {
            assert_eq!(owner.get(address).await.status(), 404, "{address}");
        }
        let verified = owner.sent("/audit/verify", &[]).await.text();
        assert!(verified.contains(AIRLINE) && !verified.contains(SHOP) && !verified.contains("provider</"), "{verified}");
        assert_eq!(contents(&db).await, before);
        world.stop().await;
    }

    async fn what_is_no_id_is_not_there(db: Database) {
        let world = World::start(&db).await;
        world.administrator("anna", Access::EVERYTHING).await;
        let anna = world.logged_in("anna").await;
        for address in [
            "/brands/x", "/brands/01M3R53Q5SZQ6FQSMSDBSSREAZ", "/keys/x", "/receipts/x", "/audit/x/1", "/audit/provider/x",
            "/audit/provider/0", "/audit/provider/99999999999999999999", "/administrators/Anna", "/administrators/nobody",
            "/administrators/anna/x", "/api-keys/x/revoke", "/resource-server-keys/x/revoke", "/brands/x/change",
            "/keys/x/retire", "/audit/provider/9999/erase",
        ] {
            let answer = anna.get(address).await;
            assert_eq!(answer.status(), 404, "{address}");
            assert!(answer.text().contains("There is no such thing here"), "{address}");
        }
        world.stop().await;
    }
}
