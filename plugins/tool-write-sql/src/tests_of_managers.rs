//! Questions in the words of people who do not know the tables: each is answered correctly or refused.

use crate::answer::answer_of;
use crate::calendar::Day;
use crate::known::Known;
use crate::testing::{company, platform};

/// Questions with what the SQL of each must have; `None`: each must be refused.
type Cases<'c> = &'c [(&'c [&'c str], Option<&'c str>)];

fn each(schema: &crate::schema::Schema, cases: Cases<'_>) {
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
                "Which products were never sold in Beijing?",
                "有多少单位",
                "有多少买家",
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
