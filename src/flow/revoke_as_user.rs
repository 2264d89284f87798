//! The User takes back what they allowed, on their own list of grants. It ends at once, on every node.

use serde_json::json;

use super::grants_view::{GrantsView, Viewer, Wanted, view};
use super::{Fault, entry};
use crate::app::App;
use crate::clock::Timestamp;
use crate::crypto::codes;
use crate::directory::HostedBrand;
use crate::domain::audit::{Action, Actor, RequestId};
use crate::domain::grant::GrantState;
use crate::domain::id::{GrantId, Issuer};
use crate::store::GrantsPage;

/// A revocation as a browser posts it.
#[derive(Debug)]
pub struct PostedRevocation<'a> {
    /// The page's hidden field.
    pub session: &'a str,
    /// Which of the grants on it.
    pub grant: &'a GrantId,
    /// What the browser says of languages.
    pub accept_language: Option<&'a str>,
    /// During which request.
    pub request: &'a RequestId,
}

/// What the browser gets.
#[derive(Debug)]
pub enum RevokedByUser {
    /// The grant allows nothing any more, since `at`: ended just now, or before.
    Ended {
        /// The list without it.
        view: Box<GrantsView>,
        /// Whose grant it was.
        client: Issuer,
        /// Since when.
        at: Timestamp,
    },
    /// The grant changed since the page was made. Nothing was revoked; here is the list anew.
    Changed(Box<GrantsView>),
    /// There is no such page.
    PageNotUsable,
    /// The grant does not stand on it.
    NotShown,
}

/// Ends a grant that stands on a page.
///
/// # Errors
/// [`Fault`]; nothing is revoked.
pub async fn revoke_as_user(
    app: &App,
    hosted: &HostedBrand,
    posted: &PostedRevocation<'_>,
) -> Result<RevokedByUser, Fault> {
    let now = app.clock.now();
    let page = app.store.grants_page(&hosted.brand.id, codes::digest(posted.session)).await?;
    let Some(page) = page.filter(|page| now < page.expires_at) else { return Ok(RevokedByUser::PageNotUsable) };
    let Some((id, version)) = page.shown.iter().find(|(id, _)| id == posted.grant) else {
        return Ok(RevokedByUser::NotShown);
    };
    let actor = Actor::User(page.brand_user.to_string());
    let entry = entry(&page.brand, now, actor, Action::GrantEnded, id, posted.request, json!({}));
    let live = app.store.grant(id).await?.is_some_and(|grant| grant.is_live(now));
    let ended = live && app.store.end_grant_as_shown(id, *version, &entry).await?;
    let grant = app.store.grant(id).await?.ok_or(Fault::Impossible("a grant that was shown is not there"))?;
    let view = Box::new(anew(app, hosted, &page, posted.accept_language, now).await?);
    app.store.open_grants_page(view.digest(), &view.page).await?;
    Ok(match grant.state {
        GrantState::Ended { at, .. } => RevokedByUser::Ended { view, client: grant.caller.issuer, at },
        GrantState::Live if now >= grant.expires_at => {
            RevokedByUser::Ended { view, client: grant.caller.issuer, at: grant.expires_at }
        }
        GrantState::Live if ended => return Err(Fault::Impossible("a grant that ended is live")),
        GrantState::Live => RevokedByUser::Changed(view),
    })
}

/// The list as it is now, for the same person.
async fn anew(
    app: &App,
    hosted: &HostedBrand,
    page: &GrantsPage,
    accept_language: Option<&str>,
    now: Timestamp,
) -> Result<GrantsView, Fault> {
    let viewer = Viewer { brand_user: &page.brand_user, sign_in: &page.sign_in, accept_language };
    view(app, hosted, &viewer, &Wanted::All, now).await
}
