//! Chinese questions in other words.

use super::Paraphrase;
use crate::words::chinese::is_han;
use crate::words::everyday::{CHINESE, CHINESE_AROUND, EVER, SOLD};
use crate::words::idioms::is_quoted;

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

impl Paraphrase {
    pub(super) fn in_chinese(&mut self) {
        if let Some(ever) = EVER.iter().find(|ever| self.text.starts_with(**ever)) {
            self.put(0..ever.len(), "");
        }
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
        // `十二万`, `3千`: only a part of the number.
        let is_part = |at: usize| {
            let before = self.text[..at].chars().next_back();
            before.is_some_and(|c| c.is_ascii_digit() || value(c).is_some() || "十百千万零点".contains(c))
        };
        let number = letters.windows(2).find_map(|pair| {
            let times = TIMES.iter().find(|(times, _)| *times == pair[1].1 && !is_part(pair[0].0))?.1;
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
            (None, Some((_, thing))) if thing.contains(['的', '月', '季', '周', '天', '日']) => return,
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
        let is_days = |side: &str| side.ends_with(['月', '周', '年', '天', '日', '号', '期', '度']);
        if let Some((one, other)) =
            head.split_once('比').filter(|(one, other)| is_days(one) && is_days(other))
        {
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
        let after = at + kind.len();
        for tail in ["是哪天", "是哪一天", "是哪个月", "是哪周", "是哪一周"] {
            if let Some(from) = self.text[after..].find(tail).map(|from| after + from) {
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
            // `评分4以上的商品`: no price.
            let says_money = head.len() < at;
            // `销售额10000元以下的商品` speaks of something else.
            let is_alone = begin == 0 || self.text[..begin].ends_with(['有', '没', '些', '出', ' ', '的']);
            if begin < head.len()
                && says_money
                && is_alone
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
            && !rest.starts_with(['名', '氏'])
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
        // Not in `带茶的名字`.
        let bare = rest.find('字').filter(|end| !rest[..*end].contains(['的', '名']));
        quoted.or_else(|| Some((from + bare?, '字'.len_utf8())))
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
