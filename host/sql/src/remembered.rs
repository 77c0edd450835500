//! A cache of accepted statements: a dialect repeats its queries, and parsing one takes longer than its
//! answer. Their objects are checked again each time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use crate::guard::Judged;

/// Statements of one dialect. A full cache is cleared.
const STATEMENTS_MAX: usize = 256;
/// The longest cached statement, in bytes.
const TEXT_MAX_BYTES: usize = 16 * 1024;

/// Judged statements by their text.
#[derive(Clone, Debug, Default)]
pub(crate) struct Remembered(Arc<Mutex<HashMap<String, Arc<Judged>>>>);

impl Remembered {
    pub fn find(&self, sql: &str) -> Option<Arc<Judged>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(sql).cloned()
    }

    pub fn keep(&self, sql: String, judged: &Arc<Judged>) {
        if sql.len() > TEXT_MAX_BYTES {
            return;
        }
        let mut statements = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if statements.len() >= STATEMENTS_MAX {
            statements.clear();
        }
        statements.insert(sql, Arc::clone(judged));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn it_is_bounded() {
        let remembered = Remembered::default();
        let judged = Arc::new(Judged { sql: "SELECT 1".to_owned(), objects: BTreeSet::new(), parsed: true });
        for n in 0..=STATEMENTS_MAX {
            remembered.keep(format!("SELECT {n}"), &judged);
        }
        assert!(remembered.find("SELECT 0").is_none());
        assert_eq!(remembered.find(&format!("SELECT {STATEMENTS_MAX}")).as_deref(), Some(&*judged));
        remembered.keep(" ".repeat(TEXT_MAX_BYTES + 1), &judged);
        assert_eq!(remembered.0.lock().unwrap().len(), 1);
    }
}
