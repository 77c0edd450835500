//! Judges a task's text of several statements for one database: each may read and change data in that
//! database, and none may reach out of it.
//!
//! The text is split and judged on lexemes, by the database's own lexing, and never by matching text. A
//! statement of an unlisted kind is refused, and the whole text with it: nothing is sent. So is text that the
//! server's tokenizer could read differently from the lexer here: its placeholders, which may swallow quotes.

use crate::functions::{only_computes, reaches_out};
use crate::lex::{Kind, LexError, Lexeme, Lexing, Server, lex};

/// Statements of one text.
const STATEMENTS_MAX: usize = 1_000;
/// The longest text, in bytes.
pub const TEXT_MAX_BYTES: usize = 1024 * 1024;
/// The prefix of table functions that expose settings, as `PRAGMA` does.
const PRAGMA_FUNCTIONS: &str = "pragma_";
/// Begin a placeholder of SQLite. There is nothing to bind, and to SQLite `$a(')` is one placeholder.
const PLACEHOLDERS: [char; 5] = ['$', '@', ':', '?', '#'];
/// Statements with which MySQL and MariaDB end a transaction.
const COMMITS_IN_MYSQL: [&str; 6] = ["CREATE", "ALTER", "DROP", "TRUNCATE", "RENAME", "ANALYZE"];
/// Words before a table that is read.
const READS_WITH: [&str; 7] = ["FROM", "JOIN", "TABLE", "USING", "LIKE", "UPDATE", "MERGE"];
/// What may stand before a parenthesis and is no call, lower case: PostgreSQL's and MySQL's.
const BEFORE_PARENTHESES: [&str; 50] = [
    "all",
    "and",
    "any",
    "array",
    "as",
    "between",
    "by",
    "case",
    "cast",
    "char",
    "character",
    "cube",
    "decimal",
    "distinct",
    "else",
    "except",
    "exists",
    "filter",
    "from",
    "group",
    "having",
    "if",
    "in",
    "intersect",
    "interval",
    "is",
    "join",
    "lateral",
    "like",
    "limit",
    "materialized",
    "not",
    "offset",
    "on",
    "or",
    "over",
    "recursive",
    "rollup",
    "row",
    "select",
    "sets",
    "signed",
    "some",
    "then",
    "union",
    "using",
    "values",
    "varying",
    "when",
    "where",
];
/// Functions of PostgreSQL's large objects, which its list refuses by their beginning.
const LARGE_OBJECTS: [&str; 9] = [
    "lo_creat",
    "lo_create",
    "lo_export",
    "lo_from_bytea",
    "lo_get",
    "lo_import",
    "lo_open",
    "lo_put",
    "lo_unlink",
];
/// Tokenizers skip it; the lexer does not.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// One accepted statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptStatement {
    text: String,
    verb: &'static str,
    writes: bool,
    commits: bool,
    may_read_tables: bool,
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

    /// Whether the database ends the transaction with it, and keeps it at once.
    pub fn commits(&self) -> bool {
        self.commits
    }

    /// Whether it defines something, which the session may keep.
    pub fn defines(&self) -> bool {
        !self.changes_rows() && !matches!(self.verb, "SELECT" | "VALUES" | "EXPLAIN")
    }

    /// False: it names no table that it reads.
    pub fn may_read_tables(&self) -> bool {
        self.may_read_tables
    }

    /// Whether the database counts its changed rows.
    pub fn changes_rows(&self) -> bool {
        matches!(self.verb, "INSERT" | "REPLACE" | "UPDATE" | "DELETE" | "MERGE")
    }
}

/// The statements of a text for SQLite; see [`script`].
pub fn sqlite_script(text: &str) -> Result<Vec<ScriptStatement>, String> {
    script(text, Server::Sqlite)
}

/// The statements of a text for a server, in order; or the reason why it is refused, for people. The sessions of tasks
/// have the settings of [`lexing_of`].
pub fn script(text: &str, server: Server) -> Result<Vec<ScriptStatement>, String> {
    if text.len() > TEXT_MAX_BYTES {
        return Err(format!("the SQL is longer than {TEXT_MAX_BYTES} bytes"));
    }
    let unread =
        |error: LexError| format!("the SQL cannot be read: line {}: {}", line_of(text, error.at), error.what);
    let lexemes = lex(text, lexing_of(server)).map_err(unread)?;
    if server == Server::MySql {
        refuse_two_readings(text, &lexemes)?;
    }
    let mut statements = Vec::new();
    for part in lexemes.split(|lexeme| lexeme.kind == Kind::Symbol(';')) {
        // One that goes on after a line's end is read in the mode of the first by the server.
        let is_text = |lexeme: &Lexeme| matches!(lexeme.kind, Kind::Text(_));
        let mut others = part.iter().filter(|lexeme| !matches!(lexeme.kind, Kind::Comment { .. }));
        let mut before = others.next();
        for lexeme in others {
            if server == Server::Postgres && before.is_some_and(is_text) && is_text(lexeme) {
                let line = line_of(text, lexeme.span.start);
                return Err(format!(
                    "line {line}: a text goes on behind another one; write them as one, or with `||`"
                ));
            }
            before = Some(lexeme);
        }
        if let Some(comment) = part.iter().find(|lexeme| lexeme.kind == Kind::Comment { executable: true }) {
            let line = line_of(text, comment.span.start);
            return Err(format!("line {line}: a comment that a server may run is refused; write `/* … */`"));
        }
        let words: Vec<&Lexeme> =
            part.iter().filter(|lexeme| !matches!(lexeme.kind, Kind::Comment { .. })).collect();
        let (Some(first), Some(last)) = (words.first(), words.last()) else { continue };
        if statements.len() == STATEMENTS_MAX {
            return Err(format!("the SQL has more than {STATEMENTS_MAX} statements"));
        }
        let judged = Judge { text, lexemes: &words, server }.statement();
        let (verb, writes) = judged.map_err(|why| {
            let line = line_of(text, first.span.start);
            format!("statement {} (line {line}) is refused: {why}", statements.len() + 1)
        })?;
        let commits = server == Server::MySql && COMMITS_IN_MYSQL.contains(&verb);
        let word = |lexeme: &&&Lexeme| lexeme.kind == Kind::Word;
        let may_read_tables = words
            .iter()
            .filter(word)
            .any(|lexeme| READS_WITH.iter().any(|one| text[lexeme.span.clone()].eq_ignore_ascii_case(one)));
        let text = text[first.span.start..last.span.end].to_owned();
        statements.push(ScriptStatement { text, verb, writes, commits, may_read_tables });
    }
    if statements.is_empty() { Err("the SQL has no statement".to_owned()) } else { Ok(statements) }
}

/// How a server reads a text in the sessions of tasks.
pub fn lexing_of(server: Server) -> Lexing {
    match server {
        Server::Postgres => Lexing::POSTGRES,
        Server::MySql => Lexing::MYSQL,
        Server::Sqlite | Server::Unknown => Lexing::SQLITE,
    }
}

/// A backslash before a quote may end a literal or not, by a mode of the server: a text that would be split otherwise is
/// refused.
fn refuse_two_readings(text: &str, lexemes: &[Lexeme]) -> Result<(), String> {
    let ends = |lexemes: &[Lexeme]| -> Vec<usize> {
        let ends = lexemes.iter().filter(|lexeme| lexeme.kind == Kind::Symbol(';'));
        ends.map(|lexeme| lexeme.span.start).collect()
    };
    let plain = lex(text, Lexing::MYSQL_PLAIN);
    if plain.is_ok_and(|plain| ends(&plain) == ends(lexemes)) {
        return Ok(());
    }
    Err("a backslash before a quote means different things to different servers; double the quote instead"
        .to_owned())
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// One statement, without comments.
struct Judge<'a> {
    text: &'a str,
    lexemes: &'a [&'a Lexeme],
    server: Server,
}

impl Judge<'_> {
    /// The verb, and whether it may change the database.
    fn statement(&self) -> Result<(&'static str, bool), String> {
        self.refuse_symbols_and_functions()?;
        self.refuse_into(0)?;
        self.refuse_catalogue()?;
        let mut at = 0;
        let explains = self.is(0, "EXPLAIN");
        if explains {
            at = if self.is(1, "QUERY") && self.is(2, "PLAN") { 3 } else { 1 };
            if self.server != Server::Sqlite {
                // Its options stand in parentheses, or are words.
                return Ok(("EXPLAIN", true));
            }
        }
        let (verb, writes) = self.kind(at)?;
        Ok(if explains { ("EXPLAIN", false) } else { (verb, writes || self.may_call_a_writer()) })
    }

    /// Whether it calls something that a user has written. What only looks like a call counts, too.
    fn may_call_a_writer(&self) -> bool {
        // SQLite has the functions that the server gives it.
        if self.server == Server::Sqlite {
            return false;
        }
        let is_symbol = |place: usize, symbol: char| {
            self.lexemes.get(place).is_some_and(|lexeme| lexeme.kind == Kind::Symbol(symbol))
        };
        self.lexemes.iter().enumerate().any(|(place, lexeme)| {
            let (name, may_be_syntax) = match &lexeme.kind {
                Kind::Word => (self.text[lexeme.span.clone()].to_lowercase(), true),
                Kind::Name(name) => (name.clone(), false),
                _ => return false,
            };
            let is_in_schema = place > 1 && is_symbol(place - 1, '.') && !self.is(place - 2, "PG_CATALOG");
            let is_syntax = may_be_syntax && BEFORE_PARENTHESES.contains(&name.as_str());
            is_symbol(place + 1, '(') && (is_in_schema || !is_syntax && !only_computes(self.server, &name))
        })
    }

    fn kind(&self, at: usize) -> Result<(&'static str, bool), String> {
        let verb = self.word(at).unwrap_or_default();
        let (is_postgres, is_mysql) = (self.server == Server::Postgres, self.server == Server::MySql);
        match verb.as_str() {
            "SELECT" => self.selection(at),
            "VALUES" => Ok(("VALUES", false)),
            "TABLE" if is_postgres || is_mysql => Ok(("SELECT", false)),
            "WITH" => Ok(self.behind_with(at)),
            "INSERT" => Ok(("INSERT", true)),
            "REPLACE" if !is_postgres => Ok(("REPLACE", true)),
            "UPDATE" => Ok(("UPDATE", true)),
            "DELETE" => Ok(("DELETE", true)),
            "MERGE" if is_postgres => Ok(("MERGE", true)),
            "TRUNCATE" if is_postgres || is_mysql => Ok(("TRUNCATE", true)),
            "REFRESH" if is_postgres => Ok(("REFRESH", true)),
            "CALL" if is_postgres => Ok(("CALL", true)),
            "RENAME" if is_mysql && self.is(at + 1, "TABLE") => Ok(("RENAME", true)),
            "ANALYZE" => Ok(("ANALYZE", true)),
            "CREATE" | "DROP" | "ALTER" => self.definition(at, &verb),
            "" => Err("it does not begin with a word".to_owned()),
            other => Err(format!(
                "{other} is no statement that a task may run; it may read (SELECT, WITH, EXPLAIN), change rows ({}), define \
                 tables, indexes and views (CREATE, ALTER, DROP) and ANALYZE",
                match self.server {
                    Server::Postgres => "INSERT, UPDATE, DELETE, MERGE, TRUNCATE, REFRESH, CALL",
                    Server::MySql => "INSERT, UPDATE, DELETE, REPLACE, TRUNCATE",
                    Server::Sqlite | Server::Unknown => "INSERT, UPDATE, DELETE, REPLACE",
                }
            )),
        }
    }

    /// PostgreSQL's `SELECT … INTO` makes a table, MySQL's writes a file or sets a variable.
    fn selection(&self, at: usize) -> Result<(&'static str, bool), String> {
        self.refuse_into(at)?;
        let has_into =
            self.server != Server::Sqlite && (at..self.lexemes.len()).any(|place| self.is(place, "INTO"));
        Ok(("SELECT", has_into))
    }

    /// In MySQL what is selected INTO leaves the database; only INSERT and REPLACE have one of their own.
    fn refuse_into(&self, at: usize) -> Result<(), String> {
        const BETWEEN: [&str; 4] = ["IGNORE", "DELAYED", "LOW_PRIORITY", "HIGH_PRIORITY"];
        let inserts = |place: &usize| self.is(*place, "INSERT") || self.is(*place, "REPLACE");
        let verb = match self.is(0, "EXPLAIN") {
            true => (1..self.lexemes.len()).find(inserts),
            false => Some(0).filter(inserts),
        };
        let own = verb.map(|verb| {
            let is_between = |place: &usize| BETWEEN.iter().any(|word| self.is(*place, word));
            verb + 1 + (verb + 1..self.lexemes.len()).take_while(is_between).count()
        });
        let mut intos = (at..self.lexemes.len()).filter(|&place| self.is(place, "INTO"));
        if self.server == Server::MySql && intos.any(|place| Some(place) != own) {
            return Err("SELECT … INTO leaves the database; write INSERT INTO … SELECT".to_owned());
        }
        Ok(())
    }

    fn definition(&self, at: usize, verb: &str) -> Result<(&'static str, bool), String> {
        const BETWEEN: [&str; 14] = [
            "TEMP",
            "TEMPORARY",
            "UNIQUE",
            "LOCAL",
            "GLOBAL",
            "UNLOGGED",
            "OR",
            "REPLACE",
            "MATERIALIZED",
            "RECURSIVE",
            "FULLTEXT",
            "SPATIAL",
            "ONLINE",
            "OFFLINE",
        ];
        let in_sqlite = ["TEMP", "TEMPORARY", "UNIQUE"];
        let between: &[&str] = if self.server == Server::Sqlite { &in_sqlite } else { &BETWEEN };
        let mut what = at + 1;
        let may_be_between = verb == "CREATE" || self.server != Server::Sqlite;
        while may_be_between && between.iter().any(|word| self.is(what, word)) {
            what += 1;
        }
        let kind = self.word(what).unwrap_or_default();
        let verb = match verb {
            "CREATE" => "CREATE",
            "ALTER" => "ALTER",
            _ => "DROP",
        };
        if self.server == Server::MySql
            && (what..self.lexemes.len()).any(|place| {
                let has_value = self
                    .lexemes
                    .get(place + 1)
                    .is_some_and(|behind| matches!(behind.kind, Kind::Symbol('=') | Kind::Text(_)));
                let is_directory = self.is(place, "DIRECTORY")
                    && place
                        .checked_sub(1)
                        .is_some_and(|before| self.is(before, "DATA") || self.is(before, "INDEX"));
                has_value && (is_directory || self.is(place, "CONNECTION"))
            })
        {
            return Err("a table of a task is kept where the server keeps its own: without DATA DIRECTORY, INDEX DIRECTORY \
                        and CONNECTION"
                .to_owned());
        }
        match (kind.as_str(), self.server) {
            ("TABLE", _) => Ok((verb, true)),
            ("INDEX" | "VIEW", Server::Postgres) => Ok((verb, true)),
            ("INDEX" | "VIEW", _) if verb != "ALTER" => Ok((verb, true)),
            ("VIEW", Server::MySql) => Ok((verb, true)),
            ("SCHEMA", Server::Postgres)
                if (what..self.lexemes.len()).any(|place| self.is_element(place)) =>
            {
                Err("CREATE SCHEMA with elements is no statement that a task may run; make them by their own"
                    .to_owned())
            }
            ("SEQUENCE" | "SCHEMA" | "STATISTICS", Server::Postgres) => Ok((verb, true)),
            _ => Err(format!(
                "{verb} {kind} is no statement that a task may run; tables, indexes and views alone"
            )),
        }
    }

    /// The server's own tables are no data: accounts, code, settings.
    fn refuse_catalogue(&self) -> Result<(), String> {
        for (place, lexeme) in self.lexemes.iter().enumerate() {
            let name = match &lexeme.kind {
                Kind::Word => self.text[lexeme.span.clone()].to_lowercase(),
                Kind::Name(name) => name.to_lowercase(),
                _ => continue,
            };
            let is_qualifier =
                self.lexemes.get(place + 1).is_some_and(|behind| behind.kind == Kind::Symbol('.'));
            let is_refused = match self.server {
                Server::MySql => {
                    is_qualifier && ["mysql", "sys", "performance_schema"].contains(&name.as_str())
                }
                Server::Postgres => {
                    let is_target = ["INTO", "UPDATE", "TABLE", "ONLY"]
                        .iter()
                        .any(|word| place > 0 && self.is(place - 1, word))
                        || (place > 1 && self.is(place - 1, "FROM") && self.is(place - 2, "DELETE"));
                    is_target && name.starts_with("pg_")
                }
                Server::Sqlite | Server::Unknown => false,
            };
            if is_refused {
                return Err(format!("{name} belongs to the server itself"));
            }
        }
        Ok(())
    }

    fn is_element(&self, place: usize) -> bool {
        self.is(place, "CREATE") || self.is(place, "GRANT")
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
                    "MERGE" => return ("MERGE", true),
                    "SELECT" | "VALUES" => return ("SELECT", self.server != Server::Sqlite),
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
                Kind::Symbol(symbol) if self.is_placeholder(*symbol) => {
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

    /// The servers' own syntax has some of them; they refuse the others themselves.
    fn is_placeholder(&self, symbol: char) -> bool {
        self.server == Server::Sqlite && PLACEHOLDERS.contains(&symbol)
    }

    fn name(&self, place: usize, name: &str) -> Result<(), String> {
        let lower = name.to_lowercase();
        if lower.contains(BYTE_ORDER_MARK) {
            return Err("there is a byte order mark in it".to_owned());
        }
        let is = |place: Option<usize>, symbols: &[char]| {
            let lexeme = place.and_then(|place| self.lexemes.get(place));
            lexeme.is_some_and(
                |lexeme| matches!(lexeme.kind, Kind::Symbol(symbol) if symbols.contains(&symbol)),
            )
        };
        // PostgreSQL reads `(value).name` as `name(value)`, and `alias.name` where the alias is of a value.
        let is_attribute = self.server == Server::Postgres && is(place.checked_sub(1), &['.']);
        let is_of_value = is_attribute && is(place.checked_sub(2), &[')', ']']);
        // Columns may begin with `lo_`, too.
        let is_no_column = !lower.starts_with("lo_") || LARGE_OBJECTS.contains(&lower.as_str());
        let is_called = is(Some(place + 1), &['(']) || is_of_value || is_attribute && is_no_column;
        let is_pragma = self.server == Server::Sqlite && lower.starts_with(PRAGMA_FUNCTIONS);
        if is_called && reaches_out(self.server, &lower) || is_pragma {
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
    fn tasks_on_postgresql_keep_to_its_statements() {
        for (text, expected) in [
            ("SELECT a::text, b ->> 'x', c ? 'y' FROM t -- end", ("SELECT", false)),
            ("SELECT $$it's; here$$", ("SELECT", false)),
            ("SELECT * INTO u FROM t", ("SELECT", true)),
            ("WITH a AS (DELETE FROM t RETURNING *) SELECT * FROM a", ("SELECT", true)),
            ("WITH a AS (SELECT 1) MERGE INTO t USING a ON true WHEN MATCHED THEN DELETE", ("MERGE", true)),
            ("TRUNCATE t", ("TRUNCATE", true)),
            ("CREATE UNLOGGED TABLE IF NOT EXISTS t (a int)", ("CREATE", true)),
            ("CREATE OR REPLACE VIEW v AS SELECT 1", ("CREATE", true)),
            ("REFRESH MATERIALIZED VIEW m", ("REFRESH", true)),
            ("DROP MATERIALIZED VIEW m", ("DROP", true)),
            ("EXPLAIN (ANALYZE) DELETE FROM t", ("EXPLAIN", true)),
            ("CALL refresh_all()", ("CALL", true)),
            ("SELECT load_orders(1)", ("SELECT", true)),
            ("SELECT etl.count(1)", ("SELECT", true)),
            ("SELECT * FROM \"Load\"()", ("SELECT", true)),
            (
                "SELECT pg_catalog.lower(x::varchar(10)), sum(y) OVER (PARTITION BY z) \
                 FROM (SELECT count(*) FROM t) AS a JOIN b USING (id) WHERE x IN (1) AND (y > 2 OR NOT (EXISTS (SELECT 1)))",
                ("SELECT", false),
            ),
        ] {
            let statements = script(text, Server::Postgres).expect(text);
            assert_eq!(
                (statements.len(), statements[0].verb(), statements[0].writes()),
                (1, expected.0, expected.1),
                "{text}"
            );
            assert!(!statements[0].commits(), "{text}");
        }
        for text in [
            "COPY t FROM '/etc/passwd'",
            "COPY t TO PROGRAM 'sh'",
            "COMMIT",
            "SELECT 1; ROLLBACK",
            "SAVEPOINT a",
            "PREPARE TRANSACTION 'a'",
            "SET ROLE postgres",
            "SET search_path TO x",
            "RESET ALL",
            "DO $$ BEGIN COMMIT; END $$",
            "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "CREATE EXTENSION dblink",
            "CREATE ROLE x",
            "ALTER SYSTEM SET a = 1",
            "GRANT ALL ON t TO PUBLIC",
            "LISTEN a",
            "NOTIFY a",
            "VACUUM",
            "LOAD 'x'",
            "SELECT pg_read_file('/etc/passwd')",
            "SELECT pg_catalog.pg_read_binary_file('x')",
            "INSERT INTO t SELECT lo_import('/etc/passwd')",
            "SELECT pg_terminate_backend(1)",
            "SELECT dblink_exec('x', 'y')",
            "SELECT query_to_xml('SELECT 1', true, true, '')",
            "SELECT set_config('role', 'postgres', false)",
            "SELECT 'open",
            "SELECT E'a'\n'b\\''; COMMIT; SELECT 1 --'",
            "SELECT E'a' -- c\n'b'",
            "UPDATE pg_authid SET rolsuper = true",
            "INSERT INTO pg_catalog.pg_proc SELECT 1",
            "DELETE FROM \"pg_largeobject\"",
            "SELECT ts_rewrite('a'::tsquery, 'SELECT 1')",
            "SELECT pg_notify('a', 'b')",
            "CREATE SCHEMA s GRANT ALL ON t TO PUBLIC",
        ] {
            assert!(script(text, Server::Postgres).is_err(), "{text}");
        }
    }

    #[test]
    fn tasks_on_mysql_keep_to_its_statements() {
        for (text, verb, commits) in [
            ("SELECT 1 # end; x", "SELECT", false),
            ("INSERT INTO t VALUES ('it''s; here', \"a;b\", `c;d`)", "INSERT", false),
            ("REPLACE INTO t VALUES (1)", "REPLACE", false),
            ("INSERT INTO t SELECT 'a\\\\'", "INSERT", false),
            ("TRUNCATE TABLE t", "TRUNCATE", true),
            ("CREATE TABLE t (a int)", "CREATE", true),
            ("RENAME TABLE a TO b", "RENAME", true),
            ("DROP VIEW v", "DROP", true),
        ] {
            let statements = script(text, Server::MySql).expect(text);
            assert_eq!(
                (statements.len(), statements[0].verb(), statements[0].commits()),
                (1, verb, commits),
                "{text}"
            );
        }
        for text in [
            "LOAD DATA INFILE '/etc/passwd' INTO TABLE t",
            "SELECT 1 INTO OUTFILE '/tmp/x'",
            "SELECT * FROM t INTO DUMPFILE '/tmp/x'",
            "SELECT 1 INTO @a",
            "WITH a AS (SELECT 1) SELECT * FROM a INTO OUTFILE '/tmp/x'",
            "INSERT INTO mysql.func VALUES ('f', 0, 'x.so', 'function')",
            "UPDATE `mysql` . global_priv SET a = 1",
            "TABLE t INTO OUTFILE '/tmp/x'",
            "VALUES ROW(1) INTO @a",
            "EXPLAIN SELECT 1 INTO OUTFILE '/tmp/x'",
            "ANALYZE SELECT 1 INTO OUTFILE '/tmp/x'",
            "SELECT load_file('/etc/passwd')",
            "SET sql_mode = ''",
            "USE mysql",
            "COMMIT",
            "START TRANSACTION",
            "LOCK TABLES t WRITE",
            "CALL p()",
            "CREATE PROCEDURE p() SELECT 1",
            "CREATE USER x",
            "GRANT ALL ON *.* TO x",
            "KILL 1",
            "HANDLER t OPEN",
            "SHUTDOWN",
            "PREPARE a FROM 'SELECT 1'",
            "/*!50000 DROP TABLE t */",
            "SELECT 1 /*M! INTO OUTFILE 'x' */",
            "SELECT 'it\\'s; DROP TABLE t; --'",
        ] {
            assert!(script(text, Server::MySql).is_err(), "{text}");
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
