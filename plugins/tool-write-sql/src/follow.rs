//! Messages that change the question before them: `and the month before?`, `only for app`, `per week instead`, `那上个月呢`.

use crate::plan::compare::before;
use crate::schema::Place;
use crate::understand::meaning::{By, Filter, Group, Meaning, Measure};

/// Words at the beginning of a message that changes a question, the longest first.
const LEADS: &[&str] = &[
    "and what about",
    "and how about",
    "and what is it for",
    "what about",
    "how about",
    "and the same for",
    "the same for",
    "same for",
    "and now",
    "now",
    "and only for",
    "and only",
    "only for",
    "only",
    "and just for",
    "just for",
    "just",
    "and then",
    "and",
    "but only",
    "but",
    "ok",
    "okay",
    "then",
    "make it",
    "make that",
    "change it to",
    "change that to",
    "switch to",
    "instead",
    "rather",
    "or",
    "also",
    "please",
    "那么",
    "那",
    "只看",
    "只要",
    "仅看",
    "只统计",
    "只算",
    "换成",
    "改成",
    "改为",
    "换为",
    "改按",
    "再看看",
    "再看",
    "如果是",
    "那如果",
    "然后",
    "再",
];
/// Words at its end.
const ENDS: &[&str] = &[
    "instead",
    "please",
    "rather",
    "as well",
    "too",
    "though",
    "then",
    "only",
    "呢",
    "吧",
    "吗",
    "的呢",
    "怎么样",
    "如何",
    "的话",
];
/// Words that stand for the earlier question or its answer.
const PRONOUNS: &[&str] = &["it", "that", "them", "those", "these", "this one", "the result", "the results"];
/// Words that say that a group is one more.
const ADDS: &[&str] = &["also", "and also", "too", "as well", "additionally", "还要", "同时", "并且"];

/// Whether a message says that it changes a question.
pub fn is_marked(message: &str) -> bool {
    let lower = plain(message);
    let words: Vec<&str> = lower.split_whitespace().collect();
    bare(message) != lower
        || PRONOUNS.iter().any(|pronoun| format!(" {} ", words.join(" ")).contains(&format!(" {pronoun} ")))
}

/// Whether what it names comes beside what the question has.
pub fn adds(message: &str) -> bool {
    let lower = format!(" {} ", plain(message));
    ADDS.iter().any(|word| match word.is_ascii() {
        true => lower.contains(&format!(" {word} ")),
        false => lower.contains(word),
    }) || lower.trim_start().starts_with("and by ")
}

/// A message without the words that only say that it changes a question.
pub fn bare(message: &str) -> String {
    let mut rest = plain(message);
    loop {
        let shorter = LEADS.iter().find_map(|lead| without_lead(&rest, lead));
        let shorter = shorter.or_else(|| ENDS.iter().find_map(|end| without_end(&rest, end)));
        match shorter {
            Some(shorter) if !shorter.is_empty() => rest = shorter,
            _ => return rest,
        }
    }
}

fn plain(message: &str) -> String {
    let ends = |c: char| c.is_whitespace() || "?？.。!！,，".contains(c);
    message.trim_matches(ends).to_owned()
}

fn without_lead(text: &str, lead: &str) -> Option<String> {
    let head = text.get(..lead.len()).filter(|head| head.eq_ignore_ascii_case(lead))?;
    let rest = &text[head.len()..];
    let is_whole = !lead.is_ascii() || rest.is_empty() || rest.starts_with([' ', ',']);
    is_whole.then(|| rest.trim_start_matches([' ', ',', '，']).to_owned())
}

fn without_end(text: &str, end: &str) -> Option<String> {
    let at = text.len().checked_sub(end.len())?;
    text.get(at..).filter(|tail| tail.eq_ignore_ascii_case(end))?;
    let rest = &text[..at];
    let is_whole = !end.is_ascii() || rest.ends_with([' ', ',']);
    is_whole.then(|| rest.trim_end_matches([' ', ',', '，']).to_owned())
}

/// The earlier question's meaning with the parts that a message names. `None` if it changes nothing.
///
/// `adds`: groups come beside those of the question.
pub fn changed(earlier: &Meaning, part: Meaning, adds: bool) -> Option<Meaning> {
    let mut meaning = earlier.clone();
    let others: Vec<usize> =
        part.tables.iter().copied().filter(|table| !earlier.tables.contains(table)).collect();
    match (&earlier.measures[..], &others[..]) {
        _ if !part.measures.is_empty() || !part.items.is_empty() => {
            replace_numbers(&mut meaning, &part);
        }
        // `and customers?`
        ([Measure::Count(_)], [table]) if part.filters.is_empty() && part.groups.is_empty() => {
            meaning.measures = vec![Measure::Count(*table)];
            meaning.tables = vec![*table];
        }
        _ => meaning.tables.extend(others),
    }
    if let Some(shift) = part.earlier {
        meaning.range = Some(before(earlier.range?, shift)?);
    }
    if part.range.is_some() {
        meaning.range = part.range;
    }
    if part.against.is_some() {
        meaning.against = part.against;
    }
    let named: Vec<Place> = part.filters.iter().map(|filter| filter.place).collect();
    for filter in part.filters {
        meaning.filters.retain(|known| known.place != filter.place);
        meaning.turned.retain(|place| *place != filter.place);
        meaning.joined.retain(|place| *place != filter.place);
        meaning.filters.push(filter);
    }
    meaning.turned.extend(part.turned);
    meaning.joined.extend(part.joined);
    if part.unit.is_some() {
        meaning.unit = part.unit;
        meaning.trend = false;
    }
    if part.trend && meaning.unit.is_none() {
        meaning.trend = true;
    }
    if !part.groups.is_empty() {
        if !adds {
            meaning.groups.clear();
        }
        // What had one value only is told apart now.
        let is_grouped = |filter: &Filter| part.groups.contains(&Group::Field(filter.place));
        meaning.filters.retain(|filter| !is_grouped(filter) || named.contains(&filter.place));
        meaning.per |= part.per;
        meaning.groups.extend(part.groups);
    }
    match (part.rank, part.order, meaning.rank) {
        (rank @ Some(_), ..) => {
            meaning.rank = rank;
            meaning.one = part.one && part.limit.is_none();
        }
        (None, Some((by, _)), Some((_, greatest))) => meaning.rank = Some((by, greatest)),
        (None, order @ Some(_), None) => meaning.order = order,
        _ => {}
    }
    if part.limit.is_some() {
        meaning.limit = part.limit;
        // `only the top 5` of groups
        if meaning.rank.is_none() && meaning.order.is_none() {
            meaning.rank = meaning.measures.first().map(|measure| (By::Measure(*measure), true));
        }
    }
    meaning.having.extend(part.having);
    meaning.growth |= part.growth;
    meaning.cumulative |= part.cumulative;
    meaning.of_total |= part.of_total;
    meaning.different |= part.different;
    meaning.without = part.without.or(meaning.without);
    meaning.occasion = part.occasion.or(meaning.occasion);
    meaning.new = part.new.or(meaning.new);
    meaning.chart = part.chart.or(meaning.chart);
    if !part.verbs.is_empty() {
        meaning.verbs = part.verbs;
    }
    (meaning != *earlier).then_some(meaning)
}

/// `and the number of orders?`: other numbers of the same groups, days and conditions.
fn replace_numbers(meaning: &mut Meaning, part: &Meaning) {
    meaning.measures.clone_from(&part.measures);
    meaning.items.clone_from(&part.items);
    meaning.hidden.clear();
    if !part.tables.is_empty() {
        meaning.tables.clone_from(&part.tables);
        meaning.entity = part.entity;
    }
    if let Some((_, greatest)) = meaning.rank {
        let by = part.measures.first().map(|measure| By::Measure(*measure));
        let by = by.or(part.items.first().map(|item| By::Field(*item)));
        meaning.rank = by.map(|by| (by, greatest));
        meaning.items.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_change_a_question_say_so() {
        for (message, left) in [
            ("And the month before?", "the month before"),
            ("only for app", "app"),
            ("per week instead", "per week"),
            ("What about Beijing?", "Beijing"),
            ("那上个月呢？", "上个月"),
            ("只看app渠道", "app渠道"),
            ("换成折线图吧", "折线图"),
        ] {
            assert_eq!(bare(message), left);
            assert!(is_marked(message), "{message}");
        }
        assert!(is_marked("show it as a line"));
        assert!(adds("also by city") && !adds("by city"));
        for message in ["How many orders?", "nowhere", "Android orders", "订单数"] {
            assert_eq!(bare(message), message.trim_end_matches('?'));
            assert!(!is_marked(message), "{message}");
        }
    }
}
