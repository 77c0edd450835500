//! The days of the example company's past, counted back from the one on which it is set up.

use anyhow::anyhow;
use chrono::{Days, NaiveDate};
use chrono_tz::Tz;
use lakeport_base::Clock;
use lakeport_base::time::{self, MINUTE_MS};

use crate::compose::Server;

pub struct Moments {
    clock: Clock,
    pub zone: Tz,
    today: NaiveDate,
    pub now_ms: i64,
}

impl Moments {
    pub fn of(state: &Server) -> Moments {
        let (zone, now_ms) = (state.config.time_zone, state.clock.now_ms());
        let today = chrono::DateTime::from_timestamp_millis(now_ms).unwrap_or_default().with_timezone(&zone);
        Moments { clock: state.clock.clone(), zone, today: today.date_naive(), now_ms }
    }

    pub fn today(&self) -> NaiveDate {
        self.today
    }

    /// The time `days_ago` days ago, at `HH:mm`.
    pub fn at(&self, days_ago: u64, time: &str) -> anyhow::Result<i64> {
        let day = self.today.checked_sub_days(Days::new(days_ago)).unwrap_or(self.today);
        time::parse(&format!("{day} {time}:00"), self.zone)
            .map_err(|why| anyhow!("the example company's time {day} {time} {why}"))
    }

    /// Sets the clock to this time.
    pub fn go_to(&self, at_ms: i64) {
        self.clock.set(at_ms);
    }

    /// Advances the clock by so many minutes.
    pub fn wait(&self, minutes: i64) {
        self.clock.set(self.clock.now_ms() + minutes * MINUTE_MS);
    }
}
