//! Idioms of people who do not know the tables, in words that the tables have: `best selling` as `highest sales`, `客单价` as
//! `平均订单金额`.

use std::sync::LazyLock;

use super::chinese::is_han;

/// English idioms, `|` between synonyms: each that fits is replaced once, the longest first.
const ENGLISH: &[(&str, &str)] = &[
    ("best selling|best-selling|top selling|top-selling|bestselling", "highest sales"),
    ("worst selling|worst-selling|slowest selling|slowest-selling", "lowest sales"),
    ("fastest selling|fastest-selling", "highest sales"),
    ("most ordered|most bought|most purchased", "highest sales"),
    ("biggest customers|largest customers|biggest clients", "top customers"),
    ("sold most|sells most|sell most", "has the highest sales"),
    ("is bought the most|are bought the most|is bought most|are bought most", "has the highest sales"),
    (
        "who spent the most|who spent the most money|who spent most|who spends the most",
        "which customer has the highest sales",
    ),
    ("ordered the most|ordered most|orders the most", "has the most orders"),
    ("sells best|sell best|sells the most|sell the most|sold best|sold the most", "has the highest sales"),
    (
        "sells worst|sell worst|sold worst|sold the worst|sells the least|sell the least|sold the least|sold least",
        "has the lowest sales",
    ),
    (
        "brings in the most money|makes the most money|generates the most money|earns the most money|earns the most|makes the most|brings in the most",
        "has the highest sales",
    ),
    ("generates the most|generate the most", "has the most"),
    (
        "spent the most money|spent the most|spend the most money|spend the most|spends the most|spent most|paid the most|pays the most",
        "has the highest sales",
    ),
    (
        "ordered most often|order most often|orders most often|ordered the most often|bought most often|buy most often|buys most often",
        "has the most orders",
    ),
    (
        "how much did we sell|how much have we sold|how much did we make|how much did we earn|how much do we make",
        "total sales",
    ),
    (
        "how much revenue did we make|how much revenue did we generate|how much revenue do we make",
        "total revenue",
    ),
    ("who spent more than|that spent more than|spent more than|who spent over|spent over", "with sales over"),
    ("who spent less than|that spent less than|spent less than", "with sales under"),
    ("who spent at least|spent at least", "with sales of at least"),
    ("costs more than|cost more than|costing more than", "has a price over"),
    ("costs less than|cost less than|costing less than", "has a price under"),
    ("costs the most|cost the most", "is the most expensive"),
    ("costs the least|cost the least", "is the cheapest"),
    ("waiting for approval|awaiting approval|waiting to be approved|pending approval", "pending"),
    ("do we sell|do you sell|do we carry|do we offer|do we stock|do we keep", "do we have"),
    ("units sold|pieces sold|items sold|quantity sold", "quantity"),
    (
        "number of items sold|number of units sold|number of pieces sold|the number of items sold|the number of units sold|the number of pieces sold|how many items were sold|how many units were sold|how many pieces were sold|how many items did we sell|how many units did we sell|how many pieces did we sell",
        "total quantity",
    ),
    ("average basket size|the average basket size|basket size", "average number of items per order"),
    ("signed up|signed-up", "registered"),
    ("a breakdown of|breakdown of", "number of"),
    (
        "have never bought anything|never bought anything|have never ordered anything|never ordered anything|have never ordered|have never bought|have never placed an order|never placed an order|never ordered|never bought|never purchased",
        "have no orders",
    ),
    ("are read most often|are queried most often|are accessed most often", "have the most accesses"),
    ("tables are used most often", "tables have the most accesses"),
    ("table is used most often", "table has the most accesses"),
    ("is read most often|is queried most often|is accessed most often", "has the most accesses"),
    (
        "that were never sold|that have never been sold|which were never sold|never sold|that never sold|that have not been sold|that did not sell|that haven't been sold",
        "with no sales",
    ),
    ("staff members|staff member", "staff"),
    ("without a single|without even one", "without any"),
    (
        "each one once|each name once|each only once|each once|each of them once|without repeating any|without duplicates|without repetition",
        "distinct",
    ),
    ("cheapest first", "in ascending order of price"),
    ("most expensive first", "in descending order of price"),
    ("largest first|highest first|biggest first|from the most expensive to the cheapest", "from high to low"),
    ("smallest first|lowest first|from the cheapest to the most expensive", "from low to high"),
    ("newest first|latest first|most recent first|in reverse chronological order", "from newest to oldest"),
    ("oldest first|earliest first|in chronological order", "from oldest to newest"),
    ("too, as the first column|as the first column", ""),
    ("over all the|over all", "of all the"),
    (
        "is used most often|are used most often|is used the most|is most often used|is used most",
        "is the most common",
    ),
    ("is used the least|is used least often|is used least", "is the least common"),
    ("for each one|of each one|in each one|at each one", "for each"),
    ("earning more than|who earn more than|earn more than|earns more than", "with a salary over"),
    ("earning less than|who earn less than|earn less than|earns less than", "with a salary under"),
    ("how much money", "how much"),
    ("more than a single", "more than 1"),
    ("only a single|only one|just one|exactly one", "exactly 1"),
    ("who owns the most", "which owner has the most"),
    (
        "takes the longest on average|take the longest on average|runs the longest on average",
        "has the highest average duration",
    ),
    ("takes the longest|take the longest|runs the longest", "has the highest duration"),
    ("repeat customers", "customers with more than 1 order"),
    ("returning customers|returning buyers", "customers who ordered once more"),
    (
        "first-time buyers|first time buyers|first-time customers|first time customers|new buyers",
        "customers who ordered for the first time",
    ),
    ("arpu|average revenue per user", "average revenue per customer"),
    (
        "as a share of the total|as a share of total|as a percentage of the total|as percentages",
        "share of total",
    ),
    ("ordered more than once|bought more than once|ordered repeatedly", "have more than 1 order"),
    ("ordered at least twice|bought at least twice", "have at least 2 orders"),
    ("ordered only once|ordered exactly once|bought only once", "have exactly 1 order"),
];

/// Idioms around something: before, after, and what stands there instead.
const AROUND: &[(&str, &str, &str)] = &[
    ("除了", "以外的", "不是{}的"),
    ("除了", "之外的", "不是{}的"),
    ("除了", "外的", "不是{}的"),
    ("除", "以外的", "不是{}的"),
    ("除", "之外的", "不是{}的"),
    ("除", "外的", "不是{}的"),
    ("how much revenue did ", " make", "total revenue of {}"),
    ("how much revenue did ", " generate", "total revenue of {}"),
    ("how much revenue did ", " bring in", "total revenue of {}"),
    ("how much does a ", " spend on average", "average sales per {}"),
    ("how much does each ", " spend on average", "average sales per {}"),
    ("how much do ", " spend on average", "average sales per {}"),
    ("how much did ", " spend", "total sales of {}"),
    ("how much have ", " spent", "total sales of {}"),
    ("ordered more than ", " times", "have more than {} orders"),
    ("ordered at least ", " times", "have at least {} orders"),
    ("bought more than ", " times", "have more than {} orders"),
    ("bought at least ", " times", "have at least {} orders"),
    ("ordered fewer than ", " times", "have fewer than {} orders"),
    ("ordered less than ", " times", "have fewer than {} orders"),
    ("ordered exactly ", " times", "have exactly {} orders"),
    ("bottom ", " by ", "{} with the lowest "),
    ("how much does ", " cost", "price of {}"),
    ("how much does ", " weigh", "weight of {}"),
    ("how much do ", " weigh", "weight of {}"),
    ("from the largest ", " to the smallest", "in descending order of numeric {}"),
    ("from the highest ", " to the lowest", "in descending order of numeric {}"),
    ("from the smallest ", " to the largest", "in ascending order of numeric {}"),
    ("from the lowest ", " to the highest", "in ascending order of numeric {}"),
    ("have more ", " than the average", "have {} above the average"),
    ("has more ", " than the average", "has {} above the average"),
    ("with more ", " than the average", "with {} above the average"),
    ("starting with the ", " that has the most", "from most to fewest"),
    ("starting with the ", " with the most", "from most to fewest"),
    ("starting with the ", " that has the fewest", "from fewest to most"),
    ("how did ", " compare", "{} compared"),
    ("how does ", " compare", "{} compared"),
    ("how do ", " compare", "{} compared"),
    ("how much did ", " grow", "growth of {}"),
    ("how much has ", " grown", "growth of {}"),
    ("by how much did ", " grow", "growth of {}"),
    ("how much did ", " increase", "growth of {}"),
    ("how did ", " change from ", "growth of {} from "),
    ("how much did ", " change from ", "growth of {} from "),
    ("how did ", " develop", "trend of {}"),
    ("how did ", " evolve", "trend of {}"),
    ("how did ", " change", "trend of {}"),
    ("how many pieces of ", " were sold", "total quantity of {}"),
    ("how many units of ", " were sold", "total quantity of {}"),
    ("how many pieces of ", " did we sell", "total quantity of {}"),
    ("how many units of ", " did we sell", "total quantity of {}"),
];

/// Chinese idioms: a longer one stands before one that it contains.
const CHINESE: &[(&str, &str)] = &[
    ("平均消费金额", "平均每个客户的销售额"),
    ("平均消费额", "平均每个客户的销售额"),
    ("平均消费多少钱", "平均每个客户的销售额"),
    ("平均消费多少", "平均每个客户的销售额"),
    ("平均消费", "平均每个客户的销售额"),
    ("人均消费金额", "平均每个客户的销售额"),
    ("人均消费额", "平均每个客户的销售额"),
    ("人均消费", "平均每个客户的销售额"),
    ("笔单价", "平均订单金额"),
    ("卖了多少商品", "的总销量"),
    ("卖出了多少商品", "的总销量"),
    ("卖出多少商品", "的总销量"),
    ("平均每单多少钱", "平均订单金额"),
    ("平均每单金额", "平均订单金额"),
    ("客单价", "平均订单金额"),
    ("我们总共卖了多少钱", "总销售额"),
    ("总共卖了多少钱", "总销售额"),
    ("一共卖了多少钱", "总销售额"),
    ("卖了多少钱", "的总销售额"),
    ("卖出了多少件", "的总销量"),
    ("卖出多少件", "的总销量"),
    ("卖了多少件", "的总销量"),
    ("卖了多少个", "的总销量"),
    ("卖得最多的", "销售额最高的"),
    ("卖得最多", "销售额最高"),
    ("花了多少钱", "的总销售额"),
    ("消费了多少钱", "的总销售额"),
    ("卖得最好的", "销售额最高的"),
    ("卖得最好", "销售额最高"),
    ("卖得最差的", "销售额最低的"),
    ("最畅销的", "销售额最高的"),
    ("最畅销", "销售额最高"),
    ("消费最多的", "销售额最高的"),
    ("消费最高的", "销售额最高的"),
    ("消费金额", "销售额"),
    ("消费总额", "总销售额"),
    ("消费了多少钱", "的总销售额"),
    ("消费了多少", "的总销售额"),
    ("消费多少钱", "的销售额"),
    ("消费多少", "的销售额"),
    ("营业额", "营收"),
    ("成交总额", "订单总额"),
    ("没有下过订单", "没有订单"),
    ("没下过订单", "没有订单"),
    ("没有下过单", "没有订单"),
    ("没下过单", "没有订单"),
    ("从未下过单", "没有订单"),
    ("从未下单", "没有订单"),
    ("下过单", "下单"),
    ("没有下单", "没有订单"),
    ("没下单", "没有订单"),
    ("未下单", "没有订单"),
    ("从未卖出过的", "没有销售额的"),
    ("从未卖出的", "没有销售额的"),
    ("没有卖出过的", "没有销售额的"),
    ("没卖出过的", "没有销售额的"),
    ("没有卖出的", "没有销售额的"),
    ("没有销量的", "没有销售额的"),
    ("从来没有买过东西", "没有订单"),
    ("没有买过东西", "没有订单"),
    ("复购客户", "订单超过1个的客户"),
    ("谁负责的", "哪个负责人的"),
    ("谁买得最多", "哪个客户的销售额最高"),
    ("买得最多的", "销售额最高的"),
    ("买得最多", "销售额最高"),
    ("谁消费最多", "哪个客户的销售额最高"),
    ("谁消费最高", "哪个客户的销售额最高"),
    ("谁花的钱最多", "哪个客户的销售额最高"),
    ("谁花钱最多", "哪个客户的销售额最高"),
    ("最忙的是星期几", "哪个星期几订单最多"),
    ("星期几最忙", "哪个星期几订单最多"),
    ("周几最忙", "哪个星期几订单最多"),
    ("哪天最忙", "哪天订单最多"),
    ("哪个月最忙", "哪个月订单最多"),
    ("哪个月最好", "哪个月销售额最高"),
    ("哪个月业绩最好", "哪个月销售额最高"),
    ("哪天业绩最好", "哪天销售额最高"),
    ("平均耗时最长", "平均耗时最高"),
    ("首购客户", "首次下单的客户"),
    ("首单客户", "首次下单的客户"),
    ("首次购买的客户", "首次下单的客户"),
    ("老客户", "再次下单的客户"),
    ("回头客", "订单超过1个的客户"),
    ("下单最多的", "订单最多的"),
    ("下了多少单", "有多少订单"),
    ("下多少单", "订单数"),
    ("多少单", "多少订单"),
    ("订单量", "订单数"),
    ("新增了", "新增"),
];

/// Averages of each calendar unit, and of all of them.
const AVERAGES_OF_UNITS: [(&str, &str); 4] =
    [("每月平均", "月均"), ("每天平均", "日均"), ("每日平均", "日均"), ("每周平均", "周均")];

/// The longest text with which a name begins or ends.
const TEXT_MAX_CHARS: usize = 20;

/// The most words of a field that ends a clause.
const FIELD_WORDS_MAX: usize = 3;

/// Each English idiom with what stands instead.
static LONGEST_FIRST: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    let each = |(idioms, instead): &(&'static str, &'static str)| {
        let instead = *instead;
        idioms.split('|').map(move |idiom| (idiom, instead))
    };
    let mut idioms: Vec<(&str, &str)> = ENGLISH.iter().flat_map(each).collect();
    idioms.sort_by_key(|(idiom, _)| std::cmp::Reverse(idiom.len()));
    idioms
});

/// The question in plainer words.
pub fn plainer(question: &str) -> String {
    let mut plain = question.to_owned();
    let is_chinese = question.chars().any(is_han);
    let mut pairs = Pairs::of(question);
    for (idiom, instead) in CHINESE.iter().filter(|_| is_chinese) {
        if !pairs.may_have(idiom) {
            continue;
        }
        // `多少单` is not in `多少单位`.
        let is_whole = |at: &usize| {
            !plain[at + idiom.len()..].starts_with(['位', '价', '品', '元', '子'])
                && !is_quoted(&plain[..*at])
        };
        let places: Vec<usize> = plain.match_indices(idiom).map(|(at, _)| at).filter(is_whole).collect();
        if places.is_empty() {
            continue;
        }
        for at in places.into_iter().rev() {
            plain.replace_range(at..at + idiom.len(), instead);
        }
        pairs = Pairs::of(&plain);
    }
    if plain.starts_with("不同") && !plain.starts_with("不同的") {
        plain.replace_range(.."不同".len(), "各");
    }
    for (each, mean) in AVERAGES_OF_UNITS {
        // `每月平均订单数` is that of all months; `每月平均订单金额` is one for each.
        if let Some((_, rest)) = plain.split_once(each) {
            let counted = rest.split(['的', '，', '？', '?', '是']).next().unwrap_or_default();
            if counted.ends_with('数') || counted.ends_with("数量") {
                plain = plain.replacen(each, mean, 1);
            }
        }
    }
    if let Some(average) = average_each(&plain) {
        plain = average;
    }
    if let Some(unit) = best_unit(&plain) {
        plain = unit;
    }
    if let Some(buyer) = who_bought_most(&plain) {
        plain = buyer;
    }
    if let Some(ranking) = without_how_much(&plain) {
        plain = ranking;
    }
    if let Some(text) = text_at_end(&plain).filter(|_| is_chinese) {
        plain = text;
    }
    if let Some(ranking) = least_of_several(&plain) {
        plain = ranking;
    }
    if let Some(share) = ratio_to_all(&plain) {
        plain = share;
    }
    if let Some(contains) = word_in_field(&plain) {
        plain = contains;
    }
    plain = or_more(&plain);
    if is_chinese {
        plain = nth_in_chinese(&plain);
        plain = months_in_chinese(&plain);
    }
    plain = shown_first(plain);
    for (before, after, instead) in AROUND {
        if let Some((start, inside, end)) = around(&plain, before, after) {
            plain = format!(
                "{}{}{}",
                &plain[..start],
                instead.replace("{}", &plain[inside.clone()]),
                &plain[end..]
            );
        }
    }
    let mut lower = plain.to_ascii_lowercase();
    let mut pairs = Pairs::of(&lower);
    for (idiom, instead) in LONGEST_FIRST.iter() {
        if pairs.may_have(idiom)
            && let Some(at) = found(&plain, &lower, idiom, 0)
        {
            plain.replace_range(at..at + idiom.len(), instead);
            lower = plain.to_ascii_lowercase();
            pairs = Pairs::of(&lower);
        }
    }
    plain
}

/// The pairs of bytes in a text, by their hashes: most idioms have another one, and need not be looked for.
struct Pairs([u64; 16]);

impl Pairs {
    fn of(text: &str) -> Pairs {
        let mut pairs = [0; 16];
        for (word, bit) in text.as_bytes().windows(2).map(Pairs::place) {
            pairs[word] |= 1 << bit;
        }
        Pairs(pairs)
    }

    fn may_have(&self, part: &str) -> bool {
        part.as_bytes().windows(2).map(Pairs::place).all(|(word, bit)| (self.0[word] >> bit) & 1 == 1)
    }

    fn place(pair: &[u8]) -> (usize, u32) {
        let hash = (u32::from(pair[0]) * 37) ^ (u32::from(pair[1]) * 5);
        (hash as usize / 64 % 16, hash % 64)
    }
}

/// `订单第二多的城市` as `订单第二最多的城市`, `销售额第二的商品` as `销售额第二最高的商品`.
fn nth_in_chinese(question: &str) -> String {
    const SIZES: [(&str, &str, &str); 12] = [
        ("多", "", "最多"),
        ("少", "", "最少"),
        ("高", "", "最高"),
        ("低", "", "最低"),
        ("大", "", "最大"),
        ("小", "", "最小"),
        ("贵", "", "最贵"),
        ("便宜", "", "最便宜"),
        ("长", "", "最长"),
        ("短", "", "最短"),
        ("畅销", "销售额", "最高"),
        ("的", "", "最高的"),
    ];
    let Some((head, rest)) = question.split_once('第') else { return question.to_owned() };
    let length: usize = rest.chars().take_while(|c| is_numeral(*c)).map(char::len_utf8).sum();
    let (number, tail) = rest.split_at(length);
    // Not in `第二小学`, `第三大道`.
    let is_name = |rest: &str| rest.starts_with(['学', '中', '街', '道', '楼', '桥', '院', '门', '年']);
    let says = |size: &str| tail.strip_prefix(size).is_some_and(|rest| !is_name(rest));
    let said = SIZES.iter().find(|(size, ..)| says(size) && !number.is_empty());
    match said.filter(|_| !is_quoted(head)) {
        Some((size, of, most)) => {
            let head = head.strip_suffix("排名").or(head.strip_suffix('排')).unwrap_or(head);
            format!("{head}{of}第{number}{most}{}", &tail[size.len()..])
        }
        None => question.to_owned(),
    }
}

/// `十月份` as `十月`.
fn months_in_chinese(question: &str) -> String {
    const MONTH: &str = "月份";
    let says = |at: &usize| question[..*at].ends_with(|c: char| is_numeral(c) || c == '一');
    let mut plain = question.to_owned();
    let places: Vec<usize> = question.match_indices(MONTH).map(|(at, _)| at).filter(says).collect();
    for at in places.into_iter().rev() {
        plain.replace_range(at..at + MONTH.len(), "月");
    }
    plain
}

fn is_numeral(c: char) -> bool {
    c.is_ascii_digit() || "二三四五六七八九十".contains(c)
}

/// `How many orders does a customer place on average?`
fn average_each(question: &str) -> Option<String> {
    const BEGINS: &str = "how many ";
    let lower = question.to_ascii_lowercase();
    let end = lower.find(" on average")?;
    let inside = (lower.starts_with(BEGINS) && BEGINS.len() < end).then_some(BEGINS.len()..end)?;
    let does = [" does a ", " does an ", " does each ", " does one "]
        .iter()
        .find_map(|does| Some((lower[inside.clone()].find(does)? + BEGINS.len(), does.len())))?;
    let (counted, rest) = (&question[BEGINS.len()..does.0], &question[does.0 + does.1..end]);
    let thing = rest.split_whitespace().next()?;
    Some(format!("average number of {counted} per {thing}{}", &question[end + " on average".len()..]))
}

/// `our best month`, `Which month was the busiest?` as `which month has the highest sales`.
fn best_unit(question: &str) -> Option<String> {
    const KINDS: [(&str, &str); 6] = [
        ("best", "the highest sales"),
        ("worst", "the lowest sales"),
        ("busiest", "the most orders"),
        ("quietest", "the fewest orders"),
        ("slowest", "the fewest orders"),
        ("strongest", "the highest sales"),
    ];
    const UNITS: [&str; 8] =
        ["day of the week", "weekday", "day", "week", "month", "quarter", "year", "hour"];
    let lower = question.to_ascii_lowercase();
    // `Was September our best month?` asks for yes or no.
    let asks_whether = ["is", "was", "are", "were", "did", "does", "has"];
    if asks_whether.contains(&lower.split_whitespace().next()?) {
        return None;
    }
    let each = KINDS.iter().flat_map(|kind| UNITS.iter().map(move |unit| (kind, unit)));
    each.filter(|(kind, _)| lower.contains(kind.0)).find_map(|((kind, what), unit)| {
        let which = format!("which {unit} has {what}");
        let before = [format!("{kind} {unit}")];
        let verbs = ["was the", "was our", "was", "is the", "is our", "is"];
        let after = verbs.map(|verb| format!("which {unit} {verb} {kind}"));
        let said = before.iter().chain(&after);
        let (at, words) =
            said.filter_map(|words| Some((found(question, &lower, words, 0)?, words))).next()?;
        let rest = &question[at + words.len()..];
        // `best month by revenue`
        let says_what = ["by", "for", "of", "to", "in terms"];
        let is_alone = !says_what.iter().any(|word| rest.trim_start().starts_with(word));
        is_alone.then(|| format!("{}{which}{}", &question[..at], rest.replacen(" so far", "", 1)))
    })
}

/// `Who bought the most Longjing?` as `which customer has the highest sales of Longjing`.
fn who_bought_most(question: &str) -> Option<String> {
    const BEGINS: [&str; 4] =
        ["who bought the most ", "who buys the most ", "who ordered the most ", "who bought most "];
    const OTHERS: [&str; 12] = [
        "in",
        "last",
        "this",
        "on",
        "from",
        "during",
        "since",
        "overall",
        "ever",
        "yesterday",
        "today",
        "orders",
    ];
    let lower = question.to_ascii_lowercase();
    let rest = BEGINS.iter().find_map(|begins| lower.strip_prefix(begins))?;
    let first = rest.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let what = &question[question.len() - rest.len()..];
    (!OTHERS.contains(&first) && !first.is_empty())
        .then(|| format!("which customer has the highest sales of {what}"))
}

/// `Who spent the most, and how much?`: a ranking by money shows how much.
fn without_how_much(question: &str) -> Option<String> {
    const MONEY: [&str; 9] =
        ["spent", "spends", "sales", "revenue", "sold", "sells", "earned", "turnover", "expensive"];
    const RANKS: [&str; 6] = ["most", "highest", "best", "least", "lowest", "worst"];
    let head = question.trim_end_matches(['?', '.', '!', ' ']);
    let lower = head.to_ascii_lowercase();
    let asked = [" and how much", " and how much was it", " and how much did they spend"];
    let end =
        asked.iter().find_map(|asked| lower.strip_suffix(asked)).map(|end| end.trim_end_matches(','))?;
    let says = |list: &[&str]| end.split(|c: char| !c.is_alphanumeric()).any(|word| list.contains(&word));
    (says(&MONEY) && says(&RANKS)).then(|| head[..end.len()].to_owned())
}

/// `名称以茶结尾的商品` as `名称结尾为“茶”的商品`.
fn text_at_end(question: &str) -> Option<String> {
    ["开头", "结尾"].iter().find_map(|end| {
        let (head, rest) = question.split_once(end)?;
        let (field, text) = head.rsplit_once('以')?;
        let bare = text.trim_matches(['“', '”', '"', '\'', '「', '」']);
        // Several texts, or none of them.
        let is_one = bare != text || !bare.contains(['或', '和', '、', '，', '与']);
        let is_text = !bare.is_empty() && bare.chars().count() <= TEXT_MAX_CHARS && is_one;
        (is_text && !is_quoted(field) && !field.ends_with('不'))
            .then(|| format!("{field}{end}为“{bare}”{rest}"))
    })
}

/// `lowest 5 products by revenue` as `bottom 5 products by revenue`.
fn least_of_several(question: &str) -> Option<String> {
    let lower = question.to_ascii_lowercase();
    ["lowest ", "worst "].iter().find_map(|least| {
        let at = found(question, &lower, least, 0)?;
        let rest = &question[at + least.len()..];
        rest.starts_with(|c: char| c.is_ascii_digit()).then(|| format!("{}bottom {rest}", &question[..at]))
    })
}

/// `ratio of cancelled orders to all orders` as `share of cancelled orders`.
fn ratio_to_all(question: &str) -> Option<String> {
    const BEGINS: &str = "ratio of ";
    let lower = question.to_ascii_lowercase();
    let start = found(question, &lower, BEGINS, 0)?;
    let inside = start + BEGINS.len();
    let (end, all) = [" to all ", " to total ", " to the total number of ", " to all the "]
        .iter()
        .find_map(|all| Some((found(question, &lower, all, inside)?, all.len())))?;
    let thing = lower[inside..end].rsplit(' ').next()?;
    let rest = lower[end + all..].strip_prefix(thing)?;
    let is_whole = !rest.starts_with(char::is_alphanumeric);
    let rest = &question[question.len() - rest.len()..];
    is_whole.then(|| format!("{}share of {}{rest}", &question[..start], &question[inside..end]))
}

/// `… per city? Show the city first.`: the columns may stand in any order.
fn shown_first(mut question: String) -> String {
    let end = question.trim_end_matches(['.', '!', ' ']).len();
    let lower = question.to_ascii_lowercase();
    let is_last = |begins: &str| {
        lower[..end]
            .rfind(begins)
            .is_some_and(|at| !lower[at + begins.len()..end].contains(['.', '?', ',', ';']))
    };
    if lower[..end].ends_with(" first") && (is_last("? show the ") || is_last(". show the ")) {
        question.replace_range(end - " first".len()..end, "");
    }
    question
}

/// `5 or more patients` as `at least 5 patients`.
fn or_more(question: &str) -> String {
    let mut words: Vec<&str> = question.split(' ').collect();
    let is_number = |word: &str| {
        word.bytes().all(|byte| byte.is_ascii_digit()) && !word.is_empty()
            || super::english::number(&word.to_ascii_lowercase()).is_some()
    };
    // Not in `greater than 10 or less than 5`.
    let says = |words: &[&str], at: usize| {
        let three = &words[at..at + 3];
        let is_or = three[1] == "or" && matches!(three[2], "more" | "fewer" | "less");
        is_number(three[0])
            && is_or
            && words.get(at + 3) != Some(&"than")
            && !is_quoted(&words[..at].join(" "))
    };
    while let Some(at) = (0..words.len().saturating_sub(2)).find(|at| says(&words, *at)) {
        let at_least = if words[at + 2] == "more" { "at least" } else { "at most" };
        words.splice(at..at + 3, [at_least, words[at]]);
    }
    words.join(" ")
}

/// `have the word X in their name` as `whose name contains X`.
fn word_in_field(question: &str) -> Option<String> {
    let lower = question.to_ascii_lowercase();
    let (start, begins) = ["have", "has", "with", "containing", "contain"]
        .iter()
        .flat_map(|verb| ["word", "words", "substring", "phrase"].map(|text| format!("{verb} the {text} ")))
        .find_map(|begins| Some((found(question, &lower, &begins, 0)?, begins.len())))?;
    let inside = start + begins;
    // What is quoted may have such words, too.
    let quoted = question[inside..].strip_prefix(['"', '\'']).and_then(|rest| rest.find(['"', '\'']));
    let from = inside + quoted.map_or(0, |end| end + 2);
    let (end, middle) = [" in their ", " in its ", " in the "]
        .iter()
        .find_map(|middle| Some((from + lower.get(from..)?.find(middle)?, middle.len())))?;
    let rest = &question[end + middle..];
    let field = rest.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ' ')).next()?.trim_end();
    if is_quoted(&question[..start]) || field.split(' ').any(|word| matches!(word, "and" | "or")) {
        return None;
    }
    let is_field = (1..=FIELD_WORDS_MAX).contains(&field.split_whitespace().count());
    is_field.then(|| {
        let (text, rest) = (question[inside..end].trim_matches(['"', '\'']), &rest[field.len()..]);
        format!("{}whose {field} contains \"{text}\"{rest}", &question[..start])
    })
}

/// Where words stand as whole ones, from a place on. `lower`: the text in lower case.
pub(super) fn found(text: &str, lower: &str, words: &str, from: usize) -> Option<usize> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    lower.get(from..)?.match_indices(words).map(|(at, _)| from + at).find(|at| {
        let (head, tail) = (&text[..*at], &text[at + words.len()..]);
        if is_quoted(head) {
            return false;
        }
        let begins = !head.ends_with(is_word) || words.starts_with(' ');
        begins && (!tail.starts_with(is_word) || words.ends_with(' '))
    })
}

/// Whether what follows is within quotation marks.
pub(super) fn is_quoted(head: &str) -> bool {
    let open = |begin: char, end: char| head.matches(begin).count() > head.matches(end).count();
    let letters: Vec<char> = head.chars().collect();
    // An apostrophe within a word is none.
    let marks = (0..letters.len()).filter(|at| {
        let beside = |place: Option<usize>| {
            place.and_then(|place| letters.get(place)).is_some_and(|c| c.is_alphanumeric())
        };
        letters[*at] == '\'' && !(beside(at.checked_sub(1)) && beside(Some(at + 1)))
    });
    head.matches('"').count() % 2 == 1
        || marks.count() % 2 == 1
        || open('“', '”')
        || open('‘', '’')
        || open('「', '」')
}

pub(super) fn around(
    text: &str,
    before: &str,
    after: &str,
) -> Option<(usize, std::ops::Range<usize>, usize)> {
    let lower = text.to_ascii_lowercase();
    let start = found(text, &lower, before, 0)?;
    let inside = start + before.len();
    let end = found(text, &lower, after, inside)?;
    // One clause only.
    let clear = end > inside && !text[inside..end].contains([',', '?', ';', '.']);
    clear.then(|| (start, inside..end, end + after.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idioms_become_words_of_tables() {
        for (question, plain) in [
            ("What is our best selling category?", "What is our highest sales category?"),
            (
                "How much did customers in Shanghai spend last month?",
                "total sales of customers in Shanghai last month?",
            ),
            ("上个月龙井卖了多少件", "上个月龙井的总销量"),
            ("How many spenders?", "How many spenders?"),
            ("The bottom 3 categories by sales", "The 3 categories with the lowest sales"),
            ("customers who spent more than 1000", "customers with sales over 1000"),
            ("How many orders does a customer place on average?", "average number of orders per customer?"),
            ("客单价是多少", "平均订单金额是多少"),
            ("有多少单位", "有多少单位"),
            ("How many on average does a customer order?", "How many on average does a customer order?"),
        ] {
            assert_eq!(plainer(question), plain);
        }
    }
}
