//! Counts of executions, computed by the store.

use lakeport_base::Error;
use lakeport_store::{Db, Row, Value};

/// The unit from which the days of all zones can be composed: their offsets are multiples of a quarter of an
/// hour.
pub const QUARTER_MS: i64 = 15 * 60 * 1_000;

/// The counted executions: of one task or of all, started from one time until before another.
#[derive(Debug, Clone, Copy)]
pub struct Span {
    pub task_id: Option<i64>,
    pub from_ms: i64,
    pub before_ms: i64,
}

/// The number with one status, and the durations of the finished ones.
#[derive(Debug)]
pub struct Count {
    pub status: String,
    pub count: i64,
    /// The number with a known duration.
    pub timed: i64,
    pub sum_ms: i64,
    pub min_ms: Option<i64>,
    pub max_ms: Option<i64>,
}

/// The number with one status that started in a quarter of an hour.
#[derive(Debug)]
pub struct Quarter {
    pub begin_ms: i64,
    pub status: String,
    pub count: i64,
}

/// The two forms of a statement: for one task, and for all.
macro_rules! for_span {
    ($select:literal, $after:literal) => {
        (
            concat!($select, " FROM executions WHERE at >= $1 AND at < $2 ", $after),
            concat!($select, " FROM executions WHERE at >= $1 AND at < $2 AND task_id = $3 ", $after),
        )
    };
}

pub async fn counts(db: &Db, span: Span) -> Result<Vec<Count>, Error> {
    let words = for_span!(
        "SELECT status, count(*), count(duration), CAST(coalesce(sum(duration), 0) AS BIGINT), min(duration), \
         max(duration)",
        "GROUP BY status"
    );
    let count = |row: &Row| {
        Ok(Count {
            status: row.get(0)?,
            count: row.get(1)?,
            timed: row.get(2)?,
            sum_ms: row.get(3)?,
            min_ms: row.get(4)?,
            max_ms: row.get(5)?,
        })
    };
    read(db, words, span).await?.iter().map(count).collect()
}

/// The duration that `shorter` others do not exceed.
pub async fn duration_after(db: &Db, span: Span, shorter: i64) -> Result<Option<i64>, Error> {
    const ALL: &str = "SELECT duration FROM executions WHERE at >= $1 AND at < $2 AND duration IS NOT NULL \
        ORDER BY duration LIMIT 1 OFFSET $3";
    const OF_TASK: &str = "SELECT duration FROM executions WHERE at >= $1 AND at < $2 AND duration IS NOT NULL \
        AND task_id = $4 ORDER BY duration LIMIT 1 OFFSET $3";
    let mut values: Vec<Value> = vec![span.from_ms.into(), span.before_ms.into(), shorter.into()];
    let sql = if span.task_id.is_some() { OF_TASK } else { ALL };
    values.extend(span.task_id.map(Value::from));
    db.read(sql, &values).await?.first().map_or(Ok(None), |row| row.get(0))
}

/// All that started, by quarters of an hour.
pub async fn quarters(db: &Db, span: Span) -> Result<Vec<Quarter>, Error> {
    let words = for_span!("SELECT at / 900000, status, count(*)", "GROUP BY 1, 2");
    let quarter = |row: &Row| {
        let begin_ms = row.get::<i64>(0)? * QUARTER_MS;
        Ok(Quarter { begin_ms, status: row.get(1)?, count: row.get(2)? })
    };
    read(db, words, span).await?.iter().map(quarter).collect()
}

async fn read(
    db: &Db,
    (of_all, of_task): (&'static str, &'static str),
    span: Span,
) -> Result<Vec<Row>, Error> {
    let (from, before) = (span.from_ms.into(), span.before_ms.into());
    match span.task_id {
        None => db.read(of_all, &[from, before]).await,
        Some(id) => db.read(of_task, &[from, before, id.into()]).await,
    }
}
