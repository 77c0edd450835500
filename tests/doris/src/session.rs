//! One connection: its variables, and each statement from its text to its answer.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::catalogue::Product;
use crate::ddl;
use crate::lexer::{Lexeme, lex};
use crate::parse::{Reader, Syntax};
use crate::query::{self, Context, Relation};
use crate::refused;
use crate::show;
use crate::steer::{Lose, Trap, World};
use crate::wire::{Command, Wire};

/// The part of an answer that is sent before a connection is lost in the middle of it.
const BYTES_BEFORE_LOSS: usize = 12;
const UNKNOWN_DATABASE: u16 = 1049;
const UNKNOWN_COMMAND: u16 = 1047;
const CANNOT_PREPARE: u16 = 1295;

pub struct Session {
    id: u32,
    world: Arc<Mutex<World>>,
    variables: BTreeMap<String, String>,
    /// The default database.
    database: Option<String>,
    stopped: Arc<Notify>,
}

/// The result of a statement.
enum Said {
    Done,
    Rows(Relation),
}

/// The effect that the client sees.
enum Fate {
    Answered(Result<Said, Syntax>),
    /// The connection ends in the middle of the answer.
    Torn(Result<Said, Syntax>),
    /// It ends without an answer.
    Lost,
}

impl Session {
    fn new(id: u32, world: Arc<Mutex<World>>) -> Session {
        let stopped = Arc::new(Notify::new());
        world.lock().running.insert(id, stopped.clone());
        let variables = [
            ("sql_mode", "ONLY_FULL_GROUP_BY"),
            ("time_zone", "Asia/Shanghai"),
            ("lower_case_table_names", "0"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        Session { id, world, variables, database: None, stopped }
    }

    fn variable(&self, world: &World, name: &str) -> Option<String> {
        let catalogue = &world.catalogue;
        match name.to_ascii_lowercase().as_str() {
            "version_comment" => Some(match catalogue.product {
                Product::Doris => format!("Doris version doris-{}-rc01-0123456789", catalogue.version),
                Product::StarRocks => format!("StarRocks version {}-0123456", catalogue.version),
            }),
            "enable_unicode_name_support" if catalogue.product == Product::Doris => {
                Some(world.unicode_names.to_string())
            }
            name => self.variables.get(name).cloned(),
        }
    }

    fn carry_out(&mut self, sql: &str) -> Result<Said, Syntax> {
        let backslashes =
            !self.variables.get("sql_mode").is_some_and(|mode| mode.contains("NO_BACKSLASH_ESCAPES"));
        if is_query(sql) {
            let world = self.world.lock();
            let variable = |name: &str| self.variable(&world, name);
            let context = Context::new(&world.catalogue, &variable, self.id, self.database.as_deref());
            return query::answer(&context, sql, backslashes).map(Said::Rows);
        }
        let lexemes = lex(sql, backslashes).map_err(refused)?;
        let stops = lexemes.iter().position(|lexeme| *lexeme == Lexeme::Symbol(';'));
        if stops.is_some_and(|at| at + 1 < lexemes.len()) {
            return Err(refused("more than one statement"));
        }
        let mut reader = Reader::new(&lexemes);
        if reader.takes("SET") {
            return self.set(&mut reader).map(|()| Said::Done);
        }
        let world = self.world.clone();
        let mut world = world.lock();
        let light = world.light;
        if let Some(done) = ddl::run(&mut world.catalogue, light, &lexemes) {
            return done.map(|()| Said::Done);
        }
        if reader.takes("KILL QUERY") {
            let id = reader.number()?;
            reader.end()?;
            let other = world.running.get(&id).ok_or_else(|| (1094, format!("Unknown thread id: {id}")))?;
            other.notify_waiters();
            return Ok(Said::Done);
        }
        let rows = if reader.takes("DESC") {
            show::describe(&world.catalogue, &mut reader)?
        } else if reader.takes("SHOW CREATE TABLE") {
            show::create_table(&world.catalogue, &mut reader)?
        } else if reader.takes("SHOW VARIABLES") {
            show::variables(&mut reader, |name| self.variable(&world, name))?
        } else if reader.takes("SHOW ALTER TABLE COLUMN") {
            let World { catalogue, jobs, .. } = &mut *world;
            show::jobs(catalogue, jobs, "COLUMN", &mut reader)?
        } else if world.catalogue.product == Product::StarRocks && reader.takes("SHOW ALTER TABLE OPTIMIZE") {
            let World { catalogue, jobs, .. } = &mut *world;
            show::jobs(catalogue, jobs, "OPTIMIZE", &mut reader)?
        } else {
            return Err(refused("Syntax error: this statement is not known here"));
        };
        Ok(Said::Rows(rows))
    }

    /// Only constants: neither product evaluates expressions here.
    fn set(&mut self, reader: &mut Reader) -> Result<(), Syntax> {
        let constant = || refused("Set statement only support constant expr.");
        if reader.takes("NAMES") {
            reader.name()?;
            if !reader.takes_symbol(',') {
                return reader.end();
            }
        }
        loop {
            let name = reader.name()?.trim_start_matches('@').to_ascii_lowercase();
            reader.symbol('=')?;
            let value = match reader.advance() {
                Some(Lexeme::Text(quote, inside)) => crate::lexer::literal(*quote, inside),
                Some(Lexeme::Number(digits)) => digits.clone(),
                Some(Lexeme::Word(word)) if !word.starts_with('@') => word.clone(),
                _ => return Err(constant()),
            };
            if !matches!(reader.peek(), None | Some(Lexeme::Symbol(',' | ';'))) {
                return Err(constant());
            }
            let known = ["sql_mode", "time_zone", "query_timeout", "autocommit"];
            if !known.contains(&name.as_str()) {
                return Err((1193, format!("Unknown system variable '{name}'")));
            }
            self.variables.insert(name, value);
            if reader.takes_symbol(',') {
                if reader.takes("NAMES") {
                    reader.name()?;
                    return reader.end();
                }
                continue;
            }
            return reader.end();
        }
    }

    /// The trap before the statement, the statement, then the trap after it.
    async fn said(&mut self, sql: &str) -> Fate {
        let trap = self.world.lock().trap(sql);
        match &trap {
            Some(Trap::Lose(Lose::Before)) => {
                self.world.lock().write_down(self.id, sql, "lost", "before it did anything");
                return Fate::Lost;
            }
            Some(Trap::Fail(code, message)) => {
                self.world.lock().write_down(self.id, sql, "error", message);
                return Fate::Answered(Err((*code, message.clone())));
            }
            Some(Trap::Slow(wait)) => {
                let stopped = self.stopped.clone();
                tokio::select! {
                    () = tokio::time::sleep(*wait) => {}
                    () = stopped.notified() => {
                        let message = "errCode = 2, detailMessage = cancel query by user";
                        self.world.lock().write_down(self.id, sql, "error", message);
                        return Fate::Answered(Err((1105, message.to_owned())));
                    }
                }
            }
            _ => {}
        }
        let said = self.carry_out(sql);
        let (outcome, message) = match &said {
            Ok(_) => ("done", ""),
            Err((_, message)) => ("error", message.as_str()),
        };
        self.world.lock().write_down(self.id, sql, outcome, message);
        match trap {
            Some(Trap::Lose(Lose::After)) => Fate::Lost,
            Some(Trap::Lose(Lose::Middle)) => Fate::Torn(said),
            _ => Fate::Answered(said),
        }
    }

    /// Serves a connection until its end.
    pub async fn serve(id: u32, world: Arc<Mutex<World>>, stream: TcpStream) -> io::Result<()> {
        let (mut wire, database) = Wire::greet(stream, id).await?;
        let mut session = Session::new(id, world);
        session.begin_in(database.as_deref(), &mut wire).await?;
        loop {
            match wire.command().await? {
                Command::Quit => return Ok(()),
                Command::Ping => wire.ok().await?,
                Command::Use(database) => session.begin_in(Some(&database), &mut wire).await?,
                Command::Unknown => wire.error(UNKNOWN_COMMAND, "this command is not known here").await?,
                Command::Prepare(sql) => {
                    let message = "errCode = 2, detailMessage = only text statements are taken here";
                    session.world.lock().write_down(id, &sql, "prepared", message);
                    wire.error(CANNOT_PREPARE, message).await?;
                }
                Command::Query(sql) => match session.said(&sql).await {
                    Fate::Lost => return Ok(()),
                    Fate::Torn(said) => return answer(&mut wire, said, Some(BYTES_BEFORE_LOSS)).await,
                    Fate::Answered(said) => answer(&mut wire, said, None).await?,
                },
            }
        }
    }

    async fn begin_in(&mut self, database: Option<&str>, wire: &mut Wire) -> io::Result<()> {
        let known = |name: &str| self.world.lock().catalogue.databases.contains_key(name);
        match database {
            Some(name) if !known(name) => {
                wire.error(UNKNOWN_DATABASE, &format!("Unknown database '{name}'")).await
            }
            Some(name) => {
                self.database = Some(name.to_owned());
                wire.ok().await
            }
            None => wire.ok().await,
        }
    }
}

/// Whether this is a query, which has a grammar of its own.
fn is_query(sql: &str) -> bool {
    let sql = sql.trim_start();
    let head: String = sql.chars().take_while(char::is_ascii_alphabetic).collect();
    sql.starts_with('(') || ["SELECT", "WITH"].iter().any(|word| head.eq_ignore_ascii_case(word))
}

async fn answer(wire: &mut Wire, said: Result<Said, Syntax>, no_more_than: Option<usize>) -> io::Result<()> {
    match said {
        Ok(Said::Done) => wire.ok().await,
        Ok(Said::Rows(answer)) => wire.rows(&answer, no_more_than).await,
        Err((code, message)) => wire.error(code, &message).await,
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.world.lock().running.remove(&self.id);
    }
}
