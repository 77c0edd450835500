//! The rule for callers that are bound to data sources. By no operation may such a caller cause a statement on
//! another data source, or see its SQL, values, error texts or logs. Every road from a caller to a data source
//! asks here, or asks [`Caller`] where the data source's name is at hand: changes are refused, and lists
//! withhold what the caller may not see.

use std::collections::HashMap;

use lakeport_base::Error;
use lakeport_http::Caller;
use lakeport_store::Db;

use super::names_by_id;

/// A caller's rights on data sources, by their ids.
pub struct Rights<'c> {
    caller: &'c Caller,
    /// The names of all data sources; empty for a caller that is not bound.
    names: HashMap<i64, String>,
}

impl<'c> Rights<'c> {
    /// Reads nothing for a caller that is not bound.
    pub async fn of(db: &Db, caller: &'c Caller) -> Result<Rights<'c>, Error> {
        let names = if caller.is_bound() { names_by_id(db).await? } else { HashMap::new() };
        Ok(Rights { caller, names })
    }

    pub fn are_bound(&self) -> bool {
        self.caller.is_bound()
    }

    /// Whether the caller may use this data source. `None`, which has no data source, is open to all. One that
    /// was deleted has no name any more, and is closed to every bound caller.
    pub fn may_use(&self, id: Option<i64>) -> bool {
        match id {
            Some(id) if self.are_bound() => self.names.get(&id).is_some_and(|name| self.caller.may_use(name)),
            _ => true,
        }
    }

    /// 403 unless the caller may use all of these data sources.
    pub fn check(&self, ids: impl IntoIterator<Item = Option<i64>>) -> Result<(), Error> {
        let Some(closed) = ids.into_iter().find(|id| !self.may_use(*id)).flatten() else { return Ok(()) };
        match self.names.get(&closed) {
            Some(name) => self.caller.check_datasource(name),
            None if closed == 0 => {
                self.caller.check_datasource("any one, as a script may, or one that does not exist")
            }
            None => self.caller.check_datasource(&format!("{closed}, which was deleted")),
        }
    }
}
