//! Many tasks of one workflow, a few statements for all.

use std::collections::HashMap;

use lakeport_base::Error;
use lakeport_store::{Either, Select, Tx};
use serde_json::{Value, json};

use super::super::Task;
use super::text;

/// Tasks whose rows are one statement.
const TOGETHER_MAX: usize = 500;

/// Inserts tasks with their tables; those whose id is 0 get one. 409 if two of them have one name.
pub async fn insert(tx: &mut Tx, new: &mut [&mut Task]) -> Result<(), Error> {
    macro_rules! insert {
        ($select:literal) => {
            concat!(
                "INSERT INTO tasks (id, workflow_id, task_name, name_folded, task_type, datasource_id, sql_content, \
                 priority, timeout, retry_times, retry_interval, inputs_given, outputs_given, unresolved, digest, \
                 created_at, updated_at) SELECT ",
                $select,
                " RETURNING id, task_name"
            )
        };
    }
    const INSERT: Either = Either {
        sqlite: insert!(
            "nullif(value ->> 0, 0), value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5, value ->> 6, \
             value ->> 7, value ->> 8, value ->> 9, value ->> 10, value ->> 11, value ->> 12, value ->> 13, \
             value ->> 14, value ->> 15, value ->> 16 FROM json_each($1) WHERE true"
        ),
        postgres: insert!(
            "coalesce(nullif(CAST(t ->> 0 AS BIGINT), 0), nextval(pg_get_serial_sequence('tasks', 'id'))), \
             CAST(t ->> 1 AS BIGINT), t ->> 2, t ->> 3, t ->> 4, CAST(t ->> 5 AS BIGINT), t ->> 6, t ->> 7, \
             CAST(t ->> 8 AS BIGINT), CAST(t ->> 9 AS BIGINT), CAST(t ->> 10 AS BIGINT), CAST(t ->> 11 AS BIGINT), \
             CAST(t ->> 12 AS BIGINT), t ->> 13, t ->> 14, CAST(t ->> 15 AS BIGINT), CAST(t ->> 16 AS BIGINT) \
             FROM json_array_elements(CAST($1 AS json)) AS list (t)"
        ),
    };
    for some in new.chunks_mut(TOGETHER_MAX) {
        let rows: Vec<Value> = some.iter().map(|task| row(task)).collect();
        let inserted = tx.query(tx.words(INSERT), &[text(&rows)?]).await.map_err(|error| {
            error.unique_as("name_taken", "two tasks of the workflow have one name; each needs its own")
        })?;
        let ids = inserted.iter().map(|row| Ok((row.get(1)?, row.get(0)?)));
        let ids: HashMap<String, i64> = ids.collect::<Result<_, Error>>()?;
        for task in some.iter_mut() {
            let missing = || Error::internal(anyhow::anyhow!("a task was not stored"));
            task.id = *ids.get(&task.content.task_name).ok_or_else(missing)?;
        }
        insert_tables(tx, &some.iter().flat_map(|task| rows_of_tables(task)).collect::<Vec<_>>()).await?;
    }
    Ok(())
}

/// A task's values, in the order of its columns.
fn row(task: &Task) -> Value {
    let content = &task.content;
    json!([
        task.id,
        task.workflow_id,
        content.task_name,
        content.task_name.to_lowercase(),
        content.task_type,
        content.datasource_id,
        content.sql_content,
        content.priority.as_str(),
        content.timeout,
        content.retry_times,
        content.retry_interval,
        i64::from(task.given.inputs),
        i64::from(task.given.outputs),
        content.unresolved.text(),
        task.digest,
        task.created_at_ms,
        task.updated_at_ms,
    ])
}

fn rows_of_tables(task: &Task) -> impl Iterator<Item = Value> {
    let (id, workflow_id, content) = (task.id, task.workflow_id, &task.content);
    let inputs = content.input_table_ids.iter().map(|table| ("input", table));
    let outputs = content.output_table_ids.iter().map(|table| ("output", table));
    let all = inputs.chain(outputs).enumerate();
    all.map(move |(place, (direction, table))| json!([id, workflow_id, direction, table, place]))
}

async fn insert_tables(tx: &mut Tx, tables: &[Value]) -> Result<(), Error> {
    const INSERT: Either = Either {
        sqlite: "INSERT INTO task_tables (task_id, workflow_id, direction, table_id, place) \
            SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4 FROM json_each($1)",
        postgres: "INSERT INTO task_tables (task_id, workflow_id, direction, table_id, place) \
            SELECT CAST(t ->> 0 AS BIGINT), CAST(t ->> 1 AS BIGINT), t ->> 2, CAST(t ->> 3 AS BIGINT), \
            CAST(t ->> 4 AS BIGINT) FROM json_array_elements(CAST($1 AS json)) AS list (t)",
    };
    if tables.is_empty() {
        return Ok(());
    }
    let message = "a table that a task names was deleted in this moment; nothing was changed, try again";
    let written = tx.execute(tx.words(INSERT), &[text(tables)?]).await;
    written.map(drop).map_err(|error| error.gone_as("store_busy", message))
}

/// Deletes tasks with their tables.
pub async fn delete(tx: &mut Tx, ids: &[i64]) -> Result<(), Error> {
    const DELETE: Either = Either {
        sqlite: "DELETE FROM tasks WHERE id IN (SELECT value FROM json_each($1))",
        postgres: "DELETE FROM tasks WHERE id = ANY($1)",
    };
    if ids.is_empty() {
        return Ok(());
    }
    tx.execute(tx.words(DELETE), &[ids.into()]).await.map(drop)
}

/// The workflows of those of these tasks that exist; `None`: the task has none.
pub fn places_of(ids: &[i64]) -> Select<(i64, Option<i64>)> {
    const PLACES: Either = Either {
        sqlite: "SELECT id, workflow_id FROM tasks WHERE id IN (SELECT value FROM json_each($1))",
        postgres: "SELECT id, workflow_id FROM tasks WHERE id = ANY($1)",
    };
    Select::new(PLACES, [ids.into()], |row| Ok((row.get(0)?, row.get(1)?)))
}
