//! Data types as users write them.
//!
//! SQLite itself accepts any words as a type (even `INT COMMENT`), so that a typo would go unnoticed. Here a
//! type must be in a list, with its numbers, and everything else is refused. The spelling is kept except for
//! case and blanks: `INT` and `INTEGER` differ in SQLite for a key.

use lakeport_sdk::dialect::{DataType, Problem, TypeInfo, TypeToken};

/// The longest type text, in bytes.
const TEXT_MAX_BYTES: usize = 200;
/// The largest length, precision or scale; SQLite itself ignores them.
const NUMBER_MAX: u32 = 1_000_000_000;

/// The numbers that a type accepts.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Numbers {
    None,
    /// `(20)`.
    Length,
    /// `(10)` or `(10,2)`.
    Precision,
}

/// How a column converts its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affinity {
    /// To texts.
    Text,
    /// To numbers if that is exact.
    Numeric,
    /// Likewise, to integers.
    Integer,
    /// To floating-point numbers.
    Real,
    /// Not at all.
    Blob,
}

/// Words, family, numbers. A length may follow any of the words that accept one.
const TYPES: &[(&str, &str, Numbers)] = &[
    ("INTEGER", "integer", Numbers::Length),
    ("INT", "integer", Numbers::Length),
    ("TINYINT", "integer", Numbers::Length),
    ("SMALLINT", "integer", Numbers::Length),
    ("MEDIUMINT", "integer", Numbers::Length),
    ("BIGINT", "integer", Numbers::Length),
    ("UNSIGNED BIG INT", "integer", Numbers::None),
    ("BIGINT UNSIGNED", "integer", Numbers::None),
    ("INT UNSIGNED", "integer", Numbers::None),
    ("INT2", "integer", Numbers::None),
    ("INT4", "integer", Numbers::None),
    ("INT8", "integer", Numbers::None),
    ("TEXT", "text", Numbers::Length),
    ("VARCHAR", "text", Numbers::Length),
    ("CHAR", "text", Numbers::Length),
    ("CHARACTER", "text", Numbers::Length),
    ("CHARACTER VARYING", "text", Numbers::Length),
    ("VARYING CHARACTER", "text", Numbers::Length),
    ("NCHAR", "text", Numbers::Length),
    ("NATIVE CHARACTER", "text", Numbers::Length),
    ("NVARCHAR", "text", Numbers::Length),
    ("CLOB", "text", Numbers::None),
    ("BLOB", "binary", Numbers::Length),
    ("BINARY", "binary", Numbers::Length),
    ("VARBINARY", "binary", Numbers::Length),
    ("REAL", "float", Numbers::None),
    ("DOUBLE", "float", Numbers::Precision),
    ("DOUBLE PRECISION", "float", Numbers::None),
    ("FLOAT", "float", Numbers::Precision),
    ("NUMERIC", "decimal", Numbers::Precision),
    ("DECIMAL", "decimal", Numbers::Precision),
    ("DEC", "decimal", Numbers::Precision),
    ("BOOLEAN", "boolean", Numbers::None),
    ("BOOL", "boolean", Numbers::None),
    ("DATE", "date", Numbers::None),
    ("TIME", "time", Numbers::Length),
    ("DATETIME", "datetime", Numbers::Length),
    ("TIMESTAMP", "datetime", Numbers::Length),
    ("JSON", "json", Numbers::None),
    ("ANY", "other", Numbers::None),
];

/// Types that a STRICT table can have.
const STRICT: &[&str] = &["INT", "INTEGER", "REAL", "TEXT", "BLOB", "ANY"];

/// All types, for people and models.
pub fn infos() -> Vec<TypeInfo> {
    let form = |numbers: &Numbers| match numbers {
        Numbers::None => "",
        Numbers::Length => "[(length), which SQLite does not enforce]",
        Numbers::Precision => "[(precision[, scale]), which SQLite does not enforce]",
    };
    TYPES
        .iter()
        .map(|(name, family, numbers)| TypeInfo {
            name: (*name).to_owned(),
            family: (*family).to_owned(),
            form: form(numbers).to_owned(),
        })
        .collect()
}

/// All words of all types, each once.
pub fn words() -> Vec<String> {
    let mut words: Vec<String> =
        TYPES.iter().flat_map(|(name, ..)| name.split(' ')).map(str::to_owned).collect();
    words.sort_unstable();
    words.dedup();
    words
}

/// Whether a STRICT table may have a type of this canonical spelling.
pub fn is_strict(canonical: &str) -> bool {
    STRICT.contains(&canonical)
}

/// The affinity of a column of this type, by SQLite's five rules in their order.
pub fn affinity(type_text: &str) -> Affinity {
    let upper = type_text.to_ascii_uppercase();
    let has = |parts: &[&str]| parts.iter().any(|part| upper.contains(part));
    if has(&["INT"]) {
        Affinity::Integer
    } else if has(&["CHAR", "CLOB", "TEXT"]) {
        Affinity::Text
    } else if upper.trim().is_empty() || has(&["BLOB"]) {
        Affinity::Blob
    } else if has(&["REAL", "FLOA", "DOUB"]) {
        Affinity::Real
    } else {
        Affinity::Numeric
    }
}

/// Parses one type. The problem's `member` is empty.
pub fn parse(text: &str) -> Result<DataType, Problem> {
    if text.len() > TEXT_MAX_BYTES {
        return Err(refused(format!("the type is longer than {TEXT_MAX_BYTES} bytes")));
    }
    let (name, numbers) = split(text)?;
    let Some((name, family, takes)) = TYPES.iter().find(|(known, ..)| *known == name) else {
        return Err(unknown(text, &name));
    };
    fits(name, *takes, &numbers)?;
    let mut tokens: Vec<TypeToken> = name.split(' ').map(|word| TypeToken::Word(word.to_owned())).collect();
    let symbol = |text: &str| TypeToken::Symbol(text.to_owned());
    for (index, number) in numbers.iter().enumerate() {
        tokens.push(symbol(if index == 0 { "(" } else { "," }));
        tokens.push(TypeToken::Number(*number));
    }
    let mut canonical = (*name).to_owned();
    if !numbers.is_empty() {
        tokens.push(symbol(")"));
        let digits: Vec<String> = numbers.iter().map(u32::to_string).collect();
        canonical = format!("{name}({})", digits.join(","));
    }
    Ok(DataType { canonical, family: (*family).to_owned(), tokens })
}

/// The words in upper case with single blanks between them, and the numbers in brackets at the end.
fn split(text: &str) -> Result<(String, Vec<u32>), Problem> {
    let text = text.trim();
    let (words, inside) = match text.split_once('(') {
        None => (text, None),
        Some((words, rest)) => match rest.strip_suffix(')') {
            Some(inside) => (words, Some(inside)),
            None => {
                return Err(refused(format!(
                    "{text:?}: nothing can follow the numbers in brackets, and the bracket must be closed"
                )));
            }
        },
    };
    let word = |word: &str| word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if let Some(wrong) = words.split_whitespace().find(|part| !word(part)) {
        return Err(refused(format!(
            "{wrong:?} cannot stand in a type; defaults, comments and constraints are members of their own"
        )));
    }
    let name = words.split_whitespace().collect::<Vec<_>>().join(" ").to_ascii_uppercase();
    let numbers = match inside {
        None => Vec::new(),
        Some(inside) => {
            inside.split(',').map(|digits| number(text, digits.trim())).collect::<Result<_, _>>()?
        }
    };
    Ok((name, numbers))
}

fn number(text: &str, digits: &str) -> Result<u32, Problem> {
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    match digits.parse::<u32>() {
        Ok(number) if plain && number <= NUMBER_MAX => Ok(number),
        _ => Err(refused(format!("{text:?}: {digits:?} is not a whole number up to {NUMBER_MAX}"))),
    }
}

fn fits(name: &str, takes: Numbers, numbers: &[u32]) -> Result<(), Problem> {
    let most = match takes {
        Numbers::None => 0,
        Numbers::Length => 1,
        Numbers::Precision => 2,
    };
    if numbers.len() > most {
        let takes = ["no number", "one number", "at most two numbers"][most];
        return Err(refused(format!("{name} takes {takes}, not {}", numbers.len())));
    }
    let is_time = matches!(name, "TIME" | "DATETIME" | "TIMESTAMP");
    match numbers {
        [0, ..] if !is_time => Err(refused(format!("{name}: the first number must be 1 or more"))),
        [precision, scale] if scale > precision => {
            Err(refused(format!("{name}({precision},{scale}): the scale is larger than the precision")))
        }
        _ => Ok(()),
    }
}

fn unknown(text: &str, name: &str) -> Problem {
    if name.is_empty() {
        return refused("the type is empty; INTEGER, REAL, TEXT, BLOB or NUMERIC would do".to_owned());
    }
    let first = name.split(' ').next().unwrap_or_default();
    if name != first && TYPES.iter().any(|(known, ..)| *known == first) {
        return refused(format!(
            "{text:?} is no type: {:?} does not belong behind {first}. Defaults, comments and NOT NULL are \
             members of their own",
            name[first.len()..].trim()
        ));
    }
    refused(format!(
        "{text:?} is not among the types known for SQLite; INTEGER, REAL, TEXT, BLOB, NUMERIC, VARCHAR(n), \
         DECIMAL(p,s), BOOLEAN, DATE, DATETIME and JSON are some that are"
    ))
}

fn refused(message: String) -> Problem {
    Problem::new("", "invalid_value", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        parse(text).unwrap_or_else(|problem| panic!("{text}: {}", problem.message)).canonical
    }

    #[test]
    fn one_spelling_for_blanks_and_case() {
        assert_eq!(canonical("varchar ( 20 )"), "VARCHAR(20)");
        assert_eq!(canonical(" unsigned  BIG\tint "), "UNSIGNED BIG INT");
        assert_eq!(canonical("DECIMAL( 10 , 2 )"), "DECIMAL(10,2)");
        assert_eq!(canonical("numeric(10)"), "NUMERIC(10)");
        assert_ne!(canonical("int"), canonical("integer"));
    }

    #[test]
    fn a_type_is_written_in_tokens_of_its_own() {
        let word = |text: &str| TypeToken::Word(text.to_owned());
        let symbol = |text: &str| TypeToken::Symbol(text.to_owned());
        let parsed = parse("decimal(10,2)").unwrap();
        assert_eq!(parsed.family, "decimal");
        assert_eq!(
            parsed.tokens,
            [
                word("DECIMAL"),
                symbol("("),
                TypeToken::Number(10),
                symbol(","),
                TypeToken::Number(2),
                symbol(")")
            ]
        );
        assert_eq!(parse("double precision").unwrap().tokens, [word("DOUBLE"), word("PRECISION")]);
    }

    #[test]
    fn what_sqlite_would_swallow_is_refused() {
        for text in [
            "INT COMMENT 'x'",
            "INT COMMENT",
            "INT DEFAULT 1",
            "INT NOT NULL",
            "TEXT COLLATE NOCASE",
            "",
            "  ",
            "VARCHAR(20",
            "VARCHAR(20))",
            "VARCHAR(20) UNIQUE",
            "VARCHAR()",
            "VARCHAR(-1)",
            "VARCHAR(0)",
            "VARCHAR(1,2)",
            "VARCHAR(+1)",
            "DECIMAL(2,10)",
            "DECIMAL(1,2,3)",
            "REAL(3)",
            "INT)",
            "INT; DROP TABLE x",
            "INT--",
            "\"INT\"",
            "INT/**/",
            "VARCHAR(99999999999)",
            "GEOMETRY",
            "TEXT\0",
            "ARRAY<INT>",
            "ТЕХТ",
        ] {
            let problem = parse(text).expect_err(text);
            assert_eq!((problem.code.as_str(), problem.member.as_str()), ("invalid_value", ""), "{text}");
            assert!(problem.message.len() > 20, "{text}: {}", problem.message);
        }
        let swallowed = parse("INT COMMENT").unwrap_err().message;
        assert!(swallowed.contains("COMMENT") && swallowed.contains("members of their own"), "{swallowed}");
        assert!(parse(&"A".repeat(TEXT_MAX_BYTES + 1)).is_err());
    }

    #[test]
    fn listed_types_parse_with_declared_words() {
        let words = words();
        for info in infos() {
            let parsed = parse(&info.name).unwrap();
            assert_eq!(parsed.canonical, info.name);
            for token in parsed.tokens {
                assert!(matches!(token, TypeToken::Word(word) if words.contains(&word)), "{}", info.name);
            }
        }
    }

    #[test]
    fn affinity_follows_the_rules_of_sqlite() {
        for (text, expected) in [
            ("UNSIGNED BIG INT", Affinity::Integer),
            ("CHARINT", Affinity::Integer),
            ("varchar(9)", Affinity::Text),
            ("", Affinity::Blob),
            ("BLOB", Affinity::Blob),
            ("DOUBLE", Affinity::Real),
            ("FLOATING POINT", Affinity::Integer),
            ("DECIMAL(1)", Affinity::Numeric),
            ("JSON", Affinity::Numeric),
            ("DATETIME", Affinity::Numeric),
        ] {
            assert_eq!(affinity(text), expected, "{text}");
        }
    }
}
