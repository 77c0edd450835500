//! Plans as JSON: what is written can be read again, and what is wrong is refused at its place.

use lakeport_sdk::serde_json::{Value, json};

use crate::answer::{answer_of, answer_of_query};
use crate::calendar::Day;
use crate::known::Known;
use crate::schema::Schema;
use crate::testing::company;

fn today() -> Day {
    Day::read("2026-07-19").unwrap()
}

/// SQL of a plan, or what is wrong with it.
fn sql(schema: &Schema, query: &Value) -> Result<String, String> {
    answer_of_query(query, &Known::of(schema), today(), false).map(|answer| answer.sql)
}

#[test]
fn a_plan_is_read_as_it_was_written() {
    let schema = company();
    let known = Known::of(&schema);
    for question in [
        "How many orders last month?",
        "Top 5 customers by revenue",
        "Orders per day last month",
        "Orders last month compared to the month before",
        "Share of orders by channel",
        "What share of orders is cancelled?",
        "Median price of our products",
        "Median price per category",
        "Top 2 products in each category by sales amount",
        "Which customers never ordered?",
        "Customers with more than 3 orders",
        "How many customers have more than 3 orders?",
        "How many customers ordered for the first time last month?",
        "Cumulative revenue by month",
        "Products with a price above average",
        "customers in Beijing or Shanghai",
        "Average number of orders per customer",
        "Average number of orders per day",
        "Average daily revenue last month",
        "First-time customers per month",
        "Best selling product each month",
        "Revenue and number of orders by channel",
        "Second best selling product",
        "Which day last month had the fewest orders?",
        "Share of orders on weekends",
        "Second best selling product in each category",
        "How many customers and products do we have?",
        "products whose names end with 'tea'",
    ] {
        let answer =
            answer_of(question, &known, today()).unwrap_or_else(|error| panic!("{question}: {error:?}"));
        let again = answer_of_query(&answer.query, &known, today(), false);
        let again = again.unwrap_or_else(|error| panic!("{question}: {error}\n{}", answer.query));
        assert_eq!(again.sql, answer.sql, "{question}");
        assert_eq!(again.query, answer.query, "{question}");
    }
}

#[test]
fn a_tables_name_hides_no_calendar() {
    let mut schema = company();
    schema.tables[2].name = "Calendar".to_owned();
    let query = json!({"from": "calendar", "columns": [{"name": "n", "rows": true}], "every": {"unit": "month", "of": "calendar.ordered_at"}});
    let sql = sql(&schema, &query).unwrap();
    assert!(sql.contains("\"calendar_\"(\"start\") AS") && sql.contains("FROM \"Calendar\""), "{sql}");
}

#[test]
fn groups_that_are_not_shown_are_limited_too() {
    let query = json!({"from": "ods_orders", "columns": [{"name": "n", "rows": true}], "groupBy": [{"field": "ods_orders.channel"}], "limit": 1});
    assert!(sql(&company(), &query).unwrap().ends_with("LIMIT 1"));
}

#[test]
fn the_last_day_of_all_has_none_after_it() {
    let on = |days: Value| {
        let query = json!({"from": "ods_orders", "columns": [{"name": "n", "rows": true}], "where": [days]});
        sql(&company(), &query)
    };
    let last = on(json!({"field": "ods_orders.ordered_at", "from": "9999-12-31"})).unwrap();
    assert!(last.ends_with("\"ordered_at\" >= '9999-12-31'"), "{last}");
    assert!(on(json!({"field": "ods_orders.ordered_at", "from": "0000-01-01"})).is_err());
}

#[test]
fn the_days_of_a_calendar_are_those_of_the_rows() {
    let week =
        json!({"unit": "week", "of": "ods_orders.ordered_at", "from": "2026-06-03", "before": "2026-07-01"});
    let query = json!({"from": "ods_orders", "columns": [{"name": "n", "rows": true}], "every": week});
    let sql = sql(&company(), &query).unwrap();
    assert!(sql.contains("\"ordered_at\" >= '2026-06-03'"), "{sql}");
}

#[test]
fn plans_of_one_row_stand_side_by_side() {
    let count = |table: &str, name: &str| json!({"from": table, "columns": [{"name": name, "rows": true}]});
    let beside = |list: Value| sql(&company(), &json!({"beside": list}));
    let (orders, products) = (count("ods_orders", "orders"), count("ods_products", "products"));
    let (mut grouped, mut conditional) = (count("ods_products", "n"), count("ods_products", "n"));
    grouped["groupBy"] = json!([{"field": "ods_products.category"}]);
    conditional["having"] = json!([{"number": {"rows": true}, "more": 5}]);
    let one_row = "beside[1]: a query of one row, without `every`";
    let both = beside(json!([orders, products])).unwrap();
    assert!(both.contains("CROSS JOIN") && both.contains("\"row2\".\"products\" AS \"products\""), "{both}");
    for (list, wrong) in [
        (json!([orders]), "beside: 2 to 5 queries, and no other member"),
        (json!([orders, count("ods_order", "n")]), "beside[1]: from: there is no table ods_order"),
        (json!([orders, count("ods_products", "Orders")]), "beside: each number has a name of its own"),
        (json!([orders, with(json!({}))]), one_row),
        // Groups that are not shown are several rows, and a condition of groups may leave none.
        (json!([orders, grouped]), one_row),
        (json!([orders, conditional]), one_row),
        (json!([]), "beside: 2 to 5 queries"),
        (json!([orders, {"beside": [orders, products]}]), "beside[1]: "),
    ] {
        let said = beside(list).unwrap_err();
        assert!(said.starts_with(wrong), "{said}");
    }
    let more = json!({"beside": [orders, products], "limit": 1});
    assert!(sql(&company(), &more).is_err());
}

/// The plan of orders by channel, with other members.
fn with(members: Value) -> Value {
    let mut query = json!({
        "from": "ods_orders",
        "columns": [{"name": "channel", "field": "ods_orders.channel"}, {"name": "orders", "rows": true}],
    });
    for (name, value) in members.as_object().unwrap() {
        query[name] = value.clone();
    }
    query
}

#[test]
fn a_plan_that_is_wrong_is_refused_at_its_place() {
    let schema = company();
    assert_eq!(
        sql(&schema, &with(json!({}))).unwrap(),
        "SELECT \"ods_orders\".\"channel\" AS \"channel\", COUNT(*) AS \"orders\"\nFROM \"ods_orders\"\nGROUP BY \
         \"ods_orders\".\"channel\"\nLIMIT 100001"
    );
    let median = json!({"name": "middle", "median": "ods_orders.order_amount"});
    let of_amount = |test: Value| {
        let mut filter = json!({"field": "ods_orders.order_amount"});
        filter.as_object_mut().unwrap().extend(test.as_object().unwrap().clone());
        json!({"where": [filter]})
    };
    for (members, place) in [
        (json!({"form": "ods_orders"}), "there is no member form"),
        (json!({"from": "orders"}), "from: there is no table orders; there are ods_customers"),
        (json!({"limit": 0}), "limit: a whole number from 1 to 1000"),
        (json!({"limit": 1.5}), "limit:"),
        (json!({"distinct": "yes"}), "distinct: true or false"),
        (json!({"columns": []}), "columns: one at least"),
        (json!({"columns": [{"name": "n", "rows": true}, {"name": "N", "rows": true}]}), "n is there twice"),
        (json!({"columns": [{"name": "n", "rows": false}]}), "columns[0].rows: true"),
        (json!({"columns": [{"name": "n".repeat(61), "rows": true}]}), "columns[0].name"),
        (
            json!({"columns": [{"name": "n", "sum": "ods_orders.amont"}]}),
            "columns[0].sum: there is no field ods_orders.amont; ods_orders has order_id",
        ),
        (
            json!({"columns": [{"name": "n", "sum": "ods_orders.channel"}]}),
            "ods_orders.channel holds no numbers",
        ),
        (json!({"columns": [{"name": "n", "sum": "ods_products.price"}]}), "add ods_products to `join`"),
        (
            json!({"columns": [{"name": "n", "sum": "ods_orders.order_amount", "rows": true}]}),
            "columns[0]: one of rows, sum only",
        ),
        (json!({"columns": [{"name": "n", "start": "month", "of": "ods_orders.channel"}]}), "holds no days"),
        (json!({"groupBy": [{"rows": true}]}), "groupBy: fields"),
        (json!({"groupBy": [{"field": "ods_orders.order_status"}]}), "must be in `groupBy`"),
        (json!({"order": [{"field": "ods_orders.order_status"}]}), "must be in `groupBy`"),
        (json!({"order": [{"rows": true, "descending": 1}]}), "order[0].descending: true or false"),
        (json!({"having": [{"number": {"field": "ods_orders.channel"}, "more": 1}]}), "are of numbers"),
        (json!({"having": [{"number": {"rows": true}, "in": ["1"]}]}), "compared with numbers"),
        (of_amount(json!({"more": "5"})), "where[0].more: a number"),
        (of_amount(json!({"more": 9_007_199_254_740_993_u64})), "where[0].more: a number"),
        (of_amount(json!({"more": {"median": "all"}})), "where[0].more: a number"),
        (of_amount(json!({"in": ["5"]})), "compare it with `equal` or `among`"),
        (of_amount(json!({"more": 1, "less": 5})), "where[0]: one of more, less only"),
        (of_amount(json!({"from": "2026-07-01"})), "holds no days"),
        (of_amount(json!({"anyOf": [{"more": {"average": "all"}}]})), "anyOf: numbers, texts and days only"),
        (of_amount(json!({"more": 1, "field": "ods_products.price"})), "add ods_products to `join`"),
        (
            json!({"where": [{"field": "ods_orders.ordered_at", "from": "2026-02-30"}]}),
            "where[0].from: a day as yyyy-MM-dd",
        ),
        (json!({"where": [{"field": "ods_orders.ordered_at", "from": 5}]}), "where[0].from: a day"),
        (
            json!({"where": [{"field": "ods_orders.ordered_at", "from": "2026-07-02", "before": "2026-07-01"}]}),
            "where[0].before: a day after 2026-07-02",
        ),
        (
            json!({"where": (0..51).map(|_| json!({"field": "ods_orders.channel", "present": true})).collect::<Vec<Value>>()}),
            "where: a list of 50 at most",
        ),
        (json!({"join": [{"table": "ods_products"}]}), "join[0].on: say by which fields"),
        (
            json!({"join": [{"table": "dwd_order_details"}], "columns": [{"name": "n", "sum": "ods_orders.order_amount"}]}),
            "repeats rows",
        ),
        (json!({"join": [{"table": "ods_orders"}]}), "each table can be joined once"),
        (json!({"join": [{"table": "ods_customers", "with": 1}]}), "join[0]: there is no member with"),
        (json!({"columns": [median, {"name": "n", "rows": true}]}), "a median is the only number"),
        (
            json!({"columns": [median], "having": [{"number": {"rows": true}, "more": 1}]}),
            "a median and `having`",
        ),
        (
            json!({"columns": [{"name": "n", "rows": true}], "every": {"unit": "day", "of": "ods_orders.ordered_at", "from": "2020-01-01", "before": "2026-01-01"}}),
            "every: 1000 rows at most",
        ),
        (json!({"every": {"unit": "day", "of": "ods_orders.ordered_at"}}), "the others must be numbers"),
        (json!({"derived": [{"name": "growth", "growth": "orders"}]}), "derived: growth needs `compare`"),
        (
            json!({"derived": [{"name": "share", "ofTotal": "order"}]}),
            "derived[0].ofTotal: there is no number order",
        ),
        (
            json!({"firstOfEach": {"of": [{"field": "ods_orders.order_status"}], "rows": 1}, "order": [{"rows": true}]}),
            "firstOfEach.of: some of `groupBy`",
        ),
        (
            json!({"firstOfEach": {"of": [{"field": "ods_orders.channel"}], "rows": 1}}),
            "needs an `order` within the groups",
        ),
        (json!({"share": {"field": "ods_orders.channel", "in": ["app"]}}), "give both"),
        (
            json!({"join": [{"table": "ods_customers"}], "columns": [{"name": "n", "average": "ods_customers.customer_id"}]}),
            "is repeated for each row of ods_orders",
        ),
        (
            json!({"columns": [{"name": "Month", "rows": true}], "every": {"unit": "month", "of": "ods_orders.ordered_at"}}),
            "month is there twice",
        ),
        (json!({"having": [{"number": {"least": "ods_orders.channel"}, "more": 5}]}), "holds no numbers"),
        (
            json!({"columns": [{"name": "place_in_group", "field": "ods_orders.channel"}, {"name": "n", "rows": true}],
                "firstOfEach": {"of": [{"field": "ods_orders.channel"}], "rows": 1}}),
            "none is called place_in_group",
        ),
        (json!({"ofGroups": "count"}), "`ofGroups` has one column"),
        (
            json!({"ofGroups": "count", "columns": [{"name": "n", "sum": "ods_orders.order_amount"}],
                "groupBy": [{"field": "ods_orders.channel"}]}),
            "has the column {\"rows\": true}",
        ),
        (
            json!({"ofGroups": {"average": {"least": "ods_orders.ordered_at"}}, "columns": [{"name": "n", "least": "ods_orders.ordered_at"}],
                "groupBy": [{"field": "ods_orders.channel"}]}),
            "holds no numbers",
        ),
        (
            json!({"ofGroups": {"average": {"rows": true}}, "columns": [{"name": "n", "sum": "ods_orders.order_amount"}],
                "groupBy": [{"field": "ods_orders.channel"}]}),
            "are of the same number",
        ),
        (
            json!({"ofGroups": "count", "columns": [{"name": "n", "rows": true}], "groupBy": [{"field": "ods_orders.channel"}],
                "every": {"unit": "day", "of": "ods_orders.ordered_at"}, "order": [{"rows": true}]}),
            "`every` and `order`",
        ),
        (json!({"keepAll": true}), "`keepAll` needs one join"),
        (
            json!({"absent": {"key": "ods_customers.customer_id", "in": "ods_orders.customer_id"}}),
            "add ods_customers to `join`",
        ),
    ] {
        let query = with(members);
        let wrong = sql(&schema, &query).expect_err(&query.to_string());
        assert!(wrong.contains(place), "{query}\n  {wrong}\n  lacks {place}");
    }
    for query in
        [json!({}), json!([]), json!("ods_orders"), json!({"from": 5}), json!({"from": "ods_orders"})]
    {
        sql(&schema, &query).expect_err(&query.to_string());
    }
}

#[test]
fn values_of_a_plan_are_only_values() {
    let schema = company();
    let query = with(json!({"where": [{"field": "ods_orders.channel", "in": ["x' OR '1'='1"]}]}));
    assert!(sql(&schema, &query).unwrap().contains("= 'x'' OR ''1''=''1'"));
    let columns = json!({"columns": [{"name": "a\" FROM x --", "rows": true}]});
    assert!(sql(&schema, &with(columns)).unwrap().contains("AS \"a\"\" FROM x --\""));
}

#[test]
fn tables_of_one_name_are_refused_by_name() {
    let mut schema = company();
    let mut other = schema.tables[2].clone();
    other.database = Some("archive".to_owned());
    assert!(sql(&schema, &with(json!({}))).is_ok());
    schema.tables[2].database = Some("sales".to_owned());
    assert!(
        sql(&schema, &with(json!({"from": "sales.ods_orders"})))
            .unwrap()
            .contains("\"sales\".\"ods_orders\"")
    );
    schema.tables.push(other);
    let wrong = sql(&schema, &with(json!({}))).unwrap_err();
    assert_eq!(wrong, "from: 2 tables are called ods_orders: a query cannot tell them apart");
}
