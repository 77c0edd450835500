use lakeport_store::testing::on_each_store;

use super::*;

const TABLE: &str = "INSERT INTO tables (db_name, table_name, created_at, updated_at) \
    VALUES ('main', $1, 1, 1) RETURNING id";
const FIELD: &str = "INSERT INTO fields (table_id, field_name, field_type, field_order, created_at, updated_at) \
    VALUES ($1, $2, $3, $4, 1, 1)";

fn paging(page_num: i64, page_size: i64) -> Paging {
    Paging { page_num, page_size }
}

fn part(what: &str) -> Part {
    Part { what: what.to_owned(), ..Part::default() }
}

fn shape(name: &str, type_text: &str, place: i64) -> Shape {
    Shape {
        id: 0,
        name: name.to_owned(),
        type_text: type_text.to_owned(),
        comment: None,
        is_key: false,
        is_nullable: true,
        default: None,
        place,
    }
}

async fn table(db: &Db, name: &str) -> i64 {
    let mut tx = db.begin().await.unwrap();
    let id = tx.query(TABLE, &[name.into()]).await.unwrap()[0].get(0).unwrap();
    tx.commit().await.unwrap();
    id
}

async fn put(db: &Db, new: &[New], at_ms: i64) {
    let mut tx = db.begin().await.unwrap();
    add(&mut tx, new, Source::Change, Some("ann"), at_ms).await.unwrap();
    tx.commit().await.unwrap();
}

fn new(table_id: i64, what: &str, undo: Undo) -> New {
    New { table_id, parts: vec![part(what)], undo }
}

#[tokio::test]
async fn each_table_has_its_own_versions_the_newest_first() {
    on_each_store(async |db| {
        let (one, other) = (table(&db, "one").await, table(&db, "other").await);
        put(&db, &[New::created(one, "one"), New::created(other, "other")], 10).await;
        put(&db, &[new(one, "comment_changed", Undo::default())], 20).await;
        put(&db, &[], 30).await;
        let (total, entries) = page(&db, one, &paging(1, 9)).await.unwrap();
        let shown: Vec<_> = entries.iter().map(|e| (e.version, e.parts[0].what.as_str(), e.at_ms)).collect();
        assert_eq!((total, shown), (2, vec![(2, "comment_changed", 20), (1, "table_created", 10)]));
        assert_eq!((entries[0].source, entries[0].changed_by.as_deref()), (Source::Change, Some("ann")));
        let (total, entries) = page(&db, one, &paging(2, 1)).await.unwrap();
        assert_eq!((total, entries.len(), entries[0].version), (2, 1, 1));
        assert_eq!(page(&db, other, &paging(1, 9)).await.unwrap().0, 1);
    })
    .await;
}

#[tokio::test]
async fn older_fields_come_from_undo_steps() {
    on_each_store(async |db| {
        let id = table(&db, "one").await;
        for (name, type_text, place) in [("a", "BIGINT", 1), ("c", "TEXT", 2)] {
            db.execute(FIELD, &[id.into(), name.into(), type_text.into(), place.into()]).await.unwrap();
        }
        put(&db, &[New::created(id, "one")], 10).await;
        let undo = Undo { remove: Vec::new(), put: vec![shape("a", "INT", 1)] };
        put(&db, &[new(id, "field_changed", undo)], 20).await;
        let undo = Undo { remove: vec!["c".to_owned()], put: vec![shape("b", "INT", 2)] };
        put(&db, &[new(id, "field_renamed", undo)], 30).await;
        for (at, expected) in [
            (3, vec![("a", "BIGINT"), ("c", "TEXT")]),
            (2, vec![("a", "BIGINT"), ("b", "INT")]),
            (1, vec![("a", "INT"), ("b", "INT")]),
        ] {
            let kept = version(&db, id, at).await.unwrap().unwrap();
            assert_eq!((kept.entry.version, kept.steps.len() as i64), (at, 3 - at));
            let fields = super::super::taken_back(kept.now, kept.steps);
            let shown: Vec<_> = fields.iter().map(|f| (f.name.as_str(), f.type_text.as_str())).collect();
            assert_eq!(shown, expected, "{at}");
        }
        assert!(version(&db, id, 4).await.unwrap().is_none());
        assert!(version(&db, id + 1, 1).await.unwrap().is_none());
    })
    .await;
}

#[tokio::test]
async fn old_entries_go_and_the_numbers_go_on() {
    on_each_store(async |db| {
        let id = table(&db, "one").await;
        for at_ms in 0..3 {
            put(&db, &[new(id, "comment_changed", Undo::default())], at_ms).await;
        }
        assert_eq!(db.execute(RETAINED.purge, &[2.into(), 9.into()]).await.unwrap(), 2);
        const SKIP: &str = "UPDATE tables SET schema_version = schema_version + $1";
        db.execute(SKIP, &[(ENTRIES_MAX - 1).into()]).await.unwrap();
        put(&db, &[new(id, "comment_changed", Undo::default())], 9).await;
        let (total, entries) = page(&db, id, &paging(1, 9)).await.unwrap();
        assert_eq!((total, entries[0].version), (1, ENTRIES_MAX + 3), "the third is too far back");
    })
    .await;
}

#[tokio::test]
async fn an_oversized_entry_is_cut_and_marked() {
    on_each_store(async |db| {
        let id = table(&db, "one").await;
        let parts = vec![part("field_added"); PARTS_MAX + 5];
        put(&db, &[New { table_id: id, parts, undo: Undo::default() }], 1).await;
        let (_, entries) = page(&db, id, &paging(1, 9)).await.unwrap();
        assert_eq!(entries[0].parts.len(), PARTS_MAX + 1);
        let last = entries[0].parts.last().unwrap();
        assert_eq!((last.what.as_str(), &last.after), (MORE, &serde_json::json!(5)));
    })
    .await;
}
