//! The base of all crates of the server: the error, the clock, times and texts, failpoints.
//!
//! It knows neither HTTP nor a store nor a domain.

pub mod clock;
pub mod error;
pub mod failpoints;
mod hidden;
pub mod process_limits;
pub mod text;
pub mod time;

pub use clock::Clock;
pub use error::{Detail, Error};
pub use hidden::Hidden;
