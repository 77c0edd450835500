//! How xtask and the tests reach a real workflow engine: its address and secrets, and a client of its API. Of the
//! versions of which no real one can be had, a test server.
//!
//! `cargo xtask test --engines` starts the engine; the tests read [`VARIABLE`].

mod api;
mod openapi;
mod test_server;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

pub use self::api::{Answer, Api};
pub use self::openapi::{Document, Documented};
pub use self::test_server::{Generation, TestServer};

/// The environment variable of the tests: an [`Access`] as JSON.
pub const VARIABLE: &str = "LAKEPORT_TEST_DOLPHINSCHEDULER";

/// How to reach a running DolphinScheduler, as one JSON object.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Access {
    /// `http://127.0.0.1:PORT/dolphinscheduler`.
    pub base_url: String,
    /// An empty project.
    pub project_name: String,
    /// The tenant that workflows need in version 3.1.
    pub tenant: String,
    /// The administrator.
    pub username: String,
    pub password: String,
    /// An access token of the administrator.
    pub token: String,
}

impl Access {
    /// The access to the server that xtask started for the tests.
    pub fn from_environment() -> Result<Self> {
        let json = std::env::var(VARIABLE)
            .with_context(|| format!("{VARIABLE} is not set: `cargo xtask test --engines` sets it"))?;
        serde_json::from_str(&json).with_context(|| format!("{VARIABLE} is not valid"))
    }

    /// One line of JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a struct of texts is JSON")
    }

    /// A client that sends the access token.
    pub fn api(&self) -> Result<Api> {
        Ok(Api::new(&self.base_url)?.with_header("token", &self.token))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_is_one_line_of_json() {
        let text = |text: &str| text.to_owned();
        let access = Access {
            base_url: text("http://127.0.0.1:1/dolphinscheduler"),
            project_name: text("lakeport"),
            tenant: text("root"),
            username: text("admin"),
            password: text("secret"),
            token: text("abc"),
        };
        let json = access.to_json();
        let expected = concat!(
            r#"{"baseUrl":"http://127.0.0.1:1/dolphinscheduler","projectName":"lakeport","#,
            r#""tenant":"root","username":"admin","password":"secret","token":"abc"}"#
        );
        assert_eq!(json, expected);
        assert_eq!(serde_json::from_str::<Access>(&json).expect("read back"), access);
    }
}
