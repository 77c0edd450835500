//! Parses values. An error continues the setting's name and states valid values.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use chrono::NaiveTime;
use chrono_tz::Tz;
use lakeport_base::text::nearest;
use tracing_subscriber::EnvFilter;

use super::model::PRICE_MAX;
use super::{Environment, LogFormat, ModelProvider};

pub fn listen(text: &str) -> Result<SocketAddr, String> {
    let numeric = text.strip_prefix("localhost:").map(|port| format!("127.0.0.1:{port}"));
    numeric.as_deref().unwrap_or(text).parse().map_err(|_| {
        format!("is `{text}`, not an address and a port; write it like 127.0.0.1:8080 or [::1]:8080")
    })
}

pub fn folder(text: &str) -> Result<PathBuf, String> {
    if text.trim().is_empty() {
        return Err("is empty; name a folder".to_owned());
    }
    Ok(PathBuf::from(text))
}

pub fn switch(text: &str) -> Result<bool, String> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(format!("is `{text}`; it can be true or false")),
    }
}

pub fn log_filter(text: &str) -> Result<String, String> {
    match EnvFilter::try_new(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(format!(
            "is `{text}`, not a log filter ({error}); write a level (error, warn, info, debug, trace) or \
             info,lakeport::http=debug"
        )),
    }
}

pub fn log_format(text: &str) -> Result<LogFormat, String> {
    match text {
        "text" => Ok(LogFormat::Text),
        "json" => Ok(LogFormat::Json),
        _ => Err(format!("is `{text}`; it can be text or json")),
    }
}

pub fn model_provider(text: &str) -> Result<ModelProvider, String> {
    let known = || ModelProvider::ALL.map(ModelProvider::as_str).join(", ");
    ModelProvider::named(text).ok_or_else(|| format!("is `{text}`; it can be {}", known()))
}

/// Of a million tokens; empty: none.
pub fn price(text: &str) -> Result<Option<f64>, String> {
    let Some(text) = optional(text) else { return Ok(None) };
    let price = text.parse::<f64>().ok().filter(|price| (0.0..=PRICE_MAX).contains(price));
    price.map(Some).ok_or_else(|| format!("is `{text}`, not a number from 0 to {PRICE_MAX}"))
}

pub fn shown_price(price: Option<f64>) -> String {
    price.map_or_else(String::new, |price| price.to_string())
}

/// A limit of tokens or cost of a day or a question.
pub fn tokens(text: &str) -> Result<i64, String> {
    const MAX: u64 = 1_000_000_000_000;
    number(text, 0, MAX).map(|count| count as i64)
}

pub fn zone(text: &str) -> Result<Tz, String> {
    text.parse().map_err(|_| {
        let near = nearest(text, chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name()));
        let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
        format!("is `{text}`, not a time zone of the IANA database such as UTC or Asia/Shanghai{hint}")
    })
}

/// `TZ`, or the system's time zone, or UTC.
pub fn host_zone(environment: &Environment) -> String {
    let known = |name: &str| name.trim_start_matches(':').parse::<Tz>().ok();
    let of_system = || iana_time_zone::get_timezone().ok().as_deref().and_then(known);
    environment.get("TZ").and_then(known).or_else(of_system).unwrap_or(Tz::UTC).name().to_owned()
}

pub fn number(text: &str, low: u64, high: u64) -> Result<u64, String> {
    let wrong = || format!("is `{text}`; it must be a whole number from {low} to {high}");
    let number = text.trim().parse().map_err(|_| wrong())?;
    if (low..=high).contains(&number) { Ok(number) } else { Err(wrong()) }
}

pub fn count(text: &str, low: usize, high: usize) -> Result<usize, String> {
    let number = number(text, low as u64, high as u64)?;
    usize::try_from(number).map_err(|_| format!("is `{text}`, more than this machine can count"))
}

pub fn seconds(text: &str, low: u64, high: u64) -> Result<Duration, String> {
    number(text, low, high).map(Duration::from_secs)
}

/// `4194304`, `4096 KiB` or `4 MiB`.
pub fn bytes(text: &str, low: usize, high: usize) -> Result<usize, String> {
    let wrong =
        || format!("is `{text}`; it must be from {low} to {high} bytes, written like 4194304 or 4 MiB");
    let units = [("KiB", 1024), ("MiB", 1024 * 1024), ("GiB", 1024 * 1024 * 1024)];
    let found = units.iter().find_map(|(unit, size)| Some((text.trim().strip_suffix(unit)?, *size)));
    let (digits, size) = found.unwrap_or((text, 1));
    let number: usize = digits.trim().parse().map_err(|_| wrong())?;
    let bytes = number.checked_mul(size).ok_or_else(wrong)?;
    if (low..=high).contains(&bytes) { Ok(bytes) } else { Err(wrong()) }
}

/// The items of a comma-separated list.
pub fn list(text: &str) -> Vec<String> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
}

/// An empty text means none.
pub fn optional(text: &str) -> Option<String> {
    Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned)
}

pub fn shown_path(path: Option<&std::path::Path>) -> String {
    path.map(|path| path.display().to_string()).unwrap_or_default()
}

/// Whole days; at least one, at most a hundred years.
pub fn days(text: &str) -> Result<u64, String> {
    number(text, 1, 36_500)
}

/// Turns off a setting that is a time of day.
const OFF: &str = "off";
const TIME_OF_DAY: &str = "%H:%M";

/// `HH:mm`, or `off`.
pub fn time_of_day(text: &str) -> Result<Option<NaiveTime>, String> {
    if text == OFF {
        return Ok(None);
    }
    let time = NaiveTime::parse_from_str(text, TIME_OF_DAY);
    time.map(Some).map_err(|_| format!("is `{text}`; write a time of day like 02:00, or {OFF}"))
}

pub fn shown_time_of_day(time: Option<NaiveTime>) -> String {
    time.map_or_else(|| OFF.to_owned(), |time| time.format(TIME_OF_DAY).to_string())
}

/// `scheme://host[:port]`, as browsers write an origin; separated by commas.
pub fn origins(text: &str) -> Result<Vec<String>, String> {
    let origins = list(text);
    let is_origin = |origin: &str| {
        let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
        host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '?', '#', '@', '*', ' ']))
            && *origin == origin.to_ascii_lowercase()
    };
    match origins.iter().find(|origin| !is_origin(origin)) {
        None => Ok(origins),
        Some(wrong) => Err(format!(
            "names `{wrong}`, not an origin; write it as a browser does, like https://console.example.com"
        )),
    }
}

/// `package:name/interface`, without versions, separated by commas.
pub fn interfaces(text: &str) -> Result<Vec<String>, String> {
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    let whole = |name: &str| {
        let part = |text: &str| {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        };
        let (package, interface) = name.split_once('/')?;
        let (space, package) = package.split_once(':')?;
        (part(space) && part(package) && part(interface)).then(|| name.to_owned())
    };
    names
        .map(|name| {
            whole(name).ok_or_else(|| {
                format!(
                    "names `{name}`, not an interface; write it without a version, like lakeport:host/http"
                )
            })
        })
        .collect()
}
