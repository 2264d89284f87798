//! A User's own list of grants in the making: what stands on it, and what the hidden field `session` of its forms will
//! stand for.

use std::time::Duration;

use super::Fault;
use crate::app::App;
use crate::clock::Timestamp;
use crate::crypto::{codes, receipt};
use crate::directory::HostedBrand;
use crate::domain::consent::SignInRecord;
use crate::domain::grant::Grant;
use crate::domain::id::{BrandUser, Digest, GrantId, ReceiptId};
use crate::domain::scope::ScopeId;
use crate::secret::Secret;
use crate::store::GrantsPage;
use crate::text::Language;

/// How long something may be revoked from a page.
const PAGE_LIFE: Duration = Duration::from_secs(600);
/// How many live grants stand on a page.
const MOST_LIVE: i64 = 50;
/// How many that have ended.
const MOST_PAST: i64 = 10;
/// How many deeds stand under each grant of the list.
const DEEDS_OF_EACH: i64 = 3;
/// How many under one that is looked at alone.
const DEEDS_OF_ONE: i64 = 50;

/// What a page shows.
#[derive(Clone, Debug)]
pub enum Wanted {
    /// All grants, each with its latest deeds.
    All,
    /// One grant with more of its deeds, from the latest on, or from those before a place in the log.
    One(GrantId, Option<(Timestamp, ReceiptId)>),
}

/// Something that was done under a grant, from its receipt.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Deed {
    /// When.
    pub at: Timestamp,
    /// The tools that the Brand's agent called.
    pub tools: Vec<String>,
    /// The scopes that it used.
    pub scopes: Vec<ScopeId>,
}

/// A grant with what was done under it.
#[derive(Clone, Debug)]
pub struct ShownGrant {
    /// As it is now.
    pub grant: Grant,
    /// The latest first.
    pub deeds: Vec<Deed>,
    /// Where older ones begin, if there are any.
    pub older: Option<(Timestamp, ReceiptId)>,
}

/// What stands on a page.
#[derive(Debug)]
pub struct GrantsView {
    /// The value of the hidden field.
    pub session: Secret<String>,
    /// What it stands for.
    pub page: GrantsPage,
    /// The grants that allow something now.
    pub live: Vec<ShownGrant>,
    /// Those that do no more: without their deeds, unless one is looked at alone.
    pub past: Vec<ShownGrant>,
    /// Whether one grant alone is shown.
    pub is_one: bool,
    /// Whether there are more live ones than are shown.
    pub has_more: bool,
    /// The page's language.
    pub language: Language,
}

impl GrantsView {
    /// The digest under which the page is kept.
    pub(super) fn digest(&self) -> Digest {
        codes::digest(self.session.expose())
    }
}

/// Who looks.
pub(super) struct Viewer<'a> {
    pub(super) brand_user: &'a BrandUser,
    pub(super) sign_in: &'a SignInRecord,
    pub(super) accept_language: Option<&'a str>,
}

/// Makes a page of `wanted` for `viewer`. A grant that is not the viewer's is not there.
pub(super) async fn view(
    app: &App,
    hosted: &HostedBrand,
    viewer: &Viewer<'_>,
    wanted: &Wanted,
    now: Timestamp,
) -> Result<GrantsView, Fault> {
    let brand = &hosted.brand.id;
    let (mut live, mut past, mut has_more) = (Vec::new(), Vec::new(), false);
    match wanted {
        Wanted::All => {
            let mut grants = app.store.live_grants_of(brand, viewer.brand_user, now, MOST_LIVE + 1).await?;
            has_more = i64::try_from(grants.len()).is_ok_and(|count| count > MOST_LIVE);
            grants.truncate(usize::try_from(MOST_LIVE).unwrap_or(usize::MAX));
            for grant in grants {
                live.push(shown(app, grant, None, DEEDS_OF_EACH).await?);
            }
            let grants = app.store.past_grants_of(brand, viewer.brand_user, now, MOST_PAST).await?;
            past.extend(grants.into_iter().map(|grant| ShownGrant { grant, deeds: Vec::new(), older: None }));
        }
        Wanted::One(id, before) => {
            let grant = app.store.grant(id).await?;
            if let Some(grant) = grant.filter(|it| it.brand == *brand && it.brand_user == *viewer.brand_user) {
                let one = shown(app, grant, *before, DEEDS_OF_ONE).await?;
                if one.grant.is_live(now) { &mut live } else { &mut past }.push(one);
            }
        }
    }
    let page = GrantsPage {
        brand: brand.clone(),
        brand_user: viewer.brand_user.clone(),
        shown: live.iter().map(|shown| (shown.grant.id.clone(), shown.grant.version)).collect(),
        sign_in: viewer.sign_in.clone(),
        created_at: now,
        expires_at: now.plus(PAGE_LIFE),
    };
    Ok(GrantsView {
        session: codes::session_token(&app.entropy),
        page,
        live,
        past,
        is_one: matches!(wanted, Wanted::One(..)),
        has_more,
        language: Language::choose(viewer.sign_in.locale.as_deref(), viewer.accept_language),
    })
}

/// `grant` with at most `most` of its deeds.
async fn shown(
    app: &App,
    grant: Grant,
    before: Option<(Timestamp, ReceiptId)>,
    most: i64,
) -> Result<ShownGrant, Fault> {
    let mut receipts = app.store.latest_receipts(&grant.id, before, most + 1).await?;
    let has_older = i64::try_from(receipts.len()).is_ok_and(|count| count > most);
    receipts.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    let older = receipts.last().filter(|_| has_older).map(|last| last.place);
    let mut deeds = Vec::new();
    for logged in receipts {
        match receipt::read_logged(&logged.jws) {
            Ok(claims) => deeds.push(Deed {
                at: claims.ts,
                tools: claims.actions.into_iter().map(|action| action.tool).collect(),
                scopes: claims.scopes_used,
            }),
            Err(refused) => tracing::error!(id = %logged.place.1, reason = refused.label(), "a receipt cannot be read"),
        }
    }
    Ok(ShownGrant { grant, deeds, older })
}
