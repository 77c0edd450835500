//! Schedules: at most one of a workflow. 3.1 accepts a second one and then fails at both, so the list is read
//! before anything is made.

use lakeport_sdk::engine::{Deployment, Error, Problem, Schedule, WorkflowRef};
use lakeport_sdk::serde_json::{Value, json};

use crate::api::{Api, PAGE_ROWS, Params};
use crate::flavour::Tenant;
use crate::times;

/// What becomes of times at which the server was down: from 3.4.3 on it can be said, and others take no notice of it.
const MISSED: &str = "missedFirePolicy";
const SKIPPED: &str = "SKIP_MISSED";
/// DolphinScheduler needs an end.
const NO_END: &str = "2126-01-01 00:00:00";

/// A schedule that is there.
#[derive(Clone, Debug)]
pub struct Row {
    pub id: i64,
    pub is_online: bool,
    pub row: Value,
}

/// The schedules of one definition.
pub struct Schedules<'a> {
    pub api: &'a Api,
    pub project: i64,
    pub definition: i64,
}

impl<'a> Schedules<'a> {
    /// Those of a deployed workflow.
    pub fn of(api: &'a Api, workflow: &WorkflowRef) -> Result<Schedules<'a>, Error> {
        let code = workflow.code.as_deref().and_then(|code| code.parse().ok());
        let definition = code.ok_or_else(|| {
            Error::not_found(format!("the workflow `{}` is not deployed in DolphinScheduler", workflow.name))
        })?;
        Ok(Schedules { api, project: api.project_of(workflow), definition })
    }

    pub fn list(&self) -> Result<Vec<Row>, Error> {
        let params = vec![(self.api.flavour.definition_code, self.definition.to_string())];
        let (rows, _) =
            self.api.page(&["projects", &self.project.to_string(), "schedules"], params, 1, PAGE_ROWS)?;
        // 3.2 and later take the filter for optional.
        let is_its = |row: &Value| {
            row[self.api.flavour.definition_code].as_i64().is_none_or(|code| code == self.definition)
        };
        let read = |row: Value| {
            let is_online = row["releaseState"] == "ONLINE";
            Some(Row { id: row["id"].as_i64()?, is_online, row })
        };
        Ok(rows.into_iter().filter(is_its).filter_map(read).collect())
    }

    /// The first schedule. Others are removed: 3.1 can neither run nor release a workflow with two.
    pub fn only_one(&self, notes: &mut Vec<Problem>) -> Result<Option<Row>, Error> {
        let mut rows = self.list()?.into_iter();
        let first = rows.next();
        let others: Vec<Row> = rows.collect();
        if !others.is_empty() {
            let message = format!("{} other schedules of the workflow were removed", others.len());
            notes.push(Problem::new("schedule", "adjusted", message));
        }
        for row in &others {
            self.remove(row)?;
        }
        Ok(first)
    }

    /// Makes the schedule that is there be this one, on or off as before, or as `online` says.
    pub fn set(
        &self,
        there: Option<Row>,
        schedule: Option<&Schedule>,
        online: Option<bool>,
    ) -> Result<(), Error> {
        match (there, schedule) {
            (None, None) => {}
            (Some(row), None) => self.remove(&row)?,
            (None, Some(schedule)) => {
                let mut form = self.form(schedule)?;
                form.push((self.api.flavour.definition_code, self.definition.to_string()));
                let made = self.ask("POST", &[], form)?;
                if online == Some(true) {
                    let id =
                        made["id"].as_i64().ok_or_else(|| crate::answer::missing("POST schedules", "id"))?;
                    self.switch(id, true)?;
                }
            }
            (Some(row), Some(schedule)) => self.change(&row, schedule, online.unwrap_or(row.is_online))?,
        }
        Ok(())
    }

    /// A schedule that is online cannot be changed.
    fn change(&self, row: &Row, schedule: &Schedule, online: bool) -> Result<(), Error> {
        let is_same = self.is_same(row, schedule)?;
        if row.is_online && (!is_same || !online) {
            self.switch(row.id, false)?;
        }
        if !is_same {
            self.ask("PUT", &[&row.id.to_string()], self.form(schedule)?)?;
        }
        if online && (!row.is_online || !is_same) {
            self.switch(row.id, true)?;
        }
        Ok(())
    }

    fn remove(&self, row: &Row) -> Result<(), Error> {
        if row.is_online {
            self.switch(row.id, false)?;
        }
        self.ask("DELETE", &[&row.id.to_string()], Vec::new()).map(drop)
    }

    /// Switches one on or off.
    pub fn switch(&self, id: i64, online: bool) -> Result<(), Error> {
        let action = if online { "online" } else { "offline" };
        self.ask("POST", &[&id.to_string(), action], Vec::new()).map(drop)
    }

    /// Switches all there are; none to switch on is a conflict.
    pub fn switch_all(&self, online: bool) -> Result<Deployment, Error> {
        let rows = self.list()?;
        if online && rows.is_empty() {
            return Err(Error::conflict("the workflow has no schedule in DolphinScheduler"));
        }
        let wanted = if online { rows.get(..1).unwrap_or_default() } else { &rows[..] };
        for row in wanted.iter().filter(|row| row.is_online != online) {
            self.switch(row.id, online)?;
        }
        Ok(Deployment::done())
    }

    fn ask(&self, method: &'static str, below: &[&str], params: Params) -> Result<Value, Error> {
        let project = self.project.to_string();
        let path: Vec<&str> =
            ["projects", &project, "schedules"].into_iter().chain(below.iter().copied()).collect();
        self.api.ask(method, &path, params)
    }

    fn form(&self, schedule: &Schedule) -> Result<Params, Error> {
        let settings = &self.api.settings;
        let mut form = vec![
            ("schedule", self.times(schedule)?.to_string()),
            ("failureStrategy", schedule.failure_strategy.clone()),
            ("warningType", schedule.warning_type.clone()),
            ("warningGroupId", "0".to_owned()),
            (self.api.flavour.instance_priority, "MEDIUM".to_owned()),
            ("workerGroup", settings.worker_group.clone()),
            ("environmentCode", settings.environment_code.to_string()),
        ];
        if self.api.flavour.tenant == Tenant::Start {
            form.push(("tenantCode", settings.tenant().to_owned()));
        }
        Ok(form)
    }

    fn times(&self, schedule: &Schedule) -> Result<Value, Error> {
        let zone = self.api.zone();
        let end = match schedule.end {
            Some(end) => times::written(end, zone)?,
            None => NO_END.to_owned(),
        };
        let mut times = json!({
            "startTime": times::written(schedule.start, zone)?,
            "endTime": end,
            "crontab": schedule.cron,
            "timezoneId": schedule.time_zone,
        });
        if self.api.flavour.may_miss {
            times[MISSED] = json!(SKIPPED);
        }
        Ok(times)
    }

    fn is_same(&self, row: &Row, schedule: &Schedule) -> Result<bool, Error> {
        let times = self.times(schedule)?;
        // Only the newest ones show what becomes of missed times.
        let is_in_row = |(name, value): (&String, &Value)| {
            row.row[name] == *value || name == MISSED && row.row[name].is_null()
        };
        let has_words = row.row["failureStrategy"] == *schedule.failure_strategy
            && row.row["warningType"] == *schedule.warning_type;
        Ok(has_words && times.as_object().into_iter().flatten().all(is_in_row))
    }
}
