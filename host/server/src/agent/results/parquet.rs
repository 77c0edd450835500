//! A table as a Parquet file: one row group, compressed with Snappy; each column may have NULLs.
//!
//! A column has the type that its database gave it, if all of its values fit; otherwise the one that they all have; otherwise
//! it has texts.

use std::sync::Arc;

use chrono::{DateTime, Datelike as _, NaiveDate, NaiveDateTime};
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    Int32Type, Int64Type,
};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use serde_json::Value;

use super::format::names;
use super::{Column, Table};

/// Digits of a decimal number, and the bytes that hold so many.
const DIGITS_MAX: usize = 38;
const DECIMAL_BYTES: i32 = 16;
/// Whole numbers that a float holds exactly.
const WHOLE_MAX: u64 = 1 << 53;
/// Days of the common era before 1970.
const EPOCH_DAY: i32 = 719_163;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Boolean,
    Integer,
    Float,
    /// With so many digits after the point.
    Decimal(usize),
    Date,
    /// `is_utc`: its texts have an offset.
    Time {
        is_utc: bool,
    },
    /// `0x` and digits.
    Bytes,
    Text,
}

/// Takes processor time.
pub fn parquet(table: &Table) -> Result<Vec<u8>> {
    let kinds: Vec<Kind> = (0..table.columns.len()).map(|place| kind_of(table, place)).collect();
    let columns = names(table).into_iter().zip(&kinds).map(|(name, kind)| kind.column(&name).map(Arc::new));
    let schema = Type::group_type_builder("result").with_fields(columns.collect::<Result<_>>()?).build()?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    let mut places = 0..;
    while let (Some(mut column), Some(place)) = (group.next_column()?, places.next()) {
        write(kinds[place], &mut column, table, place)?;
        column.close()?;
    }
    group.close()?;
    writer.into_inner()
}

fn kind_of(table: &Table, place: usize) -> Kind {
    let values = || table.rows.iter().map(|row| &row[place]).filter(|value| !value.is_null());
    let has_values = values().next().is_some();
    // Of texts alone `inf` is a text.
    let has_numbers = values().any(Value::is_number);
    let declared = declared(&table.columns[place], values());
    let found = [Kind::Boolean, Kind::Integer, Kind::Float]
        .into_iter()
        .filter(|kind| if *kind == Kind::Float { has_numbers } else { has_values });
    declared
        .into_iter()
        .chain(found)
        .find(|kind| values().all(|value| kind.fits(value)))
        .unwrap_or(Kind::Text)
}

/// What the database's name of a type stands for, the likeliest first.
fn declared<'v>(column: &Column, values: impl Iterator<Item = &'v Value>) -> Vec<Kind> {
    let name = column.type_text.to_uppercase();
    let starts = |words: &[&str]| words.iter().any(|word| name.starts_with(word));
    if starts(&["NUMERIC", "DECIMAL"]) {
        let scale = values.filter_map(decimal).map(|(_, scale)| scale).max();
        return vec![Kind::Decimal(scale.unwrap_or(0))];
    }
    if name == "DATE" {
        return vec![Kind::Date];
    }
    if starts(&["TIMESTAMP", "DATETIME"]) {
        let is_utc = name.contains("TZ") || name.contains("WITH TIME ZONE");
        return vec![Kind::Time { is_utc }, Kind::Time { is_utc: !is_utc }];
    }
    if name == "BYTEA" || name.contains("BLOB") || name.contains("BINARY") {
        return vec![Kind::Bytes];
    }
    if starts(&["BOOL"]) {
        return vec![Kind::Boolean, Kind::Integer];
    }
    if starts(&["FLOAT", "DOUBLE", "REAL"]) {
        return vec![Kind::Float];
    }
    let is_span = name.starts_with("INTERVAL") || name.contains("RANGE");
    if !is_span && starts(&["INT", "BIGINT", "SMALLINT", "TINYINT", "MEDIUMINT"]) {
        return vec![Kind::Integer];
    }
    Vec::new()
}

impl Kind {
    fn fits(self, value: &Value) -> bool {
        match self {
            Kind::Boolean => value.is_boolean(),
            Kind::Integer => value.is_i64(),
            Kind::Float => float(value).is_some(),
            Kind::Decimal(scale) => scale <= DIGITS_MAX && unscaled(value, scale).is_some(),
            Kind::Date => date(value).is_some(),
            Kind::Time { is_utc } => micros(value, is_utc).is_some(),
            Kind::Bytes => bytes(value).is_some(),
            Kind::Text => true,
        }
    }

    fn column(self, name: &str) -> Result<Type> {
        let (physical, logical) = match self {
            Kind::Boolean => (Physical::BOOLEAN, None),
            Kind::Integer => (Physical::INT64, None),
            Kind::Float => (Physical::DOUBLE, None),
            Kind::Decimal(scale) => {
                let logical = LogicalType::decimal(scale as i32, DIGITS_MAX as i32);
                (Physical::FIXED_LEN_BYTE_ARRAY, Some(logical))
            }
            Kind::Date => (Physical::INT32, Some(LogicalType::Date)),
            Kind::Time { is_utc } => {
                (Physical::INT64, Some(LogicalType::timestamp(is_utc, TimeUnit::MICROS)))
            }
            Kind::Bytes => (Physical::BYTE_ARRAY, None),
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let column = Type::primitive_type_builder(name, physical).with_repetition(Repetition::OPTIONAL);
        let column = column.with_logical_type(logical);
        match self {
            Kind::Decimal(scale) => column
                .with_length(DECIMAL_BYTES)
                .with_precision(DIGITS_MAX as i32)
                .with_scale(scale as i32)
                .build(),
            _ => column.build(),
        }
    }
}

fn write(kind: Kind, column: &mut SerializedColumnWriter<'_>, table: &Table, place: usize) -> Result<()> {
    let values = table.rows.iter().map(|row| &row[place]);
    match kind {
        Kind::Boolean => put::<BoolType>(column, values, Value::as_bool),
        Kind::Integer => put::<Int64Type>(column, values, Value::as_i64),
        Kind::Float => put::<DoubleType>(column, values, float),
        Kind::Decimal(scale) => put::<FixedLenByteArrayType>(column, values, |value| {
            let number = unscaled(value, scale)?;
            Some(FixedLenByteArray::from(number.to_be_bytes().to_vec()))
        }),
        Kind::Date => put::<Int32Type>(column, values, date),
        Kind::Time { is_utc } => put::<Int64Type>(column, values, |value| micros(value, is_utc)),
        Kind::Bytes => put::<ByteArrayType>(column, values, |value| bytes(value).map(ByteArray::from)),
        Kind::Text => put::<ByteArrayType>(column, values, text),
    }
}

/// Writes what is read of the values; the others are NULL.
fn put<'v, T: DataType>(
    column: &mut SerializedColumnWriter<'_>,
    values: impl Iterator<Item = &'v Value>,
    read: impl Fn(&'v Value) -> Option<T::T>,
) -> Result<()> {
    let (mut present, mut is_present) = (Vec::new(), Vec::new());
    for value in values {
        let value = read(value);
        is_present.push(i16::from(value.is_some()));
        present.extend(value);
    }
    column.typed::<T>().write_batch(&present, Some(&is_present), None).map(drop)
}

fn text(value: &Value) -> Option<ByteArray> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(ByteArray::from(text.as_bytes().to_vec())),
        other => Some(ByteArray::from(other.to_string().into_bytes())),
    }
}

/// Without a loss. What JSON cannot express comes as a text.
fn float(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => {
            let whole = number.as_i64().map(i64::unsigned_abs).or(number.as_u64());
            number.as_f64().filter(|_| whole.is_none_or(|whole| whole <= WHOLE_MAX))
        }
        Value::String(text) => match text.as_str() {
            "NaN" => Some(f64::NAN),
            "inf" => Some(f64::INFINITY),
            "-inf" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        _ => None,
    }
}

/// The digits with their sign, and how many of them come after the point.
fn decimal(value: &Value) -> Option<(i128, usize)> {
    let text = match value {
        // JSON writes small ones with an exponent.
        Value::Number(number) if number.is_f64() => number.as_f64()?.to_string(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        _ => return None,
    };
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.as_str()), |digits| ("-", digits));
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number =
        !whole.is_empty() && (whole.bytes().chain(part.bytes())).all(|byte| byte.is_ascii_digit());
    let number = format!("{sign}{whole}{part}");
    if is_number { Some((number.parse().ok()?, part.len())) } else { None }
}

/// A decimal number as a whole one of its last digit; `None` if it has too many digits.
fn unscaled(value: &Value, scale: usize) -> Option<i128> {
    let (number, own_scale) = decimal(value)?;
    let power = 10_i128.checked_pow(u32::try_from(scale.checked_sub(own_scale)?).ok()?)?;
    let number = number.checked_mul(power)?;
    (number.unsigned_abs() < 10_u128.pow(DIGITS_MAX as u32)).then_some(number)
}

/// Days since 1970.
fn date(value: &Value) -> Option<i32> {
    let text = value.as_str().filter(|text| has_long_year(text))?;
    let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
    date.num_days_from_ce().checked_sub(EPOCH_DAY)
}

/// Microseconds since 1970; `None` if there are parts of one.
fn micros(value: &Value, is_utc: bool) -> Option<i64> {
    let text = value.as_str().filter(|text| has_long_year(text))?.replacen('T', " ", 1);
    let at = if is_utc {
        let text = text.strip_suffix('Z').map_or(text.clone(), |text| format!("{text}+00"));
        DateTime::parse_from_str(&text, "%Y-%m-%d %H:%M:%S%.f%#z").ok()?.to_utc()
    } else {
        NaiveDateTime::parse_from_str(&text, "%Y-%m-%d %H:%M:%S%.f").ok()?.and_utc()
    };
    (at.timestamp_subsec_nanos() % 1_000 == 0).then(|| at.timestamp_micros())
}

/// `2026-…`: the century of `26-11-27` is not known.
fn has_long_year(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() > 4 && bytes[..4].iter().all(u8::is_ascii_digit) && bytes[4] == b'-'
}

fn bytes(value: &Value) -> Option<Vec<u8>> {
    hex::decode(value.as_str()?.strip_prefix("0x")?).ok()
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader as _, SerializedFileReader};
    use serde_json::json;

    use super::*;

    fn table(columns: &[(&str, &str)], rows: Value) -> Table {
        let columns: Vec<Value> =
            columns.iter().map(|(name, type_text)| json!({ "name": name, "type": type_text })).collect();
        serde_json::from_value(json!({ "columns": columns, "rows": rows })).unwrap()
    }

    /// The rows as the reader of the format shows them.
    fn read(table: &Table) -> Vec<String> {
        let file = SerializedFileReader::new(bytes::Bytes::from(parquet(table).unwrap())).unwrap();
        let rows = file.get_row_iter(None).unwrap().map(|row| row.unwrap().to_string());
        rows.collect()
    }

    fn kinds(columns: &[(&str, &str)], rows: Value) -> Vec<Kind> {
        let table = table(columns, rows);
        (0..columns.len()).map(|place| kind_of(&table, place)).collect()
    }

    #[test]
    fn values_come_back_as_they_were() {
        let columns =
            [("n", "INT8"), ("x", "FLOAT8"), ("is", "BOOL"), ("t", "TEXT"), ("n", ""), ("d", "DATE")];
        let rows = json!([[1, 2.5, true, "北京", "a", "2026-11-27"], [null, 3, null, "", 7, null]]);
        assert_eq!(
            read(&table(&columns, rows)),
            [
                "{n: 1, x: 2.5, is: true, t: \"北京\", n_2: \"a\", d: 2026-11-27}",
                "{n: null, x: 3.0, is: null, t: \"\", n_2: \"7\", d: null}"
            ]
        );
        assert_eq!(read(&table(&columns, json!([]))), [""; 0]);
        assert_eq!(read(&table(&[], json!([]))), [""; 0]);
    }

    #[test]
    fn decimals_and_times_are_no_texts() {
        let columns = [("sum", "NUMERIC"), ("at", "TIMESTAMPTZ"), ("local", "DATETIME"), ("raw", "BYTEA")];
        let rows = json!([
            [12.5, "2026-11-27 10:00:00.25+02", "2026-11-27T10:00:00", "0x00ff"],
            ["-0.1234567890123456789", "2026-11-27 08:00:00Z", null, null],
            [7, null, "1969-12-31 23:59:59.999999", "0x"]
        ]);
        let table = table(&columns, rows);
        let found: Vec<Kind> = (0..4).map(|place| kind_of(&table, place)).collect();
        let expected =
            [Kind::Decimal(19), Kind::Time { is_utc: true }, Kind::Time { is_utc: false }, Kind::Bytes];
        assert_eq!(found, expected);
        let rows = read(&table);
        assert!(rows[0].starts_with("{sum: 12.5000000000000000000, "), "{rows:?}");
        assert!(rows[1].starts_with("{sum: -0.1234567890123456789, "), "{rows:?}");
        assert_eq!(micros(&table.rows[0][1], true), Some(1_795_766_400_250_000));
        assert_eq!(micros(&table.rows[2][2], false), Some(-1));
        assert_eq!((date(&json!("1970-01-02")), date(&json!("1969-12-31"))), (Some(1), Some(-1)));
    }

    #[test]
    fn values_decide_where_the_name_of_the_type_does_not_fit() {
        let columns =
            [("a", "INTEGER"), ("b", "DATE"), ("c", "NUMERIC"), ("d", ""), ("e", "BOOLEAN"), ("f", "REAL")];
        let rows = json!([["x", "soon", 1e300, 1, 1, "inf"], [1, "2026-11-27", 2, 2.5, 0, 1]]);
        let expected = [Kind::Text, Kind::Text, Kind::Float, Kind::Float, Kind::Integer, Kind::Float];
        assert_eq!(kinds(&columns, rows), expected);
        // Nothing is lost of a whole number that a float cannot hold.
        assert_eq!(kinds(&[("a", "")], json!([[9_007_199_254_740_993_i64], [0.5]])), [Kind::Text]);
        let too_long = "9".repeat(39);
        assert_eq!(kinds(&[("a", "NUMERIC")], json!([[too_long]])), [Kind::Text]);
        let vague = json!([["26-11-27", "2026-11-27 10:00:00.123456789"]]);
        assert_eq!(kinds(&[("a", "DATE"), ("b", "DATETIME")], vague), [Kind::Text, Kind::Text]);
        let nulls = json!([[null, null, null, null]]);
        let expected = [Kind::Integer, Kind::Decimal(0), Kind::Time { is_utc: true }, Kind::Text];
        assert_eq!(
            kinds(&[("a", "INT4"), ("b", "DECIMAL"), ("c", "TIMESTAMPTZ"), ("d", "")], nulls),
            expected
        );
    }
}
