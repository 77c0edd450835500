//! `cargo xtask engine`: an engine for a person to try Lakeport with.

use std::io::Write as _;

use anyhow::{Result, bail};
use lakeport_engine_tests::Access;
use serde_json::json;

use super::dolphinscheduler::{self, Server};
use crate::tools::Tools;
use crate::{child, terminal};

/// Where `cargo xtask serve` listens.
const LAKEPORT: &str = "http://127.0.0.1:8080";

/// Starts DolphinScheduler, prints its access as one line of JSON, and runs it until Ctrl-C or TERM.
pub fn dolphinscheduler(database_ports: &[u16]) -> Result<()> {
    // The output is the JSON alone.
    terminal::use_error_output();
    let distribution = match dolphinscheduler::obtain()? {
        Tools::Ready(folder) => folder,
        Tools::Missing(what) => bail!("{what}"),
    };
    eprintln!("dolphinscheduler: starting, which takes 15 to 60 s");
    let mut server = dolphinscheduler::start(&distribution, database_ports)?;
    // A closed output is no reason to end.
    writeln!(std::io::stdout(), "{}", server.access().to_json()).ok();
    eprint!("{}", instructions(server.access()));
    wait(&mut server)
}

fn wait(server: &mut Server) -> Result<()> {
    while child::check_not_interrupted().is_ok() {
        if let Err(error) = server.check() {
            // A signal ends the engine as well.
            return if child::check_not_interrupted().is_ok() { Err(error) } else { Ok(()) };
        }
        std::thread::sleep(child::POLL);
    }
    Ok(())
}

/// How to add the engine to a Lakeport that runs on this machine.
fn instructions(access: &Access) -> String {
    let engine = json!({
        "name": "dolphinscheduler",
        "plugin": "dolphinscheduler",
        "config": {
            "baseUrl": access.base_url,
            "projectName": access.project_name,
            "tenant": access.tenant,
            "timeZone": "UTC",
        },
        "secrets": { "token": access.token },
    });
    let address = access.base_url.trim_start_matches("http://").split('/').next().unwrap_or_default();
    format!(
        "Lakeport may reach it if it was started with LAKEPORT_EGRESS_ALLOW={address}. This adds it:\n\
         curl -X POST {LAKEPORT}/api/v1/engines -H 'Content-Type: application/json' -d '{engine}'\n\
         Ctrl-C ends it.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_instructions_name_address_and_command() {
        let text = |text: &str| text.to_owned();
        let access = Access {
            base_url: text("http://127.0.0.1:4567/dolphinscheduler"),
            project_name: text("lakeport"),
            tenant: text("root"),
            username: text("admin"),
            password: text("secret"),
            token: text("abc"),
        };
        let instructions = instructions(&access);
        assert!(instructions.contains("LAKEPORT_EGRESS_ALLOW=127.0.0.1:4567."), "{instructions}");
        let command = r#"-d '{"name":"dolphinscheduler","plugin":"dolphinscheduler","config":{"baseUrl":"#;
        assert!(instructions.contains(command), "{instructions}");
        assert!(instructions.contains(r#""secrets":{"token":"abc"}}'"#), "{instructions}");
        assert!(!instructions.contains("secret\""), "the plugin needs no password");
    }
}
