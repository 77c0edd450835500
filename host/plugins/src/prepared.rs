//! A component that is compiled and linked, ready for calls.

use std::sync::Arc;

use lakeport_bindings::{dialect, engine, tool};
use wasmtime::AsContextMut;
use wasmtime::component::{Instance, InstancePre};

use crate::family::Family;
use crate::state::CallState;

/// A linked component with the places of its exports. Making one fails when an export is missing.
pub enum Prepared {
    /// A dialect.
    Dialect(dialect::PluginPre<CallState>),
    /// An engine.
    Engine(Arc<EnginePre>),
    /// A tool.
    Tool(tool::PluginPre<CallState>),
}

/// An engine: the exports that every one has, and those that it may have.
pub struct EnginePre {
    pub(crate) pre: InstancePre<CallState>,
    pub(crate) about: engine::about::GuestIndices,
    pub(crate) deploys: engine::deploys::GuestIndices,
    pub(crate) runs: engine::runs::GuestIndices,
    pub(crate) watch: engine::watch::GuestIndices,
    pub(crate) schedules: Option<engine::schedules::GuestIndices>,
    pub(crate) backfills: Option<engine::backfills::GuestIndices>,
    pub(crate) definitions: Option<engine::definitions::GuestIndices>,
}

impl EnginePre {
    /// Looks every export up on an instance, which is when their types are compared.
    pub(crate) fn check_types(
        &self,
        mut store: impl AsContextMut,
        instance: &Instance,
    ) -> wasmtime::Result<()> {
        self.deploys.load(&mut store, instance)?;
        self.runs.load(&mut store, instance)?;
        self.watch.load(&mut store, instance)?;
        if let Some(schedules) = &self.schedules {
            schedules.load(&mut store, instance)?;
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

/// What a plugin says of itself.
#[derive(Clone, Debug, PartialEq)]
pub enum Description {
    /// A dialect.
    Dialect(Arc<dialect::about::DialectInfo>),
    /// An engine.
    Engine(Box<engine::about::EngineInfo>),
    /// A tool.
    Tool(Box<tool::tool::ToolInfo>),
}

impl Prepared {
    pub(crate) fn new(
        family: Family,
        exports: &[String],
        pre: InstancePre<CallState>,
    ) -> wasmtime::Result<Self> {
        let has = |name: &str| exports.iter().any(|export| export == name);
        Ok(match family {
            Family::Dialect => Prepared::Dialect(dialect::PluginPre::new(pre)?),
            Family::Tool => Prepared::Tool(tool::PluginPre::new(pre)?),
            Family::Engine => Prepared::Engine(Arc::new(EnginePre {
                about: engine::about::GuestIndices::new(&pre)?,
                deploys: engine::deploys::GuestIndices::new(&pre)?,
                runs: engine::runs::GuestIndices::new(&pre)?,
                watch: engine::watch::GuestIndices::new(&pre)?,
                schedules: has("schedules")
                    .then(|| engine::schedules::GuestIndices::new(&pre))
                    .transpose()?,
                backfills: has("backfills")
                    .then(|| engine::backfills::GuestIndices::new(&pre))
                    .transpose()?,
                definitions: has("definitions")
                    .then(|| engine::definitions::GuestIndices::new(&pre))
                    .transpose()?,
                pre,
            })),
        })
    }
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

    /// What it is, in a few words for a person.
    pub fn title(&self) -> &str {
        match self {
            Description::Dialect(info) => &info.title,
            Description::Engine(info) => &info.title,
            Description::Tool(info) => &info.title,
        }
    }
}
