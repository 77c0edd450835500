//! Log lines for the operator.
//!
//! ```no_run
//! use lakeport_sdk::{info, warn};
//!
//! info!("took over");
//! warn!("{} definitions left out", 3; "project" => "sales", "page" => 2);
//! ```
//!
//! In a native build, as in `cargo test` of a plugin, lines go to standard error, and to the `TestHost` of the
//! module `testing`, if there is one.

pub use crate::bindings::host::log::Level;

/// Writes one line. The host cuts messages at 4,096 bytes, keeps 32 fields of 1,024 bytes each, and only
/// counts the lines after the first 1,000 of a call.
pub fn write(level: Level, message: &str, fields: &[(String, String)]) {
    #[cfg(target_arch = "wasm32")]
    crate::bindings::host::log::write(level, message, fields);
    #[cfg(not(target_arch = "wasm32"))]
    {
        crate::testing::capture_log(level, message, fields);
        eprintln!("{level:?} {message} {fields:?}");
    }
}

/// Writes one line at a level. The macros `trace!` … `error!` are shorter.
#[macro_export]
macro_rules! log_at {
    ($level:ident, $format:literal $(, $argument:expr)* $(; $($name:expr => $value:expr),+ $(,)?)?) => {
        $crate::log::write(
            $crate::log::Level::$level,
            &::std::format!($format $(, $argument)*),
            &[$($((::std::string::ToString::to_string(&$name), ::std::string::ToString::to_string(&$value))),+)?],
        )
    };
}

/// Single steps; off unless the operator enables them.
#[macro_export]
macro_rules! trace { ($($line:tt)*) => { $crate::log_at!(Trace, $($line)*) }; }

/// For debugging the plugin.
#[macro_export]
macro_rules! debug { ($($line:tt)*) => { $crate::log_at!(Debug, $($line)*) }; }

/// Information for the operator.
#[macro_export]
macro_rules! info { ($($line:tt)*) => { $crate::log_at!(Info, $($line)*) }; }

/// A problem that was handled.
#[macro_export]
macro_rules! warn { ($($line:tt)*) => { $crate::log_at!(Warn, $($line)*) }; }

/// A problem that needs a person.
#[macro_export]
macro_rules! error { ($($line:tt)*) => { $crate::log_at!(Error, $($line)*) }; }
