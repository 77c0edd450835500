//! Checks the contracts themselves: they resolve, all parts are documented, and their sets stay open.

use std::path::Path;

use wit_parser::{Docs, Resolve, TypeDefKind, UnresolvedPackageGroup, WorldItem};

/// All packages, dependencies first.
fn resolve() -> Resolve {
    let mut resolve = Resolve::default();
    for file in ["host.wit", "dialect.wit", "engine.wit", "tool.wit", "runner.wit"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../wit").join(file);
        let text = std::fs::read_to_string(&path).expect("the contracts lie in wit/");
        let group = UnresolvedPackageGroup::parse(&path, &text)
            .map_err(|(_, e)| e)
            .unwrap_or_else(|e| panic!("{file}: {e}"));
        resolve.push_group(group).unwrap_or_else(|error| panic!("{file}: {error}"));
    }
    resolve
}

#[test]
fn the_packages_have_the_versions_that_the_host_speaks() {
    let resolve = resolve();
    let mut names: Vec<String> =
        resolve.packages.iter().map(|(_, package)| package.name.to_string()).collect();
    names.sort();
    assert_eq!(
        names,
        [
            "lakeport:dialect@0.9.0",
            "lakeport:engine@0.9.0",
            "lakeport:host@0.9.0",
            "lakeport:runner@0.1.0",
            "lakeport:tool@0.9.0",
        ]
    );
}

#[test]
fn every_package_interface_function_type_and_member_is_documented() {
    let resolve = resolve();
    let mut missing = Vec::new();
    let mut look = |docs: &Docs, what: String| {
        if docs.contents.as_ref().is_none_or(|text| text.trim().is_empty()) {
            missing.push(what);
        }
    };
    for (_, package) in &resolve.packages {
        look(&package.docs, package.name.to_string());
    }
    for (_, interface) in &resolve.interfaces {
        let name = interface.name.clone().unwrap_or_default();
        look(&interface.docs, format!("interface {name}"));
        for (function, item) in &interface.functions {
            look(&item.docs, format!("{name}.{function}"));
        }
        for (type_name, id) in &interface.types {
            let item = &resolve.types[*id];
            // `use` and aliases carry the documentation of their target.
            if matches!(item.kind, TypeDefKind::Type(wit_parser::Type::Id(_))) {
                continue;
            }
            let path = format!("{name}.{type_name}");
            look(&item.docs, path.clone());
            match &item.kind {
                TypeDefKind::Record(record) => {
                    record
                        .fields
                        .iter()
                        .for_each(|field| look(&field.docs, format!("{path}.{}", field.name)));
                }
                TypeDefKind::Variant(variant) => {
                    variant.cases.iter().for_each(|case| look(&case.docs, format!("{path}.{}", case.name)));
                }
                TypeDefKind::Enum(words) => {
                    words.cases.iter().for_each(|case| look(&case.docs, format!("{path}.{}", case.name)));
                }
                _ => {}
            }
        }
    }
    for (_, world) in &resolve.worlds {
        look(&world.docs, format!("world {}", world.name));
    }
    assert!(missing.is_empty(), "without documentation: {missing:#?}");
}

/// An enum can never grow without breaking every plugin; `level` is the only one that need not grow.
#[test]
fn the_log_level_is_the_only_enum() {
    let resolve = resolve();
    let enums: Vec<&str> = resolve
        .types
        .iter()
        .filter(|(_, item)| matches!(item.kind, TypeDefKind::Enum(_) | TypeDefKind::Flags(_)))
        .filter_map(|(_, item)| item.name.as_deref())
        .collect();
    assert_eq!(enums, ["level"]);
}

#[test]
fn dialects_import_only_log_and_connection() {
    let resolve = resolve();
    let (_, world) = resolve
        .worlds
        .iter()
        .find(|(_, world)| {
            world.name == "plugin" && package_of(&resolve, world.package) == "lakeport:dialect@0.9.0"
        })
        .expect("the world of dialects");
    let mut acting: Vec<String> = world
        .imports
        .values()
        .filter_map(|item| match item {
            WorldItem::Interface { id, .. } => Some(&resolve.interfaces[*id]),
            _ => None,
        })
        .filter(|interface| !interface.functions.is_empty())
        .filter_map(|interface| interface.name.clone())
        .collect();
    acting.sort();
    assert_eq!(acting, ["connection", "log"]);
}

fn package_of(resolve: &Resolve, package: Option<wit_parser::PackageId>) -> String {
    package.map(|id| resolve.packages[id].name.to_string()).unwrap_or_default()
}
