//! Questions in the words of people who do not know the tables: each is answered correctly or refused.

use crate::answer::answer_of;
use crate::calendar::Day;
use crate::known::Known;
use crate::testing::{company, platform};
use crate::understand::meaning::Unclear;
use crate::{could, which};

/// Questions with what the SQL of each must have; `None`: each must be refused.
pub type Cases<'c> = &'c [(&'c [&'c str], Option<&'c str>)];

pub fn each(schema: &crate::schema::Schema, cases: Cases<'_>) {
    let (known, today) = (Known::of(schema), Day::read("2026-07-19").unwrap());
    for (questions, expected) in cases {
        for question in *questions {
            let answer = answer_of(question, &known, today);
            let sql =
                answer.map(|answer| answer.sql.split_whitespace().collect::<Vec<&str>>().join(" ")).ok();
            match (&sql, expected) {
                (Some(sql), Some(part)) => assert!(sql.contains(part), "{question}\n  {sql}\n  lacks {part}"),
                _ => assert_eq!(sql.as_deref(), *expected, "{question}"),
            }
        }
    }
}

const SALES: &str = "SUM(\"dwd_order_details\".\"sales_amount\")";

#[test]
fn the_first_of_kinds_are_ranked_by_their_sums() {
    let by_category =
        "GROUP BY \"ods_products\".\"category\" ORDER BY SUM(\"dwd_order_details\".\"sales_amount\") DESC";
    each(
        &company(),
        &[
            (
                &[
                    "Which category sells best?",
                    "Which category has the highest sales?",
                    "What is our best selling category?",
                    "Top 3 categories by sales amount last month",
                    "销售额最高的品类是哪个",
                    "哪个品类卖得最好",
                ],
                Some(by_category),
            ),
            (
                &["Which channel has the highest order amount?", "哪个渠道的订单金额最高"],
                Some(
                    "GROUP BY \"ods_orders\".\"channel\" ORDER BY SUM(\"ods_orders\".\"order_amount\") DESC",
                ),
            ),
            (
                &["Who are our top 5 customers?", "Top 5 customers by revenue", "消费最多的5个客户"],
                Some("GROUP BY \"ods_customers\".\"customer_id\""),
            ),
            // Nothing says what is asked for.
            (&["Who makes the most money?"], None),
        ],
    );
}

#[test]
fn averages_of_things_are_of_what_each_has() {
    let of_sums = "AVG(\"number\") AS";
    each(
        &company(),
        &[
            (
                &[
                    "average sales amount per customer",
                    "How much does a customer spend on average?",
                    "How many orders does a customer place on average?",
                    "average number of orders per customer",
                ],
                Some(of_sums),
            ),
            (
                &["What is the average order value?", "客单价是多少", "平均每单多少钱"],
                Some("SELECT AVG(\"ods_orders\".\"order_amount\")"),
            ),
            // Single lines are not what is averaged.
            (
                &["average revenue per day", "平均每天销售额"],
                Some("SELECT AVG(COALESCE(\"found\".\"n0\", 0))"),
            ),
            (&["categories with sales amount above average"], None),
        ],
    );
}

#[test]
fn idioms_and_misspelt_words_are_read() {
    each(
        &company(),
        &[
            (&["What was our revenue last month?", "Turnover last month", "上个月卖了多少钱"], Some(SALES)),
            (
                &["How many costumers are there?", "How many members do we have?"],
                Some("FROM \"ods_customers\""),
            ),
            (&["How many customers never ordered?", "没有下过单的客户有多少"], Some("NOT IN (SELECT")),
            (&["How many customers ordered more than once?", "复购客户有多少"], Some("HAVING COUNT(*) > 1")),
            (
                &["What percentage of orders were cancelled?", "订单取消率"],
                Some("AVG(CASE WHEN \"ods_orders\".\"order_status\" = 'cancelled' THEN 100.0 ELSE 0.0 END)"),
            ),
            (
                &["How many new customers this month?", "本月新增客户数"],
                Some("\"registered_at\" >= '2026-07-01'"),
            ),
            (&["上个月订单总额"], Some("SUM(\"ods_orders\".\"order_amount\")")),
        ],
    );
}

#[test]
fn what_nearly_fits_is_refused() {
    each(
        &company(),
        &[(
            &[
                "Which customers returned orders?",
                "How many customers stopped ordering?",
                "Which products do customers hate?",
                "revenue per buyer",
                "revenue from new customers last month",
                "本月新客户的销售额",
                "customers in Wuhen",
                "revenge last month",
                "有多少单位",
                "How many on average does a customer order?",
            ],
            None,
        )],
    );
    each(
        &platform(),
        &[
            (&["How many workflow runs were there in the last 7 days?"], Some("SELECT COUNT(*)")),
            (&["How many times was each workflow published?"], None),
        ],
    );
}

#[test]
fn two_sides_are_groups_and_a_second_group_may_be_a_calendar_unit() {
    let (month, channels) = ("date(\"ods_orders\".\"ordered_at\", 'start of month')", "IN ('app', 'web')");
    each(
        &company(),
        &[
            (&["app vs web orders", "orders app vs web", "compare app and web orders"], Some(channels)),
            (
                &["gold vs silver revenue", "Revenue of gold versus silver customers"],
                Some("GROUP BY \"ods_customers\".\"member_level\""),
            ),
            (
                &["Revenue in Beijing vs Shanghai", "北京和上海的销售额对比"],
                Some("GROUP BY \"ods_customers\".\"city\""),
            ),
            (
                &["orders by channel and month", "number of orders per channel and month"],
                Some(&format!("GROUP BY {month}, \"ods_orders\".\"channel\"")),
            ),
            (&["revenue by category and month"], Some("'start of month'), \"ods_products\".\"category\"")),
        ],
    );
}

#[test]
fn a_set_is_of_those_of_some_days_without_those_of_others() {
    let set = "IN (SELECT \"ods_orders\".\"customer_id\" FROM \"ods_orders\" WHERE \"ods_orders\".\"customer_id\" IS NOT \
        NULL AND \"ods_orders\".\"ordered_at\" >= '2026-05-01' AND \"ods_orders\".\"ordered_at\" < '2026-06-01') AND \
        \"ods_customers\".\"customer_id\" NOT IN (SELECT \"ods_orders\".\"customer_id\" FROM \"ods_orders\" WHERE \
        \"ods_orders\".\"customer_id\" IS NOT NULL AND \"ods_orders\".\"ordered_at\" >= '2026-06-01'";
    each(
        &company(),
        &[
            (
                &[
                    "Customers who ordered in May but not in June",
                    "How many customers ordered in May but not in June?",
                    "How many gold customers bought in May but not last month?",
                    "5月下单但6月没有下单的客户",
                    "5月下过单但6月没下单的客户有多少",
                ],
                Some(set),
            ),
            (
                &["Which products were never sold?", "products that have never been sold", "从未卖出的商品"],
                Some("NOT IN (SELECT \"dwd_order_details\".\"product_id\""),
            ),
            (&["orders in May but not in June", "customers who ordered not in June"], None),
        ],
    );
}

#[test]
fn rankings_by_shares_and_without_a_criterion_are_understood() {
    let cancelled = "AVG(CASE WHEN \"ods_orders\".\"order_status\" = 'cancelled' THEN 100.0 ELSE 0.0 END)";
    each(
        &company(),
        &[
            (&["Which channel has the highest cancellation rate?", "取消率最高的渠道"], Some(cancelled)),
            (
                &["top 3 cities by cancellation rate"],
                Some(&format!("ORDER BY {cancelled} DESC, \"ods_customers\".\"city\" LIMIT 3")),
            ),
            (&["Which city has the highest share of cancelled orders?"], Some("LIMIT 1")),
            (
                &["top 3 cities", "best cities", "前3的城市"],
                Some(
                    "GROUP BY \"ods_customers\".\"city\" ORDER BY SUM(\"dwd_order_details\".\"sales_amount\") DESC",
                ),
            ),
            (
                &["bottom 3 cities", "倒数3名的城市"],
                Some(
                    "ORDER BY SUM(\"dwd_order_details\".\"sales_amount\"), \"ods_customers\".\"city\" LIMIT 3",
                ),
            ),
            (&["500元以上的订单数"], Some("WHERE \"ods_orders\".\"order_amount\" >= 500")),
            (&["除了北京以外的客户数"], Some("\"city\" <> 'Beijing'")),
            (&["month over month revenue growth", "销售额环比"], Some("'+1 month'")),
            (&["revenue year over year"], Some("'+1 year'")),
        ],
    );
}

#[test]
fn what_is_open_is_asked_and_what_is_refused_has_near_questions() {
    let today = Day::read("2026-07-19").unwrap();
    let readings = |schema: &crate::schema::Schema, question: &str| {
        let known = Known::of(schema);
        let unclear = answer_of(question, &known, today).unwrap_err();
        which::readings(
            question,
            &unclear,
            &known,
            today,
            question.chars().any(crate::words::chinese::is_han),
            &|| false,
        )
    };
    for question in
        ["How many workflows failed yesterday?", "Which workflow fails most often?", "哪个工作流失败最多"]
    {
        let found = readings(&platform(), question);
        assert!(found.len() > 1, "{question}: {found:?}");
    }
    let company = company();
    let known = Known::of(&company);
    for (question, first) in [
        ("Orders from Beijin", "Orders from Beijing"),
        ("orders by courier last month", "orders last month"),
        ("churn rate by city last month", "total sales amount per city last month"),
        ("上个月各城市的利润", "上个月每个城市的总销售额"),
    ] {
        let chinese = question.chars().any(crate::words::chinese::is_han);
        let offered = could::questions(question, &known, today, chinese, &|| false);
        assert!(could::questions(question, &known, today, chinese, &|| true).is_empty());
        assert_eq!((offered.first().map(String::as_str), offered.len()), (Some(first), 3), "{question}");
    }
}

#[test]
fn weekdays_and_hours_are_groups() {
    let weekday = "GROUP BY ((strftime('%w', \"ods_orders\".\"ordered_at\") + 6) % 7 + 1)";
    each(
        &company(),
        &[
            (
                &["orders by weekday", "number of orders per day of the week last month", "按星期统计订单数"],
                Some(weekday),
            ),
            (
                &["Which weekday has the most orders?", "星期几的订单最多"],
                Some(&format!(
                    "{weekday} ORDER BY COUNT(*) DESC, ((strftime('%w', \"ods_orders\".\"ordered_at\") + 6) % 7 + 1) LIMIT 1"
                )),
            ),
            (
                &["orders by hour", "每小时的订单数", "orders per hour in Beijing"],
                Some("CAST(strftime('%H', \"ods_orders\".\"ordered_at\") AS INTEGER) AS"),
            ),
            (&["revenue by weekday"], Some("SUM(\"dwd_order_details\".\"sales_amount\")")),
            // A day has no hours.
            (&["revenue by hour", "orders by weekday per month"], None),
        ],
    );
}

#[test]
fn a_ratio_is_of_two_values() {
    let app = "1.0 * SUM(CASE WHEN \"ods_orders\".\"channel\" = 'app' THEN 1 ELSE 0 END) / NULLIF(SUM(CASE WHEN \
        \"ods_orders\".\"channel\" = 'web' THEN 1 ELSE 0 END), 0)";
    each(
        &company(),
        &[
            (
                &[
                    "ratio of app orders to web orders",
                    "the ratio of app to web orders per city",
                    "app订单与web订单之比",
                ],
                Some(app),
            ),
            (
                &["ratio of revenue in Beijing to revenue in Shanghai", "北京和上海的销售额之比"],
                Some("THEN \"dwd_order_details\".\"sales_amount\" ELSE 0 END) / NULLIF("),
            ),
            (&["ratio of orders to customers", "ratio of app orders"], None),
        ],
    );
}

#[test]
fn a_value_has_names_in_both_languages() {
    each(
        &company(),
        &[
            (&["绿茶的销售额", "green tea revenue"], Some("\"category\" = 'green tea'")),
            (&["线下门店的订单数"], Some("\"channel\" = 'store'")),
            (
                &["有多少普通客户", "How many standard customers do we have?"],
                Some("\"member_level\" = 'basic'"),
            ),
        ],
    );
}

#[test]
fn weekdays_are_conditions() {
    let on =
        |days: &str| format!("((strftime('%w', \"ods_orders\".\"ordered_at\") + 6) % 7 + 1) IN ({days})");
    each(
        &company(),
        &[
            (&["How many orders do we get on Mondays?", "每周一的订单数"], Some(&on("1"))),
            (
                &[
                    "orders on weekends last month",
                    "number of orders on the weekend by channel",
                    "周末的订单数",
                ],
                Some(&on("6, 7")),
            ),
            (&["orders by hour on working days"], Some(&on("1, 2, 3, 4, 5"))),
            (&["revenue on Sundays"], Some("+ 6) % 7 + 1) IN (7)")),
            (
                &[
                    "average orders per day on Mondays",
                    "customers who never ordered on Sundays",
                    "orders not on Mondays",
                ],
                None,
            ),
        ],
    );
}

#[test]
fn a_negation_is_of_the_value_that_follows_it() {
    let basic = "\"city\" = 'Beijing' AND (\"ods_customers\".\"member_level\" <> 'basic'";
    each(
        &company(),
        &[(
            &[
                "how many customers in Beijing are not basic",
                "customers in Beijing but not basic",
                "revenue in Beijing excluding basic customers",
            ],
            Some(basic),
        )],
    );
}

#[test]
fn numbers_of_all_and_of_some_stand_side_by_side_or_are_refused() {
    each(
        &company(),
        &[
            (
                &["订单数和取消率按渠道", "每个渠道的订单数和取消率"],
                Some("COUNT(*) AS \"订单数\", AVG(CASE WHEN \"ods_orders\".\"order_status\" = 'cancelled'"),
            ),
            (&["各渠道的订单数和取消数", "取消订单中各渠道占比", "订单数和占比"], None),
        ],
    );
}

#[test]
fn lists_by_an_amount_are_sums_and_kinds_are_not_single_rows() {
    let sales = "ORDER BY SUM(\"dwd_order_details\".\"sales_amount\") DESC";
    each(
        &company(),
        &[
            (&["customers by revenue", "products by sales", "cities by revenue"], Some(sales)),
            (&["北京和上海哪个销售额最高"], Some("GROUP BY \"ods_customers\".\"city\"")),
            (
                &[
                    "what sells best",
                    "where do we sell the most",
                    "what sells worst in Beijing",
                    "which cities had no orders last week",
                    "没有订单的城市",
                    "categories by price",
                    "where do gold customers live",
                    "what do gold customers buy most often",
                    "orders between 9 and 12 yesterday",
                    "weekday with the most orders by channel",
                    "top 3 and bottom 3 products",
                ],
                None,
            ),
        ],
    );
}

#[test]
fn days_from_one_to_the_other_are_compared_as_a_whole() {
    each(
        &company(),
        &[
            (
                &["7月1日到7月7日的销售额环比"],
                Some(">= '2026-06-24' AND \"dwd_order_details\".\"order_date\" < '2026-07-08'"),
            ),
            (
                &["7月1日到7月15日北京和上海的订单数对比"],
                Some(
                    "\"ordered_at\" >= '2026-07-01' AND \"ods_orders\".\"ordered_at\" < '2026-07-16' GROUP BY \"ods_customers\".\"city\"",
                ),
            ),
            (&["week over week orders in June", "day over day orders in June"], Some("LAG(")),
        ],
    );
}

#[test]
fn a_message_that_was_not_understood_is_no_base_of_a_change() {
    let (company, today) = (company(), Day::read("2026-07-19").unwrap());
    let known = Known::of(&company);
    let after = |earlier: &[&str], message: &str| {
        let earlier: Vec<String> = earlier.iter().map(|one| (*one).to_owned()).collect();
        crate::answer::answer_after(message, &earlier, &known, today).map(|answer| answer.sql)
    };
    let by_channel = after(&["How many orders last month?"], "by channel").unwrap();
    for between in ["only blue ones", "What is the weather?", "thanks a lot", "谢谢"] {
        let sql = after(&["How many orders last month?", between], "by channel");
        assert_eq!(sql.as_ref(), Ok(&by_channel), "{between}");
    }
    let change = Unclear::Change("also by channel".to_owned());
    assert_eq!(after(&["monthly revenue growth"], "also by channel"), Err(change));
}

#[test]
fn what_is_said_of_each_thing_is_not_said_of_its_rows() {
    each(
        &company(),
        &[
            // Whole weeks, of which the last ends in July.
            (
                &["Which week in June had the most orders?", "六月哪一周订单最多"],
                Some(">= '2026-06-01' AND \"ods_orders\".\"ordered_at\" < '2026-07-06'"),
            ),
            (
                &["Orders with more than one product", "orders with more than one product"],
                Some("HAVING COUNT(DISTINCT \"ods_products\".\"product_id\") > 1"),
            ),
            (
                &["Most popular channel among gold members"],
                Some(
                    "WHERE \"ods_customers\".\"member_level\" = 'gold' GROUP BY \"ods_orders\".\"channel\" \
                     ORDER BY COUNT(*) DESC",
                ),
            ),
            (
                &["First order ever", "the first order"],
                Some("ORDER BY \"ods_orders\".\"ordered_at\" LIMIT 1"),
            ),
            (&["the most expensive product and its price"], Some("SELECT \"ods_products\".\"product_name\"")),
            (&["Orders per day on weekends in June"], Some("GROUP BY date(\"ods_orders\".\"ordered_at\")")),
            // A value is no kind, and not each of them is one of all.
            (&["Revenue by store", "Customers who used all channels", "City report for June"], None),
        ],
    );
}

#[test]
fn people_ask_for_the_best_and_the_busiest() {
    each(
        &company(),
        &[
            (
                &["Busiest weekday", "What is our busiest day of the week?", "最忙的是星期几", "周几最忙"],
                Some("% 7 + 1) ORDER BY COUNT(*) DESC"),
            ),
            (
                &["What was our busiest month?", "Which month was the busiest?"],
                Some("'start of month') ORDER BY COUNT(*) DESC"),
            ),
            (
                &["What's our best month so far?", "Which month was best?", "哪个月业绩最好"],
                Some("'start of month') ORDER BY SUM(\"dwd_order_details\".\"sales_amount\") DESC"),
            ),
            (
                &[
                    "Was May our best month?",
                    "Which product sold best and how many?",
                    "Which channel had the highest revenue and by how much?",
                ],
                None,
            ),
            (
                &["Slowest selling product", "Worst selling product"],
                Some("ORDER BY SUM(\"dwd_order_details\".\"sales_amount\"), "),
            ),
            (&["Fastest selling product"], Some("ORDER BY SUM(\"dwd_order_details\".\"sales_amount\") DESC")),
            (
                &["Most ordered product per channel"],
                Some(
                    "PARTITION BY \"ods_orders\".\"channel\" ORDER BY SUM(\"dwd_order_details\".\"sales_amount\") DESC",
                ),
            ),
            (
                &["Revenue of cancelled orders", "取消订单的销售额是多少"],
                Some("SUM(\"ods_orders\".\"order_amount\")"),
            ),
            (&["How many orders over 500 yuan?", "500元以上的订单有多少"], Some("\"order_amount\" >")),
            (&["Revenue of paid orders"], Some("SUM(\"dwd_order_details\".\"sales_amount\")")),
            (&["五月份的订单数"], Some("\"ordered_at\" >= '2026-05-01'")),
            (&["number of customers whose name is \"app\""], Some("\"customer_name\" = 'app'")),
            (
                &[
                    "Who spent the most?",
                    "Who spent the most and how much?",
                    "Which customer spent the most last month, and how much?",
                    "谁消费最多",
                    "谁花的钱最多",
                ],
                Some("\"customer_name\" ORDER BY SUM(\"dwd_order_details\".\"sales_amount\") DESC"),
            ),
            (
                &["products whose names end with tea", "products ending with tea", "名称以tea结尾的商品"],
                Some("SUBSTR(LOWER(\"ods_products\".\"product_name\"), -3) = 'tea'"),
            ),
            (
                &["名称以“茶”开头的商品"],
                Some("SUBSTR(LOWER(\"ods_products\".\"product_name\"), 1, 1) = '茶'"),
            ),
        ],
    );
}
