//! Attempts whose worker is gone. Where a mark says that only the data source knows the outcome, it is asked in a job
//! of its own: a data source that does not answer keeps nothing else waiting. Each is asked one question at a time.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use lakeport_physical::TaskOutcome;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::attempts::Mark;
use super::attempts::store::Orphan;
use crate::scheduler::Scheduler;

/// Data sources that are asked side by side.
pub const ASKED_AT_ONCE: usize = 8;
/// The pause before a data source is asked again: the first one, and the longest.
const AGAIN: Duration = Duration::from_secs(5);
const AGAIN_MAX: Duration = Duration::from_secs(60);
/// How long a data source is asked about an attempt before its outcome counts as unknown. By then the databases have ended
/// a session whose server is gone. The attempt is not begun again in any case.
const UNKNOWN_AFTER: Duration = Duration::from_secs(60 * 60);

/// The outcome of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It has committed.
    Done,
    /// It has changed nothing, or nothing tells: it is begun again.
    Lost,
    /// Its data source does not say so.
    Unknown,
}

/// One that is to be recorded.
pub struct Settled {
    pub orphan: Orphan,
    pub mark: Option<Mark>,
    pub fate: Fate,
}

/// A question to a data source, about the attempt of this id.
pub type Question = (i64, Mark);
/// `None`: no answer.
pub type Answer = (i64, Option<TaskOutcome>);

#[derive(Default)]
pub struct Losses {
    /// By attempt.
    open: HashMap<i64, Open>,
    /// By data source.
    silent: HashMap<i64, Silent>,
}

struct Open {
    orphan: Orphan,
    mark: Option<Mark>,
    fate: Option<Fate>,
    since: Instant,
    /// How often it was asked about, or was to be, without an outcome.
    asked: u32,
}

/// A data source that has not said all.
struct Silent {
    again: Instant,
    wait: Duration,
}

impl Losses {
    /// Takes in all running attempts without a worker.
    pub fn found(&mut self, running: Vec<Orphan>, now: Instant) {
        let ids: HashSet<i64> = running.iter().map(|orphan| orphan.id).collect();
        self.open.retain(|id, _| ids.contains(id));
        for orphan in running {
            self.open.entry(orphan.id).or_insert_with(|| {
                let mark = orphan.mark.as_deref().and_then(Mark::read);
                let fate = mark.is_none().then_some(Fate::Lost);
                Open { orphan, mark, fate, since: now, asked: 0 }
            });
        }
        let sources: HashSet<i64> = self.open.values().filter_map(Open::source).collect();
        self.silent.retain(|id, _| sources.contains(id));
    }

    /// What is to be asked now of data sources that are asked nothing else, at most so many of them. What was asked least
    /// comes first.
    pub fn questions(
        &self,
        is_being_asked: impl Fn(i64) -> bool,
        at_most: usize,
        now: Instant,
    ) -> Vec<(i64, Vec<Question>)> {
        let is_due =
            |id: &i64| !is_being_asked(*id) && self.silent.get(id).is_none_or(|silent| silent.again <= now);
        let mut due: HashMap<i64, Vec<&Open>> = HashMap::new();
        for open in self.open.values().filter(|open| open.fate.is_none()) {
            if let Some(source) = open.source().filter(is_due) {
                due.entry(source).or_default().push(open);
            }
        }
        let questions = |(source, mut open): (i64, Vec<&Open>)| {
            open.sort_by_key(|open| (open.asked, open.orphan.id));
            (source, open.into_iter().filter_map(|open| Some((open.orphan.id, open.mark.clone()?))).collect())
        };
        due.into_iter().take(at_most).map(questions).collect()
    }

    /// Takes in what a data source answered. Without an answer to one question the further ones were not asked.
    pub fn answered(&mut self, source: i64, answers: Vec<Answer>, now: Instant) {
        let answers: HashMap<i64, Option<TaskOutcome>> = answers.into_iter().collect();
        let was_silent = answers.values().any(Option::is_none);
        let mut is_settled = true;
        for open in self.open.values_mut().filter(|open| open.source() == Some(source)) {
            match answers.get(&open.orphan.id) {
                Some(Some(TaskOutcome::Committed)) => open.fate = Some(Fate::Done),
                Some(Some(TaskOutcome::RolledBack | TaskOutcome::Forgotten)) => open.fate = Some(Fate::Lost),
                Some(_) => open.asked += 1,
                // It was behind the one without an answer.
                None if was_silent && open.asked == 0 => open.asked = 1,
                None => {}
            }
            is_settled &= open.fate.is_some();
        }
        if is_settled {
            self.silent.remove(&source);
            return;
        }
        let wait = self.silent.get(&source).map_or(AGAIN, |silent| (silent.wait * 2).min(AGAIN_MAX));
        self.silent.insert(source, Silent { again: now + wait, wait });
    }

    /// Those that can be recorded. One of a run that must stop, and of which the data source has said nothing when it was
    /// asked, is waited for no longer.
    pub fn settled(&self, must_stop: impl Fn(i64) -> bool, now: Instant) -> Vec<Settled> {
        let is_given_up = |open: &Open| {
            open.asked > 0
                && (must_stop(open.orphan.run_id) || now.duration_since(open.since) >= UNKNOWN_AFTER)
        };
        let settled = |open: &Open| {
            let fate = open.fate.or_else(|| is_given_up(open).then_some(Fate::Unknown))?;
            Some(Settled { orphan: open.orphan.clone(), mark: open.mark.clone(), fate })
        };
        self.open.values().filter_map(settled).collect()
    }

    /// It is recorded.
    pub fn forget(&mut self, id: i64) {
        self.open.remove(&id);
    }
}

impl Open {
    fn source(&self) -> Option<i64> {
        self.mark.as_ref().map(|mark| mark.datasource_id)
    }
}

/// Asks one question after the other, up to the first without an answer.
pub async fn ask(state: Arc<Scheduler>, questions: Vec<Question>, halted: CancellationToken) -> Vec<Answer> {
    let mut answers = Vec::with_capacity(questions.len());
    for (id, mark) in questions {
        let Some(outcome) = halted.run_until_cancelled(mark.outcome(&state)).await else { break };
        answers.push((id, outcome));
        if outcome.is_none() {
            break;
        }
    }
    answers
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOMENT: Duration = Duration::from_millis(1);
    const NEVER: fn(i64) -> bool = |_| false;

    fn orphan(id: i64, source: Option<i64>) -> Orphan {
        let mark = source.map(|datasource_id| {
            Mark {
                datasource_id,
                place: None,
                session: Some("s".to_owned()),
                transaction: None,
                rows: 0,
                accessed: None,
            }
            .text()
        });
        Orphan { id, run_id: 100 + id, mark }
    }

    fn asked(losses: &Losses, now: Instant) -> Vec<(i64, Vec<i64>)> {
        let questions = losses.questions(NEVER, ASKED_AT_ONCE, now).into_iter();
        let mut asked: Vec<_> =
            questions.map(|(source, of)| (source, of.into_iter().map(|(id, _)| id).collect())).collect();
        asked.sort();
        asked
    }

    fn fates(losses: &Losses, must_stop: impl Fn(i64) -> bool, now: Instant) -> Vec<(i64, Fate)> {
        let mut fates: Vec<_> =
            losses.settled(must_stop, now).iter().map(|settled| (settled.orphan.id, settled.fate)).collect();
        fates.sort_by_key(|(id, _)| *id);
        fates
    }

    #[test]
    fn a_silent_data_source_is_asked_again_after_longer_and_longer_pauses() {
        let (mut losses, mut now) = (Losses::default(), Instant::now());
        let found = vec![orphan(1, Some(7)), orphan(2, Some(7)), orphan(3, Some(8)), orphan(4, None)];
        losses.found(found, now);
        assert_eq!(asked(&losses, now), [(7, vec![1, 2]), (8, vec![3])]);
        let others = losses.questions(|source| source == 7, ASKED_AT_ONCE, now);
        assert_eq!(others.len(), 1, "one question at a time");
        assert_eq!(losses.questions(NEVER, 1, now).len(), 1, "bounded");
        assert_eq!(fates(&losses, NEVER, now), [(4, Fate::Lost)], "without a mark there is nothing to ask");
        losses.answered(7, vec![(1, None)], now);
        losses.answered(8, vec![(3, Some(TaskOutcome::Committed))], now);
        assert_eq!(asked(&losses, now), []);
        assert_eq!(fates(&losses, NEVER, now), [(3, Fate::Done), (4, Fate::Lost)]);
        for wait_s in [5, 10, 20, 40, 60, 60] {
            let wait = Duration::from_secs(wait_s);
            assert_eq!(asked(&losses, now + wait - MOMENT), [], "{wait_s}");
            now += wait;
            assert_eq!(asked(&losses, now)[0].1.len(), 2, "{wait_s}");
            losses.answered(7, vec![(1, Some(TaskOutcome::InProgress)), (2, None)], now);
        }
        losses.answered(7, vec![(1, Some(TaskOutcome::RolledBack)), (2, Some(TaskOutcome::Forgotten))], now);
        assert_eq!(fates(&losses, NEVER, now).len(), 4);
        losses.found(Vec::new(), now);
        assert_eq!(fates(&losses, NEVER, now), []);
    }

    #[test]
    fn what_was_asked_least_comes_first() {
        let (mut losses, now) = (Losses::default(), Instant::now());
        losses.found(vec![orphan(1, Some(7)), orphan(2, Some(7))], now);
        losses.answered(7, vec![(1, None)], now);
        losses.answered(7, vec![(1, None)], now);
        assert_eq!(asked(&losses, now + AGAIN_MAX), [(7, vec![2, 1])]);
    }

    #[test]
    fn an_attempt_without_an_answer_ends_with_a_stop_or_after_an_hour() {
        let (mut losses, now) = (Losses::default(), Instant::now());
        losses.found(vec![orphan(1, Some(7)), orphan(2, Some(7))], now);
        let stops_1 = |run_id| run_id == 101;
        assert_eq!(fates(&losses, stops_1, now), [], "it is asked first");
        losses.answered(7, vec![(2, None)], now);
        assert_eq!(fates(&losses, stops_1, now), [(1, Fate::Unknown)]);
        let late = now + UNKNOWN_AFTER;
        assert_eq!(fates(&losses, NEVER, late - MOMENT), []);
        assert_eq!(fates(&losses, NEVER, late), [(1, Fate::Unknown), (2, Fate::Unknown)]);
    }
}
