//! Tokens in the store.

use lakeport_base::Error;
use lakeport_http::Role;
use lakeport_store::{Db, Row, Tx, Value};

/// A stored token.
#[derive(Debug, Clone)]
pub struct Token {
    pub id: i64,
    pub name: String,
    pub role: Role,
    pub digest: String,
    /// `None`: all.
    pub datasources: Option<Vec<String>>,
    pub scopes: Vec<String>,
    pub created_at_ms: i64,
    pub expires_at_ms: Option<i64>,
}

/// The data of a new token.
pub struct NewToken<'t> {
    pub name: &'t str,
    pub role: Role,
    pub digest: &'t str,
    pub datasources: Option<&'t [String]>,
    pub scopes: &'t [String],
    pub expires_at_ms: Option<i64>,
}

/// Tokens that are not revoked, by id.
pub async fn live(db: &Db) -> Result<Vec<Token>, Error> {
    const SQL: &str = "SELECT id, name, role, digest, datasources, scopes, created_at, expires_at FROM tokens \
                       WHERE revoked_at IS NULL ORDER BY id";
    db.read(SQL, &[]).await?.iter().map(token).collect()
}

/// 409 when a valid token has the name.
pub async fn insert(tx: &mut Tx, new: &NewToken<'_>, at_ms: i64) -> Result<Token, Error> {
    const SQL: &str = "INSERT INTO tokens (name, role, digest, datasources, scopes, created_at, expires_at) \
                       VALUES ($1, $2, $3, $4, $5, $6, $7) \
                       RETURNING id, name, role, digest, datasources, scopes, created_at, expires_at";
    let datasources = new.datasources.map(json).transpose()?;
    let values: [Value; 7] = [
        new.name.into(),
        new.role.as_str().into(),
        new.digest.into(),
        datasources.into(),
        json(new.scopes)?.into(),
        at_ms.into(),
        new.expires_at_ms.into(),
    ];
    let taken =
        || format!("a token named `{}` already exists; revoke it first, or use another name", new.name);
    let rows = tx.query(SQL, &values).await.map_err(|error| error.unique_as("name_taken", taken()))?;
    token(rows.first().ok_or_else(|| Error::internal(anyhow::anyhow!("the token was not stored")))?)
}

/// The token before it was revoked; `None` if it does not exist, or was revoked before.
pub async fn revoke(tx: &mut Tx, id: i64, at_ms: i64) -> Result<Option<Token>, Error> {
    const SQL: &str = "UPDATE tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL \
                       RETURNING id, name, role, digest, datasources, scopes, created_at, expires_at";
    let rows = tx.query(SQL, &[id.into(), at_ms.into()]).await?;
    rows.first().map(token).transpose()
}

fn token(row: &Row) -> Result<Token, Error> {
    let role: String = row.get(2)?;
    let role = Role::named(&role)
        .ok_or_else(|| Error::internal(anyhow::anyhow!("the store holds a token with the role `{role}`")))?;
    let datasources: Option<String> = row.get(4)?;
    Ok(Token {
        id: row.get(0)?,
        name: row.get(1)?,
        role,
        digest: row.get(3)?,
        datasources: datasources.map(|text| list(&text)).transpose()?,
        scopes: list(&row.get::<String>(5)?)?,
        created_at_ms: row.get(6)?,
        expires_at_ms: row.get(7)?,
    })
}

fn json(names: &[String]) -> Result<String, Error> {
    serde_json::to_string(names).map_err(Error::internal)
}

fn list(text: &str) -> Result<Vec<String>, Error> {
    serde_json::from_str(text).map_err(Error::internal)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lakeport_store::testing::on_each_store;

    fn new<'t>(name: &'t str, digest: &'t str) -> NewToken<'t> {
        let (datasources, scopes): (Option<&[String]>, &[String]) = (None, &[]);
        NewToken { name, role: Role::Editor, digest, datasources, scopes, expires_at_ms: Some(9) }
    }

    #[tokio::test]
    async fn revoking_a_token_frees_its_name() {
        on_each_store(async |db| {
            let mut tx = db.begin().await.unwrap();
            let made = insert(&mut tx, &new("ci", "d1"), 5).await.unwrap();
            tx.commit().await.unwrap();
            let kept = live(&db).await.unwrap();
            assert_eq!((kept.len(), kept[0].id, kept[0].role), (1, made.id, Role::Editor));
            assert_eq!((kept[0].expires_at_ms, &kept[0].datasources), (Some(9), &None));

            let mut tx = db.begin().await.unwrap();
            let error = insert(&mut tx, &new("ci", "d2"), 5).await.unwrap_err();
            assert_eq!((error.status(), error.code()), (409, "name_taken"));
            drop(tx);

            let mut tx = db.begin().await.unwrap();
            assert_eq!(revoke(&mut tx, made.id, 6).await.unwrap().unwrap().name, "ci");
            assert!(revoke(&mut tx, made.id, 6).await.unwrap().is_none());
            insert(&mut tx, &new("ci", "d2"), 7).await.unwrap();
            tx.commit().await.unwrap();
            assert_eq!(live(&db).await.unwrap().len(), 1);
        })
        .await;
    }
}
