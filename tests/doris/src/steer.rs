//! The controls for tests: the course of jobs, statements that fail, hang or lose their connection, and the
//! record of all statements.
//!
//! | object | what it does |
//! |---|---|
//! | `{"do":"record"}`, `{"do":"clear"}` | all statements `{connection, sql, outcome, message}`; the outcome is `done` `error` `lost` `prepared` |
//! | `{"do":"jobs","then":"go_on"}`, `"hold"`, `"cancel","message":…` | new jobs go PENDING, WAITING_TXN, RUNNING, FINISHED, one state each time they are looked at; stay; or end CANCELLED |
//! | `{"do":"job","table":"ods.t","state":"RUNNING","message":""}` | brings the open job to a state; without one, puts a job of the past there |
//! | `{"do":"light","changes":"unseen"}`, `"seen"`, `"off"` | light schema changes: no job to be seen, a finished one, a real one |
//! | `{"do":"lose","at":"before","with":"ADD COLUMN"}`, `"after"`, `"middle"` | the next statement with this text loses its connection: nothing done, done without an answer, in the middle of the answer |
//! | `{"do":"slow","ms":60000,"with":…}` | it hangs; `KILL QUERY id` ends it |
//! | `{"do":"fail","with":…,"code":1105,"message":…}` | it is refused |
//! | `{"do":"rows","table":"ods.t","rows":12,"bytes":3400}` | sizes |
//! | `{"do":"say","sql":…}` | runs a statement as another client would, and ends its job; it is not recorded |
//! | `{"do":"property","table":"ods.t","name":…,"value":…}` | the table has a property, as if it had been made with it |
//! | `{"do":"database","name":…}`, `{"do":"backends","count":1}`, `{"do":"unicode","on":true}` | databases, nodes (too many copies are refused), names beyond ASCII |
//! | `{"do":"audit","rows":[{"time":"2026-11-01 08:00:00","user":…}]}` | what the audit log has, each row with all of its columns; a number as `time` is seconds ago |
//! | `{"do":"materialized","table":"ods.t"}` | the table is an asynchronous materialized view |
//! | `{"do":"view","table":"ods.v","sql":"SELECT …"}` | makes a view |
//! | `{"do":"partition","table":"ods.t","of":"2026-11-20"}` | a row of this day arrives, for which the server makes a partition |
//! | `{"do":"committed","table":"ods.t","transactions":1}` | transactions are committed but not visible |
//! | `{"do":"table","table":"ods.t"}`, `{"do":"recycled"}` | a definition as it is kept; what was dropped without FORCE |

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use chrono::{Datelike, Months, NaiveDate};
use serde_json::{Value, json};
use tokio::sync::Notify;

use crate::catalogue::{Catalogue, Column, Table, TableKind};
use crate::ddl::{self, Light};
use crate::lexer::lex;
use crate::query::{self, Context, audit_row};

/// The course of new jobs.
#[derive(Clone, Debug, PartialEq)]
pub enum Jobs {
    /// They advance by one state each time they are shown, to the end.
    GoOn,
    /// They stay in their state until a command advances them.
    Hold,
    /// They advance, and are cancelled in the end with this message.
    Cancel(String),
}

/// When a connection is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lose {
    /// Before the statement takes effect.
    Before,
    /// After it, without an answer.
    After,
    /// In the middle of the answer.
    Middle,
}

/// A trap for the next statement that contains a text.
#[derive(Clone, Debug)]
pub enum Trap {
    Lose(Lose),
    Slow(Duration),
    Fail(u16, String),
}

/// The state that sessions and the control share.
pub struct World {
    pub catalogue: Catalogue,
    pub jobs: Jobs,
    pub light: Light,
    traps: Vec<(String, Trap)>,
    /// Statements in order.
    record: Vec<Value>,
    /// Statements that can be cancelled, by connection.
    pub running: BTreeMap<u32, Arc<Notify>>,
    pub unicode_names: bool,
}

impl World {
    pub fn new(catalogue: Catalogue) -> World {
        World {
            catalogue,
            jobs: Jobs::GoOn,
            light: Light::Unseen,
            traps: Vec::new(),
            record: Vec::new(),
            running: BTreeMap::new(),
            unicode_names: false,
        }
    }

    pub fn write_down(&mut self, connection: u32, sql: &str, outcome: &str, message: &str) {
        self.record
            .push(json!({"connection": connection, "sql": sql, "outcome": outcome, "message": message}));
    }

    /// The executed texts, in order.
    pub fn carried_out(&self) -> Vec<String> {
        let done = self.record.iter().filter(|one| one["outcome"] == "done");
        done.filter_map(|one| one["sql"].as_str().map(str::to_owned)).collect()
    }

    /// Takes the trap for this statement, if there is one.
    pub fn trap(&mut self, sql: &str) -> Option<Trap> {
        let at = self.traps.iter().position(|(text, _)| sql.contains(text.as_str()))?;
        Some(self.traps.remove(at).1)
    }

    /// Executes one control command.
    pub fn control(&mut self, asked: &Value) -> Result<Value, String> {
        let text = |name: &str| asked[name].as_str().map(str::to_owned);
        let needed = |name: &str| text(name).ok_or_else(|| format!("{name} is missing"));
        let number = |name: &str| asked[name].as_u64();
        match asked["do"].as_str().unwrap_or_default() {
            "record" => return Ok(json!(self.record)),
            "clear" => self.record.clear(),
            "jobs" => {
                self.jobs = match needed("then")?.as_str() {
                    "go_on" => Jobs::GoOn,
                    "hold" => Jobs::Hold,
                    "cancel" => Jobs::Cancel(text("message").unwrap_or_else(|| "no reason".to_owned())),
                    other => return Err(format!("{other:?} is not go_on, hold or cancel")),
                };
            }
            "job" => {
                self.one_job(&needed("table")?, &needed("state")?, &text("message").unwrap_or_default())?
            }
            "light" => {
                self.light = match needed("changes")?.as_str() {
                    "unseen" => Light::Unseen,
                    "seen" => Light::Seen,
                    "off" => Light::Off,
                    other => return Err(format!("{other:?} is not unseen, seen or off")),
                };
            }
            "lose" => {
                let lose = match needed("at")?.as_str() {
                    "before" => Lose::Before,
                    "after" => Lose::After,
                    "middle" => Lose::Middle,
                    other => return Err(format!("{other:?} is not before, after or middle")),
                };
                self.traps.push((needed("with")?, Trap::Lose(lose)));
            }
            "slow" => {
                let wait = Duration::from_millis(number("ms").ok_or("ms is missing")?);
                self.traps.push((needed("with")?, Trap::Slow(wait)));
            }
            "fail" => {
                let code = number("code").and_then(|code| u16::try_from(code).ok()).unwrap_or(1105);
                self.traps.push((needed("with")?, Trap::Fail(code, needed("message")?)));
            }
            "rows" => {
                let (database, name) = place(&needed("table")?)?;
                let mut table =
                    self.catalogue.table(&database, &name).map_err(|(_, message)| message)?.clone();
                table.rows = number("rows").unwrap_or(table.rows);
                table.bytes = number("bytes").unwrap_or(table.bytes);
                self.catalogue.put(&database, &name, table);
            }
            "property" => {
                let (database, name) = place(&needed("table")?)?;
                let mut table =
                    self.catalogue.table(&database, &name).map_err(|(_, message)| message)?.clone();
                table.properties.push((needed("name")?, needed("value")?));
                self.catalogue.put(&database, &name, table);
            }
            "say" => {
                let lexemes = lex(&needed("sql")?, true)?;
                let before = self.catalogue.jobs.len();
                let done = ddl::run(&mut self.catalogue, self.light, &lexemes);
                done.ok_or("it changes nothing")?.map_err(|(_, message)| message)?;
                let begun: Vec<u64> = self.catalogue.jobs[before..].iter().map(|job| job.id).collect();
                for id in begun {
                    self.catalogue.settle(id, "FINISHED", "");
                }
            }
            "database" => {
                self.catalogue.databases.entry(needed("name")?).or_default();
            }
            "backends" => {
                let count = number("count").ok_or("count is missing")?;
                self.catalogue.backends = u32::try_from(count).map_err(|_| "too many")?;
            }
            "unicode" => self.unicode_names = asked["on"].as_bool().unwrap_or(true),
            "audit" => {
                let rows = asked["rows"].as_array().ok_or("rows are missing")?.iter();
                let rows = rows.map(|row| audit_row(&self.catalogue, row)).collect::<Result<_, _>>()?;
                self.catalogue.audit = rows;
            }
            "materialized" => {
                let (database, name) = place(&needed("table")?)?;
                let mut table =
                    self.catalogue.table(&database, &name).map_err(|(_, message)| message)?.clone();
                table.kind = TableKind::Materialized;
                self.catalogue.put(&database, &name, table);
            }
            "view" => {
                let (database, name) = place(&needed("table")?)?;
                let table = view(&self.catalogue, needed("sql")?)?;
                self.catalogue.put(&database, &name, table);
            }
            "partition" => {
                let (database, name) = place(&needed("table")?)?;
                let mut table =
                    self.catalogue.table(&database, &name).map_err(|(_, message)| message)?.clone();
                partition(&mut table, &needed("of")?)?;
                self.catalogue.put(&database, &name, table);
            }
            "committed" => {
                let (database, name) = place(&needed("table")?)?;
                let mut table =
                    self.catalogue.table(&database, &name).map_err(|(_, message)| message)?.clone();
                table.committed = number("transactions").ok_or("transactions are missing")?;
                self.catalogue.put(&database, &name, table);
            }
            "table" => {
                let (database, name) = place(&needed("table")?)?;
                return match self.catalogue.table(&database, &name) {
                    Ok(table) => Ok(table.to_json()),
                    Err(_) => Ok(Value::Null),
                };
            }
            "recycled" => {
                let names =
                    self.catalogue.recycled.iter().map(|(database, name, _)| format!("{database}.{name}"));
                return Ok(json!(names.collect::<Vec<_>>()));
            }
            other => return Err(format!("{other:?} is not known here")),
        }
        Ok(json!("done"))
    }

    /// Sets the state of a table's newest open job or, without one, adds a past job.
    fn one_job(&mut self, table: &str, state: &str, message: &str) -> Result<(), String> {
        let (database, name) = place(table)?;
        let open = self.catalogue.open_job(&database, &name).map(|job| job.id);
        match open {
            Some(id) => self.catalogue.settle(id, state, message),
            None => {
                self.catalogue.submit(&database, &name, "COLUMN", state, message, None);
            }
        }
        Ok(())
    }
}

/// A view of a query, with the columns that the query has.
fn view(catalogue: &Catalogue, query: String) -> Result<Table, String> {
    let variable = |_: &str| None;
    let found = query::answer(&Context::new(catalogue, &variable, 0, None), &query, true);
    let columns = found.map_err(|(_, message)| message)?.columns.into_iter().map(|column| Column {
        type_text: column.kind.type_text(),
        name: column.name,
        nullable: true,
        key: false,
        default: None,
        stamped: false,
        comment: String::new(),
    });
    Ok(Table::new(TableKind::View(query), columns.collect(), "DUPLICATE", 0))
}

/// The partition of a day, if it is not there. Only those of a unit of time are emulated.
fn partition(table: &mut Table, day: &str) -> Result<(), String> {
    let day = NaiveDate::parse_from_str(day, "%Y-%m-%d").map_err(|error| format!("{day}: {error}"))?;
    let unit = table.partition.as_ref().and_then(|by| by.unit.as_deref());
    let (first, months) = match unit {
        Some("day") => (Some(day), 0),
        Some("month") => (day.with_day(1), 1),
        Some("year") => (day.with_day(1).and_then(|day| day.with_month(1)), 12),
        other => return Err(format!("partitions by {other:?} are not emulated")),
    };
    let next = |first: NaiveDate| match months {
        0 => first.succ_opt(),
        months => first.checked_add_months(Months::new(months)),
    };
    let (first, next) = first.and_then(|first| Some((first, next(first)?))).ok_or("no such day")?;
    let name = format!("p{}000000", first.format("%Y%m%d"));
    if table.partitions.iter().all(|one| one.name != name) {
        table.make_partition(name, format!("VALUES [('{first}'), ('{next}'))"));
    }
    Ok(())
}

fn place(text: &str) -> Result<(String, String), String> {
    let (database, name) = text.split_once('.').ok_or("a table is database.name")?;
    Ok((database.to_owned(), name.to_owned()))
}
