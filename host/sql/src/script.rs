//! Judges a task's text of several statements for one database: each may read and change data in that
//! database, and none may reach out of it.
//!
//! The text is split and judged on lexemes, by the database's own lexing, and never by matching text. A
//! statement of an unlisted kind is refused, and the whole text with it: nothing is sent. So is text that the
//! server's tokenizer could read differently from the lexer here: its placeholders, which may swallow quotes.

use crate::functions::reaches_out_of_sqlite;
use crate::lex::{Kind, Lexeme, Lexing, lex};

/// Statements of one text.
const STATEMENTS_MAX: usize = 1_000;
/// The longest text, in bytes.
pub const TEXT_MAX_BYTES: usize = 1024 * 1024;
/// The prefix of table functions that expose settings, as `PRAGMA` does.
const PRAGMA_FUNCTIONS: &str = "pragma_";
/// Begin a placeholder of SQLite. There is nothing to bind, and to SQLite `$a(')` is one placeholder.
const PLACEHOLDERS: [char; 5] = ['$', '@', ':', '?', '#'];
/// Tokenizers skip it; the lexer does not.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// One accepted statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptStatement {
    text: String,
    verb: &'static str,
    writes: bool,
}

impl ScriptStatement {
    /// The text, without the semicolon.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// `SELECT`, `INSERT`, `CREATE`: for people.
    pub fn verb(&self) -> &'static str {
        self.verb
    }

    /// Whether it may change the database.
    pub fn writes(&self) -> bool {
        self.writes
    }

    /// Whether the database counts its changed rows.
    pub fn changes_rows(&self) -> bool {
        matches!(self.verb, "INSERT" | "REPLACE" | "UPDATE" | "DELETE")
    }
}

/// The statements of a text for SQLite, in order; or the reason why it is refused, for people.
pub fn sqlite_script(text: &str) -> Result<Vec<ScriptStatement>, String> {
    if text.len() > TEXT_MAX_BYTES {
        return Err(format!("the SQL is longer than {TEXT_MAX_BYTES} bytes"));
    }
    let lexemes = lex(text, Lexing::SQLITE).map_err(|error| {
        format!("the SQL cannot be read: line {}: {}", line_of(text, error.at), error.what)
    })?;
    let mut statements = Vec::new();
    for part in lexemes.split(|lexeme| lexeme.kind == Kind::Symbol(';')) {
        let words: Vec<&Lexeme> =
            part.iter().filter(|lexeme| !matches!(lexeme.kind, Kind::Comment { .. })).collect();
        let (Some(first), Some(last)) = (words.first(), words.last()) else { continue };
        if statements.len() == STATEMENTS_MAX {
            return Err(format!("the SQL has more than {STATEMENTS_MAX} statements"));
        }
        let judged = Judge { text, lexemes: &words }.statement();
        let (verb, writes) = judged.map_err(|why| {
            let line = line_of(text, first.span.start);
            format!("statement {} (line {line}) is refused: {why}", statements.len() + 1)
        })?;
        let text = text[first.span.start..last.span.end].to_owned();
        statements.push(ScriptStatement { text, verb, writes });
    }
    if statements.is_empty() { Err("the SQL has no statement".to_owned()) } else { Ok(statements) }
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// One statement, without comments.
struct Judge<'a> {
    text: &'a str,
    lexemes: &'a [&'a Lexeme],
}

impl Judge<'_> {
    /// The verb, and whether it may change the database.
    fn statement(&self) -> Result<(&'static str, bool), String> {
        self.refuse_symbols_and_functions()?;
        let mut at = 0;
        let explains = self.is(0, "EXPLAIN");
        if explains {
            at = if self.is(1, "QUERY") && self.is(2, "PLAN") { 3 } else { 1 };
        }
        let (verb, writes) = self.kind(at)?;
        Ok(if explains { ("EXPLAIN", false) } else { (verb, writes) })
    }

    fn kind(&self, at: usize) -> Result<(&'static str, bool), String> {
        let verb = self.word(at).unwrap_or_default();
        match verb.as_str() {
            "SELECT" => Ok(("SELECT", false)),
            "VALUES" => Ok(("VALUES", false)),
            "WITH" => Ok(self.behind_with(at)),
            "INSERT" => Ok(("INSERT", true)),
            "REPLACE" => Ok(("REPLACE", true)),
            "UPDATE" => Ok(("UPDATE", true)),
            "DELETE" => Ok(("DELETE", true)),
            "ANALYZE" => Ok(("ANALYZE", true)),
            "CREATE" | "DROP" | "ALTER" => self.definition(at, &verb),
            "" => Err("it does not begin with a word".to_owned()),
            other => Err(format!(
                "{other} is no statement that a task may run; it may read (SELECT, WITH, EXPLAIN), change rows \
                 (INSERT, UPDATE, DELETE, REPLACE), define tables, indexes and views (CREATE, ALTER, DROP) and \
                 ANALYZE"
            )),
        }
    }

    fn definition(&self, at: usize, verb: &str) -> Result<(&'static str, bool), String> {
        let mut what = at + 1;
        while ["TEMP", "TEMPORARY", "UNIQUE"].iter().any(|word| verb == "CREATE" && self.is(what, word)) {
            what += 1;
        }
        let kind = self.word(what).unwrap_or_default();
        let verb = match verb {
            "CREATE" => "CREATE",
            "ALTER" => "ALTER",
            _ => "DROP",
        };
        match kind.as_str() {
            "TABLE" => Ok((verb, true)),
            "INDEX" | "VIEW" if verb != "ALTER" => Ok((verb, true)),
            _ => Err(format!(
                "{verb} {kind} is no statement that a task may run; tables, indexes and views alone"
            )),
        }
    }

    /// The verb after the common table expressions: the first one outside of parentheses.
    fn behind_with(&self, at: usize) -> (&'static str, bool) {
        let mut depth = 0;
        for place in at..self.lexemes.len() {
            match self.lexemes[place].kind {
                Kind::Symbol('(') => depth += 1,
                Kind::Symbol(')') => depth -= 1,
                Kind::Word if depth == 0 => match self.word(place).unwrap_or_default().as_str() {
                    "INSERT" => return ("INSERT", true),
                    "REPLACE" => return ("REPLACE", true),
                    "UPDATE" => return ("UPDATE", true),
                    "DELETE" => return ("DELETE", true),
                    "SELECT" | "VALUES" => return ("SELECT", false),
                    _ => {}
                },
                _ => {}
            }
        }
        // The database will report the error.
        ("SELECT", true)
    }

    fn refuse_symbols_and_functions(&self) -> Result<(), String> {
        for (place, lexeme) in self.lexemes.iter().enumerate() {
            match &lexeme.kind {
                Kind::Symbol(symbol) if PLACEHOLDERS.contains(symbol) => {
                    return Err(format!(
                        "`{symbol}` begins a placeholder, and there is nothing to put there"
                    ));
                }
                Kind::Word => self.name(place, &self.text[lexeme.span.clone()])?,
                Kind::Name(name) => self.name(place, name)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn name(&self, place: usize, name: &str) -> Result<(), String> {
        let lower = name.to_lowercase();
        if lower.contains(BYTE_ORDER_MARK) {
            return Err("there is a byte order mark in it".to_owned());
        }
        let is_called = self.lexemes.get(place + 1).is_some_and(|behind| behind.kind == Kind::Symbol('('));
        if is_called && reaches_out_of_sqlite(&lower) || lower.starts_with(PRAGMA_FUNCTIONS) {
            return Err(format!("{name} may not be used"));
        }
        Ok(())
    }

    /// The bare word at a place, upper case.
    fn word(&self, place: usize) -> Option<String> {
        let lexeme = self.lexemes.get(place).filter(|lexeme| lexeme.kind == Kind::Word)?;
        Some(self.text[lexeme.span.clone()].to_ascii_uppercase())
    }

    fn is(&self, place: usize, word: &str) -> bool {
        self.word(place).is_some_and(|found| found == word)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn verbs(text: &str) -> Vec<(&'static str, bool)> {
        let statements = sqlite_script(text).expect("it may run");
        statements.iter().map(|statement| (statement.verb(), statement.writes())).collect()
    }

    #[test]
    fn statements_are_split_where_the_database_splits_them() {
        let text = "-- one; two\nINSERT INTO t VALUES (';', \"a;b\", [c;d]); /* ; */ ;; SELECT 1 -- end\n";
        let statements = sqlite_script(text).unwrap();
        assert_eq!(statements.len(), 2);
        assert_eq!(statements[0].as_str(), "INSERT INTO t VALUES (';', \"a;b\", [c;d])");
        assert_eq!(statements[1].as_str(), "SELECT 1");
    }

    #[test]
    fn what_stays_in_the_database_may_run() {
        for (text, expected) in [
            ("select 1", ("SELECT", false)),
            ("WITH a AS (SELECT 1) SELECT * FROM a", ("SELECT", false)),
            ("WITH a(x) AS (SELECT 1) INSERT INTO t SELECT x FROM a", ("INSERT", true)),
            ("with a as (values (1)) delete from t", ("DELETE", true)),
            ("REPLACE INTO t VALUES (1)", ("REPLACE", true)),
            ("UPDATE t SET a = replace(a, 'x', 'y')", ("UPDATE", true)),
            ("CREATE TEMP TABLE x AS SELECT 1", ("CREATE", true)),
            ("create unique index i on t (a)", ("CREATE", true)),
            ("DROP VIEW IF EXISTS v", ("DROP", true)),
            ("ALTER TABLE t ADD COLUMN b", ("ALTER", true)),
            ("ANALYZE", ("ANALYZE", true)),
            ("EXPLAIN QUERY PLAN DELETE FROM t", ("EXPLAIN", false)),
            ("INSERT INTO file (url, local) VALUES (1, 2)", ("INSERT", true)),
        ] {
            assert_eq!(verbs(text), [expected], "{text}");
        }
    }

    #[test]
    fn statements_that_leave_the_file_are_refused() {
        for text in [
            "ATTACH 'x.db' AS x",
            "SELECT 1; attach database 'x.db' as x",
            "/* */ DETACH x",
            "PRAGMA journal_mode = off",
            "VACUUM",
            "VACUUM INTO 'x.db'",
            "BEGIN",
            "COMMIT",
            "END",
            "ROLLBACK",
            "SAVEPOINT a",
            "RELEASE a",
            "REINDEX",
            "EXPLAIN ATTACH 'x.db' AS x",
            "CREATE TRIGGER a AFTER INSERT ON t BEGIN SELECT 1; END",
            "CREATE VIRTUAL TABLE v USING fts5(a)",
            "SELECT load_extension('x')",
            "SELECT \"load_extension\" ('x')",
            "SELECT [writefile]('x', 'y')",
            "SELECT Readfile/**/('x')",
            "SELECT * FROM pragma_database_list",
            "SELECT * FROM \"pragma_table_info\"('t')",
            "SELECT $a('); ATTACH 'x.db' AS x --'",
            "SELECT @a, :b, ?1",
            "\u{feff}ATTACH 'x.db' AS x",
            "'SELECT' 1",
            "SELECT 'open",
            "",
            ";;-- nothing",
        ] {
            assert!(sqlite_script(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_refusal_names_the_statement_and_its_line() {
        let error = sqlite_script("SELECT 1;\n\nATTACH 'x' AS y").unwrap_err();
        assert!(error.contains("statement 2 (line 3)") && error.contains("ATTACH"), "{error}");
    }

    proptest! {
        #[test]
        fn split_statements_are_parts_of_the_text(text in "(SELECT|ATTACH|;|'|\"|--|/\\*|\\*/|\\[|\\]|\n| |\\$a\\(|x|1)*") {
            if let Ok(statements) = sqlite_script(&text) {
                for statement in statements {
                    prop_assert!(text.contains(statement.as_str()));
                    prop_assert!(statement.as_str().starts_with("SELECT"));
                }
            }
        }
    }
}
