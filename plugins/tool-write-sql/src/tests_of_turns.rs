//! Places of a ranking, days as people say them, fiscal quarters, and short messages that change a question.

use crate::answer::{answer_after, answer_of, answer_of_query};
use crate::calendar::Day;
use crate::dialect::Dialect;
use crate::known::Known;
use crate::schema::Schema;
use crate::testing::{company, platform};
use crate::understand::meaning::Unclear;

fn today() -> Day {
    Day::read("2026-07-19").unwrap()
}

/// SQL of the last message of a conversation, without line breaks.
fn sql(schema: &Schema, messages: &[&str]) -> Result<String, Unclear> {
    let (last, earlier) = messages.split_last().unwrap();
    let earlier: Vec<String> = earlier.iter().map(|one| (*one).to_owned()).collect();
    let answer = answer_after(last, &earlier, &Known::of(schema), today())?;
    Ok(answer.sql.split_whitespace().collect::<Vec<&str>>().join(" "))
}

/// Each conversation's SQL has this part; `None`: it is refused.
fn each(schema: &Schema, cases: &[(&[&str], Option<&str>)]) {
    for (messages, part) in cases {
        match (sql(schema, messages), part) {
            (Ok(sql), Some(part)) => assert!(sql.contains(part), "{messages:?}\n  {sql}\n  lacks {part}"),
            (Ok(sql), None) => panic!("{messages:?} is answered: {sql}"),
            (Err(unclear), Some(_)) => panic!("{messages:?}: {unclear:?}"),
            (Err(_), None) => {}
        }
    }
}

#[test]
fn a_place_of_a_ranking_is_one_row_after_others() {
    let by_sales = "ORDER BY SUM(\"dwd_order_details\".\"sales_amount\") DESC";
    let second = "LIMIT 1 OFFSET 1";
    each(
        &company(),
        &[
            (&["Second best selling product"], Some(by_sales)),
            (&["Second best selling product"], Some(second)),
            (&["the 2nd best selling product"], Some(second)),
            (&["third most expensive product"], Some("LIMIT 1 OFFSET 2")),
            (
                &["订单第二多的城市"],
                Some("ORDER BY COUNT(*) DESC, \"ods_customers\".\"city\" DESC LIMIT 1 OFFSET 1"),
            ),
            (&["销售额排名第二的商品"], Some(second)),
            (&["第二畅销的商品"], Some(second)),
            (&["Which city has the most orders?", "and the second?"], Some(second)),
            (
                &["Which city has the most orders?", "and the second?", "and the third?"],
                Some("LIMIT 1 OFFSET 2"),
            ),
            (&["Which city has the most orders?", "and the second?", "only the top 3"], Some("LIMIT 3")),
            (&["哪个城市订单最多", "第二名呢"], Some(second)),
            (&["Orders by city", "the second"], Some(second)),
            (&["orders in the second quarter"], Some("'2026-04-01'")),
            (&["second best selling product in each category"], Some("\"place_in_group\" = 2")),
            (&["每个类别销售额第二的商品"], Some("\"place_in_group\" = 2")),
            (&["third best product each month"], Some("\"place_in_group\" = 3")),
            (&["best product in each category", "the third"], Some("\"place_in_group\" = 3")),
            // Without an order.
            (&["the second"], None),
            (&["How many orders?", "and the second?"], None),
        ],
    );
    let mut company = company();
    for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql, Dialect::Doris] {
        company.dialect = dialect;
        assert!(sql(&company, &["Second best selling product"]).unwrap().ends_with(second));
    }
}

#[test]
fn an_ordinal_is_no_unit_of_time() {
    let messages = ["Which workflow has the most executions?", "and the second?"];
    assert!(sql(&platform(), &messages).unwrap().ends_with("LIMIT 1 OFFSET 1"));
}

#[test]
fn the_first_and_the_last_of_an_answer_are_by_its_number() {
    each(
        &company(),
        &[
            (
                &["Orders per day last month", "only the top 3"],
                Some("DESC, date(\"ods_orders\".\"ordered_at\") LIMIT 3"),
            ),
            (
                &["Orders per day last month", "bottom 2"],
                Some("ORDER BY COALESCE(\"found\".\"n0\", 0), \"calendar\".\"start\" LIMIT 2"),
            ),
            (&["Orders by city", "bottom 2"], Some("LIMIT 2")),
            (&["orders by weekday", "only the top 3"], Some("ORDER BY COUNT(*) DESC")),
            (
                &["Which month had the fewest orders?"],
                Some("ORDER BY COALESCE(\"found\".\"n0\", 0), \"calendar\".\"start\" LIMIT 1"),
            ),
            (&["Average order value by channel", "bottom 2"], Some("LIMIT 2")),
        ],
    );
}

#[test]
fn short_messages_change_conditions_and_numbers() {
    let average = "SUM(\"ods_orders\".\"order_amount\")";
    each(
        &company(),
        &[
            (&["orders by status", "only cancelled ones"], Some("\"order_status\" = 'cancelled'")),
            (&["orders by channel", "exclude cancelled"], Some("\"order_status\" <> 'cancelled'")),
            (&["各渠道订单数", "排除已取消"], Some("\"order_status\" <> 'cancelled'")),
            (&["各渠道订单数", "按城市分"], Some("GROUP BY \"ods_customers\".\"city\"")),
            (&["revenue by channel", "only Beijing"], Some("\"city\" = 'Beijing'")),
            (&["average order amount by channel", "total instead"], Some(average)),
            // An average of single sales is not what is meant.
            (&["revenue by channel", "average instead"], None),
            (
                &["上周订单数", "上上周呢"],
                Some(">= '2026-06-29' AND \"ods_orders\".\"ordered_at\" < '2026-07-06'"),
            ),
        ],
    );
}

#[test]
fn days_are_read_as_people_say_them() {
    each(
        &company(),
        &[
            (&["上上个月订单数"], Some(">= '2026-05-01' AND \"ods_orders\".\"ordered_at\" < '2026-06-01'")),
            (
                &["7月1日到7日的订单数"],
                Some(">= '2026-07-01' AND \"ods_orders\".\"ordered_at\" < '2026-07-08'"),
            ),
            (
                &["orders on July 1 to 7"],
                Some(">= '2026-07-01' AND \"ods_orders\".\"ordered_at\" < '2026-07-08'"),
            ),
            (&["orders on 1 July"], Some(">= '2026-07-01' AND \"ods_orders\".\"ordered_at\" < '2026-07-02'")),
            (&["top 3 July customers by revenue"], Some("LIMIT 3")),
            // The 19th is a Sunday.
            (&["orders last Friday"], Some(">= '2026-07-17'")),
            (&["orders last Sunday"], Some(">= '2026-07-12'")),
            (&["上周五的订单数"], Some(">= '2026-07-10'")),
            (&["双十一的订单数"], Some(">= '2025-11-11' AND \"ods_orders\".\"ordered_at\" < '2025-11-12'")),
            (
                &["Revenue in May and June"],
                Some(">= '2026-05-01' AND \"dwd_order_details\".\"order_date\" < '2026-07-01'"),
            ),
            // In each of both, or in months that do not follow each other.
            (&["customers who ordered in May and June"], None),
            (&["Revenue in April and June"], None),
        ],
    );
    let refused = |question: &str| sql(&company(), &[question]).unwrap_err();
    assert_eq!(refused("revenue on 2026-02-30"), Unclear::NoDay("2026-02-30".to_owned()));
    assert_eq!(refused("revenue on February 30"), Unclear::NoDay("February 30".to_owned()));
    assert_eq!(refused("June compared with April"), Unclear::NoNumber);
    assert_eq!(refused("revenue compared with the same month last year"), Unclear::NoDays);
}

#[test]
fn a_share_may_be_of_weekdays() {
    let weekend =
        "AVG(CASE WHEN ((strftime('%w', \"ods_orders\".\"ordered_at\") + 6) % 7 + 1) IN (6, 7) THEN";
    each(
        &company(),
        &[
            (&["Percentage of orders on weekends"], Some(weekend)),
            (&["周末订单占比"], Some(weekend)),
            (
                &["What share of app orders were on weekends?"],
                Some("WHERE \"ods_orders\".\"channel\" = 'app'"),
            ),
            (&["Share of Sunday orders"], Some("IN (7) THEN")),
            (&["Sales on weekends share"], Some("100.0 * SUM(CASE WHEN")),
            (&["Share of Sunday orders by channel"], None),
        ],
    );
}

#[test]
fn quarters_of_fiscal_years_are_called_by_them() {
    let mut company = company();
    company.fiscal_month = 4;
    let fiscal = "'FY' || ";
    each(
        &company,
        &[
            (&["FY27 revenue by quarter"], Some(fiscal)),
            (&["2027财年各季度营收"], Some(fiscal)),
            (&["Revenue by fiscal quarter"], Some(fiscal)),
            (&["FY27 revenue", "by quarter"], Some(fiscal)),
            (&["revenue by fiscal quarter and channel"], Some(fiscal)),
            (
                &["Fiscal Q1 revenue"],
                Some(">= '2026-04-01' AND \"dwd_order_details\".\"order_date\" < '2026-07-01'"),
            ),
            (
                &["Fiscal Q3 revenue"],
                Some(">= '2025-10-01' AND \"dwd_order_details\".\"order_date\" < '2026-01-01'"),
            ),
            (
                &["fiscal year to date revenue"],
                Some(">= '2026-04-01' AND \"dwd_order_details\".\"order_date\" < '2026-07-20'"),
            ),
            // Fiscal years are not those of the calendar.
            (&["Revenue by fiscal year"], None),
        ],
    );
    assert!(!sql(&company, &["Revenue by quarter"]).unwrap().contains(fiscal));
    let known = Known::of(&company);
    let answer = answer_of("FY27 revenue by quarter", &known, today()).unwrap();
    assert_eq!(answer_of_query(&answer.query, &known, today(), false).unwrap().sql, answer.sql);
    company.dialect = Dialect::MySql;
    assert!(sql(&company, &["FY27 revenue by quarter"]).unwrap().contains("CONCAT('FY', "));
    // Its quarters are none of the calendar.
    company.fiscal_month = 2;
    assert_eq!(sql(&company, &["Revenue by fiscal quarter"]), Err(Unclear::Shape));
}

#[test]
fn how_often_is_a_number_of_orders() {
    let more = "HAVING COUNT(*) > 10";
    each(
        &company(),
        &[
            (&["customers ordered more than 10 times"], Some(more)),
            (&["How many customers ordered more than 10 times?"], Some(more)),
            (&["customers who signed up last month"], Some("\"registered_at\" >= '2026-06-01'")),
            (&["customers ordered 3 times"], None),
            (&["How many orders did gold members place in June?"], Some("= 'gold'")),
            (&["Which 5 customers spent the most in June and how much?"], Some("LIMIT 5")),
            (&["人均消费"], Some("AVG(\"number\")")),
            (&["笔单价"], Some("AVG(\"ods_orders\".\"order_amount\")")),
            (&["件单价"], None),
            (&["商品有哪些类别"], Some("SELECT DISTINCT \"ods_products\".\"category\"")),
            (&["What categories do products have?"], Some("SELECT DISTINCT \"ods_products\".\"category\"")),
        ],
    );
}
