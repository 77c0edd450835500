//! `lakeport plugin inspect FILE`, without a server: describes a component by its imports and exports,
//! without running it.

use std::path::Path;

use anyhow::Context as _;
use lakeport_plugins::{Origin, Policy, grants, inspect};
use serde_json::json;

/// A component file as it is described.
pub struct Described {
    pub text: String,
    /// It imports what it may not have.
    pub is_refused: bool,
}

/// Describes a component and the permissions that it would get.
pub fn inspect_file(path: &Path, as_json: bool) -> anyhow::Result<Described> {
    let bytes = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    let inspection = inspect(&bytes)?;
    let judged = grants::check(&inspection, Origin::Uploaded, &Policy::default());
    let (grants, refused) = match judged {
        Ok(grants) => (grants.needed, Vec::new()),
        Err(refused) => (Vec::new(), refused.imports),
    };
    if as_json {
        let listed: Vec<_> =
            refused.iter().map(|i| json!({ "import": i.import, "reason": i.reason })).collect();
        let answer = json!({
            "family": inspection.contract.family.as_str(),
            "contract": inspection.contract.to_string(),
            "digest": inspection.digest,
            "size": inspection.size,
            "exports": inspection.exports,
            "imports": inspection.imports,
            "grantsNeeded": grants,
            "refused": listed,
        });
        return Ok(Described { text: format!("{answer:#}\n"), is_refused: !refused.is_empty() });
    }
    let mut lines = vec![
        format!("contract  {}", inspection.contract),
        format!("digest    {}", inspection.digest),
        format!("size      {} bytes", inspection.size),
        format!("exports   {}", inspection.exports.join(" ")),
        format!("imports   {}", inspection.imports.join("\n          ")),
    ];
    if refused.is_empty() {
        let grants = if grants.is_empty() { "none are needed".to_owned() } else { grants.join(" ") };
        lines.push(format!("grants    {grants}"));
    }
    lines.extend(refused.iter().map(|import| format!("refused   {}: {}", import.import, import.reason)));
    Ok(Described { text: lines.join("\n") + "\n", is_refused: !refused.is_empty() })
}
