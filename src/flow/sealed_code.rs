//! A user code under the master key, where it must be shown again while its database holds only a MAC of it.

use super::Fault;
use crate::app::App;
use crate::domain::id::DeviceAuthorizationId;
use crate::domain::user_code::UserCode;

/// The row that a sealed user code stands in; moved to another, it cannot be opened.
#[derive(Clone, Copy)]
pub(super) enum Row {
    /// A step-up, whose link may be handed out again.
    DeviceAuthorization(DeviceAuthorizationId),
    /// A consent page for this code, which may have to be shown anew.
    ConsentPage(DeviceAuthorizationId),
}

impl Row {
    fn binding(self) -> String {
        match self {
            Self::DeviceAuthorization(device) => format!("device_authorization/{device}"),
            Self::ConsentPage(device) => format!("consent_page/{device}"),
        }
    }
}

/// Seals `code` for `row`.
pub(super) fn seal(app: &App, code: &UserCode, row: Row) -> Result<String, Fault> {
    Ok(app.master.seal(code.letters(), &row.binding(), &app.entropy)?)
}

/// Opens what was sealed for `row`.
pub(super) fn open(app: &App, sealed: &str, row: Row) -> Result<UserCode, Fault> {
    let letters = app.master.open(sealed, &row.binding())?;
    let code = std::str::from_utf8(letters.expose()).ok().and_then(UserCode::parse);
    code.ok_or(Fault::Impossible("a sealed user code is no user code"))
}
