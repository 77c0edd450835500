//! Server-sent events as a model sends them: bytes in, events out. A part may end within a line, or within a character.

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its type; `message` where none is given.
    pub kind: String,
    pub data: String,
}

/// Reads a stream part by part. It keeps at most one event; the answer's own limit bounds it.
#[derive(Debug, Default)]
pub struct Events {
    /// A line that has not ended.
    line: Vec<u8>,
    kind: String,
    data: Vec<String>,
    /// The last part ended with a carriage return: a line feed that follows belongs to it.
    was_return: bool,
}

impl Events {
    /// Takes in a part; returns the events that end in it.
    pub fn take(&mut self, part: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        for &byte in part {
            let is_second = std::mem::take(&mut self.was_return) && byte == b'\n';
            match byte {
                _ if is_second => {}
                b'\r' | b'\n' => {
                    self.was_return = byte == b'\r';
                    let line = std::mem::take(&mut self.line);
                    events.extend(self.line(&String::from_utf8_lossy(&line)));
                }
                _ => self.line.push(byte),
            }
        }
        events
    }

    fn line(&mut self, line: &str) -> Option<Event> {
        if line.is_empty() {
            let (kind, data) = (std::mem::take(&mut self.kind), std::mem::take(&mut self.data));
            let kind = if kind.is_empty() { "message".to_owned() } else { kind };
            return (!data.is_empty()).then(|| Event { kind, data: data.join("\n") });
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match name {
            "event" => value.clone_into(&mut self.kind),
            "data" => self.data.push(value.to_owned()),
            // A comment, or a member that models do not use.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(kind: &str, data: &str) -> Event {
        Event { kind: kind.to_owned(), data: data.to_owned() }
    }

    #[test]
    fn events_are_the_same_however_the_stream_is_cut() {
        let stream = ": hi\r\nevent: a\r\ndata: {\"x\":\r\ndata:1}\r\n\r\ndata: 订单\n\nevent: b\n\ndata: z\rid: 3\r\rdata: cut";
        let expected = [event("a", "{\"x\":\n1}"), event("message", "订单"), event("message", "z")];
        for size in 1..stream.len() {
            let mut events = Events::default();
            let read: Vec<Event> =
                stream.as_bytes().chunks(size).flat_map(|part| events.take(part)).collect();
            assert_eq!(read, expected, "parts of {size} bytes");
        }
    }
}
