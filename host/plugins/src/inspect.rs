//! Reads a component without running or compiling it: its family and contract version from its exports, its
//! required interfaces from its imports. Pure functions of bytes.

use std::borrow::Cow;
use std::collections::BTreeSet;

use semver::Version;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use wasmparser::{Encoding, Parser, Payload, Validator, WasmFeatures};

use crate::family::{Contract, Family};

/// The largest component that is read, in bytes.
pub const COMPONENT_MAX_BYTES: usize = 64 * 1024 * 1024;
/// The most imports or exports that a component may have at its outermost level.
pub const EXTERNS_MAX: usize = 500;

/// The description of a component by its outermost imports and exports.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Inspection {
    /// SHA-256 over all bytes, 64 hex digits.
    pub digest: String,
    /// Length in bytes.
    pub size: usize,
    /// Its family and the version of the family's package that it was written against.
    pub contract: Contract,
    /// Names of its imports, sorted: `lakeport:host/log@0.9.0`.
    pub imports: Vec<String>,
    /// Names of the family's interfaces that it exports, without package and version: `planner`.
    pub exports: Vec<String>,
}

/// Why bytes are not a plugin. Each message says what to do.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq, Serialize, Deserialize)]
pub enum InspectError {
    /// The body was empty.
    #[error("the file is empty; send the component itself, as `cargo build --target wasm32-wasip2` makes it")]
    Empty,
    /// Larger than [`COMPONENT_MAX_BYTES`].
    #[error("the component has {size} bytes, the limit is {max}; strip debug information")]
    TooLarge {
        /// Its size in bytes.
        size: usize,
        /// The limit in bytes.
        max: usize,
    },
    /// Compiled machine code.
    #[error(
        "this is precompiled machine code (.cwasm), which could do anything and is never loaded from outside; \
         send the WebAssembly component it was made from"
    )]
    Precompiled,
    /// WebAssembly, but a core module.
    #[error(
        "this is a core WebAssembly module, not a component; build with `--target wasm32-wasip2`, \
         or wrap it with `wasm-tools component new`"
    )]
    CoreModule,
    /// Not WebAssembly.
    #[error(
        "this is not WebAssembly: it does not begin with the bytes 00 61 73 6d (a component in text form has to \
         be turned into binary first)"
    )]
    NotWasm,
    /// Damaged or truncated.
    #[error("the component is damaged or truncated at byte {offset}: {message}")]
    Malformed {
        /// The offset from the start, in bytes.
        offset: usize,
        /// The parser's message.
        message: String,
    },
    /// Its process came to the end of what it may use.
    #[error("{step} the component takes more than {why}; make it smaller and less deeply nested")]
    TooCostly {
        /// What was not finished.
        step: Cow<'static, str>,
        /// The bound.
        why: String,
    },
    /// No family's interface is exported.
    #[error(
        "the component is not a plugin: it exports {found}, but a dialect exports lakeport:dialect/planner, \
         an engine lakeport:engine/deploys and a tool lakeport:tool/tool"
    )]
    NoFamily {
        /// The exports, for people.
        found: String,
    },
    /// Exports of more than one family, or of two versions of one.
    #[error(
        "the component exports more than one contract ({found}); a plugin belongs to one family and one version"
    )]
    SeveralContracts {
        /// The contracts.
        found: String,
    },
    /// A version that this host does not speak.
    #[error(
        "the component was written against lakeport:{family}@{version}; this Lakeport speaks {known}. \
         Build it against one of these"
    )]
    UnknownVersion {
        /// The family.
        family: Family,
        /// The version it exports, as text.
        version: String,
        /// The supported versions, for people.
        known: String,
    },
    /// A required export is missing.
    #[error("a {family} plugin must export {missing}; this one exports {found}")]
    MissingExport {
        /// The family.
        family: Family,
        /// The missing export.
        missing: String,
        /// The existing exports.
        found: String,
    },
    /// More imports or exports than [`EXTERNS_MAX`].
    #[error("the component has more than {max} imports or exports")]
    TooManyExterns {
        /// The limit.
        max: usize,
    },
}

impl InspectError {
    /// The stable code of this error in answers.
    pub fn code(&self) -> &'static str {
        match self {
            InspectError::Empty => "component_empty",
            InspectError::TooLarge { .. } => "component_too_large",
            InspectError::Precompiled => "component_precompiled",
            InspectError::CoreModule => "component_core_module",
            InspectError::NotWasm => "component_not_wasm",
            InspectError::Malformed { .. } => "component_malformed",
            InspectError::TooCostly { .. } => "component_too_costly",
            InspectError::NoFamily { .. } => "component_no_family",
            InspectError::SeveralContracts { .. } => "component_several_contracts",
            InspectError::UnknownVersion { .. } => "contract_version_unknown",
            InspectError::MissingExport { .. } => "component_export_missing",
            InspectError::TooManyExterns { .. } => "component_malformed",
        }
    }
}

/// The digest that identifies a component: SHA-256, 64 hex digits.
pub fn digest(bytes: &[u8]) -> String {
    hex::encode(Sha256::digest(bytes))
}

/// Reads a component without running or compiling it.
pub fn inspect(bytes: &[u8]) -> Result<Inspection, InspectError> {
    refuse_by_first_bytes(bytes)?;
    validate(bytes)?;
    let (imports, exports) = outermost_names(bytes)?;
    let contract = contract_of(&exports)?;
    let prefix = format!("lakeport:{}/", contract.family);
    let exports: Vec<String> = exports
        .iter()
        .filter_map(|name| name.strip_prefix(&prefix)?.split('@').next().map(str::to_owned))
        .collect();
    for required in contract.family.required_exports() {
        if !exports.iter().any(|export| export == required) {
            return Err(InspectError::MissingExport {
                family: contract.family,
                missing: format!("{prefix}{required}@{}", contract.version),
                found: list(exports.iter().map(String::as_str)),
            });
        }
    }
    Ok(Inspection {
        digest: digest(bytes),
        size: bytes.len(),
        contract,
        imports: imports.into_iter().collect(),
        exports,
    })
}

pub(crate) fn refuse_by_first_bytes(bytes: &[u8]) -> Result<(), InspectError> {
    if bytes.is_empty() {
        return Err(InspectError::Empty);
    }
    if bytes.len() > COMPONENT_MAX_BYTES {
        return Err(InspectError::TooLarge { size: bytes.len(), max: COMPONENT_MAX_BYTES });
    }
    if wasmtime::Engine::detect_precompiled(bytes).is_some() || bytes.starts_with(b"\x7fELF") {
        return Err(InspectError::Precompiled);
    }
    if !bytes.starts_with(b"\0asm") {
        return Err(InspectError::NotWasm);
    }
    if Parser::is_core_wasm(bytes) {
        return Err(InspectError::CoreModule);
    }
    Ok(())
}

fn validate(bytes: &[u8]) -> Result<(), InspectError> {
    let features = WasmFeatures::default() - WasmFeatures::THREADS - WasmFeatures::CM_ASYNC;
    Validator::new_with_features(features).validate_all(bytes).map(drop).map_err(malformed)
}

fn malformed(error: wasmparser::BinaryReaderError) -> InspectError {
    InspectError::Malformed { offset: error.offset(), message: error.message().to_owned() }
}

/// The names of the outermost component's imports and exports; nested components do not count.
fn outermost_names(bytes: &[u8]) -> Result<(BTreeSet<String>, BTreeSet<String>), InspectError> {
    let (mut imports, mut exports) = (BTreeSet::new(), BTreeSet::new());
    let mut depth = 0usize;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload.map_err(malformed)? {
            Payload::Version { encoding, .. } => {
                if depth == 0 && encoding == Encoding::Module {
                    return Err(InspectError::CoreModule);
                }
                depth += 1;
            }
            Payload::End(_) => depth = depth.saturating_sub(1),
            Payload::ComponentImportSection(section) if depth == 1 => {
                for import in section {
                    imports.insert(import.map_err(malformed)?.name.name.to_owned());
                }
            }
            Payload::ComponentExportSection(section) if depth == 1 => {
                for export in section {
                    exports.insert(export.map_err(malformed)?.name.name.to_owned());
                }
            }
            _ => {}
        }
        if imports.len() > EXTERNS_MAX || exports.len() > EXTERNS_MAX {
            return Err(InspectError::TooManyExterns { max: EXTERNS_MAX });
        }
    }
    Ok((imports, exports))
}

fn contract_of(exports: &BTreeSet<String>) -> Result<Contract, InspectError> {
    let mut found: Vec<(Family, String)> = Vec::new();
    for family in Family::ALL {
        let prefix = format!("lakeport:{family}/");
        for name in exports.iter().filter_map(|name| name.strip_prefix(&prefix)) {
            let version = name.split_once('@').map_or("", |(_, version)| version).to_owned();
            if !found.contains(&(family, version.clone())) {
                found.push((family, version));
            }
        }
    }
    let (family, version) = match found.as_slice() {
        [] => {
            return Err(InspectError::NoFamily { found: list(exports.iter().map(String::as_str)) });
        }
        [one] => one.clone(),
        several => {
            let names: Vec<String> = several.iter().map(|(f, v)| format!("lakeport:{f}@{v}")).collect();
            return Err(InspectError::SeveralContracts { found: list(names.iter().map(String::as_str)) });
        }
    };
    match Version::parse(&version) {
        Ok(parsed) if family.versions().iter().any(|known| serves(known, &parsed)) => {
            Ok(Contract { family, version: parsed })
        }
        _ => Err(InspectError::UnknownVersion {
            family,
            version: if version.is_empty() { "(no version)".to_owned() } else { version },
            known: list(
                family.versions().iter().map(Version::to_string).collect::<Vec<_>>().iter().map(|v| &**v),
            ),
        }),
    }
}

/// Whether a host that speaks `known` can serve a component of `asked`: the same major, or below 1.0 the same
/// minor; a pre-release must match exactly. This is the linker's own rule.
pub(crate) fn serves(known: &Version, asked: &Version) -> bool {
    if !known.pre.is_empty() || !asked.pre.is_empty() {
        return known == asked;
    }
    if known.major == 0 && asked.major == 0 {
        return known.minor == asked.minor;
    }
    known.major == asked.major
}

/// A list for people; long ones are cut.
fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 8;
    let names: Vec<&str> = names.collect();
    match names.len() {
        0 => "nothing".to_owned(),
        n if n <= SHOWN => names.join(", "),
        n => format!("{} and {} more", names[..SHOWN].join(", "), n - SHOWN),
    }
}

#[cfg(test)]
#[path = "inspect_fuzz.rs"]
mod fuzz;

#[cfg(test)]
mod tests {
    use super::*;

    fn component(text: &str) -> Vec<u8> {
        wat::parse_str(text).expect("the test's own component")
    }

    #[test]
    fn each_wrong_file_has_its_own_error() {
        assert_eq!(inspect(b"").unwrap_err(), InspectError::Empty);
        assert_eq!(inspect(b"(component)").unwrap_err(), InspectError::NotWasm);
        assert_eq!(inspect(&component("(module)")).unwrap_err(), InspectError::CoreModule);
        assert!(matches!(inspect(&component("(component)")), Err(InspectError::NoFamily { .. })));
    }

    #[test]
    fn a_version_that_is_not_spoken_is_named() {
        let bytes =
            component(r#"(component (instance $i) (export "lakeport:tool/tool@2.0.0" (instance $i)))"#);
        let error = inspect(&bytes).unwrap_err();
        assert_eq!(error.code(), "contract_version_unknown");
        assert!(error.to_string().contains("lakeport:tool@2.0.0"), "{error}");
        assert!(error.to_string().contains("0.9.0"), "{error}");
    }

    #[test]
    fn two_families_in_one_component_are_refused() {
        let bytes = component(
            r#"(component (instance $i)
                (export "lakeport:tool/tool@0.9.0" (instance $i))
                (export "lakeport:engine/deploys@0.9.0" (instance $i)))"#,
        );
        assert_eq!(inspect(&bytes).unwrap_err().code(), "component_several_contracts");
    }

    #[test]
    fn a_dialect_without_reader_is_refused() {
        let bytes = component(
            r#"(component (instance $i)
                (export "lakeport:dialect/about@0.9.0" (instance $i))
                (export "lakeport:dialect/planner@0.9.0" (instance $i)))"#,
        );
        let error = inspect(&bytes).unwrap_err();
        assert!(error.to_string().contains("lakeport:dialect/reader@0.9.0"), "{error}");
    }

    #[test]
    fn truncated_components_are_errors_not_panics() {
        let bytes = component(
            r#"(component (core module (func (export "f"))) (instance $i) (export "lakeport:tool/tool@0.9.0" (instance $i)))"#,
        );
        assert!(inspect(&bytes).is_ok());
        for length in 0..bytes.len() {
            // Truncated exactly before the trailing section of debug names, it is a complete component.
            let only_names_gone =
                bytes[length..].windows(14).any(|w| w == b"component-name") && bytes[length] == 0;
            assert!(only_names_gone || inspect(&bytes[..length]).is_err(), "cut at {length}");
        }
    }

    #[test]
    fn patch_versions_are_served_and_other_minors_are_not() {
        let v = |text: &str| Version::parse(text).unwrap();
        assert!(serves(&v("0.9.0"), &v("0.9.3")));
        assert!(!serves(&v("0.9.0"), &v("0.8.0")));
        assert!(serves(&v("1.2.0"), &v("1.0.0")));
        assert!(!serves(&v("1.0.0"), &v("2.0.0")));
        assert!(!serves(&v("1.0.0"), &v("1.0.0-beta")));
    }
}
