//! What was decided on a consent page, for the browser that decided: the end of a flow at a Brand without a `return_url`.

use super::Fault;
use crate::app::App;
use crate::clock::Timestamp;
use crate::crypto::codes;
use crate::directory::HostedBrand;
use crate::domain::device::DeviceState;
use crate::domain::grant::{EndedBy, GrantState};
use crate::domain::id::Issuer;
use crate::domain::scope::ScopeSet;
use crate::store::ConsentPage;

/// What the browser gets.
#[derive(Debug)]
pub enum ShownDecision {
    /// It was allowed.
    Approved {
        /// The personal agent that asked.
        client: Issuer,
        /// What was allowed.
        granted: ScopeSet,
        /// When the grant ends.
        lasts_until: Timestamp,
    },
    /// It was not allowed.
    Denied {
        /// The personal agent that asked.
        client: Issuer,
        /// Whether the grant that was shown ended by it.
        ended: bool,
    },
    /// Nothing was decided yet or it has ended since, or there is no such page any more.
    NotThere,
}

/// Shows the decision on the page whose `session` this is. Changes nothing.
///
/// # Errors
/// [`Fault`].
pub async fn show_decision(app: &App, hosted: &HostedBrand, session: &str) -> Result<ShownDecision, Fault> {
    let Some(page) = app.store.consent_page(&hosted.brand.id, codes::digest(session)).await? else {
        return Ok(ShownDecision::NotThere);
    };
    let now = app.clock.now();
    if now >= page.expires_at {
        return Ok(ShownDecision::NotThere);
    }
    let Some(device) = app.store.device(page.device).await? else { return Ok(ShownDecision::NotThere) };
    let client = device.caller.issuer.clone();
    Ok(match device.state {
        DeviceState::Pending => ShownDecision::NotThere,
        DeviceState::Approved { grant, granted, .. } | DeviceState::Redeemed { grant, granted, .. } => {
            match app.store.grant(&grant).await? {
                Some(grant) if grant.is_live(now) && grant.brand_user == page.brand_user => {
                    ShownDecision::Approved { client, granted, lasts_until: grant.expires_at }
                }
                Some(_) | None => ShownDecision::NotThere,
            }
        }
        DeviceState::Denied { at } => ShownDecision::Denied { client, ended: ended_with(app, &page, at).await? },
    })
}

/// Whether the grant on the page was ended by the User at that instant.
async fn ended_with(app: &App, page: &ConsentPage, at: Timestamp) -> Result<bool, Fault> {
    let Some((id, _)) = &page.grant else { return Ok(false) };
    let grant = app.store.grant(id).await?;
    Ok(grant.is_some_and(|grant| grant.state == GrantState::Ended { at, by: EndedBy::User }))
}
