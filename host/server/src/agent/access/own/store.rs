//! The definitions of the views. The only place outside of the owning modules where their tables are read: it
//! writes nothing, and a view shows what the owning module shows to readers.

use chrono_tz::Tz;
use lakeport_base::Error;
use lakeport_physical::{Base, View};
use lakeport_store::{Db, Either};

use super::zone::Offsets;

/// All tables of the views, some restricted to these columns.
pub const BASES: &[Base] = &[
    Base { table: "workflows", columns: &[] },
    Base { table: "publications", columns: &[] },
    Base { table: "tasks", columns: &[] },
    Base { table: "executions", columns: &[] },
    Base { table: "tables", columns: &[] },
    Base { table: "task_tables", columns: &["task_id", "direction", "table_id"] },
    Base { table: "datasources", columns: &["id", "name"] },
    Base { table: "query_log", columns: &[] },
];

/// The store's product, for its SQL.
pub enum Store {
    Sqlite(Offsets),
    Postgres {
        /// The schema of its tables.
        schema: String,
        zone: Tz,
    },
}

impl Store {
    /// The store of this server, with times in this zone.
    pub async fn of(db: &Db, now_ms: i64, zone: Tz) -> Result<Store, Error> {
        const SCHEMA: Either = Either { sqlite: "SELECT NULL", postgres: "SELECT current_schema()" };
        let rows = db.read(db.words(SCHEMA), &[]).await?;
        let schema: Option<String> = match rows.first() {
            Some(row) => row.get(0)?,
            None => None,
        };
        Ok(match schema {
            Some(schema) => Store::Postgres { schema, zone },
            None => Store::Sqlite(Offsets::around(now_ms, zone)),
        })
    }

    /// The views. `datasources`: ids of those whose tables are visible; `None`: all. Tasks of the same ones share samples.
    pub fn views(&self, datasources: Option<&[i64]>) -> Vec<View> {
        let (at, seen) = (self, Seen(datasources));
        let views = [
            ("workflows", workflows(at)),
            ("publications", publications(at)),
            ("tasks", tasks(at)),
            ("executions", executions(at)),
            ("tables", tables(at, &seen)),
            ("lineage", lineage(&seen)),
            ("access", access(at, &seen)),
        ];
        views.map(|(name, select)| View { name: name.into(), select: self.placed(select) }).into()
    }

    /// Tables in a view have the prefix `main.`.
    fn placed(&self, select: String) -> String {
        match self {
            Store::Sqlite(_) => select,
            Store::Postgres { schema, .. } => {
                select.replace(" main.", &format!(" \"{}\".", schema.replace('"', "\"\"")))
            }
        }
    }

    /// An expression that formats a column of milliseconds as `yyyy-MM-dd HH:mm:ss`; NULL stays NULL.
    fn shown(&self, column: &str) -> String {
        match self {
            Store::Sqlite(offsets) => offsets.shown(column),
            Store::Postgres { zone, .. } => format!(
                "to_char(to_timestamp({column} / 1000) AT TIME ZONE '{}', 'YYYY-MM-DD HH24:MI:SS')",
                zone.name()
            ),
        }
    }

    /// A text within a JSON column.
    fn member(&self, column: &str, name: &str) -> String {
        match self {
            Store::Sqlite(_) => format!("json_extract({column}, '$.{name}')"),
            Store::Postgres { .. } => format!("CAST({column} AS json) ->> '{name}'"),
        }
    }
}

/// The visible data sources.
struct Seen<'d>(Option<&'d [i64]>);

impl Seen<'_> {
    /// A condition on a data source's id. A table without a data source is visible to all.
    fn condition(&self, column: &str) -> String {
        let Some(ids) = self.0 else { return "TRUE".to_owned() };
        let ids: Vec<String> = ids.iter().map(i64::to_string).collect();
        format!("({column} IS NULL OR {column} IN ({}))", ids.join(", "))
    }
}

fn workflows(at: &Store) -> String {
    let (created, updated) = (at.shown("w.created_at"), at.shown("w.updated_at"));
    let description = at.member("w.content", "description");
    format!(
        "SELECT w.id AS id, w.name AS name, {description} AS description, \
         w.scheduler_engine AS engine, w.status AS status, \
         CASE WHEN w.publication <> 'none' THEN w.publication WHEN w.published_version IS NULL THEN 'never' \
         WHEN w.changed_version > w.published_version THEN 'outdated' ELSE 'published' END AS publish_status, \
         w.version AS current_version, w.published_version AS published_version, w.created_by AS created_by, \
         {created} AS created_at, {updated} AS updated_at \
         FROM main.workflows w WHERE w.deleted_at IS NULL"
    )
}

fn publications(at: &Store) -> String {
    let (submitted, decided) = (at.shown("p.submitted_at"), at.shown("p.decided_at"));
    let finished = at.shown("p.deployment_finished_at");
    format!(
        "SELECT p.id AS id, p.workflow_id AS workflow_id, w.name AS workflow_name, p.version AS version, \
         p.status AS status, p.comment AS comment, p.submitted_by AS submitted_by, {submitted} AS submitted_at, \
         p.decided_by AS decided_by, {decided} AS decided_at, p.deployment_state AS deployment_state, \
         CASE WHEN p.deployment_state = 'success' THEN {finished} END AS published_at \
         FROM main.publications p JOIN main.workflows w ON w.id = p.workflow_id"
    )
}

fn tasks(at: &Store) -> String {
    let (created, updated) = (at.shown("t.created_at"), at.shown("t.updated_at"));
    format!(
        "SELECT t.id AS id, t.workflow_id AS workflow_id, w.name AS workflow_name, t.task_name AS name, \
         t.task_type AS type, t.priority AS priority, d.name AS datasource, {created} AS created_at, \
         {updated} AS updated_at FROM main.tasks t LEFT JOIN main.workflows w ON w.id = t.workflow_id \
         LEFT JOIN main.datasources d ON d.id = t.datasource_id"
    )
}

fn executions(at: &Store) -> String {
    let [schedule, start, end, created] =
        ["e.schedule_time", "e.start_time", "e.end_time", "e.created_at"].map(|column| at.shown(column));
    format!(
        "SELECT e.id AS id, e.workflow_id AS workflow_id, e.workflow_name AS workflow_name, e.task_id AS task_id, \
         e.task_name AS task_name, e.status AS status, e.trigger_type AS trigger_type, \
         {schedule} AS schedule_time, e.attempt AS attempt, {start} AS started_at, {end} AS ended_at, \
         CAST(e.duration AS DOUBLE PRECISION) / 1000 AS duration_seconds, e.rows_affected AS rows_affected, {created} AS created_at \
         FROM main.executions e"
    )
}

fn tables(at: &Store, seen: &Seen<'_>) -> String {
    let (created, updated) = (at.shown("t.created_at"), at.shown("t.updated_at"));
    let seen = seen.condition("t.cluster_id");
    format!(
        "SELECT t.id AS id, t.table_name AS name, t.db_name AS \"database\", d.name AS datasource, \
         t.layer AS layer, t.business_domain AS business_domain, t.data_domain AS data_domain, t.owner AS owner, \
         t.status AS status, t.physical AS physical, t.row_count AS row_count, t.data_size AS data_size, \
         {created} AS created_at, {updated} AS updated_at FROM main.tables t \
         LEFT JOIN main.datasources d ON d.id = t.cluster_id WHERE t.status = 'active' AND {seen}"
    )
}

fn lineage(seen: &Seen<'_>) -> String {
    let (source, target) = (seen.condition("s.cluster_id"), seen.condition("t.cluster_id"));
    format!(
        "SELECT s.id AS source_id, s.table_name AS source_name, t.id AS target_id, t.table_name AS target_name, \
         k.id AS task_id, k.task_name AS task_name, k.workflow_id AS workflow_id, w.name AS workflow_name \
         FROM main.task_tables i JOIN main.task_tables o ON o.task_id = i.task_id AND o.direction = 'output' \
         AND o.table_id <> i.table_id JOIN main.tables s ON s.id = i.table_id \
         JOIN main.tables t ON t.id = o.table_id JOIN main.tasks k ON k.id = i.task_id \
         LEFT JOIN main.workflows w ON w.id = k.workflow_id WHERE i.direction = 'input' \
         AND s.status = 'active' AND t.status = 'active' AND {source} AND {target}"
    )
}

fn access(at: &Store, seen: &Seen<'_>) -> String {
    let (when, seen) = (at.shown("q.at"), seen.condition("q.datasource_id"));
    format!(
        "SELECT q.id AS id, q.table_id AS table_id, q.table_name AS table_name, q.access AS access, \
         q.asked_by AS asked_by, q.origin AS origin, {when} AS at FROM main.query_log q WHERE q.table_id IS NOT NULL \
         AND q.outcome = 'success' AND {seen}"
    )
}
