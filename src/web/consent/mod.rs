//! The pages of the consent URL (PACT §5.3): the Brand's login comes back, the User decides.

mod decision;
mod guard;
mod open;
mod render;

pub use decision::{decide, show_decided};
pub use open::{show, sign_in};
