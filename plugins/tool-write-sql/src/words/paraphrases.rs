//! Other words for a question that is not understood as it is written: `buyers` as `customers who ordered`, `peak hour` as
//! `which hour has the most orders`. Whoever reads the answer sees which words were read as which.

use super::chinese::{is_chinese, is_han};
use super::idioms::{around, found, is_quoted};

/// English words, `|` between synonyms: each that fits is replaced once, the first ones first.
const ENGLISH: &[(&str, &str)] = &[
    (
        "bought something|bought anything|bought from us|made a purchase|made at least one purchase|placed an order|placed orders|made an order|purchased something",
        "ordered",
    ),
    (
        "what did we take|how much did we take|what did we make|what did we earn|what did we turn over|how much did we turn over|what have we sold|how much business did we do",
        "total sales",
    ),
    (
        "do we sell more on weekends or on weekdays|do we sell more on weekends or weekdays|do we sell more on weekends than on weekdays|do we sell more on weekends",
        "weekend vs weekday revenue",
    ),
    (
        "have sales gone up or down|did sales go up or down|are sales up or down|has revenue gone up or down|did revenue go up or down|have our sales gone up or down",
        "trend of sales",
    ),
    (
        "haven't bought anything|haven't bought|have not bought anything|have not bought|haven't ordered anything|haven't ordered|have not ordered|didn't buy anything|didn't buy|did not buy",
        "did not order",
    ),
    (
        "signed up but never ordered|registered but never ordered|signed up but never bought|signed up but have never ordered",
        "have no orders",
    ),
    (
        "came back for a second purchase|came back for a second order|bought a second time|ordered a second time",
        "have more than 1 order",
    ),
    (
        "on how many days did we make|on how many days did we sell|on how many days did we take|how many days did we make|how many days did we sell",
        "how many days had sales of",
    ),
    (
        "how many items in an order on average|how many items are in an order on average|how many items are in an average order",
        "average number of items per order",
    ),
    ("worst single day", "worst day"),
    ("best single day", "best day"),
    ("the very last order|very last order|most recent order ever", "latest order"),
    ("we ever got|we ever had|we have ever had|of all time", ""),
    ("the typical order|a typical order|typical order|an average order", "average order amount"),
    ("weakest market|weakest city", "city with the lowest sales"),
    ("strongest market|best market|strongest city", "city with the highest sales"),
    ("break that down by|break it down by|split that by|split it by|drill down by|slice it by", "by"),
    ("through the|via the", "from"),
    ("in percent|in percentages|as percent", ""),
    (
        "as shares|as a percentage|as shares of the total|in shares|as percentage of the total",
        "as a share of the total",
    ),
    ("paying customers|active buyers", "customers who ordered"),
    (
        "bought the most|buy the most|buys the most|purchased the most|bought most|spend the most with us",
        "have the highest sales",
    ),
    (
        "bring in the most money|bring in the most|make the most money|earn the most|bring the most|drive the most sales",
        "have the highest sales",
    ),
    (
        "bring in the least money|brings in the least money|bring in the least|brings in the least|make the least money|makes the least money|earn the least",
        "have the lowest sales",
    ),
    (
        "gets returned the most|get returned the most|is returned the most|is returned most often|gets refunded the most|is refunded the most|is refunded most often|gets returned most",
        "was refunded the most",
    ),
    (
        "who joined most recently|who joined last|who signed up last|who registered last|who signed up most recently|who registered most recently|who is our newest customer",
        "newest customer",
    ),
    (
        "how big is a typical order|how big is an average order|how large is a typical order|how large is an average order|how much is a typical order|typical order size|average order size|how big are our orders",
        "average order amount",
    ),
    (
        "people came back and bought again|customers came back and bought again|people bought again|customers bought again|people came back|customers came back|people ordered again|customers ordered again",
        "customers have more than 1 order",
    ),
    (
        "do people order the most|do customers order the most|do people order most|do customers order most|do people buy the most|do customers buy the most|do most people order|do most customers order|do we get the most orders|are we busiest",
        "has the most orders",
    ),
    ("thing we sell|item we sell|thing in our range|thing on sale", "product"),
    ("things we sell|items we sell|things in our range", "products"),
    ("do we have anything|do we sell anything|is there anything|have we anything|anything", "products"),
    (
        "by what they spent|by spending|by spend|by what they bought|by how much they spent|by money spent",
        "by sales",
    ),
    (
        "biggest customer|largest customer|best customer|most valuable customer|most important customer",
        "customer with the highest sales",
    ),
    ("bestsellers|best sellers|top sellers|best-sellers", "best selling products"),
    ("bestseller|best seller|top seller|best-seller", "best selling product"),
    ("running total of|the running total of|what's the running total of", "cumulative"),
    ("buyers|purchasers|shoppers", "customers who ordered"),
    ("cheaper than|less expensive than", "with a price under"),
    ("more expensive than|pricier than|dearer than", "with a price over"),
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
    ("people|folks", "customers"),
    ("goods|merchandise|articles|skus", "products"),
    ("purchases|transactions", "orders"),
    ("tell me the|let me know the|can i see the|can i see|could i see|i need the|i need", ""),
    (
        "how many pieces per order|pieces per order|units per order|how many items per order",
        "average number of items per order",
    ),
    ("do people buy|do customers buy|do our customers buy|do people order|do customers order", ""),
    ("how many days", "how many of the days"),
    ("how many weeks", "how many of the weeks"),
    ("how many months", "how many of the months"),
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
    ("are we doing better in ", " than in ", "revenue in {} compared with "),
    ("did we do better in ", " than in ", "revenue in {} compared with "),
    ("did we sell more in ", " than in ", "revenue in {} compared with "),
    ("did we make more in ", " than in ", "revenue in {} compared with "),
    ("what product do ", " like best", "best selling product of {}"),
    ("which product do ", " like best", "best selling product of {}"),
    ("which product do ", " buy most", "best selling product of {}"),
    ("which product do ", " buy the most", "best selling product of {}"),
    ("what do ", " buy the most", "best selling product of {}"),
    ("what do ", " buy most", "best selling product of {}"),
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
    ("did we grow from ", " to ", "how did revenue change from {} to "),
    ("did sales grow from ", " to ", "how did revenue change from {} to "),
    ("did revenue grow from ", " to ", "how did revenue change from {} to "),
    ("by how much did ", " grow from", "how did {} change from"),
    ("by how much did ", " change from", "how did {} change from"),
    ("by how much did ", " fall from", "how did {} change from"),
    ("how much did ", " grow from", "how did {} change from"),
    ("how much did ", " fall from", "how did {} change from"),
    ("how many ", " are in an order on average", "average number of {} per order"),
    ("how many ", " in an order on average", "average number of {} per order"),
    ("how many ", " on average", "average number of {}"),
    ("are ", " selling better than ", "revenue of {} vs "),
    ("is ", " selling better than ", "revenue of {} vs "),
    ("do ", " sell better than ", "revenue of {} vs "),
    ("does ", " sell better than ", "revenue of {} vs "),
    ("which ", " buys the most ", "which {} has the highest sales of "),
    ("which ", " buys most ", "which {} has the highest sales of "),
    ("what does a ", " spend on average", "average sales per {}"),
    ("how much of our ", " is ", "what share of {} comes from "),
    ("what part of our ", " is ", "what share of {} comes from "),
    ("what share of our ", " is ", "what share of {} comes from "),
    ("what percentage of our ", " is ", "what share of {} comes from "),
    ("with ", " in the name", "whose name contains {}"),
    ("with ", " in its name", "whose name contains {}"),
    ("with ", " in their name", "whose name contains {}"),
    ("with ", " in their names", "whose name contains {}"),
];

/// Chinese words: a longer one stands before one that it contains.
const CHINESE: &[(&str, &str)] = &[
    ("销售排名", "销售额排名"),
    ("排行榜", "排名"),
    ("销售额排行", "销售额排名"),
    ("销量排行", "销量排名"),
    ("的销售额占多少", "的销售额占比"),
    ("有几天", "有多少天"),
    ("平均一单多少钱", "平均订单金额"),
    ("一单平均多少钱", "平均订单金额"),
    ("单笔金额", "金额"),
    ("贡献最大的", "销售额最高的"),
    ("贡献最大", "销售额最高"),
    ("最爱买什么", "卖得最好的商品"),
    ("买得最多的是什么", "卖得最好的商品"),
    ("来看", ""),
    ("到现在为止", ""),
    ("截至目前", ""),
    ("到目前为止", ""),
    ("迄今为止", ""),
    ("至今", ""),
    ("历史上", ""),
    ("各个月", "每个月"),
    ("各个星期", "每周"),
    ("各个季度", "每个季度"),
    ("一天里几点", "几点"),
    ("一天中几点", "几点"),
    ("一天当中几点", "几点"),
    ("下单的人最多", "订单最多"),
    ("下单最多", "订单最多"),
    ("客人", "客户"),
    ("的名单", ""),
    ("名单", ""),
    ("从来没买过东西", "没有订单"),
    ("从来没有买过东西", "没有订单"),
    ("从没买过东西", "没有订单"),
    ("从来没买过", "没有订单"),
    ("从没买过", "没有订单"),
    ("平均每人消费多少", "平均每个客户的销售额"),
    ("平均每人消费", "平均每个客户的销售额"),
    ("每单平均买几件", "平均每个订单的销量"),
    ("平均每单买几件", "平均每个订单的销量"),
    ("有几款", "有多少"),
    ("有几种", "有多少"),
    ("有几样", "有多少"),
    ("有几笔", "有多少"),
    ("有几单", "有多少订单"),
    ("哪几样东西最不好卖", "销售额最低的商品"),
    ("哪些东西最不好卖", "销售额最低的商品"),
    ("什么东西最不好卖", "销售额最低的商品"),
    ("最不好卖的", "销售额最低的"),
    ("最不好卖", "销售额最低"),
    ("平均每天卖多少", "日均销售额"),
    ("平均每天卖了多少", "日均销售额"),
    ("每天平均卖多少", "日均销售额"),
    ("生意怎么样", "的销售额"),
    ("生意如何", "的销售额"),
    ("卖得怎么样", "的销售额"),
    ("生意最淡", "订单最少"),
    ("生意最差", "销售额最低"),
    ("生意最好", "销售额最高"),
    ("生意最旺", "订单最多"),
    ("接了多少单", "有多少订单"),
    ("接到多少单", "有多少订单"),
    ("花钱最多的", "消费最多的"),
    ("客户最喜欢买什么", "卖得最好的商品"),
    ("会员最爱买什么", "会员卖得最好的商品"),
    ("会员最喜欢买什么", "会员卖得最好的商品"),
    ("客户最爱买什么", "卖得最好的商品"),
    ("相差多少", "对比"),
    ("差多少", "对比"),
    ("最喜欢买什么", "哪个商品的销售额最高"),
    ("最爱买什么", "哪个商品的销售额最高"),
    ("有没有", "有哪些"),
    ("占总销售额的百分之几", "的销售额占比"),
    ("占销售额的百分之几", "的销售额占比"),
    ("占总销售额的百分之多少", "的销售额占比"),
    ("占了多少销售额", "的销售额占比"),
    ("这个月跟上个月比怎么样", "这个月的销售额与上个月相比"),
    ("这个月和上个月比怎么样", "这个月的销售额与上个月相比"),
    ("这个月比上个月怎么样", "这个月的销售额与上个月相比"),
    ("本月跟上月比怎么样", "本月的销售额与上月相比"),
    ("本周跟上周比怎么样", "本周的销售额与上周相比"),
    ("这周跟上周比怎么样", "本周的销售额与上周相比"),
    ("哪个卖得好", "的销售额对比"),
    ("哪个卖得更好", "的销售额对比"),
    ("谁是我们最大的客户", "消费最多的客户"),
    ("我们最大的客户是谁", "消费最多的客户"),
    ("最大的客户", "消费最多的客户"),
    ("按占比", "占总数的比例"),
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

/// Chinese words around something within one clause.
const CHINESE_AROUND: &[(&str, &str, &str)] = &[
    ("下单超过", "次", "订单数超过{}"),
    ("买过超过", "次", "订单数超过{}"),
    ("下过超过", "单", "订单数超过{}"),
    ("下单不到", "次", "订单数少于{}"),
];
/// Ends of questions that ask how much was sold.
const SOLD: [&str; 6] = ["卖了多少", "卖多少", "卖出多少", "一共卖了多少", "总共卖了多少", "进账多少"];
/// What stands before a comparison of days: of what, it does not say.
const COMPARED_DAYS: &[(&str, &str)] = &[
    ("compare this month with last month", "revenue this month compared with last month"),
    ("compare this month to last month", "revenue this month compared with last month"),
    ("how does this month compare with last month", "revenue this month compared with last month"),
    ("how does this month compare to last month", "revenue this month compared with last month"),
    ("this month vs last month", "revenue this month compared with last month"),
    ("this month versus last month", "revenue this month compared with last month"),
    ("compare this week with last week", "revenue this week compared with last week"),
    ("compare this week to last week", "revenue this week compared with last week"),
    ("this week vs last week", "revenue this week compared with last week"),
    ("compare today with yesterday", "revenue today compared with yesterday"),
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
        if !instead.is_empty() {
            self.said.push((before, instead.trim().to_owned()));
        }
    }

    fn in_english(&mut self) {
        let lower = self.text.to_ascii_lowercase();
        let of_days = COMPARED_DAYS.iter().find(|(words, _)| {
            super::without_end(lower.trim()).trim_start_matches("can you ").trim() == *words
        });
        if let Some((_, instead)) = of_days {
            self.put(0..self.text.len(), instead);
            return;
        }
        self.last_rows();
        self.weakest_of_days();
        self.average_daily();
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
        let plain = super::without_end(&self.text).trim().to_owned();
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

    fn in_chinese(&mut self) {
        self.numerals();
        for (before, after, instead) in CHINESE_AROUND {
            let Some(start) = self.text.find(before) else { continue };
            let inside = start + before.len();
            let Some(end) = self.text[inside..].find(after).map(|end| inside + end) else { continue };
            let number = &self.text[inside..end];
            if !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()) {
                let instead = instead.replace("{}", number);
                self.put(start..end + after.len(), &instead);
            }
        }
        for (words, instead) in CHINESE {
            if let Some(at) = self.text.find(words).filter(|at| !is_quoted(&self.text[..*at])) {
                self.put(at..at + words.len(), instead);
            }
        }
        self.ranking();
        self.more_than();
        self.of_which_one();
        let end = self.text.trim_end_matches(['?', '？', '。', ' ', '呢']).len();
        let (head, _) = self.text.split_at(end);
        if let Some(sold) = SOLD.iter().filter(|sold| head.ends_with(**sold)).max_by_key(|sold| sold.len()) {
            let begin = end - sold.len();
            let instead = if begin == 0 { "总销售额" } else { "的销售额" };
            self.put(begin..end, instead);
        }
        self.worst_unit();
        self.price_of_products();
        self.text_in_name();
        self.several_units();
    }

    /// `一千块` as `1000块`, `三万` as `30000`.
    fn numerals(&mut self) {
        const DIGITS: &str = "一二三四五六七八九";
        const TIMES: [(char, u64); 3] = [('百', 100), ('千', 1_000), ('万', 10_000)];
        let letters: Vec<(usize, char)> = self.text.char_indices().collect();
        let value = |c: char| match c {
            '两' => Some(2),
            c => DIGITS.chars().zip(1_u64..).find(|(digit, _)| *digit == c).map(|(_, value)| value),
        };
        let number = letters.windows(2).find_map(|pair| {
            let times = TIMES.iter().find(|(times, _)| *times == pair[1].1)?.1;
            Some((pair[0].0..pair[1].0 + pair[1].1.len_utf8(), value(pair[0].1)? * times))
        });
        let Some((place, number)) = number else { return };
        // `一千五`, `三百六十`: more of the number follows.
        let more = self.text[place.end..].chars().next();
        if !is_quoted(&self.text[..place.start])
            && more.is_none_or(|c| value(c).is_none() && c != '零' && c != '分')
        {
            self.put(place, &number.to_string());
        }
    }

    /// `10月各城市销售额排名` as `10月各城市销售额`, `城市销量排名` as `各城市的销量`, `按销售额给城市排名` as `各城市的销售额`.
    fn ranking(&mut self) {
        const NUMBERS: [&str; 6] = ["销售额", "营收", "收入", "订单数", "订单量", "销量"];
        /// The longest name of a thing before its number, in characters.
        const THING_MAX_CHARS: usize = 5;
        let plain = self.text.trim_end_matches(['?', '？', '。', ' ']);
        let Some(head) = plain.strip_suffix("排名").or(plain.strip_suffix("排行")) else { return };
        let number = NUMBERS.iter().find_map(|number| Some((head.strip_suffix(number)?, *number)));
        let instead = match (number, head.strip_prefix('按').and_then(|rest| rest.split_once('给'))) {
            (Some((thing, number)), _) if !thing.contains(['各', '每']) => {
                let thing = thing.trim_end_matches('的');
                let is_name =
                    (1..=THING_MAX_CHARS).contains(&thing.chars().count()) && thing.chars().all(is_han);
                if !is_name {
                    return;
                }
                format!("各{thing}的{number}")
            }
            (Some(_), _) => head.to_owned(),
            (None, Some((number, thing))) => format!("各{}的{number}", thing.trim_start_matches('各')),
            (None, None) => return,
        };
        self.put(0..self.text.len(), &instead);
    }

    /// `10月比9月多卖了多少` as `10月的销售额与9月相比`.
    fn more_than(&mut self) {
        const ENDS: [&str; 8] = [
            "多卖了多少",
            "少卖了多少",
            "多卖多少",
            "少卖多少",
            "卖得多吗",
            "卖得好吗",
            "卖得更好吗",
            "增加了多少销售额",
        ];
        let plain = self.text.trim_end_matches(['?', '？', '。', ' ']);
        let Some(head) = ENDS.iter().find_map(|end| plain.strip_suffix(end)) else { return };
        if let Some((one, other)) = head.split_once('比') {
            let instead = format!("{one}的销售额与{other}相比");
            self.put(0..self.text.len(), &instead);
        }
    }

    /// `哪个城市卖得最好` as `哪个城市的销售额最高`, `哪个城市买乌龙茶最多` as `乌龙茶销售额最高的城市`.
    fn of_which_one(&mut self) {
        const SAYS: [(&str, &str); 8] = [
            ("卖得最好", "销售额最高"),
            ("卖得最多", "销售额最高"),
            ("卖得最差", "销售额最低"),
            ("销售额最", "销售额最"),
            ("营收最", "营收最"),
            ("收入最", "收入最"),
            ("订单数最", "订单数最"),
            ("销量最", "销量最"),
        ];
        let Some(asked) = ["哪个", "哪家", "哪位", "哪款"].iter().find_map(|one| self.text.find(one))
        else {
            return;
        };
        let thing = asked + "哪个".len();
        if is_quoted(&self.text[..asked]) {
            return;
        }
        let plain = self.text.trim_end_matches(['?', '？', '。', ' ']).to_owned();
        if let Some((one, bought)) =
            plain[thing..].strip_suffix("最多").and_then(|rest| rest.split_once('买'))
            && !one.is_empty()
            && !bought.is_empty()
        {
            let instead = format!("{bought}销售额最高的{}", one.trim_end_matches('的'));
            self.put(asked..plain.len(), &instead);
            return;
        }
        let said = SAYS.iter().find_map(|(words, instead)| {
            let at = thing + self.text[thing..].find(words)?;
            Some((at, words.len(), *instead))
        });
        if let Some((at, length, instead)) = said
            && at > thing
            && !self.text[..at].ends_with(['的', '，', '个'])
        {
            self.put(at..at + length, &format!("的{instead}"));
        }
    }

    /// `十月份最差的一天是哪天` as `十月份销售额最低的哪天`.
    fn worst_unit(&mut self) {
        const KINDS: [(&str, &str); 4] = [
            ("最好的", "销售额最高的"),
            ("最差的", "销售额最低的"),
            ("最旺的", "订单最多的"),
            ("最淡的", "订单最少的"),
        ];
        let Some((at, kind, instead)) =
            KINDS.iter().find_map(|(kind, instead)| Some((self.text.find(kind)?, *kind, *instead)))
        else {
            return;
        };
        let (head, rest) = (&self.text[..at], &self.text[at + kind.len()..]);
        let is_unit =
            ["一天", "天", "一个月", "月", "一周", "周", "日子"].iter().any(|unit| rest.starts_with(unit));
        // `销售额最好的一天` says of what.
        if !is_unit || head.ends_with(['得', '额', '数', '量', '绩']) || is_quoted(head) {
            return;
        }
        for tail in ["是哪天", "是哪一天", "是哪个月", "是哪周", "是哪一周"] {
            if let Some(from) = self.text.find(tail) {
                self.text.replace_range(from..from + tail.len(), "");
            }
        }
        self.put(at..at + kind.len(), instead);
    }

    /// `30元以下的商品` as `价格不超过30的商品`.
    fn price_of_products(&mut self) {
        const THINGS: [&str; 3] = ["商品", "产品", "东西"];
        for (side, words) in [("以下的", "价格不超过"), ("以内的", "价格不超过"), ("以上的", "价格不低于")]
        {
            let Some(at) = self.text.find(side) else { continue };
            let head = self.text[..at].trim_end_matches(['元', '块', '钱']);
            let begin = head.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').len();
            let follows = THINGS.iter().find(|thing| self.text[at + side.len()..].starts_with(**thing));
            if begin < head.len()
                && let Some(thing) = follows
            {
                let instead = format!("{words}{}的商品", &head[begin..]);
                self.put(begin..at + side.len() + thing.len(), &instead);
            }
        }
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
            && let Some((end, more)) = self.end_of_text(at + length)
            && let Some(text) = text(at + length, end)
        {
            let field = if self.text[at..].starts_with("名") { "名称包含" } else { "包含" };
            let whose = if at == 0 || field == "名称包含" { "名称包含" } else { field };
            self.put(at..end + more, &format!("{whose}“{text}”"));
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

    /// Where a text ends that begins here, and the length of what belongs to it: `茶字`, `“茶”`.
    fn end_of_text(&self, from: usize) -> Option<(usize, usize)> {
        let rest = &self.text[from..];
        let quoted = [('“', '”'), ('"', '"'), ('「', '」')].iter().find_map(|(open, close)| {
            let inside = rest.strip_prefix(*open)?;
            let end = inside.find(*close)? + open.len_utf8() + close.len_utf8();
            Some((from + end, if rest[end..].starts_with('字') { '字'.len_utf8() } else { 0 }))
        });
        quoted.or_else(|| Some((from + rest.find('字')?, '字'.len_utf8())))
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
