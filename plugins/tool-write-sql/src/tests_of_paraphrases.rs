//! Questions that are understood in other words, and calendar units with a condition.

use crate::answer::{answer_after, answer_of};
use crate::calendar::Day;
use crate::known::Known;
use crate::testing::company;
use crate::tests_of_managers::each;

#[test]
fn questions_are_understood_in_other_words() {
    let revenue = "SUM(\"dwd_order_details\".\"sales_amount\")";
    let by_revenue = format!("ORDER BY {revenue} DESC");
    let by_month = "'start of month') ORDER BY COUNT(*) DESC";
    let days = "GROUP BY date(\"ods_orders\".\"ordered_at\") ORDER BY COUNT(*) DESC";
    each(
        &company(),
        &[
            (&["best week for revenue", "业绩最好的月份", "上个月卖得最好的一天"], Some(&by_revenue)),
            (&["What is our best month by orders?"], Some(by_month)),
            (&["second busiest day", "the second busiest day for orders"], Some(days)),
            (&["number two customer by revenue"], Some("LIMIT 1 OFFSET 1")),
            (&["营收最高的三天", "哪3天的销售额最高"], Some("LIMIT 3")),
            (
                &["buyers per city", "How many buyers per city?"],
                Some("COUNT(DISTINCT \"ods_customers\".\"customer_id\")"),
            ),
            (&["products cheaper than 50", "products cheaper than 50元"], Some("\"price\" < 50")),
            (&["orders above 1000元"], Some("\"order_amount\" > 1000")),
            (&["有多少500元以上的订单"], Some("\"order_amount\" >= 500")),
            (&["Is revenue going up?", "how are sales doing"], Some("'start of month'")),
            (&["姓王的客户"], Some("= '王'")),
            (&["带“茶”字的商品", "商品名里带茶字的有哪些"], Some("茶")),
            (&["\"buyers\" per city", "buyers of something odd", "best customer of the best week"], None),
        ],
    );
}

#[test]
fn everyday_words_are_understood() {
    let sum = "SUM(\"dwd_order_details\".\"sales_amount\")";
    each(
        &company(),
        &[
            (
                &["What did we take yesterday?", "昨天生意怎么样?", "昨天卖了多少"],
                Some(&format!("SELECT {sum}")),
            ),
            (&["Which day in June was the weakest?", "六月份最差的一天是哪天?"], Some("LIMIT 1")),
            (&["Show me the last 10 orders"], Some("\"ordered_at\" DESC LIMIT 10")),
            (&["Orders over 2000 yuan", "2000元以上的订单"], Some("\"order_amount\" >")),
            (
                &["Compare this month with last month", "这个月跟上个月比怎么样?", "6月比5月多卖了多少?"],
                Some("CASE WHEN"),
            ),
            (&["上海和北京哪个卖得好?", "上海和北京的销售额差多少?"], Some("IN (")),
            (&["哪个城市卖得最好?", "哪个城市销售额最高?", "哪个城市买绿茶最多?"], Some("\"city\"")),
            (&["Average daily sales in June", "六月平均每天卖多少?"], Some("AVG(")),
            (&["What's the running total of sales this month?"], Some("OVER (")),
            (
                &["Revenue per customer by city", "average orders per customer by city"],
                Some("/ NULLIF(COUNT(DISTINCT "),
            ),
            (&["How many days had sales above 40000?", "有多少天销售额超过4万?"], Some("SELECT COUNT(*)")),
            (&["List all our green tea with prices", "列出所有绿茶和价格"], Some("\"product_name\"")),
            (&["上个月一千块以上的订单有几笔?"], Some(">= 1000")),
            (&["是哪天啊最好的一天"], Some("LIMIT 1")),
            (&["How many days with more than 85 orders?"], Some("HAVING COUNT(*) > 85")),
            (&["Revenue by city in percent"], Some("OVER ()")),
            (
                &["Rank the cities by sales ascending"],
                Some("ORDER BY SUM(\"dwd_order_details\".\"sales_amount\"), "),
            ),
            (
                &[
                    "average daily order value",
                    "How many days?",
                    "十二万元以上的订单",
                    "orders per customer by channel",
                ],
                None,
            ),
        ],
    );
}

#[test]
fn calendar_units_have_conditions_on_their_numbers() {
    let having = |number: &str| format!("HAVING {number}");
    let (count, sum) =
        (having("COUNT(*) > 85"), having("SUM(\"dwd_order_details\".\"sales_amount\") > 50000"));
    each(
        &company(),
        &[
            (
                &[
                    "which day had more than 85 orders",
                    "Which days had more than 85 orders?",
                    "哪天订单数超过85",
                ],
                Some(&count),
            ),
            (&["订单数超过85的有哪些天", "哪些天订单数量超过85"], Some(&count)),
            (&["which month had revenue over 50000", "哪些月份销售额超过5万"], Some(&sum)),
            // Days without orders are not in the table.
            (
                &[
                    "which day had fewer than 5 orders",
                    "orders per day over 500",
                    "orders per day with more than 85 orders",
                ],
                None,
            ),
        ],
    );
}

#[test]
fn weekends_stand_beside_working_days() {
    let (company, today) = (company(), Day::read("2026-07-19").unwrap());
    let known = Known::of(&company);
    let of = |question: &str| answer_of(question, &known, today).map(|answer| answer.measures);
    assert_eq!(
        of("weekend vs weekday revenue").unwrap(),
        ["total sales amount on weekends", "total sales amount on weekdays"]
    );
    assert_eq!(of("上个月周末和工作日的订单数对比").unwrap(), ["周末订单数", "工作日订单数"]);
    assert!(of("weekend vs weekday revenue per city").is_err());
}

#[test]
fn what_was_read_as_other_words_is_said() {
    let (company, today) = (company(), Day::read("2026-07-19").unwrap());
    let known = Known::of(&company);
    let answer = answer_of("buyers per city", &known, today).unwrap();
    assert!(
        answer.explanation.contains("\"buyers\" was read as \"customers who ordered\""),
        "{}",
        answer.explanation
    );
    assert_eq!(answer.doubts, 2);
    let earlier = ["上个月的销售额".to_owned()];
    let answer = answer_after("再上个月呢", &earlier, &known, today).unwrap();
    assert!(answer.sql.contains("'2026-05-01'"), "{}", answer.sql);
}

#[test]
fn the_other_end_of_an_answer_can_be_asked_for() {
    let (company, today) = (company(), Day::read("2026-07-19").unwrap());
    let known = Known::of(&company);
    let after = |earlier: &str, message: &str| answer_after(message, &[earlier.to_owned()], &known, today);
    let answer = after("Which category sells best?", "and the worst?").unwrap();
    assert!(answer.sql.contains("ORDER BY SUM(\"dwd_order_details\".\"sales_amount\"), "), "{}", answer.sql);
    let answer = after("卖得最好的城市", "最差的呢").unwrap();
    assert!(answer.sql.ends_with("LIMIT 1"), "{}", answer.sql);
    assert!(after("Revenue last month", "and the worst?").is_err());
    assert_eq!(after("各城市的订单数", "占比呢").unwrap().derived.len(), 1);
    assert!(after("上个月的订单数", "占比呢").is_err());
}

#[test]
fn the_first_of_a_ranking_are_the_greatest() {
    let sum = "ORDER BY SUM(\"dwd_order_details\".\"sales_amount\")";
    each(
        &company(),
        &[
            (&["Rank the cities by sales", "Sort the cities by sales"], Some(&format!("{sum} DESC"))),
            (&["Rank the top 5 cities by sales"], Some("DESC LIMIT 5")),
            (&["Sort the cities by sales in ascending order"], Some(&format!("{sum}, "))),
            (&["best selling product of customers in Beijing"], Some(&format!("{sum} DESC"))),
            (
                &["Sales in the first week of June"],
                Some(">= '2026-06-01' AND \"dwd_order_details\".\"order_date\" < '2026-06-08'"),
            ),
            // The channels are those of orders, and so are the days.
            (&["Customers per channel in June"], Some("\"ods_orders\".\"ordered_at\" >= '2026-06-01'")),
            (&["Who bought the most green tea?"], Some("\"customer_name\"")),
        ],
    );
}

#[test]
fn pronouns_stand_for_what_was_asked_before() {
    let (company, today) = (company(), Day::read("2026-07-19").unwrap());
    let known = Known::of(&company);
    let after = |message: &str| answer_after(message, &["北京有多少客户".to_owned()], &known, today);
    for message in ["他们总共花了多少钱？", "他们一共下了多少单？", "这些客户的销售额是多少？"]
    {
        let sql = after(message).map(|answer| answer.sql).unwrap_or_default();
        assert!(sql.contains("Beijing"), "{message}: {sql}");
    }
    for message in ["这个月有多少订单？", "这些天有多少订单？"] {
        let sql = after(message).map(|answer| answer.sql).unwrap_or_default();
        assert!(!sql.contains("Beijing"), "{message}: {sql}");
    }
}
