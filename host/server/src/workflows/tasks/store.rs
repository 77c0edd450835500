//! Tasks and their tables in the store. The tables of a task are written by one statement, as a JSON array.

pub mod many;

use std::collections::HashMap;

use lakeport_base::Error;
use lakeport_http::Paging;
use lakeport_store::{ByName, Db, Either, Row, Select, Tx, Value};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::definition::{Content, Given, Unresolved};
use super::{Binding, Task};

/// Columns of a task, in the order of [`task`].
macro_rules! columns {
    () => {
        "id, workflow_id, task_name, task_type, datasource_id, sql_content, priority, timeout, retry_times, \
         retry_interval, inputs_given, outputs_given, unresolved, digest, created_at, updated_at"
    };
}

/// The filter of a list.
pub struct Filter {
    /// Lower case.
    pub name: Option<String>,
    pub task_type: Option<String>,
    pub workflow_id: Option<i64>,
    pub upstream_task_id: Option<i64>,
    pub downstream_task_id: Option<i64>,
    /// Read or written.
    pub table_id: Option<i64>,
}

fn task(row: &Row) -> Result<Task, Error> {
    let mut row = row.by_name();
    Ok(Task {
        id: row.get("id")?,
        workflow_id: row.get("workflow_id")?,
        content: Content {
            task_name: row.get("task_name")?,
            task_type: row.get("task_type")?,
            datasource_id: row.get("datasource_id")?,
            sql_content: row.get("sql_content")?,
            priority: word(&row.get::<String>("priority")?)?,
            timeout: number(&mut row, "timeout")?,
            retry_times: number(&mut row, "retry_times")?,
            retry_interval: number(&mut row, "retry_interval")?,
            input_table_ids: Vec::new(),
            output_table_ids: Vec::new(),
            unresolved: unresolved(row.get("unresolved")?)?,
        },
        given: Given { inputs: row.get("inputs_given")?, outputs: row.get("outputs_given")? },
        digest: row.get("digest")?,
        created_at_ms: row.get("created_at")?,
        updated_at_ms: row.get("updated_at")?,
    })
}

fn unresolved(text: Option<String>) -> Result<Unresolved, Error> {
    text.map_or(Ok(Unresolved::default()), |text| serde_json::from_str(&text).map_err(Error::internal))
}

fn number(row: &mut ByName<'_>, name: &str) -> Result<u32, Error> {
    u32::try_from(row.get::<i64>(name)?).map_err(Error::internal)
}

fn word<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    serde_json::from_value(text.into()).map_err(Error::internal)
}

pub async fn find(db: &Db, id: i64) -> Result<Option<Task>, Error> {
    let (mut tasks, tables) = db.read_all((by_id(id), tables_of(id))).await?;
    bind(&mut tasks, tables);
    Ok(tasks.pop())
}

/// One task; its tables are put in by [`bind`].
pub fn by_id(id: i64) -> Select<Task> {
    const FIND: &str = concat!("SELECT ", columns!(), " FROM tasks WHERE id = $1");
    Select::new(FIND, [id.into()], task)
}

/// The tables of one task.
pub fn tables_of(id: i64) -> Select<BoundTable> {
    const TABLES: &str = "SELECT task_id, direction, table_id FROM task_tables WHERE task_id = $1 \
        ORDER BY direction, place";
    Select::new(TABLES, [id.into()], bound_table)
}

/// The name of its workflow; none without one.
pub fn workflow_name_of(id: i64) -> Select<String> {
    const NAME: &str = "SELECT name FROM workflows WHERE deleted_at IS NULL \
        AND id = (SELECT workflow_id FROM tasks WHERE id = $1)";
    Select::new(NAME, [id.into()], |row| row.get(0))
}

/// Other workflows that read what a workflow writes.
pub fn readers_of(workflow_id: i64) -> Select<i64> {
    const READERS: &str = "SELECT DISTINCT r.workflow_id FROM task_tables w JOIN task_tables r \
        ON r.table_id = w.table_id AND r.direction = 'input' AND r.workflow_id <> w.workflow_id \
        WHERE w.workflow_id = $1 AND w.direction = 'output' ORDER BY 1";
    Select::new(READERS, [workflow_id.into()], |row| row.get(0))
}

/// All of a workflow, by id; their tables are put in by [`bind`].
pub fn of_workflow(workflow_id: i64) -> Select<Task> {
    const ALL: &str = concat!("SELECT ", columns!(), " FROM tasks WHERE workflow_id = $1 ORDER BY id");
    Select::new(ALL, [workflow_id.into()], task)
}

/// The tables of all tasks of a workflow.
pub fn tables_of_workflow(workflow_id: i64) -> Select<BoundTable> {
    const TABLES: &str = "SELECT task_id, direction, table_id FROM task_tables WHERE workflow_id = $1 \
        ORDER BY task_id, direction, place";
    Select::new(TABLES, [workflow_id.into()], bound_table)
}

/// One page, newest first, and the total; 400 if it is too large to be sent at once.
pub async fn page(db: &Db, filter: &Filter, paging: &Paging) -> Result<(i64, Vec<Task>), Error> {
    macro_rules! filtered {
        ($contains:literal) => {
            concat!(
                " FROM tasks WHERE (CAST($1 AS TEXT) IS NULL OR ",
                $contains,
                "(name_folded, $1) > 0) AND (CAST($2 AS TEXT) IS NULL OR task_type = $2) \
                 AND (CAST($3 AS BIGINT) IS NULL OR workflow_id = $3) \
                 AND (CAST($4 AS BIGINT) IS NULL OR id IN (SELECT r.task_id FROM task_tables w JOIN task_tables r \
                 ON r.table_id = w.table_id AND r.workflow_id = w.workflow_id AND r.direction = 'input' \
                 WHERE w.task_id = $4 AND w.direction = 'output' AND r.task_id <> $4)) \
                 AND (CAST($5 AS BIGINT) IS NULL OR id IN (SELECT w.task_id FROM task_tables r JOIN task_tables w \
                 ON w.table_id = r.table_id AND w.workflow_id = r.workflow_id AND w.direction = 'output' \
                 WHERE r.task_id = $5 AND r.direction = 'input' AND w.task_id <> $5)) \
                 AND (CAST($6 AS BIGINT) IS NULL OR id IN (SELECT task_id FROM task_tables WHERE table_id = $6))"
            )
        };
    }
    macro_rules! sums {
        () => {
            "SELECT CAST(coalesce(sum(bytes), 0) AS BIGINT), CAST(coalesce(max(bytes), 0) AS BIGINT) FROM \
             (SELECT octet_length(sql_content) AS bytes"
        };
    }
    const COUNT: Either = Either {
        sqlite: concat!("SELECT count(*)", filtered!("instr")),
        postgres: concat!("SELECT count(*)", filtered!("strpos")),
    };
    const PAGE: Either = Either {
        sqlite: concat!("SELECT ", columns!(), filtered!("instr"), " ORDER BY id DESC LIMIT $7 OFFSET $8"),
        postgres: concat!("SELECT ", columns!(), filtered!("strpos"), " ORDER BY id DESC LIMIT $7 OFFSET $8"),
    };
    const BYTES: Either = Either {
        sqlite: concat!(sums!(), filtered!("instr"), " ORDER BY id DESC LIMIT $7 OFFSET $8) AS page"),
        postgres: concat!(sums!(), filtered!("strpos"), " ORDER BY id DESC LIMIT $7 OFFSET $8) AS page"),
    };
    let mut values: Vec<Value> = vec![
        filter.name.clone().into(),
        filter.task_type.clone().into(),
        filter.workflow_id.into(),
        filter.upstream_task_id.into(),
        filter.downstream_task_id.into(),
        filter.table_id.into(),
    ];
    let db = db.snapshot().await?;
    let total = db.read(db.words(COUNT), &values).await?[0].get(0)?;
    values.extend([paging.page_size.into(), paging.offset().into()]);
    let bytes = db.read(db.words(BYTES), &values).await?;
    paging.refuse_over("pageSize", bytes[0].get(0)?, bytes[0].get(1)?)?;
    let rows = db.read(db.words(PAGE), &values).await?;
    Ok((total, with_tables(&db, &rows).await?))
}

async fn with_tables(db: &Db, rows: &[Row]) -> Result<Vec<Task>, Error> {
    let mut tasks = rows.iter().map(task).collect::<Result<Vec<Task>, Error>>()?;
    let ids: Vec<i64> = tasks.iter().map(|task| task.id).collect();
    if !ids.is_empty() {
        bind(&mut tasks, Select::new(TABLES_OF, [ids.as_slice().into()], bound_table).all(db).await?);
    }
    Ok(tasks)
}

/// `task_id, direction, table_id` of several tasks.
const TABLES_OF: Either = Either {
    sqlite: "SELECT task_id, direction, table_id FROM task_tables \
        WHERE task_id IN (SELECT value FROM json_each($1)) ORDER BY task_id, direction, place",
    postgres: "SELECT task_id, direction, table_id FROM task_tables WHERE task_id = ANY($1) ORDER BY task_id, direction, place",
};

/// One table of a task.
pub struct BoundTable {
    task_id: i64,
    is_input: bool,
    table_id: i64,
}

fn bound_table(row: &Row) -> Result<BoundTable, Error> {
    let is_input = row.get::<String>(1)? == "input";
    Ok(BoundTable { task_id: row.get(0)?, is_input, table_id: row.get(2)? })
}

/// Puts the tables into their tasks.
pub fn bind(tasks: &mut [Task], tables: Vec<BoundTable>) {
    let places: HashMap<i64, usize> = tasks.iter().enumerate().map(|(at, task)| (task.id, at)).collect();
    for table in tables {
        // A task that was just inserted is not among them.
        let Some(&at) = places.get(&table.task_id) else { continue };
        let content = &mut tasks[at].content;
        let ids = if table.is_input { &mut content.input_table_ids } else { &mut content.output_table_ids };
        ids.push(table.table_id);
    }
}

/// Locks one against changes until the transaction ends.
pub async fn lock(tx: &mut Tx, id: i64) -> Result<Option<Task>, Error> {
    const LOCK: Either = Either {
        sqlite: concat!("SELECT ", columns!(), " FROM tasks WHERE id = $1"),
        postgres: concat!("SELECT ", columns!(), " FROM tasks WHERE id = $1 FOR UPDATE"),
    };
    const TABLES: &str = "SELECT task_id, direction, table_id FROM task_tables WHERE task_id = $1 \
        ORDER BY direction, place";
    let rows = tx.query(tx.words(LOCK), &[id.into()]).await?;
    let mut tasks = rows.iter().map(task).collect::<Result<Vec<Task>, Error>>()?;
    let tables = tx.query(TABLES, &[id.into()]).await?;
    bind(&mut tasks, tables.iter().map(bound_table).collect::<Result<_, _>>()?);
    Ok(tasks.into_iter().next())
}

/// Inserts one with its tables; returns its id. 409 if its workflow has one with this name.
pub async fn insert(tx: &mut Tx, new: &Task) -> Result<i64, Error> {
    const INSERT: &str = "INSERT INTO tasks (workflow_id, task_name, name_folded, task_type, datasource_id, \
        sql_content, priority, timeout, retry_times, retry_interval, inputs_given, outputs_given, unresolved, digest, \
        created_at, updated_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $15) \
        RETURNING id";
    let mut values = Vec::from([Value::from(new.workflow_id)]);
    values.extend(members(new));
    values.extend([new.digest.as_str().into(), new.created_at_ms.into()]);
    let rows = tx.query(INSERT, &values).await.map_err(|error| taken(error, new))?;
    let Some(row) = rows.first() else { return Err(Error::internal(anyhow::anyhow!("it was not stored"))) };
    let id = row.get(0)?;
    insert_tables(tx, id, new).await?;
    Ok(id)
}

fn members(task: &Task) -> [Value; 12] {
    let content = &task.content;
    [
        content.task_name.as_str().into(),
        content.task_name.to_lowercase().into(),
        content.task_type.as_str().into(),
        content.datasource_id.into(),
        content.sql_content.as_deref().into(),
        content.priority.as_str().into(),
        i64::from(content.timeout).into(),
        i64::from(content.retry_times).into(),
        i64::from(content.retry_interval).into(),
        i64::from(task.given.inputs).into(),
        i64::from(task.given.outputs).into(),
        content.unresolved.text().into(),
    ]
}

/// Writes all columns that a change can affect. 409 if its workflow has one with this name.
pub async fn update(tx: &mut Tx, before: &Task, after: &Task) -> Result<(), Error> {
    const UPDATE: &str = "UPDATE tasks SET workflow_id = $2, task_name = $3, name_folded = $4, task_type = $5, \
        datasource_id = $6, sql_content = $7, priority = $8, timeout = $9, retry_times = $10, retry_interval = $11, \
        inputs_given = $12, outputs_given = $13, unresolved = $14, digest = $15, updated_at = $16 WHERE id = $1";
    let mut values = Vec::from([Value::from(after.id), after.workflow_id.into()]);
    values.extend(members(after));
    values.extend([after.digest.as_str().into(), after.updated_at_ms.into()]);
    tx.execute(UPDATE, &values).await.map_err(|error| taken(error, after))?;
    let same = before.workflow_id == after.workflow_id
        && before.content.input_table_ids == after.content.input_table_ids
        && before.content.output_table_ids == after.content.output_table_ids;
    if same {
        return Ok(());
    }
    tx.execute("DELETE FROM task_tables WHERE task_id = $1", &[after.id.into()]).await?;
    insert_tables(tx, after.id, after).await
}

async fn insert_tables(tx: &mut Tx, id: i64, task: &Task) -> Result<(), Error> {
    const INSERT: Either = Either {
        sqlite: "INSERT INTO task_tables (task_id, workflow_id, direction, table_id, place) \
            SELECT $1, $2, json_extract(value, '$[0]'), json_extract(value, '$[1]'), key FROM json_each($3)",
        postgres: "INSERT INTO task_tables (task_id, workflow_id, direction, table_id, place) \
            SELECT $1, $2, given ->> 0, CAST(given ->> 1 AS BIGINT), place \
            FROM json_array_elements(CAST($3 AS json)) WITH ORDINALITY AS list (given, place)",
    };
    let inputs = task.content.input_table_ids.iter().map(|id| json!(["input", id]));
    let outputs = task.content.output_table_ids.iter().map(|id| json!(["output", id]));
    let given: Vec<serde_json::Value> = inputs.chain(outputs).collect();
    if given.is_empty() {
        return Ok(());
    }
    let values = [id.into(), task.workflow_id.into(), text(&given)?];
    let message = "a table that the task names was deleted in this moment; nothing was changed, try again";
    tx.execute(tx.words(INSERT), &values)
        .await
        .map(drop)
        .map_err(|error| error.gone_as("store_busy", message))
}

pub async fn delete(tx: &mut Tx, id: i64) -> Result<(), Error> {
    tx.execute("DELETE FROM tasks WHERE id = $1", &[id.into()]).await.map(drop)
}

/// Deletes all of a workflow; returns their ids.
pub async fn delete_of(tx: &mut Tx, workflow_id: i64) -> Result<Vec<i64>, Error> {
    let rows =
        tx.query("DELETE FROM tasks WHERE workflow_id = $1 RETURNING id", &[workflow_id.into()]).await?;
    rows.iter().map(|row| row.get(0)).collect()
}

/// Removes all tasks from a workflow; returns their ids.
pub async fn unbind_of(tx: &mut Tx, workflow_id: i64, now_ms: i64) -> Result<Vec<i64>, Error> {
    const TABLES: &str = "UPDATE task_tables SET workflow_id = NULL WHERE workflow_id = $1";
    const TASKS: &str =
        "UPDATE tasks SET workflow_id = NULL, updated_at = $2 WHERE workflow_id = $1 RETURNING id";
    tx.execute(TABLES, &[workflow_id.into()]).await?;
    let rows = tx.query(TASKS, &[workflow_id.into(), now_ms.into()]).await?;
    rows.iter().map(|row| row.get(0)).collect()
}

/// One row, if its outputs lead, over other tasks of its workflow, to one of its inputs. Visits each task at most
/// once.
// The form of the join keeps both planners from scanning all tasks for each reached table.
pub fn closed_circle(task: &Task) -> Select<i64> {
    const WALK: Either = Either {
        sqlite: "WITH RECURSIVE reached (node) AS (\
            SELECT target FROM task_tables WHERE workflow_id = $1 AND source IN (SELECT value FROM json_each($3)) \
            AND target <> -$2 \
            UNION SELECT t.target FROM reached r CROSS JOIN task_tables t ON t.workflow_id = $1 AND t.source = r.node \
            WHERE t.target <> -$2) \
            SELECT node FROM reached WHERE node IN (SELECT value FROM json_each($4)) LIMIT 1",
        postgres: "WITH RECURSIVE reached (node) AS (\
            SELECT target FROM task_tables WHERE workflow_id = $1 AND source = ANY($3) AND target <> -CAST($2 AS BIGINT) \
            UNION SELECT t.target FROM reached r CROSS JOIN LATERAL (SELECT target FROM task_tables \
            WHERE workflow_id = $1 AND source = r.node OFFSET 0) t WHERE t.target <> -CAST($2 AS BIGINT)) \
            SELECT node FROM reached WHERE node = ANY($4) LIMIT 1",
    };
    let (outputs, inputs) =
        (task.content.output_table_ids.as_slice(), task.content.input_table_ids.as_slice());
    let values = [task.workflow_id.into(), task.id.into(), outputs.into(), inputs.into()];
    Select::new(WALK, values, |row| row.get(0))
}

/// The tables of all tasks of a workflow.
pub async fn bindings_in(db: &Db, workflow_id: i64) -> Result<Vec<Binding>, Error> {
    const IN: &str = "SELECT id, workflow_id FROM tasks WHERE workflow_id = $1 ORDER BY id";
    let rows = db.read(IN, &[workflow_id.into()]).await?;
    bindings(db, &rows).await
}

/// The names of tasks, by id.
pub async fn names(db: &Db, ids: &[i64]) -> Result<HashMap<i64, String>, Error> {
    const NAMES: Either = Either {
        sqlite: "SELECT id, task_name FROM tasks WHERE id IN (SELECT value FROM json_each($1))",
        postgres: "SELECT id, task_name FROM tasks WHERE id = ANY($1)",
    };
    let rows = db.read(db.words(NAMES), &[ids.into()]).await?;
    rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?))).collect()
}

/// Those of these tasks that use this data source.
pub async fn on_datasource(db: &Db, datasource_id: i64, ids: &[i64]) -> Result<Vec<i64>, Error> {
    const ON: Either = Either {
        sqlite: "SELECT id FROM tasks WHERE datasource_id = $1 AND id IN (SELECT value FROM json_each($2))",
        postgres: "SELECT id FROM tasks WHERE datasource_id = $1 AND id = ANY($2)",
    };
    let rows = db.read(db.words(ON), &[datasource_id.into(), ids.into()]).await?;
    rows.iter().map(|row| row.get(0)).collect()
}

pub async fn bindings_after(db: &Db, after_id: i64, limit: i64) -> Result<Vec<Binding>, Error> {
    const AFTER: &str = "SELECT id, workflow_id FROM tasks WHERE id > $1 ORDER BY id LIMIT $2";
    let rows = db.read(AFTER, &[after_id.into(), limit.into()]).await?;
    bindings(db, &rows).await
}

pub async fn bindings_of(db: &Db, ids: &[i64]) -> Result<Vec<Binding>, Error> {
    const OF: Either = Either {
        sqlite: "SELECT id, workflow_id FROM tasks WHERE id IN (SELECT value FROM json_each($1)) ORDER BY id",
        postgres: "SELECT id, workflow_id FROM tasks WHERE id = ANY($1) ORDER BY id",
    };
    let rows = db.read(db.words(OF), &[ids.into()]).await?;
    bindings(db, &rows).await
}

async fn bindings(db: &Db, rows: &[Row]) -> Result<Vec<Binding>, Error> {
    let mut bindings = Vec::with_capacity(rows.len());
    for row in rows {
        let (task_id, workflow_id) = (row.get(0)?, row.get(1)?);
        bindings.push(Binding { task_id, workflow_id, inputs: Vec::new(), outputs: Vec::new() });
    }
    let ids: Vec<i64> = bindings.iter().map(|binding| binding.task_id).collect();
    if ids.is_empty() {
        return Ok(bindings);
    }
    for table in Select::new(TABLES_OF, [ids.as_slice().into()], bound_table).all(db).await? {
        // Both are sorted by id.
        let Ok(at) = ids.binary_search(&table.task_id) else { continue };
        let binding = &mut bindings[at];
        let tables = if table.is_input { &mut binding.inputs } else { &mut binding.outputs };
        tables.push(table.table_id);
    }
    Ok(bindings)
}

pub async fn count_of_datasource(tx: &mut Tx, datasource_id: i64) -> Result<i64, Error> {
    let rows =
        tx.query("SELECT count(*) FROM tasks WHERE datasource_id = $1", &[datasource_id.into()]).await?;
    rows.first().map_or(Ok(0), |row| row.get(0))
}

/// The first tasks that refer to a table, by id, with their names.
pub async fn bound_to(db: &Db, table_id: i64, limit: i64) -> Result<Vec<(i64, String)>, Error> {
    const BOUND: &str = "SELECT id, task_name FROM tasks WHERE id IN \
        (SELECT task_id FROM task_tables WHERE table_id = $1) ORDER BY id LIMIT $2";
    let rows = db.read(BOUND, &[table_id.into(), limit.into()]).await?;
    rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?))).collect()
}

/// All tasks that refer to a table, each with its workflow.
pub async fn all_bound_to(tx: &mut Tx, table_id: i64) -> Result<Vec<(i64, Option<i64>)>, Error> {
    const BOUND: &str =
        "SELECT DISTINCT task_id, workflow_id FROM task_tables WHERE table_id = $1 ORDER BY task_id";
    let rows = tx.query(BOUND, &[table_id.into()]).await?;
    rows.iter().map(|row| Ok((row.get(0)?, row.get(1)?))).collect()
}

fn text<T: Serialize>(value: &[T]) -> Result<Value, Error> {
    Ok(serde_json::to_string(value).map_err(Error::internal)?.into())
}

fn taken(error: Error, task: &Task) -> Error {
    let name = &task.content.task_name;
    error
        .unique_as("name_taken", format!("the workflow has a task named `{name}` already; take another name"))
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
