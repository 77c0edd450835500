//! The log of queries: the tables they read and wrote, by whom and from where. It does not contain their texts.

mod store;
mod unlogged;

use crate::core::Core;
use crate::part::{Part, RetentionRule};
#[cfg(test)]
pub use store::testing;
pub use store::{Outcome, Query, Reader, readers, reads};
pub use unlogged::Unlogged;

pub fn part() -> Part<Core> {
    Part {
        retained: vec![RetentionRule::days(store::RETAINED, |settings| settings.query_log_days)],
        ..Part::default()
    }
}
