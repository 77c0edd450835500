//! Accesses. If the general log is on and goes to a table, it has statements with users and times; otherwise
//! there are only counters: of statements, by digest, or of rows, by table.

use lakeport_sdk::dialect::{AccessPage, AccessRequest, Error, Page, Query};

use super::{Ask, counters, general_log, text, whole};
use crate::server::Server;

const HOW_TO_GET_A_LOG: &str =
    "for accesses by day and user: SET GLOBAL log_output = 'TABLE'; SET GLOBAL general_log = ON";

/// The server's current recording.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sources {
    /// The general log goes to a table.
    general_log: bool,
    /// The performance schema is on.
    performance_schema: bool,
    /// MariaDB counts rows by table.
    user_statistics: bool,
}

/// Accesses from the best available source.
pub fn access(ask: &dyn Ask, server: &Server, request: &AccessRequest) -> Result<AccessPage, Error> {
    let sources = sources(ask)?;
    if sources.general_log {
        return general_log::access(ask, request);
    }
    let mut page = if sources.performance_schema {
        match counters::of_statements(ask, request)? {
            Some(page) => page,
            None => counters::of_rows(ask, request)?,
        }
    } else if sources.user_statistics {
        counters::of_user_statistics(ask, request)?
    } else {
        let how = if server.is_mariadb { "for counters start it with performance_schema=ON; " } else { "" };
        AccessPage::none(format!("the server records no accesses; {how}"))
    };
    page.note.push_str(HOW_TO_GET_A_LOG);
    Ok(some_of(page, &request.page))
}

/// One page of counters; the cursor is the number of earlier ones.
fn some_of(mut page: AccessPage, asked: &Page) -> AccessPage {
    let before = asked.cursor.as_deref().and_then(|cursor| cursor.parse::<usize>().ok()).unwrap_or(0);
    let end = before.saturating_add(asked.limit as usize);
    page.next = (end < page.counters.len()).then(|| end.to_string());
    page.counters = page.counters.into_iter().skip(before).take(asked.limit as usize).collect();
    page
}

fn sources(ask: &dyn Ask) -> Result<Sources, Error> {
    let names = ["general_log", "log_output", "performance_schema", "userstat"];
    let rows = whole(ask, Query::new("SHOW VARIABLES WHERE Variable_name IN (").values(names).sql(")"))?;
    let mut sources = Sources::default();
    let (mut is_on, mut to_table) = (false, false);
    for row in rows.iter() {
        let value = text(&row, "Value")?.to_ascii_uppercase();
        let on = matches!(value.as_str(), "ON" | "1");
        match text(&row, "Variable_name")?.to_ascii_lowercase().as_str() {
            "general_log" => is_on = on,
            "log_output" => to_table = value.split(',').any(|part| part == "TABLE"),
            "performance_schema" => sources.performance_schema = on,
            "userstat" => sources.user_statistics = on,
            _ => {}
        }
    }
    sources.general_log = is_on && to_table;
    Ok(sources)
}
