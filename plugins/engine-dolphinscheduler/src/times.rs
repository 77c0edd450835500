//! Times on the wire: `yyyy-MM-dd HH:mm:ss` on the server's clock, without a zone.

use lakeport_sdk::engine::{Error, Timestamp, clock};
use lakeport_sdk::serde_json::Value;

/// A time as the server reads it. Parts of a second are cut off.
pub fn written(at: Timestamp, zone: &str) -> Result<String, Error> {
    clock::to_local(at, zone)
}

/// A time that the server wrote; `None` if it is null or no time.
pub fn read(value: &Value, zone: &str) -> Option<Timestamp> {
    let text = value.as_str().filter(|text| !text.is_empty())?;
    clock::from_local(text, zone).ok()
}
