//! `/account`: the administrator's own password and second factor.

use actix_web::http::StatusCode;
use actix_web::{HttpRequest, HttpResponse, web};

use super::{fault, frame, log_in};
use crate::flow::Fault;
use crate::flow::admin::account::{self as flow, ChangedOwn, Offered};
use crate::limits::Spent;
use crate::secret::Secret;
use crate::web::extract::client_address;
use crate::web::extract::csrf::{Submitted, submitted};
use crate::web::extract::session::{Viewer, viewer};
use crate::web::extract::strict_form::Form;
use crate::web::pages::admin::{AccountNotice, AccountPage, Offer, Section};
use crate::web::{app, error, html};

/// The account page.
pub async fn show_account(req: HttpRequest, _payload: web::Payload) -> HttpResponse {
    match viewer(&req).await {
        Ok(viewer) => page(&req, &viewer, None, None, viewer.caller().has_second_factor),
        Err(response) => response,
    }
}

/// Takes another password.
pub async fn change_password(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    let submitted = match submitted(&req, payload, &[]).await {
        Ok(submitted) => submitted,
        Err(response) => return response,
    };
    let (form, caller) = (submitted.form(), submitted.viewer().caller());
    let new = secret(form, "new_password");
    if new.expose() != secret(form, "repeated_password").expose() {
        let has_second_factor = caller.has_second_factor;
        return page(&req, submitted.viewer(), Some(AccountNotice::NotAlike), None, has_second_factor);
    }
    let (address, present) = (client_address::counted(&req), secret(form, "password"));
    let outcome = flow::change_password(app(&req), caller, address, &present, &new).await;
    answer(&req, &submitted, outcome, AccountNotice::PasswordChanged, caller.has_second_factor)
}

/// Takes the first code of a second factor.
pub async fn enable_second_factor(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    let submitted = match submitted(&req, payload, &[]).await {
        Ok(submitted) => submitted,
        Err(response) => return response,
    };
    let (form, caller) = (submitted.form(), submitted.viewer().caller());
    let (address, present) = (client_address::counted(&req), secret(form, "password"));
    let (sealed, code) = (form.one("offer").unwrap_or_default(), form.one("code").unwrap_or_default());
    let outcome = flow::enable_second_factor(app(&req), caller, address, &present, sealed, code).await;
    let is_on = caller.has_second_factor || matches!(outcome, Ok(ChangedOwn::Done(_)));
    answer(&req, &submitted, outcome, AccountNotice::SecondFactorOn, is_on)
}

/// Turns the second factor off.
pub async fn disable_second_factor(req: HttpRequest, payload: web::Payload) -> HttpResponse {
    let submitted = match submitted(&req, payload, &[]).await {
        Ok(submitted) => submitted,
        Err(response) => return response,
    };
    let (address, present) = (client_address::counted(&req), secret(submitted.form(), "password"));
    let caller = submitted.viewer().caller();
    let outcome = flow::disable_second_factor(app(&req), caller, address, &present).await;
    let is_on = caller.has_second_factor && !matches!(outcome, Ok(ChangedOwn::Done(_)));
    answer(&req, &submitted, outcome, AccountNotice::SecondFactorOff, is_on)
}

fn secret(form: &Form, name: &str) -> Secret<String> {
    Secret::new(form.one(name).unwrap_or_default().to_owned())
}

fn answer(
    req: &HttpRequest,
    submitted: &Submitted,
    outcome: Result<ChangedOwn, Fault>,
    done: AccountNotice,
    has_second_factor: bool,
) -> HttpResponse {
    let mut wait = None;
    let notice = match outcome {
        Ok(ChangedOwn::Done(renewed)) => {
            let viewer = submitted.viewer().renewed(&renewed.session);
            let response = page(req, &viewer, Some(done), None, has_second_factor);
            return log_in::with_browser(req, response, &renewed.session, &renewed.known);
        }
        Ok(ChangedOwn::WrongPassword) => AccountNotice::WrongPassword,
        Ok(ChangedOwn::PoorPassword(poor)) => AccountNotice::PoorPassword(poor),
        Ok(ChangedOwn::WrongCode) => AccountNotice::WrongCode,
        Ok(ChangedOwn::Stale) => AccountNotice::Stale,
        Ok(ChangedOwn::TooManyTries(Spent { retry_after })) => {
            wait = Some(retry_after);
            AccountNotice::TooManyTries
        }
        Ok(ChangedOwn::Busy(Spent { retry_after })) => {
            wait = Some(retry_after);
            AccountNotice::Busy
        }
        Err(error) => return fault(Some(submitted.viewer()), &error),
    };
    let again = submitted.form().one("offer");
    let again = again.and_then(|sealed| flow::offered_again(app(req), submitted.viewer().caller(), sealed));
    let response = page(req, submitted.viewer(), Some(notice), again, has_second_factor);
    match wait {
        Some(wait) => error::with_retry_after(response, wait),
        None => response,
    }
}

fn page(
    req: &HttpRequest,
    viewer: &Viewer,
    notice: Option<AccountNotice>,
    offered: Option<Offered>,
    has_second_factor: bool,
) -> HttpResponse {
    let offered = match offered {
        _ if has_second_factor => None,
        Some(offered) => Some(offered),
        None => match flow::offer_second_factor(app(req), viewer.caller()) {
            Ok(offered) => Some(offered),
            Err(error) => return fault(Some(viewer), &error),
        },
    };
    let offer = offered.map(|offered| Offer::new(&offered.sealed, offered.secret.expose(), offered.uri.expose()));
    let page = AccountPage { frame: frame(viewer, Section::Account), offer, notice };
    html::respond(notice.map_or(StatusCode::OK, error::account_status), &page)
}
