//! The edge: HTTP/1.1 and HTTP/2 on one port, a table of routes, and a single path for all requests. A
//! handler is an async function from a [`Call`] to an [`Answer`] or an error; the OpenAPI description derives
//! from its types.
//!
//! It is generic over the handlers' state `S` and knows no domain: the [`Gate`] authenticates callers and
//! records changes. A handler may be dropped at any await after its deadline; a client that disconnects does
//! not stop a change.

mod answer;
mod arrival;
mod body;
mod body_memory;
mod call;
mod caller;
mod compress;
mod cors;
mod edge;
mod etag;
pub mod events;
pub mod form;
mod gate;
mod internal_client;
mod local;
pub mod openapi;
mod paging;
mod reply;
mod request_id;
mod route;
mod router;
mod serve;
mod stats;
mod tls;
mod written_json;

pub use answer::{
    Answer, AnswerShape, Bare, Data, Document, File, Html, Media, Metrics, Redirect, Script, Style, Wasm,
};
pub use call::{Body, Call, Json, Nothing, OptionalJson, Raw};
pub use caller::{Caller, Identity, Role};
pub use compress::{accepts_coding, names};
pub use edge::{Edge, EdgeSettings};
pub use etag::{etag_of, etag_of_bytes};
pub use gate::{Attempt, Begun, Gate};
pub use internal_client::InternalClient;
pub use local::{check as check_local, whole_authority};
pub use paging::{PAGE_MAX_BYTES, PAGE_SIZE_MAX, Page, PageNum, PageSize, Paging};
pub use reply::{Content, Reply, ReplyBody};
pub use request_id::RequestId;
pub use route::{BodyLimit, Endpoint, Operation, Route};
pub use router::Router;
pub use serve::{raise_file_limit, run, terminated};
pub use stats::Stats;
pub use tls::{Secure, Tls};
pub use written_json::WrittenJson;
