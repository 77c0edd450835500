//! The contents of the views for a planner: in English, and Chinese in brackets.

use super::OwnTable;

type Fields = &'static [(&'static str, &'static str, &'static str)];

pub const TABLES: &[OwnTable] = &[
    OwnTable {
        name: "workflows",
        comment: "Workflows as they are defined now, one row each (工作流)",
        fields: WORKFLOWS,
    },
    OwnTable {
        name: "publications",
        comment: "Publications of workflows: one row each time that a workflow was submitted to be published \
                  (工作流发布记录：每次提交发布一行)",
        fields: PUBLICATIONS,
    },
    OwnTable {
        name: "tasks",
        comment: "Tasks of workflows, one row each (任务，工作流中的节点)",
        fields: TASKS,
    },
    OwnTable {
        name: "executions",
        comment: "Executions: one row each time that a task was run (任务执行记录，运行实例)",
        fields: EXECUTIONS,
    },
    OwnTable {
        name: "tables",
        comment: "Tables of the metadata catalogue, without those in the recycle bin (元数据表，数据表目录)",
        fields: META_TABLES,
    },
    OwnTable {
        name: "lineage",
        comment: "Lineage: a row for each task that makes one table from another (血缘，表与表之间的上下游关系)",
        fields: LINEAGE,
    },
    OwnTable {
        name: "access",
        comment: "Access: a row each time that a query read a table (表访问记录，查询日志)",
        fields: ACCESS,
    },
];

const WORKFLOWS: Fields = &[
    ("id", "INTEGER", "the workflow (工作流编号)"),
    ("name", "TEXT", "its name (工作流名称)"),
    ("description", "TEXT", "what it is for (描述)"),
    ("engine", "TEXT", "the scheduler that runs it (调度引擎)"),
    ("status", "TEXT", "draft, offline or online (状态：草稿 draft、下线 offline、上线 online)"),
    (
        "publish_status",
        "TEXT",
        "never, pending, published, failed or outdated (发布状态：未发布 never、待发布 pending、已发布 published、失败 \
         failed、有未发布的修改 outdated)",
    ),
    ("current_version", "INTEGER", "the version that it is at (当前版本)"),
    ("published_version", "INTEGER", "the version that is published (已发布版本)"),
    ("created_by", "TEXT", "who made it (创建人)"),
    ("created_at", "TEXT", "when it was made (创建时间)"),
    ("updated_at", "TEXT", "when it was changed last (更新时间)"),
];

const PUBLICATIONS: Fields = &[
    ("id", "INTEGER", "the publication (发布编号)"),
    ("workflow_id", "INTEGER", "its workflow, workflows.id (工作流编号)"),
    ("workflow_name", "TEXT", "that workflow's name (工作流名称)"),
    ("version", "INTEGER", "the version that was submitted (版本)"),
    (
        "status",
        "TEXT",
        "PENDING, APPROVED or REJECTED (审批状态：待审批 PENDING、通过 APPROVED、驳回 REJECTED)",
    ),
    ("comment", "TEXT", "what was said with it (发布说明)"),
    ("submitted_by", "TEXT", "who submitted it (提交人)"),
    ("submitted_at", "TEXT", "when it was submitted (提交时间)"),
    ("decided_by", "TEXT", "who approved or rejected it (审批人)"),
    ("decided_at", "TEXT", "when it was approved or rejected (审批时间)"),
    (
        "deployment_state",
        "TEXT",
        "pending, success or failed (部署状态：进行中 pending、成功 success、失败 failed)",
    ),
    (
        "published_at",
        "TEXT",
        "when it was deployed, that is published; empty where that has not happened (发布时间)",
    ),
];

const TASKS: Fields = &[
    ("id", "INTEGER", "the task (任务编号)"),
    ("workflow_id", "INTEGER", "its workflow, workflows.id (工作流编号)"),
    ("workflow_name", "TEXT", "that workflow's name (工作流名称)"),
    ("name", "TEXT", "its name (任务名称)"),
    ("type", "TEXT", "what kind of task it is, such as SQL (任务类型)"),
    ("priority", "TEXT", "its priority (优先级)"),
    ("datasource", "TEXT", "the data source that it runs on (数据源)"),
    ("created_at", "TEXT", "when it was made (创建时间)"),
    ("updated_at", "TEXT", "when it was changed last (更新时间)"),
];

const EXECUTIONS: Fields = &[
    ("id", "INTEGER", "the execution (执行编号)"),
    ("workflow_id", "INTEGER", "its workflow, workflows.id (工作流编号)"),
    ("workflow_name", "TEXT", "that workflow's name (工作流名称)"),
    ("task_id", "INTEGER", "its task, tasks.id (任务编号)"),
    ("task_name", "TEXT", "that task's name (任务名称)"),
    (
        "status",
        "TEXT",
        "pending, running, success, failed, killed or paused (执行状态：等待 pending、运行中 running、成功 success、失败 \
         failed、终止 killed、暂停 paused)",
    ),
    (
        "trigger_type",
        "TEXT",
        "manual, schedule or backfill (触发方式：手动 manual、定时 schedule、补数 backfill)",
    ),
    ("schedule_time", "TEXT", "the time that it was scheduled for (计划时间)"),
    ("attempt", "INTEGER", "how many tries it took (尝试次数)"),
    ("started_at", "TEXT", "when it began (开始时间)"),
    ("ended_at", "TEXT", "when it ended (结束时间)"),
    ("duration_seconds", "REAL", "how long it took, in seconds (耗时，秒)"),
    ("rows_affected", "INTEGER", "how many rows it changed (影响行数)"),
    ("created_at", "TEXT", "when it was first seen (记录时间)"),
];

const META_TABLES: Fields = &[
    ("id", "INTEGER", "the table (表编号)"),
    ("name", "TEXT", "its name (表名)"),
    ("database", "TEXT", "the database that it lies in (库名)"),
    ("datasource", "TEXT", "its data source (数据源)"),
    ("layer", "TEXT", "the data layer: ODS, DWD, DWS, ADS (数据分层)"),
    ("business_domain", "TEXT", "the business domain (业务域)"),
    ("data_domain", "TEXT", "the data domain (数据域)"),
    ("owner", "TEXT", "who answers for it (负责人)"),
    ("status", "TEXT", "active (状态)"),
    ("physical", "INTEGER", "1: it exists in its database; 0: it is only designed (是否已建表)"),
    ("row_count", "INTEGER", "rows when last counted (行数)"),
    ("data_size", "INTEGER", "size of its data in bytes (数据大小，字节)"),
    ("created_at", "TEXT", "when it came into the catalogue (创建时间)"),
    ("updated_at", "TEXT", "when it was changed last (更新时间)"),
];

const LINEAGE: Fields = &[
    ("source_id", "INTEGER", "the table that data comes from, tables.id (上游表编号)"),
    ("source_name", "TEXT", "that table's name (上游表)"),
    ("target_id", "INTEGER", "the table that is made from it, tables.id (下游表编号)"),
    ("target_name", "TEXT", "that table's name (下游表)"),
    ("task_id", "INTEGER", "the task that makes it, tasks.id (任务编号)"),
    ("task_name", "TEXT", "that task's name (任务名称)"),
    ("workflow_id", "INTEGER", "the task's workflow, workflows.id (工作流编号)"),
    ("workflow_name", "TEXT", "that workflow's name (工作流名称)"),
];

const ACCESS: Fields = &[
    ("id", "INTEGER", "the entry (记录编号)"),
    ("table_id", "INTEGER", "the table that was read or written, tables.id (表编号)"),
    ("table_name", "TEXT", "that table's name (表名)"),
    ("access", "TEXT", "read or written (读或写)"),
    ("asked_by", "TEXT", "who asked (访问人，用户)"),
    ("origin", "TEXT", "what asked for it, such as agent (来源)"),
    ("at", "TEXT", "when that was (访问时间)"),
];
