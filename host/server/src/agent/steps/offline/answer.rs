//! Answers in the question's language, from the rows alone: all figures are in them or follow from them.
//! Texts of the data are shown on one line and cut, whatever they contain.

use lakeport_base::text::shortened;
use serde_json::Value;

use super::CANDIDATE;
use super::figure::{Figure, sum};
use super::question::Direction;
use crate::agent::outcome::{Answer, Candidate, Outcome};
use crate::agent::steps::model::Language;
use crate::agent::tasks::event::ToolError;

/// The shown entries of a ranking, tables of a list and columns of a row.
const ENTRIES_SHOWN: usize = 5;
const TABLES_SHOWN: usize = 20;
const FIELDS_SHOWN: usize = 50;
const COLUMNS_SHOWN: usize = 8;
/// Characters of a value, and of a comment.
const VALUE_MAX_CHARS: usize = 80;
const COMMENT_MAX_CHARS: usize = 200;
/// The most suggested questions.
const COULD_SHOWN: usize = 3;

/// Rows with column names and indices. The SQL's plan describes their meaning; nothing is guessed from names.
struct Rows<'r> {
    language: Language,
    columns: Vec<&'r str>,
    rows: Vec<&'r [Value]>,
    /// Indices of the measures, and of the other columns.
    measures: Vec<usize>,
    labels: Vec<usize>,
    /// Names of the measures whose values add up.
    summed: Vec<&'r str>,
    /// The unit of a series.
    unit: Option<&'r str>,
    /// There are more rows.
    is_cut: bool,
    /// The row limit is reached: there may be more.
    is_full: bool,
}

/// The answer from the rows of a query.
pub fn of_rows(language: Language, written: &Value, table: &Value) -> String {
    let rows = Rows::new(language, written, table);
    let title = capitalised(&text(&written["title"], COMMENT_MAX_CHARS));
    let said = match (rows.rows.len(), written["shape"].as_str()) {
        (0, _) => rows.none(),
        (1, _) => rows.one(),
        (_, Some("series")) => rows.series(),
        (_, Some("ranking")) => rows.ranking(),
        _ => rows.many(),
    };
    let mut answer = match (language, title.is_empty()) {
        (_, true) => said,
        (Language::English, false) => format!("{title}: {said}"),
        (Language::Chinese, false) => format!("{title}：{said}"),
    };
    answer += &rows.rest();
    let explanation = text(&written["explanation"], 10 * COMMENT_MAX_CHARS);
    if explanation.is_empty() { answer } else { format!("{answer}\n\n{explanation}") }
}

/// The terms of the glossary that a question was read by.
pub fn of_terms(language: Language, used: &[(&str, &str)]) -> String {
    let one = |(word, phrase): &(&str, &str)| match language {
        Language::English => format!("“{word}” is read as “{phrase}”"),
        Language::Chinese => format!("“{word}”按“{phrase}”理解"),
    };
    let all: Vec<String> = used.iter().map(one).collect();
    match language {
        Language::English => format!("Glossary: {}.", all.join("; ")),
        Language::Chinese => format!("术语表：{}。", all.join("；")),
    }
}

impl<'r> Rows<'r> {
    fn new(language: Language, written: &'r Value, table: &'r Value) -> Rows<'r> {
        let columns: Vec<&str> = list(&table["columns"])
            .iter()
            .map(|column| column["name"].as_str().unwrap_or_default())
            .collect();
        let named: Vec<&str> = list(&written["measures"]).iter().filter_map(Value::as_str).collect();
        let (measures, labels) = (0..columns.len()).partition(|&place| named.contains(&columns[place]));
        let rows: Vec<&[Value]> = list(&table["rows"]).iter().map(list).collect();
        let summed = list(&written["summed"]).iter().filter_map(Value::as_str).collect();
        let unit = written["unit"].as_str();
        let is_cut = table["truncated"].as_bool().unwrap_or(false);
        let is_full = !is_cut && written["limit"].as_u64().is_some_and(|limit| rows.len() as u64 >= limit);
        Rows { language, columns, rows, measures, labels, summed, unit, is_cut, is_full }
    }

    /// A remark that these are not all.
    fn rest(&self) -> String {
        let count = self.rows.len();
        // A series without a range extends backwards from its end.
        let latest = self.unit.is_some() && self.labels.len() == 1;
        match (self.language, self.is_cut, self.is_full && latest) {
            (Language::English, true, _) => format!(" These are the first {count} rows; there are more."),
            (Language::Chinese, true, _) => format!("以上仅为前 {count} 行，还有更多。"),
            (Language::English, _, true) => {
                format!(" These are the latest {count} rows; there may be earlier ones.")
            }
            (Language::Chinese, _, true) => format!("以上为最近 {count} 行，之前可能还有。"),
            _ => String::new(),
        }
    }

    fn none(&self) -> String {
        match self.language {
            Language::English => "nothing was found; no row fits.".to_owned(),
            Language::Chinese => "没有找到符合条件的数据。".to_owned(),
        }
    }

    /// A single value, or a single row.
    fn one(&self) -> String {
        let row = self.rows[0];
        let shown = |place: usize| self.value(row.get(place).unwrap_or(&Value::Null));
        let mut said: Vec<String> = self.labels.iter().map(|&place| shown(place)).collect();
        match (self.measures.as_slice(), said.is_empty()) {
            ([measure], true) => said.push(shown(*measure)),
            (measures, _) => {
                let named = |&place: &usize| {
                    format!("{} {}", one_line(self.columns[place], VALUE_MAX_CHARS), shown(place))
                };
                said.extend(measures.iter().map(named));
            }
        }
        said.truncate(COLUMNS_SHOWN);
        self.sentence(&said.join(self.comma()))
    }

    /// One figure over time: its total, if meaningful, and its peak. With several rows per point in time, or
    /// incomplete rows, neither would be correct.
    fn series(&self) -> String {
        let (&[measure], &[label], false) = (&self.measures[..], &self.labels[..], self.is_cut) else {
            return self.many();
        };
        let points: Vec<(&Value, Figure)> = self
            .rows
            .iter()
            .filter_map(|row| Some((row.get(label)?, Figure::of(row.get(measure)?)?)))
            .collect();
        let Some(top) = points.iter().map(|(_, figure)| figure.value).max_by(f64::total_cmp) else {
            return self.many();
        };
        let (peak, figure) =
            points.iter().find(|(_, figure)| figure.value == top).expect("the highest is one of them");
        let (peak, unit) = (self.value(peak), self.unit());
        let count = self.rows.len();
        if points.len() == count && points.iter().all(|(_, figure)| figure.value == 0.0) {
            return match self.language {
                Language::English => format!("0 in every one of the {count} {unit}."),
                Language::Chinese => format!("{count} {unit}均为 0。"),
            };
        }
        let figures: Vec<Figure> = points.iter().map(|(_, figure)| figure.clone()).collect();
        let total = sum(&figures).filter(|_| !self.is_full && self.is_summed(measure));
        let top = figure.told();
        let on = if matches!(self.unit, Some("day") | None) { "on" } else { "in" };
        match (self.language, total) {
            (Language::English, Some(total)) => {
                format!("{total} in total over {count} {unit}; the most {on} {peak} ({top}).")
            }
            (Language::English, None) => format!("{count} {unit}; the highest {on} {peak} ({top})."),
            (Language::Chinese, Some(total)) => {
                format!("{count} {unit}合计 {total}，最高为 {peak}（{top}）。")
            }
            (Language::Chinese, None) => format!("共 {count} {unit}，最高为 {peak}（{top}）。"),
        }
    }

    /// The axis of a series.
    fn unit(&self) -> &'static str {
        match (self.language, self.unit) {
            (Language::English, Some("day")) => "days",
            (Language::English, Some("week")) => "weeks",
            (Language::English, Some("month")) => "months",
            (Language::English, Some("year")) => "years",
            (Language::English, _) => "points in time",
            (Language::Chinese, Some("day")) => "天",
            (Language::Chinese, Some("week")) => "周",
            (Language::Chinese, Some("month")) => "个月",
            (Language::Chinese, Some("year")) => "年",
            (Language::Chinese, _) => "个时间点",
        }
    }

    /// The leaders of a ranking.
    fn ranking(&self) -> String {
        let entry = |(place, row): (usize, &&[Value])| {
            let told = |places: &[usize]| {
                let values = places.iter().map(|&at| self.value(row.get(at).unwrap_or(&Value::Null)));
                values.take(COLUMNS_SHOWN).collect::<Vec<_>>().join(self.comma())
            };
            let (label, figures) = (told(&self.labels), told(&self.measures));
            match self.language {
                Language::English => format!("{}. {label} ({figures})", place + 1),
                Language::Chinese => format!("{}. {label}（{figures}）", place + 1),
            }
        };
        if self.labels.is_empty() || self.measures.is_empty() {
            return self.many();
        }
        let entries: Vec<String> = self.rows.iter().take(ENTRIES_SHOWN).enumerate().map(entry).collect();
        let (said, count) = (entries.join(self.comma()), self.rows.len());
        match self.language {
            _ if count <= ENTRIES_SHOWN => self.sentence(&said),
            Language::English if self.is_cut || self.is_full => {
                format!("{said}; the table shows the first {count}.")
            }
            Language::Chinese if self.is_cut || self.is_full => format!("{said}；表格列出前 {count} 项。"),
            Language::English => format!("{said}; {count} in all."),
            Language::Chinese => format!("{said}；共 {count} 项。"),
        }
    }

    fn many(&self) -> String {
        let count = self.rows.len();
        match (self.language, self.is_cut || self.is_full) {
            (Language::English, false) => format!("{count} rows; the table shows them."),
            (Language::Chinese, false) => format!("共 {count} 行，见表格。"),
            (Language::English, true) => format!("the table shows {count} rows."),
            (Language::Chinese, true) => format!("表格列出 {count} 行。"),
        }
    }

    fn is_summed(&self, measure: usize) -> bool {
        self.summed.contains(&self.columns[measure])
    }

    fn value(&self, value: &Value) -> String {
        match (value, self.language) {
            (Value::Null, Language::English) => "no value".to_owned(),
            (Value::Null, Language::Chinese) => "无值".to_owned(),
            (Value::String(text), _) => one_line(text, VALUE_MAX_CHARS),
            (other, _) => Figure::of(other).map_or_else(|| other.to_string(), |figure| figure.told()),
        }
    }

    fn comma(&self) -> &'static str {
        comma(self.language)
    }

    fn sentence(&self, said: &str) -> String {
        match self.language {
            Language::English => format!("{said}."),
            Language::Chinese => format!("{said}。"),
        }
    }
}

/// The found tables, or the fields of the requested one: of the first by default.
pub fn of_tables(language: Language, found: &Value, fields: Option<Option<&str>>) -> Answer {
    let tables = list(&found["tables"]);
    let asked = fields.flatten();
    let called = |table: &&Value, ends: fn(&str, &str) -> bool| {
        let name = table["name"].as_str().unwrap_or_default().to_lowercase();
        asked.is_some_and(|asked| ends(&name, &asked.to_lowercase()))
    };
    let exact = || tables.iter().find(|table| called(table, |name, asked| name == asked));
    // `orders` means `ods_orders`, and not `ods_order_items`, which matches as well.
    let short =
        || tables.iter().find(|table| called(table, |name, asked| name.ends_with(&format!("_{asked}"))));
    let is_whole = asked.is_some_and(|asked| asked.contains('_'));
    let any = || tables.first().filter(|_| !is_whole);
    let Some(first) = exact().or_else(short).or_else(any) else { return no_table(language) };
    let fields = fields.is_some();
    let name = |table: &Value| text(&table["name"], VALUE_MAX_CHARS);
    let line = |of: &Value, name: String| match text(&of["comment"], COMMENT_MAX_CHARS) {
        comment if comment.is_empty() => format!("- {name}"),
        comment if language == Language::English => format!("- {name}: {comment}"),
        comment => format!("- {name}：{comment}"),
    };
    let (head, lines): (String, Vec<String>) = if fields {
        let field = |field: &Value| {
            let kind = text(&field["type"], VALUE_MAX_CHARS);
            line(field, format!("{} ({kind})", text(&field["name"], VALUE_MAX_CHARS)))
        };
        let head = match language {
            Language::English => format!("The fields of {}:", name(first)),
            Language::Chinese => format!("表 {} 的字段：", name(first)),
        };
        (head, list(&first["fields"]).iter().take(FIELDS_SHOWN).map(field).collect())
    } else {
        let whole = |table: &Value| {
            let source = text(&table["datasource"], VALUE_MAX_CHARS);
            line(table, format!("{} ({source})", name(table)))
        };
        let head = match language {
            Language::English => "Tables that fit, the best first:".to_owned(),
            Language::Chinese => "相关的表（最相符的在前）：".to_owned(),
        };
        (head, tables.iter().take(TABLES_SHOWN).map(whole).collect())
    };
    Answer::new(format!("{head}\n{}", lines.join("\n")))
}

pub fn no_table(language: Language) -> Answer {
    let content = match language {
        Language::English => "I found no table that fits the question.",
        Language::Chinese => "没有找到与问题相符的表。",
    };
    let outcome = Outcome::Refused { reason: content.to_owned(), suggestions: Vec::new() };
    Answer { content: content.to_owned(), outcome }
}

/// Asks which of several tables is meant; the tool names them in full.
pub fn which_table(language: Language, error: &ToolError, direction: Direction) -> Answer {
    let candidate = |(_, name): &(String, String)| {
        let label = one_line(name, VALUE_MAX_CHARS);
        let content = match (language, direction) {
            (Language::English, Direction::Upstream) => format!("What is the upstream of `{name}`?"),
            (Language::English, Direction::Downstream) => format!("What is the downstream of `{name}`?"),
            (Language::English, Direction::Both) => format!("What is the lineage of `{name}`?"),
            (Language::Chinese, Direction::Upstream) => format!("`{name}` 的上游"),
            (Language::Chinese, Direction::Downstream) => format!("`{name}` 的下游"),
            (Language::Chinese, Direction::Both) => format!("`{name}` 的血缘"),
        };
        Candidate { label, content }
    };
    let named = error.context.iter().filter(|(name, _)| name == CANDIDATE);
    let asked = match language {
        Language::English => "Several tables have that name. Which one is meant?",
        Language::Chinese => "有多张表叫这个名字，指的是哪一张？",
    };
    which(asked, named.map(candidate).collect())
}

/// A question back, with what may be chosen.
fn which(asked: &str, candidates: Vec<Candidate>) -> Answer {
    let names: String = candidates.iter().map(|one| format!("\n- {}", one.label)).collect();
    Answer { content: format!("{asked}{names}"), outcome: Outcome::NeedsClarification { candidates } }
}

/// Asks which of several questions is meant, each of which can be answered.
pub fn which_question(language: Language, error: &ToolError) -> Answer {
    let named = error.context.iter().filter(|(name, _)| name == CANDIDATE);
    let candidate = |(_, question): &(String, String)| {
        let content = one_line(question, COMMENT_MAX_CHARS);
        Candidate { label: content.clone(), content }
    };
    let asked = match language {
        Language::English => "That can mean several things. Which one?",
        Language::Chinese => "这个问题有多种理解，指的是哪一种？",
    };
    which(asked, named.map(candidate).collect())
}

/// The upstream and downstream tables of a table.
pub fn of_lineage(language: Language, graph: &Value, direction: Direction) -> String {
    let table = text(&graph["table"]["name"], VALUE_MAX_CHARS);
    let side = |member: &str, english: &str, chinese: &str| {
        let nodes = list(&graph[member]);
        let named = |node: &Value| {
            let steps = node["distance"].as_i64().unwrap_or(0).unsigned_abs();
            format!("{} ({steps})", text(&node["name"], VALUE_MAX_CHARS))
        };
        let names: Vec<String> = nodes.iter().take(TABLES_SHOWN).map(named).collect();
        let rest = if nodes.len() > names.len() { " …" } else { "" };
        let (count, names) = (nodes.len(), names.join(comma(language)));
        match (language, count) {
            (Language::English, 0) => format!("{table} has nothing {}.", english.to_lowercase()),
            (Language::English, _) => format!("{english} of {table}, {count} in all: {names}{rest}."),
            (Language::Chinese, 0) => format!("{table} 没有{chinese}。"),
            (Language::Chinese, _) => format!("{table} 的{chinese}共 {count} 张表：{names}{rest}。"),
        }
    };
    let mut said = Vec::new();
    if direction != Direction::Downstream {
        said.push(side("upstream", "Upstream", "上游"));
    }
    if direction != Direction::Upstream {
        said.push(side("downstream", "Downstream", "下游"));
    }
    said.push(match language {
        Language::English => "In brackets: steps away.".to_owned(),
        Language::Chinese => "括号内为相隔的步数。".to_owned(),
    });
    if let Some(omitted) = graph["omitted"].as_u64().filter(|omitted| *omitted > 0) {
        said.push(match language {
            Language::English => format!("{omitted} more are left out."),
            Language::Chinese => format!("另有 {omitted} 张表未列出。"),
        });
    }
    said.join("\n")
}

/// Examples of questions.
pub fn help(language: Language) -> String {
    match language {
        Language::English => "I answer questions about the data and its tables, for example:\n\
            - How many workflows were published per day in the last 30 days?\n\
            - How many tables are there per layer?\n\
            - Which tables are about customers?\n\
            - What is the lineage of a table?"
            .to_owned(),
        Language::Chinese => "我可以回答关于数据和表的问题，例如：\n\
            - 最近30天工作流发布次数的趋势\n\
            - 各分层有多少张表\n\
            - 哪些表和客户有关\n\
            - 某张表的血缘"
            .to_owned(),
    }
}

/// Why there is no answer, and which questions can be answered.
pub fn refused(language: Language, error: &ToolError) -> Answer {
    let message = one_line(&error.message, 5 * COMMENT_MAX_CHARS);
    // The prefix appears only once.
    let message = ["This cannot be answered: ", "无法回答："]
        .iter()
        .find_map(|said| message.strip_prefix(said))
        .unwrap_or(&message);
    let said = match language {
        Language::English => format!("I cannot answer that: {message}"),
        Language::Chinese => format!("无法回答这个问题：{message}"),
    };
    let named = error.context.iter().filter(|(name, _)| name == "could").take(COULD_SHOWN);
    let suggestions: Vec<String> = named.map(|(_, question)| one_line(question, COMMENT_MAX_CHARS)).collect();
    let could: String = suggestions.iter().map(|question| format!("\n- {question}")).collect();
    let content = match language {
        _ if could.is_empty() => said,
        Language::English => format!("{said}\n\nWhat I could answer:{could}"),
        Language::Chinese => format!("{said}\n\n可以这样问：{could}"),
    };
    Answer { content, outcome: Outcome::Refused { reason: message.to_owned(), suggestions } }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

fn comma(language: Language) -> &'static str {
    match language {
        Language::English => ", ",
        Language::Chinese => "，",
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value, chars_max: usize) -> String {
    one_line(value.as_str().unwrap_or_default(), chars_max)
}

/// Keeps a text in one line, so that it cannot imitate parts of the answer.
pub fn one_line(text: &str, chars_max: usize) -> String {
    let plain: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    shortened(plain.trim(), chars_max)
}
