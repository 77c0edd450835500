//! The log of an execution: the logs of all attempts, one after the other, read from the engine in parts.
//! `nextOffset` encodes a position in an attempt's log with the engine's own cursor; only this module decodes
//! it.

use lakeport_base::error::{Detail, Error};
use lakeport_bindings::engine::model::LogRequest;

use super::runs;
use crate::execution_records::{Execution, LogView};
use crate::executions::Executions;

/// A part of a log, in bytes.
const PART_MAX_BYTES: usize = 256 * 1024;
/// The smallest request, in bytes: a smaller rest is left to the next part.
const ROOM_MIN_BYTES: usize = 16 * 1024;
/// The largest answer of an engine, whatever was requested, in bytes, by the contract.
const PAGE_MAX_BYTES: usize = 1024 * 1024;
/// The most calls of the engine per part.
const CALLS_MAX: usize = 20;
/// The longest cursor of an engine, in bytes, by the contract.
const CURSOR_MAX_BYTES: usize = 1_024;

/// A position in the logs of the attempts.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    /// The attempt's index; the number of attempts means the end.
    index: usize,
    /// The cursor within the log; `None`: the beginning.
    cursor: Option<String>,
}

impl Place {
    fn parse(text: &str, tries: usize) -> Result<Place, Error> {
        let place = || {
            let (index, cursor) = match text.split_once('-') {
                Some((index, cursor)) => (index, Some(cursor)),
                None => (text, None),
            };
            let index: usize = index.parse().ok().filter(|index| *index <= tries)?;
            let cursor = match cursor {
                Some(cursor) if cursor.len() <= 2 * CURSOR_MAX_BYTES && index < tries => {
                    Some(String::from_utf8(hex::decode(cursor).ok()?).ok()?)
                }
                Some(_) => return None,
                None => None,
            };
            Some(Place { index, cursor })
        };
        let wrong = || Detail::new("logOffset", "must be the nextOffset of a part of this log");
        place().ok_or_else(|| Error::invalid(vec![wrong()]))
    }

    fn text(&self) -> String {
        match &self.cursor {
            Some(cursor) => format!("{}-{}", self.index, hex::encode(cursor)),
            None => self.index.to_string(),
        }
    }
}

/// A part of the log, from an offset. If the engine does not answer, the answer holds what was read and the error.
pub async fn read(
    state: &Executions,
    execution: &Execution,
    offset: Option<&str>,
    call_id: &str,
) -> Result<LogView, Error> {
    let tries = &execution.record.tries;
    let mut reading =
        Reading { place: Place::parse(offset.unwrap_or("0"), tries.len())?, text: String::new() };
    let error = match reading.read(state, execution, call_id).await {
        Ok(()) => None,
        Err(error) if error.status() == 400 => return Err(error),
        Err(error @ Error::Internal(_)) => return Err(error),
        Err(error) => Some(error.to_string()),
    };
    let complete = reading.place.index >= tries.len() && execution.record.status.has_ended();
    Ok(LogView { text: reading.text, next_offset: reading.place.text(), complete, error })
}

struct Reading {
    place: Place,
    text: String,
}

impl Reading {
    async fn read(&mut self, state: &Executions, execution: &Execution, call_id: &str) -> Result<(), Error> {
        const FUNCTION: &str = "watch.log";
        let tries = &execution.record.tries;
        if self.place.index >= tries.len() {
            return Ok(());
        }
        let run = runs::store::find(&state.db, execution.run_id).await?;
        let run = run.ok_or_else(|| Error::not_found("execution", execution.id))?;
        let (client, Some(instance)) = runs::at_engine(state, &run, call_id).await? else { return Ok(()) };
        for _ in 0..CALLS_MAX {
            let Some(one) = tries.get(self.place.index) else { break };
            let room = PART_MAX_BYTES.saturating_sub(self.text.len());
            if room < ROOM_MIN_BYTES {
                break;
            }
            let request = LogRequest {
                instance: instance.clone(),
                task_run: one.id.clone(),
                cursor: self.place.cursor.clone(),
                max_bytes: u32::try_from(room).unwrap_or(u32::MAX),
                ended: one.ended,
            };
            let page = client.log(&request).await?;
            if self.place.cursor.is_none() && tries.len() > 1 {
                self.text.push_str(&format!("--- try {} ---\n", one.attempt));
            }
            let Some(page) = page else {
                self.text.push_str("(the log of this try is not there any more)\n");
                self.next_try();
                continue;
            };
            if page.text.len() > PAGE_MAX_BYTES || page.next.len() > CURSOR_MAX_BYTES {
                let message = "a part of a log, or its `next`, is larger than it may be".to_owned();
                return Err(client.broke(FUNCTION, Some(instance.workflow.id), message));
            }
            let is_end = page.text.is_empty();
            self.text.push_str(&page.text);
            if page.complete {
                self.next_try();
            } else {
                self.place.cursor = Some(page.next);
                if is_end {
                    break;
                }
            }
        }
        Ok(())
    }

    fn next_try(&mut self) {
        self.place = Place { index: self.place.index + 1, cursor: None };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_read_as_it_was_given() {
        let place = Place { index: 1, cursor: Some("a:7 é".to_owned()) };
        assert_eq!(Place::parse(&place.text(), 2).unwrap(), place);
        let behind = Place { index: 2, cursor: None };
        assert_eq!(Place::parse(&behind.text(), 2).unwrap(), behind);
    }

    #[test]
    fn an_offset_that_was_never_given_is_refused() {
        for wrong in ["", "x", "-1", "3", "2-00", "1-0", "1-zz", "0-ff", &format!("0-{}", "00".repeat(1_025))]
        {
            let error = Place::parse(wrong, 2).unwrap_err();
            assert_eq!((error.status(), error.code()), (400, "invalid_input"), "{wrong}");
        }
    }
}
