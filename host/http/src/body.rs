//! Reads a body within a limit. A larger body is read on and discarded for a while, so that a client that is
//! still sending gets the answer instead of a broken connection.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use lakeport_base::Error;
use tokio::time::timeout;

/// The most bytes to discard.
const DRAIN_MAX_BYTES: usize = 64 * 1024 * 1024;
/// The longest time to discard.
const DRAIN_TIME: Duration = Duration::from_secs(2);
/// The largest buffer that is allocated because of a Content-Length alone.
const FIRST_ALLOCATION_MAX_BYTES: usize = 64 * 1024;

/// The whole body, or 413 when it is larger than `limit_bytes`.
pub async fn read(body: &mut Incoming, limit_bytes: usize) -> Result<Bytes, Error> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > limit_bytes {
        return Err(Error::too_large(limit_bytes));
    }
    let mut whole = BytesMut::with_capacity(announced.min(FIRST_ALLOCATION_MAX_BYTES));
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            Error::bad_request("body_incomplete", format!("the body is incomplete: {error}"))
        })?;
        let Ok(data) = frame.into_data() else { continue };
        if whole.len() + data.len() > limit_bytes {
            return Err(Error::too_large(limit_bytes));
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.freeze())
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
