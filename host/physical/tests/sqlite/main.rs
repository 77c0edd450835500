//! Real SQLite files, the real dialect in the real plugin host.

mod changes;
mod hostile;
mod lent;
mod support;
