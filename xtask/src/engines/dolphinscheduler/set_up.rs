//! What a new server needs before it can be used: a tenant, a project and an access token.

use anyhow::{Context, Result};
use lakeport_engine_tests::{Access, Api};

const PROJECT: &str = "lakeport";

/// A user of the operating system, which is checked; tasks run as the server's own user.
const TENANT: &str = "root";

/// The administrator of a new server, and its id.
const USERNAME: &str = "admin";
const PASSWORD: &str = "dolphinscheduler123";
const USER_ID: &str = "1";

const DEFAULT_QUEUE_ID: &str = "1";

/// Longer than the server lives.
const EXPIRES: &str = "2099-12-31 00:00:00";

/// Makes them.
pub fn run(base_url: &str) -> Result<Access> {
    let api = Api::new(base_url)?;
    let login = api.post("/login", &[("userName", USERNAME), ("userPassword", PASSWORD)])?.data()?;
    let session = login["sessionId"].as_str().context("the login has no session")?;
    let api = api.with_header("sessionId", session);
    let tenant = [("tenantCode", TENANT), ("queueId", DEFAULT_QUEUE_ID), ("description", "")];
    api.post("/tenants", &tenant)?.data().context("no tenant")?;
    api.post("/projects", &[("projectName", PROJECT)])?.data().context("no project")?;
    let token = api.post("/access-tokens", &[("userId", USER_ID), ("expireTime", EXPIRES)])?;
    let token = token.data().context("no access token")?;
    let token = token["token"].as_str().context("the access token has no text")?;
    let text = |text: &str| text.to_owned();
    Ok(Access {
        base_url: text(base_url),
        project_name: text(PROJECT),
        tenant: text(TENANT),
        username: text(USERNAME),
        password: text(PASSWORD),
        token: text(token),
    })
}
