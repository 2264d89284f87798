//! Redemption of device codes and rotation of refresh tokens: each is spent once, by one guarded write.

use sqlx::{FromRow, query, query_as, query_scalar};

use super::dialect::{Tx, execute, in_tx, read};
use super::{Consistent, Store, StoreError, audit, grant};
use crate::clock::Timestamp;
use crate::domain::audit::Entry;
use crate::domain::id::{DeviceAuthorizationId, Digest, FamilyId, GrantId, TokenId};
use crate::domain::refresh::RefreshToken;
use crate::domain::scope::ScopeSet;

#[derive(FromRow)]
struct RefreshRow {
    family_id: String,
    grant_id: String,
    created_at: i64,
    used_at: Option<i64>,
    revoked_at: Option<i64>,
}

impl TryFrom<RefreshRow> for RefreshToken {
    type Error = StoreError;
    fn try_from(row: RefreshRow) -> Result<Self, StoreError> {
        let key = row.family_id;
        Ok(Self {
            family: FamilyId::parse(&key).consistent("refresh_family", &key)?,
            grant: GrantId::parse(row.grant_id).consistent("refresh_family", &key)?,
            created_at: Timestamp::from_millis(row.created_at),
            used_at: row.used_at.map(Timestamp::from_millis),
            family_revoked_at: row.revoked_at.map(Timestamp::from_millis),
        })
    }
}

/// The refresh token and the delegation token that are about to be issued together.
#[derive(Clone, Debug)]
pub struct NewTokens {
    /// Of the refresh token.
    pub refresh: Digest,
    /// `jti` of the delegation token.
    pub token: TokenId,
    /// Scopes of the delegation token.
    pub scopes: ScopeSet,
    /// End of the delegation token.
    pub expires_at: Timestamp,
    /// The grant, as it was when the tokens were made.
    pub grant: GrantId,
    /// Its version then.
    pub grant_version: i64,
}

/// The redemption of an approved device code.
#[derive(Debug)]
pub struct Redeem<'a> {
    /// Which.
    pub device: DeviceAuthorizationId,
    /// The new family.
    pub family: FamilyId,
    /// What is issued.
    pub tokens: &'a NewTokens,
    /// The audit row, whose instant is the unit's.
    pub entry: &'a Entry,
}

/// What became of a [`Redeem`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Redeemed {
    /// The tokens may be handed out.
    Done,
    /// Somebody else redeemed the code.
    Spent,
    /// The grant, its Brand's delegation or its personal agent is no longer live.
    GrantGone,
    /// The grant changed since the tokens were made: make them anew.
    Stale,
}

/// The rotation of a refresh token.
#[derive(Debug)]
pub struct Rotate<'a> {
    /// The token that was presented.
    pub presented: Digest,
    /// Its family.
    pub family: FamilyId,
    /// What is issued.
    pub tokens: &'a NewTokens,
    /// The audit row, whose instant is the unit's.
    pub entry: &'a Entry,
}

/// What became of a [`Rotate`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rotated {
    /// The tokens may be handed out.
    Done,
    /// The token was used, or its family revoked, since it was read: judge it again.
    Spent,
    /// The grant, its Brand's delegation or its personal agent is no longer live.
    GrantGone,
    /// The grant changed since the tokens were made: make them anew.
    Stale,
}

impl Store {
    /// Spends an approved device code and begins a family.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done; nothing was.
    pub async fn redeem(&self, redeem: &Redeem<'_>) -> Result<Redeemed, StoreError> {
        const SPEND: &str = "UPDATE device_authorization SET state = 'redeemed', state_at = $1
            WHERE id = $2 AND state = 'approved' AND grant_id = $3 RETURNING id";
        const FAMILY: &str = "INSERT INTO refresh_family (id, grant_id, created_at) VALUES ($1, $2, $3)";
        let now = redeem.entry.at;
        let tokens = redeem.tokens;
        let mut tx = self.0.begin().await?;
        match grant::touch(&mut tx, &tokens.grant, now).await? {
            None => return Ok(Redeemed::GrantGone),
            Some(touched) if touched.version != tokens.grant_version => return Ok(Redeemed::Stale),
            Some(_) => {}
        }
        let spent = in_tx!(&mut tx, c => query_scalar::<_, String>(SPEND)
            .bind(now.millis())
            .bind(redeem.device.to_string())
            .bind(tokens.grant.as_str())
            .fetch_optional(c))?;
        if spent.is_none() {
            return Ok(Redeemed::Spent);
        }
        execute!(
            &mut tx,
            query(FAMILY).bind(redeem.family.to_string()).bind(tokens.grant.as_str()).bind(now.millis())
        )?;
        put_token(&mut tx, redeem.family, tokens, now).await?;
        audit::append(&mut tx, redeem.entry).await?;
        tx.commit().await?;
        Ok(Redeemed::Done)
    }

    /// The refresh token with this digest.
    ///
    /// # Errors
    /// [`StoreError`] when the database does not answer or the row is inconsistent.
    pub async fn refresh_token(&self, digest: Digest) -> Result<Option<RefreshToken>, StoreError> {
        const SQL: &str = "SELECT t.family_id, f.grant_id, t.created_at, t.used_at, f.revoked_at FROM refresh_token t
            JOIN refresh_family f ON f.id = t.family_id WHERE t.digest = $1";
        let row = read!(self, c => query_as::<_, RefreshRow>(SQL).bind(digest.to_hex()).fetch_optional(c))?;
        row.map(RefreshToken::try_from).transpose()
    }

    /// Spends a live refresh token and puts its successor in its place.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done; nothing was, and the presented token still works.
    pub async fn rotate(&self, rotate: &Rotate<'_>) -> Result<Rotated, StoreError> {
        const SPEND: &str = "UPDATE refresh_token SET used_at = $1 WHERE digest = $2 AND used_at IS NULL
            AND EXISTS (SELECT 1 FROM refresh_family WHERE id = family_id AND revoked_at IS NULL) RETURNING digest";
        let now = rotate.entry.at;
        let tokens = rotate.tokens;
        let mut tx = self.0.begin().await?;
        match grant::touch(&mut tx, &tokens.grant, now).await? {
            None => return Ok(Rotated::GrantGone),
            Some(touched) if touched.version != tokens.grant_version => return Ok(Rotated::Stale),
            Some(_) => {}
        }
        let spent = in_tx!(&mut tx, c => query_scalar::<_, String>(SPEND)
            .bind(now.millis())
            .bind(rotate.presented.to_hex())
            .fetch_optional(c))?;
        if spent.is_none() {
            return Ok(Rotated::Spent);
        }
        put_token(&mut tx, rotate.family, tokens, now).await?;
        audit::append(&mut tx, rotate.entry).await?;
        tx.commit().await?;
        Ok(Rotated::Done)
    }

    /// Gives up a family after a theft. `false` when it was given up already: one theft raises one alarm.
    ///
    /// # Errors
    /// [`StoreError`] when it could not be done.
    pub async fn revoke_family(&self, family: FamilyId, entry: &Entry) -> Result<bool, StoreError> {
        // A rotation holds the grant's row to its commit; holding it here too leaves none under way.
        const HOLD: &str = "UPDATE delegation_grant SET last_used_at = last_used_at
            WHERE id = (SELECT grant_id FROM refresh_family WHERE id = $1)";
        const SQL: &str = "UPDATE refresh_family SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL RETURNING id";
        let mut tx = self.0.begin().await?;
        execute!(&mut tx, query(HOLD).bind(family.to_string()))?;
        let row = in_tx!(&mut tx, c => query_scalar::<_, String>(SQL)
            .bind(entry.at.millis())
            .bind(family.to_string())
            .fetch_optional(c))?;
        if row.is_none() {
            return Ok(false);
        }
        audit::append(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(true)
    }
}

async fn put_token(tx: &mut Tx, family: FamilyId, tokens: &NewTokens, now: Timestamp) -> Result<(), StoreError> {
    const SQL: &str = "INSERT INTO refresh_token (digest, family_id, created_at, token_id, token_scopes,
        token_expires_at) VALUES ($1, $2, $3, $4, $5, $6)";
    execute!(
        tx,
        query(SQL)
            .bind(tokens.refresh.to_hex())
            .bind(family.to_string())
            .bind(now.millis())
            .bind(tokens.token.to_string())
            .bind(tokens.scopes.to_string())
            .bind(tokens.expires_at.millis())
    )?;
    Ok(())
}
