//! Reads a body within a limit. A larger body is read on and discarded for a while, so that a client that is
//! still sending gets the answer instead of a broken connection.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use lakeport_base::Error;
use tokio::time::timeout;

use super::body_memory::HeldMemory;

/// The most bytes to discard.
const DRAIN_MAX_BYTES: usize = 64 * 1024 * 1024;
/// The longest time to discard.
const DRAIN_TIME: Duration = Duration::from_secs(2);
/// The smallest buffer.
const BUFFER_MIN_BYTES: usize = 4 * 1024;

/// The whole body, or 413 when it is larger than `limit_bytes`. Its buffer grows with what has arrived; 503 if
/// there is no memory for it.
pub async fn read(body: &mut Incoming, limit_bytes: usize, memory: &mut HeldMemory) -> Result<Bytes, Error> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > limit_bytes {
        return Err(Error::too_large(limit_bytes));
    }
    let at_most = body.size_hint().upper().and_then(|bytes| usize::try_from(bytes).ok());
    let at_most = at_most.unwrap_or(limit_bytes).min(limit_bytes);
    let mut whole = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            Error::bad_request("body_incomplete", format!("the body is incomplete: {error}"))
        })?;
        let Ok(data) = frame.into_data() else { continue };
        if whole.len() + data.len() > limit_bytes {
            return Err(Error::too_large(limit_bytes));
        }
        let needed = whole.len() + data.len();
        if needed > whole.capacity() {
            let capacity = (2 * whole.capacity()).max(BUFFER_MIN_BYTES).min(at_most).max(needed);
            memory.grow_to(capacity).await?;
            whole.reserve_exact(capacity - whole.len());
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.into())
}

/// Discards the rest of a body, within bounds.
pub async fn drain(body: &mut Incoming) {
    let reading = async {
        let mut left = DRAIN_MAX_BYTES;
        while let Some(Ok(frame)) = body.frame().await {
            let length = frame.data_ref().map_or(0, Bytes::len);
            let Some(rest) = left.checked_sub(length) else { return };
            left = rest;
        }
    };
    // After that the connection may break: the client had time to read the answer.
    let _ = timeout(DRAIN_TIME, reading).await;
}
