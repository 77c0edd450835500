//! The store's tables in its own catalogue, and the statements built from their names.
//!
//! The only place of the store that builds a statement's text: from names of the catalogue or of the program,
//! each quoted, and nothing else. Values are always bound.

use std::collections::{BTreeMap, BTreeSet};

use super::sqlite::Sql;
use super::{Begun, Db, Either};
use lakeport_base::Error;

/// The history of the schema is not data.
const HISTORY: &str = "schema_migrations";
/// Tables of up to so many rows are counted, larger ones estimated.
const COUNTED_ROWS: i64 = 10_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    pub name: String,
    pub columns: Vec<Column>,
    /// The primary key's columns, in order.
    pub key: Vec<String>,
    /// Tables that its rows refer to, possibly itself.
    pub refers_to: BTreeSet<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// SQLite has no booleans: 0 and 1.
    pub is_bool: bool,
    /// The store assigns the ids.
    pub is_numbered: bool,
}

impl Table {
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The column whose values the store assigns.
    pub fn numbered(&self) -> Option<&Column> {
        self.columns.iter().find(|column| column.is_numbered)
    }

    /// All rows, ordered by the key.
    pub(super) fn select(&self) -> Sql {
        let columns = list(self.columns.iter().map(|column| &column.name));
        let order =
            if self.key.is_empty() { String::new() } else { format!(" ORDER BY {}", list(&self.key)) };
        made(format!("SELECT {columns} FROM {}{order}", quoted(&self.name)))
    }

    /// Inserts so many rows of these columns, with their ids.
    pub(super) fn insert(&self, columns: &[Column], rows: usize, is_shared: bool) -> Sql {
        let place = |row: usize| {
            let values = (1..=columns.len()).map(|column| format!("${}", row * columns.len() + column));
            format!("({})", values.collect::<Vec<_>>().join(", "))
        };
        let places = (0..rows).map(place).collect::<Vec<_>>().join(", ");
        // PostgreSQL would refuse, or replace, the value of a column `GENERATED ALWAYS`.
        let numbers = if is_shared && self.numbered().is_some() { " OVERRIDING SYSTEM VALUE" } else { "" };
        let names = list(columns.iter().map(|column| &column.name));
        made(format!("INSERT INTO {} ({names}){numbers} VALUES {places}", quoted(&self.name)))
    }

    pub(super) fn delete(&self) -> Sql {
        made(format!("DELETE FROM {}", quoted(&self.name)))
    }
}

impl Begun {
    /// All tables except the schema's history; a table comes after those to which its rows refer.
    pub(super) async fn tables(&mut self) -> Result<Vec<Table>, Error> {
        const COLUMNS: Either = Either {
            sqlite: "SELECT t.name, c.name, 0, c.pk > 0 AND t.sql LIKE '% AUTOINCREMENT%', c.pk \
                FROM sqlite_schema t JOIN pragma_table_info(t.name) c \
                WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite~_%' ESCAPE '~' ORDER BY t.name, c.cid",
            postgres: "SELECT CAST(t.relname AS TEXT), CAST(c.attname AS TEXT), c.atttypid = 'bool'::regtype, \
                c.attidentity <> '', coalesce(array_position(k.conkey, c.attnum), 0) \
                FROM pg_class t JOIN pg_namespace n ON n.oid = t.relnamespace AND n.nspname = current_schema() \
                JOIN pg_attribute c ON c.attrelid = t.oid AND c.attnum > 0 AND NOT c.attisdropped \
                AND c.attgenerated = '' LEFT JOIN pg_constraint k ON k.conrelid = t.oid AND k.contype = 'p' \
                WHERE t.relkind = 'r' ORDER BY t.oid, c.attnum",
        };
        let mut tables: BTreeMap<String, Table> = BTreeMap::new();
        let mut keys: BTreeMap<String, BTreeMap<i64, String>> = BTreeMap::new();
        for row in self.fetch(self.words(COLUMNS), &[]).await? {
            let (table, name): (String, String) = (row.get(0)?, row.get(1)?);
            if table == HISTORY {
                continue;
            }
            let place: i64 = row.get(4)?;
            if place > 0 {
                keys.entry(table.clone()).or_default().insert(place, name.clone());
            }
            let columns = &mut tables.entry(table.clone()).or_insert_with(|| Table::named(table)).columns;
            columns.push(Column { name, is_bool: row.get(2)?, is_numbered: row.get(3)? });
        }
        for (table, referred) in self.references().await? {
            if let Some(table) = tables.get_mut(&table) {
                table.refers_to.insert(referred);
            }
        }
        for (table, key) in keys {
            if let Some(table) = tables.get_mut(&table) {
                table.key = key.into_values().collect();
            }
        }
        Ok(in_order(tables.into_values().collect()))
    }

    /// The references between tables.
    async fn references(&mut self) -> Result<Vec<(String, String)>, Error> {
        const REFERENCES: Either = Either {
            sqlite: "SELECT t.name, r.\"table\" FROM sqlite_schema t JOIN pragma_foreign_key_list(t.name) r \
                WHERE t.type = 'table'",
            postgres: "SELECT CAST(t.relname AS TEXT), CAST(r.relname AS TEXT) FROM pg_constraint f \
                JOIN pg_class t ON t.oid = f.conrelid JOIN pg_class r ON r.oid = f.confrelid \
                JOIN pg_namespace n ON n.oid = t.relnamespace AND n.nspname = current_schema() \
                WHERE f.contype = 'f'",
        };
        let rows = self.fetch(self.words(REFERENCES), &[]).await?;
        rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?))).collect()
    }
}

impl Table {
    fn named(name: String) -> Table {
        Table { name, columns: Vec::new(), key: Vec::new(), refers_to: BTreeSet::new() }
    }
}

/// By reference, then by name. In a cycle one of them must be first.
fn in_order(mut left: Vec<Table>) -> Vec<Table> {
    let mut placed: Vec<Table> = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let is_free = |table: &Table| {
            table
                .refers_to
                .iter()
                .all(|name| *name == table.name || placed.iter().any(|placed| placed.name == *name))
        };
        let next = left.iter().position(is_free).unwrap_or(0);
        placed.push(left.remove(next));
    }
    placed
}

/// Whether rows may refer to later ones: within a table, or in a cycle of tables.
pub(super) fn has_forward_references(tables: &[Table]) -> bool {
    let refers_ahead = |(index, table): (usize, &Table)| {
        tables[index..].iter().any(|later| table.refers_to.contains(&later.name))
    };
    tables.iter().enumerate().any(refers_ahead)
}

/// The numbers of rows of these tables, cheaply: exact up to ten thousand, otherwise estimated.
pub async fn count_rows(db: &Db, tables: &[&'static str]) -> Result<Vec<(&'static str, i64)>, Error> {
    let mut counts = Vec::with_capacity(tables.len());
    for table in tables {
        counts.push((*table, count(db, table).await?));
    }
    Ok(counts)
}

async fn count(db: &Db, table: &str) -> Result<i64, Error> {
    let name = quoted(table);
    let few = format!("SELECT count(*) FROM (SELECT 1 FROM {name} LIMIT {}) AS few", COUNTED_ROWS + 1);
    let rows = db.read_made(made(few)).await?;
    let counted: i64 = rows[0].get(0)?;
    if counted <= COUNTED_ROWS {
        return Ok(counted);
    }
    let rows = if db.is_shared() {
        const ESTIMATE: &str = "SELECT CAST(reltuples AS BIGINT) FROM pg_class WHERE oid = to_regclass($1)";
        db.read(ESTIMATE, &[name.into()]).await?
    } else {
        let span = format!("SELECT (SELECT max(rowid) FROM {name}) - (SELECT min(rowid) FROM {name}) + 1");
        db.read_made(made(span)).await?
    };
    rows[0].get::<i64>(0).map(|estimated| estimated.max(counted))
}

/// A statement that was built here.
fn made(text: String) -> Sql {
    Sql::Made(text.into())
}

/// The name quoted for both stores, whatever it contains.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn list<'a>(names: impl IntoIterator<Item = &'a String>) -> String {
    names.into_iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{on_each_empty_store, on_each_store};

    fn table(name: &str, refers_to: &[&str]) -> Table {
        let refers_to = refers_to.iter().map(|name| (*name).to_owned()).collect();
        Table { refers_to, ..Table::named(name.to_owned()) }
    }

    fn order(tables: Vec<Table>) -> Vec<String> {
        in_order(tables).into_iter().map(|table| table.name).collect()
    }

    async fn tables(db: &Db) -> Vec<Table> {
        db.begin().await.unwrap().transaction.tables().await.unwrap()
    }

    #[test]
    fn who_refers_to_another_stands_after_it() {
        let tables = vec![table("a", &["c"]), table("b", &[]), table("c", &["b", "c"])];
        assert_eq!(order(tables), ["b", "c", "a"]);
    }

    #[test]
    fn references_within_a_table_and_in_a_circle_are_known() {
        let circle = in_order(vec![table("a", &["b"]), table("b", &["a"]), table("c", &["a"])]);
        assert_eq!(circle.iter().map(|table| &*table.name).collect::<Vec<_>>(), ["a", "b", "c"]);
        assert!(has_forward_references(&circle));
        assert!(has_forward_references(&[table("a", &["a"])]));
        assert!(!has_forward_references(&in_order(vec![table("a", &["b"]), table("b", &[])])));
    }

    #[test]
    fn a_name_is_quoted_whatever_it_holds() {
        assert_eq!(quoted("a\"; DROP TABLE b --"), "\"a\"\"; DROP TABLE b --\"");
    }

    #[tokio::test]
    async fn every_table_has_a_primary_key_and_both_stores_have_the_same_tables() {
        let seen = std::cell::RefCell::new(Vec::new());
        on_each_store(async |db| {
            let tables = tables(&db).await;
            for table in &tables {
                assert!(!table.key.is_empty(), "{} has no primary key", table.name);
            }
            assert!(tables.iter().all(|table| table.name != HISTORY));
            seen.borrow_mut().push(tables);
        })
        .await;
        let seen = seen.into_inner();
        assert_eq!(seen.first(), seen.last());
    }

    #[tokio::test]
    async fn the_catalogue_tells_keys_numbers_and_references() {
        on_each_store(async |db| {
            let tables = tables(&db).await;
            let fields = tables.iter().find(|table| table.name == "fields").unwrap();
            assert_eq!(fields.key, ["id"]);
            assert_eq!(fields.numbered().unwrap().name, "id");
            assert!(fields.refers_to.contains("tables"));
            let kept = tables.iter().find(|table| table.name == "idempotency_keys").unwrap();
            assert_eq!(kept.key, ["caller", "method", "path", "key"]);
            assert_eq!(kept.numbered(), None);
        })
        .await;
    }

    #[tokio::test]
    async fn rows_are_counted_or_estimated() {
        const MAKE: &str = "CREATE TABLE many (id BIGINT PRIMARY KEY)";
        const FILL: &str = "INSERT INTO many WITH RECURSIVE n (i) AS \
            (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1) SELECT i FROM n";
        on_each_empty_store(async |db| {
            db.execute(MAKE, &[]).await.unwrap();
            assert_eq!(count_rows(&db, &["many"]).await.unwrap(), [("many", 0)]);
            db.execute(FILL, &[20_000.into()]).await.unwrap();
            let (_, estimate) = count_rows(&db, &["many"]).await.unwrap()[0];
            assert!(estimate > COUNTED_ROWS, "{estimate}");
            db.execute("DELETE FROM many WHERE id > 7", &[]).await.unwrap();
            assert_eq!(count_rows(&db, &["many"]).await.unwrap(), [("many", 7)]);
        })
        .await;
    }
}
