//! Data types: parsed into one of a list, and written again.
//!
//! Spellings with the same meaning become one, for both servers: `int(11)` of MariaDB, `int` of MySQL and a
//! user's `INTEGER` become `INT`; `BOOL` is `tinyint(1)`.

pub mod change;
mod parse;

pub use parse::{data_type, parse};

use lakeport_sdk::dialect::{TypeInfo, TypeToken};

/// The kind of a type, apart from its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A truth value, which is `tinyint(1)`.
    Boolean,
    /// An integer of so many bytes.
    Integer(u8),
    /// Bits.
    Bit,
    /// An exact decimal.
    Decimal,
    /// A floating-point number of so many bytes.
    Float(u8),
    /// CHAR.
    Char,
    /// VARCHAR.
    VarChar,
    /// A text whose length field has so many bytes.
    Text(u8),
    /// BINARY.
    Binary,
    /// VARBINARY.
    VarBinary,
    /// Bytes whose length field has so many bytes.
    Blob(u8),
    /// One value of a list.
    Enum,
    /// Several values of a list.
    Set,
    /// DATE.
    Date,
    /// TIME.
    Time,
    /// DATETIME.
    DateTime,
    /// TIMESTAMP.
    Timestamp,
    /// YEAR.
    Year,
    /// JSON.
    Json,
    /// UUID of MariaDB.
    Uuid,
    /// INET4 and INET6 of MariaDB.
    Inet,
    /// VECTOR.
    Vector,
    /// Geometries.
    Spatial,
}

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub struct Type {
    /// Its name as written.
    pub name: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// Length, or precision and scale, or fraction digits of a second.
    pub numbers: Vec<u32>,
    /// Values of ENUM and SET.
    pub members: Vec<String>,
    /// UNSIGNED.
    pub unsigned: bool,
    /// ZEROFILL.
    pub zerofill: bool,
}

/// Name, kind, family, accepted parameters.
pub(crate) const TYPES: &[(&str, Kind, &str, &str)] = &[
    ("BOOLEAN", Kind::Boolean, "boolean", ""),
    ("TINYINT", Kind::Integer(1), "integer", "[UNSIGNED]"),
    ("SMALLINT", Kind::Integer(2), "integer", "[UNSIGNED]"),
    ("MEDIUMINT", Kind::Integer(3), "integer", "[UNSIGNED]"),
    ("INT", Kind::Integer(4), "integer", "[UNSIGNED]"),
    ("BIGINT", Kind::Integer(8), "integer", "[UNSIGNED]"),
    ("BIT", Kind::Bit, "binary", "[(bits 1..64)]"),
    ("DECIMAL", Kind::Decimal, "decimal", "[(precision 1..65[, scale 0..30])]"),
    ("FLOAT", Kind::Float(4), "float", ""),
    ("DOUBLE", Kind::Float(8), "float", ""),
    ("CHAR", Kind::Char, "text", "[(length 0..255, characters)]"),
    ("VARCHAR", Kind::VarChar, "text", "(length 0..65535, characters; 16383 in utf8mb4)"),
    ("TINYTEXT", Kind::Text(1), "text", ""),
    ("TEXT", Kind::Text(2), "text", ""),
    ("MEDIUMTEXT", Kind::Text(3), "text", ""),
    ("LONGTEXT", Kind::Text(4), "text", ""),
    ("BINARY", Kind::Binary, "binary", "[(length 0..255, bytes)]"),
    ("VARBINARY", Kind::VarBinary, "binary", "(length 0..65535, bytes)"),
    ("TINYBLOB", Kind::Blob(1), "binary", ""),
    ("BLOB", Kind::Blob(2), "binary", ""),
    ("MEDIUMBLOB", Kind::Blob(3), "binary", ""),
    ("LONGBLOB", Kind::Blob(4), "binary", ""),
    ("ENUM", Kind::Enum, "text", "('value', …)"),
    ("SET", Kind::Set, "text", "('value', … up to 64)"),
    ("DATE", Kind::Date, "date", ""),
    ("TIME", Kind::Time, "time", "[(digits of a second 0..6)]"),
    ("DATETIME", Kind::DateTime, "datetime", "[(digits of a second 0..6)]"),
    ("TIMESTAMP", Kind::Timestamp, "datetime", "[(digits of a second 0..6)], 1970 to 2038"),
    ("YEAR", Kind::Year, "integer", ""),
    ("JSON", Kind::Json, "json", ""),
    ("UUID", Kind::Uuid, "other", "MariaDB 10.7"),
    ("INET4", Kind::Inet, "other", "MariaDB 10.10"),
    ("INET6", Kind::Inet, "other", "MariaDB 10.5"),
    ("VECTOR", Kind::Vector, "other", "(dimensions), MySQL 9, MariaDB 11.7"),
    ("GEOMETRY", Kind::Spatial, "other", ""),
    ("POINT", Kind::Spatial, "other", ""),
    ("LINESTRING", Kind::Spatial, "other", ""),
    ("POLYGON", Kind::Spatial, "other", ""),
    ("MULTIPOINT", Kind::Spatial, "other", ""),
    ("MULTILINESTRING", Kind::Spatial, "other", ""),
    ("MULTIPOLYGON", Kind::Spatial, "other", ""),
    ("GEOMETRYCOLLECTION", Kind::Spatial, "other", ""),
];

/// All types, for people and models.
pub fn infos() -> Vec<TypeInfo> {
    TYPES
        .iter()
        .map(|(name, _, family, form)| TypeInfo {
            name: (*name).to_owned(),
            family: (*family).to_owned(),
            form: (*form).to_owned(),
        })
        .collect()
}

/// All words of all types.
pub fn words() -> Vec<String> {
    let names = TYPES.iter().map(|(name, ..)| *name);
    names.chain(["UNSIGNED", "ZEROFILL"]).map(str::to_owned).collect()
}

impl Type {
    /// The family of the contract's `data-type`.
    pub fn family(&self) -> &'static str {
        TYPES.iter().find(|(name, ..)| *name == self.name).map_or("other", |(_, _, family, _)| family)
    }

    /// The canonical spelling.
    pub fn canonical(&self) -> String {
        let inside: Vec<String> = if self.members.is_empty() {
            self.numbers.iter().map(u32::to_string).collect()
        } else {
            let quoted = |text: &String| format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"));
            self.members.iter().map(quoted).collect()
        };
        let mut text = self.name.to_owned();
        if !inside.is_empty() {
            text = format!("{text}({})", inside.join(","));
        }
        for (word, is_there) in [("UNSIGNED", self.unsigned), ("ZEROFILL", self.zerofill)] {
            if is_there {
                text = format!("{text} {word}");
            }
        }
        text
    }

    /// The tokens to write it.
    pub fn tokens(&self) -> Vec<TypeToken> {
        let symbol = |text: &str| TypeToken::Symbol(text.to_owned());
        let numbers = self.numbers.iter().map(|number| TypeToken::Number(*number));
        let members = self.members.iter().map(|text| TypeToken::Text(text.clone()));
        let mut tokens = vec![TypeToken::Word(self.name.to_owned())];
        for (index, token) in numbers.chain(members).enumerate() {
            tokens.push(symbol(if index == 0 { "(" } else { "," }));
            tokens.push(token);
        }
        if tokens.len() > 1 {
            tokens.push(symbol(")"));
        }
        for (word, is_there) in [("UNSIGNED", self.unsigned), ("ZEROFILL", self.zerofill)] {
            if is_there {
                tokens.push(TypeToken::Word(word.to_owned()));
            }
        }
        tokens
    }

    /// Whether its values have a character set.
    pub fn has_characters(&self) -> bool {
        matches!(self.kind, Kind::Char | Kind::VarChar | Kind::Text(_) | Kind::Enum | Kind::Set)
    }

    /// Whether a key or an index can hold it completely.
    pub fn can_be_key(&self) -> bool {
        !matches!(self.kind, Kind::Text(_) | Kind::Blob(_) | Kind::Json | Kind::Vector | Kind::Spatial)
    }

    /// Whether `PARTITION BY RANGE COLUMNS` accepts it.
    pub fn can_partition(&self) -> bool {
        matches!(
            self.kind,
            Kind::Boolean
                | Kind::Integer(_)
                | Kind::Date
                | Kind::DateTime
                | Kind::Char
                | Kind::VarChar
                | Kind::Binary
                | Kind::VarBinary
        )
    }

    /// Fraction digits of a second.
    pub fn second_digits(&self) -> u8 {
        let is_time = matches!(self.kind, Kind::Time | Kind::DateTime | Kind::Timestamp);
        let digits = self.numbers.first().filter(|_| is_time);
        digits.and_then(|digits| u8::try_from(*digits).ok()).unwrap_or(0)
    }
}
