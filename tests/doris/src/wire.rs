//! The server's side of the MySQL protocol, as far as text statements need it: a greeting, a login that
//! always succeeds, statements, answers as text.
//!
//! It is implemented here because `opensrv-mysql` 0.7 cannot emulate these servers: it answers OK to unknown
//! commands, knows no error codes besides MySQL's own (StarRocks sends 5502), always reports columns without
//! fraction digits, refuses a login with 1698, and cannot be configured in its capabilities. Its last release
//! is of February 2024, and it brings 46 packages that nothing else here needs.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::query::{Column, Kind, Relation};

/// The longest packet, in bytes. The protocol splits longer ones.
const PACKET_MAX_BYTES: usize = 0xff_ffff;
const VERSION: &str = "5.7.99";
const PLUGIN: &str = "mysql_native_password";
/// Passwords are not checked, so this need not be random.
const NONCE: &[u8; 20] = b"01234567890123456789";
const UTF8MB4: u16 = 45;
const AUTOCOMMIT: u16 = 2;
const BINARY: u16 = 63;
const NULL: u8 = 0xfb;

const CONNECT_WITH_DATABASE: u32 = 0x8;
const PROTOCOL_41: u32 = 0x200;
const SECURE_CONNECTION: u32 = 0x8000;
const PLUGIN_AUTH: u32 = 0x8_0000;
const LENGTH_OF_AUTH: u32 = 0x20_0000;
const OFFERED: u32 = 0x1
    | 0x2
    | 0x4
    | CONNECT_WITH_DATABASE
    | PROTOCOL_41
    | 0x2000
    | SECURE_CONNECTION
    | PLUGIN_AUTH
    | LENGTH_OF_AUTH;

/// A client's command.
pub enum Command {
    Query(String),
    Prepare(String),
    Use(String),
    Ping,
    Quit,
    Unknown,
}

/// One connection.
pub struct Wire {
    stream: TcpStream,
    sequence: u8,
}

fn broken(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.to_owned())
}

impl Wire {
    /// Greets the client, and returns its initial database.
    pub async fn greet(stream: TcpStream, id: u32) -> io::Result<(Wire, Option<String>)> {
        stream.set_nodelay(true)?;
        let mut wire = Wire { stream, sequence: 0 };
        let mut greeting = vec![10];
        greeting.extend(VERSION.bytes().chain([0]));
        greeting.extend(id.to_le_bytes());
        greeting.extend(NONCE[..8].iter().chain(&[0]));
        greeting.extend(&OFFERED.to_le_bytes()[..2]);
        greeting.push(UTF8MB4 as u8);
        greeting.extend(AUTOCOMMIT.to_le_bytes());
        greeting.extend(&OFFERED.to_le_bytes()[2..]);
        greeting.push(NONCE.len() as u8 + 1);
        greeting.extend([0; 10]);
        greeting.extend(NONCE[8..].iter().chain(&[0]));
        greeting.extend(PLUGIN.bytes().chain([0]));
        wire.send(&greeting).await?;
        let response = wire.receive().await?;
        let database = database_of(&response).ok_or_else(|| broken("a log-in that cannot be read"))?;
        Ok((wire, database))
    }

    /// The next command.
    pub async fn command(&mut self) -> io::Result<Command> {
        self.sequence = 0;
        let packet = self.receive().await?;
        let (code, rest) = packet.split_first().ok_or_else(|| broken("an empty packet"))?;
        let text = || String::from_utf8(rest.to_vec()).map_err(|_| broken("a text that is not UTF-8"));
        Ok(match code {
            0x01 => Command::Quit,
            0x02 => Command::Use(text()?),
            0x03 => Command::Query(text()?),
            0x0e => Command::Ping,
            0x16 => Command::Prepare(text()?),
            _ => Command::Unknown,
        })
    }

    pub async fn ok(&mut self) -> io::Result<()> {
        let [low, high] = AUTOCOMMIT.to_le_bytes();
        self.send(&[0, 0, 0, low, high, 0, 0]).await
    }

    pub async fn error(&mut self, code: u16, message: &str) -> io::Result<()> {
        let state = match code {
            1146 => "42S02",
            1049 => "42000",
            _ => "HY000",
        };
        let mut packet = vec![0xff];
        packet.extend(code.to_le_bytes());
        packet.extend(b"#".iter().copied().chain(state.bytes()).chain(message.bytes()));
        self.send(&packet).await
    }

    /// The complete answer, or at most so many bytes of it.
    pub async fn rows(&mut self, answer: &Relation, no_more_than: Option<usize>) -> io::Result<()> {
        let mut bytes = Vec::new();
        let mut packets = vec![vec![u8::try_from(answer.columns.len()).map_err(|_| broken("many columns"))?]];
        packets.extend(answer.columns.iter().map(column));
        packets.push(end());
        for row in &answer.rows {
            let mut packet = Vec::new();
            for (cell, column) in row.iter().zip(&answer.columns) {
                match cell.text(column.kind) {
                    Some(text) => put(&mut packet, text.as_bytes()),
                    None => packet.push(NULL),
                }
            }
            packets.push(packet);
        }
        packets.push(end());
        for packet in packets {
            bytes.extend(self.header(packet.len())?);
            bytes.extend(packet);
        }
        bytes.truncate(no_more_than.unwrap_or(bytes.len()));
        self.stream.write_all(&bytes).await
    }

    async fn send(&mut self, packet: &[u8]) -> io::Result<()> {
        let mut bytes = self.header(packet.len())?.to_vec();
        bytes.extend(packet);
        self.stream.write_all(&bytes).await
    }

    fn header(&mut self, length: usize) -> io::Result<[u8; 4]> {
        let length = u32::try_from(length).ok().filter(|length| (*length as usize) < PACKET_MAX_BYTES);
        let [one, two, three, _] = length.ok_or_else(|| broken("a packet too long"))?.to_le_bytes();
        let header = [one, two, three, self.sequence];
        self.sequence = self.sequence.wrapping_add(1);
        Ok(header)
    }

    async fn receive(&mut self) -> io::Result<Vec<u8>> {
        let mut header = [0; 4];
        self.stream.read_exact(&mut header).await?;
        let length = u32::from_le_bytes([header[0], header[1], header[2], 0]) as usize;
        if length >= PACKET_MAX_BYTES {
            return Err(broken("a packet too long"));
        }
        self.sequence = header[3].wrapping_add(1);
        let mut packet = vec![0; length];
        self.stream.read_exact(&mut packet).await?;
        Ok(packet)
    }
}

/// The database of a login. `None`: it is not a login.
fn database_of(response: &[u8]) -> Option<Option<String>> {
    const BEFORE_USER: usize = 4 + 4 + 1 + 23;
    let flags = u32::from_le_bytes(response.get(..4)?.try_into().ok()?);
    let rest = response.get(BEFORE_USER..)?;
    let user = rest.iter().position(|byte| *byte == 0)?;
    let rest = rest.get(user + 1..)?;
    // A password's proof is short enough for a length of one byte.
    let proof = usize::from(*rest.first()?);
    let rest = rest.get(1 + proof..)?;
    if flags & CONNECT_WITH_DATABASE == 0 {
        return Some(None);
    }
    let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
    let name = String::from_utf8(rest[..end].to_vec()).ok()?;
    Some((!name.is_empty()).then_some(name))
}

fn column(column: &Column) -> Vec<u8> {
    let (code, digits) = match column.kind {
        Kind::Boolean => (0x01, 0),
        Kind::Integer => (0x08, 0),
        Kind::Decimal(digits) => (0xf6, digits),
        Kind::Double => (0x05, 31),
        Kind::Date => (0x0a, 0),
        Kind::DateTime(digits) => (0x0c, digits),
        Kind::Text => (0xfd, 0),
        Kind::Array => (0xfe, 0),
    };
    let letters = if matches!(column.kind, Kind::Text | Kind::Array) { UTF8MB4 } else { BINARY };
    let mut packet = Vec::new();
    for text in ["def", "", "", "", column.name.as_str(), ""] {
        put(&mut packet, text.as_bytes());
    }
    packet.push(0x0c);
    packet.extend(letters.to_le_bytes());
    packet.extend(u32::from(u16::MAX).to_le_bytes());
    packet.push(code);
    packet.extend([0, 0, u8::try_from(digits).unwrap_or(u8::MAX), 0, 0]);
    packet
}

fn end() -> Vec<u8> {
    let [low, high] = AUTOCOMMIT.to_le_bytes();
    vec![0xfe, 0, 0, low, high]
}

/// A text with its length before it.
fn put(packet: &mut Vec<u8>, text: &[u8]) {
    match text.len() {
        length @ 0..=250 => packet.push(length as u8),
        length @ 251..=0xffff => {
            packet.push(0xfc);
            packet.extend(&length.to_le_bytes()[..2]);
        }
        length => {
            packet.push(0xfd);
            packet.extend(&length.to_le_bytes()[..3]);
        }
    }
    packet.extend(text);
}
