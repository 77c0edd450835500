//! `cargo xtask bench demo`: measures a server with the example company: its start, its idle cost, its
//! busiest reads, and the time until a question's first event. With `--minutes N`, also its memory over that
//! time of mixed load.
//!
//! The server has one core and the load another; all requests go over HTTP, as a client's. Prints tables in
//! Markdown and asserts only that each answer is good.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use futures_util::future::try_join_all;
use lakeport_tests::measure::{self, Connection, Measured, Round, median, pin_to_load_core};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

const STARTS: usize = 5;
/// How long a server is left alone before its memory is read.
const IDLE: Duration = Duration::from_secs(10);
/// The reads of a page that shows the catalogue, a workflow, executions, lineage, and a conversation.
const READS: [(&str, &str); 6] = [
    ("a page of tables", "/api/v1/tables?pageSize=20"),
    ("a table with its fields", "/api/v1/tables/1"),
    ("a workflow, tasks and edges", "/api/v1/workflows/1"),
    ("the history of executions", "/api/v1/executions/history?pageSize=20"),
    ("the lineage of a table", "/api/v1/lineage?tableId=1"),
    ("the messages of a topic", "/api/v1/nl2sql/topics/{topic}/messages"),
];
const CONNECTIONS: usize = 16;
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(2);
const WARM_UP: Duration = Duration::from_millis(500);
const QUESTIONS: [&str; 2] = ["最近30天工作流发布次数的趋势", "Top 5 products by sales amount"];
/// Requests of each.
const TIMES: usize = 20;
/// A manager's questions, each with its right answer.
const COMPANY: &str = include_str!("../planning/questions/company.json");
/// Callers that ask these, each in a topic of its own.
const CALLERS: usize = 4;
/// How long an answer may take.
const ANSWER_MAX: Duration = Duration::from_secs(30);
/// The mixed load: so many reads a second, a question and an execution each so often.
const READS_PER_S: u64 = 20;
const QUESTION_EVERY_S: u64 = 5;
const EXECUTION_EVERY_S: u64 = 60;
/// How often its memory is printed.
const TOLD_EVERY_S: u64 = 600;

pub fn bench(arguments: &[String]) -> anyhow::Result<()> {
    let minutes = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => 0,
        ["--minutes", number] => number.parse().context("--minutes is a whole number")?,
        _ => bail!("what this benchmark takes is `--minutes N`"),
    };
    // Before threads start: they inherit it.
    pin_to_load_core()?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(measure(minutes))
}

async fn measure(minutes: u64) -> anyhow::Result<()> {
    println!("| the example company | |");
    println!("|---|---|");
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        let begun = Instant::now();
        drop(Company::start()?);
        starts.push(begun.elapsed().as_secs_f64());
    }
    println!("| first start with it, until ready, median of {STARTS} | {:.2} s |", median(starts));
    let company = Company::start()?;
    sleep(IDLE).await;
    println!("| memory {IDLE:?} after the start, idle | {} |", megabytes(&company.server)?);
    let topic = company.topic().await?;
    for question in QUESTIONS {
        company.print_question(&topic, question).await?;
    }
    company.print_questions().await?;
    println!();
    println!(
        "| {CONNECTIONS} connections, median of {ROUNDS} rounds | requests/s | server CPU each | memory |"
    );
    println!("|---|---|---|---|");
    for (what, path) in READS {
        company.print_read(what, &path.replace("{topic}", &topic)).await?;
    }
    if minutes > 0 {
        println!();
        company.mixed_load(&topic, minutes).await?;
    }
    Ok(())
}

fn megabytes(server: &Measured) -> anyhow::Result<String> {
    Ok(format!("{:.0} MB", server.resident_bytes()? as f64 / 1e6))
}

fn milliseconds(time: f64) -> String {
    format!("{:.0} ms", time * 1e3)
}

/// A server of the example company.
struct Company {
    server: Measured,
    _files: TempDir,
}

impl Company {
    fn start() -> anyhow::Result<Company> {
        let files = tempfile::tempdir()?;
        let roots = files.path().to_str().context("a path in UTF-8")?;
        let environment = [("LAKEPORT_SQLITE_ROOTS", roots), ("LAKEPORT_RATE_LIMIT_PER_S", "1000000")];
        Ok(Company { server: Measured::lakeport(&["--demo"], &environment)?, _files: files })
    }

    fn address(&self) -> SocketAddr {
        self.server.address
    }

    async fn post(&self, path: &str, form: &Value) -> anyhow::Result<Value> {
        let mut connection = Connection::open(self.address()).await?;
        let length =
            connection.ask(&measure::with_body("POST", self.address(), path, &form.to_string())).await?;
        Ok(serde_json::from_slice(connection.body(length))?)
    }

    async fn topic(&self) -> anyhow::Result<String> {
        let topic = self.post("/api/v1/nl2sql/topics", &json!({ "title": "benchmark" })).await?;
        Ok(topic["topic_id"].as_str().context("an id")?.to_owned())
    }

    /// Asks a question; returns the time until the first event and until the answer.
    async fn ask(&self, topic: &str, question: &str) -> anyhow::Result<(f64, f64)> {
        let form = json!({ "topic_id": topic, "content": question });
        let delivered = self.post("/api/v1/nl2sql/tasks/deliver-message", &form).await?;
        let begun = Instant::now();
        let task = delivered["task_id"].as_str().context("an id")?;
        let mut stream = TcpStream::connect(self.address()).await?;
        let path = format!("/api/v1/nl2sql/tasks/{task}/events/stream");
        stream.write_all(&measure::get(self.address(), &path)).await?;
        let (mut text, mut first) = (Vec::new(), None);
        loop {
            let read = timeout(ANSWER_MAX, stream.read_buf(&mut text)).await.context("no answer")??;
            let seen = |what: &[u8]| text.windows(what.len()).any(|window| window == what);
            if first.is_none() && seen(b"event: ") {
                first = Some(begun.elapsed().as_secs_f64());
            }
            if seen(b"event: message\n") {
                return Ok((first.context("an event")?, begun.elapsed().as_secs_f64()));
            }
            let is_over = read == 0 || seen(b"event: error\n");
            ensure!(!is_over, "no answer to {question}: {}", String::from_utf8_lossy(&text));
        }
    }

    async fn print_question(&self, topic: &str, question: &str) -> anyhow::Result<()> {
        let mut asked = Vec::new();
        for _ in 0..TIMES {
            asked.push(self.ask(topic, question).await?);
        }
        let [firsts, answers] =
            [|one: &(f64, f64)| one.0, |one: &(f64, f64)| one.1].map(|of| asked.iter().map(of).collect());
        let slowest = asked.iter().map(|(first, _)| *first).fold(0.0, f64::max);
        let (first, answer) = (milliseconds(median(firsts)), milliseconds(median(answers)));
        println!(
            "| `{question}`, median of {TIMES} | first event after {first} (slowest {}), answer after {answer} |",
            milliseconds(slowest)
        );
        Ok(())
    }

    /// A manager's questions, asked, answered and read to the end.
    async fn print_questions(&self) -> anyhow::Result<()> {
        let sets: Vec<Value> = serde_json::from_str(COMPANY)?;
        let questions: Vec<&str> = sets
            .iter()
            .flat_map(|set| set["questions"].as_array().into_iter().flatten())
            .filter_map(|messages| messages[0].as_str())
            .collect();
        let mut topics = Vec::new();
        for _ in 0..CALLERS {
            topics.push(self.topic().await?);
        }
        let left = RefCell::new(questions.iter());
        let (cpu_before, begun) = (self.server.cpu_s()?, Instant::now());
        let next = || left.borrow_mut().next();
        try_join_all(topics.iter().map(|topic| async move {
            while let Some(question) = next() {
                self.ask(topic, question).await?;
            }
            anyhow::Ok(())
        }))
        .await?;
        let (count, took_s) = (questions.len() as f64, begun.elapsed().as_secs_f64());
        let cpu_s = self.server.cpu_s()? - cpu_before;
        println!(
            "| a manager's {count} questions, {CALLERS} callers | {:.0} a second, {:.1} ms of server CPU each |",
            count / took_s,
            1e3 * cpu_s / count
        );
        Ok(())
    }

    async fn print_read(&self, what: &str, path: &str) -> anyhow::Result<()> {
        let request = measure::get(self.address(), path);
        let load = |time| {
            let request = &request;
            measure::load(&self.server, CONNECTIONS, time, move |_, bytes| bytes.extend_from_slice(request))
        };
        load(WARM_UP).await.with_context(|| path.to_owned())?;
        let mut rounds = Vec::new();
        for _ in 0..ROUNDS {
            rounds.push(load(ROUND).await?);
        }
        let of = |value: fn(&Round) -> f64| median(rounds.iter().map(value).collect());
        println!(
            "| {what} | {:.0} | {:.0} µs | {} |",
            of(|round| round.requests_per_s),
            of(|round| round.cpu_us_per_request),
            megabytes(&self.server)?
        );
        Ok(())
    }

    /// A working day in miniature: reads, questions and executions, evenly spread.
    async fn mixed_load(&self, topic: &str, minutes: u64) -> anyhow::Result<()> {
        println!(
            "| {READS_PER_S} reads a second, a question each {QUESTION_EVERY_S} s, an execution each \
             {EXECUTION_EVERY_S} s | memory |"
        );
        println!("|---|---|");
        let mut ticks = interval(Duration::from_secs(1) / u32::try_from(READS_PER_S)?);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut connection = Connection::open(self.address()).await?;
        for n in 0..minutes * 60 * READS_PER_S {
            ticks.tick().await;
            let (_, path) = READS[usize::try_from(n)? % READS.len()];
            connection.ask(&measure::get(self.address(), &path.replace("{topic}", topic))).await?;
            let due = |every_s: u64| n % (every_s * READS_PER_S) == 0;
            if due(QUESTION_EVERY_S) {
                self.ask(topic, QUESTIONS[usize::try_from(n / READS_PER_S)? % QUESTIONS.len()]).await?;
            }
            if due(EXECUTION_EVERY_S) {
                self.post("/api/v1/workflows/1/execute", &json!({})).await?;
            }
            if due(TOLD_EVERY_S) {
                println!("| after {} minutes | {} |", n / READS_PER_S / 60, megabytes(&self.server)?);
            }
        }
        println!("| after {minutes} minutes | {} |", megabytes(&self.server)?);
        Ok(())
    }
}
