//! Several statements in one round trip. On PostgreSQL a round trip costs more than most statements, so they
//! become one: reads are the parts of a `UNION ALL`, writes are parts of a `WITH`. SQLite runs them one after
//! the other.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::Arc;

use lakeport_base::Error;
use parking_lot::Mutex;
use sqlx::postgres::PgRow;
use sqlx::{AssertSqlSafe, Row as _};

use super::postgres::Kind;
use super::sqlite::Sql;
use super::{Begun, Db, Either, Row, Store, Tx, Value, postgres, postgres_pool};

/// The most writing statements in one.
const TOGETHER_MAX: usize = 16;

/// A statement and its values.
#[derive(Debug, Clone)]
pub struct Statement {
    pub sql: &'static str,
    pub values: Vec<Value>,
}

impl Statement {
    pub fn new(sql: &'static str, values: impl Into<Vec<Value>>) -> Statement {
        Statement { sql, values: values.into() }
    }
}

/// A reading statement whose rows are each a `T`.
pub struct Select<T> {
    sql: Either,
    values: Vec<Value>,
    row: fn(&Row) -> Result<T, Error>,
}

impl<T> Select<T> {
    pub fn new(
        sql: impl Into<Either>,
        values: impl Into<Vec<Value>>,
        row: fn(&Row) -> Result<T, Error>,
    ) -> Select<T> {
        Select { sql: sql.into(), values: values.into(), row }
    }

    pub async fn all(self, db: &Db) -> Result<Vec<T>, Error> {
        self.of(&db.read(db.words(self.sql), &self.values).await?)
    }

    /// The same in a transaction.
    pub async fn all_in(self, tx: &mut Tx) -> Result<Vec<T>, Error> {
        self.of(&tx.query(tx.words(self.sql), &self.values).await?)
    }

    fn of(&self, rows: &[Row]) -> Result<Vec<T>, Error> {
        rows.iter().map(self.row).collect()
    }

    fn statement(&self, is_postgres: bool) -> Statement {
        Statement::new(self.sql.words(is_postgres), self.values.clone())
    }
}

/// Several [`Select`]s, as a tuple.
pub trait Selects {
    /// The rows of each.
    type Found;

    fn statements(&self, is_postgres: bool) -> Vec<Statement>;
    fn found(self, rows: &[Vec<Row>]) -> Result<Self::Found, Error>;
}

macro_rules! selects {
    ($($row:ident $select:ident $place:tt),+) => {
        impl<$($row),+> Selects for ($(Select<$row>),+) {
            type Found = ($(Vec<$row>),+);

            fn statements(&self, is_postgres: bool) -> Vec<Statement> {
                let ($($select),+) = self;
                vec![$($select.statement(is_postgres)),+]
            }

            fn found(self, rows: &[Vec<Row>]) -> Result<Self::Found, Error> {
                let ($($select),+) = self;
                Ok(($($select.of(&rows[$place])?),+))
            }
        }
    };
}

selects!(A a 0, B b 1);
selects!(A a 0, B b 1, C c 2);
selects!(A a 0, B b 1, C c 2, D d 3);
selects!(A a 0, B b 1, C c 2, D d 3, E e 4, F f 5);

impl Db {
    /// Runs several reading statements on one state of the store; returns what each found.
    pub async fn read_all<S: Selects>(&self, selects: S) -> Result<S::Found, Error> {
        let statements = selects.statements(self.is_shared());
        if let (Store::Postgres(postgres), None) = (&self.store, &self.moment) {
            return selects.found(&postgres.read_all(&statements).await?);
        }
        let db = self.snapshot().await?;
        let mut all = Vec::with_capacity(statements.len());
        for statement in &statements {
            all.push(db.read(statement.sql, &statement.values).await?);
        }
        drop(db);
        selects.found(&all)
    }
}

impl Tx {
    /// Runs several reading statements, which may lock rows. On PostgreSQL they see one state, the one before they
    /// waited for a lock; of the rows that they lock, they see the state afterwards.
    pub async fn query_all<S: Selects>(&mut self, selects: S) -> Result<S::Found, Error> {
        let statements = selects.statements(self.is_on_postgres());
        let all = self.answered(async |transaction| transaction.fetch_all(&statements).await).await?;
        selects.found(&all)
    }

    /// Runs several writing statements. None may see or change a row that another one of them writes; foreign
    /// keys between them are fine. Returns the number of rows that each changed.
    pub async fn execute_all(&mut self, statements: &[Statement]) -> Result<Vec<u64>, Error> {
        let mut changed = Vec::with_capacity(statements.len());
        for some in statements.chunks(TOGETHER_MAX) {
            if !self.is_on_postgres() || some.len() == 1 {
                for statement in some {
                    changed.push(self.execute(statement.sql, &statement.values).await?);
                }
                continue;
            }
            let (sql, values) = writes(some);
            let sql = Sql::Made(sql.into());
            let rows = self.answered(async |transaction| transaction.fetch(sql, &values).await).await?;
            let row = rows.first().ok_or_else(|| Error::internal(anyhow::anyhow!("no row was answered")))?;
            for index in 0..some.len() {
                changed.push(u64::try_from(row.get::<i64>(index)?).unwrap_or_default());
            }
        }
        Ok(changed)
    }

    /// Runs a writing statement with the commit, which saves a round trip. The rules of [`Tx::execute_all`]
    /// hold, and errors are the commit's.
    pub fn execute_later(&mut self, statement: Statement) {
        self.later.push(statement);
    }

    /// On PostgreSQL: runs writing statements and a last one, which has the form `name AS (…), … SELECT …`, and
    /// whose rows are returned.
    pub(super) async fn query_after(
        &mut self,
        statements: &[Statement],
        last: Statement,
    ) -> Result<Vec<Row>, Error> {
        let (mut sql, mut values) = parts(statements);
        if !statements.is_empty() {
            sql.push_str(", ");
        }
        push_numbered(&mut sql, last.sql, values.len());
        values.extend(last.values);
        let sql = Sql::Made(sql.into());
        self.answered(async |transaction| transaction.fetch(sql, &values).await).await
    }
}

/// The addresses and lengths of the statements' texts, which are constants.
type Key = Box<[(usize, usize)]>;

/// Combined reads, by their parts.
#[derive(Clone, Default)]
pub(super) struct CombinedReads(Arc<Mutex<HashMap<Key, Arc<Combined>>>>);

/// Several reading statements in one.
struct Combined {
    sql: Arc<str>,
    parts: Vec<Part>,
}

/// The columns of one statement in the combined one.
struct Part {
    columns: Arc<[String]>,
    /// Of each column, its place in the combined rows, and its type.
    places: Vec<(usize, Kind)>,
}

impl postgres::Postgres {
    async fn read_all(&self, statements: &[Statement]) -> Result<Vec<Vec<Row>>, Error> {
        let connections = &self.connections;
        let combined = match connections.combined.known(statements) {
            Some(combined) => combined,
            None => {
                let mut columns = Vec::with_capacity(statements.len());
                for statement in statements {
                    columns.push(connections.columns(statement).await?);
                }
                connections.combined.learn(statements, columns)?
            }
        };
        let rows = connections.read(combined.sql(), &values_of(statements)).await?;
        combined.divide(&rows)
    }
}

impl Begun {
    async fn fetch_all(&mut self, statements: &[Statement]) -> Result<Vec<Vec<Row>>, Error> {
        if let Begun::Postgres(tx) = self {
            let combined = match tx.combined.known(statements) {
                Some(combined) => combined,
                None => {
                    let mut columns = Vec::with_capacity(statements.len());
                    for statement in statements {
                        columns.push(postgres_pool::columns(tx.connection()?, statement).await?);
                    }
                    tx.combined.learn(statements, columns)?
                }
            };
            let rows = postgres::read(tx.connection()?, combined.sql(), &values_of(statements)).await?;
            return combined.divide(&rows);
        }
        let mut all = Vec::with_capacity(statements.len());
        for statement in statements {
            all.push(self.fetch(statement.sql, &statement.values).await?);
        }
        Ok(all)
    }
}

fn values_of(statements: &[Statement]) -> Vec<Value> {
    statements.iter().flat_map(|statement| &statement.values).cloned().collect()
}

impl CombinedReads {
    fn known(&self, statements: &[Statement]) -> Option<Arc<Combined>> {
        self.0.lock().get(&key_of(statements)).map(Arc::clone)
    }

    /// Combines statements with columns of these names and types.
    fn learn(
        &self,
        statements: &[Statement],
        columns: Vec<Vec<(String, String)>>,
    ) -> Result<Arc<Combined>, Error> {
        let made = Arc::new(combine(statements, columns)?);
        Ok(Arc::clone(self.0.lock().entry(key_of(statements)).or_insert(made)))
    }
}

fn key_of(statements: &[Statement]) -> Key {
    statements.iter().map(|statement| (statement.sql.as_ptr() as usize, statement.sql.len())).collect()
}

impl Combined {
    fn sql(&self) -> AssertSqlSafe<Arc<str>> {
        AssertSqlSafe(Arc::clone(&self.sql))
    }

    /// The rows of each part.
    fn divide(&self, rows: &[PgRow]) -> Result<Vec<Vec<Row>>, Error> {
        let mut all: Vec<Vec<Row>> = self.parts.iter().map(|_| Vec::new()).collect();
        for row in rows {
            let number: i32 = row.try_get(0)?;
            let part = usize::try_from(number).unwrap_or(usize::MAX);
            let (Some(part), Some(rows)) = (self.parts.get(part), all.get_mut(part)) else {
                return Err(Error::internal(anyhow::anyhow!("there is no statement {number}")));
            };
            rows.push(part.row(row)?);
        }
        Ok(all)
    }
}

impl Part {
    fn row(&self, row: &PgRow) -> Result<Row, Error> {
        let values = self.places.iter().map(|(place, kind)| postgres::decode_at(row, *place, *kind));
        Ok(Row { columns: Arc::clone(&self.columns), values: values.collect::<Result<_, _>>()? })
    }
}

/// Puts columns of one type into the same place; `columns` are the names and types of each statement.
///
/// The parts keep their own order: a part with an `ORDER BY` is executed by one process, and an append passes
/// its rows on as they come.
fn combine(statements: &[Statement], columns: Vec<Vec<(String, String)>>) -> Result<Combined, Error> {
    // The columns of the combined rows, by type; the first column is the number of the part.
    let mut types: Vec<String> = Vec::new();
    let mut parts = Vec::with_capacity(columns.len());
    for columns in columns {
        let mut places: Vec<(usize, Kind)> = Vec::with_capacity(columns.len());
        for (name, of_type) in &columns {
            let is_used = |index: usize| places.iter().any(|(place, _)| *place == index + 1);
            let is_free = |index: &usize| !is_used(*index) && types[*index] == *of_type;
            let index = (0..types.len()).find(is_free).unwrap_or_else(|| {
                types.push(of_type.clone());
                types.len() - 1
            });
            places.push((index + 1, postgres::kind(name, of_type)?));
        }
        parts.push(Part { columns: columns.into_iter().map(|(name, _)| name).collect(), places });
    }
    let mut sql = String::new();
    let mut first_value = 0;
    for (number, (statement, part)) in statements.iter().zip(&parts).enumerate() {
        sql.push_str(if number == 0 { "SELECT " } else { " UNION ALL SELECT " });
        // Writing to a text cannot fail.
        let _ = write!(sql, "{number}");
        for (index, of_type) in types.iter().enumerate() {
            let _ = match part.places.iter().position(|(place, _)| *place == index + 1) {
                Some(column) => write!(sql, ", p{number}.c{column}"),
                None => write!(sql, ", CAST(NULL AS {of_type})"),
            };
        }
        sql.push_str(" FROM (");
        push_numbered(&mut sql, statement.sql, first_value);
        let columns: Vec<String> = (0..part.places.len()).map(|column| format!("c{column}")).collect();
        let _ = write!(sql, ") AS p{number} ({})", columns.join(", "));
        first_value += statement.values.len();
    }
    Ok(Combined { sql: sql.into(), parts })
}

/// Writing statements in one, which answers the number of changed rows of each.
fn writes(statements: &[Statement]) -> (String, Vec<Value>) {
    let (mut sql, values) = parts(statements);
    for number in 0..statements.len() {
        let _ = write!(sql, "{} (SELECT count(*) FROM w{number})", if number == 0 { " SELECT" } else { "," });
    }
    (sql, values)
}

/// Writing statements as parts of a `WITH`.
fn parts(statements: &[Statement]) -> (String, Vec<Value>) {
    let (mut sql, mut values) = (String::from("WITH "), Vec::new());
    for (number, statement) in statements.iter().enumerate() {
        let comma = if number == 0 { "" } else { ", " };
        let _ = write!(sql, "{comma}w{number} AS (");
        push_numbered(&mut sql, statement.sql, values.len());
        sql.push_str(" RETURNING 1)");
        values.extend(statement.values.iter().cloned());
    }
    (sql, values)
}

/// Appends a statement whose values stand `offset` places later. Its texts have no `$`.
fn push_numbered(sql: &mut String, statement: &str, offset: usize) {
    let mut parts = statement.split('$');
    sql.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_digit()).unwrap_or(part.len());
        match part[..end].parse::<usize>() {
            Ok(number) => _ = write!(sql, "${}{}", number + offset, &part[end..]),
            Err(_) => _ = write!(sql, "${part}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::on_each_empty_store;

    const MAKE: &str = "CREATE TABLE things (id BIGINT PRIMARY KEY, name TEXT NOT NULL, size BIGINT)";
    const PARTS: &str =
        "CREATE TABLE pieces (id BIGINT PRIMARY KEY, thing BIGINT NOT NULL REFERENCES things)";
    const THING: &str = "INSERT INTO things (id, name, size) VALUES ($1, $2, $3)";
    const PIECE: &str = "INSERT INTO pieces (id, thing) VALUES ($1, $2)";
    const DOWN: &str = "SELECT id, name, size FROM things WHERE id < $1 ORDER BY id DESC LIMIT $2";
    const NAMES: &str = "SELECT name, id = $1 AS is_it, size FROM things ORDER BY name";
    const NONE: &str = "SELECT size, id FROM things WHERE name = $1";

    async fn fill(db: &Db) {
        for sql in [MAKE, PARTS] {
            db.execute(sql, &[]).await.unwrap();
        }
        let mut tx = db.begin().await.unwrap();
        for id in 1..=5 {
            let size = if id == 3 { Value::Null } else { (id * 10).into() };
            tx.execute(THING, &[id.into(), format!("thing {id}").into(), size]).await.unwrap();
        }
        tx.commit().await.unwrap();
    }

    fn same(row: &Row) -> Result<Row, Error> {
        Ok(row.clone())
    }

    #[tokio::test]
    async fn reads_together_answer_as_alone() {
        on_each_empty_store(async |db| {
            fill(&db).await;
            let down = || Select::new(DOWN, [5.into(), 3.into()], same);
            let none = || Select::new(NONE, [Value::from("nothing")], same);
            let names = || Select::new(NAMES, [2.into()], same);
            let equal = |some: &[Row], others: &[Row]| {
                some.len() == others.len()
                    && some.iter().zip(others).all(|(a, b)| a.columns == b.columns && a.values == b.values)
            };
            // Twice: the second time, the combined statement is known.
            for _ in 0..2 {
                let (first, second, third) = db.read_all((down(), none(), names())).await.unwrap();
                assert!(equal(&first, &down().all(&db).await.unwrap()), "{first:?}");
                assert!(equal(&third, &names().all(&db).await.unwrap()), "{third:?}");
                assert!(second.is_empty());
                assert_eq!((first.len(), third.len()), (3, 5));
            }
            let snapshot = db.snapshot().await.unwrap();
            let (names, down) = snapshot.read_all((names(), down())).await.unwrap();
            assert_eq!((names.len(), down.len()), (5, 3));
        })
        .await;
    }

    #[tokio::test]
    async fn reads_in_a_transaction_lock_and_see_its_changes() {
        const LOCKED: Either = Either {
            sqlite: "SELECT id FROM things WHERE id = $1",
            postgres: "SELECT id FROM things WHERE id = $1 FOR KEY SHARE",
        };
        const SOME: Either = Either {
            sqlite: "SELECT id FROM things WHERE id IN (SELECT value FROM json_each($1)) ORDER BY id",
            postgres: "SELECT id FROM things WHERE id = ANY(CAST((SELECT $1) AS BIGINT[])) ORDER BY id",
        };
        let id = |row: &Row| row.get::<i64>(0);
        on_each_empty_store(async |db| {
            fill(&db).await;
            let mut tx = db.begin().await.unwrap();
            tx.execute(THING, &[6.into(), "six".into(), Value::Null]).await.unwrap();
            // Once without a value of a type, then with one.
            for (one, found) in [(None, &[][..]), (Some(6), &[6][..]), (Some(7), &[])] {
                let some = Select::new(SOME, [[2, 6, 9].as_slice().into()], id);
                let (locked, some) =
                    tx.query_all((Select::new(LOCKED, [one.into()], id), some)).await.unwrap();
                assert_eq!((locked.as_slice(), some.as_slice()), (found, &[2, 6][..]));
            }
            // The same statement alone, on the same connection.
            let alone = tx.query(tx.words(SOME), &[[1, 9].as_slice().into()]).await.unwrap();
            assert_eq!(alone.iter().map(id).collect::<Result<Vec<_>, _>>().unwrap(), [1]);
            tx.commit().await.unwrap();
        })
        .await;
    }

    #[tokio::test]
    async fn writes_together_are_counted_and_may_refer_to_each_other() {
        const GROW: &str = "UPDATE things SET size = $1 WHERE id <= $2";
        on_each_empty_store(async |db| {
            fill(&db).await;
            let mut tx = db.begin().await.unwrap();
            let statements = [
                Statement::new(THING, [6.into(), "six".into(), Value::Null]),
                Statement::new(PIECE, [1.into(), 6.into()]),
                Statement::new(GROW, [7.into(), 2.into()]),
            ];
            assert_eq!(tx.execute_all(&statements).await.unwrap(), [1, 1, 2]);
            assert_eq!(tx.execute_all(&statements[..0]).await.unwrap(), [0; 0]);
            tx.commit().await.unwrap();
            let sizes = db.read(NAMES, &[6.into()]).await.unwrap();
            assert_eq!(sizes[1].get::<i64>(2).unwrap(), 7);
        })
        .await;
    }

    #[tokio::test]
    async fn writes_together_fail_together() {
        on_each_empty_store(async |db| {
            fill(&db).await;
            let mut tx = db.begin().await.unwrap();
            let statements = [
                Statement::new(THING, [6.into(), "six".into(), Value::Null]),
                Statement::new(THING, [1.into(), "one".into(), Value::Null]),
            ];
            let error = tx.execute_all(&statements).await.unwrap_err();
            assert_eq!(error.unique_as("taken", "taken").code(), "taken");
            drop(tx);
            assert_eq!(db.read(NAMES, &[1.into()]).await.unwrap().len(), 5);
        })
        .await;
    }

    #[test]
    fn values_are_numbered_on() {
        let mut sql = String::new();
        push_numbered(&mut sql, "SELECT $1, $12 WHERE a = $2", 3);
        assert_eq!(sql, "SELECT $4, $15 WHERE a = $5");
    }
}
