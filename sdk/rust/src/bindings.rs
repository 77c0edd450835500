//! The bindings that `wit-bindgen` generates from the contracts. Plugins do not name them: the modules
//! `dialect`, `engine` and `tool` re-export them under short paths.
//!
//! Each world is generated with its exports removed from what is always linked; only the macro line in
//! a plugin adds them. So a tool that uses this crate exports nothing of a dialect.

/// `lakeport:host`: types and imports that more than one family may use.
pub mod host {
    wit_bindgen::generate!({
        inline: "
            package lakeport:sdk-host;

            world host-imports {
                import lakeport:host/types@0.9.0;
                import lakeport:host/data@0.9.0;
                import lakeport:host/log@0.9.0;
                import lakeport:host/call@0.9.0;
                import lakeport:host/config@0.9.0;
                import lakeport:host/clock@0.9.0;
                import lakeport:host/memo@0.9.0;
                import lakeport:host/web@0.9.0;
                import lakeport:host/http@0.9.0;
                import lakeport:host/files@0.9.0;
            }
        ",
        path: ["../../wit/host.wit"],
        additional_derives: [PartialEq],
        generate_unused_types: true,
        generate_all,
        pub_export_macro: true,
        runtime_path: "lakeport_sdk::wit_bindgen::rt",
    });
    pub use lakeport::host::*;
}

/// `lakeport:dialect`: the exports of every dialect.
pub mod dialect {
    wit_bindgen::generate!({
        inline: "
            package lakeport:sdk-dialect;

            world dialect-plugin {
                include lakeport:dialect/plugin@0.9.0;
            }
        ",
        path: ["../../wit/host.wit", "../../wit/dialect.wit"],
        additional_derives: [PartialEq],
        generate_unused_types: true,
        pub_export_macro: true,
        default_bindings_module: "lakeport_sdk::bindings::dialect",
        runtime_path: "lakeport_sdk::wit_bindgen::rt",
        generate_all,
        with: {
            "lakeport:host/types@0.9.0": lakeport_sdk::bindings::host::types,
            "lakeport:host/data@0.9.0": lakeport_sdk::bindings::host::data,
            "lakeport:host/log@0.9.0": lakeport_sdk::bindings::host::log,
        },
    });
    pub use exports::lakeport::dialect::{about, planner, reader};
    pub use lakeport::dialect::{connection, schema, statements};
}

/// The optional export of a dialect over HTTP.
pub mod dialect_wire {
    wit_bindgen::generate!({
        inline: "
            package lakeport:sdk-dialect-wire;

            world dialect-wire {
                export lakeport:dialect/wire@0.9.0;
            }
        ",
        path: ["../../wit/host.wit", "../../wit/dialect.wit"],
        additional_derives: [PartialEq],
        generate_unused_types: true,
        pub_export_macro: true,
        default_bindings_module: "lakeport_sdk::bindings::dialect_wire",
        runtime_path: "lakeport_sdk::wit_bindgen::rt",
        generate_all,
        with: {
            "lakeport:host/types@0.9.0": lakeport_sdk::bindings::host::types,
            "lakeport:host/data@0.9.0": lakeport_sdk::bindings::host::data,
            "lakeport:host/web@0.9.0": lakeport_sdk::bindings::host::web,
        },
    });
    pub use exports::lakeport::dialect::wire;
}

/// `lakeport:engine`: the exports of every engine.
pub mod engine {
    wit_bindgen::generate!({
        inline: "
            package lakeport:sdk-engine;

            world engine-plugin {
                include lakeport:engine/plugin@0.9.0;
            }
        ",
        path: ["../../wit/host.wit", "../../wit/engine.wit"],
        additional_derives: [PartialEq],
        generate_unused_types: true,
        pub_export_macro: true,
        default_bindings_module: "lakeport_sdk::bindings::engine",
        runtime_path: "lakeport_sdk::wit_bindgen::rt",
        generate_all,
        with: {
            "lakeport:host/types@0.9.0": lakeport_sdk::bindings::host::types,
            "lakeport:host/log@0.9.0": lakeport_sdk::bindings::host::log,
            "lakeport:host/call@0.9.0": lakeport_sdk::bindings::host::call,
            "lakeport:host/config@0.9.0": lakeport_sdk::bindings::host::config,
            "lakeport:host/clock@0.9.0": lakeport_sdk::bindings::host::clock,
            "lakeport:host/memo@0.9.0": lakeport_sdk::bindings::host::memo,
            "lakeport:host/web@0.9.0": lakeport_sdk::bindings::host::web,
            "lakeport:host/http@0.9.0": lakeport_sdk::bindings::host::http,
            "lakeport:host/files@0.9.0": lakeport_sdk::bindings::host::files,
        },
    });
    pub use exports::lakeport::engine::{about, deploys, runs, watch};
    pub use lakeport::engine::model;
}

/// The optional export of an engine with a timer.
pub mod engine_schedules {
    wit_bindgen::generate!({
        inline: "
            package lakeport:sdk-engine-schedules;

            world engine-schedules {
                export lakeport:engine/schedules@0.9.0;
            }
        ",
        path: ["../../wit/host.wit", "../../wit/engine.wit"],
        additional_derives: [PartialEq],
        generate_unused_types: true,
        pub_export_macro: true,
        default_bindings_module: "lakeport_sdk::bindings::engine_schedules",
        runtime_path: "lakeport_sdk::wit_bindgen::rt",
        generate_all,
        with: {
            "lakeport:host/types@0.9.0": lakeport_sdk::bindings::host::types,
            "lakeport:engine/model@0.9.0": lakeport_sdk::bindings::engine::model,
        },
    });
    pub use exports::lakeport::engine::schedules;
}

/// The optional export of an engine that can pause runs.
pub mod engine_pausing {
    wit_bindgen::generate!({
        inline: "
            package lakeport:sdk-engine-pausing;

            world engine-pausing {
                export lakeport:engine/pausing@0.9.0;
            }
        ",
        path: ["../../wit/host.wit", "../../wit/engine.wit"],
        additional_derives: [PartialEq],
        generate_unused_types: true,
        pub_export_macro: true,
        default_bindings_module: "lakeport_sdk::bindings::engine_pausing",
        runtime_path: "lakeport_sdk::wit_bindgen::rt",
        generate_all,
        with: {
            "lakeport:host/types@0.9.0": lakeport_sdk::bindings::host::types,
            "lakeport:engine/model@0.9.0": lakeport_sdk::bindings::engine::model,
        },
    });
    pub use exports::lakeport::engine::pausing;
}

/// The optional export of an engine that runs backfills itself.
pub mod engine_backfills {
    wit_bindgen::generate!({
        inline: "
            package lakeport:sdk-engine-backfills;

            world engine-backfills {
                export lakeport:engine/backfills@0.9.0;
            }
        ",
        path: ["../../wit/host.wit", "../../wit/engine.wit"],
        additional_derives: [PartialEq],
        generate_unused_types: true,
        pub_export_macro: true,
        default_bindings_module: "lakeport_sdk::bindings::engine_backfills",
        runtime_path: "lakeport_sdk::wit_bindgen::rt",
        generate_all,
        with: {
            "lakeport:host/types@0.9.0": lakeport_sdk::bindings::host::types,
            "lakeport:engine/model@0.9.0": lakeport_sdk::bindings::engine::model,
        },
    });
    pub use exports::lakeport::engine::backfills;
}

/// The optional export of an engine whose own definitions can be imported.
pub mod engine_definitions {
    wit_bindgen::generate!({
        inline: "
            package lakeport:sdk-engine-definitions;

            world engine-definitions {
                export lakeport:engine/definitions@0.9.0;
            }
        ",
        path: ["../../wit/host.wit", "../../wit/engine.wit"],
        additional_derives: [PartialEq],
        generate_unused_types: true,
        pub_export_macro: true,
        default_bindings_module: "lakeport_sdk::bindings::engine_definitions",
        runtime_path: "lakeport_sdk::wit_bindgen::rt",
        generate_all,
        with: {
            "lakeport:host/types@0.9.0": lakeport_sdk::bindings::host::types,
            "lakeport:engine/model@0.9.0": lakeport_sdk::bindings::engine::model,
        },
    });
    pub use exports::lakeport::engine::definitions;
}

/// The embedded scheduler, which only the bundled engine may import.
pub mod runner {
    wit_bindgen::generate!({
        inline: "
            package lakeport:sdk-runner;

            world runner-imports {
                import lakeport:runner/runner@0.1.0;
            }
        ",
        path: ["../../wit/host.wit", "../../wit/engine.wit", "../../wit/runner.wit"],
        additional_derives: [PartialEq],
        generate_unused_types: true,
        pub_export_macro: true,
        runtime_path: "lakeport_sdk::wit_bindgen::rt",
        generate_all,
        with: {
            "lakeport:host/types@0.9.0": lakeport_sdk::bindings::host::types,
            "lakeport:engine/model@0.9.0": lakeport_sdk::bindings::engine::model,
        },
    });
    pub use lakeport::runner::runner::*;
}

/// `lakeport:tool`: the exports of a tool, and the interfaces that only tools may import.
pub mod tool {
    wit_bindgen::generate!({
        inline: "
            package lakeport:sdk-tool;

            world tool-plugin {
                include lakeport:tool/plugin@0.9.0;
            }
        ",
        path: ["../../wit/host.wit", "../../wit/tool.wit"],
        additional_derives: [PartialEq],
        generate_unused_types: true,
        pub_export_macro: true,
        default_bindings_module: "lakeport_sdk::bindings::tool",
        runtime_path: "lakeport_sdk::wit_bindgen::rt",
        generate_all,
        with: {
            "lakeport:host/types@0.9.0": lakeport_sdk::bindings::host::types,
            "lakeport:host/data@0.9.0": lakeport_sdk::bindings::host::data,
            "lakeport:host/log@0.9.0": lakeport_sdk::bindings::host::log,
            "lakeport:host/config@0.9.0": lakeport_sdk::bindings::host::config,
            "lakeport:host/clock@0.9.0": lakeport_sdk::bindings::host::clock,
            "lakeport:host/web@0.9.0": lakeport_sdk::bindings::host::web,
            "lakeport:host/http@0.9.0": lakeport_sdk::bindings::host::http,
        },
    });
    pub use exports::lakeport::tool::tool;
    pub use lakeport::tool::{catalog, guard, lineage, query, results, samples, tables};
}
