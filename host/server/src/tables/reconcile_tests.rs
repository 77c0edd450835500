use lakeport_bindings::dialect::schema::TableName;
use lakeport_store::testing::on_each_store;
use lakeport_store::{Db, Value};

use super::*;

fn field(name: &str, type_text: &str) -> Field {
    Field {
        name: name.to_owned(),
        type_text: type_text.to_owned(),
        nullable: true,
        key: false,
        comment: String::new(),
        defaults_to: DefaultValue::Absent,
        generated: None,
        extra: None,
    }
}

fn table(name: &str, fields: Vec<Field>) -> Table {
    Table {
        name: TableName { database: "main".to_owned(), name: name.to_owned() },
        kind: "table".to_owned(),
        comment: String::new(),
        keys: fields.iter().filter(|field| field.key).map(|field| field.name.clone()).collect(),
        fields,
        model: None,
        distribution: Vec::new(),
        buckets: None,
        replicas: None,
        partition: Vec::new(),
        companions: Vec::new(),
        extra: None,
    }
}

fn orders() -> Table {
    let id = Field { key: true, nullable: false, ..field("id", "INTEGER") };
    let state = Field { defaults_to: DefaultValue::Text("new".to_owned()), ..field("state", "TEXT") };
    table("orders", vec![id, state])
}

/// A store with one data source.
struct Bench {
    db: Db,
    cluster: i64,
}

impl Bench {
    async fn new(db: &Db) -> Bench {
        const SOURCE: &str = "INSERT INTO datasources (name, kind, url, created_at, updated_at) \
            VALUES ('a', 'sqlite', 'sqlite:a', 1, 1) RETURNING id";
        let mut tx = db.begin().await.unwrap();
        let cluster = tx.query(SOURCE, &[]).await.unwrap()[0].get(0).unwrap();
        tx.commit().await.unwrap();
        Bench { db: db.clone(), cluster }
    }

    async fn take(&self, tables: &[Table], now_ms: i64) -> Reconciled {
        let found: Vec<FoundTable> = tables.iter().map(|table| FoundTable::of(table).unwrap()).collect();
        let listed: Vec<String> = found.iter().map(|table| table.name.clone()).collect();
        let mut tx = self.db.begin().await.unwrap();
        let look = Snapshot {
            cluster_id: self.cluster,
            database: "main",
            listed: &listed,
            found: &found,
            began_ms: now_ms,
            source: Source::Sync,
        };
        let taken = reconcile(&mut tx, &look, now_ms).await.unwrap();
        tx.commit().await.unwrap();
        taken
    }

    async fn missing(&self, seen: &[i64], unread: &[&str]) -> i64 {
        let (seen, unread) =
            (seen.iter().copied().collect(), unread.iter().map(|&name| name.to_owned()).collect());
        let mut tx = self.db.begin().await.unwrap();
        let looked = mark_missing(&mut tx, self.cluster, 0, &seen, &unread, 40, 50).await.unwrap();
        tx.commit().await.unwrap();
        looked.missing
    }

    async fn one(&self, sql: &'static str) -> Vec<Value> {
        let rows = self.db.read(sql, &[]).await.unwrap();
        assert_eq!(rows.len(), 1, "{sql}");
        let mut values = Vec::new();
        while let Ok(value) = rows[0].get::<Option<String>>(values.len()) {
            values.push(value.into());
        }
        values
    }

    async fn run(&self, sql: &'static str, values: &[Value]) {
        self.db.execute(sql, values).await.unwrap();
    }

    async fn number(&self, sql: &'static str) -> i64 {
        self.db.read(sql, &[]).await.unwrap()[0].get(0).unwrap()
    }
}

fn counts(new: i64, updated: i64, missing: i64) -> Counts {
    Counts { new, updated, missing }
}

/// With a foreign key from `state` to `name` of `states`.
fn referring(field: &str) -> Table {
    let key =
        |field: &str| format!(r#"{{"field":"{field}","database":"main","table":"states","key":"name"}}"#);
    let [known, unknown] = [field, "gone"].map(key);
    Table { extra: Some(format!(r#"{{"references":[{known},{unknown}]}}"#)), ..orders() }
}

#[tokio::test]
async fn foreign_keys_alone_change_no_schema() {
    on_each_store(async |db| {
        let bench = Bench::new(&db).await;
        let states = table("states", vec![Field { key: true, ..field("name", "TEXT") }]);
        let keys = async || {
            let ids: Vec<i64> = (1..=4).collect();
            let keys = store::foreign_keys_of(&db, &ids).await.unwrap();
            keys.into_iter().map(|key| (key.field, key.key)).collect::<Vec<_>>()
        };
        let versions = "SELECT count(*) FROM schema_history";
        bench.take(&[orders(), states.clone()], 10).await;
        let before = bench.number(versions).await;
        assert_eq!(keys().await, []);
        let pair = |field: &str| (field.to_owned(), "name".to_owned());
        let told = async || bench.number("SELECT count(*) FROM changes WHERE topic = 'tables'").await;
        for (found, is_new) in [("state", true), ("state", false), ("id", true)] {
            let before = told().await;
            let taken = bench.take(&[referring(found), states.clone()], 20).await;
            // Definitions are kept until a change is told.
            assert_eq!(told().await - before, i64::from(is_new));
            assert_eq!((taken.tables, taken.fields), (counts(0, 0, 0), counts(0, 0, 0)));
            assert_eq!(keys().await, [pair(found)]);
        }
        assert_eq!(bench.number(versions).await, before);
        assert_eq!(bench.number("SELECT max(updated_at) FROM tables").await, 10);
        assert_eq!(bench.number("SELECT count(*) FROM tables WHERE drift IS NOT NULL").await, 0);
        bench.run("UPDATE tables SET status = 'deprecated' WHERE table_name = 'states'", &[]).await;
        assert_eq!(keys().await, [], "its table is in the recycle bin");
        bench.take(&[orders()], 30).await;
        assert_eq!(bench.number("SELECT count(*) FROM tables WHERE foreign_keys <> '[]'").await, 0);
        let made =
            Table { name: TableName { name: "made".to_owned(), ..orders().name }, ..referring("state") };
        bench.take(&[made], 40).await;
        assert_eq!(bench.number("SELECT count(*) FROM tables WHERE foreign_keys <> '[]'").await, 1);
    })
    .await;
}

#[tokio::test]
async fn a_repeated_sync_writes_nothing() {
    on_each_store(async |db| {
        let bench = Bench::new(&db).await;
        let tables = [orders(), table("empty", Vec::new())];
        let first = bench.take(&tables, 10).await;
        assert_eq!((first.tables, first.fields, first.seen.len()), (counts(2, 0, 0), counts(2, 0, 0), 2));
        let second = bench.take(&tables, 20).await;
        assert_eq!((second.tables, second.fields, second.seen.len()), (counts(0, 0, 0), counts(0, 0, 0), 2));
        assert_eq!(bench.number("SELECT max(updated_at) FROM tables").await, 10);
        assert_eq!(bench.number("SELECT max(updated_at) FROM fields").await, 10);
        assert_eq!(bench.number("SELECT count(*) FROM changes WHERE topic = 'tables'").await, 2);
        assert_eq!(bench.number("SELECT min(physical) FROM tables").await, 1);
        let field =
            bench.one("SELECT field_name, field_type, default_value FROM fields WHERE field_order = 2").await;
        assert_eq!(field, ["state".into(), "TEXT".into(), "new".into()]);
        let id = "SELECT is_primary_key * 10 + is_nullable FROM fields WHERE field_name = 'id'";
        assert_eq!(bench.number(id).await, 10);
        assert_eq!(
            bench.one("SELECT key_columns FROM tables WHERE table_name = 'orders'").await,
            ["id".into()]
        );
    })
    .await;
}

#[tokio::test]
async fn fields_that_came_changed_and_went_are_counted() {
    on_each_store(async |db| {
        let bench = Bench::new(&db).await;
        bench.take(&[orders()], 10).await;
        let mut changed = orders();
        changed.fields[0].type_text = "BIGINT".to_owned();
        changed.fields[1] = field("paid", "REAL");
        let taken = bench.take(&[changed.clone()], 20).await;
        assert_eq!((taken.tables, taken.fields), (counts(0, 1, 0), counts(1, 1, 1)));
        assert_eq!(bench.number("SELECT count(*) FROM fields").await, 2);
        assert_eq!(bench.number("SELECT updated_at FROM tables").await, 20);
        // The order alone changes both.
        changed.fields.swap(0, 1);
        let taken = bench.take(&[changed], 30).await;
        assert_eq!((taken.tables, taken.fields), (counts(0, 1, 0), counts(0, 2, 0)));
    })
    .await;
}

#[tokio::test]
async fn what_the_catalogue_knows_better_is_kept() {
    const COMMENT: &str = "UPDATE tables SET table_comment = 'ours', owner = 'ada', bucket_num = 4";
    on_each_store(async |db| {
        let bench = Bench::new(&db).await;
        bench.take(&[orders()], 10).await;
        bench.run(COMMENT, &[]).await;
        bench.run("UPDATE fields SET field_comment = 'ours'", &[]).await;
        assert_eq!(bench.take(&[orders()], 20).await.tables, counts(0, 0, 0));
        let mut commented = orders();
        commented.comment = "theirs".to_owned();
        commented.fields[0].comment = "theirs".to_owned();
        let taken = bench.take(&[commented], 30).await;
        assert_eq!((taken.tables, taken.fields), (counts(0, 1, 0), counts(0, 1, 0)));
        let kept = bench.one("SELECT table_comment, owner FROM tables").await;
        assert_eq!(kept, ["theirs".into(), "ada".into()]);
        assert_eq!(bench.number("SELECT bucket_num FROM tables").await, 4);
        let state = bench.one("SELECT field_comment FROM fields WHERE field_name = 'state'").await;
        assert_eq!(state, ["ours".into()]);
    })
    .await;
}

#[tokio::test]
async fn a_definition_made_by_hand_becomes_physical() {
    const BY_HAND: &str = "INSERT INTO tables (cluster_id, db_name, table_name, layer, created_at, updated_at) \
        VALUES ($1, 'main', 'orders', 'ODS', 1, 1)";
    on_each_store(async |db| {
        let bench = Bench::new(&db).await;
        bench.run(BY_HAND, &[bench.cluster.into()]).await;
        let taken = bench.take(&[orders()], 10).await;
        assert_eq!((taken.tables, taken.fields), (counts(0, 1, 0), counts(2, 0, 0)));
        assert_eq!(bench.number("SELECT physical FROM tables").await, 1);
        assert_eq!(bench.one("SELECT layer FROM tables").await, ["ODS".into()]);
    })
    .await;
}

#[tokio::test]
async fn the_recycle_bin_is_left_alone() {
    const DEPRECATED: &str = "UPDATE tables SET status = 'deprecated', origin_table_name = table_name, \
        table_name = 'orders_deprecated_20260102030405'";
    on_each_store(async |db| {
        let bench = Bench::new(&db).await;
        bench.take(&[orders()], 10).await;
        bench.run(DEPRECATED, &[]).await;
        let mut renamed = orders();
        renamed.name.name = "orders_deprecated_20260102030405".to_owned();
        renamed.fields.pop();
        let taken = bench.take(&[renamed], 20).await;
        assert_eq!((taken.tables, taken.fields), (counts(0, 0, 0), counts(0, 0, 0)));
        assert_eq!(bench.missing(&[], &[]).await, 0);
        // Its name is free for another table.
        assert_eq!(bench.take(&[orders()], 30).await.tables, counts(1, 0, 0));
        let mut tx = db.begin().await.unwrap();
        assert_eq!(count_of(&mut tx, bench.cluster).await.unwrap(), 2);
    })
    .await;
}

#[tokio::test]
async fn new_tables_named_like_recycled_are_skipped() {
    const NAMED_SO: &str = "UPDATE tables SET table_name = 'orders_deprecated_20260102030405'";
    on_each_store(async |db| {
        let bench = Bench::new(&db).await;
        bench.take(&[orders()], 10).await;
        bench.run(NAMED_SO, &[]).await;
        let mut named_so = orders();
        named_so.name.name = "orders_deprecated_20260102030405".to_owned();
        let taken = bench.take(&[named_so, table("new_deprecated_20260102030405", Vec::new())], 20).await;
        assert_eq!((taken.tables, taken.seen.len()), (counts(0, 0, 0), 1));
        assert_eq!(bench.missing(&taken.seen, &[]).await, 0);
        assert_eq!(bench.number("SELECT count(*) FROM tables WHERE physical = 1").await, 1);
    })
    .await;
}

#[tokio::test]
async fn what_was_otherwise_is_drift_until_both_are_alike_again() {
    const DRIFT: &str = "SELECT coalesce(drift, '') FROM tables";
    on_each_store(async |db| {
        let bench = Bench::new(&db).await;
        bench.take(&[orders()], 10).await;
        assert_eq!(bench.one(DRIFT).await, ["".into()], "what is new is as it is");
        let mut changed = orders();
        changed.fields[1].type_text = "BLOB".to_owned();
        bench.take(std::slice::from_ref(&changed), 20).await;
        let said = r#"[{"what":"fields[1].fieldType","expected":"TEXT","found":"BLOB"}]"#;
        assert_eq!(bench.one(DRIFT).await, [said.into()]);
        bench.take(std::slice::from_ref(&changed), 30).await;
        assert_eq!(bench.one(DRIFT).await, ["".into()]);
        assert_eq!(bench.missing(&[], &[]).await, 1);
        let said = r#"[{"what":"physical","expected":"true","found":"false"}]"#;
        assert_eq!(bench.one(DRIFT).await, [said.into()]);
        bench.take(&[changed], 60).await;
        assert_eq!(bench.one(DRIFT).await, ["".into()]);
    })
    .await;
}

#[tokio::test]
async fn what_is_gone_is_counted_once_and_comes_back() {
    on_each_store(async |db| {
        let bench = Bench::new(&db).await;
        let taken = bench.take(&[orders(), table("kept", vec![field("a", "TEXT")])], 10).await;
        assert_eq!(bench.missing(&taken.seen, &[]).await, 0);
        assert_eq!(
            bench.missing(&[], &["main"]).await,
            0,
            "nothing is known of a database that was not read"
        );
        assert_eq!(bench.missing(&taken.seen[..1], &[]).await, 1);
        assert_eq!(bench.missing(&taken.seen[..1], &[]).await, 0);
        assert_eq!(bench.number("SELECT count(*) FROM fields").await, 3, "its fields stay");
        let again = bench.take(&[orders(), table("kept", vec![field("a", "TEXT")])], 20).await;
        assert_eq!((again.tables, again.fields), (counts(0, 1, 0), counts(0, 0, 0)));
    })
    .await;
}

#[tokio::test]
async fn strange_texts_are_kept_as_they_are() {
    on_each_store(async |db| {
        let bench = Bench::new(&db).await;
        let name = "O'Brien \"x\" \\ 表 🙂 $.a";
        let mut strange = table(name, vec![field("a'b\"c", "VARCHAR(1) -- '")]);
        strange.comment = "line\nline\0 \u{7f}".to_owned();
        assert_eq!(bench.take(std::slice::from_ref(&strange), 10).await.tables, counts(1, 0, 0));
        assert_eq!(bench.take(&[strange], 20).await.tables, counts(0, 0, 0));
        let kept = bench.one("SELECT table_name, table_comment FROM tables").await;
        assert_eq!(kept, [name.into(), "line\nline \u{7f}".into()]);
    })
    .await;
}

#[test]
fn what_the_catalogue_cannot_hold_is_refused_with_the_reason() {
    let long = table(&"x".repeat(256), Vec::new());
    assert!(FoundTable::of(&long).unwrap_err().contains("255 characters"));
    let twice = table("t", vec![field("a", "TEXT"), field("a", "TEXT")]);
    assert!(FoundTable::of(&twice).unwrap_err().contains("two fields named a"));
    let many = table("t", (0..10_001).map(|n| field(&n.to_string(), "TEXT")).collect());
    assert!(FoundTable::of(&many).unwrap_err().contains("10001 fields"));
    let cut = FoundTable::of(&table("t", vec![field("a", &"x".repeat(20_000))])).unwrap();
    assert_eq!(cut.fields[0].type_text.len(), 10_000);
}

#[test]
fn defaults_are_written_as_a_user_would() {
    for (default, text) in [
        (DefaultValue::Absent, None),
        (DefaultValue::Null, None),
        (DefaultValue::Text("it's".to_owned()), Some("it's")),
        (DefaultValue::Number("-1.5".to_owned()), Some("-1.5")),
        (DefaultValue::Boolean(true), Some("true")),
        (DefaultValue::Now(0), Some("CURRENT_TIMESTAMP")),
        (DefaultValue::Now(3), Some("CURRENT_TIMESTAMP(3)")),
        (DefaultValue::Expression("a + 1".to_owned()), Some("a + 1")),
    ] {
        assert_eq!(default_text(&default).as_deref(), text);
    }
}

#[test]
fn names_of_the_recycle_bin_are_known() {
    assert!(is_of_recycle_bin("orders_deprecated_20260102030405"));
    for other in
        ["orders", "_deprecated_20260102030405", "orders_deprecated_2026", "orders_deprecated_2026010203040x"]
    {
        assert!(!is_of_recycle_bin(other), "{other}");
    }
}

#[tokio::test]
async fn a_sync_records_schema_changes_only() {
    const WHAT: &str = "SELECT count(*) FROM schema_history h JOIN tables t ON t.id = h.table_id \
        WHERE h.source = 'sync' AND h.version = t.schema_version AND h.changed_by IS NULL";
    const LAST: &str = "SELECT changes FROM schema_history ORDER BY id DESC LIMIT 1";
    on_each_store(async |db| {
        let bench = Bench::new(&db).await;
        let seen = bench.take(&[orders()], 10).await.seen;
        bench.take(&[orders()], 20).await;
        assert_eq!(bench.number(WHAT).await, 1);
        let last = async || db.read(LAST, &[]).await.unwrap()[0].get::<String>(0).unwrap();
        assert!(last().await.contains("table_created"));
        let mut changed = orders();
        changed.comment = "said".to_owned();
        changed.fields[0].type_text = "BIGINT".to_owned();
        changed.fields.push(field("more", "TEXT"));
        bench.take(std::slice::from_ref(&changed), 30).await;
        bench.take(&[changed], 40).await;
        let last_change = last().await;
        for part in ["comment_changed", "fieldType", "field_added", "\"more\""] {
            assert!(last_change.contains(part), "{part}: {last_change}");
        }
        assert_eq!(bench.number("SELECT count(*) FROM schema_history").await, 2);
        assert_eq!(bench.missing(&[], &[]).await, 1);
        assert!(last().await.contains("physical"));
        assert_eq!(bench.missing(&[], &[]).await, 0);
        bench.take(&[orders()], 60).await;
        assert_eq!(bench.number("SELECT max(version) FROM schema_history").await, 4);
        assert_eq!(seen.len(), 1);
    })
    .await;
}
