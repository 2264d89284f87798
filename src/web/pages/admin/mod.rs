//! The console's pages. They are for those who run a Provider, and in English alone: their words stand in their templates.

mod account;
mod api;
mod frame;
mod log_in;
mod qr;
mod second_factor;
mod trouble;

pub use account::{AccountNotice, AccountPage, Offer};
pub use api::{ApiLine, ApiPage, ApiProblem};
pub use frame::{Frame, Section};
pub use log_in::{LogInPage, WrongLogIn};
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
