//! Inspects tables: about ten queries for all tables of one database together, repeated in halves when an
//! answer does not fit.

use std::collections::{BTreeMap, BTreeSet};

use lakeport_sdk::Row;
use lakeport_sdk::dialect::{Cell, Column, Error, Query, RowSet, Table, TableName};

use super::{Ask, assemble, no_table, optional_text, text, whole};
use crate::server::Server;
use crate::text::{Lexeme, lex};

/// Time limit of looking for views of other databases, in milliseconds. Views not found by then are unknown.
const OTHER_VIEWS_MS: u32 = 5_000;

/// Rows by the name of their table.
pub type ByTable = BTreeMap<String, RowSet>;

/// A field that identifies a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ParentKey {
    pub database: String,
    pub table: String,
    pub field: String,
}

/// The answers for tables of one database.
#[derive(Default)]
pub struct Answers {
    /// name, kind, engine, collation, options, comment.
    pub heads: ByTable,
    /// table_name, name, type, nullable, default_text, extra, comment, character_set, collation, expression.
    pub columns: ByTable,
    /// table_name, name, non_unique, part, field, prefix, kind, expression.
    pub indexes: ByTable,
    /// table_name, name, on_update, on_delete, parent_schema, parent: foreign keys of the tables.
    pub rules: ByTable,
    /// child_schema, child, name, field, parent_schema, parent, parent_field: of the tables, by child.
    pub references: ByTable,
    /// Fields of other tables that a foreign key of the tables refers to and that identify a row there.
    pub parent_keys: BTreeSet<ParentKey>,
    /// Likewise, to the tables, by parent.
    pub referenced: ByTable,
    /// table_name, name, level, clause.
    pub checks: ByTable,
    /// table_name, name, statement.
    pub triggers: ByTable,
    /// All views of the database, and those of others that name it, if they were requested.
    pub views: Vec<View>,
    /// table_name, method, expression, sub_method, sub_expression.
    pub partitions: ByTable,
}

/// A view with its definition.
#[derive(Clone)]
pub struct View {
    pub database: String,
    pub name: String,
    pub definition: Vec<Lexeme>,
}

/// Tables in the requested order. Views only for changes that could break them: MariaDB opens every table of
/// every database to find them.
pub fn inspect(
    ask: &dyn Ask,
    server: &Server,
    tables: &[TableName],
    dependents: bool,
) -> Result<Vec<Result<Table, Error>>, Error> {
    let mut by_database: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for table in tables {
        by_database.entry(&table.database).or_default().push(&table.name);
    }
    let mut found = BTreeMap::new();
    for (database, names) in &by_database {
        let views = match dependents.then(|| views(ask, server, database)).transpose() {
            Ok(views) => views.unwrap_or_default(),
            Err(error) if error.code == "limit_exceeded" => {
                let place = |name: &&str| ((*database).to_owned(), (*name).to_owned());
                found.extend(names.iter().map(|name| (place(name), Err(error.clone()))));
                continue;
            }
            Err(error) => return Err(error),
        };
        let place = Place { database, views: &views };
        read(ask, server, &place, names, &mut found)?;
    }
    Ok(tables
        .iter()
        .map(|table| {
            let place = (table.database.clone(), table.name.clone());
            found.get(&place).cloned().unwrap_or_else(|| Err(no_table(table)))
        })
        .collect())
}

/// A database, and views that may name its tables.
struct Place<'a> {
    database: &'a str,
    views: &'a [View],
}

type Found = BTreeMap<(String, String), Result<Table, Error>>;

/// Many fields may not fit into one answer: so it is split into halves.
fn read(
    ask: &dyn Ask,
    server: &Server,
    place: &Place<'_>,
    names: &[&str],
    into: &mut Found,
) -> Result<(), Error> {
    let database = place.database;
    match (answers(ask, server, place, names), names) {
        (Ok(answers), _) => {
            for name in names {
                let table = TableName::new(database, *name);
                into.insert(
                    (database.to_owned(), (*name).to_owned()),
                    assemble::table_of(server, &table, &answers),
                );
            }
            Ok(())
        }
        (Err(error), [name]) if error.code == "limit_exceeded" => {
            into.insert((database.to_owned(), (*name).to_owned()), Err(error));
            Ok(())
        }
        (Err(error), _) if error.code == "limit_exceeded" => {
            let (one, other) = names.split_at(names.len() / 2);
            read(ask, server, place, one, into)?;
            read(ask, server, place, other, into)
        }
        (Err(error), _) => Err(error),
    }
}

fn answers(ask: &dyn Ask, server: &Server, place: &Place<'_>, names: &[&str]) -> Result<Answers, Error> {
    let database = place.database;
    let read = |query: Query, column: &str| by_table(whole(ask, query)?, column);
    let heads = whole(ask, heads_query(database, names))?;
    let is_partitioned =
        heads.iter().any(|row| text(&row, "options").is_ok_and(|options| options.contains("partitioned")));
    let partitions = is_partitioned.then(|| read(partitions_query(database, names), "table_name"));
    let references = whole(ask, references_query("k.TABLE_SCHEMA", "k.TABLE_NAME", database, names))?;
    Ok(Answers {
        heads: by_table(heads, "name")?,
        columns: read(columns_query(database, names), "table_name")?,
        indexes: read(indexes_query(server, database, names), "table_name")?,
        rules: read(rules_query(database, names), "table_name")?,
        parent_keys: parent_keys(ask, &references)?,
        references: by_table(references, "child")?,
        referenced: by_table(referenced(ask, server, database, names)?, "parent")?,
        checks: read(checks_query(server, database, names), "table_name")?,
        triggers: read(triggers_query(database, names), "table_name")?,
        views: place.views.to_vec(),
        partitions: partitions.transpose()?.unwrap_or_default(),
    })
}

/// The fields of unique indexes of one field, of the tables that foreign keys refer to: InnoDB permits foreign keys to
/// fields whose values repeat. One query for each database.
fn parent_keys(ask: &dyn Ask, references: &RowSet) -> Result<BTreeSet<ParentKey>, Error> {
    let mut parents: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in references.iter() {
        parents.entry(text(&row, "parent_schema")?).or_default().insert(text(&row, "parent")?);
    }
    let mut keys = BTreeSet::new();
    for (database, tables) in parents {
        let tables: Vec<&str> = tables.iter().map(String::as_str).collect();
        keys.extend(parent_keys_of(&database, &whole(ask, unique_query(&database, &tables))?)?);
    }
    Ok(keys)
}

/// The fields that are alone, and whole, in a unique index.
pub fn parent_keys_of(database: &str, rows: &RowSet) -> Result<Vec<ParentKey>, Error> {
    let mut indexes: BTreeMap<(String, String), Vec<Option<String>>> = BTreeMap::new();
    for row in rows.iter() {
        let field = optional_text(&row, "field")?.filter(|_| matches!(row.cell("prefix"), Ok(Cell::Null)));
        indexes.entry((text(&row, "table_name")?, text(&row, "name")?)).or_default().push(field);
    }
    let key = |((table, _), fields): ((String, String), Vec<Option<String>>)| match fields.as_slice() {
        [Some(field)] => Some(ParentKey { database: database.to_owned(), table, field: field.clone() }),
        _ => None,
    };
    Ok(indexes.into_iter().filter_map(key).collect())
}

/// Foreign keys to the tables. Listing them in the catalogue, MariaDB would open every table of every
/// database; its InnoDB has them in one list, for accounts with the privilege PROCESS. Without it they are
/// unknown, and the server itself refuses changes that they prevent.
fn referenced(ask: &dyn Ask, server: &Server, database: &str, names: &[&str]) -> Result<RowSet, Error> {
    if !server.is_mariadb {
        let query = references_query("k.REFERENCED_TABLE_SCHEMA", "k.REFERENCED_TABLE_NAME", database, names);
        return whole(ask, query);
    }
    match whole(ask, innodb_query()) {
        Ok(rows) => relatives_of(&rows, database),
        Err(error) if error.code == "upstream_failed" => {
            Ok(RowSet { columns: Vec::new(), rows: Vec::new(), truncated: false })
        }
        Err(error) => Err(error),
    }
}

/// The columns child_schema, child, parent_schema, parent and parent_field from InnoDB's list, for parents in
/// this database.
pub fn relatives_of(rows: &RowSet, database: &str) -> Result<RowSet, Error> {
    let column = |name: &str| Column { name: name.to_owned(), type_text: String::new() };
    let names = ["child_schema", "child", "parent_schema", "parent", "parent_field"];
    let mut found = Vec::new();
    for row in rows.iter() {
        let (child, parent) = (text(&row, "child")?, text(&row, "parent")?);
        let (Some(child), Some(parent)) = (place_of(&child), place_of(&parent)) else { continue };
        if parent.0 == database {
            let field = text(&row, "parent_field")?;
            found.push([child.0, child.1, parent.0, parent.1, field].map(Cell::Text).to_vec());
        }
    }
    Ok(RowSet { columns: names.map(column).into(), rows: found, truncated: false })
}

/// Database and table of `shop/pa@0020r`: InnoDB writes names as file names.
fn place_of(said: &str) -> Option<(String, String)> {
    let (database, name) = said.split_once('/')?;
    Some((file_name_decoded(database), file_name_decoded(name)))
}

/// Decodes `@` and four digits as a character. Some letters have shorter codes, which are left as they are:
/// such a name is not found, and the server itself refuses the change.
fn file_name_decoded(said: &str) -> String {
    let mut parts = said.split('@');
    let mut name = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match code.and_then(char::from_u32) {
            Some(c) => {
                name.push(c);
                name.push_str(&part[4..]);
            }
            None => {
                name.push('@');
                name.push_str(part);
            }
        }
    }
    name
}

fn innodb_query() -> Query {
    Query::new(
        "SELECT f.FOR_NAME AS child, f.REF_NAME AS parent, c.REF_COL_NAME AS parent_field \
         FROM information_schema.INNODB_SYS_FOREIGN AS f \
         JOIN information_schema.INNODB_SYS_FOREIGN_COLS AS c ON c.ID = f.ID",
    )
}

/// Rows by the value of this column.
pub fn by_table(rows: RowSet, column: &str) -> Result<ByTable, Error> {
    let names = rows.iter().map(|row| text(&row, column)).collect::<Result<Vec<_>, Error>>()?;
    let mut tables = ByTable::new();
    for (name, cells) in names.into_iter().zip(rows.rows) {
        let columns = &rows.columns;
        let table = tables.entry(name).or_insert_with(|| RowSet {
            columns: columns.clone(),
            rows: Vec::new(),
            truncated: false,
        });
        table.rows.push(cells);
    }
    Ok(tables)
}

/// Views with their definitions. Omits views whose definition the account may not read.
pub fn views_of(rows: &RowSet) -> Result<Vec<View>, Error> {
    let view = |row: Row<'_>| {
        Ok(View {
            database: text(&row, "view_schema")?,
            name: text(&row, "name")?,
            definition: lex(&text(&row, "definition")?),
        })
    };
    rows.iter().map(view).collect()
}

/// Views of the database, and those of others that name it. The server would let a change break them.
fn views(ask: &dyn Ask, server: &Server, database: &str) -> Result<Vec<View>, Error> {
    let mut views = views_of(&whole(ask, views_query(database))?)?;
    match ask.ask_within(other_views_query(server, database), OTHER_VIEWS_MS) {
        Ok(rows) => views.extend(views_of(&rows)?),
        Err(error) if matches!(error.code.as_str(), "timeout" | "limit_exceeded") => {}
        Err(error) => return Err(error),
    }
    Ok(views)
}

/// ` = database AND table IN (names)`.
fn these(query: Query, table: &'static str, database: &str, names: &[&str]) -> Query {
    query
        .sql(" = ")
        .value(database)
        .sql(" AND ")
        .sql(table)
        .sql(" IN (")
        .values(names.iter().copied())
        .sql(")")
}

/// The kind of each table.
pub fn heads_query(database: &str, names: &[&str]) -> Query {
    let query = Query::new(
        "SELECT t.TABLE_NAME AS name, t.TABLE_TYPE AS kind, t.ENGINE AS engine, \
         t.TABLE_COLLATION AS collation, t.CREATE_OPTIONS AS options, t.TABLE_COMMENT AS comment \
         FROM information_schema.TABLES AS t WHERE t.TABLE_SCHEMA",
    );
    these(query, "t.TABLE_NAME", database, names)
}

fn columns_query(database: &str, names: &[&str]) -> Query {
    let query = Query::new(
        "SELECT c.TABLE_NAME AS table_name, c.COLUMN_NAME AS name, c.COLUMN_TYPE AS type, \
         c.IS_NULLABLE AS nullable, c.COLUMN_DEFAULT AS default_text, c.EXTRA AS extra, \
         c.COLUMN_COMMENT AS comment, c.CHARACTER_SET_NAME AS character_set, c.COLLATION_NAME AS collation, \
         c.GENERATION_EXPRESSION AS expression FROM information_schema.COLUMNS AS c WHERE c.TABLE_SCHEMA",
    );
    these(query, "c.TABLE_NAME", database, names).sql(" ORDER BY c.TABLE_NAME, c.ORDINAL_POSITION")
}

/// An index of MySQL may have an expression instead of a field.
fn indexes_query(server: &Server, database: &str, names: &[&str]) -> Query {
    let query = Query::new(
        "SELECT s.TABLE_NAME AS table_name, s.INDEX_NAME AS name, s.NON_UNIQUE AS non_unique, \
         s.SEQ_IN_INDEX AS part, s.COLUMN_NAME AS field, s.SUB_PART AS prefix, s.INDEX_TYPE AS kind, ",
    )
    .sql(if server.is_mariadb { "NULL" } else { "s.EXPRESSION" })
    .sql(" AS expression FROM information_schema.STATISTICS AS s WHERE s.TABLE_SCHEMA");
    these(query, "s.TABLE_NAME", database, names).sql(" ORDER BY s.TABLE_NAME, s.INDEX_NAME, s.SEQ_IN_INDEX")
}

fn unique_query(database: &str, names: &[&str]) -> Query {
    let query = Query::new(
        "SELECT s.TABLE_NAME AS table_name, s.INDEX_NAME AS name, s.COLUMN_NAME AS field, s.SUB_PART AS prefix \
         FROM information_schema.STATISTICS AS s WHERE s.NON_UNIQUE = 0 AND s.TABLE_SCHEMA",
    );
    these(query, "s.TABLE_NAME", database, names)
}

fn rules_query(database: &str, names: &[&str]) -> Query {
    let query = Query::new(
        "SELECT r.TABLE_NAME AS table_name, r.CONSTRAINT_NAME AS name, r.UPDATE_RULE AS on_update, \
         r.DELETE_RULE AS on_delete, r.UNIQUE_CONSTRAINT_SCHEMA AS parent_schema, \
         r.REFERENCED_TABLE_NAME AS parent \
         FROM information_schema.REFERENTIAL_CONSTRAINTS AS r WHERE r.CONSTRAINT_SCHEMA",
    );
    these(query, "r.TABLE_NAME", database, names)
}

fn references_query(schema: &'static str, table: &'static str, database: &str, names: &[&str]) -> Query {
    let query = Query::new(
        "SELECT k.TABLE_SCHEMA AS child_schema, k.TABLE_NAME AS child, k.CONSTRAINT_NAME AS name, \
         k.COLUMN_NAME AS field, k.REFERENCED_TABLE_SCHEMA AS parent_schema, \
         k.REFERENCED_TABLE_NAME AS parent, k.REFERENCED_COLUMN_NAME AS parent_field \
         FROM information_schema.KEY_COLUMN_USAGE AS k \
         WHERE k.REFERENCED_TABLE_NAME IS NOT NULL AND ",
    )
    .sql(schema);
    these(query, table, database, names)
}

/// MariaDB reports a constraint's table, and whether it is in a field's definition; in MySQL all of them are
/// in the table's.
fn checks_query(server: &Server, database: &str, names: &[&str]) -> Query {
    if server.is_mariadb {
        let query = Query::new(
            "SELECT c.TABLE_NAME AS table_name, c.CONSTRAINT_NAME AS name, c.LEVEL AS level, \
             c.CHECK_CLAUSE AS clause FROM information_schema.CHECK_CONSTRAINTS AS c WHERE c.CONSTRAINT_SCHEMA",
        );
        return these(query, "c.TABLE_NAME", database, names);
    }
    let query = Query::new(
        "SELECT t.TABLE_NAME AS table_name, c.CONSTRAINT_NAME AS name, 'Table' AS level, \
         c.CHECK_CLAUSE AS clause FROM information_schema.TABLE_CONSTRAINTS AS t \
         JOIN information_schema.CHECK_CONSTRAINTS AS c \
         ON c.CONSTRAINT_SCHEMA = t.CONSTRAINT_SCHEMA AND c.CONSTRAINT_NAME = t.CONSTRAINT_NAME \
         WHERE t.CONSTRAINT_TYPE = 'CHECK' AND t.TABLE_SCHEMA",
    );
    these(query, "t.TABLE_NAME", database, names)
}

fn triggers_query(database: &str, names: &[&str]) -> Query {
    let query = Query::new(
        "SELECT t.EVENT_OBJECT_TABLE AS table_name, t.TRIGGER_NAME AS name, \
         t.ACTION_STATEMENT AS statement FROM information_schema.TRIGGERS AS t \
         WHERE t.EVENT_OBJECT_SCHEMA",
    );
    these(query, "t.EVENT_OBJECT_TABLE", database, names)
}

fn views_query(database: &str) -> Query {
    Query::new(
        "SELECT v.TABLE_SCHEMA AS view_schema, v.TABLE_NAME AS name, v.VIEW_DEFINITION AS definition \
         FROM information_schema.VIEWS AS v WHERE v.TABLE_SCHEMA = ",
    )
    .value(database)
}

/// MySQL has a list of usages; for MariaDB the definitions have to be searched.
fn other_views_query(server: &Server, database: &str) -> Query {
    let query = Query::new(
        "SELECT v.TABLE_SCHEMA AS view_schema, v.TABLE_NAME AS name, v.VIEW_DEFINITION AS definition \
         FROM information_schema.VIEWS AS v ",
    );
    if server.is_mariadb {
        let quoted = database.replace('`', "``");
        return query
            .sql("WHERE v.TABLE_SCHEMA <> ")
            .value(database)
            .sql(" AND LOCATE(")
            .value(quoted)
            .sql(", v.VIEW_DEFINITION) > 0");
    }
    query
        .sql(
            "JOIN information_schema.VIEW_TABLE_USAGE AS u \
             ON u.VIEW_SCHEMA = v.TABLE_SCHEMA AND u.VIEW_NAME = v.TABLE_NAME WHERE u.TABLE_SCHEMA = ",
        )
        .value(database)
        .sql(" AND u.VIEW_SCHEMA <> ")
        .value(database)
}

fn partitions_query(database: &str, names: &[&str]) -> Query {
    let query = Query::new(
        "SELECT DISTINCT p.TABLE_NAME AS table_name, p.PARTITION_METHOD AS method, \
         p.PARTITION_EXPRESSION AS expression, p.SUBPARTITION_METHOD AS sub_method, \
         p.SUBPARTITION_EXPRESSION AS sub_expression FROM information_schema.PARTITIONS AS p \
         WHERE p.PARTITION_NAME IS NOT NULL AND p.TABLE_SCHEMA",
    );
    these(query, "p.TABLE_NAME", database, names)
}
