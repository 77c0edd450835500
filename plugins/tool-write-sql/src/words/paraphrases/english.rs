//! English questions in other words.

use super::Paraphrase;
use crate::words::everyday::{AROUND, COMPARED_DAYS, ENGLISH};
use crate::words::idioms::{around, found};
use crate::words::without_end;

/// Kinds of days, weeks and months: words for one, what it has by itself, and what it has of something that is named.
const KINDS: &[(&str, &str, &str)] = &[
    ("best", "the highest sales", "the most"),
    ("strongest", "the highest sales", "the most"),
    ("record", "the highest sales", "the most"),
    ("biggest", "the highest sales", "the most"),
    ("worst", "the lowest sales", "the least"),
    ("weakest", "the lowest sales", "the least"),
    ("busiest", "the most orders", "the most"),
    ("peak", "the most orders", "the most"),
    ("rush", "the most orders", "the most"),
    ("quietest", "the fewest orders", "the least"),
    ("slowest", "the fewest orders", "the least"),
];
/// Places after the first.
const PLACES: &[(&str, &str)] =
    &[("second ", "second "), ("2nd ", "second "), ("third ", "third "), ("3rd ", "third ")];
const UNITS: &[&str] = &["day of the week", "weekday", "day", "week", "month", "quarter", "year", "hour"];
/// Words before such a day that say nothing else.
const ASKING: &[&str] = &[
    "what", "which", "when", "is", "was", "were", "are", "s", "our", "the", "my", "your", "show", "me",
    "give", "tell", "find", "in",
];

impl Paraphrase {
    pub(super) fn in_english(&mut self) {
        let lower = self.text.to_ascii_lowercase();
        let of_days = COMPARED_DAYS
            .iter()
            .find(|(words, _)| without_end(lower.trim()).trim_start_matches("can you ").trim() == *words);
        if let Some((_, instead)) = of_days {
            self.put(0..self.text.len(), instead);
            return;
        }
        self.last_rows();
        self.weakest_of_days();
        self.average_daily();
        for (before, after, instead) in AROUND {
            if let Some((start, inside, end)) = around(&self.text, before, after)
                && self.text[inside.clone()].contains(char::is_alphanumeric)
            {
                let instead = instead.replace("{}", &self.text[inside]);
                self.put(start..end, &instead);
            }
        }
        for (words, instead) in ENGLISH {
            let lower = self.text.to_ascii_lowercase();
            // `biggest customer by number of orders` says by what.
            let place = |words: &str| {
                let at = found(&self.text, &lower, words, 0)?;
                let says_by = words.ends_with("customer") && lower[at + words.len()..].starts_with(" by ");
                (!says_by).then_some((at, words.len()))
            };
            if let Some((at, length)) = words.split('|').find_map(place) {
                self.put(at..at + length, instead);
            }
        }
        self.best_unit();
    }

    /// `the last 10 orders` as `the latest 10 orders`.
    fn last_rows(&mut self) {
        let lower = self.text.to_ascii_lowercase();
        let Some(at) = found(&self.text, &lower, "last", 0) else { return };
        let mut rest = lower[at + "last".len()..].split_whitespace();
        let is_number = rest.next().is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
        let is_unit = |word: &str| {
            let word = word.trim_end_matches(|c: char| !c.is_alphabetic());
            UNITS.iter().any(|unit| word.trim_end_matches('s') == *unit)
        };
        if is_number && rest.next().is_some_and(|word| !is_unit(word)) {
            self.put(at..at + "last".len(), "latest");
        }
    }

    /// `Which day in October was the weakest?` as `weakest day in October`, of which there are other words.
    fn weakest_of_days(&mut self) {
        let plain = without_end(&self.text).trim().to_owned();
        let lower = plain.to_ascii_lowercase();
        let whole = KINDS.iter().flat_map(|(kind, ..)| {
            ["was the", "was our", "is the", "is our", "was", "is"]
                .map(|verb| (*kind, format!(" {verb} {kind}")))
        });
        let said = whole.filter_map(|(kind, end)| Some((kind, lower.strip_suffix(&end)?.len()))).next();
        let unit = UNITS.iter().find(|unit| lower.starts_with(&format!("which {unit} ")));
        if let (Some((kind, end)), Some(unit)) = (said, unit) {
            let days = &plain["which ".len() + unit.len()..end.max("which ".len() + unit.len())];
            let instead = format!("{kind} {unit}{days}");
            self.put(0..self.text.len(), &instead);
        }
    }

    /// `average daily sales in October` as `average sales per day in October`.
    fn average_daily(&mut self) {
        const UNITS_OF: [(&str, &str); 6] = [
            ("average daily ", " per day"),
            ("daily average ", " per day"),
            ("average weekly ", " per week"),
            ("weekly average ", " per week"),
            ("average monthly ", " per month"),
            ("monthly average ", " per month"),
        ];
        const ENDS: [&str; 12] = [
            " in ",
            " last ",
            " this ",
            " on ",
            " for ",
            " since ",
            " between ",
            " from ",
            " of ",
            " by ",
            " per ",
            "?",
        ];
        let lower = self.text.to_ascii_lowercase();
        let of = |(words, each): (&str, &'static str)| {
            Some((found(&self.text, &lower, words, 0)?, words.len(), each))
        };
        let Some((at, length, each)) = UNITS_OF.into_iter().find_map(of) else { return };
        let inside = at + length;
        let end = ENDS
            .iter()
            .filter_map(|end| lower[inside..].find(end))
            .min()
            .map_or(lower.len(), |end| inside + end);
        // `average daily order value`: of single orders, or of days.
        const ADDED_UP: [&str; 6] = ["sales", "revenue", "turnover", "income", "orders", "units"];
        let last = lower[inside..end].rsplit(' ').next().unwrap_or_default();
        if ADDED_UP.contains(&last) {
            let instead = format!("average {}{each}", &self.text[inside..end]);
            self.put(at..end, &instead);
        }
    }

    /// `best week for revenue` as `which week has the most revenue`, `second busiest day` as `which day has the second most
    /// orders`.
    fn best_unit(&mut self) {
        let lower = self.text.to_ascii_lowercase();
        let each = KINDS.iter().flat_map(|kind| UNITS.iter().map(move |unit| (kind, unit)));
        let place = |((kind, alone, of), unit): (&(&str, &'static str, &'static str), &&'static str)| {
            let words = format!("{kind} {unit}");
            Some((found(&self.text, &lower, &words, 0)?, words.len(), *alone, *of, *unit))
        };
        let Some((mut at, length, alone, of, unit)) =
            each.filter(|(kind, _)| lower.contains(kind.0)).find_map(place)
        else {
            return;
        };
        let mut end = at + length;
        let nth = PLACES.iter().find(|(words, _)| lower[..at].ends_with(words));
        at -= nth.map_or(0, |(words, _)| words.len());
        let is_asking = |word: &str| word.is_empty() || ASKING.contains(&word);
        if lower[..at].split(|c: char| !c.is_alphanumeric()).all(is_asking) {
            at = 0;
        }
        let tail = &lower[end..];
        let named = [" for ", " by ", " in terms of ", " of "].iter().find(|words| tail.starts_with(**words));
        // `best month of the year`
        let is_time = |rest: &str| {
            ["the year", "this year", "last year", "all time"].iter().any(|words| rest.starts_with(words))
        };
        let named = named.filter(|words| !is_time(&tail[words.len()..]));
        let what = if named.is_some() { of } else { alone };
        let what =
            nth.map_or_else(|| what.to_owned(), |(_, nth)| what.replacen("the ", &format!("the {nth}"), 1));
        end += named.map_or(0, |words| words.len() - 1);
        self.put(at..end, &format!("which {unit} has {what}"));
    }
}
