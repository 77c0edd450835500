use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::workflows::forms::{FailureStrategy, GlobalParam, WarningType};
use crate::workflows::tasks::definition::Given;
use crate::workflows::tasks::forms::Priority;
use crate::workflows::tasks::part::{self, Names};
use crate::workflows::versions::part_digest;

fn task(name: &str, sql: String, inputs: Vec<i64>, outputs: Vec<i64>, retries: u32) -> SavedTask {
    let content = TaskContent {
        task_name: name.to_owned(),
        task_type: "SQL".to_owned(),
        datasource_id: Some(1),
        sql_content: Some(sql),
        priority: Priority::Medium,
        timeout: 0,
        retry_times: retries,
        retry_interval: 0,
        input_table_ids: inputs,
        output_table_ids: outputs,
        unresolved: Default::default(),
    };
    let digest = part_digest(&part::text(&content));
    SavedTask { content, given: Given::default(), names: Names::default(), digest }
}

fn any_task() -> impl Strategy<Value = SavedTask> {
    let tables = || prop::collection::vec(1..5_i64, 0..3);
    let words =
        prop::sample::select(vec!["SELECT 1", "SELECT 2\nFROM t\nWHERE a = 1", "INSERT INTO t\nVALUES (1)"]);
    let name = prop::sample::select(vec!["a", "b", "c"]);
    (name, words, tables(), tables(), 0..3_u32).prop_map(|(name, sql, inputs, outputs, retries)| {
        task(name, sql.to_owned(), inputs, outputs, retries)
    })
}

fn any_schedule() -> impl Strategy<Value = Schedule> {
    (prop::sample::select(vec!["0 0 0 * * ? *", "0 0 1 * * ? *"]), prop::option::of(0..3_i64)).prop_map(
        |(crontab, start)| Schedule {
            crontab: crontab.to_owned(),
            start_ms: start.map(|hours| hours * 3_600_000),
            end_ms: None,
            timezone: "UTC".to_owned(),
            failure_strategy: FailureStrategy::Continue,
            warning_type: WarningType::None,
        },
    )
}

fn any_snapshot(version: i64) -> impl Strategy<Value = Snapshot> {
    let params = prop::collection::vec(("[ab]", "[xy]"), 0..3);
    let tasks = prop::collection::btree_map(1..6_i64, any_task(), 0..5);
    ("[ab]", prop::option::of("[cd]"), params, prop::option::of(any_schedule()), tasks).prop_map(
        move |(name, description, params, schedule, tasks)| {
            let params = params.into_iter().map(|(name, value)| GlobalParam { name, value });
            let content = Content {
                name,
                description,
                scheduler_engine: "local".to_owned(),
                global_params: params.collect(),
                concurrency: crate::workflows::forms::Concurrency::default(),
                schedule,
            };
            Snapshot { version, content, tasks }
        },
    )
}

/// All that a comparison is about, as members.
#[derive(Debug, Clone, PartialEq)]
struct Shown {
    workflow: Map<String, Value>,
    schedule: Map<String, Value>,
    tasks: BTreeMap<i64, Map<String, Value>>,
    edges: BTreeSet<(i64, i64)>,
}

impl Shown {
    fn of(snapshot: &Snapshot) -> Shown {
        let tasks = snapshot.tasks.iter().map(|(id, task)| (*id, object(&task.content)));
        let schedule = snapshot.content.schedule.as_ref();
        Shown {
            workflow: members(&snapshot.content),
            schedule: schedule.map(|schedule| times(schedule, Tz::UTC)).unwrap_or_default(),
            tasks: tasks.collect(),
            edges: snapshot.edges(EDGES_MAX).into_iter().collect(),
        }
    }

    /// Applies a difference, as a client that has nothing else does.
    fn changed_by(mut self, comparison: &Comparison) -> Shown {
        apply(&mut self.workflow, &comparison.workflow);
        apply(&mut self.schedule, &comparison.schedule);
        for gone in &comparison.tasks.removed {
            assert!(self.tasks.remove(&gone.task_id).is_some());
        }
        for new in &comparison.tasks.added {
            assert!(self.tasks.insert(new.task_id, object(&new.content)).is_none());
        }
        for one in &comparison.tasks.modified {
            apply(self.tasks.get_mut(&one.task_id).expect("it is there"), &one.changes);
        }
        for edge in &comparison.edges.removed {
            assert!(self.edges.remove(&(edge.source, edge.target)));
        }
        for edge in &comparison.edges.added {
            assert!(self.edges.insert((edge.source, edge.target)));
        }
        self
    }

    /// A member that is null counts as absent.
    fn without_nulls(mut self) -> Shown {
        let all = [&mut self.workflow, &mut self.schedule].into_iter().chain(self.tasks.values_mut());
        all.for_each(|members| members.retain(|_, value| !value.is_null()));
        self
    }
}

fn apply(members: &mut Map<String, Value>, changes: &[FieldChange]) {
    for change in changes {
        let before = members.get(&change.field).cloned().unwrap_or_default();
        assert_eq!(before, change.before, "{}", change.field);
        members.insert(change.field.clone(), change.after.clone());
    }
}

proptest! {
    #[test]
    fn the_difference_turns_one_version_into_the_other(one in any_snapshot(1), other in any_snapshot(2)) {
        let comparison = Comparison::of(Some(&one), &other, Tz::UTC);
        let (before, after) = (Shown::of(&one), Shown::of(&other));
        prop_assert_eq!(comparison.identical, before.clone().without_nulls() == after.clone().without_nulls());
        prop_assert_eq!(comparison.unified_diff.is_empty(), comparison.identical);
        prop_assert_eq!(before.changed_by(&comparison).without_nulls(), after.without_nulls());
        let back = Comparison::of(Some(&other), &one, Tz::UTC);
        let there = Shown::of(&other).changed_by(&back).without_nulls();
        prop_assert_eq!(there, Shown::of(&one).without_nulls());
    }

    #[test]
    fn nothing_differs_from_itself(one in any_snapshot(1)) {
        prop_assert!(Comparison::of(Some(&one), &one, Tz::UTC).identical);
    }
}

fn empty(version: i64) -> Snapshot {
    let content = Content {
        name: "w".to_owned(),
        description: None,
        scheduler_engine: "local".to_owned(),
        global_params: Vec::new(),
        concurrency: crate::workflows::forms::Concurrency::default(),
        schedule: None,
    };
    Snapshot { version, content, tasks: BTreeMap::new() }
}

#[test]
fn the_text_shows_changed_lines_with_their_neighbours() {
    let (mut one, mut other) = (empty(1), empty(2));
    one.tasks.insert(4, task("load", "SELECT 1\nFROM a".to_owned(), vec![], vec![], 0));
    other.tasks.insert(4, task("load", "SELECT 2\nFROM a".to_owned(), vec![], vec![], 0));
    other.tasks.insert(5, task("x\u{1b}[2J", "SELECT 3".to_owned(), vec![], vec![], 0));
    let text = Comparison::of(Some(&one), &other, Tz::UTC).unified_diff;
    assert!(text.starts_with("--- a/tasks/load\n+++ b/tasks/load\n@@ "), "{text}");
    assert!(text.contains("\n-  SELECT 1\n+  SELECT 2\n   FROM a\n"), "{text}");
    assert!(text.contains("--- /dev/null\n+++ b/tasks/x\\u{1b}[2J\n"), "{text}");
    assert!(!text.contains('\u{1b}'), "it cannot drive a terminal");
}

#[test]
fn a_great_difference_is_cut_at_a_line() {
    let mut other = empty(2);
    for id in 0..40 {
        let sql = "SELECT 1 -- a long line of text\n".repeat(2_000);
        other.tasks.insert(id, task(&format!("t{id}"), sql, vec![], vec![], 0));
    }
    let text = Comparison::of(Some(&empty(1)), &other, Tz::UTC).unified_diff;
    assert!(text.len() < 1024 * 1024 + 200, "{}", text.len());
    assert!(text.lines().last().is_some_and(|line| line.starts_with("\\ more than")), "it says so");
}
