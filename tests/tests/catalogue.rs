//! The parts of tables that only the catalogue has, one by one and in bulk, and the search over them.

use lakeport_tests::{Client, Lake, Response, id_of, stores};
use serde_json::{Value, json};

const TABLES: &str = "/api/v1/tables";

/// The members that an error names, sorted.
fn refused(response: &Response, status: u16, code: &str) -> Vec<String> {
    assert_eq!((response.status, response.error().as_str()), (status, code), "{response:?}");
    let body = response.json();
    let details = body["details"].as_array().cloned().unwrap_or_default();
    let field = |detail: &Value| detail["field"].as_str().unwrap_or_default().to_owned();
    let mut fields: Vec<String> = details.iter().map(field).collect();
    fields.sort_unstable();
    fields
}

fn patch(client: &Client, body: &Value) -> Response {
    client.send("PATCH", TABLES, &[], body.to_string().as_bytes())
}

fn names(lake: &Lake, query: &str) -> Vec<String> {
    let page = lake.server.get(&format!("{TABLES}?sortField=tableName&{query}")).data();
    let records = page["records"].as_array().unwrap_or_else(|| panic!("{page}"));
    records.iter().map(|record| record["tableName"].as_str().expect("a name").to_owned()).collect()
}

/// An encoded query value.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

/// Hits as `table` or `table.field`.
fn found(client: &Client, keyword: &str, rest: &str) -> Vec<String> {
    let page = client.get(&format!("/api/v1/search?keyword={}{rest}", encoded(keyword))).data();
    let records = page["records"].as_array().unwrap_or_else(|| panic!("{page}"));
    let shown = |hit: &Value| {
        let table = hit["tableName"].as_str().expect("a table");
        match hit["fieldName"].as_str() {
            Some(field) => format!("{table}.{field}"),
            None => table.to_owned(),
        }
    };
    records.iter().map(shown).collect()
}

#[test]
fn a_sync_keeps_tags_and_descriptions() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let id = lake.physical_table(source, "orders", &[("id", "INTEGER"), ("total", "REAL")]);
        let path = format!("{TABLES}/{id}");
        let form = json!({ "description": "all orders", "tags": ["core", " 核心 ", "core"], "owner": "ann" });
        let set = lake.server.put(&path, &form).data();
        assert_eq!((&set["description"], &set["tags"]), (&json!("all orders"), &json!(["core", "核心"])));
        assert_eq!(set["change"], Value::Null, "the database has nothing to follow");
        let field = format!("{path}/fields/{}", set["fields"][1]["id"]);
        let set = lake.server.put(&field, &json!({ "description": "with tax" })).data();
        assert_eq!((&set["description"], &set["change"]), (&json!("with tax"), &Value::Null));

        lake.run("shop.db", "ALTER TABLE orders ADD COLUMN note TEXT");
        lake.server.post(&format!("/api/v1/datasources/{source}/sync"), &json!({})).data();
        lake.server.put(&field, &json!({ "fieldName": "amount" })).data();
        let table = lake.server.get(&path).data();
        assert_eq!((&table["tags"], &table["owner"]), (&json!(["core", "核心"]), &json!("ann")));
        assert_eq!(table["description"], "all orders");
        let shown: Vec<(&Value, &Value)> = table["fields"]
            .as_array()
            .unwrap()
            .iter()
            .map(|field| (&field["fieldName"], &field["description"]))
            .collect();
        let expected = [("id", Value::Null), ("amount", json!("with tax")), ("note", Value::Null)];
        let expected: Vec<(Value, Value)> =
            expected.into_iter().map(|(name, said)| (json!(name), said)).collect();
        assert_eq!(shown, expected.iter().map(|(name, said)| (name, said)).collect::<Vec<_>>());

        let cleared = lake.server.put(&path, &json!({ "description": null, "tags": null })).data();
        assert_eq!((&cleared["description"], &cleared["tags"]), (&Value::Null, &json!([])));
        let many: Vec<String> = (0..51).map(|number| format!("t{number}")).collect();
        assert_eq!(
            refused(&lake.server.put(&path, &json!({ "tags": many })), 400, "invalid_input"),
            ["tags"]
        );
        let long = json!({ "tags": ["a".repeat(65), ""], "description": "a".repeat(4_001) });
        let wrong = refused(&lake.server.put(&path, &long), 400, "invalid_input");
        assert_eq!(wrong, ["description", "tags[0]", "tags[1]"]);
    }
}

#[test]
fn bulk_changes_apply_to_all_or_none() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let ids: Vec<i64> =
            ["a", "b", "c"].into_iter().map(|name| lake.table(source, name, &[("id", "INTEGER")])).collect();
        let client = lake.server.client();
        lake.server.put(&format!("{TABLES}/{}", ids[0]), &json!({ "tags": ["old", "x"] })).data();
        let set = json!({
            "owner": "ann", "businessDomain": "sales", "dataDomain": "trade", "layer": "DWD", "description": "d",
            "addTags": ["new", "x"], "removeTags": ["old"],
        });
        let body = json!({ "ids": [ids[1], ids[0], ids[0]], "set": set });
        let done = patch(&client, &body).data();
        let outcome = |id: i64, outcome: &str| json!({ "id": id, "outcome": outcome });
        assert_eq!(done["changed"], 2);
        assert_eq!(done["tables"], json!([outcome(ids[0], "changed"), outcome(ids[1], "changed")]));
        let again = patch(&client, &body).data();
        assert_eq!(again["tables"], json!([outcome(ids[0], "unchanged"), outcome(ids[1], "unchanged")]));
        let table = lake.server.get(&format!("{TABLES}/{}", ids[0])).data();
        assert_eq!((&table["tags"], &table["owner"]), (&json!(["x", "new"]), &json!("ann")));
        assert_eq!((&table["layer"], &table["description"]), (&json!("DWD"), &json!("d")));
        for query in ["owner=ann", "tag=new", "businessDomain=sales", "dataDomain=trade", "owner=ann&tag=x"] {
            assert_eq!(names(&lake, query), ["a", "b"], "{query}");
        }
        assert_eq!(names(&lake, "tag=ne"), [] as [&str; 0]);

        let unknown = patch(&client, &json!({ "ids": [ids[2], 998, 999], "set": { "owner": "bob" } }));
        assert_eq!(refused(&unknown, 404, "not_found"), ["ids[1]", "ids[2]"]);
        let deleted = format!("{TABLES}/{}/soft-delete?confirmTableName=b", ids[1]);
        lake.server.post(&deleted, &json!({})).data();
        let in_bin = patch(&client, &json!({ "ids": ids, "set": { "owner": "bob" } }));
        assert_eq!(refused(&in_bin, 409, "deprecated"), ["ids[1]"]);
        assert_eq!(names(&lake, "owner=bob"), [] as [&str; 0], "nothing was changed");
        let many: Vec<i64> = (1..=1_001).collect();
        for (body, members) in [
            (json!({ "ids": [], "set": { "owner": "x" } }), vec!["ids"]),
            (json!({ "ids": many, "set": {} }), vec!["ids", "set"]),
            (json!({ "ids": ["x"], "set": { "owner": 7 } }), vec!["ids[0]", "set.owner"]),
            (json!({ "set": { "owner": "x" } }), vec!["ids"]),
        ] {
            assert_eq!(refused(&patch(&client, &body), 400, "invalid_input"), members, "{body}");
        }
        let tags: Vec<String> = (0..50).map(|number| format!("t{number}")).collect();
        let too_many = patch(&client, &json!({ "ids": [ids[2], ids[0]], "set": { "addTags": tags } }));
        assert_eq!(refused(&too_many, 400, "invalid_input"), ["ids[1]"]);
        let audit = lake.server.get("/api/v1/audit?pageSize=100").data();
        let written = audit["records"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|record| record["operation"] == "updateTables" && record["outcome"] == "success");
        assert_eq!(written.count(), 2, "{audit}");
    }
}

#[test]
fn names_rank_first_wildcards_are_literal() {
    for store in stores() {
        let lake = Lake::start(&store);
        let source = lake.source("shop.db");
        let client = lake.server.client();
        lake.table(source, "old_orders", &[("id", "INTEGER")]);
        let order = lake.table(source, "Order", &[("id", "INTEGER"), ("order", "TEXT")]);
        lake.table(source, "orders", &[("order_no", "TEXT"), ("rate", "REAL")]);
        let bills = lake.table(source, "bills", &[("total", "REAL")]);
        let gone = lake.table(source, "order_gone", &[("order", "TEXT")]);
        lake.server
            .post(&format!("{TABLES}/{gone}/soft-delete?confirmTableName=order_gone"), &json!({}))
            .data();
        let form = json!({ "tableComment": "paid ORDERS", "description": "发票", "tags": ["100%"] });
        lake.server.put(&format!("{TABLES}/{bills}"), &form).data();
        let fields = lake.server.get(&format!("{TABLES}/{bills}/fields")).data();
        let total = format!("{TABLES}/{bills}/fields/{}", fields[0]["id"]);
        lake.server.put(&total, &json!({ "fieldComment": "单价", "description": "per order" })).data();

        let all = ["Order", "Order.order", "orders", "orders.order_no", "old_orders", "bills", "bills.total"];
        assert_eq!(found(&client, "ORDER", ""), all);
        let pages: Vec<String> = (1..=4)
            .flat_map(|page| found(&client, "order", &format!("&pageNum={page}&pageSize=2")))
            .collect();
        assert_eq!(pages, all);
        assert_eq!(found(&client, "单", ""), ["bills.total"]);
        assert_eq!(found(&client, "票", ""), ["bills"]);
        assert_eq!(found(&client, "%", ""), ["bills"]);
        assert_eq!(found(&client, "_", ""), ["old_orders", "orders.order_no"]);
        assert_eq!(found(&client, "nowhere", ""), [] as [&str; 0]);
        assert_eq!(found(&client, "paid 100%", ""), ["bills"], "each word somewhere");
        assert_eq!(found(&client, "orders rate", ""), ["orders.rate"], "one is its table's");
        assert_eq!(found(&client, "main.bills", ""), ["bills"]);
        assert_eq!(names(&lake, "keyword=main.bil"), ["bills"]);
        assert_eq!(found(&client, "order", &format!("&clusterId={}", source + 1)), [] as [&str; 0]);

        let page = client.get("/api/v1/search?keyword=order&pageSize=100").data();
        assert_eq!(page["total"], 7);
        let hit = &page["records"][6];
        assert_eq!(
            (&hit["type"], &hit["tableId"], &hit["clusterId"]),
            (&json!("field"), &json!(bills), &json!(source))
        );
        assert_eq!((&hit["matched"], &hit["comment"]), (&json!(["description"]), &json!("单价")));
        let table = &page["records"][0];
        assert_eq!((&table["type"], &table["tableId"]), (&json!("table"), &json!(order)));
        assert_eq!((&table["matched"], &table["fieldName"]), (&json!(["tableName"]), &Value::Null));

        let fields = lake.server.get(&format!("{TABLES}/{bills}/fields")).data();
        lake.server.delete(&format!("{TABLES}/{bills}/fields/{}", fields[0]["id"])).data();
        assert_eq!(found(&client, "单", ""), [] as [&str; 0], "a field that is gone");
    }
}

#[test]
fn a_search_finds_only_readable_tables() {
    for store in stores() {
        let lake = Lake::start(&store);
        let (shop, other) = (lake.source("shop.db"), lake.source("other.db"));
        lake.table(shop, "orders", &[("id", "INTEGER")]);
        let bills = lake.table(other, "order_bills", &[("order_id", "INTEGER")]);
        let loose = json!({ "tableName": "order_loose", "dbName": "main" });
        id_of(&lake.server.post(TABLES, &loose).data());
        let client = lake.server.client();
        for query in ["", "?keyword=", "?keyword=%20", "?keyword=a&pageNum=0", "?keyword=a&pageSize=501"] {
            refused(&client.get(&format!("/api/v1/search{query}")), 400, "invalid_input");
        }
        refused(&client.get(&format!("/api/v1/search?keyword={}", "a".repeat(201))), 400, "invalid_input");
        let admin = lake.server.client_as(&lake.server.token("admin", "ann"));
        let bound = ["token", "create", "--role", "editor", "--name", "bob", "--datasources", "other.db"];
        let bob = lake.server.client_as(lake.server.command_ok(&bound).trim());
        assert_eq!(found(&admin, "order", "").len(), 4);
        assert_eq!(found(&bob, "order", ""), ["order_bills", "order_loose", "order_bills.order_id"]);
        let shop_tables = admin.get(&format!("{TABLES}?clusterId={shop}")).data();
        let orders = shop_tables["records"][0]["id"].as_i64().expect("an id");
        let hidden = patch(&bob, &json!({ "ids": [bills, orders], "set": { "owner": "bob" } }));
        assert_eq!(refused(&hidden, 403, "datasource_not_allowed"), ["ids[1]"]);
        patch(&bob, &json!({ "ids": [bills], "set": { "owner": "bob" } })).data();
    }
}
