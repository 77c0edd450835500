//! The change log: the changes that other servers of this store, and this one's memory, must follow.
//!
//! A transaction declares its changes with [`Tx::changed`]; the log's numbers are assigned as its last
//! action, under a lock that is held until the commit. So numbers are in the order of the commits and without
//! gaps, and a reader of one number has missed none before it. [`Changes`] follows the log, by one task per
//! server: woken by this process's own commits, by other servers' notifications (PostgreSQL's NOTIFY, sent
//! after the commit, because within it commits would wait for each other), and by a timer for lost
//! notifications.
//!
//! The log has the topic and key of a change, never the new value: followers read it again.

mod applied;
mod follow;
mod followed;
mod subscription;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use lakeport_base::Error;
use tokio::sync::watch;

use super::{Begun, Db, Row, Statement, Tx, Value};
pub use applied::{Applied, Follows};
pub use follow::{Change, Changes};
pub use followed::{Feed, Followed};
pub use subscription::{Event, Subscription};

/// The key of a change that may concern all keys of its topic.
pub const EVERY_KEY: &str = "*";

/// A transaction with more changes records one per topic, for all keys.
const CHANGES_PER_TX: usize = 1_000;
/// The most batches of one purge, of 10,000 changes each; the next purge continues.
const PURGE_BATCHES: usize = 100;

/// The changes of a transaction, without duplicates.
#[derive(Debug, Default)]
pub(super) struct Changed(BTreeSet<(&'static str, String)>);

/// Signals this process's own commits to its follower.
#[derive(Debug)]
pub(super) struct Signal {
    /// The number of the newest one.
    newest: watch::Sender<i64>,
}

impl Default for Signal {
    fn default() -> Signal {
        Signal { newest: watch::Sender::new(0) }
    }
}

impl Signal {
    pub(super) fn committed(&self, number: i64) {
        self.newest.send_modify(|newest| *newest = number.max(*newest));
    }
}

impl Changed {
    fn add(&mut self, topic: &'static str, key: String) {
        self.0.insert((topic, key));
        if self.0.len() > CHANGES_PER_TX {
            let topics: BTreeSet<&'static str> = self.0.iter().map(|(topic, _)| *topic).collect();
            self.0 = topics.into_iter().map(|topic| (topic, EVERY_KEY.to_owned())).collect();
        }
    }

    /// `[["tokens","7"],…]`
    fn to_json(&self) -> String {
        serde_json::to_string(&self.0).expect("pairs of text are JSON")
    }
}

impl Tx {
    /// Declares a change, of which others are notified after the commit. The key tells what they must read
    /// again; [`EVERY_KEY`] if it may be anything.
    pub fn changed(&mut self, topic: &'static str, key: impl Into<String>) {
        self.changed.add(topic, key.into());
    }

    /// Writes the changes into the log, with the writes that were left for the commit; returns the last number.
    /// From here to the commit, all other transactions with changes wait.
    pub(super) async fn write_changes(&mut self) -> Result<Option<i64>, Error> {
        const SQLITE_TAKE: &str =
            "UPDATE change_counter SET number = number + $1 WHERE id = 1 RETURNING number";
        const SQLITE_WRITE: &str = "INSERT INTO changes (number, topic, key, at) \
            SELECT $1 + 1 + key, json_extract(value, '$[0]'), json_extract(value, '$[1]'), $3 FROM json_each($2)";
        // One statement: each further one would be a round trip during which others wait.
        const POSTGRES: &str = "taken AS \
            (UPDATE change_counter SET number = number + $1 WHERE id = 1 RETURNING number), \
            written AS (INSERT INTO changes (number, topic, key, at) \
            SELECT taken.number - $1 + place, change ->> 0, change ->> 1, $3 FROM taken, \
            json_array_elements(CAST($2 AS json)) WITH ORDINALITY AS list (change, place)) \
            SELECT number FROM taken";
        let count = i64::try_from(self.changed.0.len()).expect("they are bounded");
        let later = std::mem::take(&mut self.later);
        let is_one = self.is_on_postgres() && count > 0;
        if !is_one {
            self.execute_all(&later).await?;
        }
        if count == 0 {
            return Ok(None);
        }
        let changes = Value::from(self.changed.to_json());
        let now_ms = Value::Int(chrono::Utc::now().timestamp_millis());
        let number = match self.transaction {
            Begun::Postgres(_) => {
                let log = Statement::new(POSTGRES, [count.into(), changes, now_ms]);
                number_of(&self.query_after(&later, log).await?)?
            }
            Begun::Sqlite(_) => {
                let number = number_of(&self.query(SQLITE_TAKE, &[count.into()]).await?)?;
                self.execute(SQLITE_WRITE, &[(number - count).into(), changes, now_ms]).await?;
                number
            }
        };
        Ok(Some(number))
    }
}

fn number_of(rows: &[Row]) -> Result<i64, Error> {
    match rows.first() {
        Some(row) => row.get(0),
        None => Err(Error::internal(anyhow::anyhow!("the store's change_counter has no row"))),
    }
}

/// Deletes changes that were all made before this time, oldest first; returns their number. Followers that
/// have not read them reload everything.
pub async fn purge(db: &Db, before_ms: i64) -> Result<u64, Error> {
    const PURGE: &str = "DELETE FROM changes WHERE number IN (SELECT number FROM changes WHERE number < \
        coalesce((SELECT min(number) FROM changes WHERE at >= $1), (SELECT number + 1 FROM change_counter)) \
        ORDER BY number LIMIT 10000)";
    let mut purged = 0;
    for _ in 0..PURGE_BATCHES {
        match db.execute(PURGE, &[before_ms.into()]).await? {
            0 => break,
            count => purged += count,
        }
    }
    Ok(purged)
}
