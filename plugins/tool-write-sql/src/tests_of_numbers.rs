//! Questions whose numbers, signs and small words change the answer: each is answered correctly or refused.

use crate::answer::{Answer, answer, answer_of};
use crate::calendar::Day;
use crate::known::Known;
use crate::schema::{Place, Schema};
use crate::testing::{company, platform, shop};
use crate::understand::meaning::Unclear;

fn asked(question: &str, schema: &Schema) -> Result<Answer, Unclear> {
    answer(question, schema, Day::read("2026-07-19").unwrap())
}

/// Questions, and the text that the SQL of each must have; if empty, each must be refused.
fn each(schema: &Schema, cases: &[(&[&str], &str)]) {
    let (known, today) = (Known::of(schema), Day::read("2026-07-19").unwrap());
    for (questions, expected) in cases {
        for question in *questions {
            match answer_of(question, &known, today) {
                Ok(answer) => {
                    let sql = answer.sql.split_whitespace().collect::<Vec<&str>>().join(" ");
                    assert!(
                        !expected.is_empty() && sql.contains(expected),
                        "{question}\n  {sql}\n  lacks {expected}"
                    );
                }
                Err(unclear) => assert!(expected.is_empty(), "{question}: {unclear:?}"),
            }
        }
    }
}

#[test]
fn comparison_signs_are_read() {
    each(
        &company(),
        &[
            (
                &["How many orders with order amount > 500?", "订单金额＞500的订单有多少"],
                "SELECT COUNT(*) AS",
            ),
            (&["orders with order amount > 500", "订单金额>500的订单"], "\"order_amount\" > 500 "),
            (&["orders with order_amount>=500", "订单金额≥500的订单"], "\"order_amount\" >= 500 "),
            (&["orders with order amount < 500", "订单金额<500的订单"], "\"order_amount\" < 500 "),
            (&["orders with order amount <= 500", "订单金额≤500的订单"], "\"order_amount\" <= 500 "),
            (
                &["orders with order amount != 500", "orders with order amount <> 500", "订单金额≠500的订单"],
                "\"order_amount\" <> 500 OR",
            ),
            (
                &[
                    "orders with order_status != cancelled",
                    "order_status <> 'cancelled' orders",
                    "订单状态不是已取消的订单",
                ],
                "\"order_status\" <> 'cancelled' OR",
            ),
            (
                &["How many customers with city != Beijing?", "城市!=Beijing的客户有多少"],
                "\"city\" <> 'Beijing'",
            ),
            (&["orders with order_status = shipped"], "\"order_status\" = 'shipped'"),
            (&["orders with order amount more than -5", "订单金额大于-5的订单"], "\"order_amount\" > -5 "),
            (&["orders with order amount not over 500"], "\"order_amount\" <= 500 "),
            (
                &["products with price over 100 and below 200", "单价大于100小于200的商品"],
                "\"price\" > 100 AND \"ods_products\".\"price\" < 200",
            ),
            (
                &["How many orders with ordered_at > 2026-07-01?"],
                "WHERE \"ods_orders\".\"ordered_at\" >= '2026-07-02'",
            ),
            (&["客户数>40的城市", "cities with > 40 customers"], "HAVING COUNT(*) > 40"),
        ],
    );
    each(
        &platform(),
        &[
            (&["失败次数 > 3 的工作流"], "HAVING COUNT(*) > 3"),
            (&["执行时长>60秒的执行"], "\"duration_seconds\" > 60 "),
        ],
    );
}

#[test]
fn a_symbol_that_means_nothing_is_named() {
    for (question, symbol) in [
        ("How many orders !cancelled", "!"),
        ("How many orders ~cancelled", "~"),
        ("How many orders -cancelled", "-"),
        ("Top 10% products by price", "%"),
        ("orders #5", "#"),
        ("orders / customers", "/"),
        ("$500 orders", "$"),
        ("How many customers in %?", "%"),
        ("orders + customers", "+"),
    ] {
        let named = match asked(question, &company()) {
            Err(Unclear::Word(word)) => vec![word],
            Err(Unclear::Words(words)) => words,
            other => panic!("{question}: {other:?}"),
        };
        assert_eq!(named, [symbol], "{question}");
    }
}

#[test]
fn ranges_and_lists_of_numbers_are_read_as_a_whole() {
    each(
        &company(),
        &[
            (
                &[
                    "单价在100到200之间的商品有多少",
                    "单价从100到200的商品",
                    "单价100-200的商品",
                    "单价100~200元的商品",
                    "单价在100和200之间的商品数",
                    "price 100-200 products",
                    "products with price from 100 to 200",
                    "products with price between 100 and 200",
                ],
                "\"price\" BETWEEN 100 AND 200",
            ),
            (&["客户编号为5到10的订单有多少"], "\"customer_id\" BETWEEN 5 AND 10"),
            (
                &["单价为158和168的商品", "单价为158，168的商品", "单价是158、168的商品"],
                "\"price\" IN (158, 168)",
            ),
            (
                &[
                    "Top 3-5 products by sales amount",
                    "Top 3 to 5 products by price",
                    "Top -3 products by price",
                ],
                "",
            ),
            (&["orders to 500", "orders with order amount to 500"], ""),
        ],
    );
    each(&platform(), &[(&["executions from 10 to 20 seconds"], "")]);
}

#[test]
fn a_number_limits_only_its_following_noun() {
    each(
        &company(),
        &[
            (
                &[
                    "客户编号为5的订单有多少",
                    "客户编号5的订单有多少",
                    "客户5的订单有多少",
                    "How many orders of customer 5?",
                ],
                "\"customer_id\" = 5",
            ),
            (&["订单编号100的订单金额是多少"], "\"order_id\" = 100"),
            (&["商品编号3的单价"], "\"product_id\" = 3"),
            (&["5个客户", "names of 5 customers", "5个Beijing的客户"], "LIMIT 5"),
            (&["5个单价最低的商品", "the 5 cheapest products"], "LIMIT 5"),
            (&["orders of 5 customers", "How many orders of 5 customers", "5的订单"], ""),
            (&["orders with customer id = 1234567890123456789"], ""),
        ],
    );
}

#[test]
fn the_years_of_numbers_are_numbers() {
    each(
        &company(),
        &[
            (&["How many orders of customer 2001?"], "\"customer_id\" = 2001"),
            (&["orders with order amount 2000"], "\"order_amount\" = 2000 "),
            (&["How many orders in 2025?", "2025年有多少订单"], "\"ordered_at\" >= '2025-01-01'"),
            (&["12月有多少订单", "How many orders in December?"], "\"ordered_at\" >= '2025-12-01'"),
        ],
    );
}

#[test]
fn verbs_mean_what_happened() {
    each(
        &company(),
        &[
            (
                &[
                    "How many customers bought in the last 30 days?",
                    "最近30天购买的客户数",
                    "最近30天有多少客户购买",
                ],
                "\"ods_orders\".\"ordered_at\" >= '2026-06-20'",
            ),
            (&["How many customers bought?", "购买过的客户数"], "COUNT(DISTINCT"),
            (&["customers used", "How many customers own?", "北京客户占多少", "订单如何"], ""),
            (&["How many customers live in Beijing?"], "\"city\" = 'Beijing'"),
        ],
    );
}

#[test]
fn tables_of_one_name_are_not_told_apart_by_chance() {
    let mut months = company();
    let mut second = months.tables[2].clone();
    second.name = "dwd_orders".to_owned();
    months.tables.push(second);
    for question in ["How many orders are there?", "有多少订单"] {
        assert!(matches!(asked(question, &months), Err(Unclear::Ambiguous(_))), "{question}");
    }
    each(&months, &[(&["How many dwd_orders are there?"], "FROM \"dwd_orders\"")]);
}

#[test]
fn the_fewest_and_fewer_include_those_with_none() {
    let all = "FROM \"ods_customers\" LEFT JOIN \"ods_orders\" ON";
    each(
        &company(),
        &[
            (
                &[
                    "Which customers have the fewest orders?",
                    "订单最少的客户是谁",
                    "customers with fewer than 15 orders",
                    "订单少于15个的客户",
                ],
                all,
            ),
            (&["customers with exactly 0 orders"], "HAVING COUNT(\"ods_orders\".\"customer_id\") = 0"),
            (
                &["customers with fewer than 3 cancelled orders"],
                "AND \"ods_orders\".\"order_status\" = 'cancelled' GROUP BY",
            ),
            (
                &["customers with more than 15 orders", "订单超过15个的客户"],
                "FROM \"ods_orders\" JOIN \"ods_customers\"",
            ),
            (&["Which products have the fewest orders?"], ""),
        ],
    );
}

#[test]
fn a_negation_is_for_what_follows_it() {
    let without = "\"customer_id\" NOT IN (SELECT \"ods_orders\".\"customer_id\" FROM \"ods_orders\"";
    each(
        &company(),
        &[
            (
                &[
                    "How many customers have orders that are not cancelled?",
                    "How many customers have orders that aren't cancelled?",
                ],
                "COUNT(DISTINCT \"ods_customers\".\"customer_id\") AS \"number of customers\" FROM \"ods_customers\" JOIN \"ods_orders\"",
            ),
            (&["没有取消过订单的客户", "customers without cancelled orders"], without),
            (&["没有取消过订单的客户"], "SELECT \"ods_customers\".\"customer_name\""),
            (&["How many customers not in Beijing or Shanghai?"], "NOT IN ('Beijing', 'Shanghai')"),
        ],
    );
}

#[test]
fn what_has_no_value_is_neither_left_out_nor_first() {
    each(
        &platform(),
        &[
            (
                &["executions not failed"],
                "(\"executions\".\"status\" <> 'failed' OR \"executions\".\"status\" IS NULL)",
            ),
            (
                &["Which workflow has the shortest average duration?", "平均耗时最短的工作流"],
                "HAVING AVG(\"executions\".\"duration_seconds\") IS NOT NULL",
            ),
        ],
    );
}

#[test]
fn no_word_is_understood_and_then_dropped() {
    each(
        &company(),
        &[
            (
                &["orders per customer", "not cancelled orders per customer"],
                "GROUP BY \"ods_customers\".\"customer_id\"",
            ),
            (&["5 orders per customer", "total distinct order amount", "sum of distinct prices"], ""),
            (&["customers ordered every day last week"], ""),
            (&["Shanghai customers' orders last week"], "SELECT \"ods_orders\".\"order_id\""),
        ],
    );
    assert_eq!(asked("first 3 orders", &company()), Err(Unclear::NoRank));
    // Without anything that says what was sold.
    assert_eq!(asked("top 5 customers", &shop()), Err(Unclear::NoRank));
    each(
        &company(),
        &[(
            &["top 5 customers", "前5名客户", "Top 1 customer", "Who are our top 5 customers?"],
            "ORDER BY SUM(\"dwd_order_details\".\"sales_amount\") DESC",
        )],
    );
    each(&platform(), &[(&["top 5 tables by access"], "ORDER BY COUNT(*) DESC")]);
}

#[test]
fn an_amount_of_a_time_is_a_sum() {
    each(
        &company(),
        &[
            (
                &["上个月的销售额", "What was the sales amount last month?"],
                "SELECT SUM(\"dwd_order_details\".\"sales_amount\")",
            ),
            (
                &["order amount of gold customers in Beijing in June"],
                "SELECT SUM(\"ods_orders\".\"order_amount\")",
            ),
            (&["list the order amounts of June"], "SELECT \"ods_orders\".\"order_amount\""),
        ],
    );
}

#[test]
fn the_last_weeks_are_whole_ones() {
    let weeks = asked("orders per week in the last 8 weeks", &company()).unwrap();
    assert!(weeks.sql.contains(">= '2026-05-25'"), "{}", weeks.sql);
    let months = asked("number of customers registered per month in the last 12 months", &company()).unwrap();
    assert!(months.sql.contains(">= '2025-08-01'"), "{}", months.sql);
    let cut = asked("orders per week in the last 30 days", &company()).unwrap();
    assert!(cut.explanation.contains("is not whole"), "{}", cut.explanation);
}

#[test]
fn days_are_read_in_pairs_and_alone() {
    let july = "\"ordered_at\" >= '2026-07-01' AND \"ods_orders\".\"ordered_at\" < '2026-07-16'";
    each(
        &company(),
        &[
            (
                &[
                    "How many orders from 2026-07-01 to 2026-07-15?",
                    "How many orders between 2026-07-01 and 2026-07-15?",
                    "7月1日到7月15日有多少订单",
                ],
                july,
            ),
            (&["How many orders on July 1?", "7月1日有多少订单"], "< '2026-07-02'"),
            (&["How many orders not in June?", "orders last week or yesterday"], ""),
        ],
    );
}

#[test]
fn values_are_joined_where_one_of_them_must_hold() {
    each(
        &company(),
        &[
            (
                &[
                    "How many customers in Beijing and Shanghai?",
                    "Beijing和Shanghai有多少客户",
                    "Beijing、Shanghai有多少客户",
                ],
                "\"city\" IN ('Beijing', 'Shanghai')",
            ),
            // Customers who ordered both ways.
            (
                &["customers with web and app orders"],
                "\"channel\" = 'web') AND \"ods_customers\".\"customer_id\" IN (",
            ),
        ],
    );
}

#[test]
fn plans_name_sums_units_and_limits() {
    let told = |question: &str| {
        let answer = asked(question, &company()).unwrap();
        (answer.summed.len(), answer.unit, answer.limit)
    };
    assert_eq!(told("number of orders per week in the last 8 weeks"), (1, Some("week"), None));
    assert_eq!(told("How many customers ordered per day in the last 30 days?"), (0, Some("day"), None));
    assert_eq!(told("number of different channels per day in the last 30 days"), (0, Some("day"), None));
    assert_eq!(told("average order amount per month in 2026"), (0, Some("month"), None));
    assert_eq!(told("number of orders per customer per day"), (1, Some("day"), Some(1_000)));
    assert_eq!(told("top 5 channels by number of orders"), (1, None, Some(5)));
    assert_eq!(told("How many orders are there?"), (1, None, None));
    let all = asked("orders", &company()).unwrap();
    assert!(all.limit == Some(1_000) && all.sql.ends_with("LIMIT 100001"), "{}", all.sql);
    let trend = asked("orders per day", &company()).unwrap();
    assert_eq!(trend.limit, Some(1_000));
    assert!(trend.explanation.contains("the latest 1000 at most"), "{}", trend.explanation);
}

#[test]
fn simple_questions_have_answers() {
    each(
        &company(),
        &[
            (&["最近30天每天的订单数"], "COUNT(*)"),
            (&["订单数大于30的客户"], "HAVING COUNT(*) > 30"),
            (
                &["上个月各渠道的订单数", "order count per channel last month"],
                "GROUP BY \"ods_orders\".\"channel\"",
            ),
            (&["number of orders by gold customers"], "SELECT COUNT(*)"),
            (&["Which month had the most orders?", "哪个月的订单最多"], "ORDER BY COUNT(*) DESC"),
            (&["哪天的销售额最高"], "ORDER BY SUM(\"dwd_order_details\".\"sales_amount\") DESC"),
        ],
    );
}

/// Rows must not change what questions mean.
#[test]
fn values_of_grammar_are_values_only_in_quotation_marks() {
    let mut schema = company();
    let status = schema.tables[2].fields.iter_mut().find(|field| field.name == "order_status").unwrap();
    status.values.push("by channel".to_owned());
    let today = Day::read("2026-07-19").unwrap();
    let asked = |question: &str| answer(question, &schema, today).unwrap().sql;
    assert!(asked("number of orders by channel").contains("GROUP BY"));
    assert!(asked("How many orders have the order status 'by channel'?").contains("= 'by channel'"));
}

#[test]
fn a_refusal_costs_no_more_than_an_answer() {
    let mut wide = company();
    let table = wide.tables[2].clone();
    for at in 0..54 {
        let mut copy = table.clone();
        copy.name = format!("copy_{at}");
        wide.tables.push(copy);
    }
    let known = crate::known::Known::of(&wide);
    let today = Day::read("2026-07-19").unwrap();
    assert!(
        crate::could::questions("订单的天气", &known, today, true, &|| false).len()
            <= crate::could::QUESTIONS_MAX
    );
    let place = Place { table: 2, field: 1 };
    assert!(known.links.direct(place.table, 0).is_some());
}

#[test]
fn a_number_that_is_shown_and_compared_is_shown() {
    let question =
        "average order amount and total order amount per channel where the average order amount is below 600";
    let answer = asked(question, &company()).unwrap();
    assert_eq!(answer.measures, ["average order amount", "total order amount"]);
}

#[test]
fn ambiguous_names_resolve_near_the_number() {
    each(
        &company(),
        &[
            (&["total order amount per city", "各城市的订单总金额"], "GROUP BY \"ods_customers\".\"city\""),
            (&["What was the total order amount in Beijing?"], "\"ods_customers\".\"city\" = 'Beijing'"),
            (
                &["Which product has the highest sales amount?", "销售额最高的商品"],
                "ORDER BY SUM(\"dwd_order_details\".\"sales_amount\") DESC",
            ),
            (&["Top 3 cities by order amount last month"], "GROUP BY \"ods_customers\".\"city\""),
            (&["What is the revenue?"], "SELECT SUM("),
            (&["How many cities are there?"], "COUNT(DISTINCT \"ods_customers\".\"city\")"),
        ],
    );
}

#[test]
fn those_with_so_many_are_counted() {
    each(
        &company(),
        &[(
            &["How many customers have more than 30 orders?", "订单超过30的客户有多少"],
            "HAVING COUNT(*) > 30 )",
        )],
    );
}
