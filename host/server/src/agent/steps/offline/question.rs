//! Classifies a question: about the data, the tables themselves, or lineage.

/// The subject of a question.
#[derive(Debug, PartialEq, Eq)]
pub enum Asks {
    /// Rows.
    Data,
    /// Tables, or the fields of one.
    Tables {
        fields: bool,
    },
    Lineage(Subject),
    /// Help.
    Help,
}

/// The subject of a lineage question.
#[derive(Debug, PartialEq, Eq)]
pub struct Subject {
    /// As in the question; `None`: it names no distinct table.
    pub table: Option<String>,
    pub direction: Direction,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Upstream,
    Downstream,
    Both,
}

impl Direction {
    pub fn word(self) -> &'static str {
        match self {
            Direction::Upstream => "upstream",
            Direction::Downstream => "downstream",
            Direction::Both => "both",
        }
    }
}

/// Complete questions that ask for help.
const HELP: &[&str] = &[
    "hello",
    "hi",
    "help",
    "what can you do",
    "what can i ask",
    "你好",
    "您好",
    "帮助",
    "你能做什么",
    "你会什么",
    "能问什么",
];
const LINEAGE: &[&str] = &[
    "lineage",
    "upstream",
    "downstream",
    "depend",
    "impact",
    "affect",
    "血缘",
    "上游",
    "下游",
    "依赖",
    "影响",
];
/// `which table feeds t` goes up, `which tables are fed by t` down. Beside a table only: animals feed on grass.
const FEEDS: &[&str] = &["feed", "fed by"];
/// Those with no other meaning.
const LINEAGE_ITSELF: &[&str] = &["lineage", "upstream", "downstream", "血缘", "上游", "下游"];
/// Stems of words: `depends`, `dependency`.
const STEMS: &[&str] = &["depend", "impact", "affect"];
/// Endings of all words.
const ENDS: &[&str] = &["", "s"];
const UPSTREAM: &[&str] = &["upstream", "come from", "comes from", "origin", "made from", "上游", "来源"];
const DOWNSTREAM: &[&str] = &["downstream", "impact", "affect", "下游", "影响"];
const TABLES: &[&str] = &[
    "which table",
    "what table",
    "list table",
    "list the table",
    "list all table",
    "show table",
    "show the table",
    "show all table",
    "tables are there",
    "find table",
    "find a table",
    "find the table",
    "tables do you",
    "tables about",
    "tables for",
    "哪些表",
    "哪些数据表",
    "什么表",
    "哪张表",
    "哪个表",
    "表有哪些",
    "列出表",
    "列出所有表",
];
const FIELDS: &[&str] = &[
    "which field",
    "what field",
    "which column",
    "what column",
    "fields of",
    "columns of",
    "fields does",
    "columns does",
    "哪些字段",
    "什么字段",
    "哪些列",
    "字段有哪些",
];
/// Words of a search for tables: `which tables are about customers`. Other questions about tables are for SQL over the
/// catalogue.
const SEARCHES: &[&str] = &[
    "about",
    "for",
    "on",
    "with",
    "have",
    "has",
    "having",
    "hold",
    "holding",
    "contain",
    "containing",
    "store",
    "keep",
    "include",
    "cover",
    "related",
    "describe",
    "track",
    "record",
    "concern",
    "concerning",
    "know",
    "shows",
    "tables show",
    "find table",
    "find a table",
    "find the table",
    "find tables",
    "find the tables",
    "有关",
    "关于",
    "相关",
    "表有",
    "里有",
    "中有",
    "存",
    "含",
    "记录",
    "涉及",
    "放",
    "在哪",
    "看",
    "用哪",
];
/// Words that deny something.
const NEGATIONS: &[&str] = &[
    "no", "not", "never", "none", "nothing", "without", "neither", "nor", "lack", "lacking", "missing",
    "empty", "unused", "cannot", "没", "无", "未", "不", "缺", "空",
];
/// Chinese questions of the form `A不A`, which deny nothing.
const WHETHER: &[&str] = &["有没有", "会不会", "是不是", "能不能"];
/// Words of other conditions, which a search for words would leave out: comparisons, times, what is done to a table, what
/// the catalogue knows of it.
const CONDITIONS: &[&str] = &[
    "more",
    "less",
    "fewer",
    "than",
    "over",
    "under",
    "above",
    "below",
    "exceed",
    "exceeding",
    "between",
    "at least",
    "at most",
    "exactly",
    "since",
    "after",
    "before",
    "today",
    "yesterday",
    "last",
    "this week",
    "this month",
    "this year",
    "recently",
    "ago",
    "feed",
    "fed",
    "write",
    "wrote",
    "written",
    "read",
    "updated",
    "changed",
    "modified",
    "created",
    "deleted",
    "dropped",
    "loaded",
    "filled",
    "produced",
    "generated",
    "queried",
    "accessed",
    "used",
    "uses",
    "owned",
    "belong",
    "layer",
    "owner",
    "row",
    "business domain",
    "data domain",
    "超过",
    "大于",
    "小于",
    "少于",
    "多于",
    "高于",
    "低于",
    "以上",
    "以下",
    "以内",
    "之前",
    "之后",
    "最近",
    "今天",
    "昨天",
    "今年",
    "去年",
    "本周",
    "上周",
    "本月",
    "上个月",
    "写",
    "读取",
    "读过",
    "更新",
    "修改",
    "创建",
    "新建",
    "删除",
    "生成",
    "产出",
    "引用",
    "用到",
    "被",
    "属于",
    "分层",
    "数据层",
    "负责",
    "行数",
    "业务域",
    "数据域",
];
/// Words that ask for figures.
const FIGURES: &[&str] = &[
    "how many",
    "how much",
    "number of",
    "count",
    "average",
    "total",
    "most",
    "least",
    "largest",
    "biggest",
    "smallest",
    "highest",
    "lowest",
    "top ",
    "trend",
    "per day",
    "多少",
    "数量",
    "次数",
    "总",
    "平均",
    "最多",
    "最少",
    "最大",
    "最小",
    "最高",
    "最低",
    "最常",
    "排名",
    "趋势",
    "每天",
    "每日",
    "占比",
    "几",
];
/// Other words of a lineage question besides the name.
const OTHER_WORDS: &[&str] = &[
    "a",
    "affect",
    "affected",
    "affects",
    "all",
    "an",
    "and",
    "any",
    "are",
    "be",
    "by",
    "can",
    "change",
    "changed",
    "changes",
    "changing",
    "come",
    "comes",
    "column",
    "columns",
    "could",
    "data",
    "depend",
    "dependencies",
    "dependency",
    "dependent",
    "depends",
    "did",
    "direct",
    "directly",
    "do",
    "does",
    "fed",
    "feed",
    "feeds",
    "field",
    "fields",
    "for",
    "from",
    "get",
    "give",
    "goes",
    "graph",
    "has",
    "have",
    "how",
    "i",
    "if",
    "impact",
    "impacted",
    "impacts",
    "in",
    "into",
    "is",
    "it",
    "its",
    "lineage",
    "list",
    "made",
    "me",
    "my",
    "of",
    "on",
    "or",
    "origin",
    "please",
    "see",
    "show",
    "source",
    "sources",
    "table",
    "tables",
    "tell",
    "that",
    "the",
    "there",
    "this",
    "to",
    "up",
    "upstream",
    "downstream",
    "use",
    "used",
    "uses",
    "view",
    "was",
    "we",
    "were",
    "what",
    "when",
    "where",
    "which",
    "who",
    "will",
    "with",
    "would",
    "you",
];

pub fn read(question: &str) -> Asks {
    let folded = question.to_lowercase();
    let bare = folded
        .trim_matches(|c: char| c.is_whitespace() || c.is_ascii_punctuation() || "？！。，".contains(c));
    if HELP.contains(&bare) {
        return Asks::Help;
    }
    let has = |words: &[&str]| words.iter().any(|word| says(&folded, word));
    if (has(LINEAGE) || feeds_a_table(question, &folded)) && !denies(&folded) {
        let table = named(question);
        // `how many workflows depend on …` is counted, `what depends on …` is lineage.
        if !has(FIGURES) || table.is_some() && has(LINEAGE_ITSELF) {
            let direction = direction(&folded, table.as_deref());
            return Asks::Lineage(Subject { table, direction });
        }
    }
    if has(FIGURES) {
        return Asks::Data;
    }
    let is_for_sql = denies(&folded) || has(CONDITIONS) || has_number(&folded);
    match (has(TABLES), has(FIELDS)) {
        _ if is_for_sql => Asks::Data,
        (_, true) => Asks::Tables { fields: true },
        (true, false) if has(SEARCHES) => Asks::Tables { fields: false },
        _ => Asks::Data,
    }
}

fn denies(folded: &str) -> bool {
    let plain = WHETHER.iter().fold(folded.replace('’', "'"), |left, word| left.replace(word, " "));
    plain.contains("n't") || NEGATIONS.iter().any(|word| says(&plain, word))
}

/// Whether a number stands in it, not within a name.
fn has_number(folded: &str) -> bool {
    let words = folded.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.into_iter().any(|word| word.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether it asks what feeds a table, or what a table feeds.
fn feeds_a_table(question: &str, folded: &str) -> bool {
    let says = |words: &[&str]| words.iter().any(|word| says(folded, word));
    says(FEEDS) && (says(TABLES) || named(question).is_some_and(|name| name.contains(['_', '.'])))
}

/// Whether a text contains a word: a Chinese one anywhere, an English one as a word or the beginning of one
/// of its forms, not as part of another word (`count` in `country`) or of a name (`rows_affected`).
fn says(folded: &str, word: &str) -> bool {
    if !word.is_ascii() {
        return folded.contains(word);
    }
    let word = word.trim_end();
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    folded.match_indices(word).any(|(at, _)| {
        let begins = !folded[..at].ends_with(is_part);
        let rest = &folded[at + word.len()..];
        let end: &str = &rest[..rest.find(|c: char| !is_part(c)).unwrap_or(rest.len())];
        let is_form =
            ENDS.contains(&end) || STEMS.contains(&word) && end.chars().all(|c| c.is_ascii_alphabetic());
        begins && is_form
    })
}

fn direction(folded: &str, table: Option<&str>) -> Direction {
    let has = |words: &[&str]| words.iter().any(|word| says(folded, word));
    match (has(UPSTREAM), has(DOWNSTREAM)) {
        (true, false) => return Direction::Upstream,
        (false, true) => return Direction::Downstream,
        (true, true) => return Direction::Both,
        (false, false) => {}
    }
    let feeds = folded.find("feed").filter(|_| says(folded, "feed"));
    if let (Some(word), Some(table)) = (feeds, table.and_then(|table| folded.find(&table.to_lowercase()))) {
        return if word < table { Direction::Upstream } else { Direction::Downstream };
    }
    // `what depends on t` and `哪些表依赖 t` are downstream, `what does t depend on` and `t 依赖哪些表` upstream.
    let word = folded.find("depend").or_else(|| folded.find("依赖")).or_else(|| folded.find("fed by"));
    match (word, table.and_then(|table| folded.find(&table.to_lowercase()))) {
        (Some(word), Some(table)) if word < table => Direction::Downstream,
        (Some(_), Some(_)) => Direction::Upstream,
        _ => Direction::Both,
    }
}

/// A question about lineage without the words that say so: what is left names the table.
pub fn without_lineage(question: &str) -> String {
    const CHINESE: &[&str] =
        &["血缘", "上游", "下游", "依赖", "影响", "哪些表", "有哪些", "是什么", "什么", "的", "了"];
    let chinese = CHINESE.iter().fold(question.to_owned(), |left, word| left.replace(word, " "));
    let is_other = |word: &&str| {
        let plain = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        !OTHER_WORDS.contains(&plain.as_str())
    };
    let left: Vec<&str> = chinese.split_whitespace().filter(is_other).collect();
    if left.is_empty() { question.to_owned() } else { left.join(" ") }
}

/// The only name in a question that looks like a table's: quoted, or with `_` or `.`, or the only
/// unclassified word.
pub fn named(question: &str) -> Option<String> {
    if let Some(quoted) = quoted(question) {
        return Some(quoted);
    }
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '$');
    let words: Vec<&str> = question
        .split(|c: char| !is_part(c))
        .map(|word| word.trim_matches('.'))
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))
        .collect();
    let telling = |word: &&&str| word.contains(['_', '.']);
    if let Some(word) = words.iter().find(telling) {
        return Some((*word).to_owned());
    }
    let mut left = words.iter().filter(|word| !OTHER_WORDS.contains(&word.to_lowercase().as_str()));
    match (left.next(), left.next()) {
        (Some(only), None) => Some((*only).to_owned()),
        _ => None,
    }
}

/// The text between two equal quotation marks.
fn quoted(question: &str) -> Option<String> {
    [('`', '`'), ('"', '"'), ('“', '”'), ('「', '」'), ('《', '》')].into_iter().find_map(|(open, close)| {
        let (_, rest) = question.split_once(open)?;
        let (name, _) = rest.split_once(close)?;
        let name = name.trim();
        let is_name = !name.is_empty() && (open == '`' || !name.contains(char::is_whitespace));
        is_name.then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lineage(table: Option<&str>, direction: Direction) -> Asks {
        Asks::Lineage(Subject { table: table.map(str::to_owned), direction })
    }

    #[test]
    fn a_question_for_figures_is_about_the_data() {
        for question in [
            "最近30天工作流发布次数的趋势",
            "How many workflows were published per day in the last 30 days?",
            "Which tables were read most often?",
            "How many lineage edges are there?",
            "哪张表的行数最多",
            "average amount of an order by city",
            "total rows_affected per day",
            "average amount of independent shops",
            "orders of last week",
        ] {
            assert_eq!(read(question), Asks::Data, "{question}");
        }
    }

    #[test]
    fn tables_and_their_fields_are_listed() {
        for question in [
            "Which tables are about customers?",
            "有哪些表和订单有关",
            "哪些表存了客户信息",
            "What tables do you know?",
            "Which tables are about accounts?",
            "Which tables hold customers?",
            "find the table for refunds",
            "哪些表有客户信息",
            "客户信息在哪张表",
        ] {
            assert_eq!(read(question), Asks::Tables { fields: false }, "{question}");
        }
        for question in
            ["What columns does orders have?", "订单表有哪些字段", "What columns does country_codes have?"]
        {
            assert_eq!(read(question), Asks::Tables { fields: true }, "{question}");
        }
    }

    #[test]
    fn a_condition_on_tables_is_for_sql() {
        for question in [
            "Which tables have more than 1000 rows?",
            "which tables have no description?",
            "Which tables haven't an owner?",
            "Which tables does daily sales write?",
            "Which tables were updated yesterday?",
            "Which tables are in the ODS layer?",
            "Which tables are there?",
            "List all tables",
            "Which columns have no comment?",
            "tables without lineage",
            "Which tables do not depend on ods_orders?",
            "哪些表没有负责人",
            "哪些表从未被访问",
            "哪些表没有下游",
            "哪些表的行数超过1000",
            "有哪些表",
        ] {
            assert_eq!(read(question), Asks::Data, "{question}");
        }
    }

    #[test]
    fn a_greeting_is_no_question() {
        for question in ["hello", "What can you do?", "你好！", "你能做什么？"] {
            assert_eq!(read(question), Asks::Help, "{question}");
        }
    }

    #[test]
    fn lineage_is_followed_the_way_it_is_asked_for() {
        use Direction::{Both, Downstream, Upstream};
        for (question, table, direction) in [
            ("What is the lineage of dwd_orders?", "dwd_orders", Both),
            ("dwd_orders 的血缘", "dwd_orders", Both),
            ("What depends on orders?", "orders", Downstream),
            ("What does orders depend on?", "orders", Upstream),
            ("哪些表依赖 orders", "orders", Downstream),
            ("orders 依赖哪些表", "orders", Upstream),
            ("Where is the upstream of shop.main.orders.", "shop.main.orders", Upstream),
            ("修改 `订单` 会影响哪些表", "订单", Downstream),
            ("表 ods_user 的上游和下游", "ods_user", Both),
            ("ods_user 有没有下游", "ods_user", Downstream),
            ("which table feeds ads_city_sales?", "ads_city_sales", Upstream),
            ("What is the lineage of ods_feed?", "ods_feed", Both),
            ("What does ods_orders feed?", "ods_orders", Downstream),
            ("Which tables are fed by orders?", "orders", Downstream),
        ] {
            assert_eq!(read(question), lineage(Some(table), direction), "{question}");
        }
        assert_eq!(read("Which animals feed on grass?"), Asks::Data);
        assert_eq!(read("show the upstream of the big sales report"), lineage(None, Upstream));
    }
}
