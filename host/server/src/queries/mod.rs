//! The log of queries: who read which table, and what asked for it. What a query said is not in it.

mod store;

use crate::core::Core;
use crate::part::{Part, RetentionRule};
pub use store::{Outcome, Query, Reader, readers, reads, record};

pub fn part() -> Part<Core> {
    Part {
        retained: vec![RetentionRule::days(store::RETAINED, |settings| settings.query_log_days)],
        ..Part::default()
    }
}
