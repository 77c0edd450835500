//! Values in the bodies of tasks: parameters of the workflow and of the run, and the business date.

use lakeport_bindings::engine::model::{BodyPart, BodyValue, Param};

use super::logs;
use super::samples::{self, Work};
use super::setting::Prints;
use super::subject::Subject;
use super::trial::{Checked, Trial};
use super::watcher::Watcher;
use crate::report::Area;

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
/// Noon is the same day in nearly all time zones.
const NOON_MS: i64 = DAY_MS / 2;
/// How long ago the business date of the run is.
const DAYS_AGO: u64 = 40;
/// The text before the values.
const TEXT: &str = "word is";

/// A task prints a parameter and two dates. They are those of the run.
pub async fn values<S: Subject>(trial: &mut Trial<'_, S>) -> Checked<()> {
    let Some(prints) = trial.setting.tasks.prints.clone() else {
        trial.report.note("not checked: values in bodies, without a task that prints them");
        return Ok(());
    };
    let mut workflow = trial.workflow("values", &[("prints", Work::Succeeds)], &[]);
    workflow.tasks[0].body = body(&prints);
    workflow.params = vec![param("of the workflow")];
    let current = trial.deploy(&workflow).await?;
    let since = (trial.setting.now_ms)();
    let mut request = trial.run(&current);
    let mut word = "of the workflow";
    if trial.has("run_params") {
        word = "of the run";
        request.params = vec![param(word)];
    }
    let date = samples::midnight(trial.setting, DAYS_AGO) + NOON_MS;
    request.business_time = trial.has("business_time").then_some(date);
    let mut watcher = Watcher::new(&[&current], since);
    let run = trial.start_run(request).await?;
    let ended = trial.wait_for_end(&mut watcher, &run.id).await?;
    let place = "a task with values in its body";
    let what = format!("the state {:?}: {:?}", ended.state, ended.message);
    trial.require(Area::Lifecycle, ended.state == "success", place, &what, "it prints its values")?;
    let tries = trial.tries(&[run.reference()], 100).await?;
    let Some(one) = tries.first() else { return Ok(()) };
    let Some(log) = logs::text(trial, &run, &one.id).await? else {
        trial.report.note("not checked: values in bodies, without a log");
        return Ok(());
    };
    let mut expected = format!("{TEXT} {word}");
    if trial.has("business_time") {
        expected = format!("{expected} {} {}", day(date - DAY_MS, ""), day(date, "-"));
    }
    let what = format!("{expected:?} is not in {log:?}");
    let why = "a parameter has its value, and dates are those of the run's business date";
    trial.expect(Area::Lifecycle, log.contains(&expected), place, &what, why);
    Ok(())
}

fn param(value: &str) -> Param {
    Param { name: "word".to_owned(), kind: "text".to_owned(), value: value.to_owned() }
}

fn body(prints: &Prints) -> Vec<BodyPart> {
    let value = |source: &str, name: &str, spelled: &str| {
        BodyPart::Value(BodyValue {
            source: source.to_owned(),
            name: name.to_owned(),
            place: prints.place.clone(),
            spelled: spelled.to_owned(),
        })
    };
    let space = || BodyPart::Text(" ".to_owned());
    vec![
        BodyPart::Text(format!("{}{TEXT} ", prints.before)),
        value("global", "word", "${word}"),
        space(),
        value("built_in", "system.biz.date", "${system.biz.date}"),
        space(),
        value("time", "yyyy-MM-dd", "$[yyyy-MM-dd]"),
        BodyPart::Text(prints.after.clone()),
    ]
}

/// The day of an instant in UTC: `2026-03-01` with the separator `-`.
fn day(at_ms: i64, separator: &str) -> String {
    // Of the proleptic Gregorian calendar; a year begins in March.
    let days = at_ms.div_euclid(DAY_MS) + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    format!("{year:04}{separator}{month:02}{separator}{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (at_ms, expected) in [
            (0, "1970-01-01"),
            (-1, "1969-12-31"),
            (951_782_400_000, "2000-02-29"),
            (951_868_800_000, "2000-03-01"),
            (1_772_323_200_000, "2026-03-01"),
            (4_102_444_799_999, "2099-12-31"),
        ] {
            assert_eq!(day(at_ms, "-"), expected);
        }
    }
}
