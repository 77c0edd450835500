//! What every crate of the server may need: the error, the clock, times and texts, points where tests kill the process.
//!
//! It knows neither HTTP nor a store nor a domain.

pub mod clock;
pub mod error;
pub mod failpoints;
pub mod text;
pub mod time;

pub use clock::Clock;
pub use error::{Detail, Error};
