//! What somebody means who types one thing: a personal agent, a grant or a User, within their reach.

use super::By;
use crate::app::App;
use crate::domain::id::{BrandUser, GrantId, Issuer};
use crate::domain::page::{Direction, Paging};
use crate::domain::personal_agent::PersonalAgent;
use crate::flow::Fault;
use crate::store::{GrantCount, GrantFilter, PersonalAgentFilter, PersonalAgentSort};

/// At most so many personal agents are found.
const MOST: u16 = 20;

/// Something that was found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Hit {
    /// The grant of this id.
    Grant(GrantId),
    /// The personal agent of this issuer, or one whose name or issuer begins so.
    PersonalAgent(PersonalAgent),
    /// The User of this id, with how many grants of how many Brands.
    User(BrandUser, GrantCount),
}

/// Everything that `text` may mean. A personal agent's whole issuer means that one and none whose issuer begins so.
///
/// # Errors
/// [`Fault`].
pub async fn search(app: &App, by: &By, text: &str) -> Result<Vec<Hit>, Fault> {
    let (text, now) = (text.trim(), app.clock.now());
    let mut hits = Vec::new();
    if let Ok(id) = GrantId::parse(text)
        && let Some(grant) = app.store.grant(&id).await?
        && by.access.read(Some(&grant.brand)).is_ok()
    {
        hits.push(Hit::Grant(id));
    }
    if !text.is_empty() && by.access.read(None).is_ok() {
        let exact = match Issuer::parse(text) {
            Ok(issuer) => app.store.personal_agent(&issuer, now).await?,
            Err(_) => None,
        };
        let agents = match exact {
            Some(agent) => vec![agent],
            None => {
                let Ok(first) = Paging::new(PersonalAgentSort::Name, Direction::Ascending, MOST, None) else {
                    return Err(Fault::Impossible("a page of a few rows"));
                };
                let filter = PersonalAgentFilter { search: Some(text.to_owned()), enabled: None };
                app.store.personal_agents(&filter, &first, now).await?.items
            }
        };
        hits.extend(agents.into_iter().map(|record| Hit::PersonalAgent(record.agent)));
    }
    if let Ok(user) = BrandUser::parse(text) {
        let filter = GrantFilter { brand_user: Some(user.clone()), ..GrantFilter::default() };
        let count = app.store.count_grants(&filter, &by.access.reach, now).await?;
        if count.grants > 0 {
            hits.push(Hit::User(user, count));
        }
    }
    Ok(hits)
}
