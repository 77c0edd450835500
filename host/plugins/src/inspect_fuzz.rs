//! Attacks the inspection of components with edits of small ones.

use lakeport_fuzz::{Choices, fuzz};

use super::*;

/// The codes of [`InspectError::code`] that bytes alone can cause.
const CODES: &[&str] = &[
    "component_empty",
    "component_precompiled",
    "component_core_module",
    "component_not_wasm",
    "component_malformed",
    "component_no_family",
    "component_several_contracts",
    "contract_version_unknown",
    "component_export_missing",
];
/// Names of imports and exports, in which a version or a family may be wrong.
const NAMES: &[&str] = &[
    "lakeport:tool/tool@0.9.0",
    "lakeport:tool/tool@0.9.7",
    "lakeport:tool/tool@0.9.0-beta",
    "lakeport:tool/tool@2.0.0",
    "lakeport:tool/tool",
    "lakeport:engine/about@0.9.0",
    "lakeport:engine/deploys@0.9.0",
    "lakeport:engine/runs@0.9.0",
    "lakeport:engine/watch@0.9.0",
    "lakeport:dialect/about@0.9.0",
    "lakeport:dialect/planner@0.9.0",
    "lakeport:dialect/reader@0.9.0",
    "lakeport:dialect/reader@0.9.99999999999999999999",
    "lakeport:host/log@0.9.0",
    "wasi:cli/run@0.2.0",
    "tool",
    "lakeport:tool/tool@0.9.0/x",
];
/// Pieces of a component's text; `NAME` is one of [`NAMES`].
const PIECES: &[&str] = &[
    "(instance $i)",
    "(export \"NAME\" (instance $i))",
    "(import \"NAME\" (instance))",
    "(core module)",
    "(core module (func (export \"f\")))",
    "(core module (memory 1) (data (i32.const 0) \"\\00asm\"))",
    "(component)",
    "(component (import \"NAME\" (instance)) (export \"x\" (instance 0)))",
    "(type (func (param \"a\" u32) (result string)))",
    "(type (list (list (list u8))))",
    "(type (record (field \"a\" string)))",
    "(type $r (resource (rep i32)))",
    "(core type (func))",
    "(component $c (instance $i) (export \"NAME\" (instance $i)))",
    "(instance (instantiate 0))",
];

#[test]
fn fuzz_component() {
    fuzz!("component", 1_500, make, check);
}

fn make(choices: &mut Choices<'_>, kept: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = kept[choices.below(kept.len())].clone();
    if choices.one_in(3) {
        let mut text = "(component (instance $i) ".to_owned();
        for _ in 0..choices.below(10) {
            text.push_str(&choices.pick(PIECES).replace("NAME", choices.pick(NAMES)));
        }
        // One that cannot be built leaves the kept one.
        bytes = wat::parse_str(text + ")").unwrap_or(bytes);
    }
    if !choices.one_in(4) {
        choices.edit_bytes(&mut bytes);
    }
    bytes
}

fn check(input: &[u8]) {
    let found = inspect(input);
    assert_eq!(format!("{found:?}"), format!("{:?}", inspect(input)), "one component, two answers");
    let inspection = match found {
        Ok(inspection) => inspection,
        Err(error) => {
            assert!(CODES.contains(&error.code()), "{error}");
            assert!(error.to_string().len() < 4_096, "a message of {} bytes", error.to_string().len());
            if let InspectError::Malformed { offset, .. } = error {
                assert!(offset <= input.len(), "at byte {offset} of {}", input.len());
            }
            return;
        }
    };
    assert_eq!((inspection.size, inspection.digest), (input.len(), digest(input)));
    let family = inspection.contract.family;
    assert!(family.versions().iter().any(|known| serves(known, &inspection.contract.version)));
    for required in family.required_exports() {
        assert!(inspection.exports.iter().any(|export| export == required), "{required} of {family:?}");
    }
    assert!(inspection.imports.len() <= EXTERNS_MAX && inspection.exports.len() <= EXTERNS_MAX);
    assert!(inspection.imports.is_sorted_by(|one, other| one < other), "{:?}", inspection.imports);
    // Accepted bytes are a component that the text tools read as well.
    assert!(wasmparser::Parser::is_component(input));
}
