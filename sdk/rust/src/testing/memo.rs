//! The cache of the instance.

use std::collections::VecDeque;
use std::time::Duration;

/// Bytes of all entries, [`ENTRY_BYTES`] of each included, as in the server.
const MEMO_MAX_BYTES: usize = 64 * 1024;
const ENTRY_BYTES: usize = 64;

#[derive(Default)]
pub struct Memo {
    entries: VecDeque<Entry>,
}

struct Entry {
    key: String,
    value: String,
    until: Duration,
}

impl Entry {
    fn bytes(&self) -> usize {
        self.key.len() + self.value.len() + ENTRY_BYTES
    }
}

impl Memo {
    pub fn clear(&mut self) {
        self.entries.clear();
    }

    /// An entry that has not expired at this time.
    pub fn get(&self, key: &str, at: Duration) -> Option<String> {
        let found = self.entries.iter().find(|entry| entry.key == key && entry.until > at);
        found.map(|entry| entry.value.clone())
    }

    /// Keeps an entry; the oldest ones make room for it. One that is larger than the cache is not kept.
    pub fn put(&mut self, key: &str, value: &str, until: Duration) {
        self.entries.retain(|entry| entry.key != key);
        let entry = Entry { key: key.to_owned(), value: value.to_owned(), until };
        if entry.bytes() > MEMO_MAX_BYTES {
            return;
        }
        self.entries.push_back(entry);
        while self.entries.iter().map(Entry::bytes).sum::<usize>() > MEMO_MAX_BYTES {
            self.entries.pop_front();
        }
    }
}
