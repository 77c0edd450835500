//! Comparisons, shares, medians, rankings in groups, first and repeated purchases, and questions that change others.

use crate::answer::{answer_after, answer_of};
use crate::calendar::Day;
use crate::known::Known;
use crate::schema::Schema;
use crate::testing::{company, platform};

fn plain(sql: &str) -> String {
    sql.split_whitespace().collect::<Vec<&str>>().join(" ")
}

/// Each question has all of these parts in its SQL.
fn each(schema: &Schema, cases: &[(&[&str], &[&str])]) {
    let (known, today) = (Known::of(schema), Day::read("2026-07-19").unwrap());
    for (questions, parts) in cases {
        for question in *questions {
            let answer =
                answer_of(question, &known, today).unwrap_or_else(|error| panic!("{question}: {error:?}"));
            let sql = plain(&answer.sql);
            for part in *parts {
                assert!(sql.contains(part), "{question}\n  {sql}\n  lacks {part}");
            }
        }
    }
}

/// The last of these messages, after those before it; `None`: refused.
fn after(schema: &Schema, messages: &[&str]) -> Option<crate::answer::Answer> {
    let (known, today) = (Known::of(schema), Day::read("2026-07-19").unwrap());
    let (last, earlier) = messages.split_last().unwrap();
    let earlier: Vec<String> = earlier.iter().map(|message| (*message).to_owned()).collect();
    answer_after(last, &earlier, &known, today).ok()
}

fn sql_after(messages: &[&str]) -> String {
    let answer = after(&company(), messages).unwrap_or_else(|| panic!("{messages:?}"));
    plain(&answer.sql)
}

#[test]
fn periods_are_compared() {
    let days = "\"ordered_at\" >= '2026-05-01' AND \"ods_orders\".\"ordered_at\" < '2026-07-01'";
    each(
        &company(),
        &[
            (
                &[
                    "Orders last month compared to the month before",
                    "How many orders last month compared to the previous month?",
                    "Growth of orders last month",
                    "How much did orders grow last month?",
                    "上个月订单数环比",
                    "上个月订单数与5月相比",
                ],
                &[days, "AS \"", "NULLIF("],
            ),
            (
                &["Orders this month vs last month", "本月订单数与上月相比"],
                &["'2026-07-01'", "< '2026-08-01'", ">= '2026-06-01'"],
            ),
            (&["上个月订单数同比"], &["\"ordered_at\" >= '2025-06-01'", "OR "]),
        ],
    );
    let answer = after(&company(), &["Orders this month vs last month"]).unwrap();
    assert_eq!((answer.shape, answer.derived.len(), answer.summed.len()), ("comparison", 3, 1));
    assert!(answer.explanation.contains("not yet over"), "{}", answer.explanation);
    // Nothing says which days.
    assert!(after(&company(), &["Growth of orders"]).is_none());
    assert!(after(&company(), &["Orders compared to the month before"]).is_none());
}

#[test]
fn days_begin_and_end_where_it_is_said() {
    each(
        &company(),
        &[
            (
                &[
                    "How many orders from March to June 2025?",
                    "How many orders between March and June 2025?",
                    "How many orders from March 2025 to June 2025?",
                ],
                &["\"ordered_at\" >= '2025-03-01' AND \"ods_orders\".\"ordered_at\" < '2025-07-01'"],
            ),
            (&["How many orders from October to March 2026?"], &[">= '2025-10-01'", "< '2026-04-01'"]),
            (&["How many orders from March to June?"], &[">= '2026-03-01'", "< '2026-07-01'"]),
            (&["How many orders 30 days ago?"], &[">= '2026-06-19'", "< '2026-06-20'"]),
        ],
    );
}

#[test]
fn an_average_of_all_is_not_that_of_a_group() {
    let above = &[
        "WHERE \"ods_products\".\"price\" > (SELECT AVG(\"ods_products\".\"price\") FROM \"ods_products\")",
    ];
    each(
        &company(),
        &[(
            &[
                "How many products have a price above the average?",
                "How many products have a price above the average price of products?",
            ],
            above,
        )],
    );
    assert!(after(&company(), &["products with a price above the average of their category"]).is_none());
}

#[test]
fn groups_are_chosen_by_their_sums() {
    each(
        &company(),
        &[
            (
                &["Customers who spent more than 1000", "customers with sales over 1000"],
                &[
                    "SUM(\"dwd_order_details\".\"sales_amount\")",
                    "HAVING SUM(\"dwd_order_details\".\"sales_amount\") > 1000",
                ],
            ),
            (
                &["Bottom 3 categories by sales amount", "The 3 categories with the lowest sales amount"],
                &["ORDER BY SUM(", "LIMIT 3"],
            ),
        ],
    );
}

#[test]
fn numbers_stand_beside_their_total_and_their_past() {
    each(
        &company(),
        &[
            (
                &[
                    "Share of revenue by category",
                    "What share of revenue does each category have?",
                    "各品类销售额占比",
                ],
                &["/ NULLIF(SUM(SUM(\"dwd_order_details\".\"sales_amount\")) OVER (), 0)"],
            ),
            (
                &["What share of revenue comes from Beijing?", "北京的销售额占比"],
                &["SUM(CASE WHEN \"ods_customers\".\"city\" = 'Beijing' THEN", "JOIN \"ods_customers\""],
            ),
            (&["Monthly revenue growth", "每月营收环比增长"], &["LAG(COALESCE(", "OVER (ORDER BY"]),
            (&["Cumulative revenue by month"], &["SUM(COALESCE(", "OVER (ORDER BY"]),
            (&["Revenue per quarter", "每季度销售额"], &["'start of month'", "'-Q4')"]),
        ],
    );
}

#[test]
fn each_group_has_its_first_ones() {
    let parts: &[&str] = &[
        "ROW_NUMBER() OVER (PARTITION BY \"ods_products\".\"category\" ORDER BY",
        "\"place_in_group\" <= 3",
    ];
    each(
        &company(),
        &[
            (
                &[
                    "Top 3 products in each category by revenue",
                    "What are the 3 best selling products in each category?",
                    "每个品类销售额前3的商品",
                ],
                parts,
            ),
            (
                &["What is the most expensive product in each category?", "每个类别最贵的商品"],
                &[
                    "PARTITION BY \"ods_products\".\"category\" ORDER BY MAX(\"ods_products\".\"price\") DESC",
                    "<= 1",
                ],
            ),
        ],
    );
}

#[test]
fn medians_are_in_the_middle() {
    each(
        &company(),
        &[
            (
                &["What is the median order amount?", "订单金额的中位数"],
                &[
                    "WHERE 2 * \"ranked\".\"place\" BETWEEN \"ranked\".\"numbers\" AND \"ranked\".\"numbers\" + 2",
                ],
            ),
            (
                &["Median order amount by channel"],
                &["PARTITION BY \"ods_orders\".\"channel\"", "GROUP BY \"ranked\".\"g0\""],
            ),
        ],
    );
    assert!(after(&company(), &["median order amount and number of orders by channel"]).is_none());
}

#[test]
fn those_who_bought_first_or_again_are_told_apart() {
    each(
        &company(),
        &[
            (
                &[
                    "How many customers ordered for the first time last month?",
                    "How many first-time buyers did we have last month?",
                    "上个月首次下单的客户数",
                ],
                &["HAVING MIN(\"ods_orders\".\"ordered_at\") >= '2026-06-01' AND MIN("],
            ),
            (
                &["How many returning customers did we have last month?"],
                &["HAVING MIN(\"ods_orders\".\"ordered_at\") < '2026-06-01' AND MAX("],
            ),
            (
                &["What is our repeat purchase rate?", "复购率是多少"],
                &["AVG(CASE WHEN \"number\" > 1 THEN 100.0 ELSE 0.0 END)"],
            ),
        ],
    );
}

#[test]
fn orders_stand_beside_an_amount_of_their_parts() {
    let both = &[
        "COUNT(DISTINCT \"dwd_order_details\".\"order_id\")",
        "SUM(\"dwd_order_details\".\"sales_amount\")",
    ];
    each(
        &company(),
        &[
            (
                &[
                    "revenue and number of orders by channel",
                    "number of orders and revenue by channel",
                    "orders and revenue per month",
                    "revenue and orders per month",
                    "各渠道的销售额和订单数",
                    "Number of orders and revenue per city",
                    "orders per month and revenue",
                ],
                both,
            ),
            (
                &["number of orders and order amount by channel"],
                &["COUNT(*) AS \"number of orders\", SUM(\"ods_orders\".\"order_amount\")"],
            ),
        ],
    );
}

#[test]
fn numbers_of_different_tables_stand_side_by_side() {
    let (orders, customers, products) =
        ("FROM \"ods_orders\"", "FROM \"ods_customers\"", "FROM \"ods_products\"");
    let revenue = "SUM(\"dwd_order_details\".\"sales_amount\")";
    each(
        &company(),
        &[
            (
                &[
                    "How many customers and products do we have?",
                    "How many customers do we have and how many products?",
                    "有多少客户和商品",
                ],
                &[customers, ") AS \"row1\" CROSS JOIN (", products],
            ),
            // All orders, and not only those that were sold.
            (
                &[
                    "total revenue and number of orders last month",
                    "Revenue and orders last month",
                    "number of orders and revenue last month",
                    "How many orders did we have last month, and how much revenue?",
                    "上个月有多少订单，销售额是多少",
                    "上个月的订单数和销售额",
                    "上个月的销售额和订单数分别是多少",
                ],
                &[
                    revenue,
                    "COUNT(*)",
                    orders,
                    "\"ordered_at\" >= '2026-06-01'",
                    "\"order_date\" >= '2026-06-01'",
                ],
            ),
            (
                &["revenue, orders and new customers last month", "上个月的销售额、订单数和新客户数"],
                &[revenue, orders, customers, "\"registered_at\" >= '2026-06-01'"],
            ),
        ],
    );
    for question in [
        "How many cancelled orders and customers are there?",
        "How many customers have orders and products?",
        "List customers and products",
        "average price of products and orders",
        "customers and orders in Beijing",
        // What is said of one number, or means another thing for the other.
        "How many customers and products with a price over 100?",
        "How many orders and customers from app?",
        "How many orders and customers were not cancelled last month",
        "名称包含“茶”的商品数和客户数",
        "sum of customers and products",
        "number of orders and number of cancelled orders",
        "number of orders and number of orders in October 2025",
    ] {
        assert!(after(&company(), &[question]).is_none(), "{question}");
    }
    let first = "Revenue and orders last month";
    for message in ["only revenue", "also the quantity", "only the orders"] {
        assert!(after(&company(), &[first, message]).is_none(), "{message}");
    }
    let changed = sql_after(&[first, "and the month before?", "only for app"]);
    assert!(changed.contains("CROSS JOIN") && changed.matches("'2026-05-01'").count() == 2, "{changed}");
    assert_eq!(changed.matches("\"channel\" = 'app'").count(), 2, "{changed}");
    let cancelled = sql_after(&["Revenue by channel last month", "what about cancelled orders?"]);
    assert!(cancelled.contains("SUM(\"ods_orders\".\"order_amount\")"), "{cancelled}");
    // In groups they are of one table.
    let grouped = sql_after(&[first, "by channel"]);
    assert!(grouped.contains("GROUP BY") && !grouped.contains("CROSS JOIN"), "{grouped}");
}

/// Each word of a question counts: what would be lost, or may mean several things, is refused.
#[test]
fn nothing_of_a_question_is_lost() {
    for question in [
        // Those who bought are not all customers.
        "number of customers and revenue by city",
        "orders and average revenue per month",
        "average orders and revenue per month",
        "average daily orders and average daily revenue",
        "revenue and cancelled orders by channel",
        "customers with revenue and orders",
        "share of cancelled orders of all customers",
        // Of single rows, or of all rows of a calendar unit.
        "average daily order value",
        "日均客单价",
        "largest order each month",
        "top 3 products per category per month",
        "每个城市每月订单最多的客户",
        "best selling product each month with revenue above 20000",
        // Of all, or of each channel's.
        "share of orders over 1000 by channel",
        "share of app orders over 1000",
        "ratio of app orders to total revenue",
        // Of sums, and not of single sales.
        "highest daily revenue",
        "maximum revenue per customer",
        "average GMV per month",
        "average sales per city",
        "Which city has the highest sales per customer?",
        "revenue by price",
        "cities where Longjing was sold",
        // Of weeks that are not whole.
        "Average orders per week last month",
        // The eleventh of a month.
        "十一销售额",
        // A list, or a number.
        "which customers ordered for the first time each month",
        // Orders of more than 30, or more than 30 orders.
        "customers with orders above 30",
    ] {
        let answer = after(&company(), &[question]);
        assert!(answer.is_none(), "{question}\n  {}", answer.unwrap().sql);
    }
    for messages in [
        ["best selling product", "and category?"],
        ["Top 5 products by revenue", "by category instead"],
        ["Top 5 products by revenue", "and customers?"],
        ["revenue last month", "What about the week before?"],
        ["How many orders last month?", "with unicorns"],
    ] {
        let answer = after(&company(), &messages);
        assert!(answer.is_none(), "{messages:?}\n  {}", answer.unwrap().sql);
    }
}

#[test]
fn numbers_of_rows_are_compared_where_something_has_them() {
    each(
        &company(),
        &[
            (
                &["cities with number of orders over 500"],
                &["GROUP BY \"ods_customers\".\"city\" HAVING COUNT(*) > 500"],
            ),
            (&["customers whose number of orders is over 20"], &["HAVING COUNT(*) > 20"]),
            (
                &["How many orders between 500 and 800?", "orders between 500 and 800"],
                &["\"order_amount\" BETWEEN 500 AND 800"],
            ),
            (
                &["Which month had the highest revenue?", "Which month had the highest order amount?"],
                &["ORDER BY SUM(", "LIMIT 1"],
            ),
            (
                &["revenue by month and category"],
                &[
                    "GROUP BY date(\"dwd_order_details\".\"order_date\", 'start of month'), \"",
                    "\".\"category\" ORDER BY",
                ],
            ),
            (
                &["Which product sold most?", "哪个商品卖得最多", "lowest 5 products by revenue"],
                &["SUM(\"dwd_order_details\".\"sales_amount\")"],
            ),
            (&["Which city ordered the most last month?"], &["ORDER BY COUNT(*) DESC"]),
            (&["revenue via the app"], &["\"channel\" = 'app'"]),
            (&["What is the number of orders over 1000?"], &["\"order_amount\" > 1000"]),
            (&["customers and number of orders"], &["GROUP BY \"ods_customers\".\"customer_id\""]),
            (&["每月客单价"], &["AVG(\"ods_orders\".\"order_amount\") AS \"n0\"", "LEFT JOIN"]),
        ],
    );
}

#[test]
fn calendar_units_have_averages() {
    let of_days = &["AVG(COALESCE(\"found\".\"n0\", 0))", "COUNT(*) AS \"n0\"", "+1 day"];
    each(
        &company(),
        &[
            (
                &[
                    "average orders per day",
                    "average number of orders per day",
                    "How many orders per day on average?",
                    "average daily orders",
                    "daily average number of orders",
                    "日均订单数",
                    "平均每天有多少订单",
                ],
                of_days,
            ),
            (
                &["average revenue per month", "average monthly revenue", "月均销售额"],
                &[
                    "AVG(COALESCE(\"found\".\"n0\", 0))",
                    "SUM(\"dwd_order_details\".\"sales_amount\")",
                    "+1 month",
                ],
            ),
            (&["average daily revenue last month", "上个月日均销售额"], &["'2026-06-01'", "'2026-06-30'"]),
        ],
    );
}

#[test]
fn calendar_units_have_their_first_ones() {
    let first = &["PARTITION BY date(\"dwd_order_details\".\"order_date\", 'start of month')"];
    each(
        &company(),
        &[
            (
                &[
                    "best selling product each month",
                    "top product each month by revenue",
                    "每月销售额最高的商品",
                ],
                first,
            ),
            (
                &["Which city had the most orders in each month?", "每个月订单最多的城市"],
                &["PARTITION BY date(\"ods_orders\".\"ordered_at\", 'start of month')"],
            ),
            (&["top 3 categories per month by revenue", "每月销售额前3的品类"], &["\"place_in_group\" <= 3"]),
            (
                &[
                    "first-time customers per month",
                    "How many customers ordered for the first time each month?",
                    "每月首次下单的客户数",
                ],
                &["MIN(\"ods_orders\".\"ordered_at\") AS \"first\"", "date(\"first\", 'start of month')"],
            ),
        ],
    );
}

#[test]
fn a_message_changes_the_question_before() {
    let last_month = "\"ordered_at\" >= '2026-06-01'";
    for (messages, parts) in [
        (
            &["How many orders last month?", "And the month before?"][..],
            &["COUNT(*)", "\"ordered_at\" >= '2026-05-01'"][..],
        ),
        (&["上个月有多少订单", "那前一个月呢"], &["\"ordered_at\" >= '2026-05-01'"]),
        (&["How many orders last month?", "only for app"], &["'app'", last_month]),
        (&["How many orders last month?", "only for app", "and web?"], &["\"channel\" = 'web'", last_month]),
        (&["Orders per day last month", "per week instead"], &["'weekday 1'", last_month]),
        (&["Revenue by category", "by city instead"], &["GROUP BY \"ods_customers\".\"city\""]),
        (
            &["Top 5 customers by revenue", "by number of orders instead"],
            &["ORDER BY COUNT(*) DESC", "LIMIT 5"],
        ),
        (&["Top 10 customers by revenue", "only the top 3"], &["LIMIT 3"]),
        (&["How many orders are there?", "and customers?"], &["FROM \"ods_customers\""]),
        (&["How many orders last month?", "as a joke", "And the month before?"], &["'2026-05-01'"]),
        (&["How many orders last month?", "And the month before, please?"], &["'2026-05-01'"]),
        (&["How many orders last month?", "ONLY FOR APP"], &["'app'", last_month]),
        (&["Orders last month compared to the month before", "only for app"], &["'app'", "'2026-05-01'"]),
        (&["Revenue last month", "and orders?"], &["COUNT(*)", last_month]),
        (&["Revenue last month", "for customers in Beijing"], &["'Beijing'", "'2026-06-01'"]),
        (
            &["Orders per day last month", "by city instead"],
            &["SELECT \"ods_customers\".\"city\"", last_month],
        ),
        (&["Orders per day last month", "also by city"], &["SELECT date(", "\"ods_customers\".\"city\""]),
        // A whole question is one.
        (&["How many orders last month?", "How many products are there?"], &["FROM \"ods_products\""]),
    ] {
        let sql = sql_after(messages);
        for part in parts {
            assert!(sql.contains(part), "{messages:?}\n  {sql}\n  lacks {part}");
        }
    }
    for change in ["by month instead", "改成按月"] {
        assert!(!sql_after(&["Revenue by city", change]).contains("\"city\""), "{change}");
    }
    let line = after(&company(), &["Revenue per month", "show it as a line"]).unwrap();
    assert_eq!(line.chart.map(crate::words::phrases::Chart::word), Some("line"));
    assert!(line.explanation.contains("Read as a change of “Revenue per month”."), "{}", line.explanation);
    assert!(after(&company(), &["And the month before?"]).is_none());
    assert!(after(&company(), &["How many orders are there?", "And the month before?"]).is_none());
    assert!(after(&platform(), &["How many workflows are there?", "and unicorns?"]).is_none());
}

#[test]
fn shares_are_of_what_is_compared_with_a_number() {
    let over = &["AVG(CASE WHEN \"ods_orders\".\"order_amount\" > 1000 THEN 100.0 ELSE 0.0 END)"];
    each(
        &company(),
        &[
            (
                &[
                    "What percentage of orders is over 1000?",
                    "Share of orders above 1000",
                    "超过1000元的订单占比",
                    "订单金额超过1000的占比",
                ],
                over,
            ),
            (
                &[
                    "ratio of cancelled orders to all orders",
                    "What is the ratio of cancelled orders to total orders?",
                ],
                &["\"order_status\" = 'cancelled' THEN 100.0"],
            ),
            (
                &["orders over 1000", "List orders over 1000"],
                &["WHERE \"ods_orders\".\"order_amount\" > 1000"],
            ),
        ],
    );
}

#[test]
fn both_of_two_values_are_of_different_rows() {
    let sql = after(&company(), &["How many customers have ordered both through the app and the web?"])
        .unwrap()
        .sql;
    assert!(sql.contains("FROM \"ods_customers\"") && sql.matches(" IN (SELECT").count() == 2, "{sql}");
}
