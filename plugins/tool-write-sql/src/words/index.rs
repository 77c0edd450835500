//! Words of lists, found by their hash. The tables are made when the program is compiled: a component that lives for
//! one call would build them in each call.

/// A word of a list.
#[derive(Clone, Copy)]
pub struct Entry {
    text: &'static str,
    /// Bytes of the text by which it is found.
    key: usize,
    /// The place of its list.
    list: u16,
    /// The next entry with the same key, one more than its place; 0: none.
    next: u16,
}

/// Words by their keys, the words of one key in the order of the lists.
pub struct Index {
    entries: &'static [Entry],
    slots: &'static [u16],
}

/// What [`index!`] keeps: the entries, and for each hash the first one of a key, one more than its place; 0: none.
pub struct Table<const ENTRIES: usize, const SLOTS: usize> {
    pub entries: [Entry; ENTRIES],
    pub slots: [u16; SLOTS],
}

/// An index of groups of lists: `index!(groups, between words of a list, after a key)`.
macro_rules! index {
    ($groups:expr, $between:expr, $after:expr) => {{
        use $crate::words::index::{Index, Table, entries, slots};
        const ENTRIES: usize = entries($groups, $between);
        static TABLE: Table<ENTRIES, { slots(ENTRIES) }> = Table::of($groups, $between, $after);
        Index::of(&TABLE.entries, &TABLE.slots)
    }};
}
pub(super) use index;

/// One member of each tuple: a group of lists.
macro_rules! members {
    ($tuples:expr, $member:tt) => {{
        const MEMBERS: [&str; $tuples.len()] = {
            let mut lists = [""; $tuples.len()];
            let mut at = 0;
            while at < lists.len() {
                lists[at] = $tuples[at].$member;
                at += 1;
            }
            lists
        };
        MEMBERS.as_slice()
    }};
}
pub(super) use members;

impl Index {
    pub const fn of(entries: &'static [Entry], slots: &'static [u16]) -> Index {
        Index { entries, slots }
    }

    /// The words with a key, each with the place of its list.
    pub fn get(&self, key: &str) -> impl Iterator<Item = (&'static str, usize)> + use<> {
        let entries = self.entries;
        let mut next = first(entries, self.slots, key.as_bytes()).1;
        std::iter::from_fn(move || {
            let entry = entries.get(usize::from(next).checked_sub(1)?)?;
            next = entry.next;
            Some((entry.text, usize::from(entry.list)))
        })
    }

    pub fn has(&self, key: &str) -> bool {
        first(self.entries, self.slots, key.as_bytes()).1 > 0
    }
}

/// The words of groups of lists.
pub const fn entries(groups: &[&[&str]], between: &str) -> usize {
    let mut count = 0;
    let mut group = 0;
    while group < groups.len() {
        let mut list = 0;
        while list < groups[group].len() {
            let bytes = groups[group][list].as_bytes();
            count += 1;
            let mut at = 0;
            while at < bytes.len() {
                count += is_one_of(bytes[at], between) as usize;
                at += 1;
            }
            list += 1;
        }
        group += 1;
    }
    count
}

/// Slots for so many entries: half of them stay free.
pub const fn slots(entries: usize) -> usize {
    (2 * entries).next_power_of_two()
}

/// The length in characters of the longest word of lists by the hash of its first character: most texts do not begin with a
/// word, and need not be looked for.
pub struct Longest([u8; LONGEST_SLOTS]);

const LONGEST_SLOTS: usize = 2048;

impl Longest {
    pub const fn of(groups: &[&[&str]]) -> Longest {
        let mut longest = [0; LONGEST_SLOTS];
        let mut group = 0;
        while group < groups.len() {
            let mut list = 0;
            while list < groups[group].len() {
                let bytes = groups[group][list].as_bytes();
                let (mut begin, mut length, mut at) = (0, 0, 0);
                while at <= bytes.len() {
                    if at == bytes.len() || bytes[at] == b'|' {
                        let slot = Longest::slot(bytes, begin, at);
                        if length > longest[slot] {
                            longest[slot] = length;
                        }
                        (begin, length) = (at + 1, 0);
                    } else if bytes[at] & 0xc0 != 0x80 {
                        length += 1;
                    }
                    at += 1;
                }
                list += 1;
            }
            group += 1;
        }
        Longest(longest)
    }

    /// In characters; 0: no word begins so.
    pub fn beginning(&self, text: &str) -> usize {
        usize::from(self.0[Longest::slot(text.as_bytes(), 0, text.len())])
    }

    const fn slot(bytes: &[u8], begin: usize, end: usize) -> usize {
        let mut hash = 0;
        let mut at = begin;
        while at < end && (at == begin || bytes[at] & 0xc0 == 0x80) {
            hash = hash * 67 + bytes[at] as usize;
            at += 1;
        }
        hash % LONGEST_SLOTS
    }
}

impl<const ENTRIES: usize, const SLOTS: usize> Table<ENTRIES, SLOTS> {
    pub const fn of(groups: &[&[&'static str]], between: &str, after: &str) -> Self {
        assert!(ENTRIES < u16::MAX as usize, "places have 16 bits");
        let mut table =
            Table { entries: [Entry { text: "", key: 0, list: 0, next: 0 }; ENTRIES], slots: [0; SLOTS] };
        let mut count = 0;
        let mut lists = 0;
        let mut group = 0;
        while group < groups.len() {
            let mut list = 0;
            while list < groups[group].len() {
                let mut rest = groups[group][list];
                loop {
                    let (text, others) = rest.split_at(until(rest, between));
                    table.entries[count] = Entry { text, key: until(text, after), list: lists, next: 0 };
                    table.insert(count);
                    count += 1;
                    if others.is_empty() {
                        break;
                    }
                    rest = others.split_at(1).1;
                }
                lists += 1;
                list += 1;
            }
            group += 1;
        }
        table
    }

    #[expect(clippy::cast_possible_truncation, reason = "`of` asserts it")]
    const fn insert(&mut self, place: usize) {
        let Entry { text, key, .. } = self.entries[place];
        let (slot, mut known) = first(&self.entries, &self.slots, text.split_at(key).0.as_bytes());
        if known == 0 {
            self.slots[slot] = place as u16 + 1;
            return;
        }
        while self.entries[known as usize - 1].next > 0 {
            known = self.entries[known as usize - 1].next;
        }
        self.entries[known as usize - 1].next = place as u16 + 1;
    }
}

/// The slot of a key, and what is in it.
const fn first(entries: &[Entry], slots: &[u16], key: &[u8]) -> (usize, u16) {
    let mut slot = hash(key) & (slots.len() - 1);
    while slots[slot] > 0 {
        let Entry { text, key: length, .. } = entries[slots[slot] as usize - 1];
        if is_same(text.as_bytes(), length, key) {
            break;
        }
        slot = (slot + 1) & (slots.len() - 1);
    }
    (slot, slots[slot])
}

/// FNV-1a.
const fn hash(bytes: &[u8]) -> usize {
    let mut hash: u32 = 0x811c_9dc5;
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    // The upper bits are the better ones.
    (hash ^ (hash >> 15)) as usize
}

const fn is_same(text: &[u8], length: usize, key: &[u8]) -> bool {
    if length != key.len() {
        return false;
    }
    let mut at = 0;
    while at < length {
        if text[at] != key[at] {
            return false;
        }
        at += 1;
    }
    true
}

const fn until(text: &str, ends: &str) -> usize {
    let mut at = 0;
    while at < text.len() && !is_one_of(text.as_bytes()[at], ends) {
        at += 1;
    }
    at
}

const fn is_one_of(byte: u8, others: &str) -> bool {
    let mut at = 0;
    while at < others.len() {
        if others.as_bytes()[at] == byte {
            return true;
        }
        at += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{Index, Longest};

    const LISTS: &[(&str, u8)] = &[("in all|in|各", 1), ("of|in", 2)];

    #[test]
    fn words_are_found_by_their_keys_in_the_order_of_the_lists() {
        static BY_FIRST: Index = index!(&[members!(LISTS, 0), &["all"]], "|", " ");
        let found = |word: &str| BY_FIRST.get(word).collect::<Vec<_>>();
        assert_eq!(found("in"), [("in all", 0), ("in", 0), ("in", 1)]);
        assert_eq!(found("各"), [("各", 0)]);
        assert_eq!(found("all"), [("all", 2)]);
        assert!(found("").is_empty() && found("i").is_empty() && found("in all").is_empty());

        static LONGEST: Longest = Longest::of(&[members!(LISTS, 0)]);
        assert_eq!(["inside", "各位", "为"].map(|text| LONGEST.beginning(text)), [6, 1, 0]);

        static WORDS: Index = index!(&[members!(LISTS, 0)], "| ", "");
        assert!(WORDS.has("all") && WORDS.has("of") && !WORDS.has("in all"));
    }
}
