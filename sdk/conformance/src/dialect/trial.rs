//! Plans one change with the dialect and judges it.

use lakeport_bindings::dialect::about::DialectInfo;
use lakeport_bindings::dialect::planner::{Change, ChangePlan, DataType};
use lakeport_bindings::dialect::schema::ServerInfo;
use lakeport_bindings::host::types::Problem;
use lakeport_plugins::dialect::Dialect;
use lakeport_plugins::{CallContext, Description};
use lakeport_sql::lex::{Kind, lex};
use lakeport_sql::names::check_names;
use lakeport_sql::{CheckedPlan, PlanRefused, Profile, check_plan};

use crate::load::{LoadError, Loaded};
use crate::report::{Area, Report};

/// Part of every hostile text: if it is found outside of quotes, the text broke out.
pub const MARK: &str = "zqx9";
/// Enough of a text to recognise it.
const SHOWN_CHARS: usize = 60;

/// A dialect on trial, for one server at a time.
pub struct Trial {
    pub info: DialectInfo,
    pub profile: Profile,
    pub report: Report,
    pub server: ServerInfo,
    /// The reader's facts about a plain table.
    pub extra: Option<String>,
    dialect: Dialect,
}

/// The outcome of a change.
pub enum Verdict {
    /// The plan is valid.
    Planned(CheckedPlan),
    /// The dialect, or the host, reported an obstacle.
    Refused(Vec<Problem>),
    /// A finding, added to the report.
    Wrong,
}

impl Verdict {
    pub fn has_code(&self, code: &str) -> bool {
        matches!(self, Verdict::Refused(problems) if problems.iter().any(|problem| problem.code == code))
    }
}

impl Trial {
    pub fn new(loaded: &Loaded) -> Result<Trial, LoadError> {
        let Description::Dialect(info) = &loaded.generation.description else {
            return Err(LoadError::new(format!("{} is not a dialect", loaded.generation.id)));
        };
        let profile = Profile::new(info)
            .map_err(|problems| LoadError::new(format!("the description is refused: {}", said(&problems))))?;
        Ok(Trial {
            dialect: loaded.registry.dialect(&info.name, ""),
            report: Report::new(format!("dialect {} {}", info.name, info.version)),
            server: ServerInfo { product: String::new(), version: String::new(), facts: "{}".to_owned() },
            extra: None,
            info: (**info).clone(),
            profile,
        })
    }

    /// Each product, without version and facts.
    pub fn plain_servers(&self) -> Vec<ServerInfo> {
        let server = |product: &String| ServerInfo {
            product: product.clone(),
            version: String::new(),
            facts: "{}".to_owned(),
        };
        self.info.products.iter().map(server).collect()
    }

    /// Parses types; `None` if that failed, which the report then has.
    pub async fn parse(&mut self, area: Area, texts: &[String]) -> Option<Vec<Result<DataType, Problem>>> {
        self.report.case(area);
        let context = CallContext::new("conformance");
        let server = self.server.clone();
        match self.dialect.parse_types(context, Some(&server), texts).await {
            Ok(answers) if answers.len() == texts.len() => Some(answers),
            Ok(answers) => {
                let what = format!("{} answers to {} texts", answers.len(), texts.len());
                self.report.add(area, "planner.parse-types", what, "each text is answered, in their order");
                None
            }
            Err(error) => {
                let first = texts.first().map(|text| shown(text)).unwrap_or_default();
                let place = format!("planner.parse-types of {} texts, the first {first}", texts.len());
                self.report.add(area, &place, error.to_string(), NEVER_FAILS);
                None
            }
        }
    }

    /// Has a change planned twice, and judges it as the host does. Adds findings to the report.
    pub async fn judge(&mut self, area: Area, what: &str, change: &Change) -> Verdict {
        match self.play(area, what, change).await {
            Ok(verdict) => verdict,
            Err(wrong) => self.wrong(area, what, change, wrong),
        }
    }

    /// The same for an expression of a hostile database. The dialect returns it unchanged, so the host
    /// detects it, and the dialect is not to blame.
    pub async fn judge_expression(&mut self, what: &str, change: &Change) {
        match self.play(Area::Quoting, what, change).await {
            Err(Wrong { rule: Some("expression" | "reread"), .. }) | Ok(_) => {}
            Err(wrong) => drop(self.wrong(Area::Quoting, what, change, wrong)),
        }
    }

    fn wrong(&mut self, area: Area, what: &str, change: &Change, wrong: Wrong) -> Verdict {
        let place = self.place(what, change);
        self.report.add(area, &place, wrong.what, wrong.why);
        Verdict::Wrong
    }

    fn place(&self, what: &str, change: &Change) -> String {
        format!("{}, {}: {what}", self.server.product, operation(change))
    }

    async fn play(&mut self, area: Area, what: &str, change: &Change) -> Result<Verdict, Wrong> {
        self.report.case(area);
        let first = self.plan(change).await?;
        if first != self.plan(change).await? {
            let why = "planning is a function of server, table and change; the host asks twice and compares";
            let place = self.place(what, change);
            self.report.add(Area::Determinism, &place, "two answers to one question", why);
        }
        let hindered = check_names(&self.profile, change);
        if !hindered.is_empty() {
            // The host checks this before it asks; the dialect only must not fail.
            return Ok(Verdict::Refused(hindered));
        }
        let plan = match first {
            Ok(plan) => plan,
            Err(problems) => return refused(problems),
        };
        match check_plan(&self.profile, change, &plan) {
            Ok(checked) => self.stays_in_quotes(checked),
            Err(PlanRefused::Text(problem)) => Ok(Verdict::Refused(vec![problem])),
            Err(PlanRefused::Plugin(refusal)) => Err(Wrong {
                what: format!("the host refuses the plan: {refusal}"),
                why: "what the host refuses counts against the plugin; say what hinders the change instead",
                rule: Some(refusal.rule),
            }),
        }
    }

    async fn plan(&self, change: &Change) -> Result<Result<ChangePlan, Vec<Problem>>, Wrong> {
        let context = CallContext::new("conformance");
        let answer = self.dialect.plan(context, &self.server, change).await;
        answer.map_err(|error| Wrong { what: error.to_string(), why: NEVER_FAILS, rule: None })
    }

    /// Whether the mark occurs within literals and names only.
    fn stays_in_quotes(&self, plan: CheckedPlan) -> Result<Verdict, Wrong> {
        let actions = plan.steps.iter().flat_map(|step| std::iter::once(&step.action).chain(&step.undo));
        let escaped = actions
            .map(|action| action.sql.as_str())
            .find(|sql| self.profile.readings().into_iter().any(|reading| escapes(sql, reading)));
        match escaped {
            None => Ok(Verdict::Planned(plan)),
            Some(sql) => Err(Wrong {
                what: format!("a text of the user is outside of quotes in {}", shown(sql)),
                why: "texts of users are literals and names, never words",
                rule: None,
            }),
        }
    }
}

/// The error of a plan.
struct Wrong {
    what: String,
    why: &'static str,
    /// The broken rule of the host.
    rule: Option<&'static str>,
}

fn refused(problems: Vec<Problem>) -> Result<Verdict, Wrong> {
    let word = |code: &str| !code.is_empty() && code.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
    let told = |problem: &Problem| word(&problem.code) && !problem.message.trim().is_empty();
    if !problems.is_empty() && problems.iter().all(told) {
        return Ok(Verdict::Refused(problems));
    }
    let why = "a refusal has a problem for each member, with a code in snake_case and a message for a person";
    Err(Wrong { what: format!("refused with {problems:?}"), why, rule: None })
}

const NEVER_FAILS: &str = "a call must answer, with problems if necessary; it must not trap or time out";

fn escapes(sql: &str, reading: lakeport_sql::Lexing) -> bool {
    let Ok(lexemes) = lex(sql, reading) else { return true };
    lexemes.iter().any(|lexeme| {
        !matches!(lexeme.kind, Kind::Text(_) | Kind::Name(_)) && sql[lexeme.span.clone()].contains(MARK)
    })
}

/// The operation's name in vocabularies.
pub fn operation(change: &Change) -> &str {
    match change {
        Change::CreateTable(_) => "create_table",
        Change::RenameTable(_) => "rename_table",
        Change::DropTable(_) => "drop_table",
        Change::RestoreTable(_) => "restore_table",
        Change::CommentTable(_) => "comment_table",
        Change::AddField(_) => "add_field",
        Change::AlterField(_) => "alter_field",
        Change::DropField(_) => "drop_field",
        Change::SetBuckets(_) => "set_buckets",
        Change::SetReplicas(_) => "set_replicas",
        Change::Other(other) => &other.operation,
    }
}

/// Problems in one line.
pub fn said(problems: &[Problem]) -> String {
    let one = |problem: &Problem| format!("{}: {}: {}", problem.member, problem.code, problem.message);
    problems.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Enough of a text to recognise it.
pub fn shown(text: &str) -> String {
    let mut shown = format!("{:?}", text.chars().take(SHOWN_CHARS).collect::<String>());
    if text.chars().nth(SHOWN_CHARS).is_some() {
        shown.push_str(" …");
    }
    shown
}
