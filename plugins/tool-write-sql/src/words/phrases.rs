//! Phrases that are operators.

use super::Word;
use super::index::{Index, Longest, index, members};
use crate::calendar::{Cycle, Unit};

/// An aggregate function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Func {
    Sum,
    Average,
    Least,
    Greatest,
    Median,
}

/// The days with which some are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Earlier {
    /// The period before: the month before a month.
    Period,
    /// This unit before.
    Unit(Unit),
    /// The same days a year earlier.
    Year,
}

/// Where a text is in another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Inside,
    Beginning,
    End,
}

/// How a chart is wished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chart {
    Line,
    Bars,
    Pie,
    Table,
}

impl Chart {
    pub fn word(self) -> &'static str {
        match self {
            Chart::Line => "line",
            Chart::Bars => "bar",
            Chart::Pie => "pie",
            Chart::Table => "table",
        }
    }
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    Equal,
    NotEqual,
    More,
    AtLeast,
    Less,
    AtMost,
}

/// The operation of a phrase.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    /// A filler: `please`, `吗`.
    Filler,
    /// Ties the next piece to the previous one, without further meaning: `live in`, `used by`.
    Link,
    /// From one number or day to the next.
    To,
    /// Closes a range: `100和200之间`.
    Within,
    /// A measure word after a number: `个`.
    Piece,
    /// A word for money after a number: `元`.
    Money,
    /// Binds a field to its owner: `of`, `的`.
    Of,
    /// Asks which one or ones.
    Which,
    /// Asks who.
    One,
    /// Counts the next thing.
    Count,
    /// Counts what happened.
    Times,
    /// `new customers`.
    New,
    /// The percentage of the rows with the value that follows.
    Share,
    /// The same of the value before it.
    Rate,
    /// `平均每个`: the average of what each has.
    AverageEach,
    /// `日均`, `daily average`
    AverageOfUnits(Unit),
    /// `多少人`: rows of what is told apart.
    People,
    /// Counts the previous thing: `订单数`.
    CountBefore,
    Make(Func),
    /// Sums the amounts of the next thing, or counts it if it has none.
    AmountOf,
    /// Applies to the previous thing: `金额总和`.
    MakeBefore(Func),
    Distinct,
    /// The next number is a limit: `top 5`.
    Top,
    /// The same of the least: `bottom 5`.
    Bottom,
    /// The greatest number of something; true: the most, false: the fewest.
    Most(bool),
    /// The greatest value of something; true: the greatest.
    Extreme(bool),
    /// The greatest value of a field that the word itself names.
    ExtremeOf(bool, &'static [&'static str]),
    /// Groups by the next thing.
    Each,
    By,
    Order,
    /// `Sort the shops by …`: what follows `by` is an order.
    Sort,
    Ascending,
    Descending,
    Compare(Compare),
    /// Shows a field that the word itself names: `how old`.
    Shows(&'static [&'static str]),
    /// `both`: of several values, each.
    Both,
    /// The value of a field that most rows have; false: the fewest.
    Common(bool),
    /// How many rows have a value.
    Frequency,
    /// Compares a field that the word itself names: `older than`.
    CompareOf(Compare, &'static [&'static str]),
    /// Compares the previous number: `100以上`.
    CompareBefore(Compare),
    After,
    Before,
    Since,
    Until,
    Between,
    Not,
    And,
    Or,
    Is,
    Each1(Unit),
    Unit(Unit),
    /// `by weekday`; true: `which weekday`.
    Cycle(Cycle, bool),
    /// `on Mondays`, `on weekends`.
    On(&'static [u8]),
    /// Asks for the calendar unit: `which month`.
    WhichUnit(Unit),
    Trend,
    All,
    /// Compares with the days that follow, or with those before: `相比`.
    ComparedWith,
    /// `the month before`, `a year earlier`.
    Earlier(Earlier),
    /// Compares with earlier days: `year over year`, `环比`.
    Over(Earlier),
    /// How much more than before.
    Growth,
    /// Everything up to each point in time.
    Cumulative,
    /// For the first time.
    FirstTime,
    /// Once more.
    Again,
    /// `ratio of`: of the rows with one value to those with another one.
    Ratio,
    /// The percentage of those who did so more than once.
    Repeat,
    Chart(Chart),
    /// `contains`: the quoted text that follows.
    Has(Part),
    /// `the second`: this place of a ranking.
    Nth(u64),
}

use Compare::{AtLeast, AtMost, Equal, Less, More, NotEqual};
use Func::{Average, Greatest, Least, Median, Sum};

/// The weekdays of words for them: Monday is 1.
const MONDAYS: &[u8] = &[1];
const TUESDAYS: &[u8] = &[2];
const WEDNESDAYS: &[u8] = &[3];
const THURSDAYS: &[u8] = &[4];
const FRIDAYS: &[u8] = &[5];
const SATURDAYS: &[u8] = &[6];
const SUNDAYS: &[u8] = &[7];
const WEEKENDS: &[u8] = &[6, 7];
const WORKDAYS: &[u8] = &[1, 2, 3, 4, 5];
const AGE: &[&str] = &["age"];
const PRICE: &[&str] = &["price", "fee", "fare"];
const POPULATION: &[&str] = &["population"];
const DATE: &[&str] = &[];
/// Last words of fields of durations.
pub const DURATION: &[&str] = &["duration", "seconds", "second", "elapsed", "ms"];

/// English phrases, `|` between synonyms.
const ENGLISH: &[(&str, Op)] = &[
    (
        "the|a|an|please|me|us|tell me|show me|give me|list me|can you|could you|i want to know|i want|i would like to know|want|there|that|which are|who|whose|it|its|their|them|they|then|also|as well|in total|overall|do we have|we have|we|our|at|on|do|does|did|is there|are there|were there|was there|been|being|ever|each one|respectively|corresponding|information|info|data|records|record|for me|just|only the|as|now|currently|so far|any|where|than|occurred|occur|happened|exist|exists|who have|in the system|in the platform|on the platform|number is|came in|come in|comes in|some|about|yet|either|together|along|all the information about|around the world|in the world|as a|please also|onward|onwards|too|altogether|he|she|his|her|he or she|his or her|him or her|those",
        Op::Filler,
    ),
    (
        "show|list|find|give|return|display|get|what is|what are|what was|what were|whats|what|tell|select|report|provide|compute|calculate",
        Op::Filler,
    ),
    (
        "have|has|had|having|with|in|from|for|was|were|made|make|makes|placed|place|into|within|during",
        Op::Filler,
    ),
    (
        "own|owns|owned|conducted|received|receive|receives|given|gave|working|work|works|live|lives|lived|living|come|comes|came|located|based|performed|got|belong|belongs|use|used|uses|speak|speaks|spoken|covered|cover|covers|went|took|take|takes|across|through|via|among|gone through|go through|goes through|went through|undergone|carried out|take place|takes place|took place|taking place|arranged|arranged to|shared|shared by|held by",
        Op::Link,
    ),
    (
        "contain|contains|containing|contained|contain the substring|contains the substring|contain the word|contains the word|containing the word|containing the substring|with the substring|has the substring|with the word|having the word|has the word",
        Op::Has(Part::Inside),
    ),
    (
        "starting with|starts with|start with|beginning with|begins with|begin with|starting with the letter|starts with the letter|start with the letter|beginning with the letter|begins with the letter|begin with the letter",
        Op::Has(Part::Beginning),
    ),
    (
        "ending with|ends with|end with|ending with the letter|ends with the letter|end with the letter|ending in the letter|ends in the letter|end in the letter",
        Op::Has(Part::End),
    ),
    ("yuan|rmb|cny|dollar|dollars|usd|euro|euros|eur", Op::Money),
    ("to|~", Op::To),
    ("of|belonging to|belong to|belongs to", Op::Of),
    ("new|newly registered", Op::New),
    (
        "share of|the share of|percentage of|the percentage of|proportion of|the proportion of|what share of|what percentage of|what proportion of|what percent of|percent of|percentage of total|share of total|share of the total|percentage of the total|percent of total",
        Op::Share,
    ),
    ("rate|share|percentage", Op::Rate),
    ("ratio|ratio of|the ratio of|ratio between|the ratio between|the ratio", Op::Ratio),
    (
        "compare|compared|compare to|compare with|comparing|compared to|compared with|in comparison to|in comparison with|versus|vs|against|relative to",
        Op::ComparedWith,
    ),
    (
        "the previous period|previous period|the period before|the prior period|prior period|the preceding period",
        Op::Earlier(Earlier::Period),
    ),
    (
        "the day before|the previous day|one day earlier|a day earlier|the prior day",
        Op::Earlier(Earlier::Unit(Unit::Day)),
    ),
    (
        "the week before|the previous week|one week earlier|a week earlier|the prior week",
        Op::Earlier(Earlier::Unit(Unit::Week)),
    ),
    (
        "the month before|the previous month|one month earlier|a month earlier|the prior month|month before|the month before that",
        Op::Earlier(Earlier::Unit(Unit::Month)),
    ),
    (
        "the quarter before|the previous quarter|one quarter earlier|a quarter earlier|the prior quarter",
        Op::Earlier(Earlier::Unit(Unit::Quarter)),
    ),
    (
        "the year before|the previous year|one year earlier|a year earlier|a year ago|a year before|the prior year|the same month last year|the same period last year|the same time last year|the same week last year|the same quarter last year|the same day last year|same period last year|same month last year|the same month a year ago|the same period a year ago|the same month of the previous year",
        Op::Earlier(Earlier::Year),
    ),
    (
        "month over month|month-over-month|month on month|week on week|quarter on quarter|mom|week over week|wow|quarter over quarter|qoq|day over day|period over period",
        Op::Over(Earlier::Period),
    ),
    ("year over year|yoy|year on year", Op::Over(Earlier::Year)),
    (
        "growth|growth of|growth in|growth rate|the growth|growth rate of|the growth rate of|the growth of|increase in|the increase in|change in|the change in|growth rates|the growth rate",
        Op::Growth,
    ),
    ("cumulative|running total|running total of|the running total of|accumulated", Op::Cumulative),
    ("for the first time|first time", Op::FirstTime),
    ("once more|once again|came back", Op::Again),
    (
        "repeat purchase rate|the repeat purchase rate|repurchase rate|repeat rate|repeat customer rate|repeat buyer rate|repeat order rate",
        Op::Repeat,
    ),
    (
        "as a line chart|as a line|line chart|as lines|in a line chart|as a line graph|line graph",
        Op::Chart(Chart::Line),
    ),
    (
        "as a bar chart|as bars|bar chart|in a bar chart|as a column chart|column chart|as columns",
        Op::Chart(Chart::Bars),
    ),
    ("as a pie chart|as a pie|pie chart|in a pie chart", Op::Chart(Chart::Pie)),
    ("as a table|in a table|as table", Op::Chart(Chart::Table)),
    ("which", Op::Which),
    ("how old|how old is|how old are", Op::Shows(AGE)),
    ("both|both the|both of", Op::Both),
    (
        "most common|most frequent|most popular|most frequently used|most commonly used|the most common|the most frequent|the most popular|the most frequently used|the most commonly used",
        Op::Common(true),
    ),
    (
        "least common|least frequent|least popular|rarest|the least common|the least frequent|the least popular|the rarest",
        Op::Common(false),
    ),
    ("frequency|their frequency|the frequency|number of occurrences|frequency of occurrence", Op::Frequency),
    (
        "how many|number of|the number of|numbers of|the numbers of|count of|count|count how many|find how many|calculate how many|the count of|total number of|the total number of|count the number of",
        Op::Count,
    ),
    ("how many times|number of times|the number of times|how often", Op::Times),
    ("average|avg|mean|the average|the mean|average of|on average", Op::Make(Average)),
    (
        "average daily|daily average|the average daily|the daily average|average daily number of|the average daily number of|daily average of",
        Op::AverageOfUnits(Unit::Day),
    ),
    (
        "average weekly|weekly average|the average weekly|the weekly average|average weekly number of|the average weekly number of|weekly average of",
        Op::AverageOfUnits(Unit::Week),
    ),
    (
        "average monthly|monthly average|the average monthly|the monthly average|average monthly number of|the average monthly number of|monthly average of",
        Op::AverageOfUnits(Unit::Month),
    ),
    (
        "average yearly|yearly average|average annual|annual average|the average annual|yearly average of",
        Op::AverageOfUnits(Unit::Year),
    ),
    ("total|sum|sum of|the sum of|the total|total of|how much|overall total", Op::Make(Sum)),
    ("total amount of|the total amount of", Op::AmountOf),
    ("median|the median|median of|the median of", Op::Make(Median)),
    ("minimum|min|the minimum", Op::Make(Least)),
    ("maximum|max|the maximum", Op::Make(Greatest)),
    ("distinct|different|unique", Op::Distinct),
    ("top|first|best", Op::Top),
    ("bottom|worst", Op::Bottom),
    (
        "most|the most|most often|the most often|most frequently|the most frequently|most number of|the most number of|largest number of|the largest number of|greatest number of|the greatest number of|highest number of|the highest number of|maximum number of|biggest number of|largest amount of|greatest amount of|highest amount of|the largest amount of|the greatest amount of|the highest amount of",
        Op::Most(true),
    ),
    (
        "fewest|the fewest|least|the least|smallest number of|lowest number of|the smallest number of|the lowest number of|least number of|fewest number of",
        Op::Most(false),
    ),
    (
        "highest|largest|biggest|greatest|longest|heaviest|slowest|the highest|the largest|the biggest|the greatest|the longest|the heaviest|tallest|the tallest",
        Op::Extreme(true),
    ),
    (
        "lowest|smallest|shortest|lightest|fastest|the fastest|the lowest|the smallest|the shortest",
        Op::Extreme(false),
    ),
    ("oldest|the oldest", Op::ExtremeOf(true, AGE)),
    ("youngest|the youngest", Op::ExtremeOf(false, AGE)),
    (
        "most populated|most populous|the most populated|the most populous|most populace",
        Op::ExtremeOf(true, POPULATION),
    ),
    (
        "least populated|least populous|the least populated|the least populous",
        Op::ExtremeOf(false, POPULATION),
    ),
    ("most expensive|priciest|the most expensive", Op::ExtremeOf(true, PRICE)),
    ("cheapest|least expensive|the cheapest", Op::ExtremeOf(false, PRICE)),
    ("latest|newest|most recent|the latest|the newest|the most recent", Op::ExtremeOf(true, DATE)),
    ("earliest|the earliest", Op::ExtremeOf(false, DATE)),
    (
        "per|each|every|for each|for every|in each|of each|from each|in every|by each|grouped by|group by|broken down by|split by",
        Op::Each,
    ),
    ("by", Op::By),
    (
        "ordered by|sorted by|order by|sort by|ordered|sorted|in order of|ranked by|order the results by|order them by|sort the results by|sort them by|order the result by|sort the result by|in the order of|in order by",
        Op::Order,
    ),
    ("sort|rank", Op::Sort),
    (
        "ascending|in ascending order of|in ascending order of numeric|in ascending order|ascending order of|ascending order|in ascending order by|increasing|in increasing order of|in increasing order|from low to high|from lowest to highest|from the lowest to the highest|from smallest to largest|from the smallest to the largest|from young to old|from youngest to oldest|from the youngest to the oldest|from least to most|from fewest to most|from oldest to newest|from the oldest to the newest|alphabetically|ascending alphabetical order of|in ascending alphabetical order of|in ascending alphabetical order|in alphabetical order|in alphabetical order of|in alphabetical order by|in alphabetic order|in lexicographical order",
        Op::Ascending,
    ),
    (
        "descending|in descending order of|in descending order of numeric|in descending order|descending order of|descending order|in descending order by|decreasing|in decreasing order of|in decreasing order|from high to low|from highest to lowest|from the highest to the lowest|from largest to smallest|from the largest to the smallest|from old to young|from oldest to youngest|from the oldest to the youngest|from most to least|from most to fewest|from newest to oldest|from the newest to the oldest|in descending alphabetical order|in descending alphabetical order of|descending alphabetical order of|in reverse alphabetical order|in reverse alphabetical order of",
        Op::Descending,
    ),
    (
        ">|greater|larger|higher|bigger|longer|more than|greater than|larger than|higher than|bigger than|longer than|heavier than|over|above|exceeding|exceeds|is more than|exceed",
        Op::Compare(More),
    ),
    (">=|at least|no less than|not less than|no fewer than|or more", Op::Compare(AtLeast)),
    (
        "<|smaller|lower|shorter|less than|fewer than|smaller than|lower than|shorter than|lighter than|under|below",
        Op::Compare(Less),
    ),
    ("<=|at most|no more than|not more than|up to|not higher than|not greater than", Op::Compare(AtMost)),
    ("=|equal to|equals|exactly", Op::Compare(Equal)),
    ("!=", Op::Compare(NotEqual)),
    ("older than", Op::CompareOf(More, AGE)),
    ("younger than", Op::CompareOf(Less, AGE)),
    ("after|later than", Op::After),
    ("before|earlier than|prior to", Op::Before),
    ("since|starting from|starting", Op::Since),
    ("until|till|up to and including", Op::Until),
    ("between", Op::Between),
    ("not|no|without|never|exclude|excluding|except|except for|other than", Op::Not),
    ("and|as well as|along with|plus|but|but also|and also|and who", Op::And),
    ("or", Op::Or),
    ("is|are|equals to|named|called|be", Op::Is),
    (
        "daily|per day|by day|each day|every day|a day|for each day|day by day|on each day",
        Op::Each1(Unit::Day),
    ),
    ("weekly|per week|by week|each week|every week|a week|for each week|week by week", Op::Each1(Unit::Week)),
    (
        "monthly|per month|by month|each month|every month|a month|for each month|month by month|in each month",
        Op::Each1(Unit::Month),
    ),
    (
        "yearly|annually|per year|by year|each year|every year|for each year|in each year|by fiscal year|per fiscal year|each fiscal year|for each fiscal year|by financial year",
        Op::Each1(Unit::Year),
    ),
    (
        "by weekday|per weekday|each weekday|for each weekday|by weekdays|by day of the week|by day of week|per day of the week|per day of week|for each day of the week|by the day of the week|on each day of the week|by days of the week",
        Op::Cycle(Cycle::Weekday, false),
    ),
    (
        "which weekday|what weekday|which day of the week|what day of the week|on which weekday|on which day of the week|on what day of the week|the weekday|weekday|day of the week",
        Op::Cycle(Cycle::Weekday, true),
    ),
    ("on mondays|mondays|on monday|on a monday|monday", Op::On(MONDAYS)),
    ("on tuesdays|tuesdays|on tuesday|on a tuesday|tuesday", Op::On(TUESDAYS)),
    ("on wednesdays|wednesdays|on wednesday|on a wednesday|wednesday", Op::On(WEDNESDAYS)),
    ("on thursdays|thursdays|on thursday|on a thursday|thursday", Op::On(THURSDAYS)),
    ("on fridays|fridays|on friday|on a friday|friday", Op::On(FRIDAYS)),
    ("on saturdays|saturdays|on saturday|on a saturday|saturday", Op::On(SATURDAYS)),
    ("on sundays|sundays|on sunday|on a sunday|sunday", Op::On(SUNDAYS)),
    (
        "on weekends|on the weekend|at weekends|at the weekend|weekends|on a weekend|during weekends",
        Op::On(WEEKENDS),
    ),
    (
        "on weekdays|on working days|on workdays|on work days|working days|workdays|during the week",
        Op::On(WORKDAYS),
    ),
    (
        "by hour|per hour|each hour|for each hour|hourly|by hour of the day|by hour of day|per hour of the day|by time of day|by the hour",
        Op::Cycle(Cycle::Hour, false),
    ),
    (
        "which hour|what hour|what time|at what time|which hour of the day|what hour of the day|at which hour|in which hour|what time of day|which time of day|at what time of day|at what hour",
        Op::Cycle(Cycle::Hour, true),
    ),
    ("which day|what day|on which day|on what day|how many of the days", Op::WhichUnit(Unit::Day)),
    ("which week|what week|in which week|how many of the weeks", Op::WhichUnit(Unit::Week)),
    ("which month|what month|in which month|how many of the months", Op::WhichUnit(Unit::Month)),
    ("which year|what year|in which year", Op::WhichUnit(Unit::Year)),
    (
        "quarterly|per quarter|by quarter|each quarter|every quarter|a quarter|for each quarter|quarter by quarter|in each quarter|by fiscal quarter|per fiscal quarter|each fiscal quarter|for each fiscal quarter|by financial quarter",
        Op::Each1(Unit::Quarter),
    ),
    ("which quarter|what quarter|in which quarter", Op::WhichUnit(Unit::Quarter)),
    ("quarter|quarters", Op::Unit(Unit::Quarter)),
    ("day|days", Op::Unit(Unit::Day)),
    ("week|weeks", Op::Unit(Unit::Week)),
    ("month|months", Op::Unit(Unit::Month)),
    ("year|years", Op::Unit(Unit::Year)),
    ("trend|trends|over time|trend of|trend in|evolution|development|changed over time", Op::Trend),
    ("all|all the|all of the|any of the|every one of", Op::All),
];

/// Chinese words, `|` between synonyms.
const CHINESE: &[(&str, Op)] = &[
    (
        "请|请问|一下|帮我|我|想|想知道|知道|告诉我|告诉|给我|我们|你|查询|查看|查一下|查|显示|列出|找出|看看|看|统计|计算|求|是|有|在|中|里|内|里面|当中|系统|平台|目前|现在|当前|一共|总共|共|了|吗|呢|啊|和的|情况|信息|数据|进行|过|被|从|对|所|于|出现|发生|产生|名的|它们|他们|分别|以及各|这些|那些|所有的|全部的|是多少|为多少|是什么|什么|时|时候|的话|具体|详细|清单|列表|画|图|图表|画出|展示|下的|期间|整体|总体|明细表",
        Op::Filler,
    ),
    ("使用|拥有|属于|来自|住在|位于", Op::Link),
    ("包含|含有|包括", Op::Has(Part::Inside)),
    ("开头为", Op::Has(Part::Beginning)),
    ("结尾为", Op::Has(Part::End)),
    ("到|至", Op::To),
    ("之间|间", Op::Within),
    ("位|条|次|件|笔|台|张|个|家|款|份|项", Op::Piece),
    ("元|块|块钱", Op::Money),
    ("的", Op::Of),
    ("哪些|哪几个|有哪些", Op::Which),
    ("哪个|哪一个|哪家|谁|是谁|哪位|哪款|哪", Op::One),
    (
        "多少个|多少|几个|多少条|多少次|多少张|多少位|多少名|多少家|多少笔|多少件|几次|几条|几位|几家|有多少个|有多少|数一数",
        Op::Count,
    ),
    ("数量|个数|次数|条数|总数|总次数|总数量|数|人数|笔数|单数|量|数目|件数", Op::CountBefore),
    ("平均|平均的|均", Op::Make(Average)),
    ("总|总的|总共的|合计的|累计", Op::Make(Sum)),
    ("最大的值|最高的值", Op::MakeBefore(Greatest)),
    ("平均值|均值|平均数", Op::MakeBefore(Average)),
    ("总和|合计|之和|总计|求和|总额|总量", Op::MakeBefore(Sum)),
    ("中位数|中位值|中位", Op::MakeBefore(Median)),
    ("比较|相比|对比|比起来|相比较|比", Op::ComparedWith),
    ("前一天|前一日", Op::Earlier(Earlier::Unit(Unit::Day))),
    ("前一周|上一周|再上周|再上一周|再前一周|再前一个星期", Op::Earlier(Earlier::Unit(Unit::Week))),
    ("前一个月|上一个月|再上个月|再前一个月|前一月", Op::Earlier(Earlier::Unit(Unit::Month))),
    ("前一季度|前一个季度|再上个季度", Op::Earlier(Earlier::Unit(Unit::Quarter))),
    ("前一年|上一年|去年同期|上年同期|同期|上年同月|去年同月", Op::Earlier(Earlier::Year)),
    ("上期|前期|上一期", Op::Earlier(Earlier::Period)),
    ("环比|环比增长|环比增长率|环比变化|环比增幅|月环比|周环比", Op::Over(Earlier::Period)),
    ("同比|同比增长|同比增长率|同比变化|同比增幅", Op::Over(Earlier::Year)),
    ("增长率|增长|增幅|增长了多少|增加了多少|增长情况|增速", Op::Growth),
    ("累积|逐月累计|按月累计", Op::Cumulative),
    ("首次|第一次|首单", Op::FirstTime),
    ("再次|又", Op::Again),
    ("复购率|重复购买率|回购率", Op::Repeat),
    ("折线图|折线|线图|曲线图", Op::Chart(Chart::Line)),
    ("柱状图|条形图|柱形图|柱图", Op::Chart(Chart::Bars)),
    ("饼图|饼状图", Op::Chart(Chart::Pie)),
    ("用表格|表格", Op::Chart(Chart::Table)),
    ("最大值|最高值", Op::MakeBefore(Greatest)),
    ("最小值|最低值", Op::MakeBefore(Least)),
    ("不同|不同的|不重复|不重复的|去重|去重后|去重后的|种", Op::Distinct),
    ("前|排名前|排前|top", Op::Top),
    ("倒数|倒数前|垫底的", Op::Bottom),
    ("最多|最多的", Op::Most(true)),
    ("最少|最少的", Op::Most(false)),
    ("最高|最大|最长|最贵重|最高的|最大的|最长的|最久|最慢|最重", Op::Extreme(true)),
    ("最低|最小|最短|最低的|最小的|最短的|最快|最轻", Op::Extreme(false)),
    ("最贵|最贵的", Op::ExtremeOf(true, PRICE)),
    ("最便宜|最便宜的", Op::ExtremeOf(false, PRICE)),
    ("最年长|年龄最大", Op::ExtremeOf(true, AGE)),
    ("最年轻|年龄最小", Op::ExtremeOf(false, AGE)),
    ("最新|最近的|最新的|最晚", Op::ExtremeOf(true, DATE)),
    ("最早|最早的", Op::ExtremeOf(false, DATE)),
    (
        "每个|每|各|各个|每一个|每种|各种|每位|每名|每家|每张|每条|每类|各类|按|按照|根据|依据|按每个|分组",
        Op::Each,
    ),
    ("排序|排列|由", Op::Order),
    ("新增|新增的|新注册|新注册的|新", Op::New),
    ("之比|的比值|比值|的之比", Op::Ratio),
    ("率|占比|比例|的比例|的占比", Op::Rate),
    ("日均|平均每天|平均每日|平均一天", Op::AverageOfUnits(Unit::Day)),
    ("周均|平均每周", Op::AverageOfUnits(Unit::Week)),
    ("月均|平均每月|平均每个月", Op::AverageOfUnits(Unit::Month)),
    ("季均|平均每季度|平均每个季度", Op::AverageOfUnits(Unit::Quarter)),
    ("年均|平均每年", Op::AverageOfUnits(Unit::Year)),
    ("平均每个|平均每位|平均每名|平均每家|平均每", Op::AverageEach),
    ("多少人|几个人", Op::People),
    ("升序|从低到高|从小到大|由低到高|从少到多", Op::Ascending),
    ("降序|从高到低|从大到小|由高到低|从多到少|倒序", Op::Descending),
    ("大于|超过|高于|多于|长于|超出", Op::Compare(More)),
    ("不少于|至少|不低于|大于等于|大于或等于|不小于", Op::Compare(AtLeast)),
    ("小于|低于|少于|不到|短于|不足", Op::Compare(Less)),
    ("不超过|至多|最多为|小于等于|小于或等于|不高于|不多于|不大于", Op::Compare(AtMost)),
    ("等于", Op::Compare(Equal)),
    ("不等于|不是|不为", Op::Compare(NotEqual)),
    ("以上", Op::CompareBefore(AtLeast)),
    ("以下", Op::CompareBefore(AtMost)),
    ("之后|以后|后", Op::After),
    ("之前|以前", Op::Before),
    ("以来|自|自从|起", Op::Since),
    ("为止|截至|截止", Op::Until),
    ("介于", Op::Between),
    ("没有|没|不|未|无|从未|除了|非|不含|不包含|不包括|不算|去掉|去除|排除|剔除|不要", Op::Not),
    ("且|但|但是|而|并且|而且|和|与|及|以及|、", Op::And),
    ("或|或者", Op::Or),
    ("为|叫|名为", Op::Is),
    ("每天|每日|按天|按日|每一天|逐日", Op::Each1(Unit::Day)),
    ("每周|按周|每星期|逐周", Op::Each1(Unit::Week)),
    ("每月|按月|每个月|逐月|各月", Op::Each1(Unit::Month)),
    ("每季度|按季度|每个季度|各季度|逐季|按季|各财季|按财季|每财季|每个财季", Op::Each1(Unit::Quarter)),
    ("哪个季度|哪一季度|哪季度|哪些季度|哪几个季度", Op::WhichUnit(Unit::Quarter)),
    ("每年|按年|逐年|各年|各财年|按财年|每财年|每个财年", Op::Each1(Unit::Year)),
    (
        "按星期|按周几|按星期几|各星期|每个星期几|一周中每天|一周各天|按工作日",
        Op::Cycle(Cycle::Weekday, false),
    ),
    ("星期几|周几|哪个星期几", Op::Cycle(Cycle::Weekday, true)),
    ("周末|每个周末|周末的", Op::On(WEEKENDS)),
    ("工作日|平日|工作日的", Op::On(WORKDAYS)),
    ("每周一|每个周一|每个星期一", Op::On(MONDAYS)),
    ("每周二|每个周二|每个星期二", Op::On(TUESDAYS)),
    ("每周三|每个周三|每个星期三", Op::On(WEDNESDAYS)),
    ("每周四|每个周四|每个星期四", Op::On(THURSDAYS)),
    ("每周五|每个周五|每个星期五", Op::On(FRIDAYS)),
    ("每周六|每个周六|每个星期六", Op::On(SATURDAYS)),
    ("每周日|每个周日|每个星期日|每个星期天", Op::On(SUNDAYS)),
    ("按小时|每小时|各小时|每个小时|分时段|按时段|各时段|每个时段", Op::Cycle(Cycle::Hour, false)),
    ("几点|哪个时段|哪个小时|几点钟|哪个钟头", Op::Cycle(Cycle::Hour, true)),
    ("哪天|哪一天|哪日|哪些天|哪几天|哪些日期|多少天|有多少天", Op::WhichUnit(Unit::Day)),
    ("哪周|哪一周|哪个星期|哪些周|哪几周|多少周|有多少周", Op::WhichUnit(Unit::Week)),
    ("哪个月|哪一个月|哪月|哪些月|哪几个月|哪些月份|多少个月|有多少个月", Op::WhichUnit(Unit::Month)),
    ("哪年|哪一年|哪些年|哪几年", Op::WhichUnit(Unit::Year)),
    ("趋势|走势|变化|变化趋势|趋势图|走势图|变化情况", Op::Trend),
    ("所有|全部|全体", Op::All),
];

/// The longest phrase that begins here, in words, and its operation.
pub fn longest(words: &[Word]) -> Option<(usize, Op)> {
    all(words).max_by_key(|(length, _)| *length)
}

/// True for a function word.
pub fn says_little(word: &str) -> bool {
    let little =
        |op: Op| matches!(op, Op::Filler | Op::Link | Op::To | Op::Of | Op::By | Op::And | Op::Or | Op::Not);
    word.is_ascii() && beginning(word).any(|(phrase, op)| phrase == word && little(op))
}

/// True for a word that needs another one after it: `best`, `per`, `are`.
pub fn needs_more(word: &str) -> bool {
    let needs = |op: Op| {
        matches!(
            op,
            Op::Top | Op::Bottom | Op::Most(_) | Op::Extreme(_) | Op::Each | Op::Count | Op::Make(_) | Op::Is
        )
    };
    says_little(word) || beginning(word).any(|(phrase, op)| phrase == word && needs(op))
}

/// All phrases by their first words.
static BY_FIRST_WORD: Index = index!(&[members!(ENGLISH, 0), members!(CHINESE, 0)], "|", " ");
/// All words of phrases.
static WORDS: Index = index!(&[members!(ENGLISH, 0), members!(CHINESE, 0)], "| ", "");

/// The phrases that begin with a word, each with its operation, in the lists' order.
fn beginning(word: &str) -> impl Iterator<Item = (&'static str, Op)> {
    let op = |list: usize| ENGLISH.get(list).unwrap_or_else(|| &CHINESE[list - ENGLISH.len()]).1;
    BY_FIRST_WORD.get(word).map(move |(phrase, list)| (phrase, op(list)))
}

/// Whether a phrase contains the word.
pub fn has(word: &str) -> bool {
    WORDS.has(word)
}

/// The phrases that begin here, with their length in words.
pub fn all(words: &[Word]) -> impl Iterator<Item = (usize, Op)> {
    let first = words.first().map(|word| beginning(&word.lower));
    first.into_iter().flatten().filter_map(|(phrase, op)| Some((length_here(words, phrase)?, op)))
}

/// The length of a phrase in words, if it begins here.
pub fn length_here(words: &[Word], phrase: &str) -> Option<usize> {
    let (mut length, mut rest) = (0, phrase);
    loop {
        let word = words.get(length).filter(|word| word.form != super::Form::Quoted)?;
        rest = rest.strip_prefix(word.lower.as_str())?;
        length += 1;
        if rest.is_empty() {
            return Some(length);
        }
        rest = rest.strip_prefix(' ')?;
    }
}

pub static LONGEST: Longest = Longest::of(&[members!(CHINESE, 0)]);

/// Whether it is a Chinese word here.
pub fn is_chinese(word: &str) -> bool {
    static CHINESE_WORDS: Index = index!(&[members!(CHINESE, 0)], "|", "");
    CHINESE_WORDS.has(word)
}
