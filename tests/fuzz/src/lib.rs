//! What the fuzz targets share. A target is a test `fuzz_NAME` beside the code that it attacks; `cargo xtask fuzz`
//! lists them and runs one for longer.
//!
//! Each target has a maker and a check. The maker turns random bytes into an input of the right shape, often an edit
//! of a kept one; the check states what holds for every input. The files in `__fuzz__/NAME/corpus` beside the source
//! are inputs as they are: each run checks them first.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

pub use bolero;

/// Where the smallest failing input of a target goes; set by `cargo xtask fuzz`.
const FAILURES: &str = "LAKEPORT_FUZZ_DIR";
/// The random bytes of one input: enough for some dozens of edits.
pub const CHOICES_MAX_BYTES: usize = 256;
/// The most edits of one input.
const EDITS_MAX: usize = 24;
/// The longest stretch that an edit deletes or repeats, in bytes.
const STRETCH_MAX: usize = 64;
/// Numbers at the edges of integers, as bytes of lengths and counts.
const EDGES: [u64; 10] =
    [0, 1, 0x7f, 0x80, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, i64::MAX as u64, u64::MAX];

/// Runs a target: its name, how many random inputs an ordinary test run makes, the maker, the check.
#[macro_export]
macro_rules! fuzz {
    ($name:literal, $iterations:expr, $make:expr, $check:expr) => {{
        let kept = $crate::check_kept(env!("CARGO_MANIFEST_DIR"), file!(), $name, $check);
        $crate::bolero::check!(name = $name)
            .with_iterations($iterations)
            .with_max_len($crate::CHOICES_MAX_BYTES)
            .for_each(|bytes: &[u8]| $crate::run($name, bytes, &kept, $make, $check));
    }};
}

/// Checks the inputs of a target's corpus, in the order of their names, and returns them.
pub fn check_kept(package: &str, file: &str, name: &str, check: impl Fn(&[u8])) -> Vec<Vec<u8>> {
    let source = Path::new(package).ancestors().map(|folder| folder.join(file)).find(|path| path.is_file());
    let source = source.expect("the target's source is in the workspace");
    let folder = source.with_file_name("__fuzz__").join(name).join("corpus");
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    let checked = paths.iter().map(|path| {
        let input = std::fs::read(path).expect("readable");
        if let Err(panicked) = catch_unwind(AssertUnwindSafe(|| check(&input))) {
            eprintln!("the kept input {} fails", path.display());
            resume_unwind(panicked);
        }
        input
    });
    checked.collect()
}

/// Checks one random input. If the check panics, keeps the input in a file and goes on panicking.
pub fn run(
    name: &'static str,
    bytes: &[u8],
    kept: &[Vec<u8>],
    make: impl Fn(&mut Choices<'_>, &[Vec<u8>]) -> Vec<u8>,
    check: impl Fn(&[u8]),
) {
    let input = make(&mut Choices(bytes), kept);
    if let Some(folder) = std::env::var_os(FAILURES) {
        // An input that ends the process leaves no other trace.
        std::fs::write(Path::new(&folder).join(format!("{name}.last")), &input).expect("the folder is there");
    }
    if let Err(panicked) = catch_unwind(AssertUnwindSafe(|| check(&input))) {
        keep(name, &input);
        resume_unwind(panicked);
    }
}

/// Writes a failing input, unless a smaller one was written.
fn keep(name: &'static str, input: &[u8]) {
    static SMALLEST: Mutex<BTreeMap<&str, usize>> = Mutex::new(BTreeMap::new());
    let mut smallest = SMALLEST.lock().unwrap_or_else(PoisonError::into_inner);
    if smallest.get(name).is_some_and(|length| *length <= input.len()) {
        return;
    }
    let folder = std::env::var_os(FAILURES).map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("a root").join("target/fuzz"),
        PathBuf::from,
    );
    let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(folder.join(name), input));
    // The panic that follows says what failed, with or without the file.
    if written.is_ok() {
        smallest.insert(name, input.len());
    }
}

/// Random bytes as choices. When they are used up, each choice is the first one.
pub struct Choices<'a>(pub &'a [u8]);

impl Choices<'_> {
    /// Whether no bytes are left: a maker ends soon.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number below `end`, or 0 if there is none.
    pub fn below(&mut self, end: usize) -> usize {
        let number = match end {
            0 | 1 => return 0,
            2..=256 => usize::from(self.byte()),
            _ => usize::from(self.byte()) << 16 | usize::from(self.byte()) << 8 | usize::from(self.byte()),
        };
        number % end
    }

    /// True once in so many times.
    pub fn one_in(&mut self, times: usize) -> bool {
        self.below(times) + 1 == times
    }

    /// One of them.
    pub fn pick<'t, T: ?Sized>(&mut self, among: &[&'t T]) -> &'t T {
        among[self.below(among.len())]
    }

    /// Any number, often one at an edge.
    pub fn number(&mut self) -> u64 {
        if self.one_in(2) {
            return EDGES[self.below(EDGES.len())];
        }
        let length = self.below(8) + 1;
        (0..length).fold(0, |number, _| number << 8 | u64::from(self.byte()))
    }

    /// Some words, one after the other, with or without blanks between them.
    pub fn words(&mut self, words: &[&str]) -> String {
        let mut text = String::new();
        for _ in 0..=self.below(16) {
            text.push_str(self.pick(words));
            if self.one_in(2) {
                text.push(' ');
            }
        }
        text
    }

    /// Edits a text: inserts words, deletes, repeats, moves and replaces.
    pub fn edit_text(&mut self, text: &mut String, words: &[&str]) {
        for _ in 0..=self.below(EDITS_MAX) {
            let at = text.floor_char_boundary(self.below(text.len() + 1));
            let end = text.floor_char_boundary((at + self.below(STRETCH_MAX)).min(text.len())).max(at);
            match self.below(8) {
                0..=2 => text.insert_str(at, self.pick(words)),
                3 => {
                    let word = self.pick(words).to_owned();
                    text.replace_range(at..end, &word);
                }
                4 => drop(text.drain(at..end)),
                5 => {
                    let again = text[at..end].to_owned();
                    text.insert_str(end, &again);
                }
                6 => {
                    let moved: String = text.drain(at..end).collect();
                    let to = text.floor_char_boundary(self.below(text.len() + 1));
                    text.insert_str(to, &moved);
                }
                _ => {
                    let code = if self.one_in(4) { self.below(0x11_0000) } else { self.below(0x80) };
                    text.insert(at, char::from_u32(code as u32).unwrap_or('\u{fffd}'));
                }
            }
            if self.is_empty() {
                return;
            }
        }
    }

    /// Edits bytes: flips, sets lengths to edges, deletes, repeats, moves, cuts off.
    pub fn edit_bytes(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.below(EDITS_MAX) {
            if bytes.is_empty() {
                bytes.push(self.byte());
                continue;
            }
            let at = self.below(bytes.len());
            let end = (at + self.below(STRETCH_MAX)).min(bytes.len());
            match self.below(9) {
                0 => bytes[at] ^= 1 << self.below(8),
                1 | 2 => bytes[at] = self.byte(),
                3 => {
                    let (number, width) = (self.number(), 1 << self.below(4));
                    let number = if self.one_in(2) { number.to_le_bytes() } else { number.to_be_bytes() };
                    bytes.splice(
                        at..(at + width).min(number.len() + at).min(bytes.len()),
                        number[..width].to_vec(),
                    );
                }
                4 => drop(bytes.drain(at..end)),
                5 => {
                    let again = bytes[at..end].to_vec();
                    bytes.splice(end..end, again);
                }
                6 => {
                    let moved: Vec<u8> = bytes.drain(at..end).collect();
                    let to = self.below(bytes.len() + 1);
                    bytes.splice(to..to, moved);
                }
                7 => bytes.insert(at, self.byte()),
                _ if self.one_in(4) => bytes.truncate(at),
                _ => bytes[at] = bytes[at].wrapping_add(1),
            }
            if self.is_empty() {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_bytes_are_the_same_choices() {
        let bytes: Vec<u8> = (0..=255).rev().collect();
        let edited = || {
            let (mut choices, mut text, mut data) = (Choices(&bytes), "SELECT 'é'".to_owned(), vec![1; 40]);
            choices.edit_text(&mut text, &["a", "'"]);
            choices.edit_bytes(&mut data);
            (text, data)
        };
        assert_eq!(edited(), edited());
        assert_ne!(edited().0, "SELECT 'é'");
    }

    #[test]
    fn used_up_choices_are_the_first() {
        let mut choices = Choices(&[]);
        assert_eq!((choices.below(9), choices.pick(&["a", "b"]), choices.one_in(2)), (0, "a", false));
        let mut text = String::new();
        choices.edit_text(&mut text, &["x"]);
        assert_eq!(text, "x");
    }
}
