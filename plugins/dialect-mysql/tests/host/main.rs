//! Plans and reads from the host's view: every statement is written, read back and judged by the host's own
//! crate.

mod plans;
mod reads;

use lakeport_sdk::dialect::{
    AlterField, Change, DefaultValue, DropField, DropTable, Field, ServerInfo, Table, TableName,
};
use lakeport_sql::{Profile, check_plan};

use dialect_mysql::{describe, plan, server::Server};

pub fn profile() -> Profile {
    Profile::new(&lakeport_carry::info(describe::describe()))
        .unwrap_or_else(|problems| panic!("{problems:?}"))
}

pub fn server_of(product: &str, version: &str, mode: &str) -> Server {
    let facts = format!(
        r#"{{"sqlMode":"STRICT_ALL_TABLES,{mode}","explicitDefaultsForTimestamp":true,"lowerCaseTableNames":0}}"#
    );
    Server::of(&ServerInfo { product: product.to_owned(), version: version.to_owned(), facts })
}

pub fn mysql() -> Server {
    server_of("MySQL", "8.4.0", "")
}

pub fn mariadb() -> Server {
    server_of("MariaDB", "10.11.19-MariaDB", "")
}

pub fn field(name: &str, type_text: &str) -> Field {
    Field::new(name, type_text)
}

pub fn text(value: &str) -> DefaultValue {
    DefaultValue::Text(value.to_owned())
}

/// `orders (id BIGINT key, note VARCHAR(20), total DECIMAL(10,2), changed DATETIME(3))`, as it was read.
pub fn orders() -> Table {
    Table {
        comment: "what was ordered".to_owned(),
        extra: Some(r#"{"collation":"utf8mb4_bin","engine":"InnoDB"}"#.to_owned()),
        ..Table::new(
            TableName::new("shop", "orders"),
            vec![
                Field {
                    nullable: false,
                    key: true,
                    extra: Some(r#"{"autoIncrement":true}"#.to_owned()),
                    ..field("id", "bigint(20)")
                },
                Field {
                    defaults_to: text("it's"),
                    comment: "a note".to_owned(),
                    extra: Some(
                        r#"{"characterSet":"latin1","collation":"latin1_bin","invisible":true}"#.to_owned(),
                    ),
                    ..field("note", "varchar(20)")
                },
                field("total", "decimal(10,2)"),
                Field {
                    defaults_to: DefaultValue::Now(3),
                    extra: Some(r#"{"onUpdate":true}"#.to_owned()),
                    ..field("changed", "datetime(3)")
                },
                Field { generated: Some("(`total` * 2)".to_owned()), ..field("twice", "decimal(11,2)") },
            ],
        )
    }
}

pub fn alter(table: Table, name: &str, change: impl FnOnce(&mut Field)) -> Change {
    let before = table.fields.iter().find(|field| field.name == name).expect("the table has it").clone();
    let mut after = before.clone();
    change(&mut after);
    Change::AlterField(AlterField { current: table, before, after })
}

pub fn drop_field(table: Table, name: &str) -> Change {
    Change::DropField(DropField { current: table, field: name.to_owned() })
}

pub fn drop_table(current: Table) -> Change {
    Change::DropTable(DropTable { current, at_once: false })
}

/// A plan as the host would write it.
pub struct Written {
    pub statements: Vec<String>,
    pub undo: Vec<String>,
    pub notes: Vec<String>,
    pub destroys: bool,
    pub costs: Vec<String>,
}

pub fn written(server: &Server, change: &Change) -> Written {
    let planned = plan::plan(server, change).unwrap_or_else(|problems| panic!("{problems:?}"));
    let checked = check_plan(
        &profile(),
        &lakeport_carry::change(change.clone()),
        &lakeport_carry::plan(planned.clone()),
    )
    .unwrap_or_else(|refused| panic!("{refused}"));
    assert!(!checked.transactional && checked.steps.len() <= 1);
    Written {
        statements: checked.steps.iter().map(|step| step.action.sql.to_string()).collect(),
        undo: checked.steps.iter().flat_map(|step| step.undo.iter().map(|one| one.sql.to_string())).collect(),
        notes: planned.notes.iter().map(|note| note.member.clone()).collect(),
        destroys: checked.steps.iter().any(|step| step.destroys),
        costs: checked.steps.iter().map(|step| step.cost.clone()).collect(),
    }
}

/// Members and codes of the problems.
pub fn refused(server: &Server, change: Change) -> Vec<(String, String)> {
    let problems = plan::plan(server, &change).expect_err("the change is impossible");
    for problem in &problems {
        assert!(problem.message.len() > 15, "{problem:?}");
    }
    problems.into_iter().map(|problem| (problem.member, problem.code)).collect()
}

pub fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(member, code)| ((*member).to_owned(), (*code).to_owned())).collect()
}
