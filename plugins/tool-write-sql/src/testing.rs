//! Schemas of the tests.

use crate::schema::{Field, Place, Reference, Schema, Table};

/// A table from `name: comment` and lines of `name TYPE comment [value, value]`; a `*` marks the key.
fn table(head: &str, fields: &[&str]) -> Table {
    let (name, comment) = head.split_once(": ").unwrap_or((head, ""));
    Table {
        database: None,
        name: name.to_owned(),
        comment: comment.to_owned(),
        fields: fields.iter().map(|line| field(line)).collect(),
        tags: Vec::new(),
    }
}

fn field(line: &str) -> Field {
    let (line, values) = match line.split_once(" [") {
        Some((line, values)) => (line, values.trim_end_matches(']').split(", ").map(str::to_owned).collect()),
        None => (line, Vec::new()),
    };
    let mut parts = line.splitn(3, ' ');
    let name = parts.next().unwrap_or_default();
    Field {
        name: name.trim_start_matches('*').to_owned(),
        key: name.starts_with('*'),
        type_text: parts.next().unwrap_or_default().to_owned(),
        comment: parts.next().unwrap_or_default().to_owned(),
        values,
    }
}

/// A company that sells products.
pub fn shop() -> Schema {
    let tables = vec![
        table(
            "customers: people who buy (客户)",
            &[
                "*id INTEGER",
                "name TEXT the customer's name (客户姓名) [Alice, 王伟]",
                "city TEXT where they live (城市) [北京, 上海, Springfield]",
                "created_at TEXT when they signed up (注册时间) [2026-01-02 10:00:00]",
            ],
        ),
        table(
            "orders: what was bought (订单)",
            &[
                "*id INTEGER",
                "customer_id INTEGER who ordered (客户编号)",
                "status TEXT state of the order (状态) [paid, shipped, cancelled]",
                "amount REAL value of the order (金额)",
                "ordered_at TEXT when it was ordered (下单时间) [2026-07-01 10:00:00]",
            ],
        ),
        table(
            "order_items: lines of an order (订单明细)",
            &["*id INTEGER", "order_id INTEGER", "product_id INTEGER", "quantity INTEGER pieces (数量)"],
        ),
        table(
            "products: things for sale (商品)",
            &[
                "*id INTEGER",
                "name TEXT (商品名称) [Lamp, Chair]",
                "category TEXT kind of product (类别) [Home, Garden]",
                "price REAL price of a piece (价格)",
            ],
        ),
    ];
    Schema { datasource: "shop".to_owned(), tables, ..Schema::default() }
}

/// Sales whose fields refer to others by declared keys of unconventional names.
pub fn market() -> Schema {
    let tables = vec![
        table(
            "client: who buys",
            &[
                "*no INTEGER number of the client",
                "name TEXT [Alice, Bob]",
                "town TEXT where they live [Rome, Oslo]",
            ],
        ),
        table(
            "sale: what was sold",
            &[
                "*nr INTEGER number of the sale",
                "buyer INTEGER who bought",
                "article INTEGER what was bought",
                "amount REAL value of the sale",
            ],
        ),
        table(
            "ware: things for sale",
            &["*code INTEGER", "title TEXT [Lamp, Chair]", "kind TEXT [Home, Garden]"],
        ),
    ];
    let mut schema = Schema { datasource: "market".to_owned(), tables, ..Schema::default() };
    refer(&mut schema, "sale.buyer", "client.no");
    refer(&mut schema, "sale.article", "ware.code");
    schema
}

/// Declares a foreign key; fields as `table.field`.
pub fn refer(schema: &mut Schema, field: &str, key: &str) {
    let place = |name: &str| {
        let (owner, field) = name.split_once('.').unwrap();
        let table = schema.tables.iter().position(|table| table.name == owner).unwrap();
        let field = schema.tables[table].fields.iter().position(|known| known.name == field).unwrap();
        Place { table, field }
    };
    let reference = Reference { field: place(field), key: Some(place(key)) };
    schema.references.push(reference);
}

/// The platform's own tables, as the host describes them.
pub fn platform() -> Schema {
    let tables = vec![
        table(
            "workflows: Workflows as they are defined now, one row each (工作流)",
            &[
                "id INTEGER the workflow (工作流编号)",
                "name TEXT its name (工作流名称)",
                "description TEXT what it is for (描述)",
                "engine TEXT the scheduler that runs it (调度引擎)",
                "status TEXT draft, offline or online (状态：草稿 draft、下线 offline、上线 online)",
                "publish_status TEXT never, pending, published, failed or outdated (发布状态：未发布 never、待发布 pending、已发布 published、失败 failed、有未发布的修改 outdated)",
                "current_version INTEGER the version that it is at (当前版本)",
                "published_version INTEGER the version that is published (已发布版本)",
                "created_by TEXT who made it (创建人)",
                "created_at TEXT when it was made (创建时间)",
                "updated_at TEXT when it was changed last (更新时间)",
            ],
        ),
        table(
            "publications: Publications of workflows: one row each time that a workflow was submitted to be published (工作流发布记录：每次提交发布一行)",
            &[
                "id INTEGER the publication (发布编号)",
                "workflow_id INTEGER its workflow, workflows.id (工作流编号)",
                "workflow_name TEXT that workflow's name (工作流名称)",
                "version INTEGER the version that was submitted (版本)",
                "status TEXT PENDING, APPROVED or REJECTED (审批状态：待审批 PENDING、通过 APPROVED、驳回 REJECTED)",
                "comment TEXT what was said with it (发布说明)",
                "submitted_by TEXT who submitted it (提交人)",
                "submitted_at TEXT when it was submitted (提交时间)",
                "decided_by TEXT who approved or rejected it (审批人)",
                "decided_at TEXT when it was approved or rejected (审批时间)",
                "deployment_state TEXT pending, success or failed (部署状态：进行中 pending、成功 success、失败 failed)",
                "published_at TEXT when it was deployed, that is published; empty where that has not happened (发布时间)",
            ],
        ),
        table(
            "tasks: Tasks of workflows, one row each (任务，工作流中的节点)",
            &[
                "id INTEGER the task (任务编号)",
                "workflow_id INTEGER its workflow, workflows.id (工作流编号)",
                "workflow_name TEXT that workflow's name (工作流名称)",
                "name TEXT its name (任务名称)",
                "type TEXT what kind of task it is, such as SQL (任务类型)",
                "priority TEXT its priority (优先级)",
                "datasource TEXT the data source that it runs on (数据源)",
                "created_at TEXT when it was made (创建时间)",
                "updated_at TEXT when it was changed last (更新时间)",
            ],
        ),
        table(
            "executions: Executions: one row each time that a task was run (任务执行记录，运行实例)",
            &[
                "id INTEGER the execution (执行编号)",
                "workflow_id INTEGER its workflow, workflows.id (工作流编号)",
                "workflow_name TEXT that workflow's name (工作流名称)",
                "task_id INTEGER its task, tasks.id (任务编号)",
                "task_name TEXT that task's name (任务名称)",
                "status TEXT pending, running, success, failed, killed or paused (执行状态：等待 pending、运行中 running、成功 success、失败 failed、终止 killed、暂停 paused)",
                "trigger_type TEXT manual, schedule or backfill (触发方式：手动 manual、定时 schedule、补数 backfill)",
                "schedule_time TEXT the time that it was scheduled for (计划时间)",
                "attempt INTEGER how many tries it took (尝试次数)",
                "started_at TEXT when it began (开始时间)",
                "ended_at TEXT when it ended (结束时间)",
                "duration_seconds REAL how long it took, in seconds (耗时，秒)",
                "rows_affected INTEGER how many rows it changed (影响行数)",
                "created_at TEXT when it was first seen (记录时间)",
            ],
        ),
        table(
            "tables: Tables of the metadata catalogue, without those in the recycle bin (元数据表，数据表目录)",
            &[
                "id INTEGER the table (表编号)",
                "name TEXT its name (表名)",
                "database TEXT the database that it lies in (库名)",
                "datasource TEXT its data source (数据源)",
                "layer TEXT the data layer: ODS, DWD, DWS, ADS (数据分层)",
                "business_domain TEXT the business domain (业务域)",
                "data_domain TEXT the data domain (数据域)",
                "owner TEXT who answers for it (负责人)",
                "status TEXT active (状态)",
                "physical INTEGER 1: it exists in its database; 0: it is only designed (是否已建表)",
                "row_count INTEGER rows when last counted (行数)",
                "data_size INTEGER size of its data in bytes (数据大小，字节)",
                "created_at TEXT when it came into the catalogue (创建时间)",
                "updated_at TEXT when it was changed last (更新时间)",
            ],
        ),
        table(
            "lineage: Lineage: a row for each task that makes one table from another (血缘，表与表之间的上下游关系)",
            &[
                "source_id INTEGER the table that data comes from, tables.id (上游表编号)",
                "source_name TEXT that table's name (上游表)",
                "target_id INTEGER the table that is made from it, tables.id (下游表编号)",
                "target_name TEXT that table's name (下游表)",
                "task_id INTEGER the task that makes it, tasks.id (任务编号)",
                "task_name TEXT that task's name (任务名称)",
                "workflow_id INTEGER the task's workflow, workflows.id (工作流编号)",
                "workflow_name TEXT that workflow's name (工作流名称)",
            ],
        ),
        table(
            "access: Access: a row each time that a query read a table (表访问记录，查询日志)",
            &[
                "id INTEGER the entry (记录编号)",
                "table_id INTEGER the table that was read, tables.id (表编号)",
                "table_name TEXT that table's name (表名)",
                "asked_by TEXT who asked (访问人，用户)",
                "origin TEXT what asked for it, such as agent (来源)",
                "at TEXT when it was read (访问时间)",
            ],
        ),
    ];
    Schema { datasource: "lakeport".to_owned(), tables, ..Schema::default() }
}

/// A company and its warehouse: several tables have fields of the same name.
pub fn company() -> Schema {
    let tables = vec![
        table(
            "ods_customers: customers (客户)",
            &[
                "*customer_id INTEGER number of the customer (客户编号)",
                "customer_name TEXT name of the customer (客户姓名) [李伟, 王芳]",
                "city TEXT city where the customer lives (城市) [Beijing, Shanghai, Wuhan]",
                "member_level TEXT member level of the customer (会员等级): basic|silver|gold",
                "registered_at TEXT when the customer registered (注册时间) [2026-01-02 10:00:00]",
            ],
        ),
        table(
            "ods_products: products (商品)",
            &[
                "*product_id INTEGER number of the product (商品编号)",
                "product_name TEXT name of the product (商品名称) [Longjing]",
                "category TEXT category of the product (类别) [green tea, snacks]",
                "price REAL price of one piece (单价)",
            ],
        ),
        table(
            "ods_orders: orders (订单)",
            &[
                "*order_id INTEGER number of the order (订单编号)",
                "customer_id INTEGER the customer who ordered (客户编号)",
                "order_status TEXT status of the order (订单状态): paid|shipped|cancelled|refunded",
                "channel TEXT where it was ordered (渠道): app|web|store",
                "order_amount REAL amount of the order (订单金额)",
                "ordered_at TEXT when it was ordered (下单时间) [2026-07-01 10:00:00]",
            ],
        ),
        table(
            "dwd_order_details: sales: the items of orders that were paid (销售明细)",
            &[
                "*order_item_id INTEGER number of the item (明细编号)",
                "order_id INTEGER the order (订单编号)",
                "product_id INTEGER the product that was sold (商品编号)",
                "order_date TEXT day of the order (下单日期) [2026-07-01]",
                "sales_amount REAL sales amount: pieces by price (销售额)",
            ],
        ),
        table(
            "dws_customer_sales: what each customer bought, by month (客户月汇总)",
            &[
                "*customer_id INTEGER the customer (客户编号)",
                "*sales_month TEXT month (月份) [2026-06]",
                "order_count INTEGER orders of that month (订单数)",
                "revenue REAL revenue (营收)",
            ],
        ),
        table(
            "ads_city_sales: report of the cities, by month (城市月报)",
            &[
                "*sales_month TEXT month (月份) [2026-06]",
                "*city TEXT city of the buyers (所在城市) [Beijing, Shanghai]",
                "buyers INTEGER customers who bought (购买人数)",
                "order_count INTEGER their orders (订单数)",
                "revenue REAL revenue (营收)",
            ],
        ),
    ];
    Schema { datasource: "company".to_owned(), tables, ..Schema::default() }
}

/// Houses of students, with abbreviated names and without comments.
pub fn campus() -> Schema {
    let tables = vec![
        table(
            "bldg",
            &[
                "*bldg_no INTEGER",
                "bldg_nm TEXT [Linden Court, Oak House]",
                "campus_zone TEXT [North, South]",
                "warden_name TEXT [Ines Valdez, Tom Grady]",
                "yr_built INTEGER",
                "has_lift INTEGER",
            ],
        ),
        table("rm", &["*rm_id INTEGER", "bldg_no INTEGER", "beds INTEGER", "rent_eur REAL", "Size_M2 REAL"]),
        table(
            "resdt",
            &[
                "*resdt_id INTEGER",
                "rm_id INTEGER",
                "fname TEXT [Ann, Ben]",
                "lname TEXT [Fox, Mcgill]",
                "dept TEXT [Chemistry, History]",
                "degree TEXT [Bachelor, Master]",
                "birth_yr INTEGER",
            ],
        ),
        table(
            "Maint_Repair",
            &[
                "*rep_id INTEGER",
                "bldg_no INTEGER",
                "Fault_Type TEXT [Plumbing, Heating]",
                "Dur_Min INTEGER",
                "cost REAL",
                "done_dt TEXT [2026-05-01]",
            ],
        ),
    ];
    Schema { tables, ..Schema::default() }
}
