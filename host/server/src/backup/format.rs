//! The format of a backup, the same for both stores: gzip of lines of JSON. A header; for each table a line
//! with its name and columns, then one line per row, an array of the columns' values; at the end a line with
//! the number of rows and the SHA-256 of all lines before it. A file without a valid end is not a backup.
//!
//! Integers are numbers; `{"real":"1.5"}` and `{"b64":"AP8H"}` are floating-point numbers and bytes; true is
//! 1.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead, BufReader, Read, Write};

use anyhow::{Context, bail, ensure};
use base64::engine::general_purpose::STANDARD as BASE64;
use base64::prelude::*;
use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use lakeport_store::Value;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

const FORMAT: &str = "lakeport-backup";
const VERSION: u32 = 1;
/// The longest line: a row with a component of 64 MiB, and reserve.
const LINE_BYTES: usize = 256 * 1024 * 1024;
/// The longest line that is no row, in bytes: it holds names of tables and columns. Read into memory it takes a
/// multiple.
const NAMES_LINE_BYTES: usize = 1024 * 1024;
/// The most tables: a store has some dozens. Each takes memory until the end.
const TABLES_MAX: usize = 10_000;

/// Encoded at once; a multiple of three, so that the pieces form one text.
const B64_PIECE_BYTES: usize = 3 * 16 * 1024;

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    pub format: String,
    pub version: u32,
    /// The version of Lakeport that wrote it.
    pub product: String,
    /// The schema version of the rows.
    pub schema: i64,
    pub store: String,
    /// RFC 3339, UTC.
    pub at: String,
}

/// The line before a table's rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableLine {
    pub table: String,
    pub columns: Vec<String>,
    /// The last id that the store assigned, for a table with generated ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_number: Option<i64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct End {
    /// Rows by table.
    end: BTreeMap<String, u64>,
    sha256: String,
}

/// The totals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    pub header: Header,
    /// Rows by table.
    pub tables: BTreeMap<String, u64>,
    /// Before compression.
    pub bytes: u64,
    pub sha256: String,
}

impl Summary {
    pub fn rows(&self) -> u64 {
        self.tables.values().sum()
    }
}

impl Header {
    pub fn new(schema: i64, store: &str) -> Header {
        Header {
            format: FORMAT.to_owned(),
            version: VERSION,
            product: env!("CARGO_PKG_VERSION").to_owned(),
            schema,
            store: store.to_owned(),
            at: chrono::Utc::now().to_rfc3339_opts(chrono::SecondsFormat::Secs, true),
        }
    }
}

/// Writes a backup, line by line.
pub struct Writer<W: Write> {
    out: Hashing<GzEncoder<W>>,
    header: Header,
    tables: BTreeMap<String, u64>,
    table: String,
}

/// Hashes the bytes that it passes on.
struct Hashing<W> {
    inner: W,
    hash: Sha256,
    bytes: u64,
}

impl<W: Write> Write for Hashing<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let count = self.inner.write(bytes)?;
        self.hash.update(&bytes[..count]);
        self.bytes += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

impl<W: Write> Writer<W> {
    pub fn new(out: W, header: Header) -> std::io::Result<Writer<W>> {
        let out = Hashing { inner: GzEncoder::new(out, Compression::fast()), hash: Sha256::new(), bytes: 0 };
        let mut writer = Writer { out, header, tables: BTreeMap::new(), table: String::new() };
        serde_json::to_writer(&mut writer.out, &writer.header)?;
        writer.out.write_all(b"\n")?;
        Ok(writer)
    }

    pub fn table(&mut self, line: TableLine) -> std::io::Result<()> {
        serde_json::to_writer(&mut self.out, &line)?;
        self.out.write_all(b"\n")?;
        self.tables.insert(line.table.clone(), 0);
        self.table = line.table;
        Ok(())
    }

    /// A row of the current table; returns the number of its rows so far.
    pub fn row(&mut self, values: &[Value]) -> anyhow::Result<u64> {
        let before = self.out.bytes;
        for (index, value) in values.iter().enumerate() {
            self.out.write_all(if index == 0 { b"[" } else { b"," })?;
            self.value(value)?;
        }
        self.out.write_all(b"]\n")?;
        ensure!(
            self.out.bytes - before <= LINE_BYTES as u64,
            "a row of {} is larger than {LINE_BYTES} bytes, the most that could be restored",
            self.table
        );
        let rows = self.tables.entry(self.table.clone()).or_default();
        *rows += 1;
        Ok(*rows)
    }

    fn value(&mut self, value: &Value) -> std::io::Result<()> {
        match value {
            Value::Null => self.out.write_all(b"null"),
            Value::Int(number) => write!(self.out, "{number}"),
            Value::Bool(is) => write!(self.out, "{}", u8::from(*is)),
            Value::Real(number) => write!(self.out, "{{\"real\":\"{number:?}\"}}"),
            Value::Text(text) => serde_json::to_writer(&mut self.out, text).map_err(Into::into),
            Value::Bytes(bytes) => {
                self.out.write_all(b"{\"b64\":\"")?;
                for piece in bytes.chunks(B64_PIECE_BYTES) {
                    self.out.write_all(BASE64.encode(piece).as_bytes())?;
                }
                self.out.write_all(b"\"}")
            }
            Value::Ids(_) => Err(std::io::Error::other("no column has lists of ids")),
        }
    }

    /// Writes the end; returns the underlying writer.
    pub fn finish(mut self) -> std::io::Result<(W, Summary)> {
        let sha256 = hex::encode(std::mem::take(&mut self.out.hash).finalize());
        let summary = Summary { header: self.header, tables: self.tables, bytes: self.out.bytes, sha256 };
        let end = End { end: summary.tables.clone(), sha256: summary.sha256.clone() };
        serde_json::to_writer(&mut self.out, &end)?;
        self.out.write_all(b"\n")?;
        Ok((self.out.inner.finish()?, summary))
    }
}

/// Reads a backup, line by line. Its rows are verified only once [`Reader::entry`] has returned the end.
pub struct Reader<R: Read> {
    lines: BufReader<GzDecoder<BufReader<R>>>,
    hash: Sha256,
    bytes: u64,
    line: Vec<u8>,
    pub header: Header,
    tables: BTreeMap<String, u64>,
    table: String,
    /// The columns of the current table.
    columns: usize,
}

#[derive(Debug, PartialEq)]
pub enum Entry {
    Table(TableLine),
    /// Of the current table.
    Row(Vec<Value>),
    /// The end: the digest is correct.
    End(Summary),
}

impl<R: Read> Reader<R> {
    pub fn open(input: R) -> anyhow::Result<Reader<R>> {
        let mut reader = Reader {
            lines: BufReader::new(GzDecoder::new(BufReader::new(input))),
            hash: Sha256::new(),
            bytes: 0,
            line: Vec::new(),
            header: Header::new(0, ""),
            tables: BTreeMap::new(),
            table: String::new(),
            columns: 0,
        };
        reader.read_line().context("this is not a backup of Lakeport")?;
        reader.line_is_of_names().context("this is not a backup of Lakeport")?;
        let header: Header =
            serde_json::from_slice(&reader.line).context("this is not a backup of Lakeport")?;
        ensure!(header.format == FORMAT, "this is not a backup of Lakeport: its format is {}", header.format);
        ensure!(
            header.version == VERSION,
            "the backup was written by Lakeport {} in version {} of the format; this one reads version {VERSION}",
            header.product,
            header.version
        );
        reader.take_line();
        reader.header = header;
        Ok(reader)
    }

    pub fn entry(&mut self) -> anyhow::Result<Entry> {
        self.read_line()?;
        let is_row = self.line.first() == Some(&b'[');
        if !is_row {
            self.line_is_of_names()?;
        }
        let entry = if is_row {
            let rows = self.tables.get_mut(&self.table).context("a row stands before any table")?;
            let mut json = serde_json::Deserializer::from_slice(&self.line);
            let values = Row { columns: self.columns }.deserialize(&mut json);
            let values = values.and_then(|values| json.end().map(|()| values));
            let values = values.with_context(|| format!("a row of {} cannot be read", self.table))?;
            *rows += 1;
            Entry::Row(values)
        } else if let Ok(end) = serde_json::from_slice::<End>(&self.line) {
            return self.end(end);
        } else {
            let line: TableLine = serde_json::from_slice(&self.line).context("a line cannot be read")?;
            self.table.clone_from(&line.table);
            self.columns = line.columns.len();
            let before = self.tables.insert(line.table.clone(), 0);
            ensure!(before.is_none(), "the table {} comes twice", line.table);
            ensure!(self.tables.len() <= TABLES_MAX, "it holds more than {TABLES_MAX} tables");
            Entry::Table(line)
        };
        self.take_line();
        Ok(entry)
    }

    fn end(&mut self, end: End) -> anyhow::Result<Entry> {
        let sha256 = hex::encode(std::mem::take(&mut self.hash).finalize());
        ensure!(end.sha256 == sha256, "its digest is not that of what it holds");
        ensure!(end.end == self.tables, "it holds other rows than its end says");
        // Reads to the last byte, to check gzip's own sum, and that nothing follows.
        let mut rest = [0];
        ensure!(self.lines.read(&mut rest)? == 0, "there is data after its end");
        ensure!(self.lines.get_mut().get_mut().fill_buf()?.is_empty(), "there is data after its end");
        let (header, tables) = (self.header.clone(), std::mem::take(&mut self.tables));
        Ok(Entry::End(Summary { header, tables, bytes: self.bytes, sha256 }))
    }

    /// The next line, with its line break.
    fn read_line(&mut self) -> anyhow::Result<()> {
        self.line.clear();
        let limit = LINE_BYTES as u64 + 1;
        (&mut self.lines).take(limit).read_until(b'\n', &mut self.line)?;
        match self.line.last() {
            Some(b'\n') => Ok(()),
            _ if self.line.len() > LINE_BYTES => bail!("a line is longer than {LINE_BYTES} bytes"),
            _ => bail!("it is cut off"),
        }
    }

    fn line_is_of_names(&self) -> anyhow::Result<()> {
        let length = self.line.len();
        ensure!(length <= NAMES_LINE_BYTES, "a line that is no row is longer than {NAMES_LINE_BYTES} bytes");
        Ok(())
    }

    fn take_line(&mut self) {
        self.hash.update(&self.line);
        self.bytes += self.line.len() as u64;
    }
}

/// A row with a value for each column. More are not taken into memory.
struct Row {
    columns: usize,
}

impl<'de> DeserializeSeed<'de> for Row {
    type Value = Vec<Value>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Vec<Value>, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Row {
    type Value = Vec<Value>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} values, one for each column", self.columns)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut cells: A) -> Result<Vec<Value>, A::Error> {
        let mut values = Vec::new();
        while let Some(Cell(value)) = cells.next_element()? {
            if values.len() == self.columns {
                return Err(de::Error::custom(format!("it has more than {} values", self.columns)));
            }
            values.push(value);
        }
        if values.len() < self.columns {
            return Err(de::Error::invalid_length(values.len(), &self));
        }
        Ok(values)
    }
}

/// One value of a row.
struct Cell(Value);

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Cell, D::Error> {
        deserializer.deserialize_any(CellVisitor).map(Cell)
    }
}

struct CellVisitor;

impl<'de> Visitor<'de> for CellVisitor {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("null, an integer, text, or an object with `real` or `b64`")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Int(number))
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Value, E> {
        i64::try_from(number).map(Value::Int).map_err(E::custom)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Value, E> {
        Ok(Value::Text(text))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let kind = map.next_key::<Cow<'de, str>>()?;
        let text = map.next_value::<Text<'de>>()?.0;
        let value = match kind.as_deref() {
            Some("b64") => BASE64.decode(text.as_bytes()).map(Value::Bytes).map_err(de::Error::custom)?,
            Some("real") => text.parse().map(Value::Real).map_err(de::Error::custom)?,
            _ => return Err(de::Error::custom("neither `real` nor `b64`")),
        };
        match map.next_key::<Cow<'de, str>>()? {
            None => Ok(value),
            Some(more) => Err(de::Error::custom(format!("an unknown member `{more}`"))),
        }
    }
}

/// Borrowed: it may be very long.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
#[path = "format_fuzz.rs"]
mod fuzz;
