//! Logs to their last line.

use std::time::Duration;

use lakeport_sdk::engine::{Engine, Error, LogPage, LogRequest};
use lakeport_sdk::serde_json::json;

use super::{Server, run_ref};
use crate::DolphinScheduler;

fn read(server: &Server, cursor: Option<&str>, ended: bool) -> Result<LogPage, Error> {
    read_bytes(server, cursor, ended, 1_000)
}

fn read_bytes(server: &Server, cursor: Option<&str>, ended: bool, max_bytes: u32) -> Result<LogPage, Error> {
    let request = LogRequest {
        instance: run_ref("31"),
        task_run: "12".to_owned(),
        cursor: cursor.map(str::to_owned),
        max_bytes,
        ended,
    };
    server.host.call(|| DolphinScheduler::log(request))
}

fn on_slice(server: &Server, skip: &str, message: &str) {
    let params = [("taskInstanceId", "12"), ("skipLineNum", skip), ("limit", "20")];
    // Past the end it says one line, too.
    let lines = message.matches("\r\n").count().max(1);
    server.on("GET", "log/detail", &params, json!({"lineNum": lines, "message": message}));
}

#[test]
fn a_log_is_read_to_its_end() {
    Server::each(|server| {
        let head = "[LOG-PATH]: /x/1.log, [HOST]:  Host{address='127.0.0.1:1234'}\n";
        on_slice(server, "0", &format!("{head}one\r\n\u{1b}[31mtwo\u{1b}[0m\tand \u{7}more\r\n\r\n"));
        let first = read(server, None, false).unwrap();
        assert_eq!((first.text.as_str(), first.next.as_str()), ("one\ntwo\tand more\n\n", "3"));
        on_slice(server, "3", "");
        let running = read(server, Some("3"), false).unwrap();
        assert_eq!((running.next.as_str(), running.complete), ("3", false));
        // The task has ended: the last line may come a moment later.
        on_slice(server, "3", "");
        let at_end = read(server, Some("3"), true).unwrap();
        assert!(!at_end.complete);
        on_slice(server, "3", "three\r\n");
        let late = read(server, Some(&at_end.next), true).unwrap();
        assert_eq!((late.text.as_str(), late.next.as_str(), late.complete), ("three\n", "4", false));
        on_slice(server, "4", "");
        let at_end = read(server, Some("4"), true).unwrap();
        server.host.advance(Duration::from_secs(2));
        on_slice(server, "4", "");
        let last = read(server, Some(&at_end.next), true).unwrap();
        assert_eq!((last.text.as_str(), last.complete), ("", true));
    });
}

#[test]
fn the_last_line_of_a_script_is_known() {
    let server = Server::new("3.1.1");
    on_slice(&server, "0", "one\r\n[INFO] - FINALIZE_SESSION\r\n");
    assert!(read(&server, None, true).unwrap().complete);
    on_slice(&server, "0", "one\r\n[INFO] - FINALIZE_SESSION\r\n");
    assert!(!read(&server, None, false).unwrap().complete);
}

#[test]
fn small_parts_have_whole_lines() {
    let server = Server::new("3.2.1");
    on_slice(&server, "0", "a long line that is longer than the part\r\nsecond\r\n");
    let part = read_bytes(&server, None, true, 10).unwrap();
    assert_eq!((part.text.as_str(), part.next.as_str()), ("a long line that is longer than the part\n", "1"));
}

#[test]
fn a_log_that_is_not_there() {
    let server = Server::new("3.1.1");
    let params = [("taskInstanceId", "12"), ("skipLineNum", "0"), ("limit", "20")];
    server.refuse("GET", "log/detail", &params, 10191, "task instance host is null");
    let none = read(&server, None, false).unwrap();
    assert_eq!((none.text.as_str(), none.complete), ("", false));
    server.refuse("GET", "log/detail", &params, 10008, "task instance not found");
    assert_eq!(read(&server, None, true).unwrap_err().code, "not_found");
    assert_eq!(read(&server, Some("no cursor of yours"), true).unwrap_err().code, "invalid_input");
}
