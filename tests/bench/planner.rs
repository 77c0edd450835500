//! `cargo xtask bench planner [FOLDER]`: how many questions the rules answer and how many of the answers are right, and how
//! fast they link and plan over a catalogue of 10,000 tables.
//!
//! FOLDER holds `schemas.json` and `questions.json` of a public set. Databases of the schemas are filled with generated rows,
//! four times each; an answer is right if it gives the rows of the right statement on all of them. Writes the curve of right
//! answers against answered questions to `planner-curve.svg` in the folder for results, if `LAKEPORT_BENCH_OUT` names one.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use lakeport_planning::{
    Catalogue, Question, Tried, Verdict, asked, of_folder, other_tables, schema_of, tried,
};
use sqlx::SqliteConnection;
use tool_write_sql::calendar::Day;
use tool_write_sql::known::Known;
use tool_write_sql::schema::Schema;

/// Databases of each schema, with different rows.
const FILLINGS: u64 = 4;
/// Tables of other data, and fields of each.
const OTHER_TABLES: usize = 10_000;
const OTHER_FIELDS: usize = 20;
/// Tables of a data source that the planner gets.
const PLANNED_TABLES: usize = 60;
/// Tables among which the right one should be.
const FIRST_ONES: usize = 5;
/// The words after which statements name a table.
const BEFORE_TABLES: [&str; 2] = ["from", "join"];

pub fn bench(arguments: &[String]) -> Result<()> {
    let folder = arguments.first().context("give the folder with schemas.json and questions.json")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(run(Path::new(folder)))
}

async fn run(folder: &Path) -> Result<()> {
    let today = Day::read("2026-11-27").context("a day")?;
    let (shapes, questions) = of_folder(folder)?;
    let mut schemas: BTreeMap<String, Schema> = BTreeMap::new();
    let mut databases: BTreeMap<String, Vec<SqliteConnection>> = BTreeMap::new();
    for (name, shape) in &shapes {
        let mut filled = Vec::new();
        for filling in 0..FILLINGS {
            filled.push(shape.filled(&questions, filling).await?);
        }
        schemas.insert(name.clone(), schema_of(name, &mut filled[0], |_, _| String::new()).await?);
        databases.insert(name.clone(), filled);
    }
    let knowns: BTreeMap<&str, Known<'_>> =
        schemas.iter().map(|(name, schema)| (name.as_str(), Known::of(schema))).collect();
    let mut all = Vec::new();
    for question in &questions {
        let known = knowns.get(question.database.as_str()).context("each question has its schema")?;
        let filled = databases.get_mut(&question.database).context("each schema is filled")?;
        all.push(tried(question, known, today, filled).await?);
    }
    if std::env::var_os("LAKEPORT_BENCH_EACH").is_some() {
        for one in &all {
            let right = one.question.right.first().map_or("", String::as_str);
            println!(
                "{:?} {} {}\n  {right}\n  {}",
                one.verdict,
                one.doubts,
                one.question.text,
                one.said.replace('\n', " ")
            );
        }
    }
    print_accuracy(&all);
    let points = curve(&all);
    if let Some(out) = std::env::var_os("LAKEPORT_BENCH_OUT") {
        std::fs::write(Path::new(&out).join("planner-curve.svg"), picture(&points))?;
    }
    catalogue(&schemas, &questions, today);
    Ok(())
}

fn count(all: &[Tried], verdict: Verdict) -> usize {
    all.iter().filter(|one| one.verdict == verdict).count()
}

fn percent(part: usize, whole: usize) -> f64 {
    100.0 * part as f64 / whole.max(1) as f64
}

fn print_accuracy(all: &[Tried]) {
    println!(
        "| schema | questions | answered | right | right beside further columns |\n|---|---|---|---|---|"
    );
    let mut by_schema: BTreeMap<&str, Vec<Tried>> = BTreeMap::new();
    for one in all {
        by_schema.entry(&one.question.database).or_default().push(one.clone());
    }
    let whole = all.to_vec();
    for (name, some) in by_schema.iter().map(|(name, some)| (*name, some)).chain([("all", &whole)]) {
        let (right, wider) = (count(some, Verdict::Right), count(some, Verdict::Wider));
        let answered = some.len() - count(some, Verdict::Refused);
        println!(
            "| {name} | {} | {:.1} % | {:.1} % | {:.1} % |",
            some.len(),
            percent(answered, some.len()),
            percent(right, answered),
            percent(right + wider, answered)
        );
    }
}

/// The share of questions answered, and of right ones among the answers, when answers with more doubts are held back.
fn curve(all: &[Tried]) -> Vec<(f64, f64)> {
    let most = all.iter().map(|one| one.doubts).max().unwrap_or(0);
    println!("\n| doubts at most | answered | right |\n|---|---|---|");
    (0..=most)
        .map(|most| {
            let answers: Vec<&Tried> =
                all.iter().filter(|one| one.verdict != Verdict::Refused && one.doubts <= most).collect();
            let right = answers.iter().filter(|one| one.verdict == Verdict::Right).count();
            let point = (percent(answers.len(), all.len()), percent(right, answers.len()));
            println!("| {most} | {:.1} % | {:.1} % |", point.0, point.1);
            point
        })
        .collect()
}

/// The curve as a picture.
fn picture(points: &[(f64, f64)]) -> String {
    const LEFT: f64 = 60.0;
    const TOP: f64 = 20.0;
    const WIDTH: f64 = 480.0;
    const HEIGHT: f64 = 260.0;
    /// The least share of right answers on the vertical axis.
    const LEAST: f64 = 70.0;
    let x = |answered: f64| LEFT + answered / 100.0 * WIDTH;
    let y = |right: f64| TOP + (100.0 - right.max(LEAST)) / (100.0 - LEAST) * HEIGHT;
    let mut svg = String::from(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 580 340\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <rect width=\"580\" height=\"340\" fill=\"#fff\"/>\n",
    );
    for share in (0..=100).step_by(20) {
        let at = x(f64::from(share));
        svg += &format!(
            "<line x1=\"{at:.0}\" y1=\"{TOP}\" x2=\"{at:.0}\" y2=\"{:.0}\" stroke=\"#ddd\"/>\
             <text x=\"{at:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{share} %</text>\n",
            TOP + HEIGHT,
            TOP + HEIGHT + 18.0
        );
    }
    for share in (70..=100).step_by(10) {
        let at = y(f64::from(share));
        svg += &format!(
            "<line x1=\"{LEFT}\" y1=\"{at:.0}\" x2=\"{:.0}\" y2=\"{at:.0}\" stroke=\"#ddd\"/>\
             <text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{share} %</text>\n",
            LEFT + WIDTH,
            LEFT - 8.0,
            at + 4.0
        );
    }
    let line: Vec<String> =
        points.iter().map(|point| format!("{:.1},{:.1}", x(point.0), y(point.1))).collect();
    svg += &format!(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"#2563eb\" stroke-width=\"2\"/>\n",
        line.join(" ")
    );
    for (most, point) in points.iter().enumerate() {
        let (at, height) = (x(point.0), y(point.1));
        svg += &format!(
            "<circle cx=\"{at:.1}\" cy=\"{height:.1}\" r=\"4\" fill=\"#2563eb\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\">{:.0} %, {most}</text>\n",
            at + 6.0,
            height - 8.0,
            point.1
        );
    }
    svg + "<text x=\"300\" y=\"334\" text-anchor=\"middle\">questions answered</text>\n\
           <text x=\"16\" y=\"150\" text-anchor=\"middle\" transform=\"rotate(-90 16 150)\">answers right</text>\n</svg>\n"
}

/// The right tables among the first ones of a great catalogue, and how long linking and planning take there.
fn catalogue(schemas: &BTreeMap<String, Schema>, questions: &[Question], today: Day) {
    let begun = Instant::now();
    let mut catalogue = Catalogue::default();
    for schema in schemas.values() {
        catalogue.add_schema(schema);
    }
    for table in other_tables(OTHER_TABLES, OTHER_FIELDS) {
        catalogue.add("warehouse", table);
    }
    let built = begun.elapsed();
    let (mut times, mut unnamed, mut any, mut all_tables) = (Vec::new(), 0, 0, 0);
    for question in questions {
        let schema = &schemas[&question.database];
        let begun = Instant::now();
        let found = catalogue.found(&question.text, PLANNED_TABLES);
        // The planner gets the tables of its data source.
        let tables = schema.tables.clone();
        let known_schema = Schema { tables, ..schema.clone() };
        let known = Known::of(&known_schema);
        let _ = asked(question, &known, today);
        times.push(begun.elapsed());
        let right = tables_of(&question.right[0], schema);
        if right.iter().any(|table| names(&question.text, table)) {
            continue;
        }
        unnamed += 1;
        let is_first = |table: &&String| {
            found
                .iter()
                .take(FIRST_ONES)
                .any(|(database, name)| *database == question.database && name == *table)
        };
        any += usize::from(right.iter().any(|table| is_first(&table)));
        all_tables += usize::from(right.iter().all(|table| is_first(&table)));
    }
    times.sort_unstable();
    let at = |share: usize| times[(times.len() * share / 100).min(times.len() - 1)];
    let shown = |time: Duration| format!("{:.1} ms", time.as_secs_f64() * 1_000.0);
    println!(
        "\n{} tables and {} fields beside {} schemas: built in {:.1} s, {:.0} MB of words\n\
         linking and planning: median {}, p99 {}\n\
         without a table's name in the question ({unnamed} questions): a right table among the first {FIRST_ONES} for \
         {:.0} %, all of them for {:.0} %",
        OTHER_TABLES,
        OTHER_TABLES * OTHER_FIELDS,
        schemas.len(),
        built.as_secs_f64(),
        catalogue.index.terms().bytes() as f64 / 1e6,
        shown(at(50)),
        shown(at(99)),
        percent(any, unnamed),
        percent(all_tables, unnamed)
    );
}

/// The tables that a statement reads.
fn tables_of(sql: &str, schema: &Schema) -> Vec<String> {
    let lower = sql.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| c.is_whitespace() || "(),".contains(c))
        .filter(|word| !word.is_empty())
        .collect();
    let mut tables: Vec<String> = Vec::new();
    for pair in words.windows(2).filter(|pair| BEFORE_TABLES.contains(&pair[0])) {
        let table = schema.tables.iter().find(|table| table.name.to_lowercase() == pair[1]);
        tables.extend(table.map(|table| table.name.clone()).filter(|name| !tables.contains(name)));
    }
    tables
}

/// Whether a question has the name of a table, or most of its words.
fn names(question: &str, table: &str) -> bool {
    let lower = question.to_lowercase();
    let words = table.to_lowercase();
    words.split('_').any(|word| word.len() > 2 && lower.contains(word.trim_end_matches('s')))
}
