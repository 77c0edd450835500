use std::collections::HashSet;

use lakeport_store::testing::on_each_store;

use super::*;
use crate::tables::change::spec::Step;
use crate::tables::change::view::PlannedStatement;
use crate::tables::definitions::{self, Definition};
use crate::tables::history::Source;
use crate::tables::reconcile::{self, FoundField, FoundTable, Snapshot};

const SOURCE: &str = "INSERT INTO datasources (name, kind, url, created_at, updated_at) \
    VALUES ('a', 'sqlite', 'sqlite:a', 1, 1) RETURNING id";

/// A table that is physical, and its data source.
async fn table(db: &Db) -> (Record, i64) {
    let mut tx = db.begin().await.unwrap();
    let cluster: i64 = tx.query(SOURCE, &[]).await.unwrap()[0].get(0).unwrap();
    let definition = Definition {
        table_name: "t".to_owned(),
        db_name: "main".to_owned(),
        cluster_id: Some(cluster),
        ..Definition::default()
    };
    let id = definitions::store::insert(&mut tx, &definition, 1).await.unwrap();
    definitions::store::update(&mut tx, id, &definition, true, 1).await.unwrap();
    let whole = definitions::store::lock(&mut tx, id).await.unwrap().unwrap();
    tx.commit().await.unwrap();
    (whole.record, cluster)
}

fn renaming(table: &Record, name: &str) -> (ChangeSpec, Planned) {
    let after = Definition { table_name: name.to_owned(), ..table.definition.clone() };
    let wanted = ChangeSpec { table: after, steps: vec![Step::RenameTable { name: name.to_owned() }] };
    let statement = PlannedStatement {
        sql: "ALTER TABLE \"t\"".to_owned(),
        undo: vec!["back".to_owned()],
        destroys: false,
        note: "renames".to_owned(),
    };
    let note = Note { member: "tableComment".to_owned(), message: "kept".to_owned() };
    (wanted, Planned { statements: vec![statement], notes: vec![note] })
}

async fn started(db: &Db, table: &Record, cluster: i64) -> Option<ChangeRow> {
    let (wanted, planned) = renaming(table, "u");
    let mut tx = db.begin().await.unwrap();
    let kept = start(&mut tx, table, cluster, &wanted, &planned, "ann", 10).await.unwrap();
    tx.commit().await.unwrap();
    kept
}

#[tokio::test]
async fn one_change_per_table_runs() {
    on_each_store(async |db| {
        let (table, cluster) = table(&db).await;
        let kept = started(&db, &table, cluster).await.unwrap();
        assert!(started(&db, &table, cluster).await.is_none());
        assert_eq!(
            (kept.state, kept.kind.as_str(), kept.new_name.as_str()),
            (State::Running, "rename_table", "u")
        );
        assert_eq!((kept.statements.len(), kept.notes.len()), (1, 1));
        assert_eq!(running(&db).await.unwrap().len(), 1);

        let mut tx = db.begin().await.unwrap();
        assert_eq!(refuse_running(&mut tx, table.id).await.unwrap_err().code(), "change_running");
        assert_eq!(claim(&mut tx, kept.id).await.unwrap(), Some(false));
        assert_eq!(claim(&mut tx, kept.id).await.unwrap(), Some(true));
        let failure = Failure::new(502, "change_failed", "it's \0 so");
        let ended = ChangeResult {
            statements: kept.statements.clone(),
            failure: Some(failure.clone()),
            ..ChangeResult::default()
        };
        assert!(end(&mut tx, kept.id, &ended, 20).await.unwrap());
        assert!(!end(&mut tx, kept.id, &ChangeResult::default(), 30).await.unwrap());
        assert_eq!(claim(&mut tx, kept.id).await.unwrap(), None);
        refuse_running(&mut tx, table.id).await.unwrap();
        tx.commit().await.unwrap();
        let found = find(&db, kept.id).await.unwrap().unwrap();
        assert_eq!((found.state, found.finished_at_ms), (State::Failed, Some(20)));
        assert_eq!((found.failure, found.wanted), (Some(failure), kept.wanted));

        let second = started(&db, &table, cluster).await.unwrap();
        let listed: Vec<i64> =
            of_table(&db, table.id).await.unwrap().iter().map(|change| change.id).collect();
        assert_eq!(listed, [second.id, kept.id]);
        assert_eq!(db.execute(RETAINED.purge, &[i64::MAX.into(), 10.into()]).await.unwrap(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_running_change_reserves_both_names() {
    on_each_store(async |db| {
        let (table, cluster) = table(&db).await;
        let kept = started(&db, &table, cluster).await.unwrap();
        let mut tx = db.begin().await.unwrap();
        for name in ["t", "u"] {
            let wanted = Definition { table_name: name.to_owned(), ..table.definition.clone() };
            assert!(definitions::store::is_taken(&mut tx, &wanted, 0).await.unwrap(), "{name}");
        }
        // A synchronization that comes between the database and the catalogue.
        let found = renamed("u");
        let taken = take(&mut tx, cluster, &found, 15).await;
        assert_eq!((taken.tables.new, taken.seen), (0, vec![table.id]));
        assert_eq!(missing(&mut tx, cluster, 12).await, 0);
        assert_eq!(reconcile::count_of(&mut tx, cluster).await.unwrap(), 1);

        assert!(end(&mut tx, kept.id, &ChangeResult::default(), 20).await.unwrap());
        definitions::store::update(&mut tx, table.id, &kept.wanted.table, true, 20).await.unwrap();
        // A snapshot from before the end has the table under its old name, or without the added field.
        for name in ["t", "u"] {
            let taken = take(&mut tx, cluster, &renamed(name), 20).await;
            assert_eq!((taken.tables, taken.fields), <_>::default(), "{name}");
        }
        let taken = take(&mut tx, cluster, &found, 21).await;
        assert_eq!((taken.tables.new, taken.tables.updated, taken.fields.new), (0, 1, 1));
        let whole = definitions::store::lock(&mut tx, table.id).await.unwrap().unwrap();
        assert_eq!((whole.record.definition.table_name.as_str(), whole.fields.len()), ("u", 1));
        // A snapshot that began before the end lacks the change; a later one has it.
        assert_eq!(missing(&mut tx, cluster, 12).await, 0);
        assert_eq!(missing(&mut tx, cluster, 25).await, 1);
    })
    .await;
}

/// Reconciles a snapshot with one table that began at this time.
async fn take(tx: &mut Tx, cluster_id: i64, found: &FoundTable, began_ms: i64) -> reconcile::Reconciled {
    let (listed, found) = ([found.name.clone()], std::slice::from_ref(found));
    let look =
        Snapshot { cluster_id, database: "main", listed: &listed, found, began_ms, source: Source::Sync };
    reconcile::reconcile(tx, &look, 30).await.unwrap()
}

/// The number of tables that an empty snapshot, begun at this time, marks as missing.
async fn missing(tx: &mut Tx, cluster: i64, began_ms: i64) -> i64 {
    let (seen, unread) = (HashSet::new(), HashSet::new());
    reconcile::mark_missing(tx, cluster, 0, &seen, &unread, began_ms, 30).await.unwrap().missing
}

fn renamed(name: &str) -> FoundTable {
    let field = FoundField {
        name: "id".to_owned(),
        type_text: "INTEGER".to_owned(),
        comment: None,
        is_key: true,
        is_nullable: true,
        default: None,
    };
    FoundTable {
        name: name.to_owned(),
        comment: None,
        model: None,
        distribution: None,
        buckets: None,
        replicas: None,
        keys: Some("id".to_owned()),
        partition: None,
        foreign_keys: "[]".to_owned(),
        fields: vec![field],
    }
}
