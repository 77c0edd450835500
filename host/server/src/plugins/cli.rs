//! `lakeport plugin inspect FILE`, without a server: describes a component by its imports and exports,
//! without running it.

use std::path::Path;

use anyhow::Context as _;
use lakeport_plugins::{Origin, Policy, grants, inspect};
use serde_json::json;

/// Prints a component's description and the permissions that it would get.
pub fn inspect_file(path: &Path, as_json: bool) -> anyhow::Result<()> {
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
        println!("{answer:#}");
        anyhow::ensure!(refused.is_empty(), "this component would be refused");
        return Ok(());
    }
    println!("contract  {}", inspection.contract);
    println!("digest    {}", inspection.digest);
    println!("size      {} bytes", inspection.size);
    println!("exports   {}", inspection.exports.join(" "));
    println!("imports   {}", inspection.imports.join("\n          "));
    if refused.is_empty() {
        println!(
            "grants    {}",
            if grants.is_empty() { "none are needed".to_owned() } else { grants.join(" ") }
        );
    }
    for import in &refused {
        println!("refused   {}: {}", import.import, import.reason);
    }
    anyhow::ensure!(refused.is_empty(), "this component would be refused");
    Ok(())
}
