//! What a component imports, held against what its family may have and what the operator grants. Pure
//! functions of names, tested without WebAssembly. One refusal lists everything that stands in the way.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::family::{Family, Standing, standing, wasi_is_offered};
use crate::generation::Origin;
use crate::inspect::Inspection;

/// What the operator withholds. Everything that a family may have is granted by activating a plugin,
/// unless it stands here.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Interfaces without their versions: `lakeport:dialect/connection`, `wasi:filesystem/types`.
    pub withhold: BTreeSet<String>,
}

/// What a component is given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Grants {
    /// Permissions, without their versions, sorted: what activating the plugin grants.
    pub needed: Vec<String>,
}

/// One import that stands in the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedImport {
    /// The import as the component names it.
    pub import: String,
    /// Why not, for a person.
    pub reason: String,
}

/// Why a component is not let in: all of its imports that it may not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", describe(.imports))]
pub struct Refused {
    /// The imports, in the component's order.
    pub imports: Vec<RefusedImport>,
}

fn describe(imports: &[RefusedImport]) -> String {
    let lines: Vec<String> = imports.iter().map(|i| format!("{} ({})", i.import, i.reason)).collect();
    format!("the component imports what it may not have: {}", lines.join("; "))
}

/// Decides whether the component may have what it imports.
pub fn check(inspection: &Inspection, origin: Origin, policy: &Policy) -> Result<Grants, Refused> {
    let family = inspection.contract.family;
    let mut refused = Vec::new();
    let mut needed = BTreeSet::new();
    for import in &inspection.imports {
        match judge(family, origin, import, policy) {
            Ok(Some(permission)) => {
                needed.insert(permission);
            }
            Ok(None) => {}
            Err(reason) => refused.push(RefusedImport { import: import.clone(), reason }),
        }
    }
    if refused.is_empty() {
        Ok(Grants { needed: needed.into_iter().collect() })
    } else {
        Err(Refused { imports: refused })
    }
}

/// The permission that an import stands for, none if it needs none, or why it is refused.
fn judge(family: Family, origin: Origin, import: &str, policy: &Policy) -> Result<Option<String>, String> {
    let Some((package, interface)) = parts(import) else {
        return Err(
            "not an interface of a package; a plugin imports interfaces by name and version".to_owned()
        );
    };
    let plain = format!("{package}/{interface}");
    if policy.withhold.contains(&plain) {
        return Err(format!("the operator withholds {plain}, in the setting plugins.withhold"));
    }
    if let Some(package) = package.strip_prefix("wasi:") {
        return if wasi_is_offered(package, interface) {
            Ok(None)
        } else {
            Err(format!(
                "no plugin may have wasi:{package}; a plugin reaches the world through lakeport interfaces"
            ))
        };
    }
    let Some(package) = package.strip_prefix("lakeport:") else {
        return Err("this host offers lakeport and wasi interfaces only".to_owned());
    };
    match standing(family, package, interface) {
        Some(Standing::Always) => Ok(None),
        Some(Standing::Grant) => Ok(Some(plain)),
        Some(Standing::Bundled) if origin == Origin::Bundled => Ok(Some(plain)),
        Some(Standing::Bundled) => Err("only a component that came with the server may import it".to_owned()),
        Some(Standing::NotYet) => {
            Err("in the contract, but this version of Lakeport does not offer it yet".to_owned())
        }
        None => Err(format!("a {family} may not have it")),
    }
}

/// `lakeport:host/log@0.9.0` as (`lakeport:host`, `log`).
fn parts(import: &str) -> Option<(&str, &str)> {
    let (package, rest) = import.split_once('/')?;
    let interface = rest.split('@').next()?;
    (package.contains(':') && !interface.is_empty()).then_some((package, interface))
}

#[cfg(test)]
mod tests {
    use semver::Version;

    use super::*;
    use crate::family::Contract;

    fn importing(family: Family, imports: &[&str]) -> Inspection {
        Inspection {
            digest: String::new(),
            size: 0,
            contract: Contract { family, version: Version::new(0, 9, 0) },
            imports: imports.iter().map(|&i| i.to_owned()).collect(),
            exports: Vec::new(),
        }
    }

    #[test]
    fn a_connection_is_a_permission_and_the_log_is_not() {
        let inspection = importing(
            Family::Dialect,
            &["lakeport:host/log@0.9.0", "lakeport:dialect/connection@0.9.0", "wasi:cli/stdout@0.2.6"],
        );
        let grants = check(&inspection, Origin::Uploaded, &Policy::default()).unwrap();
        assert_eq!(grants.needed, ["lakeport:dialect/connection"]);
    }

    #[test]
    fn one_refusal_names_everything_that_is_missing() {
        let inspection = importing(
            Family::Dialect,
            &["wasi:sockets/tcp@0.2.6", "lakeport:host/http@0.9.0", "other:thing/a@1.0.0", "bare"],
        );
        let refused = check(&inspection, Origin::Uploaded, &Policy::default()).unwrap_err();
        let names: Vec<&str> = refused.imports.iter().map(|i| i.import.as_str()).collect();
        assert_eq!(
            names,
            ["wasi:sockets/tcp@0.2.6", "lakeport:host/http@0.9.0", "other:thing/a@1.0.0", "bare"]
        );
        let text = refused.to_string();
        assert!(text.contains("wasi:sockets") && text.contains("a dialect may not have it"), "{text}");
    }

    #[test]
    fn the_runner_is_for_what_came_with_the_server_alone() {
        let inspection = importing(Family::Engine, &["lakeport:runner/runner@0.1.0"]);
        let grants = check(&inspection, Origin::Bundled, &Policy::default()).unwrap();
        assert_eq!(grants.needed, ["lakeport:runner/runner"]);
        let refused = check(&inspection, Origin::Uploaded, &Policy::default()).unwrap_err();
        let text = refused.to_string();
        assert!(text.contains("lakeport:runner/runner@0.1.0"), "{text}");
        assert!(text.contains("only a component that came with the server may import it"), "{text}");
    }

    #[test]
    fn what_the_operator_withholds_is_refused_by_name() {
        let policy = Policy { withhold: ["lakeport:dialect/connection".to_owned()].into() };
        let inspection = importing(Family::Dialect, &["lakeport:dialect/connection@0.9.0"]);
        let refused = check(&inspection, Origin::Uploaded, &policy).unwrap_err();
        assert!(refused.to_string().contains("plugins.withhold"), "{refused}");
    }
}
