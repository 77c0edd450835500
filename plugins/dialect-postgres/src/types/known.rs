//! The types of PostgreSQL that can be written.

use lakeport_sdk::dialect::TypeInfo;

/// The numbers that a type's head accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    None,
    /// `(20)`.
    Length,
    /// `(20)`; 1 by default.
    OneUnlessSaid,
    /// `(10)` or `(10,2)`.
    Precision,
    /// `(3)`: fraction digits of a second.
    Fraction,
}

impl Numbers {
    /// The most numbers.
    pub fn most(self) -> usize {
        match self {
            Numbers::None => 0,
            Numbers::Precision => 2,
            _ => 1,
        }
    }
}

/// A type in the notation of `format_type`: the head, the numbers, the tail.
#[derive(Debug, PartialEq, Eq)]
pub struct Known {
    pub head: &'static str,
    pub tail: &'static str,
    pub numbers: Numbers,
    pub family: &'static str,
    /// The first version that has it.
    pub since: u32,
    /// Other spellings, head and tail.
    pub also: &'static [(&'static str, &'static str)],
}

impl Known {
    /// Whether this is the first word of any of its spellings.
    pub fn begins_with(&self, word: &str) -> bool {
        let heads = self.also.iter().map(|(head, _)| *head).chain([self.head]);
        heads.into_iter().any(|head| head.split(' ').next() == Some(word))
    }
}

const fn known(head: &'static str, family: &'static str) -> Known {
    Known { head, tail: "", numbers: Numbers::None, family, since: 0, also: &[] }
}

const fn also(known: Known, also: &'static [(&'static str, &'static str)]) -> Known {
    Known { also, ..known }
}

const fn with(known: Known, numbers: Numbers) -> Known {
    Known { numbers, ..known }
}

const fn since(known: Known, since: u32) -> Known {
    Known { since, ..known }
}

const fn timed(
    head: &'static str,
    tail: &'static str,
    family: &'static str,
    spellings: &'static [(&'static str, &'static str)],
) -> Known {
    Known { tail, numbers: Numbers::Fraction, also: spellings, ..known(head, family) }
}

/// All of them.
pub const KNOWN: &[Known] = &[
    also(known("smallint", "integer"), &[("int2", "")]),
    also(known("integer", "integer"), &[("int", ""), ("int4", "")]),
    also(known("bigint", "integer"), &[("int8", "")]),
    also(with(known("numeric", "decimal"), Numbers::Precision), &[("decimal", ""), ("dec", "")]),
    also(known("real", "float"), &[("float4", "")]),
    also(known("double precision", "float"), &[("float8", ""), ("float", "")]),
    also(known("boolean", "boolean"), &[("bool", "")]),
    also(
        with(known("character varying", "text"), Numbers::Length),
        &[("varchar", ""), ("char varying", ""), ("national character varying", "")],
    ),
    also(
        with(known("character", "text"), Numbers::OneUnlessSaid),
        &[("char", ""), ("nchar", ""), ("national character", "")],
    ),
    known("text", "text"),
    known("bytea", "binary"),
    known("date", "date"),
    timed("time", "without time zone", "time", &[("time", "")]),
    timed("time", "with time zone", "time", &[("timetz", "")]),
    timed("timestamp", "without time zone", "datetime", &[("timestamp", "")]),
    timed("timestamp", "with time zone", "datetime", &[("timestamptz", "")]),
    with(known("interval", "other"), Numbers::Fraction),
    known("uuid", "other"),
    known("json", "json"),
    known("jsonb", "json"),
    known("xml", "other"),
    known("inet", "other"),
    known("cidr", "other"),
    known("macaddr", "other"),
    known("macaddr8", "other"),
    with(known("bit", "other"), Numbers::OneUnlessSaid),
    also(with(known("bit varying", "other"), Numbers::Length), &[("varbit", "")]),
    known("money", "other"),
    known("point", "other"),
    known("line", "other"),
    known("lseg", "other"),
    known("box", "other"),
    known("path", "other"),
    known("polygon", "other"),
    known("circle", "other"),
    known("tsvector", "other"),
    known("tsquery", "other"),
    known("int4range", "other"),
    known("int8range", "other"),
    known("numrange", "other"),
    known("daterange", "other"),
    known("tsrange", "other"),
    known("tstzrange", "other"),
    since(known("int4multirange", "other"), 14),
    since(known("int8multirange", "other"), 14),
    since(known("nummultirange", "other"), 14),
    since(known("datemultirange", "other"), 14),
    since(known("tsmultirange", "other"), 14),
    since(known("tstzmultirange", "other"), 14),
];

/// Types of other products, and their replacements.
pub const ELSEWHERE: &[(&str, &str)] = &[
    ("tinyint", "smallint is the smallest whole number"),
    ("mediumint", "integer would do"),
    ("largeint", "numeric(39,0) would do"),
    ("unsigned", "whole numbers have a sign here; take the next larger one"),
    ("serial", "integer is, and a field that counts by itself cannot be asked for"),
    ("bigserial", "bigint is, and a field that counts by itself cannot be asked for"),
    ("smallserial", "smallint is, and a field that counts by itself cannot be asked for"),
    ("double", "double precision is"),
    ("datetime", "timestamp is"),
    ("string", "text is"),
    ("clob", "text is"),
    ("longtext", "text is"),
    ("mediumtext", "text is"),
    ("tinytext", "text is"),
    ("nvarchar", "varchar is"),
    ("varchar2", "varchar is"),
    ("number", "numeric(p,s) is"),
    ("blob", "bytea is"),
    ("longblob", "bytea is"),
    ("binary", "bytea is"),
    ("varbinary", "bytea is"),
    ("year", "smallint would do"),
    ("map", "jsonb would do"),
    ("struct", "jsonb would do"),
    ("array", "an array is written T[], as in text[]"),
    ("variant", "jsonb would do"),
    ("enum", "an enumeration is a type of its own that must be made in the database"),
];

/// All types, for people and models.
pub fn infos() -> Vec<TypeInfo> {
    let form = |known: &Known| match known.numbers {
        Numbers::None => String::new(),
        Numbers::Length => "[(length 1..10485760)]".to_owned(),
        Numbers::OneUnlessSaid => "[(length 1..10485760), 1 unless said]".to_owned(),
        Numbers::Precision => "[(precision 1..1000[, scale])]".to_owned(),
        Numbers::Fraction => "[(digits of a second's fraction 0..6)]".to_owned(),
    };
    let spelled = |known: &Known| [known.head, known.tail].join(" ").trim_end().to_owned();
    KNOWN
        .iter()
        .map(|known| TypeInfo {
            name: spelled(known),
            family: known.family.to_owned(),
            form: [form(known), "[[]]".to_owned()].join(" ").trim_start().to_owned(),
        })
        .collect()
}

/// All words of types, each once.
pub fn words() -> Vec<String> {
    let mut words: Vec<String> = KNOWN
        .iter()
        .flat_map(|known| known.head.split(' ').chain(known.tail.split_whitespace()))
        .chain(["array"])
        .map(str::to_ascii_uppercase)
        .collect();
    words.sort_unstable();
    words.dedup();
    words
}
