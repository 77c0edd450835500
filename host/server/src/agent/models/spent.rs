//! What models have used: tokens and cost by day, owner and model, and the limits of these.

use chrono::DateTime;
use lakeport_base::Error;
use lakeport_base::time::DAY_MS;
use lakeport_store::{Db, Retained, Tx};
use schemars::JsonSchema;
use serde::Serialize;

use crate::config::AgentSettings;

/// Of long past days.
pub const RETAINED: Retained = Retained {
    what: "model_usage",
    table: "model_usage",
    purge: "DELETE FROM model_usage WHERE (day, owner, model) IN (SELECT day, owner, model FROM model_usage \
            WHERE day * 86400000 < $1 ORDER BY day LIMIT $2)",
};
/// Rows of one answer.
const SHOWN_MAX: i64 = 1_000;
const MICROS: f64 = 1_000_000.0;

/// Calls of a model, with their tokens and cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    pub calls: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    /// Millionths of the currency.
    pub cost_micros: i64,
}

impl Spent {
    pub fn tokens(&self) -> i64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }

    pub fn cost(&self) -> f64 {
        cost(self.cost_micros)
    }

    pub fn add(&mut self, other: Spent) {
        self.calls += other.calls;
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cost_micros = self.cost_micros.saturating_add(other.cost_micros);
    }
}

/// In the currency.
pub fn cost(micros: i64) -> f64 {
    micros as f64 / MICROS
}

/// Whose use it is, and of which model.
#[derive(Debug, Clone)]
pub struct User {
    /// The key of the topic's owner.
    pub owner: String,
    /// The owner's name.
    pub caller: String,
    /// The name of the model.
    pub model: String,
}

/// The limits; 0: none.
#[derive(Debug, Clone, Copy, Default, Serialize, JsonSchema)]
#[schemars(rename = "ModelLimits")]
pub struct Limits {
    /// Tokens of one question.
    pub task_tokens_max: i64,
    /// Tokens of one caller on a day (UTC).
    pub day_tokens_max: i64,
    /// Tokens of all callers on a day.
    pub day_tokens_max_all: i64,
    /// Cost of one caller on a day.
    pub day_cost_max: i64,
}

impl From<&AgentSettings> for Limits {
    fn from(settings: &AgentSettings) -> Limits {
        Limits {
            task_tokens_max: settings.task_tokens_max,
            day_tokens_max: settings.day_tokens_max,
            day_tokens_max_all: settings.day_tokens_max_all,
            day_cost_max: settings.day_cost_max,
        }
    }
}

/// The use of a day.
#[derive(Debug, Clone, Copy, Default)]
pub struct OfDay {
    pub own: Spent,
    pub all_tokens: i64,
}

impl Limits {
    /// Whether a day's use matters.
    pub fn has_of_day(&self) -> bool {
        self.day_tokens_max > 0 || self.day_tokens_max_all > 0 || self.day_cost_max > 0
    }

    /// The limit that does not allow a further call, for people; `None`: it may be made.
    pub fn reached(&self, task_tokens: i64, day: &OfDay) -> Option<String> {
        let is_over = |used: i64, most: i64| most > 0 && used >= most;
        let day_ends = "; the next day begins at 0:00 UTC";
        if is_over(task_tokens, self.task_tokens_max) {
            let most = self.task_tokens_max;
            return Some(format!(
                "the question has used {task_tokens} tokens, and {most} may (the setting agent.task_tokens_max)"
            ));
        }
        if is_over(day.own.tokens(), self.day_tokens_max) {
            let most = self.day_tokens_max;
            return Some(format!(
                "your questions have used {} tokens today, and {most} may (the setting agent.day_tokens_max){day_ends}",
                day.own.tokens()
            ));
        }
        if is_over(day.all_tokens, self.day_tokens_max_all) {
            let most = self.day_tokens_max_all;
            return Some(format!(
                "the questions of all callers have used {} tokens today, and {most} may (the setting \
                 agent.day_tokens_max_all){day_ends}",
                day.all_tokens
            ));
        }
        if self.day_cost_max > 0 && day.own.cost() >= self.day_cost_max as f64 {
            let most = self.day_cost_max;
            return Some(format!(
                "your questions have cost {:.2} today, and {most} may (the setting agent.day_cost_max){day_ends}",
                day.own.cost()
            ));
        }
        None
    }
}

fn day_of(at_ms: i64) -> i64 {
    at_ms.div_euclid(DAY_MS)
}

/// Adds to the use of the day.
pub async fn add(tx: &mut Tx, user: &User, spent: &Spent, at_ms: i64) -> Result<(), Error> {
    const ADD: &str = "INSERT INTO model_usage (day, owner, model, caller, calls, input_tokens, output_tokens, cost_micros) \
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (day, owner, model) DO UPDATE SET \
        caller = excluded.caller, calls = model_usage.calls + excluded.calls, \
        input_tokens = model_usage.input_tokens + excluded.input_tokens, \
        output_tokens = model_usage.output_tokens + excluded.output_tokens, \
        cost_micros = model_usage.cost_micros + excluded.cost_micros";
    let values = [
        day_of(at_ms).into(),
        user.owner.as_str().into(),
        user.model.as_str().into(),
        user.caller.as_str().into(),
        spent.calls.into(),
        spent.input_tokens.into(),
        spent.output_tokens.into(),
        spent.cost_micros.into(),
    ];
    tx.execute(ADD, &values).await.map(drop)
}

/// The use of the day so far.
pub async fn of_day(db: &Db, owner: &str, now_ms: i64) -> Result<OfDay, Error> {
    const OWN: &str = "SELECT CAST(coalesce(sum(calls), 0) AS BIGINT), CAST(coalesce(sum(input_tokens), 0) AS BIGINT), \
        CAST(coalesce(sum(output_tokens), 0) AS BIGINT), CAST(coalesce(sum(cost_micros), 0) AS BIGINT) \
        FROM model_usage WHERE day = $1 AND owner = $2";
    const ALL: &str = "SELECT CAST(coalesce(sum(input_tokens + output_tokens), 0) AS BIGINT) FROM model_usage \
        WHERE day = $1";
    let day = day_of(now_ms);
    let own = db.read(OWN, &[day.into(), owner.into()]).await?;
    let all = db.read(ALL, &[day.into()]).await?;
    let own = Spent {
        calls: own[0].get(0)?,
        input_tokens: own[0].get(1)?,
        output_tokens: own[0].get(2)?,
        cost_micros: own[0].get(3)?,
    };
    Ok(OfDay { own, all_tokens: all[0].get(0)? })
}

/// A stored row.
pub struct Used {
    day: i64,
    pub caller: String,
    pub model: String,
    pub spent: Spent,
}

impl Used {
    /// Its day, such as `2026-11-26`.
    pub fn date(&self) -> String {
        let at = DateTime::from_timestamp_millis(self.day.saturating_mul(DAY_MS)).unwrap_or_default();
        at.date_naive().to_string()
    }
}

/// The use of the last days, the newest first; `owner`: of this one alone.
pub async fn of_days(db: &Db, days: i64, owner: Option<&str>, now_ms: i64) -> Result<Vec<Used>, Error> {
    const ALL: &str = "SELECT day, caller, model, calls, input_tokens, output_tokens, cost_micros FROM model_usage \
        WHERE day > $1 ORDER BY day DESC, caller, owner, model LIMIT $2";
    const OWN: &str = "SELECT day, caller, model, calls, input_tokens, output_tokens, cost_micros FROM model_usage \
        WHERE day > $1 AND owner = $3 ORDER BY day DESC, caller, owner, model LIMIT $2";
    let since = day_of(now_ms) - days;
    let rows = match owner {
        Some(owner) => db.read(OWN, &[since.into(), SHOWN_MAX.into(), owner.into()]).await?,
        None => db.read(ALL, &[since.into(), SHOWN_MAX.into()]).await?,
    };
    let used = |row: &lakeport_store::Row| {
        Ok(Used {
            day: row.get(0)?,
            caller: row.get(1)?,
            model: row.get(2)?,
            spent: Spent {
                calls: row.get(3)?,
                input_tokens: row.get(4)?,
                output_tokens: row.get(5)?,
                cost_micros: row.get(6)?,
            },
        })
    };
    rows.iter().map(used).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_that_is_reached_is_named() {
        let limits =
            Limits { task_tokens_max: 10, day_tokens_max: 100, day_tokens_max_all: 1_000, day_cost_max: 2 };
        let day = |tokens: i64, all: i64, cost: f64| OfDay {
            own: Spent { input_tokens: tokens, cost_micros: (cost * MICROS) as i64, ..Spent::default() },
            all_tokens: all,
        };
        for (task, day, setting) in [
            (9, day(99, 999, 1.99), None),
            (10, day(0, 0, 0.0), Some("task_tokens_max")),
            (0, day(100, 100, 0.0), Some("day_tokens_max)")),
            (0, day(0, 1_000, 0.0), Some("day_tokens_max_all")),
            (0, day(0, 0, 2.0), Some("day_cost_max")),
        ] {
            let reached = limits.reached(task, &day);
            assert_eq!(reached.is_some(), setting.is_some(), "{reached:?}");
            assert!(setting.is_none_or(|setting| reached.unwrap().contains(setting)), "{setting:?}");
        }
        assert!(Limits::default().reached(i64::MAX, &day(i64::MAX, i64::MAX, 1e9)).is_none());
    }
}
