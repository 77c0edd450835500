//! Questions with the expected SQL, or with the expected reason of a refusal.

use crate::answer::{Answer, answer};
use crate::calendar::Day;
use crate::dialect::Dialect;
use crate::schema::Schema;
use crate::testing::{platform, shop};
use crate::understand::meaning::Unclear;

fn asked(question: &str, schema: &Schema) -> Result<Answer, Unclear> {
    answer(question, schema, Day::read("2026-07-19").unwrap())
}

/// The SQL on one line.
fn sql(question: &str, schema: &Schema) -> String {
    let answer = asked(question, schema).unwrap_or_else(|unclear| panic!("{question}: {unclear:?}"));
    answer.sql.split_whitespace().collect::<Vec<&str>>().join(" ")
}

fn same(questions: &[&str], schema: &Schema, expected: &[&str]) {
    for question in questions {
        let sql = sql(question, schema);
        for part in expected {
            assert!(sql.contains(part), "{question}\n  {sql}\n  lacks {part}");
        }
    }
}

#[test]
fn publications_by_day_have_every_day_of_the_range() {
    let range = "\"published_at\" >= '2026-06-20' AND \"publications\".\"published_at\" < '2026-07-20'";
    let calendar = "SELECT '2026-06-20' UNION ALL SELECT date(\"start\", '+1 day') FROM \"calendar\" WHERE \"start\" < '2026-07-19'";
    let (platform, question) = (platform(), "How many workflows were published per day in the last 30 days?");
    same(&[question], &platform, &[range, calendar, "COUNT(*)"]);
    let once = ["COUNT(DISTINCT \"publications\".\"workflow_id\")"];
    same(&["How many workflows were published in the last 30 days?"], &platform, &once);
    same(
        &["最近30天工作流发布次数的趋势", "近三十天每天的发布次数"],
        &platform,
        &[range, calendar, "COUNT(*)"],
    );
    same(&["过去30天工作流每天发布多少次"], &platform, &[range, calendar, "COUNT(*)"]);
    assert!(asked("How many times was each workflow published?", &platform).is_err());
    let answer = asked(question, &platform).unwrap();
    assert_eq!((answer.shape, answer.measures), ("series", vec!["number of publications".to_owned()]));
    assert!(answer.explanation.contains("publications.published_at, from 2026-06-20 to 2026-07-19"));
}

#[test]
fn doris_counts_days_without_recursion() {
    let doris = Schema { dialect: Dialect::Doris, ..platform() };
    let days = sql("How many workflows were published per day in the last 30 days?", &doris);
    assert!(
        days.starts_with("WITH `found` AS (SELECT") || days.starts_with("WITH `found` AS ( SELECT"),
        "{days}"
    );
    assert!(!days.contains("RECURSIVE"), "{days}");
    for part in [
        "SELECT 0 AS `digit` UNION ALL SELECT 1 UNION ALL",
        "CAST(`d0`.`digit` * 1 + `d1`.`digit` * 10 AS INT) AS `number` FROM `digits` AS `d0` CROSS JOIN `digits` AS `d1`",
        "DATE_FORMAT(DATE_ADD('2026-06-20', INTERVAL `number` DAY), '%Y-%m-%d') AS `start` FROM `numbers` \
         WHERE `number` < 30",
    ] {
        assert!(days.contains(part), "{days}\n  lacks {part}");
    }
    let all = sql("How many workflows were published per week?", &doris);
    let until = "AS `ends` CROSS JOIN `numbers` WHERE `number` < 1000 AND DATE_FORMAT(DATE_ADD(`ends`.`first`, \
                 INTERVAL (`number` * 7) DAY), '%Y-%m-%d') <= `ends`.`last`";
    assert!(all.contains(until) && all.contains("`d2`.`digit` * 100 AS INT)"), "{all}");
}

/// StarRocks' own grammar reads this file in the suite of grammars.
#[test]
fn statements_for_doris_are_those_of_the_golden_file() {
    let doris = Schema { dialect: Dialect::Doris, ..platform() };
    let written: String = [
        "How many workflows were published per day in the last 30 days?",
        "How many workflows were published per week?",
        "How many executions failed per month?",
        "What is the average duration of executions per year?",
        "Executions per quarter",
        "Growth of executions per month",
        "Cumulative number of executions per month",
        "Executions last month compared to the month before",
        "Executions by status last month compared to the same month last year",
        "Share of executions by status",
        "Median duration of executions by status",
        "The workflow with the most executions for each status",
        "Average number of executions per day",
        "Average number of executions per day in the last 30 days",
        "The status with the most executions each month",
        "Executions by weekday",
        "Executions by hour",
        "Ratio of failed to successful executions",
    ]
    .iter()
    .map(|question| format!("{};\n", sql(question, &doris)))
    .collect();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/doris.sql");
    if std::env::var_os("GOLDEN").is_some() {
        std::fs::write(path, &written).unwrap();
    }
    assert_eq!(written, std::fs::read_to_string(path).unwrap());
}

#[test]
fn rows_are_counted() {
    let expected = ["FROM \"workflows\"", "SELECT COUNT(*)"];
    same(&["How many workflows are there?", "有多少个工作流", "工作流总数"], &platform(), &expected);
    same(
        &["How many executions failed yesterday?", "昨天失败的执行有多少次", "昨天失败的执行次数"],
        &platform(),
        &["\"status\" = 'failed'", "\"started_at\" >= '2026-07-18'", "\"started_at\" < '2026-07-19'"],
    );
    same(
        &["How many publications were submitted last week?", "上周提交了多少次发布"],
        &platform(),
        &["\"submitted_at\" >= '2026-07-06'", "COUNT(*)"],
    );
}

#[test]
fn rankings_count_the_rows_of_another_table() {
    same(
        &["Which 5 workflows have the most failed executions?", "失败次数最多的5个工作流"],
        &platform(),
        &[
            "FROM \"executions\" JOIN \"workflows\" ON \"executions\".\"workflow_id\" = \"workflows\".\"id\"",
            "\"executions\".\"status\" = 'failed'",
            "GROUP BY \"workflows\".\"id\", \"workflows\".\"name\" ORDER BY COUNT(*) DESC",
            "LIMIT 5",
        ],
    );
    same(
        &["Which city has the most customers?", "哪个城市的客户最多"],
        &shop(),
        &["GROUP BY \"customers\".\"city\" ORDER BY COUNT(*) DESC", "LIMIT 1"],
    );
    same(
        &["Top 5 customers by total order amount", "订单金额总和最高的5个客户"],
        &shop(),
        &["ORDER BY SUM(\"orders\".\"amount\") DESC", "LIMIT 5"],
    );
}

#[test]
fn averages_are_taken_over_joins_that_multiply_nothing() {
    same(
        &["average duration of executions per workflow", "每个工作流的平均执行时长"],
        &platform(),
        &[
            "AVG(\"executions\".\"duration_seconds\")",
            "GROUP BY \"workflows\".\"id\", \"workflows\".\"name\"",
        ],
    );
    same(
        &["average order amount per customer city", "各城市客户的平均订单金额"],
        &shop(),
        &["AVG(\"orders\".\"amount\")", "JOIN \"customers\" ON", "GROUP BY \"customers\".\"city\""],
    );
    assert_eq!(asked("average amount of orders per product", &shop()), Err(Unclear::Shape));
}

#[test]
fn values_numbers_and_dates_filter() {
    same(&["customers in Beijing", "北京的客户"], &shop(), &["\"customers\".\"city\" = '北京'"]);
    same(
        &["orders with amount greater than 100", "金额大于100的订单"],
        &shop(),
        &["\"orders\".\"amount\" > 100"],
    );
    same(&["How many orders are not cancelled?", "未取消的订单数"], &shop(), &["\"status\" <> 'cancelled'"]);
    same(
        &["total amount of orders in 2025", "2025年的订单总金额"],
        &shop(),
        &["SUM(\"orders\".\"amount\")", "\"ordered_at\" >= '2025-01-01'"],
    );
    same(&["How many customers live in 北京 or 上海?"], &shop(), &["IN ('北京', '上海')"]);
}

#[test]
fn negated_events_become_anti_joins() {
    same(
        &["Which customers have no orders?", "没有订单的客户有哪些"],
        &shop(),
        &["\"customers\".\"id\" NOT IN (SELECT \"orders\".\"customer_id\" FROM \"orders\""],
    );
    same(
        &["customers who did not order this month"],
        &shop(),
        &["AND \"orders\".\"ordered_at\" >= '2026-07-01'"],
    );
    same(&["Which workflows have never been published?"], &platform(), &["\"published_at\" IS NOT NULL)"]);
}

#[test]
fn trends_without_range_cover_all_data() {
    same(
        &["按月统计发布次数", "publications per month"],
        &platform(),
        &["MAX(MIN(\"start\"), date(MAX(\"start\"), '-999 months')) FROM \"found\"", "'start of month'"],
    );
}

#[test]
fn days_to_come_are_not_drawn() {
    same(
        &["本月每天的执行次数", "executions per day this month"],
        &platform(),
        &["WHERE \"start\" < '2026-07-19'"],
    );
}

#[test]
fn a_word_that_means_nothing_refuses_the_question() {
    for (question, words) in [
        ("What is the weather tomorrow?", &["weather", "tomorrow"][..]),
        ("how much profit did we make on Mars", &["profit", "Mars"]),
        ("delete all workflows", &["delete"]),
    ] {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(asked(question, &platform()), Err(Unclear::Words(words)));
    }
    assert!(matches!(asked("明天天气怎么样", &platform()), Err(Unclear::Words(_))));
}

#[test]
fn rows_are_ranked_by_a_field_that_they_have() {
    same(
        &["the 3 cheapest products", "价格最低的3个商品"],
        &shop(),
        &["\"price\" IS NOT NULL ORDER BY \"products\".\"price\" LIMIT 3"],
    );
    same(
        &["What is the highest order amount?", "最大订单金额是多少"],
        &shop(),
        &["SELECT MAX(\"orders\".\"amount\")"],
    );
}

#[test]
fn what_could_mean_several_things_is_refused() {
    let platform = platform();
    assert!(matches!(asked("How many workflows failed?", &platform), Err(Unclear::Ambiguous(_))));
    // Rejected publications were never published, so their usual time does not apply.
    assert!(matches!(asked("publications rejected this month", &platform), Err(Unclear::NoTime(_))));
    same(
        &["How many orders above 100 were placed by customers in 北京?"],
        &shop(),
        &["\"orders\".\"amount\" > 100", "\"customers\".\"city\" = '北京'", "COUNT(*)"],
    );
}

#[test]
fn a_rate_is_a_percentage_of_rows() {
    same(
        &["What is the success rate of executions?", "What share of executions is successful?", "执行成功率"],
        &platform(),
        &["AVG(CASE WHEN \"executions\".\"status\" = 'success' THEN 100.0 ELSE 0.0 END)"],
    );
}

#[test]
fn names_and_values_of_the_schema_cannot_break_out() {
    let mut shop = shop();
    shop.tables[0].fields[1].values = vec!["O'Neil'; --".to_owned()];
    shop.tables[0].fields[2].name = "ci\"ty".to_owned();
    shop.tables[0].fields[2].comment = "城市".to_owned();
    same(&["How many customers have the name \"O'Neil'; --\"?"], &shop, &["= 'O''Neil''; --'"]);
    same(&["各城市的客户数"], &shop, &["\"ci\"\"ty\""]);
}

#[test]
fn any_question_is_answered_or_refused() {
    let pieces = [
        "最近",
        "30",
        "天",
        "how many",
        "workflows",
        "的",
        "per",
        "最多",
        "failed",
        "not",
        "or",
        "between",
        "平均",
        "'",
        "2025",
        "top",
        "by",
    ];
    let mut state = 7_u32;
    for _ in 0..100 {
        let question: Vec<&str> = (0..6)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                pieces[(state >> 16) as usize % pieces.len()]
            })
            .collect();
        // It only has to return.
        let _ = asked(&question.join(" "), &platform());
    }
}
