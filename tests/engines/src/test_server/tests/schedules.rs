//! Schedules: their states, and that they fire.

use super::*;

const END: &str = "2126-01-01 00:00:00";

fn times(cron: &str) -> String {
    json!({"startTime": "2026-01-01 00:00:00", "endTime": END, "crontab": cron, "timezoneId": "UTC"})
        .to_string()
}

fn make(site: &Site, code: i64, cron: &str) -> Answer {
    let (code, times) = (code.to_string(), times(cron));
    site.post("schedules", &[("processDefinitionCode", &code), ("schedule", &times)])
}

fn states(site: &Site, code: i64) -> Vec<String> {
    words(&site.rows("schedules", &[("processDefinitionCode", &code.to_string())]), "releaseState")
}

#[test]
fn a_definition_has_one_schedule() {
    Site::each(|site| {
        let code = site.online(&site.form("one", &["true"]));
        let first = make(site, code, "0 0 3 * * ? *");
        assert_eq!((first.status, &data(&first)["releaseState"]), (201, &json!("OFFLINE")));
        assert_eq!(codes(&make(site, code, "0 0 3 * * ? *")), (201, 10_204));
        let other = site.online(&site.form("other", &["true"]));
        assert_eq!(codes(&make(site, other, "every day")), (201, 10_024));
        assert_eq!(codes(&make(site, 1, "0 0 3 * * ? *")), (201, 50_003));
        data(&site.release(other, "OFFLINE"));
        assert_eq!(codes(&make(site, other, "0 0 3 * * ? *")), (201, 50_004));
        let unknown =
            site.get("schedules", &[("pageNo", "1"), ("pageSize", "9"), ("processDefinitionCode", "1")]);
        assert_eq!(codes(&unknown), (200, 50_003));
    });
}

#[test]
fn one_that_is_online_cannot_be_changed() {
    Site::each(|site| {
        let code = site.online(&site.form("changed", &["true"]));
        let id = data(&make(site, code, "0 0 3 29 2 ? *"))["id"].to_string();
        let path = format!("schedules/{id}");
        assert_eq!(data(&site.post(&format!("{path}/online"), &[])), json!(true));
        let changed = times("0 0 4 29 2 ? *");
        assert_eq!(codes(&site.put(&path, &[("schedule", &changed)])), (200, 10_023));
        assert_eq!(codes(&site.delete(&path)), (200, 50_023));
        data(&site.post(&format!("{path}/offline"), &[]));
        data(&site.put(&path, &[("schedule", &changed)]));
        let rows = site.rows("schedules", &[("processDefinitionCode", &code.to_string())]);
        assert_eq!(words(&rows, "crontab"), ["0 0 4 29 2 ? *"]);
        data(&site.delete(&path));
        assert_eq!(codes(&site.put(&path, &[("schedule", &changed)])), (200, 10_022));
    });
}

#[test]
fn the_definition_takes_its_schedule_offline() {
    Site::each(|site| {
        let code = site.online(&site.form("along", &["true"]));
        let id = data(&make(site, code, "0 0 3 29 2 ? *"))["id"].to_string();
        let online = || site.post(&format!("schedules/{id}/online"), &[]);
        data(&online());
        data(&site.release(code, "OFFLINE"));
        assert_eq!(states(site, code), ["OFFLINE"]);
        assert_eq!(codes(&online()), (200, 50_004));
        data(&site.release(code, "ONLINE"));
        assert_eq!(states(site, code), ["OFFLINE"]);
    });
}

#[test]
fn a_schedule_fires_while_it_is_online() {
    Site::each(|site| {
        let code = site.online(&site.form("fires", &["echo $[yyyy] ${lp_1}"]).param("lp_1", "$[HH:mm:ss]"));
        let id = data(&make(site, code, "* * * * * ? *"))["id"].to_string();
        data(&site.post(&format!("schedules/{id}/online"), &[]));
        let number = code.to_string();
        let runs = || site.rows("process-instances", &[("processDefineCode", &number)]);
        let fired = eventually("two runs", || Some(runs()).filter(|runs| runs.len() >= 2));
        data(&site.post(&format!("schedules/{id}/offline"), &[]));
        let first = fired[0]["id"].as_i64().expect("an id");
        let first = site.until(first, "SUCCESS");
        assert_eq!(first["commandType"], "SCHEDULER");
        let scheduled = first["scheduleTime"].as_str().expect("a time");
        let one = &site.tries(first["id"].as_i64().expect("an id"))[0];
        eventually("the value is in the log", || {
            data(&site.log(one, "0", "100"))["message"].as_str()?.contains(&scheduled[11..]).then_some(())
        });
        let count = runs().len();
        std::thread::sleep(Duration::from_millis(1_500));
        assert_eq!(runs().len(), count);
    });
}
