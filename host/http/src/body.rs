//! Reading a body within a bound. What is too much is read on and thrown away for a while, so that a client
//! that is still sending gets to see the answer instead of a broken connection.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt;
use hyper::body::{Body, Incoming};
use lakeport_base::Error;
use tokio::time::timeout;

/// The most that is read for nothing.
const DRAIN_MAX_BYTES: usize = 64 * 1024 * 1024;
/// The longest that is read for nothing.
const DRAIN_TIME: Duration = Duration::from_secs(2);
/// What is set aside on the word of a Content-Length alone.
const FIRST_ALLOCATION_MAX_BYTES: usize = 64 * 1024;

/// The whole body, or 413 when it is larger than `limit_bytes`.
pub async fn read(body: &mut Incoming, limit_bytes: usize) -> Result<Bytes, Error> {
    let announced = usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX);
    if announced > limit_bytes {
        return Err(Error::too_large(limit_bytes));
    }
    let mut whole = BytesMut::with_capacity(announced.min(FIRST_ALLOCATION_MAX_BYTES));
    while let Some(frame) = body.frame().await {
        let frame = frame
            .map_err(|error| Error::bad_request("body_incomplete", format!("the body broke off: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        if whole.len() + data.len() > limit_bytes {
            return Err(Error::too_large(limit_bytes));
        }
        whole.extend_from_slice(&data);
    }
    Ok(whole.freeze())
}

/// Throws away what is left, within bounds.
pub async fn drain(body: &mut Incoming) {
    let reading = async {
        let mut left = DRAIN_MAX_BYTES;
        while let Some(Ok(frame)) = body.frame().await {
            let length = frame.data_ref().map_or(0, Bytes::len);
            let Some(rest) = left.checked_sub(length) else { return };
            left = rest;
        }
    };
    // Past the time the connection may break: the client was told long enough.
    let _ = timeout(DRAIN_TIME, reading).await;
}
