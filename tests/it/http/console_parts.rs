//! The console's pages of Brands, keys, receipts, the audit log, administrators and API keys, and its first page.

mod access;
mod brands;
mod keys;
mod lists;
mod overview;
mod people;
mod records;

use assent::crypto::codes;
use assent::domain::administrator::Access;
use assent::domain::id::{BrandId, ResourceServerKeyId};
use assent::domain::page::{ByTime, Direction, Paging};
use assent::flow::admin::resource_server_keys::{self, CreatedKey};
use assent::flow::admin::{Verdict, keys as key_flow};
use assent::store::ReceiptFilter;

use crate::support::client::Answer;
use crate::support::console::{Browser, by};
use crate::support::database::Database;
use crate::support::world::{SHOP, World};

impl Browser<'_> {
    /// Sends a form as a page of this session does.
    async fn sent(&self, path: &str, pairs: &[(&str, &str)]) -> Answer {
        let token = codes::form_token(&self.cookie("assent-admin").unwrap());
        let mut all = vec![("form_token", token.as_str())];
        all.extend(pairs);
        self.post(path, &all).await
    }

    /// A page that is there.
    async fn page(&self, path: &str) -> String {
        let answer = self.get(path).await;
        assert_eq!(answer.status(), 200, "{path}: {}", answer.text());
        answer.text()
    }
}

fn brand(id: &str) -> BrandId {
    BrandId::parse(id).unwrap()
}

fn latest() -> Paging<ByTime> {
    Paging::new(ByTime, Direction::Descending, 100, None).unwrap()
}

fn done<T: std::fmt::Debug>(verdict: Verdict<T>) -> T {
    match verdict {
        Verdict::Done(done) => done,
        other => panic!("{other:?}"),
    }
}

/// The kid of the newest key of a Brand.
async fn key_of(world: &World, id: &str) -> String {
    let all = by(Access::EVERYTHING);
    done(key_flow::list(&world.app, &all, Some(&brand(id)), &latest()).await.unwrap()).items[0].id.to_string()
}

/// A resource-server key of a Brand.
async fn resource_server_key_of(world: &World, id: &str) -> ResourceServerKeyId {
    let made = resource_server_keys::create(&world.app, &by(Access::EVERYTHING), &brand(id), "account API", None).await;
    match done(made.unwrap()) {
        CreatedKey::Done { key, .. } => key.id,
        CreatedKey::Invalid(invalid) => panic!("{invalid}"),
    }
}

/// A receipt of the shop, under a grant of its own.
async fn receipt_of_shop(world: &World, user: &str) -> assent::store::ReceiptRecord {
    let tokens = world.tokens(SHOP, "user-1", user, &["orders:read"]).await;
    let message = format!("m-{user}");
    let reply = world.send(SHOP, "user-1", Some(&tokens.access), &message, None, "Where is my order?").await;
    assert_eq!(reply.status(), 200, "{}", reply.text());
    let reach = Access::EVERYTHING.reach;
    let page = world.app.store.receipt_records(&ReceiptFilter::default(), &reach, &latest()).await.unwrap();
    page.items.into_iter().find(|receipt| receipt.brand_user.as_str() == user).unwrap()
}

/// Everything that is stored but when a session was used last.
async fn contents(db: &Database) -> Vec<String> {
    db.contents_but(&["administrator_session"]).await
}

/// Who did what to what, of the latest row of this action that is not of the tests' own hand.
async fn who_did(world: &World, action: &str) -> (String, String) {
    let filter = assent::store::AuditFilter { action: Some(action.to_owned()), ..Default::default() };
    let rows = world.app.store.audit_page(&Access::EVERYTHING.reach, &filter, None, 100).await.unwrap();
    let row = rows.into_iter().find(|row| row.actor != "test" && row.actor != "somebody");
    let row = row.unwrap_or_else(|| panic!("no row of {action}"));
    (row.actor, row.subject)
}
