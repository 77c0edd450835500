//! SQLite's authorizer for the session of a query: whatever passed the guard, it may read tables, call
//! functions and nothing else. SQLite asks it while preparing a statement, for each column read and each
//! function called, however the statement is written.
//!
//! A session over [`Views`] may read these alone. Each view reads another one with an unguessable name, and
//! SQLite must report a read on behalf of that one for it to reach a table of the file. Otherwise a common
//! table expression could take the name that SQLite reports.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CStr, c_char, c_int, c_void};

use lakeport_bindings::host::error;
use lakeport_bindings::host::types::Error;
use lakeport_sql::functions::may_be_called_in_sqlite;
use libsqlite3_sys as sqlite;
use serde::{Deserialize, Serialize};
use sqlx::sqlite::LockedSqliteHandle;

/// The largest value of a query, bytes. Searching in a text takes a time that grows with the square of its
/// size, and SQLite cannot be interrupted within one.
const VALUE_MAX_BYTES: c_int = 1024 * 1024;
/// Columns of a row, for the same reason: each may hold a large value.
const COLUMNS_MAX: c_int = 500;
/// The longest pattern of a LIKE, bytes.
const PATTERN_MAX_BYTES: c_int = 1_000;
/// The key under which the connection keeps its authority; it frees it when it is closed.
const CLIENT_DATA: &CStr = c"lakeport authority";

/// Pragmas without an argument that virtual tables ask while they answer: whether the file changed, and the size of
/// its pages.
const INNER_PRAGMAS: &[&str] = &["data_version", "page_size"];
/// SQLite's table-valued functions that read their argument alone.
const VALUE_TABLES: &[&str] = &["json_each", "json_tree", "jsonb_each", "jsonb_tree"];
/// Prefixes of system tables and virtual tables.
const SYSTEM_PREFIXES: &[&str] = &["sqlite_", "pragma_"];
/// Other virtual tables that expose the file's internals.
const SYSTEM_TABLES: &[&str] = &["bytecode", "dbstat", "tables_used"];

/// A view over tables of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct View {
    /// The name that a query uses.
    pub name: Cow<'static, str>,
    /// Its `SELECT`, with `main.` before tables of the file.
    pub select: String,
}

/// A table that views may read.
#[derive(Clone, Copy, Debug)]
pub struct Base {
    /// A table of the file.
    pub table: &'static str,
    /// Its columns; empty: all.
    pub columns: &'static [&'static str],
}

/// All that a session may read instead of the tables of the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Views {
    views: Vec<View>,
    /// Tables and their columns; none: all.
    bases: BTreeMap<String, BTreeSet<String>>,
    secret: String,
}

impl Views {
    /// `secret`: unguessable letters and digits, different for each session.
    pub fn new(views: Vec<View>, bases: &[Base], secret: String) -> Views {
        let owned = |base: &Base| {
            (base.table.to_owned(), base.columns.iter().map(|&column| column.to_owned()).collect())
        };
        Views { views, bases: bases.iter().map(owned).collect(), secret }
    }

    fn inner(&self, view: &View) -> String {
        format!("{}_{}", view.name, self.secret)
    }

    /// The statements that create them without an authorizer: only the guard protects the names.
    pub(crate) fn plain_statements(&self) -> Vec<String> {
        let of = |view: &View| format!("CREATE TEMP VIEW \"{}\" AS {}", view.name, view.select);
        self.views.iter().map(of).collect()
    }

    /// The statements that create them.
    pub(crate) fn statements(&self) -> Vec<String> {
        let of = |view: &View| {
            let (name, inner, select) = (&view.name, self.inner(view), &view.select);
            [
                format!("CREATE TEMP VIEW \"{inner}\" AS {select}"),
                format!("CREATE TEMP VIEW \"{name}\" AS SELECT * FROM temp.\"{inner}\""),
            ]
        };
        self.views.iter().flat_map(of).collect()
    }
}

/// The rights of one session.
pub(crate) enum Authority {
    /// Read all tables of the file except SQLite's own.
    Tables,
    /// Read these views.
    Views {
        outer: BTreeSet<String>,
        inner: BTreeSet<String>,
        bases: BTreeMap<String, BTreeSet<String>>,
        /// Names of the file's tables, lower case.
        tables: BTreeSet<String>,
    },
}

impl Authority {
    /// Over these views of a file with these tables.
    pub fn of_views(views: &Views, tables: &[String]) -> Authority {
        Authority::Views {
            outer: views.views.iter().map(|view| view.name.clone().into_owned()).collect(),
            inner: views.views.iter().map(|view| views.inner(view)).collect(),
            bases: views.bases.clone(),
            tables: tables.iter().map(|name| name.to_lowercase()).collect(),
        }
    }

    /// Whether an action is allowed: SQLite's code of the action, its object, and the view on whose behalf it
    /// happens.
    fn allows(&self, action: c_int, one: &str, other: &str, database: &str, view: &str) -> bool {
        match action {
            sqlite::SQLITE_SELECT | sqlite::SQLITE_RECURSIVE => true,
            sqlite::SQLITE_FUNCTION => may_be_called_in_sqlite(other),
            sqlite::SQLITE_PRAGMA => other.is_empty() && INNER_PRAGMAS.contains(&one),
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
            let is_column = |columns: &BTreeSet<String>| {
                columns.is_empty() || column.is_empty() || columns.contains(column)
            };
            return database == "main" && bases.get(table).is_some_and(is_column);
        }
        let is_view = outer.contains(table) || inner.contains(table);
        match database {
            "temp" => is_view,
            // When SQLite flattens a view, it reports the tables of which it reads no column, without naming
            // the view. Such a read reveals only the number of rows.
            "main" => {
                column.is_empty() && bases.contains_key(table)
                    || VALUE_TABLES.contains(&table) && !tables.contains(table)
            }
            // A table of which no column is read: SQLite reports only the name in the statement.
            "" => column.is_empty() && (is_view || !tables.contains(table) && !is_system),
            _ => false,
        }
    }
}

/// Sets the largest value of a connection, in bytes.
#[expect(unsafe_code, reason = "the driver does not offer SQLite's limits; the handle is locked meanwhile")]
pub(crate) fn limit_values(handle: &mut LockedSqliteHandle<'_>, bytes: c_int) {
    // SAFETY: the connection is open and no other code uses it while the handle is locked.
    unsafe { sqlite::sqlite3_limit(handle.as_raw_handle().as_ptr(), sqlite::SQLITE_LIMIT_LENGTH, bytes) };
}

/// Sets how long the connection waits for locks; false: it is within a transaction.
#[expect(
    unsafe_code,
    reason = "the driver does not offer it without a statement; the handle is locked meanwhile"
)]
pub(crate) fn rest(handle: &mut LockedSqliteHandle<'_>, busy_timeout_ms: c_int) -> bool {
    let connection = handle.as_raw_handle().as_ptr();
    // SAFETY: the connection is open and no other code uses it while the handle is locked.
    unsafe {
        sqlite::sqlite3_busy_timeout(connection, busy_timeout_ms);
        sqlite::sqlite3_get_autocommit(connection) != 0
    }
}

/// Makes SQLite ask the authority about each access from now on.
#[expect(
    unsafe_code,
    reason = "the driver does not offer SQLite's authorizer; the handle is locked meanwhile"
)]
pub(crate) fn install(handle: &mut LockedSqliteHandle<'_>, authority: Authority) -> Result<(), Error> {
    let connection = handle.as_raw_handle().as_ptr();
    let kept = Box::into_raw(Box::new(authority)).cast::<c_void>();
    // SAFETY: the connection is open and no other code uses it while the handle is locked. It owns `kept`
    // from the first of these calls on: it frees it by `free` when it is closed, or at once if that call
    // fails, and asks it by `asked` no longer than that. Nothing else has a pointer to it, and it is never
    // changed.
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
    // SAFETY: `install` made it from a box, and SQLite calls this once.
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
        // SAFETY: SQLite passes null or a text that ends with a zero and lives during the call.
        if text.is_null() { Some("") } else { unsafe { CStr::from_ptr(text) }.to_str().ok() }
    });
    // Names that are not UTF-8 are denied.
    let [Some(one), Some(other), Some(database), Some(view)] = texts else { return sqlite::SQLITE_DENY };
    if authority.allows(action, one, other, database, view) { sqlite::SQLITE_OK } else { sqlite::SQLITE_DENY }
}
