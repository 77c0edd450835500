//! Creating a table.
//!
//! The servers' implicit choices depend on version and settings. So the statement makes all of them explicit,
//! and the notes name those made for the user.

use lakeport_sdk::dialect::{Action, ChangePlan, Field, Problem, Statement, Step, Table};

use super::problems::{Checks, Problems, adjusted, same_name};
use super::shape::{self, Column};
use super::steps;
use crate::describe::MODELS;
use crate::server::{Product, Server};
use crate::texts::{Clause, LITERAL, comment_rule};
use crate::types::{Plain, Type};

/// The first version in which StarRocks creates partitions from an expression automatically.
const STARROCKS_AUTO_PARTITION: (u32, u32, u32) = (3, 1, 0);
/// The first version of Doris that does so.
const DORIS_AUTO_PARTITION: (u32, u32, u32) = (2, 1, 0);

/// Plans a new table.
pub fn plan(server: &Server, table: &Table) -> Result<ChangePlan, Vec<Problem>> {
    let mut problems = Problems::default();
    problems.only_tables(table);
    problems.table_name(server, &table.name.name);
    let columns = columns(server, table, &mut problems);
    let comment = comment_rule(server, Clause::NewTable, &table.comment);
    if let Err(message) = &comment {
        problems.not_representable("tableComment", message.clone());
    }
    let mut notes = Vec::new();
    let model = model(server, table, &mut problems);
    let keys = keys(server, table, model, &mut problems, &mut notes);
    let distribution = distribution(server, table, model, &keys, &mut problems, &mut notes);
    let partition = partition(server, table, model, &keys, &mut problems);
    if table.buckets == Some(0) {
        problems.add("bucketNum", "invalid_value", "a table has one bucket or more");
    }
    if table.replicas == Some(0) {
        problems.add("replicaNum", "invalid_value", "a table has one copy or more");
    }
    problems.check()?;
    let mut statement = Statement::new()
        .words("CREATE TABLE")
        .name([&table.name.database, &table.name.name])
        .in_parentheses(in_order(&columns, table, &keys), |statement, column| column.write(statement))
        .words("ENGINE")
        .symbol("=")
        .words("OLAP")
        .words(format!("{model} KEY"))
        .in_parentheses(&keys, |statement, key| statement.name([key]));
    if let (Ok(rule), false) = (comment, table.comment.is_empty()) {
        statement = statement.words("COMMENT").text(rule, &table.comment);
    }
    statement = distribution.write(partition.write(statement, server), server, table.buckets);
    if let Some(replicas) = table.replicas.or(server.replicas) {
        statement = statement
            .words("PROPERTIES")
            .symbol("(")
            .text(LITERAL, "replication_num")
            .symbol("=")
            .text(LITERAL, replicas.to_string())
            .symbol(")");
    }
    let step = Step {
        undo: vec![Action::new(
            Statement::new().words("DROP TABLE").name([&table.name.database, &table.name.name]),
        )],
        undo_complete: true,
        locks: "none".to_owned(),
        ..Step::new(format!("makes the table {}", table.name.name), statement)
    };
    Ok(steps(vec![step], notes))
}

fn columns(server: &Server, table: &Table, problems: &mut Problems) -> Vec<Column> {
    let mut columns = Vec::new();
    for (index, field) in table.fields.iter().enumerate() {
        let prefix = format!("fields[{index}].");
        let member = format!("{prefix}fieldName");
        problems.field_name(server, &member, &field.name);
        columns.extend(Column::of(server, Clause::NewField, field, &prefix, problems));
        shape::default_fits(server, field, &prefix, problems);
        if table.fields[..index].iter().any(|other| same_name(&other.name, &field.name)) {
            let message =
                format!("there are two fields {:?}; the case of letters does not count", field.name);
            problems.add(member, "conflict", message);
        }
    }
    if table.fields.is_empty() {
        problems.add("fields", "missing", "there are no tables without fields");
    }
    columns
}

/// The key's fields first, in its order: the servers accept a key only so.
fn in_order<'a>(columns: &'a [Column], table: &'a Table, keys: &'a [String]) -> Vec<&'a Column> {
    let place = |name: &String| keys.iter().position(|key| key == name).unwrap_or(keys.len());
    let mut order: Vec<usize> = (0..columns.len()).collect();
    order.sort_by_key(|index| place(&table.fields[*index].name));
    order.into_iter().map(|index| &columns[index]).collect()
}

fn model(server: &Server, table: &Table, problems: &mut Problems) -> &'static str {
    let wanted = table.model.as_deref().unwrap_or(MODELS[0]).to_ascii_uppercase();
    let wanted = wanted.split([' ', '_']).next().unwrap_or_default();
    match (MODELS.into_iter().find(|model| *model == wanted), server.product) {
        (Some("AGGREGATE"), _) => {
            let message =
                "a table that aggregates needs to know how each field does, which cannot be said here";
            problems.unsupported("tableModel", message);
        }
        (Some("PRIMARY"), Product::Doris) => {
            problems.unsupported(
                "tableModel",
                "Doris has no PRIMARY model; UNIQUE is the one with one row a key",
            );
        }
        (Some(model), _) => return model,
        (None, _) => {
            let message = format!("{:?} is none of DUPLICATE, UNIQUE and PRIMARY (StarRocks)", table.model);
            problems.add("tableModel", "invalid_value", message);
        }
    }
    MODELS[0]
}

fn keys(
    server: &Server,
    table: &Table,
    model: &str,
    problems: &mut Problems,
    notes: &mut Vec<Problem>,
) -> Vec<String> {
    let mut keys = table.keys.clone();
    if keys.is_empty() && model == "DUPLICATE" {
        // By default the servers sort by the first fields; how many depends on their types.
        keys.extend(table.fields.first().map(|field| field.name.clone()));
        let message = "rows need an order to be kept in; without a key the first field is it";
        notes.push(adjusted("keyColumns", message));
    } else if keys.is_empty() {
        problems.add("keyColumns", "missing", format!("a table of the model {model} needs a key"));
    }
    for (index, key) in keys.iter().enumerate() {
        let Some(field) = table.fields.iter().find(|field| field.name == *key) else {
            problems.add("keyColumns", "invalid_value", format!("the key names {key:?}, which is no field"));
            continue;
        };
        if keys[..index].contains(key) {
            problems.add("keyColumns", "conflict", format!("the key names {key:?} twice"));
        }
        if type_of(server, field).is_some_and(|of| !of.is_for_keys()) {
            problems.add("keyColumns", "invalid_value", cannot(server, field, "belong to a key"));
        }
        if model == "PRIMARY" && field.nullable {
            let message = format!("{key} belongs to a primary key and cannot be NULL");
            problems.add("keyColumns", "invalid_value", message);
        }
    }
    let given: Vec<&String> = table.fields.iter().map(|field| &field.name).take(keys.len()).collect();
    if !keys.iter().eq(given) {
        notes.push(adjusted("fields", "the fields of the key come first, in the key's order"));
    }
    keys
}

fn type_of(server: &Server, field: &Field) -> Option<Type> {
    shape::typed(server.product, field, "", &mut Problems::default())
}

fn cannot(server: &Server, field: &Field, what: &str) -> String {
    format!("{} is {}, which cannot {what} in {}", field.name, field.type_text, server.product.short())
}

/// The distribution of rows.
enum Distribution {
    Hash(Vec<String>),
    Random,
}

impl Distribution {
    fn write(&self, statement: Statement, server: &Server, buckets: Option<u32>) -> Statement {
        let statement = match self {
            Distribution::Random => statement.words("DISTRIBUTED BY RANDOM"),
            Distribution::Hash(fields) => statement
                .words("DISTRIBUTED BY HASH")
                .in_parentheses(fields, |statement, field| statement.name([field])),
        };
        match (buckets, server.product) {
            (Some(count), _) => statement.words("BUCKETS").number(count),
            (None, Product::Doris) => statement.words("BUCKETS AUTO"),
            // StarRocks chooses by default.
            (None, Product::StarRocks) => statement,
        }
    }
}

fn distribution(
    server: &Server,
    table: &Table,
    model: &str,
    keys: &[String],
    problems: &mut Problems,
    notes: &mut Vec<Problem>,
) -> Distribution {
    if table.distribution.is_empty() {
        return match (model, keys.first()) {
            ("DUPLICATE", _) | (_, None) => Distribution::Random,
            (_, Some(first)) => {
                let message = format!("rows of this model are spread by their key; {first} was taken");
                notes.push(adjusted("distributionColumn", message));
                Distribution::Hash(vec![first.clone()])
            }
        };
    }
    for name in &table.distribution {
        let Some(field) = table.fields.iter().find(|field| field.name == *name) else {
            let message = format!("the distribution names {name:?}, which is no field");
            problems.add("distributionColumn", "invalid_value", message);
            continue;
        };
        if type_of(server, field).is_some_and(|of| !of.is_for_keys()) {
            problems.add("distributionColumn", "invalid_value", cannot(server, field, "spread the rows"));
        }
        if model != "DUPLICATE" && !keys.contains(name) {
            let message =
                format!("{name} does not belong to the key, by which rows of this model are spread");
            problems.add("distributionColumn", "invalid_value", message);
        }
    }
    Distribution::Hash(table.distribution.clone())
}

/// The partitioning of the table. The server itself always creates the partitions: a range without any would
/// refuse all rows.
enum Partition {
    None,
    ByTime(String),
    ByValue(String),
}

impl Partition {
    fn write(&self, statement: Statement, server: &Server) -> Statement {
        let truncated = |statement: Statement, field: &str, unit_first: bool| {
            let unit = server.partition_unit.name();
            let open = statement.words("DATE_TRUNC").symbol("(");
            let inside = if unit_first {
                open.text(LITERAL, unit).symbol(",").name([field])
            } else {
                open.name([field]).symbol(",").text(LITERAL, unit)
            };
            inside.symbol(")")
        };
        match (self, server.product) {
            (Partition::None, _) => statement,
            (Partition::ByTime(field), Product::Doris) => {
                truncated(statement.words("AUTO PARTITION BY RANGE").symbol("("), field, false)
                    .symbol(")")
                    .symbol("(")
                    .symbol(")")
            }
            (Partition::ByValue(field), Product::Doris) => statement
                .words("AUTO PARTITION BY LIST")
                .in_parentheses([field], |statement, field| statement.name([field]))
                .symbol("(")
                .symbol(")"),
            (Partition::ByTime(field), Product::StarRocks) => {
                truncated(statement.words("PARTITION BY"), field, true)
            }
            (Partition::ByValue(field), Product::StarRocks) => statement
                .words("PARTITION BY")
                .in_parentheses([field], |statement, field| statement.name([field])),
        }
    }
}

fn partition(
    server: &Server,
    table: &Table,
    model: &str,
    keys: &[String],
    problems: &mut Problems,
) -> Partition {
    let [name] = table.partition.as_slice() else {
        if !table.partition.is_empty() {
            problems.unsupported("partitionColumn", "a table is parted by one field here, not by several");
        }
        return Partition::None;
    };
    let mut refuse = |message: String| problems.add("partitionColumn", "invalid_value", message);
    let Some(field) = table.fields.iter().find(|field| field.name == *name) else {
        refuse(format!("the partition names {name:?}, which is no field"));
        return Partition::None;
    };
    if model != "DUPLICATE" && !keys.contains(name) {
        refuse(format!("{name} does not belong to the key, as it must in this model"));
    } else if table.fields.len() == 1 {
        refuse(format!("{name} is the only field; a table needs others besides those that part it"));
    } else if field.nullable {
        refuse(format!("{name} can be NULL, for which there would be no partition"));
    }
    let least = match server.product {
        Product::Doris => DORIS_AUTO_PARTITION,
        Product::StarRocks => STARROCKS_AUTO_PARTITION,
    };
    if !server.is_at_least(least) {
        let message =
            format!("{} does not make partitions by itself; {}.{} does", server.shown(), least.0, least.1);
        problems.unsupported("partitionColumn", message);
    }
    match type_of(server, field).and_then(|of| of.plain()) {
        Some(Plain::Date | Plain::DateTime) => Partition::ByTime(name.clone()),
        Some(plain) if plain.is_integer() && plain != Plain::LargeInt => Partition::ByValue(name.clone()),
        Some(Plain::Char | Plain::VarChar) => Partition::ByValue(name.clone()),
        Some(_) => {
            problems.add("partitionColumn", "invalid_value", cannot(server, field, "part a table"));
            Partition::None
        }
        // Other code refuses the type itself, or it is a nested one.
        None => {
            problems.add("partitionColumn", "invalid_value", cannot(server, field, "part a table"));
            Partition::None
        }
    }
}
