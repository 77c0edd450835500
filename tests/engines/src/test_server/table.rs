//! The table of the calls that are foreseen.

use super::Generation;
use super::answers::{Args, Outcome};
use super::state::State;
use super::{control, definitions, fixed, runs, schedules, starts, tries};

/// What a parameter may be.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Text,
    Number,
    Flag,
    Word(&'static [&'static str]),
}

impl Kind {
    pub fn takes(self, text: &str) -> bool {
        match self {
            Kind::Text => true,
            Kind::Number => text.trim().parse::<i64>().is_ok(),
            Kind::Flag => matches!(text, "true" | "false"),
            Kind::Word(words) => words.contains(&text),
        }
    }
}

/// Name, whether it is required, and kind.
type Param = (&'static str, bool, Kind);
type Answer = fn(&mut State, &Args) -> Outcome;

/// A call, with the names of its generation.
pub struct Call {
    pub method: &'static str,
    /// `projects/{project}/schedules/{id}`
    pub path: String,
    /// The HTTP status of all its answers.
    pub status: u16,
    /// The code and text of a parameter that is missing or wrong.
    pub failure: (i64, &'static str),
    pub params: Vec<(String, bool, Kind)>,
    pub answer: Answer,
    /// Schemas of parts of the answer for which the OpenAPI document has none.
    pub parts: Vec<(String, String)>,
}

impl Call {
    /// `{P}` is the project.
    fn new(line: &'static str, code: i64, text: &'static str, answer: Answer) -> Call {
        let (method, path) = line.split_once(' ').unwrap_or_default();
        let path = path.replace("{P}", "projects/{project}");
        let (params, parts) = (Vec::new(), Vec::new());
        Call { method, path, status: 200, failure: (code, text), params, answer, parts }
    }

    fn created(self) -> Call {
        Call { status: 201, ..self }
    }

    fn with(mut self, params: &[Param]) -> Call {
        self.params.extend(params.iter().map(|(name, needed, kind)| ((*name).to_owned(), *needed, *kind)));
        self
    }

    fn shows(mut self, pointer: &str, schema: &str) -> Call {
        self.parts.push((pointer.to_owned(), schema.to_owned()));
        self
    }

    fn named(mut self, generation: Generation) -> Call {
        self.path = generation.word(&self.path);
        self.params.iter_mut().for_each(|(name, _, _)| *name = generation.word(name));
        for (pointer, schema) in &mut self.parts {
            (*pointer, *schema) = (generation.word(pointer), generation.word(schema));
        }
        self
    }
}

use Kind::{Flag, Number, Text, Word};

const PAGE: [Param; 2] = [("pageNo", true, Number), ("pageSize", true, Number)];
const SEARCH: [Param; 1] = [("searchVal", false, Text)];
const PRIORITY: Kind = Word(&["HIGHEST", "HIGH", "MEDIUM", "LOW", "LOWEST"]);
const STRATEGY: Kind = Word(&["END", "CONTINUE"]);
const WARNING: Kind = Word(&["NONE", "SUCCESS", "FAILURE", "ALL"]);
const RELEASE: Kind = Word(&["OFFLINE", "ONLINE"]);
const EXECUTION: Kind = Word(&["PARALLEL", "SERIAL_WAIT", "SERIAL_DISCARD", "SERIAL_PRIORITY"]);
const RUN_STATES: Kind = Word(&[
    "SUBMITTED_SUCCESS",
    "RUNNING_EXECUTION",
    "READY_PAUSE",
    "PAUSE",
    "READY_STOP",
    "STOP",
    "FAILURE",
    "SUCCESS",
    "SERIAL_WAIT",
    "WAIT_TO_RUN",
]);
const TRY_STATES: Kind = Word(&[
    "SUBMITTED_SUCCESS",
    "RUNNING_EXECUTION",
    "PAUSE",
    "FAILURE",
    "SUCCESS",
    "NEED_FAULT_TOLERANCE",
    "KILL",
    "DELAY_EXECUTION",
    "FORCED_SUCCESS",
    "DISPATCH",
]);
const DEPEND: Kind = Word(&["TASK_ONLY", "TASK_PRE", "TASK_POST"]);
const RUN_MODE: Kind = Word(&["RUN_MODE_SERIAL", "RUN_MODE_PARALLEL"]);
const EXEC: Kind = Word(&["START_PROCESS", "COMPLEMENT_DATA", "SCHEDULER", "REPEAT_RUNNING"]);
const ORDER: Kind = Word(&["DESC_ORDER", "ASC_ORDER"]);
const DEPENDENT: Kind = Word(&["OFF_MODE", "ALL_DEPENDENT"]);
const EXECUTE: Kind = Word(&[
    "NONE",
    "REPEAT_RUNNING",
    "RECOVER_SUSPENDED_PROCESS",
    "START_FAILURE_TASK_PROCESS",
    "STOP",
    "PAUSE",
    "EXECUTE_TASK",
]);
const DEFINITION: [Param; 8] = [
    ("name", true, Text),
    ("description", false, Text),
    ("globalParams", false, Text),
    ("locations", true, Text),
    ("timeout", false, Number),
    ("taskRelationJson", true, Text),
    ("taskDefinitionJson", true, Text),
    ("executionType", false, EXECUTION),
];
const SCHEDULE: [Param; 8] = [
    ("schedule", true, Text),
    ("warningType", false, WARNING),
    ("warningGroupId", false, Number),
    ("failureStrategy", false, STRATEGY),
    ("workerGroup", false, Text),
    ("tenantCode", false, Text),
    ("environmentCode", false, Number),
    ("processInstancePriority", false, PRIORITY),
];
const START: [Param; 19] = [
    ("processDefinitionCode", true, Number),
    ("scheduleTime", true, Text),
    ("failureStrategy", true, STRATEGY),
    ("startNodeList", false, Text),
    ("taskDependType", false, DEPEND),
    ("execType", false, EXEC),
    ("warningType", true, WARNING),
    ("warningGroupId", false, Number),
    ("runMode", false, RUN_MODE),
    ("processInstancePriority", true, PRIORITY),
    ("workerGroup", false, Text),
    ("tenantCode", false, Text),
    ("environmentCode", false, Number),
    ("startParams", false, Text),
    ("expectedParallelismNumber", false, Number),
    ("dryRun", false, Number),
    ("complementDependentMode", false, DEPENDENT),
    ("allLevelDependent", false, Flag),
    ("executionOrder", false, ORDER),
];
const RUNS: [Param; 5] = [
    ("processDefineCode", false, Number),
    ("stateType", false, RUN_STATES),
    ("startDate", false, Text),
    ("endDate", false, Text),
    ("host", false, Text),
];
const TRIES: [Param; 4] = [
    ("processInstanceId", false, Number),
    ("taskName", false, Text),
    ("stateType", false, TRY_STATES),
    ("taskExecuteType", false, Word(&["BATCH", "STREAM"])),
];
const LOG: [Param; 3] =
    [("taskInstanceId", true, Number), ("skipLineNum", true, Number), ("limit", true, Number)];

/// All of them, of one generation.
pub fn all(generation: Generation) -> Vec<Call> {
    let all = [fixed_calls(generation), definition_calls(), schedule_calls(), run_calls()];
    all.into_iter().flatten().map(|call| call.named(generation)).collect()
}

fn fixed_calls(generation: Generation) -> Vec<Call> {
    let workers = match generation {
        Generation::V32 => "GET monitor/workers",
        Generation::V33 => "GET monitor/WORKER",
    };
    let log_in: [Param; 2] = [("userName", true, Text), ("userPassword", true, Text)];
    vec![
        Call::new("GET projects", 10_049, "login user query project list paging error", fixed::projects)
            .with(&PAGE)
            .with(&SEARCH)
            .shows("/totalList/*", "Project"),
        Call::new("GET projects/list", 10_162, "query project error", fixed::project_list)
            .shows("/*", "Project"),
        Call::new("GET tenants/list", 10_086, "query tenant list error", fixed::tenants),
        Call::new(workers, 10_044, "list workers error", fixed::workers),
        Call::new("POST login", 10_043, "user login failure", fixed::log_in).with(&log_in),
        Call::new("GET datasources", 10_035, "query datasource error", fixed::sources)
            .with(&PAGE)
            .with(&SEARCH)
            .shows("/totalList/*", "DataSource"),
        Call::new("POST datasources", 10_033, "create datasource error", fixed::make_source).created(),
    ]
}

fn definition_calls() -> Vec<Call> {
    let schema = "ProcessDefinition";
    vec![
        Call::new(
            "GET {P}/process-definition",
            10_122,
            "query process definition list paging error",
            definitions::list,
        )
        .with(&PAGE)
        .with(&SEARCH),
        Call::new(
            "POST {P}/process-definition",
            10_105,
            "create process definition error",
            definitions::create,
        )
        .with(&DEFINITION)
        .created()
        .shows("", schema),
        Call::new(
            "GET {P}/process-definition/{code}",
            10_109,
            "query detail of process definition error",
            definitions::detail,
        )
        .shows("/processDefinition", schema)
        .shows("/processTaskRelationList/*", "ProcessTaskRelation")
        .shows("/taskDefinitionList/*", "TaskDefinition"),
        Call::new(
            "PUT {P}/process-definition/{code}",
            10_107,
            "update process definition error",
            definitions::update,
        )
        .with(&DEFINITION)
        .with(&[("releaseState", false, RELEASE)])
        .shows("", schema),
        Call::new(
            "DELETE {P}/process-definition/{code}",
            10_158,
            "delete process definition error",
            definitions::delete,
        ),
        Call::new(
            "POST {P}/process-definition/{code}/release",
            10_108,
            "release process definition error",
            definitions::release,
        )
        .with(&[("releaseState", true, RELEASE)]),
        Call::new(
            "GET {P}/task-definition/gen-task-codes",
            10_140,
            "generate task codes error",
            definitions::new_task_codes,
        )
        .with(&[("genNum", true, Number)]),
    ]
}

fn schedule_calls() -> Vec<Call> {
    vec![
        Call::new("GET {P}/schedules", 10_080, "query schedule list paging error", schedules::list)
            .with(&PAGE)
            .with(&SEARCH)
            .with(&[("processDefinitionCode", false, Number)])
            .shows("/totalList/*", "Schedule"),
        Call::new("POST {P}/schedules", 10_076, "create schedule error", schedules::create)
            .with(&SCHEDULE)
            .with(&[("processDefinitionCode", true, Number)])
            .created()
            .shows("", "Schedule"),
        Call::new("PUT {P}/schedules/{id}", 10_077, "update schedule error", schedules::update)
            .with(&SCHEDULE)
            .shows("", "Schedule"),
        Call::new("DELETE {P}/schedules/{id}", 50_024, "delete schedule by id error", schedules::delete),
        Call::new(
            "POST {P}/schedules/{id}/online",
            10_078,
            "publish schedule online error",
            schedules::online,
        ),
        Call::new("POST {P}/schedules/{id}/offline", 10_079, "offline schedule error", schedules::offline),
    ]
}

fn run_calls() -> Vec<Call> {
    let execute: [Param; 2] = [("processInstanceId", true, Number), ("executeType", true, EXECUTE)];
    let of_id = "query process instance by id error";
    vec![
        Call::new(
            "POST {P}/executors/start-process-instance",
            50_014,
            "start process instance error",
            starts::start,
        )
        .with(&START),
        Call::new("POST {P}/executors/execute", 50_015, "execute process instance error", control::execute)
            .with(&execute),
        Call::new(
            "GET {P}/process-instances",
            10_113,
            "query process instance list paging error",
            runs::list,
        )
        .with(&PAGE)
        .with(&SEARCH)
        .with(&RUNS)
        .shows("/totalList/*", "ProcessInstance"),
        Call::new("GET {P}/process-instances/trigger", 10_116, of_id, runs::of_trigger)
            .with(&[("triggerCode", true, Number)])
            .shows("/*", "ProcessInstance"),
        Call::new("GET {P}/process-instances/{id}", 10_116, of_id, runs::detail).shows("", "ProcessInstance"),
        Call::new("GET {P}/task-instances", 10_082, "query task list paging error", tries::list)
            .with(&PAGE)
            .with(&TRIES)
            .shows("/totalList/*", "TaskInstance"),
        Call::new("GET log/detail", 10_103, "view task instance log error", tries::log).with(&LOG),
    ]
}
