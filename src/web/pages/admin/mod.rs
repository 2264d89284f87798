//! The console's pages. They are for those who run a Provider, and in English alone: their words stand in their templates.

mod account;
mod frame;
mod grant;
mod list_samples;
mod listing;
mod log_in;
mod personal_agent;
mod qr;
mod revoke;
mod search;
mod second_factor;
mod trouble;

pub use account::{AccountNotice, AccountPage, Offer};
pub use frame::{Frame, Section};
pub use grant::{Allowed, GrantPage};
pub use listing::{
    Action, BadViewPage, Cell, Choice, Control, Fact, Field, Head, ListPage, Listing, Notice, Tone, Undone, When,
    counted, number,
};
pub use log_in::{LogInPage, WrongLogIn};
pub use personal_agent::{AgentFields, PersonalAgentPage, RegisterPage};
pub use revoke::{RevokeAll, RevokePage, RevokedPage, so_many};
pub use search::{HitLine, SearchPage};
pub use second_factor::SecondFactorPage;
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
