//! What SQLite itself lets a query's session do, whatever the guard in front of it let through: read tables, call
//! functions, nothing else. SQLite asks when it prepares a statement, for each column that is read and each
//! function that is called, in whatever way the statement is written.
//!
//! A session over [`Views`] may read these alone. Each is made of another one whose name nobody can guess, and only
//! what SQLite says is read on behalf of that one may be a table of the file: the name that SQLite gives there
//! could else be had by a common table expression of the same name.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, c_char, c_int, c_void};

use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use libsqlite3_sys as sqlite;
use sqlx::sqlite::LockedSqliteHandle;

/// The largest value that a query may have in its hands, bytes. A search within a text takes a time that grows with
/// the square of it, and nothing stops SQLite within one.
const VALUE_MAX_BYTES: c_int = 1024 * 1024;
/// Columns of a row, for the same reason: each may hold a value.
const COLUMNS_MAX: c_int = 500;
/// The longest pattern of a LIKE, bytes.
const PATTERN_MAX_BYTES: c_int = 1_000;
/// Under which name the connection keeps its authority, and frees it when it is closed.
const CLIENT_DATA: &CStr = c"lakeport authority";

/// Functions that reach out of the database, or make a value of up to 1 GB out of a few words.
const DENIED_FUNCTIONS: &[&str] = &[
    "edit",
    "format",
    "fsdir",
    "fts3_tokenizer",
    "load_extension",
    "printf",
    "randomblob",
    "readfile",
    "writefile",
    "zeroblob",
    "zipfile",
];
/// What tables begin with that every file has, or that SQLite makes up.
const SYSTEM_PREFIXES: &[&str] = &["sqlite_", "pragma_"];
/// Others that SQLite makes up, of the file's own inside.
const SYSTEM_TABLES: &[&str] = &["bytecode", "dbstat", "tables_used"];

/// A view over tables of the file.
#[derive(Clone, Debug)]
pub struct View {
    /// What a query calls it.
    pub name: &'static str,
    /// The `SELECT` that it is. Tables of the file stand in it with `main.` in front.
    pub select: String,
}

/// What a view may be made of.
#[derive(Clone, Copy, Debug)]
pub struct Base {
    /// A table of the file.
    pub table: &'static str,
    /// Its columns; empty: all.
    pub columns: &'static [&'static str],
}

/// All that a session may read, instead of the tables of the file.
#[derive(Clone, Debug)]
pub struct Views {
    views: Vec<View>,
    bases: &'static [Base],
    secret: String,
}

impl Views {
    /// `secret` is letters and digits that nobody can guess, others for each session.
    pub fn new(views: Vec<View>, bases: &'static [Base], secret: String) -> Views {
        Views { views, bases, secret }
    }

    fn inner(&self, view: &View) -> String {
        format!("{}_{}", view.name, self.secret)
    }

    /// What makes them where nobody asks, for each name, whether it may be read: only the guard stands before it.
    pub(crate) fn plain_statements(&self) -> Vec<String> {
        let of = |view: &View| format!("CREATE TEMP VIEW \"{}\" AS {}", view.name, view.select);
        self.views.iter().map(of).collect()
    }

    /// What makes them.
    pub(crate) fn statements(&self) -> Vec<String> {
        let of = |view: &View| {
            let (name, inner, select) = (view.name, self.inner(view), &view.select);
            [
                format!("CREATE TEMP VIEW \"{inner}\" AS {select}"),
                format!("CREATE TEMP VIEW \"{name}\" AS SELECT * FROM temp.\"{inner}\""),
            ]
        };
        self.views.iter().flat_map(of).collect()
    }
}

/// What one session may do.
pub(crate) enum Authority {
    /// Read whatever is in the file, but not what SQLite keeps there for itself.
    Tables,
    /// Read these views.
    Views {
        outer: BTreeSet<String>,
        inner: BTreeSet<String>,
        bases: BTreeMap<&'static str, &'static [&'static str]>,
        /// Names of the file's tables, lower case.
        tables: BTreeSet<String>,
    },
}

impl Authority {
    pub fn new(views: Option<&Views>, tables: &[String]) -> Authority {
        let Some(views) = views else { return Authority::Tables };
        Authority::Views {
            outer: views.views.iter().map(|view| view.name.to_owned()).collect(),
            inner: views.views.iter().map(|view| views.inner(view)).collect(),
            bases: views.bases.iter().map(|base| (base.table, base.columns)).collect(),
            tables: tables.iter().map(|name| name.to_lowercase()).collect(),
        }
    }

    /// Whether it may do this: SQLite's code of the action, what it is done to, and the view that it is done for.
    fn allows(&self, action: c_int, one: &str, other: &str, database: &str, view: &str) -> bool {
        match action {
            sqlite::SQLITE_SELECT | sqlite::SQLITE_RECURSIVE => true,
            sqlite::SQLITE_FUNCTION => !DENIED_FUNCTIONS.contains(&other.to_lowercase().as_str()),
            sqlite::SQLITE_READ => self.may_read(&one.to_lowercase(), other, database, view),
            _ => false,
        }
    }

    fn may_read(&self, table: &str, column: &str, database: &str, view: &str) -> bool {
        let is_system =
            SYSTEM_TABLES.contains(&table) || SYSTEM_PREFIXES.iter().any(|prefix| table.starts_with(prefix));
        let Authority::Views { outer, inner, bases, tables } = self else {
            return !is_system;
        };
        if inner.contains(view) {
            let is_column =
                |columns: &&[&str]| columns.is_empty() || column.is_empty() || columns.contains(&column);
            return database == "main" && bases.get(table).is_some_and(is_column);
        }
        let is_view = outer.contains(table) || inner.contains(table);
        match database {
            "temp" => is_view,
            // Where SQLite takes a view apart it asks for the tables of which it reads no column, and no longer says
            // for which view. That tells no more than how many rows there are.
            "main" => column.is_empty() && bases.contains_key(table),
            // A table of which no column is read: only the name is given, as the statement has it.
            "" => column.is_empty() && (is_view || !tables.contains(table) && !is_system),
            _ => false,
        }
    }
}

/// Makes the session ask it from now on.
#[expect(
    unsafe_code,
    reason = "the driver does not offer SQLite's authorizer; the handle is locked meanwhile"
)]
pub(crate) fn install(handle: &mut LockedSqliteHandle<'_>, authority: Authority) -> Result<(), Error> {
    let connection = handle.as_raw_handle().as_ptr();
    let kept = Box::into_raw(Box::new(authority)).cast::<c_void>();
    // SAFETY: the connection is open and nobody else uses it while the handle is locked. It owns `kept` from the
    // first of these calls on: it frees it by `free` when it is closed, or at once where that call fails, and asks
    // it by `asked` no longer than that; nobody else has it, and it is never changed.
    let is_installed = unsafe {
        sqlite::sqlite3_limit(connection, sqlite::SQLITE_LIMIT_LENGTH, VALUE_MAX_BYTES);
        sqlite::sqlite3_limit(connection, sqlite::SQLITE_LIMIT_COLUMN, COLUMNS_MAX);
        sqlite::sqlite3_limit(connection, sqlite::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, PATTERN_MAX_BYTES);
        sqlite::sqlite3_limit(connection, sqlite::SQLITE_LIMIT_ATTACHED, 0);
        sqlite::sqlite3_set_clientdata(connection, CLIENT_DATA.as_ptr(), kept, Some(free))
            == sqlite::SQLITE_OK
            && sqlite::sqlite3_set_authorizer(connection, Some(asked), kept) == sqlite::SQLITE_OK
    };
    if is_installed {
        return Ok(());
    }
    Err(error("internal", "the session could not be restricted"))
}

#[expect(unsafe_code, reason = "SQLite hands the pointer back to be freed")]
unsafe extern "C" fn free(kept: *mut c_void) {
    // SAFETY: it was made from a box by `install`, and SQLite calls this once.
    drop(unsafe { Box::from_raw(kept.cast::<Authority>()) });
}

#[expect(unsafe_code, reason = "SQLite calls it with pointers")]
unsafe extern "C" fn asked(
    kept: *mut c_void,
    action: c_int,
    one: *const c_char,
    other: *const c_char,
    database: *const c_char,
    view: *const c_char,
) -> c_int {
    // SAFETY: `kept` lives as long as the connection that asks; see `install`.
    let authority = unsafe { &*kept.cast::<Authority>() };
    let texts = [one, other, database, view].map(|text| {
        // SAFETY: SQLite gives a text that ends with a zero and lives during the call, or none.
        if text.is_null() { Some("") } else { unsafe { CStr::from_ptr(text) }.to_str().ok() }
    });
    // What is no text is nothing that may be read.
    let [Some(one), Some(other), Some(database), Some(view)] = texts else { return sqlite::SQLITE_DENY };
    if authority.allows(action, one, other, database, view) { sqlite::SQLITE_OK } else { sqlite::SQLITE_DENY }
}
