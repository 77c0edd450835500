//! Compares a component's imports with what its family may import and what the operator grants. Pure
//! functions of names, tested without WebAssembly. One error lists all refused imports.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::family::{Family, Standing, standing, wasi_is_offered};
use crate::inspect::Inspection;
use crate::origin::Origin;

/// The interfaces that the operator withholds. Activating a plugin grants everything else that its family may
/// import.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Interfaces without their versions: `lakeport:dialect/connection`, `wasi:filesystem/types`.
    pub withhold: BTreeSet<String>,
}

/// The permissions of a component.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Grants {
    /// Interfaces that activating the plugin grants, without their versions, sorted.
    pub needed: Vec<String>,
    /// Interfaces that the operator withholds and the component declares optional.
    pub withheld: Vec<String>,
}

impl Grants {
    /// Refuses withheld interfaces that the plugin does not declare optional (`samples`).
    pub(crate) fn check_optional(&self, optional: &[String]) -> Result<(), Refused> {
        let is_needed = |plain: &&String| {
            !optional.iter().any(|name| plain.strip_prefix(TOOL_INTERFACES).is_some_and(|own| own == name))
        };
        let refused = |plain: &String| RefusedImport { import: plain.clone(), reason: withheld(plain) };
        let imports: Vec<RefusedImport> = self.withheld.iter().filter(is_needed).map(refused).collect();
        if imports.is_empty() { Ok(()) } else { Err(Refused { imports }) }
    }
}

/// The prefix of the interfaces that a tool may declare optional.
const TOOL_INTERFACES: &str = "lakeport:tool/";

fn withheld(plain: &str) -> String {
    format!("the operator withholds {plain}, in the setting plugins.withhold")
}

/// One refused import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedImport {
    /// The import as the component names it.
    pub import: String,
    /// The reason, for people.
    pub reason: String,
}

/// The error that lists all refused imports of a component.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", describe(.imports))]
pub struct Refused {
    /// The imports, in the component's order.
    pub imports: Vec<RefusedImport>,
}

fn describe(imports: &[RefusedImport]) -> String {
    let lines: Vec<String> = imports.iter().map(|i| format!("{} ({})", i.import, i.reason)).collect();
    format!("the component has imports that are not allowed: {}", lines.join("; "))
}

/// Decides whether the component may have its imports.
pub fn check(inspection: &Inspection, origin: Origin, policy: &Policy) -> Result<Grants, Refused> {
    let family = inspection.contract.family;
    let mut refused = Vec::new();
    let (mut needed, mut without) = (BTreeSet::new(), BTreeSet::new());
    for import in &inspection.imports {
        match judge(family, origin, import, policy) {
            Ok(Judgement::Permission(permission)) => {
                needed.insert(permission);
            }
            Ok(Judgement::Withheld(interface)) => {
                without.insert(interface);
            }
            Ok(Judgement::Free) => {}
            Err(reason) => refused.push(RefusedImport { import: import.clone(), reason }),
        }
    }
    if refused.is_empty() {
        Ok(Grants { needed: needed.into_iter().collect(), withheld: without.into_iter().collect() })
    } else {
        Err(Refused { imports: refused })
    }
}

/// The verdict on one import.
enum Judgement {
    /// Needs no permission.
    Free,
    Permission(String),
    /// Withheld from a tool; its description says whether it is optional.
    Withheld(String),
}

/// Classifies an import, or refuses it with the reason.
fn judge(family: Family, origin: Origin, import: &str, policy: &Policy) -> Result<Judgement, String> {
    let Some((package, interface)) = parts(import) else {
        return Err(
            "not an interface of a package; a plugin imports interfaces by name and version".to_owned()
        );
    };
    let plain = format!("{package}/{interface}");
    if policy.withhold.contains(&plain) {
        let may_be_optional = plain
            .strip_prefix(TOOL_INTERFACES)
            .is_some_and(|interface| standing(family, "tool", interface) == Some(Standing::Grant));
        return if may_be_optional { Ok(Judgement::Withheld(plain)) } else { Err(withheld(&plain)) };
    }
    if let Some(package) = package.strip_prefix("wasi:") {
        return if wasi_is_offered(package, interface) {
            Ok(Judgement::Free)
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
        Some(Standing::Always) => Ok(Judgement::Free),
        Some(Standing::Grant) => Ok(Judgement::Permission(plain)),
        Some(Standing::Bundled) if origin == Origin::Bundled => Ok(Judgement::Permission(plain)),
        Some(Standing::Bundled) => Err("only a component that came with the server may import it".to_owned()),
        Some(Standing::NotYet) => {
            Err("part of the contract, but not available in this version of Lakeport".to_owned())
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
    fn optional_imports_may_be_withheld() {
        let policy = Policy { withhold: ["lakeport:tool/samples".to_owned()].into() };
        let inspection =
            importing(Family::Tool, &["lakeport:tool/samples@0.9.0", "lakeport:tool/catalog@0.9.0"]);
        let grants = check(&inspection, Origin::Uploaded, &policy).unwrap();
        assert_eq!(grants.needed, ["lakeport:tool/catalog"]);
        assert_eq!(grants.withheld, ["lakeport:tool/samples"]);
        grants.check_optional(&["samples".to_owned()]).unwrap();
        let refused = grants.check_optional(&["catalog".to_owned()]).unwrap_err();
        assert!(refused.to_string().contains("plugins.withhold"), "{refused}");
    }

    #[test]
    fn what_the_operator_withholds_is_refused_by_name() {
        let policy = Policy { withhold: ["lakeport:dialect/connection".to_owned()].into() };
        let inspection = importing(Family::Dialect, &["lakeport:dialect/connection@0.9.0"]);
        let refused = check(&inspection, Origin::Uploaded, &policy).unwrap_err();
        assert!(refused.to_string().contains("plugins.withhold"), "{refused}");
    }
}
