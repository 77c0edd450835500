//! The edge: HTTP/1.1 and HTTP/2 on one port, a table of routes, one way in and one way out for every
//! request. A handler is an async function from a [`Call`] to a [`Reply`] or an error.
//!
//! It is generic over the state `S` that handlers are given, and knows no domain. A handler may be dropped
//! at any await once its deadline has passed; a client that goes away does not stop it.

mod body;
mod call;
mod edge;
pub mod form;
mod idle;
mod local;
mod reply;
mod request_id;
mod route;
mod serve;

pub use call::{Call, Caller};
pub use edge::{Edge, EdgeSettings};
pub use local::refuse_wide_listening;
pub use reply::{Reply, ReplyBody};
pub use request_id::RequestId;
pub use route::{BodyLimit, Handler, Role, Route, Router};
pub use serve::{run, terminated};
