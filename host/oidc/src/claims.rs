//! The claims of a JWT: expiry, audience, subject and role. Pure functions; the JWT's signature must have
//! been checked before.

use lakeport_base::Error;
use lakeport_http::Role;
use serde_json::{Map, Value};

use super::OidcIdentity;
use super::OidcSettings;

/// The tolerated difference between the issuer's clock and this one.
const LEEWAY_S: i64 = 60;
const SUBJECT_MAX_CHARS: usize = 255;
const NAME_MAX_CHARS: usize = 200;
const DATASOURCES_MAX: usize = 1_000;
/// The claims tried for the name after the configured one.
const NAME_CLAIMS: [&str; 2] = ["email", "sub"];

pub struct Claims(Map<String, Value>);

impl Claims {
    pub fn parse(payload: &[u8]) -> Result<Claims, Error> {
        let claims = serde_json::from_slice(payload);
        claims.map(Claims).map_err(|_| Error::unauthenticated("the JWT has no claims"))
    }

    pub fn check_issuer(&self, issuer: &str) -> Result<(), Error> {
        if self.text("iss") == Some(issuer) {
            return Ok(());
        }
        Err(Error::unauthenticated("the JWT is not from the trusted issuer"))
    }

    /// Checks validity and audience; returns the expiry (milliseconds).
    pub fn check(&self, audience: &str, now_ms: i64) -> Result<i64, Error> {
        let now_s = now_ms.div_euclid(1000);
        let expires_s = self.time_s("exp")?.ok_or_else(|| refused("never expires: it has no `exp`"))?;
        if expires_s + LEEWAY_S <= now_s {
            return Err(refused("has expired; get a new one"));
        }
        for (claim, why) in [("nbf", "is not valid yet"), ("iat", "was issued in the future")] {
            if self.time_s(claim)?.is_some_and(|from_s| from_s > now_s + LEEWAY_S) {
                return Err(refused(&format!("{why} (`{claim}`); check the clocks")));
            }
        }
        let is_meant = match self.0.get("aud") {
            Some(Value::String(one)) => one == audience,
            Some(Value::Array(all)) => all.iter().any(|one| one.as_str() == Some(audience)),
            _ => false,
        };
        if !is_meant {
            return Err(refused("is for another audience: its `aud` does not name this server"));
        }
        Ok((expires_s + LEEWAY_S).saturating_mul(1000))
    }

    /// Checks that it answers this sign-in, by the sign-in's nonce, and was made for this client.
    pub fn check_sign_in(&self, client_id: &str, nonce: &str) -> Result<(), Error> {
        if self.text("nonce") != Some(nonce) {
            return Err(refused("answers another sign-in: its `nonce` differs"));
        }
        if self.text("azp").is_some_and(|party| party != client_id) {
            return Err(refused("was made for another client (`azp`)"));
        }
        Ok(())
    }

    pub fn subject(&self) -> Option<&str> {
        self.text("sub")
    }

    /// The caller's identity. 403 `role_claim_missing` if the JWT has no role.
    pub fn identity(&self, settings: &OidcSettings, expires_at_ms: i64) -> Result<OidcIdentity, Error> {
        let is_valid = |text: &&str| {
            let is_plain = !text.chars().any(char::is_control);
            is_plain && !text.is_empty() && text.chars().count() <= SUBJECT_MAX_CHARS
        };
        let subject = self.text("sub").filter(is_valid);
        let subject = subject.ok_or_else(|| refused("has no valid `sub`"))?;
        let role = self.role(&settings.role_claim)?;
        let datasources = self.datasources(&settings.datasources_claim)?;
        let name = self.name(&settings.name_claim).unwrap_or_else(|| shown(subject));
        Ok(OidcIdentity { subject: subject.to_owned(), name, role, datasources, expires_at_ms })
    }

    /// The highest role in the claim; ignores names that are not roles.
    fn role(&self, claim: &str) -> Result<Role, Error> {
        let value = self.at(claim);
        let named = value.map(texts).unwrap_or_default().into_iter().filter_map(Role::named).max();
        named.ok_or_else(|| {
            let roles = Role::ALL.map(Role::as_str).join(", ");
            let what = if value.is_some() { "has no role of this server" } else { "is missing" };
            let message = format!("the JWT's claim `{claim}` {what}; it must hold one of {roles}");
            Error::forbidden("role_claim_missing", message)
        })
    }

    /// Absent: all. A claim that is not a list of names is refused, since its meaning is unclear.
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

    /// A claim by its name, which may have dots, or by a path such as `realm_access.roles`.
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
        // Clamps times that are out of range.
        let seconds = value.as_f64().map(|seconds| seconds.clamp(-1e15, 1e15) as i64);
        seconds.map(Some).ok_or_else(|| refused(&format!("has a `{claim}` that is not a time")))
    }
}

/// The texts of a list; a single text may hold several, as scopes do.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => text.split([' ', ',']).collect(),
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// On one line, and cut for logs.
fn shown(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(NAME_MAX_CHARS).collect::<String>().trim().to_owned()
}

fn refused(why: &str) -> Error {
    Error::unauthenticated(format!("the JWT {why}"))
}
