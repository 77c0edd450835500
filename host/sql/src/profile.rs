//! A dialect's declarations about writing and reading, checked when it is staged and trusted afterwards.
//!
//! All declarations are checked here, and all problems are reported at once with their members, so that the
//! rest of this crate can rely on words and rules.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use lakeport_bindings::dialect::about::{DialectInfo, NameRule, TextRule, Vocabulary};
use lakeport_bindings::host::types::Problem;
use regex::Regex;

use crate::bounds;
use crate::functions::{AddedFunctions, Functions};
use crate::guard::SqlParser;
use crate::lex::Lexing;
use crate::pattern;
use crate::remembered::Remembered;
use crate::session::{HostValues, check_cancel, check_session};

/// Words and heads of one operation, words of types, patterns, and lists for display.
const LIST_MAX: usize = 1_000;
/// Denied functions of a dialect.
const DENIED_MAX: usize = 500;
/// Operations.
const OPERATIONS_MAX: usize = 100;
/// Rules of texts and names, and parsers: each costs several checks.
const RULES_MAX: usize = 20;
/// Reported problems.
const PROBLEMS_MAX: usize = 50;
/// The longest word or head, in bytes.
const WORDS_MAX_BYTES: usize = 200;
/// The escape rules that the host can write.
const ESCAPES: [&str; 5] = ["double", "double_and_backslash", "backslash", "backslash_quote", "verbatim"];

/// How a database is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Transport {
    /// The host's SQLite.
    Sqlite,
    /// The host's driver for PostgreSQL.
    Postgres,
    /// The host's driver for the MySQL protocol.
    MySql,
    /// HTTP requests that the dialect describes.
    Http,
}

/// How values are passed to a reading statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placeholders {
    /// `?`.
    Question,
    /// `$1`.
    Dollar,
    /// The host writes literals.
    None,
}

/// The words of one operation, upper case.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// The permitted heads of a statement.
    pub heads: Vec<String>,
    /// All words, including those of the heads.
    pub words: BTreeSet<String>,
}

/// A limit of names of one kind.
#[derive(Clone, Debug)]
pub struct NameLimit {
    /// As declared.
    pub rule: NameRule,
    /// The pattern, which must match completely.
    pub pattern: Regex,
}

/// A dialect's declarations, checked.
#[derive(Clone, Debug)]
pub struct Profile {
    /// The dialect's name.
    pub name: String,
    /// The transport of its databases.
    pub transport: Transport,
    /// The quote of names.
    pub name_quote: char,
    /// Rules for literals by name. `literal` always exists.
    pub texts: BTreeMap<String, TextRule>,
    /// Words by operation.
    pub operations: BTreeMap<String, Words>,
    /// Words of data types, upper case.
    pub type_words: BTreeSet<String>,
    /// Limits of names by `database`, `table`, `field`.
    pub names: BTreeMap<String, NameLimit>,
    /// Catalogue objects that reads may name; a part may be `*`.
    pub reads_from: Vec<Vec<String>>,
    /// How values are passed.
    pub placeholders: Placeholders,
    /// The host's parser for it; `None`: free SQL is refused.
    pub parser: Option<SqlParser>,
    /// The functions that statements may call.
    pub functions: Functions,
    /// Accepted reading statements.
    pub(crate) remembered: Remembered,
}

impl Profile {
    /// Checks the declarations. The error lists all problems, one per member, up to a limit. Lists that are
    /// too long are refused unread.
    pub fn new(info: &DialectInfo) -> Result<Profile, Vec<Problem>> {
        let mut found = Problems(Vec::new());
        lists(info, &mut found);
        if !found.0.is_empty() {
            return Err(found.0);
        }
        let transport = transport(info, &mut found);
        let texts = texts(info, transport, &mut found);
        let profile = Profile {
            name: info.name.clone(),
            transport,
            name_quote: name_quote(info, transport, &mut found),
            texts,
            operations: operations(&info.vocabularies, &mut found),
            type_words: type_words(info, &mut found),
            names: name_limits(&info.name_rules, &mut found),
            reads_from: reads_from(&info.reads_from, &mut found),
            placeholders: placeholders(info, transport, &mut found),
            parser: info.sql.parsers.iter().find_map(|name| SqlParser::named(name)),
            functions: Functions::new(&info.name, &info.sql.parsers, &info.sql.denied_functions),
            remembered: Remembered::default(),
        };
        if found.0.is_empty() {
            recipes(&profile, info, &mut found);
        }
        if found.0.is_empty() { Ok(profile) } else { Err(found.0) }
    }

    /// The same with the functions that the operator allows.
    pub fn allowing(self, added: &AddedFunctions) -> Profile {
        Profile { functions: self.functions.allowing(added), ..self }
    }

    /// All ways in which its servers may read a text; if there are several, they must agree.
    pub fn readings(&self) -> Vec<Lexing> {
        match self.transport {
            Transport::Sqlite => vec![Lexing::SQLITE],
            Transport::Postgres => vec![Lexing::POSTGRES],
            // The host's sessions refuse NO_BACKSLASH_ESCAPES and ANSI_QUOTES, and so does `session`.
            Transport::MySql => vec![Lexing::MYSQL],
            Transport::Http => {
                let plain = Lexing {
                    server: crate::lex::Server::Unknown,
                    backslash_escapes: false,
                    double_quoted_names: self.name_quote == '"',
                };
                vec![plain, Lexing { backslash_escapes: true, ..plain }]
            }
        }
    }
}

struct Problems(Vec<Problem>);

impl Problems {
    fn add(&mut self, member: impl Into<String>, message: impl Into<String>) {
        if self.0.len() >= PROBLEMS_MAX {
            return;
        }
        self.0.push(Problem {
            member: member.into(),
            code: "invalid_value".to_owned(),
            message: message.into(),
        });
    }

    fn not_too_many(&mut self, member: &str, count: usize, max: usize) {
        if count > max {
            self.add(member, format!("has {count} entries; {max} at most"));
        }
    }
}

fn lists(info: &DialectInfo, found: &mut Problems) {
    for (member, count, max) in [
        ("products", info.products.len(), LIST_MAX),
        ("hiddenDatabases", info.hidden_databases.len(), LIST_MAX),
        ("readsFrom", info.reads_from.len(), LIST_MAX),
        ("nameRules", info.name_rules.len(), RULES_MAX),
        ("types", info.types.len(), LIST_MAX),
        ("typeWords", info.type_words.len(), LIST_MAX),
        ("models", info.models.len(), LIST_MAX),
        ("quoting.texts", info.quoting.texts.len(), RULES_MAX),
        ("vocabularies", info.vocabularies.len(), OPERATIONS_MAX),
        ("capabilities", info.capabilities.len(), LIST_MAX),
        ("session.setup", info.session.setup.len(), LIST_MAX),
        ("session.readOnly", info.session.read_only.len(), LIST_MAX),
        ("cancel.sessionId", info.cancel.session_id.len(), LIST_MAX),
        ("cancel.statement", info.cancel.statement.len(), LIST_MAX),
        ("sql.parsers", info.sql.parsers.len(), RULES_MAX),
        ("sql.deniedFunctions", info.sql.denied_functions.len(), DENIED_MAX),
        ("sql.hints", info.sql.hints.len(), LIST_MAX),
    ] {
        found.not_too_many(member, count, max);
    }
    for (index, vocabulary) in info.vocabularies.iter().enumerate() {
        let count = vocabulary.heads.len().saturating_add(vocabulary.words.len());
        found.not_too_many(&format!("vocabularies[{index}]"), count, LIST_MAX);
    }
}

/// Writes the recipes once, so that errors show now and not when a session begins.
fn recipes(profile: &Profile, info: &DialectInfo, found: &mut Problems) {
    let values = HostValues {
        timeout: Duration::from_secs(1),
        max_rows: 1,
        session_id: Some(1),
        query_id: Some("query".to_owned()),
    };
    let session = check_session(profile, &info.session, &values).map(|_| ());
    let cancel = check_cancel(profile, &info.cancel, &values).map(|_| ());
    for refusal in [session, cancel].into_iter().filter_map(Result::err) {
        found.add(refusal.place.clone(), refusal.to_string());
    }
    if info.cancel.how == "statement" && info.cancel.statement.is_empty() {
        found.add("cancel.statement", "is missing, although `how` says that a statement cancels");
    }
}

fn transport(info: &DialectInfo, found: &mut Problems) -> Transport {
    match info.transport.as_str() {
        "sqlite" => Transport::Sqlite,
        "postgres" => Transport::Postgres,
        "mysql" => Transport::MySql,
        "http" => Transport::Http,
        other => {
            found.add("transport", format!("{other:?} is not sqlite, postgres, mysql or http"));
            Transport::Http
        }
    }
}

fn placeholders(info: &DialectInfo, transport: Transport, found: &mut Problems) -> Placeholders {
    let declared = match info.sql.placeholders.as_str() {
        "question" => Placeholders::Question,
        "dollar" => Placeholders::Dollar,
        "none" => Placeholders::None,
        other => {
            found.add("sql.placeholders", format!("{other:?} is not question, dollar or none"));
            Placeholders::None
        }
    };
    let binds = match transport {
        Transport::Sqlite | Transport::MySql => declared != Placeholders::Dollar,
        Transport::Postgres => declared != Placeholders::Question,
        Transport::Http => declared == Placeholders::None,
    };
    if !binds {
        found.add("sql.placeholders", format!("the driver of {} does not bind in that way", info.transport));
    }
    declared
}

fn name_quote(info: &DialectInfo, transport: Transport, found: &mut Problems) -> char {
    let legal: &[&str] = match transport {
        Transport::Sqlite | Transport::Postgres => &["\""],
        // Under ANSI_QUOTES a double quote is a name's, else a text's: only the backtick is unambiguous.
        Transport::MySql => &["`"],
        Transport::Http => &["\"", "`"],
    };
    if !legal.contains(&info.quoting.name_quote.as_str()) {
        found.add("quoting.nameQuote", format!("{:?} is not one of {legal:?}", info.quoting.name_quote));
    }
    info.quoting.name_quote.chars().next().unwrap_or('"')
}

fn texts(info: &DialectInfo, transport: Transport, found: &mut Problems) -> BTreeMap<String, TextRule> {
    let mut rules = BTreeMap::new();
    for (index, rule) in info.quoting.texts.iter().enumerate() {
        let member = format!("quoting.texts[{index}]");
        if rule.name.is_empty() || !rule.name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') {
            found.add(format!("{member}.name"), "must be letters, digits and `_`");
        }
        if !ESCAPES.contains(&rule.escape.as_str()) {
            found.add(format!("{member}.escape"), format!("{:?} is not one of {ESCAPES:?}", rule.escape));
        }
        if !matches!(rule.prefix.as_str(), "" | "E" | "e" | "N" | "n") {
            found.add(format!("{member}.prefix"), format!("{:?} is not empty, E or N", rule.prefix));
        }
        let names_too = info.quoting.name_quote == "\"" || transport == Transport::Sqlite;
        let legal = |quote: &String| quote == "'" || quote == "\"" && !names_too && rule.prefix.is_empty();
        if rule.quotes.is_empty() || rule.quotes.len() > 2 || !rule.quotes.iter().all(legal) {
            found.add(
                format!("{member}.quotes"),
                "must be `'`, or `\"` where that quotes no names and no prefix is written",
            );
        }
        if rules.insert(rule.name.clone(), rule.clone()).is_some() {
            found.add(format!("{member}.name"), format!("{} is there twice", rule.name));
        }
    }
    if !rules.contains_key("literal") {
        found.add("quoting.texts", "the rule `literal` for ordinary literals is missing");
    }
    rules
}

/// One word, or several with single blanks between them, each of letters, digits and `_`; upper case.
pub(crate) fn words(text: &str) -> Option<Vec<String>> {
    let word = |part: &str| {
        let fits = !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        fits.then(|| part.to_ascii_uppercase())
    };
    if text.len() > WORDS_MAX_BYTES {
        return None;
    }
    text.split(' ').map(word).collect()
}

fn operations(vocabularies: &[Vocabulary], found: &mut Problems) -> BTreeMap<String, Words> {
    let mut operations = BTreeMap::new();
    for (index, vocabulary) in vocabularies.iter().enumerate() {
        let member = format!("vocabularies[{index}]");
        let operation = &vocabulary.operation;
        let snake = operation.starts_with(|c: char| c.is_ascii_lowercase())
            && operation.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if !snake {
            found.add(format!("{member}.operation"), format!("{operation:?} is not snake_case"));
        }
        let declared = vocabulary_words(&member, vocabulary, found);
        if operations.insert(operation.clone(), declared).is_some() {
            found.add(format!("{member}.operation"), format!("{operation} is there twice"));
        }
    }
    operations
}

fn vocabulary_words(member: &str, vocabulary: &Vocabulary, found: &mut Problems) -> Words {
    let bounds = bounds::of(&vocabulary.operation);
    let mut declared = Words::default();
    for (index, head) in vocabulary.heads.iter().enumerate() {
        let member = format!("{member}.heads[{index}]");
        let Some(parts) = words(head) else {
            found.add(member, format!("{head:?} is not words of letters, digits and `_` with single blanks"));
            continue;
        };
        let head = parts.join(" ");
        if !bounds.may_begin(&head) {
            found.add(
                member,
                format!(
                    "a statement of {} may not begin with {head}; only with {:?}",
                    vocabulary.operation, bounds.heads
                ),
            );
        }
        declared.words.extend(parts);
        declared.heads.push(head);
    }
    for (index, word) in vocabulary.words.iter().enumerate() {
        match words(word) {
            Some(parts) if parts.len() == 1 => declared.words.extend(parts),
            _ => found.add(
                format!("{member}.words[{index}]"),
                format!("{word:?} is not one word of letters, digits and `_`"),
            ),
        }
    }
    for word in declared.words.iter().filter(|word| bounds.denies(word)) {
        found.add(
            format!("{member}.words"),
            format!("{word} is denied in {}, whatever a dialect declares", vocabulary.operation),
        );
    }
    declared
}

fn type_words(info: &DialectInfo, found: &mut Problems) -> BTreeSet<String> {
    let mut declared = BTreeSet::new();
    for (index, word) in info.type_words.iter().enumerate() {
        match words(word) {
            Some(parts) if parts.len() == 1 && bounds::is_structural(&parts[0]) => found.add(
                format!("typeWords[{index}]"),
                format!("{word:?} begins or joins statements; it is no word of a type"),
            ),
            Some(parts) if parts.len() == 1 => declared.extend(parts),
            _ => found.add(
                format!("typeWords[{index}]"),
                format!("{word:?} is not one word of letters, digits and `_`"),
            ),
        }
    }
    declared
}

fn name_limits(rules: &[NameRule], found: &mut Problems) -> BTreeMap<String, NameLimit> {
    let mut limits = BTreeMap::new();
    for (index, rule) in rules.iter().enumerate() {
        let member = format!("nameRules[{index}]");
        let mut word = |name: &str, value: &str, legal: &[&str]| {
            if !legal.contains(&value) {
                found.add(format!("{member}.{name}"), format!("{value:?} is not one of {legal:?}"));
            }
        };
        word("appliesTo", &rule.applies_to, &["database", "table", "field"]);
        word("lengthUnit", &rule.length_unit, &["bytes", "characters"]);
        word("keeps", &rule.keeps, &["as_written", "lower", "upper"]);
        if rule.max_length == 0 {
            found.add(format!("{member}.maxLength"), "must be 1 or more");
        }
        match pattern::compile(&rule.pattern) {
            Ok(pattern) => {
                let limit = NameLimit { rule: rule.clone(), pattern };
                if limits.insert(rule.applies_to.clone(), limit).is_some() {
                    found.add(format!("{member}.appliesTo"), format!("{} has two rules", rule.applies_to));
                }
            }
            Err(message) => found.add(format!("{member}.pattern"), message),
        }
    }
    limits
}

fn reads_from(patterns: &[String], found: &mut Problems) -> Vec<Vec<String>> {
    /// Catalog, schema, object.
    const PARTS_MAX: usize = 3;
    let mut allowed = Vec::new();
    for (index, pattern) in patterns.iter().enumerate() {
        let parts: Vec<String> = pattern.split('.').map(str::to_owned).collect();
        let part = |part: &String| {
            part == "*"
                || !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"_$".contains(&b))
        };
        if parts.len() > PARTS_MAX || !parts.iter().all(part) || parts.iter().all(|part| part == "*") {
            found.add(
                format!("readsFrom[{index}]"),
                format!("{pattern:?} is not an object such as information_schema.columns; `*` for one part"),
            );
            continue;
        }
        allowed.push(parts);
    }
    allowed
}

#[cfg(test)]
#[path = "profile_tests.rs"]
mod tests;
