//! Other words for a question that is not understood as it is written: `buyers` as `customers who ordered`, `peak hour` as
//! `which hour has the most orders`. The answer says which words were read as which.

mod chinese;
mod english;

use super::chinese::{is_chinese, is_han};
use super::idioms::{found, is_quoted};

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
    ("weekends compare with weekdays", ON_SIDES),
    ("weekends compare to weekdays", ON_SIDES),
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
    ("周末和平时", CHINESE_SIDES),
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
const COMPARING: [&str; 15] = [
    "哪个卖得更好",
    "哪个卖得多",
    "哪个卖得好",
    "哪个更好",
    "哪个好",
    "相比",
    "对比",
    "比较",
    "分别",
    "各",
    "how do",
    "how does",
    "compare ",
    "compared",
    "comparison of ",
];

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
    if is_chinese(&other.text) {
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
            one = one.replacen(word, "", 1).replacen(&capital(word), "", 1);
        }
        let is_bare = one.trim().trim_end_matches(['?', '？', '。']).trim() == side;
        match (is_bare, side.is_ascii()) {
            (true, true) => (format!("revenue {side}"), side),
            (true, false) => (format!("{side}的销售额"), side),
            (false, _) => (one, side),
        }
    }))
}

/// `How` of `how`.
fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

impl Paraphrase {
    fn put(&mut self, at: std::ops::Range<usize>, instead: &str) {
        let before = self.text[at.clone()].trim().to_owned();
        self.text.replace_range(at, instead);
        self.said.push((before, instead.trim().to_owned()));
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
