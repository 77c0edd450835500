//! Data types in users' and the servers' notation.
//!
//! A type is parsed into a tree and written again from it, so that no text of a user's reaches a statement.
//! Types whose meaning differs between versions (`DECIMAL` and `VARCHAR` without numbers) must be written in
//! full.

mod change;
mod parse;

pub use change::{Refusal, Work, change};
pub use parse::parse_type;

use lakeport_sdk::dialect::{DataType, Problem, TypeInfo, TypeToken};

use crate::server::Product;

/// The longest text, in bytes: wide structures are long.
pub(crate) const TEXT_MAX_BYTES: usize = 10_000;
/// The deepest nesting of types.
pub(crate) const DEPTH_MAX: usize = 9;
/// The longest VARCHAR of Doris, in bytes.
pub const VARCHAR_MAX: u32 = 65_533;
/// StarRocks' longest VARCHAR.
const VARCHAR_MAX_STARROCKS: u32 = 1_048_576;

/// A parsed type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// A type of the list, with its numbers.
    Plain(Plain, Vec<u32>),
    /// `ARRAY<T>`.
    Array(Box<Type>),
    /// `MAP<K,V>`.
    Map(Box<Type>, Box<Type>),
    /// `STRUCT<name:T,…>`.
    Struct(Vec<(String, Type)>),
}

/// Types of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Plain {
    Boolean,
    TinyInt,
    SmallInt,
    Int,
    BigInt,
    LargeInt,
    Float,
    Double,
    Decimal,
    Date,
    DateTime,
    Char,
    VarChar,
    String,
    Json,
    Variant,
    Ipv4,
    Ipv6,
    VarBinary,
}

/// An entry of the list of types.
pub(crate) struct Entry {
    pub plain: Plain,
    /// Its name as written.
    pub name: &'static str,
    /// Other spellings.
    pub aliases: &'static [&'static str],
    family: &'static str,
    /// The parameters after the name, for people.
    form: &'static str,
    /// The only product that has it.
    pub only: Option<Product>,
}

const fn entry(
    plain: Plain,
    name: &'static str,
    aliases: &'static [&'static str],
    family: &'static str,
    form: &'static str,
) -> Entry {
    Entry { plain, name, aliases, family, form, only: None }
}

pub(crate) const ENTRIES: &[Entry] = &[
    entry(Plain::Boolean, "BOOLEAN", &["BOOL"], "boolean", ""),
    entry(Plain::TinyInt, "TINYINT", &[], "integer", ""),
    entry(Plain::SmallInt, "SMALLINT", &[], "integer", ""),
    entry(Plain::Int, "INT", &["INTEGER"], "integer", ""),
    entry(Plain::BigInt, "BIGINT", &[], "integer", ""),
    entry(Plain::LargeInt, "LARGEINT", &[], "integer", "(128 bits)"),
    entry(Plain::Float, "FLOAT", &[], "float", ""),
    entry(Plain::Double, "DOUBLE", &[], "float", ""),
    entry(Plain::Decimal, "DECIMAL", &["DECIMALV3"], "decimal", "(precision 1..38[, scale])"),
    entry(Plain::Date, "DATE", &["DATEV2"], "date", ""),
    entry(Plain::DateTime, "DATETIME", &["DATETIMEV2"], "datetime", "[(digits of a second 0..6, Doris)]"),
    entry(Plain::Char, "CHAR", &[], "text", "[(length 1..255, bytes)]"),
    entry(Plain::VarChar, "VARCHAR", &[], "text", "(length 1..65533, bytes; StarRocks 1..1048576)"),
    entry(Plain::String, "STRING", &["TEXT"], "text", ""),
    entry(Plain::Json, "JSON", &["JSONB"], "json", ""),
    Entry { only: Some(Product::Doris), ..entry(Plain::Variant, "VARIANT", &[], "json", "(Doris)") },
    Entry { only: Some(Product::Doris), ..entry(Plain::Ipv4, "IPV4", &[], "other", "(Doris)") },
    Entry { only: Some(Product::Doris), ..entry(Plain::Ipv6, "IPV6", &[], "other", "(Doris)") },
    Entry {
        only: Some(Product::StarRocks),
        ..entry(Plain::VarBinary, "VARBINARY", &["BINARY"], "binary", "[(length)] (StarRocks)")
    },
];

/// All types, for people and models.
pub fn infos() -> Vec<TypeInfo> {
    let info = |name: &str, family: &str, form: &str| TypeInfo {
        name: name.to_owned(),
        family: family.to_owned(),
        form: form.to_owned(),
    };
    let nested = [
        info("ARRAY", "array", "<type>"),
        info("MAP", "map", "<type, type>"),
        info("STRUCT", "struct", "<name: type, …>"),
    ];
    ENTRIES.iter().map(|entry| info(entry.name, entry.family, entry.form)).chain(nested).collect()
}

/// All words of types.
pub fn words() -> Vec<String> {
    infos().into_iter().map(|info| info.name).collect()
}

/// Parses a user's type. The problem's `member` is empty.
pub fn parse(product: Product, text: &str) -> Result<DataType, Problem> {
    parse_type(product, text)
        .map(|parsed| parsed.data_type(product))
        .map_err(|message| Problem::new("", "invalid_value", message))
}

/// The server's type in the spelling used here; an unknown one stays as it is.
pub fn read(product: Product, text: &str) -> String {
    match parse::read_type(product, &without_variant_properties(text)) {
        Ok(read) => read.canonical(product),
        Err(_) => text.trim().to_owned(),
    }
}

/// Doris shows a VARIANT with the properties that a session gave it: `variant<PROPERTIES ("…" = "2048",)>`. With paths
/// of types of their own (`variant<'a':int,PROPERTIES …>`) it stays a type that is not written here.
fn without_variant_properties(text: &str) -> String {
    const START: &str = "variant<properties";
    const END: &str = ")>";
    let mut written = String::new();
    let mut rest = text;
    while let Some(start) = rest.to_ascii_lowercase().find(START) {
        let Some(length) = rest[start..].find(END) else { break };
        written.push_str(&rest[..start]);
        written.push_str(Plain::Variant.entry().name);
        rest = &rest[start + length + END.len()..];
    }
    written.push_str(rest);
    written
}

impl Plain {
    pub(crate) fn entry(self) -> &'static Entry {
        ENTRIES.iter().find(|entry| entry.plain == self).expect("every type has an entry")
    }

    /// An integer type.
    pub fn is_integer(self) -> bool {
        (Plain::TinyInt..=Plain::LargeInt).contains(&self)
    }

    /// Whether it is floating-point.
    pub fn is_float(self) -> bool {
        matches!(self, Plain::Float | Plain::Double)
    }
}

impl Type {
    /// The type of the list, if it is one.
    pub fn plain(&self) -> Option<Plain> {
        match self {
            Type::Plain(plain, _) => Some(*plain),
            _ => None,
        }
    }

    /// The canonical spelling.
    pub fn canonical(&self, product: Product) -> String {
        match self {
            // In StarRocks this is the only STRING.
            Type::Plain(Plain::String, _) if product == Product::StarRocks => {
                format!("VARCHAR({VARCHAR_MAX})")
            }
            Type::Plain(plain, numbers) if numbers.is_empty() => plain.entry().name.to_owned(),
            Type::Plain(plain, numbers) => {
                let digits: Vec<String> = numbers.iter().map(u32::to_string).collect();
                format!("{}({})", plain.entry().name, digits.join(","))
            }
            Type::Array(item) => format!("ARRAY<{}>", item.canonical(product)),
            Type::Map(key, value) => format!("MAP<{},{}>", key.canonical(product), value.canonical(product)),
            Type::Struct(members) => {
                let member = |(name, of): &(String, Type)| format!("{name}:{}", of.canonical(product));
                format!("STRUCT<{}>", members.iter().map(member).collect::<Vec<_>>().join(","))
            }
        }
    }

    fn family(&self) -> &'static str {
        match self {
            Type::Plain(plain, _) => plain.entry().family,
            Type::Array(_) => "array",
            Type::Map(..) => "map",
            Type::Struct(_) => "struct",
        }
    }

    /// In the contract's form.
    pub fn data_type(&self, product: Product) -> DataType {
        let mut tokens = Vec::new();
        self.write(product, &mut tokens);
        DataType { canonical: self.canonical(product), family: self.family().to_owned(), tokens }
    }

    /// Its tokens.
    pub fn tokens(&self, product: Product) -> Vec<TypeToken> {
        self.data_type(product).tokens
    }

    fn write(&self, product: Product, into: &mut Vec<TypeToken>) {
        let word = |text: &str| TypeToken::Word(text.to_owned());
        let symbol = |text: &str| TypeToken::Symbol(text.to_owned());
        match self {
            Type::Plain(Plain::String, _) if product == Product::StarRocks => {
                Type::Plain(Plain::VarChar, vec![VARCHAR_MAX]).write(product, into);
            }
            Type::Plain(plain, numbers) => {
                into.push(word(plain.entry().name));
                for (index, number) in numbers.iter().enumerate() {
                    into.push(symbol(if index == 0 { "(" } else { "," }));
                    into.push(TypeToken::Number(*number));
                }
                if !numbers.is_empty() {
                    into.push(symbol(")"));
                }
            }
            Type::Array(item) => {
                into.extend([word("ARRAY"), symbol("<")]);
                item.write(product, into);
                into.push(symbol(">"));
            }
            Type::Map(key, value) => {
                into.extend([word("MAP"), symbol("<")]);
                key.write(product, into);
                into.push(symbol(","));
                value.write(product, into);
                into.push(symbol(">"));
            }
            Type::Struct(members) => {
                into.extend([word("STRUCT"), symbol("<")]);
                for (index, (name, of)) in members.iter().enumerate() {
                    if index > 0 {
                        into.push(symbol(","));
                    }
                    into.push(TypeToken::Name(name.clone()));
                    // StarRocks accepts a colon only in later versions.
                    if product == Product::Doris {
                        into.push(symbol(":"));
                    }
                    of.write(product, into);
                }
                into.push(symbol(">"));
            }
        }
    }

    /// Whether a field of this type can be a key or distribute the rows.
    pub fn is_for_keys(&self) -> bool {
        match self.plain() {
            Some(plain) => !plain.is_float() && plain < Plain::String,
            None => false,
        }
    }

    /// Whether a field of this type can be the first, or partition the table by itself.
    pub fn is_text(&self) -> bool {
        matches!(self.plain(), Some(Plain::Char | Plain::VarChar | Plain::String))
    }
}

/// The parameters of a type of the list, checked and completed.
pub(crate) fn with_numbers(product: Product, plain: Plain, numbers: &[u32]) -> Result<Type, String> {
    let name = plain.entry().name;
    let within = |number: u32, least: u32, most: u32| {
        if (least..=most).contains(&number) {
            Ok(number)
        } else {
            Err(format!("{name}({number}): the number must be from {least} to {most}"))
        }
    };
    let varchar_max = match product {
        Product::Doris => VARCHAR_MAX,
        Product::StarRocks => VARCHAR_MAX_STARROCKS,
    };
    let numbers = match (plain, numbers) {
        (Plain::Char, []) => vec![1],
        (Plain::Char, [length]) => vec![within(*length, 1, 255)?],
        (Plain::VarChar, []) => {
            return Err(format!(
                "VARCHAR needs its length in bytes: versions differ in what they take it for, up to \
                 VARCHAR({VARCHAR_MAX})"
            ));
        }
        (Plain::VarChar, [length]) => vec![within(*length, 1, varchar_max)?],
        (Plain::VarBinary, []) => vec![],
        (Plain::VarBinary, [length]) => vec![within(*length, 1, VARCHAR_MAX_STARROCKS)?],
        (Plain::Decimal, []) => {
            return Err(
                "DECIMAL needs its precision, as in DECIMAL(18,2): versions differ in what they take \
                        it for"
                    .to_owned(),
            );
        }
        (Plain::Decimal, [precision]) => vec![within(*precision, 1, 38)?, 0],
        (Plain::Decimal, [precision, scale]) if scale > precision => {
            return Err(format!("DECIMAL({precision},{scale}): the scale is larger than the precision"));
        }
        (Plain::Decimal, [precision, scale]) => vec![within(*precision, 1, 38)?, *scale],
        (Plain::DateTime, [] | [0]) => vec![],
        (Plain::DateTime, [_]) if product == Product::StarRocks => {
            return Err("DATETIME of StarRocks takes no number".to_owned());
        }
        (Plain::DateTime, [digits]) => vec![within(*digits, 0, 6)?],
        // MySQL's display width has no meaning; TINYINT(1) is a truth value there.
        (Plain::TinyInt, [1]) => {
            return Err("TINYINT(1): say BOOLEAN for a truth value or TINYINT for a number".to_owned());
        }
        (plain, [_]) if plain.is_integer() && plain != Plain::LargeInt => vec![],
        (_, []) => vec![],
        (_, many) => return Err(format!("{name} does not take {} numbers", many.len())),
    };
    Ok(Type::Plain(plain, numbers))
}

#[cfg(test)]
#[path = "types/tests.rs"]
mod tests;
