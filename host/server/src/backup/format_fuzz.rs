//! Attacks the reading of backups. One that is read is written again, and holds the same; one that is not is an error.

use flate2::read::GzDecoder as Plain;
use lakeport_fuzz::{Choices, fuzz};

use super::*;

/// Pieces of lines that a reader could take for something else.
const WORDS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    "[]",
    "[1]",
    ",",
    ":",
    "\"",
    "\n",
    "\r\n",
    "null",
    "0",
    "-1",
    "1.5",
    "1e400",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "true",
    "\"\\u0000\"",
    "\"\\ud800\"",
    "{\"b64\":\"AP8H\"}",
    "{\"b64\":\"AP8\"}",
    "{\"b64\":\"A\\u0050==\"}",
    "{\"real\":\"1.5\"}",
    "{\"real\":\"NaN\"}",
    "{\"real\":\"inf\"}",
    "{\"real\":1}",
    "{\"real\":\"1\",\"b64\":\"\"}",
    "{}",
    "{\"table\":\"t\",\"columns\":[\"a\"]}",
    "{\"table\":\"u\",\"columns\":[]}",
    "{\"end\":{},\"sha256\":\"\"}",
    "\"last_number\":7",
    "\u{feff}",
    "é",
];
/// A bomb is not followed further.
const PLAIN_MAX_BYTES: u64 = 1024 * 1024;

#[test]
fn fuzz_backup() {
    fuzz!("backup", 1_200, make, check);
}

fn make(choices: &mut Choices<'_>, kept: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = kept[choices.below(kept.len())].clone();
    let is_raw = choices.one_in(4);
    let mut plain = String::new();
    if is_raw || Plain::new(&*bytes).take(PLAIN_MAX_BYTES).read_to_string(&mut plain).is_err() {
        choices.edit_bytes(&mut bytes);
        return bytes;
    }
    let is_signed = choices.one_in(2);
    if is_signed {
        // Without its end, which is written again.
        plain.truncate(plain.trim_end().rfind('\n').map_or(0, |end| end + 1));
    }
    choices.edit_text(&mut plain, WORDS);
    if is_signed {
        plain = signed(plain);
    }
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(plain.as_bytes()).expect("in memory");
    packed.finish().expect("in memory")
}

/// The lines with an end that fits them.
fn signed(mut plain: String) -> String {
    let (mut tables, mut table) = (BTreeMap::new(), String::new());
    for line in plain.lines().skip(1) {
        if line.starts_with('[') {
            *tables.entry(table.clone()).or_default() += 1;
        } else if let Ok(line) = serde_json::from_str::<TableLine>(line) {
            tables.insert(line.table.clone(), 0);
            table = line.table;
        }
    }
    let end = End { end: tables, sha256: hex::encode(Sha256::digest(plain.as_bytes())) };
    plain.push_str(&serde_json::to_string(&end).expect("it is JSON"));
    plain.push('\n');
    plain
}

fn check(input: &[u8]) {
    let read = read(input);
    let again = self::read(input);
    assert_eq!(format!("{read:?}"), format!("{again:?}"), "one file, two readings");
    let Ok((entries, summary)) = read else { return };
    let (mut columns, mut rows) = (0, BTreeMap::new());
    let mut writer = Writer::new(Vec::new(), summary.header.clone()).expect("in memory");
    let mut table = String::new();
    for entry in &entries {
        match entry {
            Entry::Table(line) => {
                (columns, table) = (line.columns.len(), line.table.clone());
                rows.insert(table.clone(), 0);
                writer.table(line.clone()).expect("in memory");
            }
            Entry::Row(values) => {
                assert_eq!(values.len(), columns, "a row of {table} is not one");
                *rows.get_mut(&table).expect("a table") += 1;
                writer.row(values).expect("what was read can be written");
            }
            Entry::End(_) => panic!("the end stands among the rows"),
        }
    }
    assert_eq!(rows, summary.tables);
    let (bytes, written) = writer.finish().expect("in memory");
    let (same, read) = self::read(&bytes).expect("what was written can be read");
    assert_eq!(format!("{same:?}"), format!("{entries:?}"));
    assert_eq!(read, written);
}

/// All entries but the end, and the totals.
fn read(bytes: &[u8]) -> Result<(Vec<Entry>, Summary), String> {
    let shown = |error: anyhow::Error| format!("{error:#}");
    let mut reader = Reader::open(bytes).map_err(shown)?;
    let mut entries = Vec::new();
    loop {
        match reader.entry().map_err(shown)? {
            Entry::End(summary) => return Ok((entries, summary)),
            entry => entries.push(entry),
        }
    }
}
