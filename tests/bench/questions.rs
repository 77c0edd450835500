//! `cargo xtask bench questions`: how many questions a second the rules answer, how soon a stream's first event comes, how
//! late events are with a thousand live streams, what an idle stream costs, and a topic's messages.
//!
//! The server has one core; the load, and the model that it asks, have the other. Prints tables in Markdown and asserts
//! only that each answer is good. `LAKEPORT_BIN` may name another binary to compare with.

use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use chrono::{DateTime, Utc};
use futures_util::future::try_join_all;
use lakeport_tests::measure::{self, Connection, Measured, load, median, pin_to_load_core};
use lakeport_tests::{ModelServer, Say};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use serde_json::{Value, json};
use sqlx::Executor as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

const TOPICS: &str = "/api/v1/nl2sql/topics";
const TASKS: &str = "/api/v1/nl2sql/tasks";
const QUESTION: &str = "How many orders are there?";
const NONSENSE: &str = "How many blue rainbows sing in the kitchen?";
/// Callers that ask one question after the other, each in a topic of its own.
const CALLERS: usize = 16;
const ROUNDS: usize = 5;
const ROUND: Duration = Duration::from_secs(4);
const WARM_UP: Duration = Duration::from_secs(2);
/// Questions of which the first event is timed.
const FIRST_EVENTS: usize = 200;
/// Questions of the topic whose messages are read.
const QUESTIONS: usize = 40;
/// Streams that are live at the same time, and those of one question.
const LIVE: usize = 1_000;
const STREAMS_OF_A_QUESTION: usize = 10;
/// How long a scripted model thinks. A turn has three events, so that a stream has about one a second.
const THINKS: Duration = Duration::from_secs(3);
const LIVE_FOR: Duration = Duration::from_secs(20);
/// Streams that wait for an event.
const IDLE: usize = 5_000;
const IDLE_FOR: Duration = Duration::from_secs(20);
/// No answer takes longer.
const SILENCE_MAX: Duration = Duration::from_secs(60);

pub fn bench(_: &[String]) -> anyhow::Result<()> {
    // Before threads start: they inherit it.
    pin_to_load_core()?;
    let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, hard, hard)?;
    let folder = tempfile::tempdir()?;
    let shop = folder.path().join("shop.db");
    lakeport_tests::on_sqlite(&shop, async |connection| {
        let sql = "CREATE TABLE orders (id INTEGER PRIMARY KEY, channel TEXT, amount REAL); \
            WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 1000) \
            INSERT INTO orders (channel, amount) SELECT CASE x % 3 WHEN 0 THEN 'web' ELSE 'app' END, x FROM n";
        connection.execute(sql).await.expect("the orders are written");
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let bench = Bench::start(&shop).await?;
        bench.questions().await?;
        bench.first_events().await?;
        bench.messages().await?;
        bench.live_streams().await?;
        bench.idle_streams().await
    })
}

struct Bench {
    server: Measured,
    model: ModelServer,
}

impl Bench {
    /// A server with a shop of orders in its catalogue, and a model that looks around for as long as it is let.
    async fn start(shop: &Path) -> anyhow::Result<Bench> {
        let model = ModelServer::start(|_, _| {
            Say::Slow(THINKS, Box::new(Say::call("search_catalog", &json!({ "query": "orders" }))))
        });
        let roots = shop.parent().context("a file is in a folder")?.to_string_lossy();
        let settings = [
            ("LAKEPORT_SQLITE_ROOTS", &*roots),
            ("LAKEPORT_RATE_LIMIT_PER_S", "1000000"),
            ("LAKEPORT_EGRESS_ALLOW", model.address()),
            ("LAKEPORT_CONNECTIONS_MAX", "20000"),
            ("LAKEPORT_AGENT_TASKS_AT_ONCE", "200"),
            ("LAKEPORT_AGENT_STEPS_MAX", "1000"),
        ];
        let server = Measured::lakeport(&[], &settings)?;
        let bench = Bench { server, model };
        let mut caller = bench.caller().await?;
        let source = json!({ "name": "shop", "kind": "sqlite", "url": format!("sqlite:{}", shop.display()) });
        let source = caller.send("POST", "/api/v1/datasources", &source).await?;
        let sync = format!("/api/v1/datasources/{}/sync", source["data"]["id"]);
        let read = caller.send("POST", &sync, &json!({})).await?;
        ensure!(read["data"]["state"] == "success", "the shop was not read: {read}");
        let form = json!({ "name": "scripted", "provider": "openai", "model": "m", "apiKey": "k",
            "baseUrl": bench.model.base_url("openai"), "options": { "stream": false } });
        caller.send("POST", "/api/v1/nl2sql/models", &form).await?;
        Ok(bench)
    }

    async fn caller(&self) -> anyhow::Result<Caller> {
        let address = self.server.address;
        Ok(Caller { address, connection: Connection::open(address).await? })
    }

    /// Questions a second that are asked, answered, and read to the end.
    async fn questions(&self) -> anyhow::Result<()> {
        println!(
            "| {CALLERS} callers, SQLite, `synchronous=FULL`, median of {ROUNDS} rounds | a second | server CPU each |"
        );
        println!("|---|---|---|");
        for (what, question) in
            [("a count that the rules answer", QUESTION), ("no answer: no table fits", NONSENSE)]
        {
            self.round(question, WARM_UP).await?;
            let mut rounds = Vec::new();
            for _ in 0..ROUNDS {
                rounds.push(self.round(question, ROUND).await?);
            }
            let rate = median(rounds.iter().map(|round| round.0).collect());
            let cost = median(rounds.iter().map(|round| round.1).collect());
            println!("| {what} | {rate:.0} | {cost:.1} ms |");
        }
        println!();
        Ok(())
    }

    /// Questions a second, and the server's milliseconds for each.
    async fn round(&self, question: &str, time: Duration) -> anyhow::Result<(f64, f64)> {
        let (over, answered) = (Cell::new(false), Cell::new(0_u64));
        let mut callers = Vec::new();
        for _ in 0..CALLERS {
            let mut caller = self.caller().await?;
            let topic = caller.topic("offline").await?;
            callers.push((caller, topic));
        }
        let (cpu_before, begun) = (self.server.cpu_s()?, Instant::now());
        let asking = callers.iter_mut().map(|(caller, topic)| {
            let (over, answered) = (&over, &answered);
            async move {
                while !over.get() {
                    let task = caller.ask(topic, question).await?;
                    let mut stream = Stream::open(caller.address, &task).await?;
                    while !stream.next().await?.is_last() {}
                    answered.set(answered.get() + 1);
                }
                anyhow::Ok(())
            }
        });
        let (asked, ()) = tokio::join!(try_join_all(asking), async {
            sleep(time).await;
            over.set(true);
        });
        asked?;
        let count = answered.get() as f64;
        let (took_s, cpu_s) = (begun.elapsed().as_secs_f64(), self.server.cpu_s()? - cpu_before);
        Ok((count / took_s, cpu_s * 1_000.0 / count))
    }

    /// From the request that asks to the first event of the stream that is opened then.
    async fn first_events(&self) -> anyhow::Result<()> {
        let mut caller = self.caller().await?;
        let topic = caller.topic("offline").await?;
        let mut took_ms = Vec::new();
        for _ in 0..FIRST_EVENTS {
            let begun = Instant::now();
            let task = caller.ask(&topic, QUESTION).await?;
            let mut stream = Stream::open(caller.address, &task).await?;
            let mut event = stream.next().await?;
            took_ms.push(begun.elapsed().as_secs_f64() * 1_000.0);
            while !event.is_last() {
                event = stream.next().await?;
            }
        }
        println!("| first event after the question, {FIRST_EVENTS} questions | median | p99 |");
        println!("|---|---|---|");
        println!(
            "| asked and streamed on two connections | {:.1} ms | {:.1} ms |\n",
            at(&took_ms, 0.5),
            at(&took_ms, 0.99)
        );
        Ok(())
    }

    async fn messages(&self) -> anyhow::Result<()> {
        let mut caller = self.caller().await?;
        let topic = caller.topic("offline").await?;
        for _ in 0..QUESTIONS {
            let task = caller.ask(&topic, QUESTION).await?;
            let mut stream = Stream::open(caller.address, &task).await?;
            while !stream.next().await?.is_last() {}
        }
        let path = format!("{TOPICS}/{topic}/messages?page_size={}", 2 * QUESTIONS);
        let page = caller.get(&path).await?;
        ensure!(page["items"].as_array().map(Vec::len) == Some(2 * QUESTIONS), "all messages: {page}");
        let request = measure::get(self.server.address, &path);
        let mut costs = Vec::new();
        for _ in 0..ROUNDS {
            let round =
                load(&self.server, CALLERS, ROUND, |_, bytes| bytes.extend_from_slice(&request)).await?;
            costs.push(round.cpu_us_per_request);
        }
        println!(
            "| messages of a topic, {QUESTIONS} questions, {} kB | server CPU each |",
            page.to_string().len() / 1_000
        );
        println!("|---|---|");
        println!("| {CALLERS} connections, median of {ROUNDS} rounds | {:.0} µs |\n", median(costs));
        Ok(())
    }

    /// From the time of an event, which is before it is stored, to its arrival.
    async fn live_streams(&self) -> anyhow::Result<()> {
        let mut caller = self.caller().await?;
        let mut open = Vec::new();
        let mut tasks = Vec::new();
        for _ in 0..LIVE / STREAMS_OF_A_QUESTION {
            let topic = caller.topic("scripted").await?;
            let task = caller.ask(&topic, QUESTION).await?;
            for _ in 0..STREAMS_OF_A_QUESTION {
                open.push(Stream::open(self.server.address, &task).await?);
            }
            tasks.push(task);
        }
        // Until all have begun.
        sleep(2 * THINKS).await;
        let (late_ms, begun, cpu_before) = (RefCell::new(Vec::new()), Utc::now(), self.server.cpu_s()?);
        let reading = open.iter_mut().map(|stream| async {
            let read = async {
                loop {
                    let event = stream.next().await?;
                    ensure!(!event.is_last(), "a question ended: {}", event.data);
                    let late = Utc::now() - event.at()?;
                    if event.at()? > begun {
                        late_ms
                            .borrow_mut()
                            .push(late.num_microseconds().unwrap_or(i64::MAX) as f64 / 1_000.0);
                    }
                }
            };
            match timeout(LIVE_FOR, read).await {
                Ok(failed) => failed,
                Err(_) => Ok(()),
            }
        });
        try_join_all(reading).await?;
        let cpu = self.server.cpu_s()? - cpu_before;
        let late_ms = late_ms.into_inner();
        let rate = late_ms.len() as f64 / LIVE_FOR.as_secs_f64();
        println!(
            "| {LIVE} streams of {} questions, {rate:.0} events a second in all | median | p99 | server CPU |",
            tasks.len()
        );
        println!("|---|---|---|---|");
        println!(
            "| from the event's time, which is before it is stored, to its arrival | {:.1} ms | {:.1} ms | {:.0} % |\n",
            at(&late_ms, 0.5),
            at(&late_ms, 0.99),
            100.0 * cpu / LIVE_FOR.as_secs_f64()
        );
        drop(open);
        for task in tasks {
            caller.send("POST", &format!("{TASKS}/{task}/cancel"), &json!({})).await?;
        }
        Ok(())
    }

    /// Streams of a question that waits in its topic for another one to end.
    async fn idle_streams(&self) -> anyhow::Result<()> {
        let mut caller = self.caller().await?;
        let topic = caller.topic("scripted").await?;
        let first = caller.ask(&topic, QUESTION).await?;
        let waits = caller.ask(&topic, QUESTION).await?;
        let before = self.server.resident_bytes()?;
        let mut open = Vec::with_capacity(IDLE);
        for _ in 0..IDLE {
            open.push(Stream::open(self.server.address, &waits).await?);
        }
        let cpu_before = self.server.cpu_s()?;
        sleep(IDLE_FOR).await;
        let cpu = self.server.cpu_s()? - cpu_before;
        let each = self.server.resident_bytes()?.saturating_sub(before) as f64 / IDLE as f64;
        println!("| {IDLE} idle streams | memory each | server CPU |");
        println!("|---|---|---|");
        println!(
            "| over {} s | {:.1} kB | {:.1} % |",
            IDLE_FOR.as_secs(),
            each / 1_000.0,
            100.0 * cpu / IDLE_FOR.as_secs_f64()
        );
        drop(open);
        for task in [waits, first] {
            caller.send("POST", &format!("{TASKS}/{task}/cancel"), &json!({})).await?;
        }
        Ok(())
    }
}

/// The value at this share of the sorted ones.
fn at(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let place = (sorted.len() as f64 * share) as usize;
    sorted.get(place.min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

struct Caller {
    address: SocketAddr,
    connection: Connection,
}

impl Caller {
    async fn send(&mut self, method: &str, path: &str, body: &Value) -> anyhow::Result<Value> {
        let request = measure::with_body(method, self.address, path, &body.to_string());
        let length = self.connection.ask(&request).await.with_context(|| format!("{method} {path}"))?;
        Ok(serde_json::from_slice(self.connection.body(length))?)
    }

    async fn get(&mut self, path: &str) -> anyhow::Result<Value> {
        let length = self.connection.ask(&measure::get(self.address, path)).await?;
        Ok(serde_json::from_slice(self.connection.body(length))?)
    }

    async fn topic(&mut self, model: &str) -> anyhow::Result<String> {
        let form = json!({ "title": "orders", "datasources": ["shop"], "model": model });
        text(&self.send("POST", TOPICS, &form).await?["topic_id"])
    }

    /// The id of the task.
    async fn ask(&mut self, topic: &str, question: &str) -> anyhow::Result<String> {
        let form = json!({ "topic_id": topic, "content": question });
        text(&self.send("POST", &format!("{TASKS}/deliver-message"), &form).await?["task_id"])
    }
}

fn text(value: &Value) -> anyhow::Result<String> {
    Ok(value.as_str().with_context(|| format!("{value} is no text"))?.to_owned())
}

/// The events of a task as they come.
struct Stream {
    stream: TcpStream,
    read: Vec<u8>,
}

struct Event {
    data: Value,
}

impl Event {
    fn is_last(&self) -> bool {
        matches!(self.data["type"].as_str(), Some("message" | "error"))
    }

    fn at(&self) -> anyhow::Result<DateTime<Utc>> {
        Ok(DateTime::parse_from_rfc3339(&text(&self.data["created_at"])?)?.to_utc())
    }
}

impl Stream {
    /// Reads the answer's head.
    async fn open(address: SocketAddr, task: &str) -> anyhow::Result<Stream> {
        let mut stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        stream.write_all(&measure::get(address, &format!("{TASKS}/{task}/events/stream"))).await?;
        let mut opened = Stream { stream, read: Vec::with_capacity(512) };
        let head = opened.until(b"\r\n\r\n").await?;
        ensure!(head.starts_with("HTTP/1.1 200 "), "no stream: {head}");
        Ok(opened)
    }

    /// The next event. Lengths of chunks and comments are skipped: no line of them begins as data do.
    async fn next(&mut self) -> anyhow::Result<Event> {
        loop {
            let line = self.until(b"\n").await?;
            if let Some(data) = line.strip_prefix("data: ") {
                return Ok(Event { data: serde_json::from_str(data)? });
            }
        }
    }

    async fn until(&mut self, end: &[u8]) -> anyhow::Result<String> {
        let mut part = [0; 4096];
        let mut searched = 0;
        loop {
            if let Some(place) = self.read[searched..].windows(end.len()).position(|bytes| bytes == end) {
                let found: Vec<u8> = self.read.drain(..searched + place + end.len()).collect();
                return Ok(String::from_utf8(found)?);
            }
            searched = self.read.len().saturating_sub(end.len() - 1);
            let count =
                timeout(SILENCE_MAX, self.stream.read(&mut part)).await.context("no event came")??;
            if count == 0 {
                bail!("the stream ended: {}", String::from_utf8_lossy(&self.read));
            }
            self.read.extend_from_slice(&part[..count]);
        }
    }
}
