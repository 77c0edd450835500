//! Checks a dialect: its description and its plans.
//!
//! Changes are generated from types that the dialect itself accepts, so that one corpus fits every database.
//! A plan is correct if it passes the host's own check, or if the dialect reports an obstacle. It is a
//! finding if the host refuses it, if the dialect fails, or if a user's text appears outside of quotes.

mod contract;
mod determinism;
mod errors;
mod limits;
mod quoting;
mod samples;
mod trial;

use lakeport_bindings::dialect::schema::ServerInfo;
use lakeport_plugins::Description;

use crate::load::{LoadError, Loaded};
use crate::report::Report;
use samples::Samples;
use trial::Trial;

/// One run of the kit on a component.
pub struct Conformance {
    /// The component's bytes.
    pub component: Vec<u8>,
    /// Servers to plan for; empty: each product, without a version and facts.
    pub servers: Vec<ServerInfo>,
    /// `extra` of a plain table in the form of the dialect's reader; `None` if it has none.
    pub table_extra: Option<String>,
}

impl Conformance {
    /// Runs all cases. The error is a component that the host does not stage.
    pub async fn run(self) -> Result<Report, LoadError> {
        let again = Loaded::new(self.component.clone()).await?;
        let loaded = Loaded::new(self.component).await?;
        let mut trial = Trial::new(&loaded)?;
        trial.extra = self.table_extra;
        let same = match (&loaded.generation.description, &again.generation.description) {
            (Description::Dialect(first), Description::Dialect(second)) => first == second,
            _ => false,
        };
        contract::description(&mut trial, same);
        let servers = if self.servers.is_empty() { trial.plain_servers() } else { self.servers };
        let mut offered = contract::Offered::default();
        for server in &servers {
            trial.server = server.clone();
            let Some(samples) = Samples::of(&mut trial).await else { continue };
            determinism::types(&mut trial, &samples).await;
            contract::changes(&mut trial, &samples, &mut offered).await;
            quoting::attacks(&mut trial, &samples).await;
            limits::limits(&mut trial, &samples).await;
            errors::errors(&mut trial, &samples).await;
        }
        contract::capabilities(&mut trial, &offered);
        Ok(trial.report)
    }
}
