//! Lists of schemas and of tables in pages; the cursor is the last name.

use lakeport_sdk::dialect::{Database, DatabasePage, Error, Page, Query, RowSet, TableHead, TablePage};

use super::{Source, kind_of, text};

/// Schemas that the account may use, without the server's own.
pub fn databases(source: &impl Source, page: &Page) -> Result<DatabasePage, Error> {
    let rows = source.ask(databases_query(page))?;
    let databases = rows
        .iter()
        .map(|row| {
            let comment = row.optional_text("comment")?.unwrap_or_default().to_owned();
            Ok(Database { name: row.text("name")?.to_owned(), comment })
        })
        .collect::<Result<Vec<_>, Error>>()?;
    let (databases, next) = paged(databases, &rows, page.limit, |database| &database.name)?;
    Ok(DatabasePage { databases, next })
}

fn databases_query(page: &Page) -> Query {
    let query = Query::new(
        "SELECT CAST(n.nspname AS text) AS name, d.description AS comment \
         FROM pg_catalog.pg_namespace AS n \
         LEFT JOIN pg_catalog.pg_description AS d ON d.objoid = n.oid \
         AND d.classoid = 'pg_catalog.pg_namespace'::regclass AND d.objsubid = 0 \
         WHERE pg_catalog.left(CAST(n.nspname AS text), 3) <> 'pg_' AND n.nspname <> 'information_schema' \
         AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')",
    );
    let query = match &page.cursor {
        Some(cursor) => text(query.sql(" AND n.nspname > "), cursor),
        None => query,
    };
    query.sql(" ORDER BY n.nspname LIMIT ").value(i64::from(page.limit) + 1)
}

/// Tables and views of one schema. Partitions belong to their table and are not listed.
pub fn tables(source: &impl Source, schema: &str, page: &Page) -> Result<TablePage, Error> {
    let rows = source.ask(tables_query(schema, page))?;
    if rows.rows.is_empty() && page.cursor.is_none() {
        is_there(source, schema)?;
    }
    let tables = rows
        .iter()
        .map(|row| {
            Ok(TableHead {
                name: row.text("name")?.to_owned(),
                kind: kind_of(row.text("kind")?).to_owned(),
                comment: row.optional_text("comment")?.unwrap_or_default().to_owned(),
            })
        })
        .collect::<Result<Vec<_>, Error>>()?;
    let (tables, next) = paged(tables, &rows, page.limit, |table| &table.name)?;
    Ok(TablePage { tables, next })
}

fn tables_query(schema: &str, page: &Page) -> Query {
    let query = Query::new(
        "SELECT CAST(c.relname AS text) AS name, CAST(c.relkind AS text) AS kind, d.description AS comment \
         FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace \
         LEFT JOIN pg_catalog.pg_description AS d ON d.objoid = c.oid \
         AND d.classoid = 'pg_catalog.pg_class'::regclass AND d.objsubid = 0 \
         WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND n.nspname = ",
    );
    let query = text(query, schema);
    let query = match &page.cursor {
        Some(cursor) => text(query.sql(" AND c.relname > "), cursor),
        None => query,
    };
    query.sql(" ORDER BY c.relname LIMIT ").value(i64::from(page.limit) + 1)
}

fn is_there(source: &impl Source, schema: &str) -> Result<(), Error> {
    let query = text(
        Query::new(
            "SELECT CAST(n.nspname AS text) AS name FROM pg_catalog.pg_namespace AS n WHERE n.nspname = ",
        ),
        schema,
    );
    match source.ask_whole(query)?.first() {
        Some(_) => Ok(()),
        None => Err(Error::not_found(format!("there is no schema {schema:?}"))),
    }
}

/// One more than the limit was queried, to detect further ones. If the host truncated the answer, the page is
/// shorter and has a cursor.
fn paged<T>(
    mut items: Vec<T>,
    rows: &RowSet,
    limit: u32,
    name: impl Fn(&T) -> &String,
) -> Result<(Vec<T>, Option<String>), Error> {
    let more = rows.truncated || items.len() > limit as usize;
    items.truncate(limit as usize);
    if more && items.is_empty() {
        return Err(Error::limit_exceeded("not even one name fits into an answer"));
    }
    let next = items.last().filter(|_| more).map(|last| name(last).clone());
    Ok((items, next))
}
