//! Server-sent events: frames as they come, a comment every 15 s so that proxies keep the connection open,
//! and a clean end when the server stops, so that readers reconnect and resume.

use std::marker::PhantomData;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use lakeport_base::Error;
use lakeport_base::error::Detail;
use schemars::{SchemaGenerator, json_schema};
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::CancellationToken;

use super::reply::Content;
use super::{Answer, AnswerShape, Reply};

/// Between two keep-alive comments.
const COMMENT_INTERVAL: Duration = Duration::from_secs(15);
/// How long a reader waits before it reconnects after the server stopped. Milliseconds.
const RETRY_MS: u32 = 1_000;
const COMMENT: &[u8] = b":\n\n";
static LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// One frame of the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The id from which a reader resumes (`Last-Event-ID`).
    pub id: u64,
    pub kind: &'static str,
    /// One JSON object, on one line.
    pub data: String,
}

impl Event {
    fn frame(&self) -> Bytes {
        format!("id: {}\nevent: {}\ndata: {}\n\n", self.id, self.kind, self.data).into()
    }
}

/// The id of the last event that the reader has seen, by the header, or else by the query; `None`: it names none.
pub fn asked_after(headers: &HeaderMap, query: Option<i64>) -> Result<Option<i64>, Error> {
    let Some(header) = headers.get(&LAST_EVENT_ID).filter(|value| !value.is_empty()) else {
        return Ok(query);
    };
    let number = header.to_str().ok().and_then(|text| text.trim().parse::<u64>().ok());
    let number = number.and_then(|number| i64::try_from(number).ok());
    let wrong = || Error::invalid(vec![Detail::new("Last-Event-ID", "must be the id of an event, or 0")]);
    number.map(Some).ok_or_else(wrong)
}

/// What the `data` of a stream's events is.
pub trait EventData: 'static {
    /// Its schema in the OpenAPI description.
    const NAME: &'static str;
}

/// The answer of a stream whose events have `D` as their data.
pub struct EventStream<D>(Reply, PhantomData<fn() -> D>);

impl<D: EventData> EventStream<D> {
    /// Sends `events` until they end or the server stops.
    pub fn new<E>(events: E, stopping: CancellationToken) -> EventStream<D>
    where
        E: Stream<Item = Event> + Send + 'static,
    {
        EventStream(stream_with(events, stopping, COMMENT_INTERVAL), PhantomData)
    }

    /// 204: no more events follow, so readers do not reconnect.
    pub fn ended() -> EventStream<D> {
        EventStream(Reply::empty(StatusCode::NO_CONTENT), PhantomData)
    }
}

impl<D: EventData> Answer for EventStream<D> {
    fn reply(&self) -> &Reply {
        &self.0
    }

    fn into_reply(self) -> Reply {
        self.0
    }

    fn describe(_: &mut SchemaGenerator) -> Option<AnswerShape> {
        let schema = json_schema!({
            "type": "string",
            "description": format!("Server-sent events, the `data` of each of which is a {}", D::NAME),
            "x-event-schema": { "$ref": format!("#/components/schemas/{}", D::NAME) },
        });
        Some(AnswerShape::new(&["text/event-stream"], schema))
    }
}

fn stream_with<E>(events: E, stopping: CancellationToken, comment_interval: Duration) -> Reply
where
    E: Stream<Item = Event> + Send + 'static,
{
    let comment_at = Instant::now() + comment_interval;
    let reader = Reader { events: Box::pin(events), stopping, comment_interval, comment_at, ended: false };
    let frames = futures_util::stream::unfold(reader, Reader::next);
    let headers = [
        (CONTENT_TYPE, "text/event-stream"),
        (CACHE_CONTROL, "no-cache"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    let headers = headers.into_iter().map(|(name, value)| (name, HeaderValue::from_static(value))).collect();
    Reply { status: StatusCode::OK, headers, content: Content::stream(frames) }
}

struct Reader<E> {
    events: std::pin::Pin<Box<E>>,
    stopping: CancellationToken,
    comment_interval: Duration,
    comment_at: Instant,
    ended: bool,
}

impl<E: Stream<Item = Event>> Reader<E> {
    async fn next(mut self) -> Option<(Bytes, Self)> {
        if self.ended {
            return None;
        }
        let frame = tokio::select! {
            biased;
            event = self.events.next() => event?.frame(),
            () = self.stopping.cancelled() => {
                self.ended = true;
                Bytes::from(format!("retry: {RETRY_MS}\n: the server is stopping, reconnect\n\n"))
            }
            () = sleep_until(self.comment_at) => Bytes::from_static(COMMENT),
        };
        self.comment_at = Instant::now() + self.comment_interval;
        Some((frame, self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_wins_over_the_parameter() {
        let mut headers = HeaderMap::new();
        assert_eq!(asked_after(&headers, None).unwrap(), None);
        assert_eq!(asked_after(&headers, Some(7)).unwrap(), Some(7));
        headers.insert(&LAST_EVENT_ID, HeaderValue::from_static("3"));
        assert_eq!(asked_after(&headers, Some(7)).unwrap(), Some(3));
        for wrong in ["x", "-1", "1.5", "99999999999999999999"] {
            headers.insert(&LAST_EVENT_ID, HeaderValue::from_static(wrong));
            assert_eq!(asked_after(&headers, Some(7)).unwrap_err().status(), 400, "{wrong}");
        }
    }

    struct Seq;

    impl EventData for Seq {
        const NAME: &'static str = "Seq";
    }

    fn stream<E>(events: E, stopping: CancellationToken) -> Reply
    where
        E: Stream<Item = Event> + Send + 'static,
    {
        EventStream::<Seq>::new(events, stopping).into_reply()
    }

    async fn text_of(reply: Reply) -> String {
        let Content::Stream(frames) = reply.content else { panic!("a stream") };
        let frames: Vec<Bytes> = frames.collect().await;
        String::from_utf8(frames.concat()).unwrap()
    }

    fn event(id: u64) -> Event {
        Event { id, kind: "thinking", data: format!("{{\"seq\":{id}}}") }
    }

    #[tokio::test]
    async fn a_stream_ends_with_its_events() {
        let reply = stream(futures_util::stream::iter([event(1), event(2)]), CancellationToken::new());
        assert_eq!(reply.headers[CONTENT_TYPE], "text/event-stream");
        let expected =
            "id: 1\nevent: thinking\ndata: {\"seq\":1}\n\nid: 2\nevent: thinking\ndata: {\"seq\":2}\n\n";
        assert_eq!(text_of(reply).await, expected);
    }

    #[tokio::test]
    async fn a_server_that_stops_tells_its_readers_to_come_back() {
        let stopping = CancellationToken::new();
        let endless = futures_util::stream::iter([event(1)]).chain(futures_util::stream::pending());
        let reply = stream(endless, stopping.clone());
        stopping.cancel();
        let text = text_of(reply).await;
        assert!(text.starts_with("id: 1\n") && text.contains("retry: 1000\n"), "{text}");
    }

    #[tokio::test]
    async fn a_comment_now_and_then_shows_that_it_lives() {
        let interval = Duration::from_millis(20);
        let silent = futures_util::stream::pending::<Event>();
        let Content::Stream(mut frames) = stream_with(silent, CancellationToken::new(), interval).content
        else {
            panic!("a stream")
        };
        let began = Instant::now();
        assert_eq!(frames.next().await.unwrap(), COMMENT);
        assert_eq!(frames.next().await.unwrap(), COMMENT);
        assert!(began.elapsed() >= 2 * interval);
    }
}
