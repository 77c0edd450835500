//! The log of queries: the tables they read and wrote, by whom and from where. It does not contain their texts.

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
