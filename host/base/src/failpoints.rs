//! Failpoints: places where a test kills the process, like a power cut, to check the store afterwards.
//! `LAKEPORT_KILL_AT` selects one: `changes.committed`, or `changes.committed#3` for the third time. Builds
//! without debug assertions have none.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Set at most once, at the start.
static ARMED: OnceLock<Armed> = OnceLock::new();

#[derive(Debug, PartialEq, Eq)]
struct Place {
    name: String,
    /// 1: the first time.
    time: u32,
}

#[derive(Debug)]
struct Armed {
    place: Place,
    reached: AtomicU32,
}

/// Arms the selected failpoint, if there is one.
pub fn arm(kill_at: Option<&str>) -> anyhow::Result<()> {
    let Some(text) = kill_at.filter(|_| cfg!(debug_assertions)) else { return Ok(()) };
    let place = parse(text)?;
    tracing::warn!("this process will kill itself at {text}");
    ARMED.get_or_init(|| Armed { place, reached: AtomicU32::new(0) });
    Ok(())
}

/// Kills the process if this failpoint is selected and its count is reached.
pub fn reach(name: &str) {
    if cfg!(debug_assertions) && ARMED.get().is_some_and(|armed| armed.is_at(name)) {
        // Not `abort`, which may flush buffers, dump core and run handlers.
        let killed = kill(Pid::this(), Signal::SIGKILL);
        unreachable!("a process may kill itself: {killed:?}");
    }
}

impl Armed {
    fn is_at(&self, name: &str) -> bool {
        self.place.name == name && self.reached.fetch_add(1, Ordering::Relaxed) + 1 == self.place.time
    }
}

fn parse(text: &str) -> anyhow::Result<Place> {
    let (name, time) = text.split_once('#').unwrap_or((text, "1"));
    match time.parse() {
        Ok(time) if time > 0 && !name.is_empty() => Ok(Place { name: name.to_owned(), time }),
        _ => {
            anyhow::bail!("LAKEPORT_KILL_AT is `{text}`; write `changes.committed` or `changes.committed#3`")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_reached_at_its_time_and_no_other() {
        let armed = Armed { place: parse("a.b#3").unwrap(), reached: AtomicU32::new(0) };
        assert!(!armed.is_at("a"));
        let reached: Vec<bool> = (0..5).map(|_| armed.is_at("a.b")).collect();
        assert_eq!(reached, [false, false, true, false, false]);
    }

    #[test]
    fn the_first_time_need_not_be_said() {
        assert_eq!(parse("a.b").unwrap(), Place { name: "a.b".to_owned(), time: 1 });
        for wrong in ["", "#2", "a#0", "a#x", "a#"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn nothing_is_armed_unless_it_is_named() {
        arm(None).unwrap();
        reach("changes.committed");
    }
}
