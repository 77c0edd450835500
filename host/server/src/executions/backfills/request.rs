//! The checks of a backfill's body, in the order and with the reasons of the interface. Pure functions.

use chrono_tz::Tz;
use lakeport_base::error::{Detail, Error};
use lakeport_base::time;
use serde::de::DeserializeOwned;

use super::forms::{BackfillBody, BackfillMode, DependentMode, ExecutionOrder, RunMode};
use crate::workflows::forms::FailureStrategy;

/// The most dates of one backfill.
pub const DATES_MAX: usize = 100_000;
/// The most dates that run side by side; a larger number means as many.
pub const PARALLEL_MAX: usize = 100;
/// Of a shown value, in characters.
const SHOWN_MAX_CHARS: usize = 60;

/// What a body asks for.
#[derive(Debug, PartialEq, Eq)]
pub struct Asked {
    pub dates: Dates,
    /// Dates side by side; 1: one after the other.
    pub parallelism: usize,
    pub dependents: Dependents,
    pub is_descending: bool,
    pub strategy: FailureStrategy,
}

/// Times in milliseconds since 1970.
#[derive(Debug, PartialEq, Eq)]
pub enum Dates {
    /// The schedule's times from the first to the second, both included.
    Range(i64, i64),
    /// These, without doubles, in ascending order.
    Listed(Vec<i64>),
}

/// Which of the workflows that read its outputs run, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dependents {
    None,
    /// Those that read them directly.
    Direct,
    All,
}

/// Reads a body, whose times are in the zone. 400 with the first reason that applies; words that are none are named all at once.
pub fn read(body: Option<&BackfillBody>, zone: Tz, now_ms: i64) -> Result<Asked, Error> {
    let body = body.ok_or_else(|| refused("body", "补数参数不能为空"))?;
    let mode = word::<BackfillMode>("mode", body.mode.as_deref(), &["range", "list"]);
    let clock = Clock { zone, now_ms };
    let dates = match mode {
        Ok(Some(BackfillMode::List)) => clock.listed(body.schedule_date_list.as_deref())?,
        _ => clock.range(body.start_time.as_deref(), body.end_time.as_deref())?,
    };
    let run_mode =
        word::<RunMode>("runMode", body.run_mode.as_deref(), &["RUN_MODE_SERIAL", "RUN_MODE_PARALLEL"]);
    let parallelism = match run_mode {
        Ok(Some(RunMode::Parallel)) => parallelism(body.expected_parallelism_number)?,
        _ => 1,
    };
    let dependents = word::<DependentMode>(
        "complementDependentMode",
        body.complement_dependent_mode.as_deref(),
        &["OFF_MODE", "ALL_DEPENDENT"],
    );
    let order = word::<ExecutionOrder>(
        "executionOrder",
        body.execution_order.as_deref(),
        &["DESC_ORDER", "ASC_ORDER"],
    );
    let strategy =
        word::<FailureStrategy>("failureStrategy", body.failure_strategy.as_deref(), &["CONTINUE", "END"]);
    let wrong = [
        mode.err(),
        run_mode.err(),
        dependents.as_ref().err().cloned(),
        order.as_ref().err().cloned(),
        strategy.as_ref().err().cloned(),
    ];
    let wrong: Vec<Detail> = wrong.into_iter().flatten().collect();
    if let Some(first) = wrong.first() {
        return Err(Error::bad_request("invalid_input", first.message.clone()).with_details(wrong));
    }
    let (dependents, order, strategy) =
        (dependents.unwrap_or_default(), order.unwrap_or_default(), strategy.unwrap_or_default());
    Ok(Asked {
        dates,
        parallelism,
        dependents: match dependents {
            Some(DependentMode::All) if body.all_level_dependent == Some(true) => Dependents::All,
            Some(DependentMode::All) => Dependents::Direct,
            Some(DependentMode::Off) | None => Dependents::None,
        },
        is_descending: order != Some(ExecutionOrder::Ascending),
        strategy: strategy.unwrap_or_default(),
    })
}

/// 400 with this reason as its message.
pub fn refused(field: &str, reason: impl Into<String>) -> Error {
    let reason = reason.into();
    Error::bad_request("invalid_input", reason.clone()).with_details(vec![Detail::new(field, reason)])
}

fn parallelism(number: Option<i64>) -> Result<usize, Error> {
    let number = number.filter(|number| *number > 0);
    let number = number.ok_or_else(|| refused("expectedParallelismNumber", "并行度必须大于 0"))?;
    Ok(usize::try_from(number).unwrap_or(PARALLEL_MAX).min(PARALLEL_MAX))
}

/// One of these words, or absent.
fn word<T: DeserializeOwned>(field: &str, text: Option<&str>, words: &[&str]) -> Result<Option<T>, Detail> {
    let Some(text) = text else { return Ok(None) };
    let read = serde_json::from_value(text.into());
    read.map(Some).map_err(|_| {
        let words = words.join("、");
        Detail::new(field, format!("{field} 的值不正确：{}，应为 {words}", shown(text)))
    })
}

fn shown(text: &str) -> String {
    text.chars().take(SHOWN_MAX_CHARS).collect()
}

/// What the texts of times mean.
struct Clock {
    zone: Tz,
    now_ms: i64,
}

impl Clock {
    fn range(&self, start: Option<&str>, end: Option<&str>) -> Result<Dates, Error> {
        let given =
            |text: Option<&str>| text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
        let (Some(start), Some(end)) = (given(start), given(end)) else {
            return Err(refused("startTime", "补数时间范围不能为空"));
        };
        let (start_ms, end_ms) = (self.time("startTime", &start)?, self.latest("endTime", &end)?);
        if start_ms > end_ms {
            return Err(refused("startTime", "开始时间不能晚于结束时间"));
        }
        self.refuse_future("startTime", &start, start_ms)?;
        self.refuse_future("endTime", &end, end_ms)?;
        Ok(Dates::Range(start_ms, end_ms))
    }

    fn listed(&self, list: Option<&str>) -> Result<Dates, Error> {
        const FIELD: &str = "scheduleDateList";
        let texts = list.unwrap_or_default().split([',', '，']).map(str::trim);
        let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
        if texts.len() > DATES_MAX {
            return Err(too_many(FIELD));
        }
        let dates = texts.iter().map(|text| self.latest(FIELD, text));
        let dates = dates.collect::<Result<Vec<i64>, Error>>()?;
        for (text, date) in texts.iter().zip(&dates) {
            self.refuse_future(FIELD, text, *date)?;
        }
        if dates.is_empty() {
            return Err(refused(FIELD, "补数时间列表不能为空"));
        }
        let mut dates = dates;
        dates.sort_unstable();
        dates.dedup();
        Ok(Dates::Listed(dates))
    }

    fn time(&self, field: &str, text: &str) -> Result<i64, Error> {
        self.read(field, text, time::parse)
    }

    /// Of a time that comes twice in autumn, the second one, at which schedules run.
    fn latest(&self, field: &str, text: &str) -> Result<i64, Error> {
        self.read(field, text, time::parse_latest)
    }

    fn read(
        &self,
        field: &str,
        text: &str,
        parse: impl FnOnce(&str, Tz) -> Result<i64, String>,
    ) -> Result<i64, Error> {
        let form = time::FORM_SHOWN;
        // Other notations of times are longer.
        let is_form = text.len() == form.len() && time::check(text).is_ok();
        if !is_form {
            return Err(refused(field, format!("时间格式不正确：{}，应为 {form}", shown(text))));
        }
        parse(text, self.zone).map_err(|_| {
            let zone = self.zone.name();
            refused(field, format!("时间不存在：{text}，时区 {zone} 的时钟跳过了该时刻"))
        })
    }

    /// A time of today is no future one, whatever its hour.
    fn refuse_future(&self, field: &str, text: &str, at_ms: i64) -> Result<(), Error> {
        if time::day_of(at_ms, self.zone) <= time::day_of(self.now_ms, self.zone) {
            return Ok(());
        }
        Err(refused(field, format!("补数时间不能晚于今天：{text}")))
    }
}

/// 400 for more dates than one backfill has.
pub fn too_many(field: &str) -> Error {
    refused(field, format!("补数时间过多：一次最多 {DATES_MAX} 个"))
}

#[cfg(test)]
mod tests {
    use chrono_tz::Asia::Shanghai;
    use lakeport_base::time::parse;
    use lakeport_http::form;
    use serde_json::{Value, json};

    use super::*;

    const NOW: &str = "2026-05-10 12:00:00";

    fn asked(body: &Value) -> Result<Asked, String> {
        let body = form::from_json::<BackfillBody>(body.to_string().as_bytes()).unwrap();
        let now_ms = parse(NOW, Shanghai).unwrap();
        read(Some(&body), Shanghai, now_ms).map_err(|error| error.message().to_owned())
    }

    fn reason(body: Value) -> String {
        asked(&body).unwrap_err()
    }

    /// All is wrong; each check is met once those before it are.
    #[test]
    fn the_reasons_come_in_order() {
        let now_ms = parse(NOW, Shanghai).unwrap();
        assert_eq!(read(None, Shanghai, now_ms).unwrap_err().message(), "补数参数不能为空");
        let mut body = json!({ "mode": "range", "runMode": "RUN_MODE_PARALLEL", "executionOrder": "UP",
            "failureStrategy": "STOP", "expectedParallelismNumber": 0, "complementDependentMode": "ON" });
        let mut next = |reasons: &[(&str, Value, &str)]| {
            for (member, value, expected) in reasons {
                assert_eq!(reason(body.clone()), *expected);
                body[*member] = value.clone();
            }
            body.clone()
        };
        let last = next(&[
            ("startTime", json!(" "), "补数时间范围不能为空"),
            ("endTime", json!("2026-06-01"), "补数时间范围不能为空"),
            ("startTime", json!("2026-6-01 00:00:00"), "补数时间范围不能为空"),
            (
                "startTime",
                json!("2026-06-02 00:00:00"),
                "时间格式不正确：2026-6-01 00:00:00，应为 yyyy-MM-dd HH:mm:ss",
            ),
            ("endTime", json!("2026-06-01 00:00:00"), "时间格式不正确：2026-06-01，应为 yyyy-MM-dd HH:mm:ss"),
            ("startTime", json!("2026-05-01 00:00:00"), "开始时间不能晚于结束时间"),
            ("endTime", json!("2026-05-10 23:59:59"), "补数时间不能晚于今天：2026-06-01 00:00:00"),
            ("expectedParallelismNumber", json!(3), "并行度必须大于 0"),
            (
                "complementDependentMode",
                json!("OFF_MODE"),
                "complementDependentMode 的值不正确：ON，应为 OFF_MODE、ALL_DEPENDENT",
            ),
            (
                "executionOrder",
                json!("ASC_ORDER"),
                "executionOrder 的值不正确：UP，应为 DESC_ORDER、ASC_ORDER",
            ),
            ("failureStrategy", json!("END"), "failureStrategy 的值不正确：STOP，应为 CONTINUE、END"),
        ]);
        let whole = asked(&last).unwrap();
        assert_eq!(
            (whole.parallelism, whole.is_descending, whole.strategy),
            (3, false, FailureStrategy::End)
        );
        assert_eq!(reason(json!({ "mode": "all" })), "补数时间范围不能为空", "enums come last");
    }

    #[test]
    fn what_is_absent_has_a_default() {
        let body = json!({ "mode": "list", "scheduleDateList": "2026-05-02 00:00:00" });
        let expected = Asked {
            dates: Dates::Listed(vec![parse("2026-05-02 00:00:00", Shanghai).unwrap()]),
            parallelism: 1,
            dependents: Dependents::None,
            is_descending: true,
            strategy: FailureStrategy::Continue,
        };
        assert_eq!(asked(&body).unwrap(), expected);
        let serial = json!({ "mode": "list", "scheduleDateList": "2026-05-02 00:00:00", "expectedParallelismNumber": -1 });
        assert_eq!(asked(&serial).unwrap(), expected, "serial: the number is ignored");
    }

    #[test]
    fn a_list_is_taken_word_for_word() {
        let listed = |text: &str| asked(&json!({ "mode": "list", "scheduleDateList": text }));
        let Dates::Listed(dates) =
            listed("2026-05-03 01:00:00, 2026-05-01 00:00:00,2026-05-03 01:00:00,").unwrap().dates
        else {
            panic!("a list")
        };
        assert_eq!(dates.len(), 2);
        assert!(dates[0] < dates[1]);
        assert_eq!(listed(" , ").unwrap_err(), "补数时间列表不能为空");
        assert_eq!(listed("2026-05-11 00:00:00").unwrap_err(), "补数时间不能晚于今天：2026-05-11 00:00:00");
        let wrong = "2026-05-01T00:00:00Z";
        assert_eq!(listed(wrong).unwrap_err(), format!("时间格式不正确：{wrong}，应为 yyyy-MM-dd HH:mm:ss"));
        let many = "2026-05-01 00:00:00,".repeat(DATES_MAX + 1);
        assert!(listed(&many).unwrap_err().starts_with("补数时间过多"));
    }

    #[test]
    fn a_skipped_time_is_named() {
        let body = json!({ "mode": "list", "scheduleDateList": "2026-03-29 02:30:00" });
        let body = form::from_json::<BackfillBody>(body.to_string().as_bytes()).unwrap();
        let berlin = chrono_tz::Europe::Berlin;
        let error = read(Some(&body), berlin, parse(NOW, berlin).unwrap()).unwrap_err();
        assert_eq!(error.message(), "时间不存在：2026-03-29 02:30:00，时区 Europe/Berlin 的时钟跳过了该时刻");
    }
}
