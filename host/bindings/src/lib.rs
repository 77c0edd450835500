//! Host-side bindings of the contracts in `wit/`, generated and compiled once.
//!
//! `host` holds the types of all families; the families reuse them, so that one `Error`, one `Cell` and one
//! `log::Host` serve all of them. Bindings only: `lakeport-plugins` implements the imports.

/// `lakeport:host`: types and imports that more than one family may use.
pub mod host {
    wasmtime::component::bindgen!({
        inline: "
            package lakeport:bindings;

            world host {
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
        imports: { default: async | trappable },
        // Worker processes receive and return these types.
        additional_derives: [PartialEq, serde::Serialize, serde::Deserialize],
        require_store_data_send: true,
    });
    pub use lakeport::host::*;

    /// A plain error of the host: nothing was changed, and a retry does not help.
    pub fn error(code: &str, message: impl Into<String>) -> types::Error {
        types::Error {
            code: code.to_owned(),
            message: message.into(),
            retryable: false,
            retry_after_ms: None,
            may_have_applied: false,
            upstream: None,
            context: Vec::new(),
        }
    }
}

/// `lakeport:dialect`: the exports of a dialect, and the connection that the host lends it.
pub mod dialect {
    wasmtime::component::bindgen!({
        path: ["../../wit/host.wit", "../../wit/dialect.wit"],
        world: "lakeport:dialect/plugin@0.9.0",
        imports: { default: async | trappable },
        exports: { default: async },
        additional_derives: [PartialEq, serde::Serialize, serde::Deserialize],
        require_store_data_send: true,
        with: {
            "lakeport:host/types@0.9.0": crate::host::types,
            "lakeport:host/data@0.9.0": crate::host::data,
            "lakeport:host/log@0.9.0": crate::host::log,
        },
    });
    pub use exports::lakeport::dialect::{about, planner, reader};
    pub use lakeport::dialect::{connection, schema, statements};
}

/// The optional `wire` of a dialect over HTTP.
pub mod dialect_over_http {
    wasmtime::component::bindgen!({
        path: ["../../wit/host.wit", "../../wit/dialect.wit"],
        world: "lakeport:dialect/plugin-over-http@0.9.0",
        imports: { default: async | trappable },
        exports: { default: async },
        additional_derives: [PartialEq, serde::Serialize, serde::Deserialize],
        require_store_data_send: true,
        with: {
            "lakeport:host/types@0.9.0": crate::host::types,
            "lakeport:host/data@0.9.0": crate::host::data,
            "lakeport:host/log@0.9.0": crate::host::log,
            "lakeport:host/web@0.9.0": crate::host::web,
            "lakeport:dialect/schema@0.9.0": crate::dialect::schema,
            "lakeport:dialect/statements@0.9.0": crate::dialect::statements,
            "lakeport:dialect/connection@0.9.0": crate::dialect::connection,
        },
    });
    pub use exports::lakeport::dialect::wire;
}

/// `lakeport:engine`: the exports of an engine, including the optional ones.
pub mod engine {
    wasmtime::component::bindgen!({
        path: ["../../wit/host.wit", "../../wit/engine.wit"],
        world: "lakeport:engine/plugin-complete@0.9.0",
        imports: { default: async | trappable },
        exports: { default: async },
        additional_derives: [PartialEq, serde::Serialize, serde::Deserialize],
        require_store_data_send: true,
        with: {
            "lakeport:host/types@0.9.0": crate::host::types,
            "lakeport:host/log@0.9.0": crate::host::log,
            "lakeport:host/call@0.9.0": crate::host::call,
            "lakeport:host/config@0.9.0": crate::host::config,
            "lakeport:host/clock@0.9.0": crate::host::clock,
            "lakeport:host/memo@0.9.0": crate::host::memo,
            "lakeport:host/web@0.9.0": crate::host::web,
            "lakeport:host/http@0.9.0": crate::host::http,
            "lakeport:host/files@0.9.0": crate::host::files,
        },
    });
    pub use exports::lakeport::engine::{
        about, backfills, definitions, deploys, pausing, runs, schedules, watch,
    };
    pub use lakeport::engine::model;

    impl model::Task {
        /// What it runs, as its author wrote it.
        pub fn text(&self) -> String {
            let spelled = |part: &model::BodyPart| match part {
                model::BodyPart::Text(text) => text.clone(),
                model::BodyPart::Value(value) => value.spelled.clone(),
            };
            self.body.iter().map(spelled).collect()
        }
    }
}

/// `lakeport:tool`: the exports of a tool, and the interfaces that only tools may import.
pub mod tool {
    wasmtime::component::bindgen!({
        path: ["../../wit/host.wit", "../../wit/tool.wit"],
        world: "lakeport:tool/plugin@0.9.0",
        imports: { default: async | trappable },
        exports: { default: async },
        additional_derives: [PartialEq, serde::Serialize, serde::Deserialize],
        require_store_data_send: true,
        with: {
            "lakeport:host/types@0.9.0": crate::host::types,
            "lakeport:host/data@0.9.0": crate::host::data,
            "lakeport:host/log@0.9.0": crate::host::log,
            "lakeport:host/config@0.9.0": crate::host::config,
            "lakeport:host/clock@0.9.0": crate::host::clock,
            "lakeport:host/web@0.9.0": crate::host::web,
            "lakeport:host/http@0.9.0": crate::host::http,
        },
    });
    pub use exports::lakeport::tool::tool;
    pub use lakeport::tool::{catalog, guard, lineage, query, results, samples, tables};
}

/// `lakeport:runner`: the embedded scheduler, for the bundled engine only.
pub mod runner {
    wasmtime::component::bindgen!({
        inline: "
            package lakeport:bindings;

            world runner {
                import lakeport:runner/runner@0.1.0;
            }
        ",
        path: ["../../wit/host.wit", "../../wit/engine.wit", "../../wit/runner.wit"],
        imports: { default: async | trappable },
        additional_derives: [PartialEq, serde::Serialize, serde::Deserialize],
        require_store_data_send: true,
        with: {
            "lakeport:host/types@0.9.0": crate::host::types,
            "lakeport:engine/model@0.9.0": crate::engine::model,
        },
    });
    pub use lakeport::runner::runner::*;
}
