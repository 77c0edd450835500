//! What a JWT says: until when, for whom, and who its subject is and may be. Pure; what it is given must
//! have been signed.

use lakeport_base::Error;
use lakeport_http::Role;
use serde_json::{Map, Value};

use super::OidcIdentity;
use super::OidcSettings;

/// How far the issuer's clock and this one's may be apart.
const LEEWAY_S: i64 = 60;
const SUBJECT_MAX_CHARS: usize = 255;
const NAME_MAX_CHARS: usize = 200;
const DATASOURCES_MAX: usize = 1_000;
/// Where the name is looked for after the configured claim.
const NAME_CLAIMS: [&str; 2] = ["email", "sub"];

pub struct Claims(Map<String, Value>);

impl Claims {
    pub fn parse(payload: &[u8]) -> Result<Claims, Error> {
        let claims = serde_json::from_slice(payload);
        claims.map(Claims).map_err(|_| Error::unauthenticated("the JWT holds no claims"))
    }

    pub fn check_issuer(&self, issuer: &str) -> Result<(), Error> {
        if self.text("iss") == Some(issuer) {
            return Ok(());
        }
        Err(Error::unauthenticated("the JWT is not of the issuer that this server trusts"))
    }

    /// Whether it counts now, and here; answers until when (milliseconds).
    pub fn check(&self, audience: &str, now_ms: i64) -> Result<i64, Error> {
        let now_s = now_ms.div_euclid(1000);
        let expires_s = self.time_s("exp")?.ok_or_else(|| refused("never expires: it has no `exp`"))?;
        if expires_s + LEEWAY_S <= now_s {
            return Err(refused("has expired; get a new one"));
        }
        for (claim, why) in [("nbf", "is not valid yet"), ("iat", "was issued in the future")] {
            if self.time_s(claim)?.is_some_and(|from_s| from_s > now_s + LEEWAY_S) {
                return Err(refused(&format!("{why} (`{claim}`); see that the clocks are right")));
            }
        }
        let is_meant = match self.0.get("aud") {
            Some(Value::String(one)) => one == audience,
            Some(Value::Array(all)) => all.iter().any(|one| one.as_str() == Some(audience)),
            _ => false,
        };
        if !is_meant {
            return Err(refused("is for somebody else: its `aud` does not name this server"));
        }
        Ok((expires_s + LEEWAY_S).saturating_mul(1000))
    }

    /// Who it is. 403 `role_claim_missing` where it does not say what they may.
    pub fn identity(&self, settings: &OidcSettings) -> Result<OidcIdentity, Error> {
        let subject =
            self.text("sub").filter(|text| !text.is_empty() && text.chars().count() <= SUBJECT_MAX_CHARS);
        let subject = subject.ok_or_else(|| refused("has no `sub`, or one that is no name"))?;
        let role = self.role(&settings.role_claim)?;
        let datasources = self.datasources(&settings.datasources_claim)?;
        let name = self.name(&settings.name_claim).unwrap_or_else(|| shown(subject));
        Ok(OidcIdentity { subject: subject.to_owned(), name, role, datasources })
    }

    /// The highest role that the claim names; names that are no roles are somebody else's.
    fn role(&self, claim: &str) -> Result<Role, Error> {
        let value = self.at(claim);
        let named = value.map(texts).unwrap_or_default().into_iter().filter_map(Role::named).max();
        named.ok_or_else(|| {
            let roles = Role::ALL.map(Role::as_str).join(", ");
            let what = if value.is_some() { "names no role of this server" } else { "is missing" };
            let message = format!("the JWT's claim `{claim}` {what}; it must hold one of {roles}");
            Error::forbidden("role_claim_missing", message)
        })
    }

    /// Absent: all. What is no list of names binds to nothing that anyone meant, so it is refused.
    fn datasources(&self, claim: &str) -> Result<Option<Vec<String>>, Error> {
        let Some(value) = self.at(claim) else { return Ok(None) };
        let names: Option<Vec<String>> = match value {
            Value::String(text) => Some(
                text.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect(),
            ),
            Value::Array(items) => items.iter().map(|item| item.as_str().map(str::to_owned)).collect(),
            _ => None,
        };
        let names = names.filter(|names| names.len() <= DATASOURCES_MAX);
        names.map(Some).ok_or_else(|| {
            let message = format!(
                "the JWT's claim `{claim}` must be a list of at most {DATASOURCES_MAX} names of data sources"
            );
            Error::forbidden("invalid_claim", message)
        })
    }

    fn name(&self, claim: &str) -> Option<String> {
        let found = std::iter::once(claim).chain(NAME_CLAIMS).find_map(|claim| self.at(claim)?.as_str());
        found.map(shown).filter(|name| !name.is_empty())
    }

    /// A claim by its name, which may have dots in it, else by a path such as `realm_access.roles`.
    fn at(&self, path: &str) -> Option<&Value> {
        if let Some(value) = self.0.get(path) {
            return Some(value);
        }
        let mut parts = path.split('.');
        let first = self.0.get(parts.next()?)?;
        parts.try_fold(first, |value, part| value.get(part))
    }

    fn text(&self, claim: &str) -> Option<&str> {
        self.0.get(claim)?.as_str()
    }

    /// Seconds since 1970; the standard allows fractions.
    fn time_s(&self, claim: &str) -> Result<Option<i64>, Error> {
        let Some(value) = self.0.get(claim) else { return Ok(None) };
        // A time further away than numbers reach is as good as the farthest.
        let seconds = value.as_f64().map(|seconds| seconds.clamp(-1e15, 1e15) as i64);
        seconds.map(Some).ok_or_else(|| refused(&format!("has a `{claim}` that is no time")))
    }
}

/// Of a list, the texts in it; a single text may hold several, as scopes do.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => text.split([' ', ',']).collect(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// On one line, and not longer than a log can bear.
fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(NAME_MAX_CHARS).collect::<String>().trim().to_owned()
}

fn refused(why: &str) -> Error {
    Error::unauthenticated(format!("the JWT {why}"))
}
