//! Parses types in users' and servers' notation.

use lakeport_sdk::dialect::{DataType, Problem};

use super::{Kind, TYPES, Type};
use crate::server::Server;
use crate::text;

/// The longest type text, in bytes: an ENUM may be long.
const TEXT_MAX_BYTES: usize = 64 * 1024;
/// Values of a SET.
const SET_MAX: usize = 64;
/// The longest value of an ENUM or SET, in characters.
const MEMBER_MAX_CHARACTERS: usize = 255;

/// Other names and their types.
const SYNONYMS: &[(&str, &str)] = &[
    ("BOOL", "BOOLEAN"),
    ("INTEGER", "INT"),
    ("INT1", "TINYINT"),
    ("INT2", "SMALLINT"),
    ("INT3", "MEDIUMINT"),
    ("INT4", "INT"),
    ("INT8", "BIGINT"),
    ("MIDDLEINT", "MEDIUMINT"),
    ("DEC", "DECIMAL"),
    ("NUMERIC", "DECIMAL"),
    ("FIXED", "DECIMAL"),
    ("FLOAT4", "FLOAT"),
    ("FLOAT8", "DOUBLE"),
    ("REAL", "DOUBLE"),
    ("DOUBLE PRECISION", "DOUBLE"),
    ("CHARACTER", "CHAR"),
    ("CHARACTER VARYING", "VARCHAR"),
    ("GEOMCOLLECTION", "GEOMETRYCOLLECTION"),
];

/// Words that belong to members of their own and not to a type.
const MISPLACED: &[&str] = &[
    "NOT",
    "NULL",
    "DEFAULT",
    "COMMENT",
    "COLLATE",
    "CHARACTER",
    "CHARSET",
    "PRIMARY",
    "KEY",
    "UNIQUE",
    "AUTO_INCREMENT",
    "ON",
    "GENERATED",
    "AS",
    "CHECK",
    "REFERENCES",
    "INVISIBLE",
];

/// A type in the contract's form.
pub fn data_type(text: &str, server: Option<&Server>) -> Result<DataType, Problem> {
    let parsed = parse(text, server).map_err(|message| Problem::new("", "invalid_value", message))?;
    Ok(DataType {
        canonical: parsed.canonical(),
        family: parsed.family().to_owned(),
        tokens: parsed.tokens(),
    })
}

/// Parses a type; the error is the problem. Without `server`, accepts the types of both.
pub fn parse(given: &str, server: Option<&Server>) -> Result<Type, String> {
    if given.len() > TEXT_MAX_BYTES {
        return Err(format!("the type is longer than {TEXT_MAX_BYTES} bytes"));
    }
    let Parts { words, inside, mut behind } = split(given)?;
    let mut words = words;
    // `int unsigned` has no brackets between its words.
    while let Some(last) = words.last().filter(|word| ["UNSIGNED", "SIGNED", "ZEROFILL"].contains(&&***word))
    {
        behind.insert(0, last.clone());
        words.pop();
    }
    let name = words.join(" ");
    let name = SYNONYMS.iter().find(|(other, _)| *other == name).map_or(name.as_str(), |(_, known)| known);
    let Some((name, kind, ..)) = TYPES.iter().find(|(known, ..)| *known == name) else {
        return Err(unknown(given, &words));
    };
    let mut parsed = Type {
        name,
        kind: *kind,
        numbers: Vec::new(),
        members: Vec::new(),
        unsigned: behind.iter().any(|word| word == "UNSIGNED" || word == "ZEROFILL"),
        zerofill: behind.iter().any(|word| word == "ZEROFILL"),
    };
    let mut sorted = behind.clone();
    sorted.sort_unstable();
    sorted.dedup();
    let is_number = matches!(kind, Kind::Integer(_) | Kind::Decimal | Kind::Float(_));
    if sorted.len() != behind.len() || !behind.is_empty() && !is_number {
        return Err(format!("{given:?}: {} cannot follow {name} here", behind.join(" ")));
    }
    match inside {
        Some(Inside::Texts(members)) if matches!(kind, Kind::Enum | Kind::Set) => {
            parsed.members = members;
            check_members(&parsed)?;
        }
        Some(Inside::Texts(_)) => return Err(format!("{given:?}: {name} takes no list of values")),
        Some(Inside::Numbers(numbers)) => with_numbers(&mut parsed, numbers)?,
        None => with_numbers(&mut parsed, Vec::new())?,
    }
    known_here(&parsed, server)?;
    Ok(parsed)
}

struct Parts {
    words: Vec<String>,
    inside: Option<Inside>,
    behind: Vec<String>,
}

enum Inside {
    Numbers(Vec<u32>),
    Texts(Vec<String>),
}

/// The words in upper case, the content of the brackets, and the words after them.
fn split(given: &str) -> Result<Parts, String> {
    let text = given.trim();
    let Some((words, rest)) = text.split_once('(') else {
        return Ok(Parts { words: words_of(text)?, inside: None, behind: Vec::new() });
    };
    let Some((inside, behind)) = rest.rsplit_once(')') else {
        return Err(format!("{given:?}: the bracket is not closed"));
    };
    let inside = if inside.trim_start().starts_with('\'') {
        Inside::Texts(texts_of(inside).ok_or_else(|| {
            format!("{given:?}: values stand in single quotes, doubled inside, with commas between")
        })?)
    } else {
        let number = |digits: &str| number(given, digits.trim());
        Inside::Numbers(inside.split(',').map(number).collect::<Result<_, _>>()?)
    };
    Ok(Parts { words: words_of(words)?, inside: Some(inside), behind: words_of(behind)? })
}

fn words_of(text: &str) -> Result<Vec<String>, String> {
    let is_word = |word: &str| word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if let Some(wrong) = text.split_whitespace().find(|part| !is_word(part)) {
        return Err(format!(
            "{wrong:?} cannot stand in a type; defaults, comments and constraints are members of their own"
        ));
    }
    Ok(text.split_whitespace().map(str::to_ascii_uppercase).collect())
}

fn number(given: &str, digits: &str) -> Result<u32, String> {
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    digits
        .parse::<u32>()
        .ok()
        .filter(|_| plain)
        .ok_or_else(|| format!("{given:?}: {digits:?} is not a whole number that is not too large"))
}

/// Literals separated by commas.
fn texts_of(inside: &str) -> Option<Vec<String>> {
    let mut texts = Vec::new();
    let mut start = 0;
    let mut in_quotes = false;
    let mut escaped = false;
    for (at, c) in inside.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_quotes => escaped = true,
            '\'' => in_quotes = !in_quotes,
            ',' if !in_quotes => {
                texts.push(text::literal(inside[start..at].trim())?);
                start = at + 1;
            }
            _ => {}
        }
    }
    texts.push(text::literal(inside[start..].trim())?);
    Some(texts)
}

fn check_members(parsed: &Type) -> Result<(), String> {
    let name = parsed.name;
    for (index, member) in parsed.members.iter().enumerate() {
        if parsed.members[..index].iter().any(|other| text::same_name(other, member)) {
            return Err(format!("{name}: {member:?} is there twice; the case of letters is ignored"));
        }
        if member.ends_with(' ') {
            return Err(format!("{name}: blanks at the end of {member:?} would be cut off"));
        }
        if let Some(c) = text::beyond_catalogue(member) {
            return Err(format!("{name}: the server cannot keep {c:?} in a value and would put ? for it"));
        }
        if member.contains('\0') || member.chars().count() > MEMBER_MAX_CHARACTERS {
            return Err(format!("{name}: a value has {MEMBER_MAX_CHARACTERS} characters at most, none NUL"));
        }
        if parsed.kind == Kind::Set && member.contains(',') {
            return Err(format!("SET: a value such as {member:?} cannot have a comma"));
        }
    }
    match parsed.kind {
        Kind::Set if parsed.members.len() > SET_MAX => Err(format!("SET has {SET_MAX} values at most")),
        _ => Ok(()),
    }
}

/// Numbers as the server stores them: with defaults, without display widths.
fn with_numbers(parsed: &mut Type, given: Vec<u32>) -> Result<(), String> {
    let name = parsed.name;
    let most = match parsed.kind {
        Kind::Decimal | Kind::Float(_) => 2,
        Kind::Integer(_)
        | Kind::Bit
        | Kind::Char
        | Kind::VarChar
        | Kind::Binary
        | Kind::VarBinary
        | Kind::Time
        | Kind::DateTime
        | Kind::Timestamp
        | Kind::Year
        | Kind::Vector => 1,
        Kind::Text(_) | Kind::Blob(_) if !given.is_empty() => {
            return Err(format!(
                "{name} with a length is whichever TEXT or BLOB is long enough; name it, without a length"
            ));
        }
        Kind::Enum | Kind::Set => return Err(format!("{name} needs its values: {name}('a','b')")),
        _ => 0,
    };
    if given.len() > most {
        let takes = ["no number", "one number", "at most two numbers"][most];
        return Err(format!("{name} takes {takes}, not {}", given.len()));
    }
    let between = |low: u32, high: u32, or: Option<u32>| match given.first().copied().or(or) {
        Some(number) if (low..=high).contains(&number) => Ok(vec![number]),
        Some(_) => Err(format!("{name}: the number must be {low} to {high}")),
        None => Err(format!("{name} needs its length: {name}(255)")),
    };
    parsed.numbers = match parsed.kind {
        Kind::Integer(bytes) => return integer(parsed, bytes, &given),
        Kind::Float(_) => return float(parsed, given),
        Kind::Decimal => vec![given.first().copied().unwrap_or(10), given.get(1).copied().unwrap_or(0)],
        Kind::Bit => between(1, 64, Some(1))?,
        Kind::Char | Kind::Binary => between(0, 255, Some(1))?,
        Kind::VarChar | Kind::VarBinary => between(0, 65_535, None)?,
        Kind::Time | Kind::DateTime | Kind::Timestamp => {
            between(0, 6, Some(0))?.into_iter().filter(|digits| *digits > 0).collect()
        }
        Kind::Vector => between(1, 16_383, None)?,
        Kind::Year => between(4, 4, Some(4)).map(|_| Vec::new())?,
        _ => Vec::new(),
    };
    match (parsed.kind, parsed.numbers.as_slice()) {
        (Kind::Decimal, [precision, scale])
            if !(1..=65).contains(precision) || *scale > 30 || scale > precision =>
        {
            Err(format!("{name}({precision},{scale}): precision 1 to 65, scale 0 to 30 and not above it"))
        }
        _ => Ok(()),
    }
}

/// A display width has no meaning, except in `tinyint(1)` and with ZEROFILL.
fn integer(parsed: &mut Type, bytes: u8, given: &[u32]) -> Result<(), String> {
    let width = given.first().copied();
    if width.is_some_and(|width| width > 255) {
        return Err(format!("{}: a display width is 255 at most", parsed.name));
    }
    if parsed.zerofill {
        let usual = match bytes {
            1 => 3,
            2 => 5,
            3 => 8,
            4 => 10,
            _ => 20,
        };
        parsed.numbers = vec![width.unwrap_or(usual)];
    } else if bytes == 1 && width == Some(1) && !parsed.unsigned {
        parsed.name = "BOOLEAN";
        parsed.kind = Kind::Boolean;
    }
    Ok(())
}

/// `FLOAT(p)` selects one of two types; `FLOAT(m,d)` rounds.
fn float(parsed: &mut Type, given: Vec<u32>) -> Result<(), String> {
    match given.as_slice() {
        [] => Ok(()),
        [bits] if parsed.kind == Kind::Float(4) && *bits <= 53 => {
            if *bits > 24 {
                parsed.name = "DOUBLE";
                parsed.kind = Kind::Float(8);
            }
            Ok(())
        }
        [digits, scale] if (1..=255).contains(digits) && *scale <= 30 && scale <= digits => {
            parsed.numbers = given;
            Ok(())
        }
        _ => Err(format!("{} takes no such numbers", parsed.name)),
    }
}

/// Whether this server has the type.
fn known_here(parsed: &Type, server: Option<&Server>) -> Result<(), String> {
    let Some(server) = server else { return Ok(()) };
    let from = |since: (u32, u32, u32)| server.is_mariadb && server.version >= since;
    let is_there = match parsed.name {
        "UUID" => from((10, 7, 0)),
        "INET4" => from((10, 10, 0)),
        "INET6" => from((10, 5, 0)),
        "VECTOR" if server.is_mariadb => from((11, 7, 0)),
        "VECTOR" => server.version >= (9, 0, 0),
        _ => true,
    };
    if is_there {
        return Ok(());
    }
    let (major, minor, _) = server.version;
    Err(format!("{} {major}.{minor} has no type {}", server.product(), parsed.name))
}

fn unknown(given: &str, words: &[String]) -> String {
    let Some(first) = words.first() else {
        return "the type is empty; INT, VARCHAR(n), DECIMAL(p,s) or DATETIME would do".to_owned();
    };
    if let Some(word) = words.iter().skip(1).find(|word| MISPLACED.contains(&word.as_str())) {
        return format!(
            "{given:?} is no type: {word} does not belong behind {first}. Defaults, comments, NOT NULL and \
             character sets are no part of a type"
        );
    }
    format!(
        "{given:?} is not among the types known; INT, BIGINT, DECIMAL(p,s), DOUBLE, VARCHAR(n), TEXT, DATE, \
         DATETIME, JSON, BOOLEAN and ENUM('a','b') are some that are"
    )
}

#[cfg(test)]
#[path = "parse_tests.rs"]
mod tests;
