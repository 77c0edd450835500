//! Other words for a question that is not understood as it is written: `buyers` as `customers who ordered`, `peak hour` as
//! `which hour has the most orders`. Whoever reads the answer sees which words were read as which.

use super::chinese::is_han;
use super::idioms::{around, found, is_quoted};

/// English words, `|` between synonyms: each that fits is replaced once, the first ones first.
const ENGLISH: &[(&str, &str)] = &[
    (
        "bought something|bought anything|bought from us|made a purchase|made at least one purchase|placed an order|placed orders|made an order|purchased something",
        "ordered",
    ),
    ("paying customers|active buyers", "customers who ordered"),
    ("bought the most|buy the most|buys the most|purchased the most|bought most", "have the highest sales"),
    ("buyers|purchasers|shoppers", "customers who ordered"),
    ("cheaper than|less expensive than", "with a price under"),
    ("more expensive than|pricier than|dearer than", "with a price over"),
    (
        "as shares|in percent|as percent|as a percentage|as shares of the total|in shares",
        "as a share of the total",
    ),
    (
        "contributes the most to|contributes most to|contribute the most to|contribute most to|adds the most to|adds most to",
        "has the highest",
    ),
    (
        "has never been sold|have never been sold|was never sold|were never sold|has not been sold|have not been sold|was not sold|were not sold|never sells|never sell|did not sell|do not sell|does not sell|are not selling|is not selling",
        "with no sales",
    ),
    ("new registrations|new sign-ups|new signups|registrations|sign-ups|signups", "new customers"),
    ("number two|number 2|no. 2|no 2", "second best"),
    ("number three|number 3|no. 3|no 3", "third best"),
    ("singles' day|singles’ day|singles day|double eleven|double 11", "november 11"),
    ("christmas day", "december 25"),
    ("christmas eve", "december 24"),
    ("new year's day|new year’s day|new years day", "january 1"),
    ("takings|proceeds|money made", "revenue"),
    ("clients", "customers"),
    ("goods|merchandise|articles|skus", "products"),
    ("purchases|transactions", "orders"),
    ("tell me the|let me know the|can i see the|can i see|could i see|i need the|i need", ""),
    ("which days|what days|on which days|which of the days", "which day"),
    ("which weeks|what weeks|in which weeks", "which week"),
    ("which months|what months|in which months", "which month"),
    ("days with", "which day had"),
    ("months with", "which month had"),
    ("weeks with", "which week had"),
    ("ever since|right now|at the moment|these days|to date", ""),
];

/// English words around something: before, after, and what stands there instead.
const AROUND: &[(&str, &str, &str)] = &[
    ("is ", " going up", "trend of {}"),
    ("are ", " going up", "trend of {}"),
    ("is ", " going down", "trend of {}"),
    ("are ", " going down", "trend of {}"),
    ("is ", " growing", "trend of {}"),
    ("are ", " growing", "trend of {}"),
    ("is ", " rising", "trend of {}"),
    ("are ", " rising", "trend of {}"),
    ("is ", " falling", "trend of {}"),
    ("are ", " falling", "trend of {}"),
    ("how is ", " doing", "trend of {}"),
    ("how are ", " doing", "trend of {}"),
    ("how is ", " going", "trend of {}"),
    ("how are ", " going", "trend of {}"),
    ("how is ", " developing", "trend of {}"),
    ("how are ", " developing", "trend of {}"),
    ("by how much did ", " grow from", "how did {} change from"),
    ("by how much did ", " change from", "how did {} change from"),
    ("by how much did ", " fall from", "how did {} change from"),
    ("how much did ", " grow from", "how did {} change from"),
    ("how much did ", " fall from", "how did {} change from"),
    ("how many ", " on average", "average number of {}"),
];

/// Chinese words: a longer one stands before one that it contains.
const CHINESE: &[(&str, &str)] = &[
    ("哪个客户买得最多", "哪个客户的销售额最高"),
    ("哪位客户买得最多", "哪个客户的销售额最高"),
    ("业绩最好", "销售额最高"),
    ("业绩最差", "销售额最低"),
    ("业绩", "销售额"),
    ("消费超过", "销售额超过"),
    ("消费满", "销售额至少"),
    ("消费不到", "销售额低于"),
    ("花费超过", "销售额超过"),
    ("只买过一次", "订单数等于1"),
    ("只买了一次", "订单数等于1"),
    ("只下过一次单", "订单数等于1"),
    ("只下过一单", "订单数等于1"),
    ("只下了一单", "订单数等于1"),
    ("买过多次", "订单超过1个"),
    ("平均每单有几件商品", "平均每个订单的商品数"),
    ("平均每单几件商品", "平均每个订单的商品数"),
    ("平均每个订单有几件商品", "平均每个订单的商品数"),
    ("每单几件商品", "平均每个订单的商品数"),
    ("最忙的", "订单最多的"),
    ("最忙", "订单最多"),
    ("最冷清的", "订单最少的"),
    ("买过东西", "下单"),
    ("买家", "下过单的客户"),
    ("及其", "和"),
    ("国庆期间", "10月1日到10月7日"),
    ("国庆节期间", "10月1日到10月7日"),
    ("国庆假期", "10月1日到10月7日"),
    ("画成", "换成"),
    ("做成", "换成"),
    ("变成", "换成"),
    ("是谁", "是哪个"),
    ("卖出去", "卖出"),
];

/// Weekends beside working days, with the words for each; a longer one stands before one that it contains.
const SIDES: &[(&str, [&str; 2])] = &[
    ("on weekends versus on weekdays", ON_SIDES),
    ("on weekends vs on weekdays", ON_SIDES),
    ("on weekends versus weekdays", ON_SIDES),
    ("on weekends vs weekdays", ON_SIDES),
    ("on weekends compared to weekdays", ON_SIDES),
    ("on weekends compared with weekdays", ON_SIDES),
    ("weekends versus weekdays", ON_SIDES),
    ("weekends vs weekdays", ON_SIDES),
    ("weekend versus weekday", ON_SIDES),
    ("weekend vs weekday", ON_SIDES),
    ("weekdays versus weekends", WORKING_FIRST),
    ("weekdays vs weekends", WORKING_FIRST),
    ("weekday versus weekend", WORKING_FIRST),
    ("weekday vs weekend", WORKING_FIRST),
    ("on weekends and on weekdays", ON_SIDES),
    ("on weekends and weekdays", ON_SIDES),
    ("周末和工作日", CHINESE_SIDES),
    ("周末与工作日", CHINESE_SIDES),
    ("周末跟工作日", CHINESE_SIDES),
    ("周末和平日", CHINESE_SIDES),
    ("周末与平日", CHINESE_SIDES),
    ("工作日和周末", CHINESE_WORKING_FIRST),
    ("工作日与周末", CHINESE_WORKING_FIRST),
    ("平日和周末", CHINESE_WORKING_FIRST),
];
const ON_SIDES: [&str; 2] = ["on weekends", "on weekdays"];
const WORKING_FIRST: [&str; 2] = ["on weekdays", "on weekends"];
const CHINESE_SIDES: [&str; 2] = ["周末", "工作日"];
const CHINESE_WORKING_FIRST: [&str; 2] = ["工作日", "周末"];
/// Words of a comparison beside these.
const COMPARING: [&str; 8] = ["相比", "对比", "比较", "分别", "各", "compare ", "compared", "comparison of "];

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
/// Chinese units of which there may be several, with their words in questions: one of them, several.
const UNITS_CHINESE: &[(&str, &str, &str)] = &[
    ("天", "哪天", "哪些天"),
    ("个月", "哪个月", "哪些月"),
    ("月份", "哪个月", "哪些月"),
    ("月", "哪个月", "哪些月"),
    ("周", "哪周", "哪些周"),
    ("个星期", "哪周", "哪些周"),
    ("个季度", "哪个季度", "哪些季度"),
    ("季度", "哪个季度", "哪些季度"),
    ("年", "哪年", "哪些年"),
];
/// Chinese words for the greatest and the least, before a unit.
const MOST_CHINESE: &[&str] =
    &["最高的", "最多的", "最大的", "最好的", "最低的", "最少的", "最小的", "最差的"];
/// The longest text of a name in a question, in characters.
const TEXT_MAX_CHARS: usize = 6;

/// A question in other words.
#[derive(Debug, PartialEq, Eq)]
pub struct Paraphrase {
    pub text: String,
    /// The words that were replaced, with those that stand there now.
    pub said: Vec<(String, String)>,
}

/// The question in other words, if there are any.
pub fn paraphrase(question: &str) -> Option<Paraphrase> {
    let mut other = Paraphrase { text: question.to_owned(), said: Vec::new() };
    // `orders above 1000元` is English.
    if question.chars().filter(|c| is_han(*c)).all(|c| matches!(c, '元' | '块')) {
        other.text = question.replace(['元', '块'], " yuan");
    }
    if other.text.chars().any(is_han) {
        other.in_chinese();
    } else {
        other.in_english();
    }
    (other.text != question).then_some(other)
}

/// A question for each of two kinds of days, with the words for them: `weekend vs weekday revenue`.
pub fn sides(question: &str) -> Option<[(String, &'static str); 2]> {
    let lower = question.to_ascii_lowercase();
    let (at, length, sides) = SIDES.iter().find_map(|(words, sides)| {
        let at = match words.is_ascii() {
            true => found(question, &lower, words, 0),
            false => question.find(words).filter(|at| !is_quoted(&question[..*at])),
        };
        Some((at?, words.len(), *sides))
    })?;
    Some(sides.map(|side| {
        let (head, tail) = (&question[..at], &question[at + length..]);
        // English days stand at the end.
        let mut one = match side.is_ascii() && !tail.trim().is_empty() {
            true => format!("{head}{} {side}", super::without_end(tail).trim()),
            false => format!("{head}{side}{tail}"),
        };
        for word in COMPARING {
            one = one.replacen(word, "", 1);
        }
        (one, side)
    }))
}

impl Paraphrase {
    fn put(&mut self, at: std::ops::Range<usize>, instead: &str) {
        let before = self.text[at.clone()].trim().to_owned();
        self.text.replace_range(at, instead);
        if !instead.is_empty() {
            self.said.push((before, instead.trim().to_owned()));
        }
    }

    fn in_english(&mut self) {
        for (before, after, instead) in AROUND {
            if let Some((start, inside, end)) = around(&self.text, before, after) {
                let instead = instead.replace("{}", &self.text[inside]);
                self.put(start..end, &instead);
            }
        }
        for (words, instead) in ENGLISH {
            let lower = self.text.to_ascii_lowercase();
            let place = |words: &str| Some((found(&self.text, &lower, words, 0)?, words.len()));
            if let Some((at, length)) = words.split('|').find_map(place) {
                self.put(at..at + length, instead);
            }
        }
        self.best_unit();
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

    fn in_chinese(&mut self) {
        for (words, instead) in CHINESE {
            if let Some(at) = self.text.find(words).filter(|at| !is_quoted(&self.text[..*at])) {
                self.put(at..at + words.len(), instead);
            }
        }
        self.text_in_name();
        self.several_units();
    }

    /// `带茶字的商品` as `名称包含“茶”的商品`, `姓王的客户` as `姓名开头为“王”的客户`.
    fn text_in_name(&mut self) {
        let text = |from: usize, to: usize| {
            let text = self.text[from..to].trim_matches(['“', '”', '"', '「', '」', '\'', '‘', '’']);
            (1..=TEXT_MAX_CHARS).contains(&text.chars().count()).then(|| text.to_owned())
        };
        let with = ["名称里带", "名称中带", "名里带", "名字里带", "名称带", "名带", "里带有", "带有", "带"];
        let with = with.iter().find_map(|with| Some((self.text.find(with)?, with.len())));
        if let Some((at, length)) = with.filter(|(at, _)| !is_quoted(&self.text[..*at]))
            && let Some(end) = self.text[at + length..].find('字').map(|end| at + length + end)
            && let Some(text) = text(at + length, end)
        {
            let field = if self.text[at..].starts_with("名") { "名称包含" } else { "包含" };
            let whose = if at == 0 || field == "名称包含" { "名称包含" } else { field };
            self.put(at..end + '字'.len_utf8(), &format!("{whose}“{text}”"));
        }
        let Some(at) = self.text.find('姓').filter(|at| !is_quoted(&self.text[..*at])) else { return };
        let rest = &self.text[at + '姓'.len_utf8()..];
        if let Some(end) = rest.find('的')
            && (1..=2).contains(&rest[..end].chars().count())
            && !rest.starts_with('名')
        {
            let instead = format!("姓名开头为“{}”", &rest[..end]);
            self.put(at..at + '姓'.len_utf8() + end, &instead);
        }
    }

    /// `营收最高的三天` as `营收最高的前三哪些天`, `哪三天销售额最高` as `前三哪些天销售额最高`, `订单数超过85的有哪些天` as
    /// `哪些天订单数超过85`.
    fn several_units(&mut self) {
        let numeral = |text: &str| -> usize {
            let is_numeral = |c: &char| c.is_ascii_digit() || "一二两三四五六七八九十几".contains(*c);
            text.chars().take_while(is_numeral).map(char::len_utf8).sum()
        };
        let unit = |text: &str| {
            UNITS_CHINESE.iter().find(|(unit, ..)| {
                let rest = text.strip_prefix(unit);
                rest.is_some_and(|rest| !rest.starts_with(['份', '均', '度', '前', '后', '内', '来', '龄']))
            })
        };
        let begins = MOST_CHINESE.iter().chain(&["哪"]);
        for (at, word) in begins.filter_map(|word| Some((self.text.find(word)?, *word))).collect::<Vec<_>>() {
            let from = at + word.len();
            let length = numeral(&self.text[from..]);
            let Some((name, one, several)) = unit(&self.text[from + length..]).copied() else { continue };
            let (number, end) = (&self.text[from..from + length], from + length + name.len());
            let instead = match (number, word) {
                ("", "哪") => continue,
                ("" | "一", _) => one.to_owned(),
                ("几", _) => several.to_owned(),
                _ => format!("前{number}{several}"),
            };
            let start = if word == "哪" { at } else { from };
            self.put(start..end, &instead);
            return;
        }
        let end = self.text.trim_end_matches(['?', '？', '。', '呢', ' ']);
        for (_, _, several) in UNITS_CHINESE {
            if let Some(head) = end.strip_suffix(several) {
                let head = head.strip_suffix('有').unwrap_or(head);
                let head = head.strip_suffix('的').or(head.strip_suffix("的是")).unwrap_or(head);
                if !head.is_empty() {
                    let instead = format!("{several}{head}");
                    self.put(0..self.text.len(), &instead);
                }
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_have_other_words() {
        for (question, other) in [
            ("best week for revenue", "which week has the most revenue"),
            (
                "What was the second busiest day last month?",
                "which day has the second most orders last month?",
            ),
            ("Which is our peak hour?", "which hour has the most orders?"),
            ("buyers per city", "customers who ordered per city"),
            ("products cheaper than 50", "products with a price under 50"),
            ("Is revenue going up?", "trend of revenue?"),
            ("姓王的客户", "姓名开头为“王”的客户"),
            ("带“茶”字的商品", "名称包含“茶”的商品"),
            ("商品名里带茶字的有哪些", "商品名称包含“茶”的有哪些"),
            ("营收最高的三天", "营收最高的前三哪些天"),
            ("哪3个月销售额最高", "前3哪些月销售额最高"),
            ("上个月销售额最高的一天", "上个月销售额最高的哪天"),
            ("订单数超过85的有哪些天", "哪些天订单数超过85"),
        ] {
            assert_eq!(paraphrase(question).map(|other| other.text).as_deref(), Some(other));
        }
        let both = |question: &str| sides(question).map(|sides| sides.map(|(question, _)| question));
        assert_eq!(
            both("weekend vs weekday revenue last month?").unwrap(),
            ["revenue last month on weekends", "revenue last month on weekdays"]
        );
        assert_eq!(
            both("上个月周末和工作日的销售额对比").unwrap(),
            ["上个月周末的销售额", "上个月工作日的销售额"]
        );
        for question in ["How many customers are there?", "上个月的销售额", "\"buyers\" per city"] {
            assert_eq!(paraphrase(question), None, "{question}");
        }
    }
}
