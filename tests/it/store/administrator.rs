//! Administrators: changes name the version they saw, the last owner stays, and a code opens one session.

use std::sync::LazyLock;

use assent::domain::account::{Administrator, AdministratorSession, Stage};
use assent::domain::administrator::{Access, Reach, Role};
use assent::domain::audit::{Action, Actor, Entry, RequestId};
use assent::domain::id::AdministratorName;
use assent::secret::Secret;
use assent::store::{AccountChange, ChangeAccount, ChangedAccount, OpenSession};
use futures_util::future::{join, join_all};

use crate::support::build::{NOW, after, entry};
use crate::support::database::{Database, on_both_databases};

fn of_provider(action: Action) -> Entry {
    Entry { brand: None, actor: Actor::Administrator("root".to_owned()), ..entry(action) }
}

fn account(name: &str, access: Access) -> Administrator {
    Administrator {
        name: AdministratorName::parse(name).unwrap(),
        password_hash: Secret::new("$argon2id$".to_owned()),
        access,
        sealed_totp: None,
        totp_step: None,
        version: 1,
        created_at: NOW,
        changed_at: NOW,
        logged_in_at: None,
        disabled_at: None,
    }
}

async fn with_owner(db: &Database, name: &str) -> Administrator {
    let account = account(name, Access::EVERYTHING);
    assert!(db.create_administrator(&account, &of_provider(Action::AdministratorCreated)).await.unwrap());
    account
}

async fn change(db: &Database, account: &Administrator, version: i64, change: &AccountChange) -> ChangedAccount {
    let entry = of_provider(Action::AdministratorChanged);
    let asked = ChangeAccount { name: &account.name, version, change, renews: None, entry: &entry };
    db.change_account(&asked).await.unwrap()
}

/// During which request everything is here.
fn request() -> &'static RequestId {
    static REQUEST: LazyLock<RequestId> = LazyLock::new(|| RequestId("request-1".to_owned()));
    &REQUEST
}

fn session(account: &Administrator, stage: Stage) -> AdministratorSession {
    let administrator = account.name.clone();
    AdministratorSession { administrator, stage, created_at: NOW, last_seen_at: NOW, expires_at: after(3600) }
}

async fn owners(db: &Database) -> usize {
    db.count("SELECT name FROM administrator WHERE role = 'owner' AND reach = '*' AND disabled_at IS NULL").await
}

on_both_databases! {
    // case 77
    async fn two_owners_who_remove_disable_or_demote_each_other_at_once_leave_one(db: Database) {
        let demote = AccountChange::Access(Access { role: Role::Auditor, reach: Reach::All });
        for (round, taken) in [AccountChange::Remove, AccountChange::Disable, demote].iter().enumerate() {
            let names = ["a", "b"].map(|letter| format!("{letter}{round}"));
            let [one, other] = [with_owner(&db, &names[0]).await, with_owner(&db, &names[1]).await];
            let (first, second) = join(change(&db, &one, 1, taken), change(&db, &other, 1, taken)).await;
            let mut both = [first, second];
            both.sort_by_key(|changed| *changed == ChangedAccount::LastOwner);
            assert_eq!(both, [ChangedAccount::Done, ChangedAccount::LastOwner], "{taken:?}");
            assert_eq!(owners(&db).await, 1);
            // The next round begins with none.
            db.statement("DELETE FROM administrator").await.unwrap();
        }
        assert_eq!(db.count("SELECT action FROM audit WHERE action = 'administrator_changed'").await, 3);
    }

    async fn a_change_of_another_version_than_it_saw_does_nothing(db: Database) {
        let account = with_owner(&db, "anna").await;
        let before = db.contents().await;
        for it in [
            AccountChange::Remove,
            AccountChange::Disable,
            AccountChange::Password(Secret::new("x".to_owned())),
            AccountChange::SecondFactor("x".to_owned(), 1),
            AccountChange::NoSecondFactor,
            AccountChange::Access(account.access.clone()),
        ] {
            assert_eq!(change(&db, &account, 2, &it).await, ChangedAccount::Stale, "{it:?}");
        }
        let nobody = super::administrator::account("nobody", Access::EVERYTHING);
        assert_eq!(change(&db, &nobody, 1, &AccountChange::Remove).await, ChangedAccount::Stale);
        assert!(!db.create_administrator(&account, &of_provider(Action::AdministratorCreated)).await.unwrap());
        assert_eq!(db.contents().await, before);
    }

    async fn fifty_changes_of_one_version_at_once_are_one(db: Database) {
        let account = with_owner(&db, "anna").await;
        let to = AccountChange::Password(Secret::new("another".to_owned()));
        let changed = join_all((0..50).map(|_| change(&db, &account, 1, &to))).await;
        assert_eq!(changed.iter().filter(|changed| **changed == ChangedAccount::Done).count(), 1);
        assert_eq!(changed.iter().filter(|changed| **changed == ChangedAccount::Stale).count(), 49);
        assert_eq!(db.administrator(&account.name).await.unwrap().unwrap().version, 2);
    }

    async fn of_fifty_log_ins_with_one_code_one_opens_a_session(db: Database) {
        let account = with_owner(&db, "anna").await;
        let sealed = AccountChange::SecondFactor("sealed".to_owned(), 100);
        assert_eq!(change(&db, &account, 1, &sealed).await, ChangedAccount::Done);
        let (half, whole) = (session(&account, Stage::SecondFactor), session(&account, Stage::Live));
        let entry = of_provider(Action::LoggedIn);
        let mut openings = Vec::new();
        for _ in 0..50 {
            let pending = db.build.digest();
            let first = OpenSession {
                digest: pending, session: &half, version: 2, step: None, pending: None, replaces: None, request: request(), entry: None,
            };
            assert!(db.open_session(&first).await.unwrap());
            openings.push(OpenSession {
                digest: db.build.digest(), session: &whole, version: 2, step: Some(101), pending: Some(pending),
                replaces: Some(pending), request: request(), entry: Some(&entry),
            });
        }
        let opened = join_all(openings.iter().map(|opening| db.open_session(opening))).await;
        assert_eq!(opened.into_iter().filter(|opened| *opened.as_ref().unwrap()).count(), 1);
        assert_eq!(db.count("SELECT digest FROM administrator_session WHERE stage = 'live'").await, 1);
        assert_eq!(db.administrator(&account.name).await.unwrap().unwrap().totp_step, Some(101));
        assert_eq!(db.audit_actions("subject-1").await.unwrap().iter().filter(|action| *action == "logged_in").count(), 1);
    }

    async fn half_a_log_in_is_finished_once(db: Database) {
        let account = with_owner(&db, "anna").await;
        let (half, whole) = (session(&account, Stage::SecondFactor), session(&account, Stage::Live));
        let pending = db.build.digest();
        let first = OpenSession {
            digest: pending, session: &half, version: 1, step: None, pending: None, replaces: None, request: request(), entry: None,
        };
        assert!(db.open_session(&first).await.unwrap());
        let openings: Vec<_> = (0..20)
            .map(|_| OpenSession { digest: db.build.digest(), session: &whole, pending: Some(pending), ..first.clone() })
            .collect();
        let opened = join_all(openings.iter().map(|opening| db.open_session(opening))).await;
        assert_eq!(opened.into_iter().filter(|opened| *opened.as_ref().unwrap()).count(), 1);
        assert_eq!(db.count("SELECT digest FROM administrator_session").await, 1);
    }

    async fn a_log_in_beside_another_password_is_not_left_over(db: Database) {
        for round in 0..10 {
            let account = with_owner(&db, &format!("anna{round}")).await;
            let (live, entry) = (session(&account, Stage::Live), of_provider(Action::LoggedIn));
            let opening = OpenSession {
                digest: db.build.digest(), session: &live, version: 1, step: None, pending: None, replaces: None, request: request(),
                entry: Some(&entry),
            };
            let to = AccountChange::Password(Secret::new("another".to_owned()));
            let (_, changed) = join(db.open_session(&opening), change(&db, &account, 1, &to)).await;
            assert_eq!(changed, ChangedAccount::Done);
            assert_eq!(db.count("SELECT digest FROM administrator_session").await, 0, "{round}");
        }
    }

    async fn a_disabled_account_opens_nothing_and_a_removed_one_leaves_no_session(db: Database) {
        let (anna, bert) = (with_owner(&db, "anna").await, with_owner(&db, "bert").await);
        let live = [session(&anna, Stage::Live), session(&bert, Stage::Live)];
        for session in &live {
            let opening = OpenSession {
                digest: db.build.digest(), session, version: 1, step: None, pending: None, replaces: None, request: request(), entry: None,
            };
            assert!(db.open_session(&opening).await.unwrap());
        }
        assert_eq!(change(&db, &bert, 1, &AccountChange::Disable).await, ChangedAccount::Done);
        let opening = OpenSession {
            digest: db.build.digest(), session: &live[1], version: 2, step: None, pending: None, replaces: None, request: request(), entry: None,
        };
        assert!(!db.open_session(&opening).await.unwrap());
        assert_eq!(change(&db, &bert, 2, &AccountChange::Remove).await, ChangedAccount::Done);
        assert_eq!(db.rows("SELECT administrator FROM administrator_session").await, ["administrator=anna"]);
    }
}
