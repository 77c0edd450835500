//! `lakeport:dialect/connection`: a read-only session lent to a dialect for one call. The lender owns the
//! session and the guard in front of it.

use lakeport_bindings::dialect::connection::{Connection, Host, HostConnection, Limits};
use lakeport_bindings::dialect::statements::Fragment;
use lakeport_bindings::host::data::RowSet;
use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use wasmtime::component::Resource;

use crate::state::CallState;

impl Host for CallState {}

impl HostConnection for CallState {
    async fn query(
        &mut self,
        _session: Resource<Connection>,
        statement: Vec<Fragment>,
        limits: Limits,
    ) -> wasmtime::Result<Result<RowSet, Error>> {
        let turn = self.cpu_turn.clone();
        let Some(connection) = self.connection.as_mut() else {
            return Ok(Err(error("unavailable", "the connection was taken back when its call ended")));
        };
        Ok(turn.waiting(connection.query(statement, limits)).await)
    }

    async fn drop(&mut self, _session: Resource<Connection>) -> wasmtime::Result<()> {
        // Dropping the handle early ends the loan.
        self.connection = None;
        Ok(())
    }
}
