//! The format of tokens. A token's text is random, shown once, and stored only as a digest.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use lakeport_base::error::{Detail, Error};
use ring::rand::SecureRandom;
use sha2::{Digest, Sha256};

/// Makes a leaked token recognisable.
pub const PREFIX: &str = "lkp_";
/// Random bytes: too many to guess, so a plain digest suffices.
const RANDOM_BYTES: usize = 32;
pub const NAME_MAX_CHARS: usize = 100;
pub const DATASOURCES_MAX: usize = 100;
/// The most unknown data sources in a message.
const UNKNOWN_NAMED_MAX: usize = 20;

/// Permits sending OpenLineage events only.
pub const LINEAGE_WRITE: &str = "lineage:write";
/// All scopes.
pub const SCOPES: [&str; 1] = [LINEAGE_WRITE];

/// The text of a new token.
pub fn make() -> Result<String, Error> {
    let mut random = [0; RANDOM_BYTES];
    let filled = ring::rand::SystemRandom::new().fill(&mut random);
    filled.map_err(|_| Error::internal(anyhow::anyhow!("the system gives no random bytes")))?;
    Ok(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random)))
}

/// The key of a token in the store and in memory.
pub fn digest(text: &str) -> String {
    hex::encode(Sha256::digest(text.as_bytes()))
}

/// The problems of all members. `known`: the names of all data sources.
pub fn check(name: &str, datasources: Option<&[String]>, scopes: &[String], known: &[String]) -> Vec<Detail> {
    let mut wrong = Vec::new();
    let chars = name.chars().count();
    if name.trim() != name || !(1..=NAME_MAX_CHARS).contains(&chars) || name.chars().any(char::is_control) {
        let message =
            format!("must be 1 to {NAME_MAX_CHARS} characters on one line, without space around them");
        wrong.push(Detail::new("name", message));
    }
    let names = datasources.unwrap_or_default();
    if names.len() > DATASOURCES_MAX || names.iter().any(|name| name.trim().is_empty()) {
        let message = format!("must be at most {DATASOURCES_MAX} names; leave it out for all data sources");
        wrong.push(Detail::new("datasources", message));
    }
    // A token for one that is made later would be a surprise to whoever makes it.
    let unknown: Vec<&str> = names
        .iter()
        .filter(|name| !known.contains(name))
        .map(String::as_str)
        .take(UNKNOWN_NAMED_MAX)
        .collect();
    if wrong.iter().all(|detail| detail.field != "datasources") && !unknown.is_empty() {
        let message =
            format!("names unknown data sources, {}; GET /api/v1/datasources lists them", unknown.join(", "));
        wrong.push(Detail::new("datasources", message));
    }
    if let Some(unknown) = scopes.iter().find(|scope| !SCOPES.contains(&scope.as_str())) {
        let message = format!("unknown scope `{unknown}`; available: {}", SCOPES.join(", "));
        wrong.push(Detail::new("scopes", message));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_unique_and_recognizable() {
        let (one, two) = (make().unwrap(), make().unwrap());
        assert_ne!(one, two);
        assert!(one.starts_with(PREFIX) && one.len() > 40, "{one}");
        assert_ne!(digest(&one), digest(&two));
    }

    #[test]
    fn every_member_that_will_not_do_is_named() {
        let wrong = check(" ", Some(&[String::new()]), &["all".to_owned()], &[]);
        let fields: Vec<&str> = wrong.iter().map(|detail| detail.field.as_str()).collect();
        assert_eq!(fields, ["name", "datasources", "scopes"]);
        assert!(check("ci", None, &[LINEAGE_WRITE.to_owned()], &[]).is_empty());
        let names = ["shop", "lake", "sea"].map(str::to_owned);
        assert!(check("ci", Some(&names), &[], &names).is_empty());
        let wrong = check("ci", Some(&names), &[], &names[..1]);
        assert!(wrong[0].field == "datasources" && wrong[0].message.contains("lake, sea;"), "{wrong:?}");
    }
}
