//! A receiver of alerts.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::Value;

/// Keeps what it gets, until the test ends.
pub struct Webhook {
    url: String,
    got: Arc<Mutex<Vec<Value>>>,
}

impl Webhook {
    /// Refuses the first requests, so many, and accepts the others.
    pub fn start(refused: usize) -> Webhook {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/hook?token=very-secret", listener.local_addr().expect("an address"));
        let got = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&got);
        std::thread::spawn(move || {
            for (count, stream) in listener.incoming().map_while(Result::ok).enumerate() {
                // A server that is killed sends half of a request.
                let Some(body) = read(&stream) else { continue };
                let status = if count < refused { "503 Service Unavailable" } else { "204 No Content" };
                let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                let _ = (&stream).write_all(answer.as_bytes());
                kept.lock().expect("no panic").push(body);
            }
        });
        Webhook { url, got }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// The bodies so far.
    pub fn got(&self) -> Vec<Value> {
        self.got.lock().expect("no panic").clone()
    }
}

fn read(stream: &TcpStream) -> Option<Value> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? <= 2 {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}
