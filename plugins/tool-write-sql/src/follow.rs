//! Messages that change the question before them: `and the month before?`, `only for app`, `per week instead`, `那上个月呢`.

use crate::calendar::{Range, Unit};
use crate::plan::compare::before;
use crate::schema::Place;
use crate::understand::meaning::{Against, By, Filter, Group, Meaning, Measure, Test};
use crate::words::chinese::is_han;
use crate::words::phrases::{Earlier, Func};

/// Words at the beginning of a message that say that it changes a question.
const MARKS: &[&str] = &[
    "and what about",
    "and how about",
    "and what is it for",
    "what about",
    "how about",
    "and the same for",
    "the same for",
    "same for",
    "and only for",
    "and only",
    "only for",
    "only",
    "and just for",
    "just for",
    "just",
    "and",
    "but only",
    "but",
    "make it",
    "make that",
    "change it to",
    "change that to",
    "switch to",
    "instead",
    "rather",
    "or",
    "also",
    "那如果",
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
    "再",
];
/// Those of them that take away what was there.
const REPLACES: &[&str] =
    &["instead", "change it to", "change that to", "switch to", "换成", "改成", "改为", "换为", "改按"];
/// Words at its end that say so.
const MARKS_AT_END: &[&str] = &["instead", "rather", "as well", "too", "的呢", "呢"];
/// Words at the beginning and at the end that only say it politely.
const POLITE: &[&str] = &["please", "now", "then", "ok", "okay", "然后", "请"];
const POLITE_AT_END: &[&str] =
    &["please", "though", "then", "only", "now", "ones", "one", "吧", "吗", "怎么样", "如何", "的话"];
/// Ends of messages that begin with `按`, which already says so.
const TOLD_APART: &[&str] = &["拆分", "细分", "分开看", "分", "来看", "看"];
/// Words that ask for another function of the same number.
const FUNCS: &[(&str, Func)] = &[
    ("average", Func::Average),
    ("the average", Func::Average),
    ("mean", Func::Average),
    ("the mean", Func::Average),
    ("平均", Func::Average),
    ("平均值", Func::Average),
    ("median", Func::Median),
    ("the median", Func::Median),
    ("中位数", Func::Median),
    ("total", Func::Sum),
    ("the total", Func::Sum),
    ("合计", Func::Sum),
    ("总和", Func::Sum),
];
/// Words that stand for the earlier question or what it was about.
const PRONOUNS: &[&str] =
    &["it", "them", "those", "they", "their", "these", "this one", "the result", "the results"];
/// Chinese words that stand for what the earlier question was about, at the beginning of a message.
const PRONOUNS_CHINESE: [&str; 6] = ["他们", "她们", "它们", "这些", "那些", "其中"];
/// Words that say that something is one more.
const ADDS: &[&str] = &[
    "also",
    "and also",
    "too",
    "as well",
    "additionally",
    "split by",
    "broken down by",
    "break down by",
    "还要",
    "同时",
    "并且",
];
/// Words that ask, which a whole question has.
const ASKING: &[&str] =
    &["how many", "how much", "what", "which", "who", "list", "show", "多少", "哪", "几", "谁", "什么"];
/// First words of fragments that take conditions away.
const ALL: &[&str] = &["all", "any", "every", "overall", "for all", "所有", "全部", "不限"];
/// First words of parts of a question.
const PARTS: &[&str] = &["without", "exclude", "excluding", "except", "for", "with", "from", "in", "during"];
/// Words for days that go from today.
const FROM_TODAY: &[&str] = &[
    "this",
    "last",
    "today",
    "yesterday",
    "previous",
    "current",
    "past",
    "ago",
    "now",
    "上",
    "本",
    "这",
    "今",
    "去",
    "昨",
    "前",
    "近",
];
/// The most words, and Chinese characters, of a fragment.
const SHORT_WORDS: usize = 3;
const SHORT_LETTERS: usize = 6;

/// What the words of a message say of its place in a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<'m> {
    text: &'m str,
    marked: bool,
}

impl<'m> Message<'m> {
    pub fn of(text: &'m str) -> Message<'m> {
        Message { text, marked: !marks_of(text).is_empty() }
    }

    /// Whether it says that it changes a question.
    pub fn is_marked(self) -> bool {
        self.marked
    }

    /// Whether it is a whole question, although it begins with `and`.
    pub fn asks(self) -> bool {
        // `what about orders?` asks only by its mark.
        let lower = if self.marked { bare(self.text) } else { self.text.to_owned() }.to_lowercase();
        ASKING.iter().any(|word| has_words(&lower, word))
    }

    /// `是哪些客户`: asks of which ones the question before spoke.
    pub fn asks_which(self) -> bool {
        let plain = plain(self.text);
        let letters = plain.chars().filter(|letter| is_han(*letter)).count();
        letters <= SHORT_LETTERS && ["是哪", "哪些", "有哪些"].iter().any(|begin| plain.starts_with(begin))
    }

    /// Whether it speaks of something that only the earlier question names.
    pub fn refers(self) -> bool {
        self.begins_with_pronoun() || PRONOUNS.iter().any(|word| has_words(&self.text.to_lowercase(), word))
    }

    /// `他们一共下了多少单`
    pub fn begins_with_pronoun(self) -> bool {
        let text = self.text.trim_start_matches(['那', '，', ' ']);
        // `这些天的订单`: days, and no things.
        let is_of_days = |rest: &str| rest.starts_with(['天', '日', '周', '月', '年']);
        PRONOUNS_CHINESE.iter().any(|word| text.strip_prefix(word).is_some_and(|rest| !is_of_days(rest)))
    }

    /// Whether it is a few words that mean a whole question only by chance.
    pub fn is_short(self) -> bool {
        let bare = bare(self.text);
        let letters = bare.chars().filter(|letter| is_han(*letter)).count();
        let words = bare.split_whitespace().count();
        letters <= SHORT_LETTERS && words <= SHORT_WORDS && !self.asks()
    }

    /// `total revenue`: of all, whatever was asked before; `the total` is that of what was asked before.
    pub fn is_total(self) -> bool {
        let lower = plain(self.text).to_lowercase();
        let totals = ["total ", "overall ", "总"];
        let is_func = FUNCS.iter().any(|(word, _)| *word == lower);
        !self.marked && !is_func && totals.iter().any(|word| lower.starts_with(word))
    }

    /// Whether it begins with a word that needs the question before: `without cancelled orders`, `for customers in Beijing`.
    pub fn is_part(self) -> bool {
        let lower = self.text.trim_start().to_lowercase();
        let begins =
            PARTS.iter().any(|word| lower.strip_prefix(word).is_some_and(|rest| rest.starts_with(' ')));
        begins && !self.asks()
    }

    /// `all channels`: takes a condition away.
    pub fn takes_away(self) -> bool {
        let lower = bare(self.text).to_lowercase();
        self.is_short() && ALL.iter().any(|word| lower.starts_with(word))
    }

    fn adds(self) -> bool {
        let lower = plain(self.text).to_lowercase();
        ADDS.iter().any(|word| has_words(&lower, word)) || lower.starts_with("and by ")
    }

    /// `by month instead`
    fn replaces(self) -> bool {
        marks_of(self.text).iter().any(|mark| REPLACES.contains(mark))
    }

    fn is_only(self) -> bool {
        marks_of(self.text)
            .iter()
            .any(|mark| mark.contains("only") || mark.contains("just") || mark.contains(['只', '仅']))
    }

    /// Whether a month without a year is of the year of the question before.
    fn has_open_year(self) -> bool {
        let lower = self.text.to_lowercase();
        let has_year = lower
            .split(|letter: char| !letter.is_ascii_digit())
            .any(|digits| digits.len() == 4 && (digits.starts_with("19") || digits.starts_with("20")));
        !has_year && !FROM_TODAY.iter().any(|word| has_words(&lower, word))
    }
}

/// Whether a text has these words, not within longer ones.
fn has_words(text: &str, words: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric();
    text.match_indices(words).any(|(at, _)| {
        let begins = text[..at].ends_with(is_part) && words.starts_with(is_part);
        let goes_on = text[at + words.len()..].starts_with(is_part) && words.ends_with(is_part);
        !begins && !goes_on
    })
}

/// The words that say that a message changes a question.
fn marks_of(message: &str) -> Vec<&'static str> {
    let (mut rest, mut marks) = (plain(message), Vec::new());
    loop {
        let mark = cut(&rest, MARKS, MARKS_AT_END);
        let Some((shorter, word)) = mark.or_else(|| cut(&rest, POLITE, POLITE_AT_END)) else { return marks };
        if MARKS.contains(&word) || MARKS_AT_END.contains(&word) {
            marks.push(word);
        }
        rest = shorter;
    }
}

/// A message without the words that only say that it changes a question.
pub fn bare(message: &str) -> String {
    let mut rest = plain(message);
    while let Some((shorter, _)) =
        cut(&rest, MARKS, MARKS_AT_END).or_else(|| cut(&rest, POLITE, POLITE_AT_END))
    {
        rest = shorter;
    }
    // `按城市分`
    let told_apart = rest.starts_with('按').then(|| cut(&rest, &[], TOLD_APART)).flatten();
    told_apart.map_or(rest, |(shorter, _)| shorter)
}

/// The function that a message asks for, if it says nothing else: `average instead`.
pub fn other_function(message: &str) -> Option<Func> {
    let bare = bare(message).to_lowercase();
    FUNCS.iter().find(|(word, _)| *word == bare).map(|(_, func)| *func)
}

/// Whether a message asks for the other end of an answer: true for the greatest.
pub fn other_end(message: &str) -> Option<bool> {
    const WORST: [&str; 10] = [
        "worst",
        "the worst",
        "lowest",
        "the lowest",
        "weakest",
        "the weakest",
        "最差的",
        "最差",
        "最低的",
        "最少的",
    ];
    const BEST: [&str; 9] = [
        "best",
        "the best",
        "highest",
        "the highest",
        "strongest",
        "the strongest",
        "最好的",
        "最高的",
        "最多的",
    ];
    let bare = bare(message).to_lowercase();
    let bare = bare.as_str();
    WORST.contains(&bare).then_some(false).or_else(|| BEST.contains(&bare).then_some(true))
}

/// The earlier question with the other end of its ranking; of an answer that ranks nothing with the first of its groups.
pub fn with_end(earlier: &Meaning, greatest: bool) -> Option<Meaning> {
    let mut meaning = earlier.clone();
    let by = match (earlier.rank.or(earlier.order), &earlier.measures[..]) {
        (Some((by, _)), _) => by,
        (None, [measure]) if !earlier.groups.is_empty() => {
            meaning.limit = Some(1);
            By::Measure(*measure)
        }
        _ => return None,
    };
    meaning.order = None;
    meaning.rank = Some((by, greatest));
    (meaning.place, meaning.top, meaning.least, meaning.one) = (None, false, false, true);
    (meaning != *earlier).then_some(meaning)
}

/// Whether a message asks for shares of the numbers: `占比呢`.
pub fn asks_shares(message: &str) -> bool {
    const SHARES: [&str; 9] = [
        "占比",
        "按占比",
        "用占比表示",
        "百分比",
        "按百分比",
        "用百分比表示",
        "各占多少",
        "percentages",
        "shares",
    ];
    SHARES.contains(&bare(message).to_lowercase().as_str())
}

/// The earlier question with each number as a percentage of all together.
pub fn with_shares(earlier: &Meaning) -> Option<Meaning> {
    let is_one = matches!((&earlier.measures[..], &earlier.items[..]), ([_], _) | ([], [_]));
    let can = is_one && !earlier.groups.is_empty() && !earlier.of_total;
    can.then(|| Meaning { of_total: true, ..earlier.clone() })
}

/// The earlier question with another function of its only number.
pub fn with_function(earlier: &Meaning, func: Func) -> Option<Meaning> {
    let place = match (&earlier.measures[..], &earlier.items[..]) {
        ([Measure::Made(_, place)], _) | ([], [place]) => *place,
        _ => return None,
    };
    let measure = Measure::Made(func, place);
    let mut meaning = Meaning { measures: vec![measure], ..earlier.clone() };
    if earlier.measures.is_empty() {
        meaning.items.clear();
    }
    for by in [&mut meaning.rank, &mut meaning.order] {
        *by = by.map(|(_, greatest)| (By::Measure(measure), greatest));
    }
    (meaning != *earlier).then_some(meaning)
}

fn cut(text: &str, leads: &[&'static str], ends: &[&'static str]) -> Option<(String, &'static str)> {
    let lead = leads.iter().find_map(|lead| Some((without_lead(text, lead)?, *lead)));
    let cut = lead.or_else(|| ends.iter().find_map(|end| Some((without_end(text, end)?, *end))));
    cut.filter(|(rest, _)| !rest.is_empty())
}

fn plain(message: &str) -> String {
    let ends = |c: char| c.is_whitespace() || "?？.。!！,，".contains(c);
    message.trim_matches(ends).to_owned()
}

fn without_lead(text: &str, lead: &str) -> Option<String> {
    let head = text.get(..lead.len()).filter(|head| head.eq_ignore_ascii_case(lead))?;
    let rest = &text[head.len()..];
    // `再次下单`, `再上个月`: other words.
    let is_other = rest.starts_with('次') || lead == "再" && rest.starts_with(['上', '前']);
    let is_whole = if lead.is_ascii() { rest.starts_with([' ', ',']) } else { !is_other };
    is_whole.then(|| rest.trim_start_matches([' ', ',', '，']).to_owned())
}

fn without_end(text: &str, end: &str) -> Option<String> {
    let at = text.len().checked_sub(end.len())?;
    text.get(at..).filter(|tail| tail.eq_ignore_ascii_case(end))?;
    let rest = &text[..at];
    let is_whole = !end.is_ascii() || rest.ends_with([' ', ',']);
    is_whole.then(|| rest.trim_end_matches([' ', ',', '，']).to_owned())
}

/// The earlier question's meaning with the parts that a message names. `None` if it changes nothing, or in a way that could
/// mean several things.
pub fn changed(earlier: &Meaning, part: Meaning, message: Message<'_>) -> Option<Meaning> {
    let mut meaning = earlier.clone();
    let is_open = part.averages_groups
        || part.which
        || part.first
        || part.both.is_some()
        || part.common.is_some()
        || part.never_in.is_some()
        || part.whole.is_some()
        || earlier.whole.is_some() && !part.filters.is_empty();
    // `new customers` of those who bought again.
    let is_other = part.new.is_some() && earlier.occasion.is_some();
    if is_open || is_other {
        return None;
    }
    if message.takes_away() {
        return without_condition(meaning, &part);
    }
    // `only gold customers` is a condition.
    let is_condition = |table: &usize| part.filters.iter().any(|filter| filter.place.table == *table);
    let is_new = |table: &usize| !earlier.tables.contains(table) && !is_condition(table);
    let others: Vec<usize> = part.tables.iter().copied().filter(is_new).collect();
    let compares = part.against.is_some();
    let is_one_number = earlier.measures.len() + earlier.items.len() == 1
        && earlier.rank.is_none()
        && earlier.order.is_none()
        && earlier.share.is_none();
    if earlier.whole.is_some() && !(part.measures.is_empty() && part.items.is_empty()) {
        return None;
    }
    match &others[..] {
        _ if !part.measures.is_empty() || !part.items.is_empty() => {
            replace_numbers(&mut meaning, &part, message.adds())?;
        }
        // `orders too`
        [table] if is_one_number && names_only_tables(&part) && message.adds() => {
            meaning.measures.push(Measure::Count(*table));
        }
        // `and customers?`
        [table] if is_one_number && names_only_tables(&part) => {
            meaning.measures = vec![Measure::Count(*table)];
            meaning.items.clear();
            meaning.tables = vec![*table];
        }
        [_, ..] if names_only_tables(&part) => return None,
        _ => meaning.tables.extend(others),
    }
    if let Some(shift) = part.earlier {
        let range = earlier.range?;
        // `the week before`, of a month
        let unit = range.unit().or(range.begun);
        if matches!((shift, unit), (Earlier::Unit(one), Some(other)) if one != other) {
            return None;
        }
        meaning.range = Some(before(range, shift)?);
    }
    match (part.range, part.against, earlier.range) {
        // A day, or a year, is not compared with a month.
        (Some(other), Some(Against::Now), Some(known)) if other.unit() != known.unit() => return None,
        // `compared to September`, after October
        (Some(other), Some(Against::Now), Some(known)) => compare(&mut meaning, known, other),
        (Some(range), ..) => {
            let range = in_year_of(range, earlier.range, message);
            meaning.range = Some(range);
            if matches!(meaning.against, Some(Against::Days(_))) {
                meaning.against = None;
            }
        }
        _ => {}
    }
    if compares
        && !matches!((part.range, part.against, earlier.range), (Some(_), Some(Against::Now), Some(_)))
    {
        let is_unit_before = match (part.against, meaning.unit) {
            (Some(Against::Earlier(Earlier::Period)), Some(_)) => true,
            (Some(Against::Earlier(Earlier::Unit(unit))), known) => Some(unit) == known,
            _ => false,
        };
        // `compared to the month before?`, after months: each of them.
        match is_unit_before {
            true => meaning.growth = true,
            false => meaning.against = part.against,
        }
    }
    conditions(&mut meaning, &part, message)?;
    if part.unit.is_some() || part.range.is_some() {
        meaning.fiscal = part.fiscal || part.range.is_none() && meaning.fiscal;
    }
    if part.unit.is_some() {
        // `by month instead`, after cities
        if message.replaces() && part.groups.is_empty() && earlier.unit.is_none() && earlier.rank.is_none() {
            meaning.groups.clear();
        }
        meaning.unit = part.unit;
        meaning.trend = false;
    }
    meaning.trend |= part.trend && meaning.unit.is_none();
    if !part.weekdays.is_empty() {
        meaning.weekdays = part.weekdays;
    }
    if part.cycle.is_some() {
        (meaning.cycle, meaning.unit, meaning.trend) = (part.cycle, None, false);
    } else if part.unit.is_some() {
        meaning.cycle = None;
    }
    if !part.groups.is_empty() {
        let is_shared =
            |group: &Group| meaning.share.as_ref().is_some_and(|share| *group == Group::Field(share.place));
        if part.groups.iter().any(is_shared) {
            return None;
        }
        // `by category instead`, after the top 5 products
        if earlier.groups.is_empty() && earlier.rank.is_some() {
            return None;
        }
        if !message.adds() {
            // `by city instead`, after days
            if meaning.groups.is_empty() && part.unit.is_none() {
                meaning.unit = None;
                meaning.trend = false;
            }
            meaning.groups.clear();
        }
        // What had one value only is told apart now.
        let named = |filter: &Filter| part.filters.iter().any(|one| one.place == filter.place);
        let is_one = |filter: &Filter| matches!(&filter.test, Test::Among(values, true) if values.len() == 1);
        meaning.filters.retain(|filter| {
            !is_one(filter) || !part.groups.contains(&Group::Field(filter.place)) || named(filter)
        });
        meaning.per |= part.per;
        meaning.groups.extend(
            part.groups.iter().copied().filter(|group| !earlier.groups.contains(group) || !message.adds()),
        );
    }
    match (part.rank, part.order, meaning.rank) {
        (rank @ Some(_), ..) => {
            meaning.rank = rank;
            meaning.one = part.one && part.limit.is_none();
        }
        (None, Some((by, _)), Some((_, greatest))) => meaning.rank = Some((by, greatest)),
        // `by price`, after `bottom 5 products`
        (None, Some((by, _)), None) if meaning.top => meaning.rank = Some((by, !meaning.least)),
        (None, order @ Some(_), None) => meaning.order = order,
        _ => {}
    }
    if part.limit.is_some() || part.place.is_some() {
        meaning.limit = part.limit;
        meaning.place = part.place;
        // `only the top 5`: of groups, or of months
        if let Some((by, _)) = meaning.rank.filter(|_| part.top) {
            meaning.rank = Some((by, !part.least));
        // `the best product in each category` goes by what is usual.
        } else if meaning.rank.is_none() && meaning.order.is_none() && !meaning.top {
            let is_told_apart =
                !meaning.groups.is_empty() || meaning.unit.is_some() || meaning.cycle.is_some();
            // `orders per day`, whose number is not named.
            if let ([], [], [table], true) =
                (&meaning.measures[..], &meaning.items[..], &meaning.tables[..], is_told_apart)
            {
                meaning.measures.push(Measure::Count(*table));
            }
            if meaning.measures.is_empty() && (!meaning.groups.is_empty() || meaning.unit.is_some()) {
                let sums = meaning.items.drain(..).map(|item| Measure::Made(Func::Sum, item));
                meaning.measures = sums.collect();
            }
            meaning.rank = meaning.measures.first().map(|measure| (By::Measure(*measure), !part.least));
            meaning.which = meaning.groups.is_empty() && meaning.unit.is_some();
            // `the second`, after `top 5 products`: by what is usual. Of another list it is open by what.
            meaning.least |= part.least;
            if meaning.rank.is_none() && !meaning.top {
                return None;
            }
        }
    }
    meaning.having.retain(|(known, ..)| part.having.iter().all(|(measure, ..)| measure != known));
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
        meaning.passive = part.passive;
    }
    (meaning != *earlier).then_some(meaning)
}

/// Whether a message names tables and nothing else.
fn names_only_tables(part: &Meaning) -> bool {
    let names = Meaning {
        tables: part.tables.clone(),
        entity: part.entity,
        bare: part.bare,
        one: part.one,
        listed: part.listed,
        limited: part.limited,
        ..Meaning::default()
    };
    *part == names
}

/// `all channels`: without the condition on them.
fn without_condition(mut meaning: Meaning, part: &Meaning) -> Option<Meaning> {
    let [place] = part.items[..] else { return None };
    let count = meaning.filters.len();
    meaning.filters.retain(|filter| filter.place != place);
    meaning.turned.retain(|turned| *turned != place);
    meaning.joined.retain(|joined| *joined != place);
    (meaning.filters.len() < count && part.measures.is_empty() && part.range.is_none()).then_some(meaning)
}

/// Compares the days of a question with others; with the same again, with those before them.
fn compare(meaning: &mut Meaning, known: Range, other: Range) {
    if known == other {
        meaning.against = Some(Against::Earlier(Earlier::Period));
        return;
    }
    let (now, before) = if known.from > other.from { (known, other) } else { (other, known) };
    meaning.range = Some(now);
    meaning.against = Some(Against::Days(before));
}

/// A month or a quarter without a year, in the year of the days before.
fn in_year_of(range: Range, known: Option<Range>, message: Message<'_>) -> Range {
    let (Some(from), Some(before)) = (range.from, range.before) else { return range };
    let Some(year) = known.and_then(|known| known.from).map(|day| day.date().0) else { return range };
    let is_part = range.length().is_some_and(|days| days < 200) && Unit::Month.start(from) == from;
    if !is_part || !message.has_open_year() {
        return range;
    }
    let years = year - from.date().0;
    Range::days(from.plus_months(12 * years), before.plus_months(12 * years))
}

/// The conditions that a message names, in place of those on the same fields.
fn conditions(meaning: &mut Meaning, part: &Meaning, message: Message<'_>) -> Option<()> {
    let known: Vec<Filter> = meaning.filters.clone();
    let is_named = |place: &Place| part.filters.iter().any(|filter| filter.place == *place);
    meaning.filters.retain(|filter| !is_named(&filter.place));
    meaning.joined.retain(|place| !is_named(place));
    let turned: Vec<Place> = meaning.turned.iter().copied().filter(is_named).collect();
    meaning.turned.retain(|place| !is_named(place));
    for filter in &part.filters {
        // Of what is shared, another part; a share of a total is of all.
        match &meaning.share {
            Some(share) if share.place == filter.place && matches!(filter.test, Test::Among(_, true)) => {
                meaning.share = Some(filter.clone());
                continue;
            }
            _ if meaning.of_total && meaning.groups.contains(&Group::Field(filter.place)) => return None,
            _ => {}
        }
        let before = known.iter().find(|one| one.place == filter.place);
        let test = match (before.map(|one| &one.test), &filter.test) {
            // `without web`, after `without app`: neither.
            (Some(Test::Among(one, false)), Test::Among(other, false)) => {
                Test::Among([&one[..], &other[..]].concat(), false)
            }
            (Some(Test::Among(one, true)), Test::Among(other, true)) if message.adds() => {
                Test::Among([&one[..], &other[..]].concat(), true)
            }
            // `取消呢`, after `没有退款`
            (Some(Test::Among(_, false)), Test::Among(values, true)) if !message.is_only() => {
                if turned.contains(&filter.place) {
                    meaning.turned.push(filter.place);
                }
                Test::Among(values.clone(), false)
            }
            (_, test) => test.clone(),
        };
        meaning.filters.push(Filter { place: filter.place, test });
    }
    meaning.turned.extend(part.turned.iter().copied());
    meaning.joined.extend(part.joined.iter().copied());
    Some(())
}

/// `and the number of orders?`: other numbers of the same groups, days and conditions. `None`: of a list, or of numbers that
/// do not add up, it is open which.
fn replace_numbers(meaning: &mut Meaning, part: &Meaning, adds: bool) -> Option<()> {
    let has_numbers = !meaning.measures.is_empty() || meaning.items.is_empty();
    let measures: Vec<Measure> = match (&part.measures[..], &part.items[..]) {
        ([], items) if has_numbers => {
            // `and tickets?`, after a total
            let func = match meaning.measures.first() {
                Some(Measure::Made(func, _)) => *func,
                _ => Func::Sum,
            };
            items.iter().map(|item| Measure::Made(func, *item)).collect()
        }
        (measures, _) => measures.to_vec(),
    };
    let needs_share = |measure: &Measure| matches!(measure, Measure::Share(_) | Measure::Part(_));
    if measures.iter().any(needs_share) != part.share.is_some() {
        return None;
    }
    meaning.hidden.clear();
    if adds {
        meaning.measures.extend(measures);
        meaning.tables.extend(part.tables.iter().copied());
        return Some(());
    }
    // What was only counted is not asked for any more.
    let counted: Vec<usize> = meaning
        .measures
        .iter()
        .filter_map(|measure| if let Measure::Count(table) = measure { Some(*table) } else { None })
        .collect();
    meaning.tables.retain(|table| !counted.contains(table));
    meaning.share.clone_from(&part.share);
    let items = if measures.is_empty() { part.items.clone() } else { Vec::new() };
    meaning.measures = measures;
    meaning.items = items;
    if !part.tables.is_empty() {
        meaning.tables.clone_from(&part.tables);
        meaning.entity = part.entity;
    }
    if let Some((_, greatest)) = meaning.rank {
        let by = meaning.measures.first().map(|measure| By::Measure(*measure));
        let by = by.or(meaning.items.first().map(|item| By::Field(*item)));
        meaning.rank = by.map(|by| (by, greatest));
    }
    Some(())
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
            assert!(Message::of(message).is_marked(), "{message}");
        }
        let message = Message::of("Also by city");
        assert!(message.adds() && !Message::of("by city").adds());
        assert!(Message::of("show it as a line").refers());
        for message in [
            "How many orders?",
            "nowhere",
            "Android orders",
            "订单数",
            "再次下单的客户",
            "orders that were cancelled",
        ] {
            assert_eq!(bare(message), message.trim_end_matches('?'));
            assert!(!Message::of(message).is_marked(), "{message}");
        }
        assert!(
            !Message::of("Please show all orders").is_marked()
                && Message::of("Please show all orders").asks()
        );
        assert!(Message::of("11月呢").has_open_year() && !Message::of("去年11月").has_open_year());
        assert!(
            Message::of("all channels").takes_away()
                && !Message::of("all channels in Beijing please").takes_away()
        );
    }
}
