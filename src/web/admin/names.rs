//! What things are called, for those who read: Brands and personal agents by their names where they are known.

use crate::app::App;
use crate::domain::administrator::Access;
use crate::domain::id::{BrandId, Issuer};

/// The name of a Brand; its id once it was removed.
pub(super) fn brand_name(app: &App, id: &BrandId) -> String {
    let directory = app.directory.current();
    directory.brand(id).map_or_else(|| id.to_string(), |hosted| hosted.brand.name.clone())
}

/// The name of a personal agent; its issuer where there is none.
pub(super) fn personal_agent_name(app: &App, issuer: &Issuer) -> String {
    let directory = app.directory.current();
    directory.personal_agent(issuer).map_or_else(|| issuer.to_string(), |agent| agent.name.clone())
}

/// The Brands within reach as choices of a field: ids and names, by name.
pub(super) fn brands(app: &App, access: &Access) -> Vec<(String, String)> {
    let directory = app.directory.current();
    let within = directory.brands().filter(|hosted| access.reach.covers(&hosted.brand.id));
    let mut brands: Vec<_> = within.map(|hosted| (hosted.brand.id.to_string(), hosted.brand.name.clone())).collect();
    brands.sort_by(|one, other| (&one.1, &one.0).cmp(&(&other.1, &other.0)));
    brands
}
