//! Logs: read to the last line, in parts of any size, with cursors that stay valid.

use std::time::Duration;

use lakeport_bindings::engine::model::{LogPage, LogRequest, TaskRun};

use super::subject::Subject;
use super::trial::{Checked, Stop, Trial};
use super::watcher::StartedRun;
use crate::report::Area;

const PLACE: &str = "watch.log";
const CURSOR_MAX_BYTES: usize = 1_024;
const PART_MAX_BYTES: u32 = 1024 * 1024;
/// Parts of one log before the kit gives up.
const PARTS_MAX: usize = 10_000;
/// In so many parts the kit reads a log again.
const SMALL_PARTS: usize = 4;
const SMALL_MIN_BYTES: u32 = 40;

/// A part, and the cursor that it was asked for with.
struct Part {
    cursor: Option<String>,
    page: LogPage,
}

/// The logs of a run that succeeded. An engine may have none.
pub async fn logs<S: Subject>(trial: &mut Trial<'_, S>, run: &StartedRun, tries: &[TaskRun]) -> Checked<()> {
    let Some(one) = tries.iter().find(|one| one.state == "success") else { return Ok(()) };
    let request = request(run, &one.id, PART_MAX_BYTES, true);
    let subject = trial.subject;
    match trial.ask(PLACE, subject.log(&request)).await? {
        Err(error) if error.code == "unsupported" => {
            trial.report.note("not checked: logs, which the engine does not have");
            return Ok(());
        }
        _ => {}
    }
    let whole = read(trial, run, &one.id, PART_MAX_BYTES).await?;
    let text = text_of(&whole);
    if let Some(known) = trial.setting.tasks.log_has.clone() {
        let what = format!("{known:?} is not in {text:?}");
        trial.expect(Area::Lifecycle, text.contains(&known), PLACE, &what, "the log is that of the task");
    }
    let size = u32::try_from(text.len() / SMALL_PARTS).unwrap_or(PART_MAX_BYTES).max(SMALL_MIN_BYTES);
    let small = read(trial, run, &one.id, size).await?;
    let what = format!("{text:?} in one part, {:?} in parts of {size} bytes", text_of(&small));
    let why = "the parts together are the log, whatever their size";
    trial.expect(Area::Determinism, text_of(&small) == text, PLACE, &what, why);
    for part in whole.iter().chain(&small) {
        let again = LogRequest { cursor: part.cursor.clone(), ..request.clone() };
        let page = trial.must(PLACE, "a cursor again", subject.log(&again)).await?;
        let what = format!("{:?} and then {:?} for the cursor {:?}", part.page.text, page.text, part.cursor);
        let why = "the same cursor gives the same part again, possibly with more at its end";
        trial.expect(Area::Determinism, page.text.starts_with(&part.page.text), PLACE, &what, why);
    }
    let wrong = LogRequest { cursor: Some("no cursor of yours".to_owned()), ..request.clone() };
    trial.must_refuse(PLACE, "a wrong cursor", &["invalid_input"], subject.log(&wrong)).await;
    let unknown = LogRequest { task_run: "999999999".to_owned(), ..request };
    trial.must_refuse(PLACE, "an unknown try", &["not_found"], subject.log(&unknown)).await;
    Ok(())
}

/// The log of a try that has ended; `None` if the engine has no logs.
pub async fn text<S: Subject>(
    trial: &mut Trial<'_, S>,
    run: &StartedRun,
    task_run: &str,
) -> Checked<Option<String>> {
    let (subject, request) = (trial.subject, request(run, task_run, PART_MAX_BYTES, true));
    if let Err(error) = trial.ask(PLACE, subject.log(&request)).await?
        && error.code == "unsupported"
    {
        return Ok(None);
    }
    Ok(Some(text_of(&read(trial, run, task_run, PART_MAX_BYTES).await?)))
}

/// A log of a task that runs can be read, and is not complete.
pub async fn stream<S: Subject>(trial: &mut Trial<'_, S>, run: &StartedRun, one: &TaskRun) -> Checked<()> {
    let subject = trial.subject;
    let request = request(run, &one.id, PART_MAX_BYTES, false);
    let page = trial.must(PLACE, "a task that runs", subject.log(&request)).await?;
    check_part(trial, &page);
    trial.expect(Area::Lifecycle, !page.complete, PLACE, "complete while the task runs", ENDS);
    Ok(())
}

const ENDS: &str = "a log is complete when the try has ended and this was the last part";

fn request(run: &StartedRun, task_run: &str, max_bytes: u32, ended: bool) -> LogRequest {
    LogRequest { instance: run.reference(), task_run: task_run.to_owned(), cursor: None, max_bytes, ended }
}

/// All parts of a log that has ended.
async fn read<S: Subject>(
    trial: &mut Trial<'_, S>,
    run: &StartedRun,
    task_run: &str,
    max_bytes: u32,
) -> Checked<Vec<Part>> {
    let subject = trial.subject;
    let (mut parts, mut waited): (Vec<Part>, Duration) = (Vec::new(), Duration::ZERO);
    for _ in 0..PARTS_MAX {
        let cursor = parts.last().map(|part| part.page.next.clone());
        let request = LogRequest { cursor: cursor.clone(), ..request(run, task_run, max_bytes, true) };
        let page = trial.must(PLACE, "a task that has ended", subject.log(&request)).await?;
        check_part(trial, &page);
        let (is_last, is_empty) = (page.complete, page.text.is_empty());
        parts.push(Part { cursor, page });
        if is_last {
            return Ok(parts);
        }
        if is_empty {
            if waited > trial.setting.patience {
                break;
            }
            waited += trial.setting.poll;
            trial.wait(trial.setting.poll).await;
        }
    }
    let what = format!("not complete after {} parts and {} s", parts.len(), waited.as_secs());
    trial.report.add(Area::Lifecycle, PLACE, what, ENDS);
    Err(Stop)
}

fn check_part<S: Subject>(trial: &mut Trial<'_, S>, page: &LogPage) {
    let is_plain = !page.text.chars().any(|c| c.is_control() && c != '\n' && c != '\t');
    let is_whole = page.text.is_empty() || page.text.ends_with('\n');
    let what = format!(
        "{:?}",
        page.text.chars().rev().take(60).collect::<Vec<_>>().iter().rev().collect::<String>()
    );
    let why = "a part has whole lines, without control sequences";
    trial.expect(Area::Contract, is_plain && is_whole, PLACE, &what, why);
    let bytes = page.next.len();
    let why = "a cursor of a log has 1,024 bytes at most";
    trial.expect(Area::Contract, bytes <= CURSOR_MAX_BYTES, PLACE, &format!("{bytes} bytes"), why);
}

fn text_of(parts: &[Part]) -> String {
    parts.iter().map(|part| part.page.text.as_str()).collect()
}
