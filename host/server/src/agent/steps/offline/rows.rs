//! Answers from the rows of a query alone, in the question's language: all figures are in them or follow from them.

use std::cmp::Ordering;

use serde_json::Value;

use super::answer::{COMMENT_MAX_CHARS, VALUE_MAX_CHARS, capitalised, comma, list, one_line, text};
use super::figure::{Figure, grouped, sum};
use crate::agent::steps::model::Language;

/// The shown entries of a ranking, and columns of a row.
const ENTRIES_SHOWN: usize = 5;
const COLUMNS_SHOWN: usize = 8;
/// The shown points of several figures over time.
const POINTS_SHOWN: usize = 2;
/// The end of the names of columns with percentages.
const PERCENT: &str = "(%)";

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
    /// The least come first.
    ascends: bool,
    /// There are more rows.
    is_cut: bool,
    /// The row limit is reached: there may be more.
    is_full: bool,
}

/// The answer from the rows of a query: the result first.
pub fn of_rows(language: Language, written: &Value, table: &Value) -> String {
    let rows = Rows::new(language, written, table);
    let title = capitalised(&text(&written["title"], COMMENT_MAX_CHARS));
    let shape = written["shape"].as_str();
    let leader = if shape == Some("ranking") { rows.leader() } else { None };
    let said = match (rows.rows.len(), shape) {
        (0, _) => rows.none(),
        (_, Some("comparison")) => rows.comparison(),
        (1, _) => rows.one(),
        (_, Some("series")) => rows.series(),
        (_, Some("ranking")) => rows.ranking(),
        _ => rows.listed(),
    };
    // Several figures of one row have their names.
    let names_all =
        rows.rows.len() == 1 && rows.labels.is_empty() && rows.measures.len() > 1 && shape == Some("value");
    let titled = match (language, title.is_empty()) {
        _ if names_all => capitalised(&said),
        (_, true) => said,
        (Language::English, false) => format!("{title}: {said}"),
        (Language::Chinese, false) => format!("{title}：{said}"),
    };
    let mut answer = match (leader, rows.rows.len(), language) {
        (None, ..) => titled,
        (Some(leader), 1, _) if title.is_empty() => leader,
        (Some(leader), 1, Language::English) => format!("{leader} {title}."),
        (Some(leader), 1, Language::Chinese) => format!("{leader}{title}。"),
        (Some(leader), _, Language::English) => format!("{leader} {titled}"),
        (Some(leader), _, Language::Chinese) => format!("{leader}{titled}"),
    };
    answer += &rows.rest();
    let explanation = text(&written["explanation"], 10 * COMMENT_MAX_CHARS);
    if explanation.is_empty() { answer } else { format!("{answer}\n\n{explanation}") }
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
        let first = &written["query"]["order"][0];
        let ascends = first.is_object() && first["descending"] != true;
        Rows { language, columns, rows, measures, labels, summed, unit, ascends, is_cut, is_full }
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
        let mut said: Vec<String> = self.labels.iter().map(|&place| self.shown(row, place)).collect();
        match (self.measures.as_slice(), said.is_empty()) {
            ([measure], _) => said.push(self.shown(row, *measure)),
            (measures, _) => said.extend(measures.iter().map(|&place| self.with_name(row, place))),
        }
        said.truncate(COLUMNS_SHOWN);
        self.sentence(&said.join(self.comma()))
    }

    /// A figure after the name of its measure.
    fn with_name(&self, row: &[Value], place: usize) -> String {
        let name = one_line(named(self.columns[place]), VALUE_MAX_CHARS);
        format!("{name} {}", self.shown(row, place))
    }

    /// The figures of a row, each after its name.
    fn with_names(&self, row: &[Value]) -> String {
        let named = self.measures.iter().take(COLUMNS_SHOWN).map(|&place| self.with_name(row, place));
        named.collect::<Vec<_>>().join(self.comma())
    }

    /// A figure beside that of the days before.
    fn compared(&self, row: &[Value]) -> Option<String> {
        let [now, before, _, growth @ ..] = &self.measures[..] else { return None };
        let figure = |place: usize| row.get(place).and_then(Figure::of);
        let (known_now, known_before) = (figure(*now)?, figure(*before)?);
        let (shown_now, shown_before) = (self.shown(row, *now), self.shown(row, *before));
        let growth = growth.first().and_then(|place| figure(*place));
        let by = growth.map(|growth| format!(" {:.1}%", growth.value.abs())).unwrap_or_default();
        Some(match (known_now.value.total_cmp(&known_before.value), self.language) {
            (Ordering::Greater, Language::English) => format!("{shown_now}, up{by} from {shown_before}"),
            (Ordering::Less, Language::English) => format!("{shown_now}, down{by} from {shown_before}"),
            (Ordering::Equal, Language::English) => format!("{shown_now}, as many as before"),
            (Ordering::Greater, Language::Chinese) => {
                format!("{shown_now}，较之前的 {shown_before} 增加{by}")
            }
            (Ordering::Less, Language::Chinese) => format!("{shown_now}，较之前的 {shown_before} 减少{by}"),
            (Ordering::Equal, Language::Chinese) => format!("{shown_now}，与之前持平"),
        })
    }

    fn comparison(&self) -> String {
        let one = |row: &&[Value]| self.compared(row);
        let told: Option<Vec<String>> = self.rows.iter().take(ENTRIES_SHOWN).map(one).collect();
        let Some(told) = told else { return if self.rows.len() == 1 { self.one() } else { self.many() } };
        if self.labels.is_empty() {
            return self.sentence(&told.join(self.comma()));
        }
        let entries: Vec<String> = told
            .iter()
            .zip(&self.rows)
            .map(|(told, row)| {
                let labels: Vec<String> = self.labels.iter().map(|&at| self.shown(row, at)).collect();
                format!("{} {told}", labels.join(self.comma()))
            })
            .collect();
        let (count, said) = (self.rows.len(), entries.join(self.semicolon()));
        match self.language {
            _ if count <= ENTRIES_SHOWN => self.sentence(&said),
            Language::English => format!("{said}; {count} in all."),
            Language::Chinese => format!("{said}；共 {count} 项。"),
        }
    }

    /// One figure over time: its total, if meaningful, and its peak; of several figures the latest ones. With several rows
    /// per point in time, or incomplete rows, none of these would be correct.
    fn series(&self) -> String {
        let (&[label], false) = (&self.labels[..], self.is_cut) else { return self.listed() };
        let &[measure] = &self.measures[..] else { return self.latest(label) };
        let points: Vec<(&Value, Figure)> = self
            .rows
            .iter()
            .filter_map(|row| Some((row.get(label)?, Figure::of(row.get(measure)?)?)))
            .collect();
        let Some(top) = points.iter().map(|(_, figure)| figure.value).max_by(f64::total_cmp) else {
            return self.many();
        };
        let peaks: Vec<&(&Value, Figure)> = points.iter().filter(|(_, figure)| figure.value == top).collect();
        let &[highest, ..] = &peaks[..] else { return self.many() };
        let (first, figure, others) = (self.value(highest.0), &highest.1, peaks.len() - 1);
        let peak = match (self.language, others) {
            (_, 0) => first,
            (Language::English, 1) => format!("{first} and {}", self.value(peaks[1].0)),
            (Language::Chinese, 1) => format!("{first}、{}", self.value(peaks[1].0)),
            (Language::English, _) => format!("{first} and {others} others"),
            (Language::Chinese, _) => format!("{first} 等 {} 项", others + 1),
        };
        let unit = self.unit();
        let count = self.rows.len();
        if points.len() == count && points.iter().all(|(_, figure)| figure.value == 0.0) {
            return match self.language {
                Language::English => format!("0 in every one of the {count} {unit}."),
                Language::Chinese => format!("{count} {unit}均为 0。"),
            };
        }
        let figures: Vec<Figure> = points.iter().map(|(_, figure)| figure.clone()).collect();
        let total = sum(&figures).filter(|_| !self.is_full && self.is_summed(measure));
        let top = figure.grouped();
        let total = total.map(|total| grouped(&total));
        let on = match self.unit {
            Some("day" | "weekday") | None => "on",
            Some("hour") => "at",
            _ => "in",
        };
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

    /// The last points of several figures over time: two, because the last one may not be over.
    fn latest(&self, label: usize) -> String {
        // From Monday to Sunday: none of them is the latest.
        if matches!(self.unit, Some("weekday" | "hour")) || self.measures.is_empty() {
            return self.many();
        }
        let point =
            |row: &&[Value]| format!("{}{}{}", self.shown(row, label), self.colon(), self.with_names(row));
        let count = self.rows.len();
        let points: Vec<String> = self.rows[count.saturating_sub(POINTS_SHOWN)..].iter().map(point).collect();
        let (said, unit) = (points.join(self.semicolon()), self.unit());
        match self.language {
            Language::English => format!("{count} {unit}, the latest: {said}."),
            Language::Chinese => format!("共 {count} {unit}，最近的：{said}。"),
        }
    }

    /// The axis of a series.
    fn unit(&self) -> &'static str {
        match (self.language, self.unit) {
            (Language::English, Some("day")) => "days",
            (Language::English, Some("week")) => "weeks",
            (Language::English, Some("month")) => "months",
            (Language::English, Some("quarter")) => "quarters",
            (Language::English, Some("year")) => "years",
            (Language::English, Some("weekday")) => "days of the week",
            (Language::English, Some("hour")) => "hours of the day",
            (Language::English, _) => "points in time",
            (Language::Chinese, Some("day")) => "天",
            (Language::Chinese, Some("week")) => "周",
            (Language::Chinese, Some("month")) => "个月",
            (Language::Chinese, Some("quarter")) => "个季度",
            (Language::Chinese, Some("year")) => "年",
            (Language::Chinese, Some("weekday")) => "天",
            (Language::Chinese, Some("hour")) => "个钟点",
            (Language::Chinese, _) => "个时间点",
        }
    }

    /// Cells of a row, one after the other.
    fn told(&self, row: &[Value], places: &[usize]) -> String {
        let values = places.iter().map(|&at| self.shown(row, at));
        values.take(COLUMNS_SHOWN).collect::<Vec<_>>().join(self.comma())
    }

    /// The first of a ranking, in words.
    fn leader(&self) -> Option<String> {
        let (&[measure, ..], Some(row), false) =
            (&self.measures[..], self.rows.first(), self.labels.is_empty())
        else {
            return None;
        };
        let count = self.rows.len();
        let leader = capitalised(&self.told(row, &self.labels));
        let figure = match &self.measures[..] {
            [_] => self.told(row, &self.measures),
            _ => self.with_names(row),
        };
        let value = |row: &[Value]| row.get(measure).and_then(Figure::of).map(|figure| figure.value);
        let is_least = match count {
            1 => self.ascends,
            _ => value(row).zip(value(self.rows[count - 1])).is_some_and(|(one, last)| one < last),
        };
        if let Some(tied) = self.tied(measure, is_least) {
            return Some(tied);
        }
        // More are equally first than a sentence names: none of them leads.
        if count > 1 && value(row) == value(self.rows[1]) {
            return None;
        }
        Some(match (self.language, count, is_least) {
            (Language::English, 1, false) => format!("{leader}, {figure}, was first."),
            (Language::English, 1, true) => format!("{leader}, {figure}, was the least."),
            (Language::English, _, false) => format!("{leader}, {figure}, was first of {count}."),
            (Language::English, _, true) => format!("{leader}, {figure}, was the least of {count}."),
            (Language::Chinese, 1, false) => format!("{leader}，{figure}，排第一。"),
            (Language::Chinese, 1, true) => format!("{leader}，{figure}，最少。"),
            (Language::Chinese, _, false) => format!("{leader}，{figure}，在 {count} 项中排第一。"),
            (Language::Chinese, _, true) => format!("{leader}，{figure}，在 {count} 项中最少。"),
        })
    }

    /// Several that are equally first, in words; not where all are, nor where more of them may not be shown.
    fn tied(&self, measure: usize, is_least: bool) -> Option<String> {
        let value = |row: &[Value]| row.get(measure).and_then(Figure::of).map(|figure| figure.value);
        let (count, first) = (self.rows.len(), self.rows.first()?);
        let tied = self.rows.iter().take_while(|row| value(row) == value(first)).count();
        if !(2..=ENTRIES_SHOWN.min(count - 1)).contains(&tied) || value(first).is_none() {
            return None;
        }
        let names: Vec<String> = self.rows[..tied].iter().map(|row| self.told(row, &self.labels)).collect();
        let (names, figure) = (names.join(self.comma()), self.told(first, &[measure]));
        let names = capitalised(&names);
        Some(match (self.language, is_least) {
            (Language::English, false) => format!("{names}, {figure} each, were first of {count}."),
            (Language::English, true) => format!("{names}, {figure} each, were the least of {count}."),
            (Language::Chinese, false) => format!("{names}，均为 {figure}，在 {count} 项中并列第一。"),
            (Language::Chinese, true) => format!("{names}，均为 {figure}，在 {count} 项中并列最少。"),
        })
    }

    /// The leaders of a ranking.
    fn ranking(&self) -> String {
        let entry = |(place, row): (usize, &&[Value])| {
            let (label, figures) = (self.told(row, &self.labels), self.told(row, &self.measures));
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

    /// The first rows of a table.
    fn listed(&self) -> String {
        if self.labels.is_empty() {
            return self.many();
        }
        let entry = |row: &&[Value]| {
            let (label, figures) = (self.told(row, &self.labels), self.told(row, &self.measures));
            match self.language {
                _ if self.measures.is_empty() => label,
                Language::English => format!("{label} ({figures})"),
                Language::Chinese => format!("{label}（{figures}）"),
            }
        };
        let entries: Vec<String> = self.rows.iter().take(ENTRIES_SHOWN).map(entry).collect();
        let (said, count) = (entries.join(self.semicolon()), self.rows.len());
        if count <= ENTRIES_SHOWN && !self.is_cut {
            return self.sentence(&said);
        }
        format!("{said}{}{}", self.semicolon(), self.many())
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

    /// A cell: figures of measures with their thousands apart.
    fn shown(&self, row: &[Value], place: usize) -> String {
        let value = row.get(place).unwrap_or(&Value::Null);
        if !self.measures.contains(&place) {
            return self.value(value);
        }
        let percent = if self.columns[place].ends_with(PERCENT) { "%" } else { "" };
        Figure::of(value).map_or_else(|| self.value(value), |figure| format!("{}{percent}", figure.grouped()))
    }

    fn value(&self, value: &Value) -> String {
        match (value, self.language) {
            (Value::Null, Language::English) => "no value".to_owned(),
            (Value::Null, Language::Chinese) => "无值".to_owned(),
            (Value::String(text), _) => one_line(text, VALUE_MAX_CHARS),
            (other, _) => Figure::of(other).map_or_else(|| other.to_string(), |figure| figure.told()),
        }
    }

    fn semicolon(&self) -> &'static str {
        if self.language == Language::English { "; " } else { "；" }
    }

    fn colon(&self) -> &'static str {
        if self.language == Language::English { ": " } else { "：" }
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

/// A measure's name in a sentence, where the figure has the percent sign.
fn named(column: &str) -> &str {
    column.strip_suffix(PERCENT).unwrap_or(column).trim_end()
}
