//! Device authorizations: made by a personal agent or by a step-up, found by either code.

use sqlx::{FromRow, query_as, query_scalar};

use super::dialect::{Tx, in_tx, read};
use super::{Consistent, Store, StoreError};
use crate::clock::Timestamp;
use crate::domain::device::{DeviceAuthorization, DeviceState, Origin};
use crate::domain::id::{BrandId, BrandUser, Caller, DeviceAuthorizationId, Digest, GrantId, Issuer, PaSub};
use crate::domain::scope::ScopeSet;

/// The columns of a device authorization and the Brand user of a step-up's grant, which each query below names.
#[derive(FromRow)]
pub(super) struct DeviceRow {
    id: String,
    brand_id: String,
    pa_issuer: String,
    pa_sub: String,
    scopes: String,
    step_up_grant_id: Option<String>,
    step_up_brand_user: Option<String>,
    sealed_user_code: Option<String>,
    created_at: i64,
    expires_at: i64,
    state: String,
    state_at: Option<i64>,
    grant_id: Option<String>,
    granted: Option<String>,
}

impl TryFrom<DeviceRow> for DeviceAuthorization {
    type Error = StoreError;
    fn try_from(row: DeviceRow) -> Result<Self, StoreError> {
        const TABLE: &str = "device_authorization";
        let key = row.id.clone();
        let origin = match (row.step_up_grant_id, row.step_up_brand_user, row.sealed_user_code) {
            (None, None, None) => Some(Origin::Requested),
            (Some(grant), Some(user), Some(sealed_user_code)) => Some(Origin::StepUp {
                grant: GrantId::parse(grant).consistent(TABLE, &key)?,
                brand_user: BrandUser::parse(user).consistent(TABLE, &key)?,
                sealed_user_code,
            }),
            _ => None,
        };
        let grant = row.grant_id.map(GrantId::parse).transpose().consistent(TABLE, &key)?;
        let granted = row.granted.as_deref().map(ScopeSet::parse).transpose().consistent(TABLE, &key)?;
        let state = match (row.state.as_str(), row.state_at.map(Timestamp::from_millis), grant, granted) {
            ("pending", None, None, None) => Some(DeviceState::Pending),
            ("approved", Some(at), Some(grant), Some(granted)) => Some(DeviceState::Approved { grant, granted, at }),
            ("denied", Some(at), None, None) => Some(DeviceState::Denied { at }),
            ("redeemed", Some(at), Some(grant), Some(granted)) => Some(DeviceState::Redeemed { grant, granted, at }),
            _ => None,
        };
        Ok(Self {
            id: DeviceAuthorizationId::parse(&row.id).consistent(TABLE, &key)?,
            brand: BrandId::parse(row.brand_id).consistent(TABLE, &key)?,
            caller: Caller {
                issuer: Issuer::parse(row.pa_issuer).consistent(TABLE, &key)?,
                sub: PaSub::parse(row.pa_sub).consistent(TABLE, &key)?,
            },
            requested: ScopeSet::parse(&row.scopes).consistent(TABLE, &key)?,
            origin: origin.consistent(TABLE, &key)?,
            created_at: Timestamp::from_millis(row.created_at),
            expires_at: Timestamp::from_millis(row.expires_at),
            state: state.consistent(TABLE, &key)?,
        })
    }
}

/// A device authorization that is about to be made.
#[derive(Debug)]
pub struct NewDeviceAuthorization<'a> {
    /// Pending.
    pub device: &'a DeviceAuthorization,
    /// Of the device code; `None` for a step-up.
    pub device_code: Option<Digest>,
    /// Of the user code.
    pub user_code: Digest,
    /// How many live codes its caller may have at its Brand, this one included.
    pub most_live: u32,
}

/// What became of a [`NewDeviceAuthorization`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Created {
    /// It is there.
    Created,
    /// The caller has as many as it may at this Brand; the first of them runs out then.
    TooMany {
        /// When one of them no longer counts.
        until: Timestamp,
    },
    /// Another code of the Brand has these letters: draw again.
    UserCodeTaken,
}

impl Store {
    /// Makes a device authorization.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done; nothing was.
    pub async fn create_device_authorization(&self, new: &NewDeviceAuthorization<'_>) -> Result<Created, StoreError> {
        let mut tx = self.0.begin().await?;
        let created = create(&mut tx, new).await?;
        if created == Created::Created {
            tx.commit().await?;
        }
        Ok(created)
    }

    /// The device authorization of a device code.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or the row is inconsistent.
    pub async fn device_by_device_code(&self, code: Digest) -> Result<Option<DeviceAuthorization>, StoreError> {
        const SQL: &str = "SELECT d.id, d.brand_id, d.pa_issuer, d.pa_sub, d.scopes, d.step_up_grant_id,
            g.brand_user AS step_up_brand_user, d.sealed_user_code, d.created_at, d.expires_at, d.state, d.state_at,
            d.grant_id, d.granted FROM device_authorization d LEFT JOIN delegation_grant g ON g.id = d.step_up_grant_id
            WHERE d.device_code_digest = $1";
        let row = read!(self, c => query_as::<_, DeviceRow>(SQL).bind(code.to_hex()).fetch_optional(c))?;
        row.map(DeviceAuthorization::try_from).transpose()
    }

    /// The device authorization of a user code at a Brand. A step-up whose grant has ended is no longer there.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or the row is inconsistent.
    pub async fn device_by_user_code(
        &self,
        brand: &BrandId,
        code: Digest,
        now: Timestamp,
    ) -> Result<Option<DeviceAuthorization>, StoreError> {
        const SQL: &str = "SELECT d.id, d.brand_id, d.pa_issuer, d.pa_sub, d.scopes, d.step_up_grant_id,
            g.brand_user AS step_up_brand_user, d.sealed_user_code, d.created_at, d.expires_at, d.state, d.state_at,
            d.grant_id, d.granted FROM device_authorization d LEFT JOIN delegation_grant g ON g.id = d.step_up_grant_id
            WHERE d.brand_id = $1 AND d.user_code_mac = $2
            AND (g.id IS NULL OR (g.state = 'live' AND g.expires_at > $3))";
        let row = read!(self, c => query_as::<_, DeviceRow>(SQL)
            .bind(brand.as_str())
            .bind(code.to_hex())
            .bind(now.millis())
            .fetch_optional(c))?;
        row.map(DeviceAuthorization::try_from).transpose()
    }

    /// The device authorization with this id.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or the row is inconsistent.
    pub async fn device(&self, id: DeviceAuthorizationId) -> Result<Option<DeviceAuthorization>, StoreError> {
        const SQL: &str = "SELECT d.id, d.brand_id, d.pa_issuer, d.pa_sub, d.scopes, d.step_up_grant_id,
            g.brand_user AS step_up_brand_user, d.sealed_user_code, d.created_at, d.expires_at, d.state, d.state_at,
            d.grant_id, d.granted FROM device_authorization d LEFT JOIN delegation_grant g ON g.id = d.step_up_grant_id
            WHERE d.id = $1";
        let row = read!(self, c => query_as::<_, DeviceRow>(SQL).bind(id.to_string()).fetch_optional(c))?;
        row.map(DeviceAuthorization::try_from).transpose()
    }

    /// A pending step-up code of `grant` for just these scopes that lives at least until `until`.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or the row is inconsistent.
    pub async fn pending_step_up(
        &self,
        grant: &GrantId,
        scopes: &ScopeSet,
        until: Timestamp,
    ) -> Result<Option<DeviceAuthorization>, StoreError> {
        const SQL: &str = "SELECT d.id, d.brand_id, d.pa_issuer, d.pa_sub, d.scopes, d.step_up_grant_id,
            g.brand_user AS step_up_brand_user, d.sealed_user_code, d.created_at, d.expires_at, d.state, d.state_at,
            d.grant_id, d.granted FROM device_authorization d JOIN delegation_grant g ON g.id = d.step_up_grant_id
            WHERE d.step_up_grant_id = $1 AND d.scopes = $2 AND d.state = 'pending' AND d.expires_at >= $3
            ORDER BY d.expires_at DESC LIMIT 1";
        let row = read!(self, c => query_as::<_, DeviceRow>(SQL)
            .bind(grant.as_str())
            .bind(scopes.to_string())
            .bind(until.millis())
            .fetch_optional(c))?;
        row.map(DeviceAuthorization::try_from).transpose()
    }
}

/// Makes a device authorization in the transaction that hands out its code.
pub(super) async fn create(tx: &mut Tx, new: &NewDeviceAuthorization<'_>) -> Result<Created, StoreError> {
    const LIVE: &str = "SELECT COUNT(*), MIN(expires_at) FROM device_authorization WHERE pa_issuer = $1
        AND pa_sub = $2 AND brand_id = $3 AND expires_at > $4 AND state = 'pending' AND step_up_grant_id IS NULL";
    const INSERT: &str = "INSERT INTO device_authorization (id, brand_id, pa_issuer, pa_sub, device_code_digest,
        user_code_mac, scopes, step_up_grant_id, sealed_user_code, created_at, expires_at, state)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, 'pending') ON CONFLICT DO NOTHING RETURNING id";
    let device = new.device;
    let (issuer, sub) = (device.caller.issuer.as_str(), device.caller.sub.as_str());
    let (grant, sealed) = match &device.origin {
        Origin::Requested => {
            tx.lock(&format!("codes {} {issuer} {sub}", device.brand)).await?;
            let (count, first) = in_tx!(&mut *tx, c => query_as::<_, (i64, Option<i64>)>(LIVE)
                .bind(issuer)
                .bind(sub)
                .bind(device.brand.as_str())
                .bind(device.created_at.millis())
                .fetch_one(c))?;
            if count >= i64::from(new.most_live) {
                let until = first.map_or(device.expires_at, Timestamp::from_millis);
                return Ok(Created::TooMany { until });
            }
            (None, None)
        }
        Origin::StepUp { grant, sealed_user_code, .. } => (Some(grant.as_str()), Some(sealed_user_code.as_str())),
    };
    let row = in_tx!(&mut *tx, c => query_scalar::<_, String>(INSERT)
        .bind(device.id.to_string())
        .bind(device.brand.as_str())
        .bind(issuer)
        .bind(sub)
        .bind(new.device_code.map(|digest| digest.to_hex()))
        .bind(new.user_code.to_hex())
        .bind(device.requested.to_string())
        .bind(grant)
        .bind(sealed)
        .bind(device.created_at.millis())
        .bind(device.expires_at.millis())
        .fetch_optional(c))?;
    if row.is_none() {
        return Ok(Created::UserCodeTaken);
    }
    Ok(Created::Created)
}
