//! A compiled and linked component, ready for calls.

use std::collections::HashMap;
use std::sync::Arc;

use lakeport_bindings::{dialect, engine, tool};
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, ComponentExportIndex, Instance, InstancePre};
use wasmtime::{AsContextMut, Store};

use crate::family::{Contract, Family};
use crate::state::CallState;

/// A linked component with the indices of its exported functions. Creating it fails if an export is missing.
pub struct Prepared {
    pre: InstancePre<CallState>,
    guest: Guest,
    /// By interface and name: `planner.plan`.
    functions: HashMap<String, ComponentExportIndex>,
}

/// The interfaces of a family. Their types are compared once, when a component is staged: comparing them at
/// every call would take longer than most calls.
enum Guest {
    Dialect(dialect::PluginIndices),
    Engine(Box<EngineIndices>),
    Tool(tool::PluginIndices),
}

/// An engine's required and optional exports.
struct EngineIndices {
    about: engine::about::GuestIndices,
    deploys: engine::deploys::GuestIndices,
    runs: engine::runs::GuestIndices,
    watch: engine::watch::GuestIndices,
    schedules: Option<engine::schedules::GuestIndices>,
    pausing: Option<engine::pausing::GuestIndices>,
    backfills: Option<engine::backfills::GuestIndices>,
    definitions: Option<engine::definitions::GuestIndices>,
}

/// The description of a plugin.
#[derive(Clone, Debug, PartialEq)]
pub enum Description {
    /// A dialect.
    Dialect(Arc<dialect::about::DialectInfo>),
    /// An engine.
    Engine(Box<engine::about::EngineInfo>),
    /// A tool.
    Tool(Arc<tool::tool::ToolInfo>),
}

impl Prepared {
    pub(crate) fn new(
        contract: &Contract,
        exports: &[String],
        pre: InstancePre<CallState>,
    ) -> wasmtime::Result<Self> {
        let guest = match contract.family {
            Family::Dialect => Guest::Dialect(dialect::PluginIndices::new(&pre)?),
            Family::Tool => Guest::Tool(tool::PluginIndices::new(&pre)?),
            Family::Engine => Guest::Engine(Box::new(EngineIndices::new(exports, &pre)?)),
        };
        let functions = functions(contract, pre.component());
        Ok(Prepared { pre, guest, functions })
    }

    /// A fresh instance. [`Self::check_types`] has compared its types.
    pub(crate) async fn instantiate(&self, store: &mut Store<CallState>) -> wasmtime::Result<Instance> {
        self.pre.instantiate_async(store).await
    }

    /// The index of an exported function, `planner.plan`.
    pub(crate) fn place(&self, function: &str) -> wasmtime::Result<&ComponentExportIndex> {
        self.functions
            .get(function)
            .ok_or_else(|| wasmtime::Error::msg(format!("the plugin does not export {function}")))
    }

    pub(crate) fn family(&self) -> Family {
        match self.guest {
            Guest::Dialect(_) => Family::Dialect,
            Guest::Engine(_) => Family::Engine,
            Guest::Tool(_) => Family::Tool,
        }
    }

    /// Compares the types of all exports with the contract.
    pub(crate) fn check_types(
        &self,
        store: &mut Store<CallState>,
        instance: &Instance,
    ) -> wasmtime::Result<()> {
        match &self.guest {
            Guest::Dialect(indices) => indices.load(store, instance).map(drop),
            Guest::Engine(indices) => indices.check_types(store, instance),
            Guest::Tool(indices) => indices.load(store, instance).map(drop),
        }
    }
}

impl EngineIndices {
    fn new(exports: &[String], pre: &InstancePre<CallState>) -> wasmtime::Result<Self> {
        let has = |name: &str| exports.iter().any(|export| export == name);
        Ok(EngineIndices {
            about: engine::about::GuestIndices::new(pre)?,
            deploys: engine::deploys::GuestIndices::new(pre)?,
            runs: engine::runs::GuestIndices::new(pre)?,
            watch: engine::watch::GuestIndices::new(pre)?,
            schedules: has("schedules").then(|| engine::schedules::GuestIndices::new(pre)).transpose()?,
            pausing: has("pausing").then(|| engine::pausing::GuestIndices::new(pre)).transpose()?,
            backfills: has("backfills").then(|| engine::backfills::GuestIndices::new(pre)).transpose()?,
            definitions: has("definitions")
                .then(|| engine::definitions::GuestIndices::new(pre))
                .transpose()?,
        })
    }

    fn check_types(&self, mut store: impl AsContextMut, instance: &Instance) -> wasmtime::Result<()> {
        self.about.load(&mut store, instance)?;
        self.deploys.load(&mut store, instance)?;
        self.runs.load(&mut store, instance)?;
        self.watch.load(&mut store, instance)?;
        if let Some(schedules) = &self.schedules {
            schedules.load(&mut store, instance)?;
        }
        if let Some(pausing) = &self.pausing {
            pausing.load(&mut store, instance)?;
        }
        if let Some(backfills) = &self.backfills {
            backfills.load(&mut store, instance)?;
        }
        if let Some(definitions) = &self.definitions {
            definitions.load(&mut store, instance)?;
        }
        Ok(())
    }
}

/// The functions of the contract's interfaces that a component exports.
fn functions(contract: &Contract, component: &Component) -> HashMap<String, ComponentExportIndex> {
    let Contract { family, version } = contract;
    let mut found = HashMap::new();
    for interface in family.required_exports().iter().chain(family.optional_exports()) {
        let name = format!("lakeport:{family}/{interface}@{version}");
        let Some((ComponentItem::ComponentInstance(instance), place)) = component.get_export(None, &*name)
        else {
            continue;
        };
        for (function, _) in instance.exports(component.engine()) {
            if let Some(place) = component.get_export_index(Some(&place), function) {
                found.insert(format!("{interface}.{function}"), place);
            }
        }
    }
    found
}

impl Description {
    /// The plugin's name.
    pub fn name(&self) -> &str {
        match self {
            Description::Dialect(info) => &info.name,
            Description::Engine(info) => &info.name,
            Description::Tool(info) => &info.name,
        }
    }

    /// The plugin's own version.
    pub fn version(&self) -> &str {
        match self {
            Description::Dialect(info) => &info.version,
            Description::Engine(info) => &info.version,
            Description::Tool(info) => &info.version,
        }
    }

    /// A short title for people.
    pub fn title(&self) -> &str {
        match self {
            Description::Dialect(info) => &info.title,
            Description::Engine(info) => &info.title,
            Description::Tool(info) => &info.title,
        }
    }
}
