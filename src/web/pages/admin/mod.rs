//! The console's pages. They are for those who run a Provider, and in English alone: their words stand in their templates.

mod account;
mod administrator;
mod administrator_form;
mod api;
mod api_key;
mod audit;
mod brand;
mod brand_form;
mod chart;
mod done;
mod form;
mod frame;
mod grant;
mod key;
mod list_samples;
mod listing;
mod log_in;
mod overview;
mod parts;
mod personal_agent;
mod qr;
mod receipt;
mod resource_server_key;
mod revoke;
mod sampled;
mod search;
mod second_factor;
mod thing;
mod trouble;

pub use account::{AccountNotice, AccountPage, Offer};
pub use administrator::{Names, administrator_page, administrators_page};
pub use administrator_form::{Deed, TypedAccess, deed_form, deed_page, made_administrator_page, new_form};
pub use api::{ApiLine, ApiPage, ApiProblem};
pub use api_key::{TypedKey, key_form, made_key_page, revoke_key_form, revoked_key_page};
pub use audit::{actor, chain_name, erase_form, erased_page, row_page, row_path, verified_page, verify_form};
pub use brand::{BrandView, brand_page};
pub use brand_form::{Preview, TEMPLATE, applied_page, definition_form, remove_form, removed_page};
pub use done::DonePage;
pub use form::{FormPage, Wrong, WrongKind};
pub use frame::{Frame, Section};
pub use grant::{Allowed, GrantPage};
pub use key::{key_dates, key_page, key_state, leave_form, left_page, rotate_form, rotated_page};
pub use listing::{
    Action, BadViewPage, Cell, Choice, Control, Fact, Field, Head, ListPage, Listing, Notice, Tone, Undone, When,
    counted, number,
};
pub use log_in::{LogInPage, WrongLogIn};
pub use overview::OverviewPage;
pub use parts::path;
pub use personal_agent::{AgentFields, PersonalAgentPage, RegisterPage};
pub use receipt::receipt_page;
pub use resource_server_key::{made_page, make_form, revoke_form, revoked_page};
pub use revoke::{RevokeAll, RevokePage, RevokedPage, so_many};
pub use search::{HitLine, SearchPage};
pub use second_factor::SecondFactorPage;
pub use thing::ThingPage;
pub use trouble::{Trouble, TroublePage};

/// Implements [`Page`](super::Page) for a page of the console: in English, of no Brand, with forms that stay here.
macro_rules! console_page {
    ($page:ty, $title:expr) => {
        impl crate::web::pages::Page for $page {
            fn language(&self) -> crate::text::Language {
                crate::text::Language::English
            }

            fn brand(&self) -> Option<&crate::web::pages::BrandLook> {
                None
            }

            fn title(&self) -> String {
                let title: fn(&$page) -> String = $title;
                title(self)
            }
        }
    };
}

use console_page;
