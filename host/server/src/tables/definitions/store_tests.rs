use lakeport_store::testing::on_each_store;

use super::*;
use crate::tables::fields::{self, Field};

const SOURCE: &str = "INSERT INTO datasources (name, kind, url, created_at, updated_at) \
    VALUES ('a', 'sqlite', 'sqlite:a', 1, 1) RETURNING id";

fn definition(name: &str, cluster_id: Option<i64>) -> Definition {
    Definition {
        table_name: name.to_owned(),
        db_name: "main".to_owned(),
        table_comment: Some("it's \"one\"".to_owned()),
        cluster_id,
        bucket_num: Some(7),
        tags: vec!["核心".to_owned(), "a\"b".to_owned()],
        description: Some("long".to_owned()),
        ..Definition::default()
    }
}

fn field(table_id: i64, name: &str, place: i64) -> Field {
    Field {
        id: 0,
        table_id,
        name: name.to_owned(),
        type_text: "VARCHAR(20)".to_owned(),
        comment: None,
        is_key: place == 1,
        is_nullable: place != 1,
        default: Some("\"quoted\"; 表".to_owned()),
        place,
        description: Some("of the catalogue".to_owned()),
    }
}

async fn source(tx: &mut Tx) -> i64 {
    tx.query(SOURCE, &[]).await.unwrap()[0].get(0).unwrap()
}

#[tokio::test]
async fn a_table_is_read_whole_by_one_statement() {
    on_each_store(async |db| {
        let mut tx = db.begin().await.unwrap();
        let cluster = source(&mut tx).await;
        let id = insert(&mut tx, &definition("t", Some(cluster)), 5).await.unwrap();
        for (name, place) in [("b", 2), ("a", 1), ("c", 3)] {
            fields::store::insert(&mut tx, &field(id, name, place), 5).await.unwrap();
        }
        tx.commit().await.unwrap();
        let whole = find(&db, id).await.unwrap().unwrap();
        assert_eq!(whole.record.definition, definition("t", Some(cluster)));
        assert_eq!((whole.record.is_physical, whole.record.is_deprecated), (false, false));
        assert_eq!(whole.cluster, Some(("a".to_owned(), "sqlite".to_owned())));
        let names: Vec<&str> = whole.fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "c"]);
        let first = Field { id: whole.fields[0].id, ..field(id, "a", 1) };
        assert_eq!(whole.fields[0], first);
        assert!(whole.drift.is_empty());

        let mut tx = db.begin().await.unwrap();
        fields::store::delete(&mut tx, &whole.fields[0]).await.unwrap();
        let drift = vec![Drift { what: "a".to_owned(), expected: "b".to_owned(), found: "c".to_owned() }];
        set_drift(&mut tx, id, &drift).await.unwrap();
        let after = Definition { owner: Some("ann".to_owned()), ..definition("u", None) };
        update(&mut tx, id, &after, true, 9).await.unwrap();
        let changed = lock(&mut tx, id).await.unwrap().unwrap();
        tx.commit().await.unwrap();
        assert_eq!(changed.record.definition, after);
        assert_eq!((changed.record.updated_at_ms, changed.record.is_physical), (9, true));
        assert_eq!((changed.cluster, changed.drift), (None, drift));
        let places: Vec<i64> = changed.fields.iter().map(|field| field.place).collect();
        assert_eq!(places, [1, 2]);
        assert!(find(&db, id + 1).await.unwrap().is_none());
    })
    .await;
}

#[tokio::test]
async fn a_taken_name_conflicts_per_source() {
    on_each_store(async |db| {
        let mut tx = db.begin().await.unwrap();
        let cluster = source(&mut tx).await;
        let id = insert(&mut tx, &definition("t", Some(cluster)), 1).await.unwrap();
        insert(&mut tx, &definition("t", None), 1).await.unwrap();
        assert!(is_taken(&mut tx, &definition("t", Some(cluster)), 0).await.unwrap());
        assert!(!is_taken(&mut tx, &definition("t", Some(cluster)), id).await.unwrap());
        assert!(!is_taken(&mut tx, &definition("T", Some(cluster)), 0).await.unwrap());
        tx.commit().await.unwrap();
        let mut tx = db.begin().await.unwrap();
        let error = insert(&mut tx, &definition("t", Some(cluster)), 1).await.unwrap_err();
        assert_eq!((error.status(), error.code()), (409, "name_taken"));
    })
    .await;
}

#[tokio::test]
async fn names_conflict_ignoring_case_where_required() {
    on_each_store(async |db| {
        let mut tx = db.begin().await.unwrap();
        let cluster = source(&mut tx).await;
        let id = insert(&mut tx, &definition("Orders", Some(cluster)), 1).await.unwrap();
        let (tables, both) =
            (Ignored { tables: true, databases: false }, Ignored { tables: true, databases: true });
        let other = definition("oRDERS", Some(cluster));
        let elsewhere = Definition { db_name: other.db_name.to_uppercase(), ..other.clone() };
        let name = Some(format!("{}.Orders", other.db_name));
        assert_eq!(namesake(&mut tx, &other, 0, tables).await.unwrap(), name);
        assert_eq!(namesake(&mut tx, &elsewhere, 0, both).await.unwrap(), name);
        for (wanted, but, ignored) in [
            (&other, 0, Ignored::default()),
            (&elsewhere, 0, tables),
            (&other, id, both),
            (&definition("oRDERS", None), 0, both),
            (&definition("orders2", Some(cluster)), 0, both),
        ] {
            assert_eq!(
                namesake(&mut tx, wanted, but, ignored).await.unwrap(),
                None,
                "{wanted:?} {ignored:?}"
            );
        }
    })
    .await;
}

#[tokio::test]
async fn tables_in_the_recycle_bin_are_not_active() {
    on_each_store(async |db| {
        let mut tx = db.begin().await.unwrap();
        let mut ids = Vec::new();
        for name in ["a", "b", "c"] {
            ids.push(insert(&mut tx, &definition(name, None), 1).await.unwrap());
        }
        tx.execute("UPDATE tables SET status = 'deprecated' WHERE id = $1", &[ids[1].into()]).await.unwrap();
        let asked = [ids[2], 999, ids[1], ids[0], 999];
        tx.commit().await.unwrap();
        let mut active = active_of(&asked).all(&db).await.unwrap();
        active.sort_unstable();
        assert_eq!(active, [ids[0], ids[2]]);
        assert_eq!(active_of(&[]).all(&db).await.unwrap(), [] as [i64; 0]);
        let shown = all_of(&db, &asked[..4]).await.unwrap();
        let shown: Vec<i64> = shown.iter().map(|record| record.id).collect();
        assert_eq!(shown, [ids[2], ids[0]], "in the order asked");
    })
    .await;
}
