use lakeport_sdk::dialect::{AddField, DropField, DropTable, OtherChange, RenameTable, SetCount};

use super::*;

fn set(name: &str) -> std::collections::BTreeSet<String> {
    [name.to_owned()].into()
}

#[test]
fn all_errors_of_a_new_table_together() {
    let table = Table {
        name: TableName::new("shop", "n".repeat(64)),
        model: Some("DUPLICATE".to_owned()),
        buckets: Some(3),
        replicas: Some(2),
        distribution: vec!["id".to_owned()],
        partition: vec!["nobody".to_owned()],
        keys: vec!["doc".to_owned()],
        fields: vec![
            field("id", "INT COMMENT 'x'"),
            Field { defaults_to: DefaultValue::Number("1e3".to_owned()), ..field("ctid", "int") },
            field("doc", "json"),
            field("doc", "text"),
        ],
        ..orders()
    };
    assert_eq!(
        refused(Change::CreateTable(table)),
        pairs(&[
            ("tableName", "name_too_long"),
            ("tableModel", "unsupported_by_dialect"),
            ("distributionColumn", "unsupported_by_dialect"),
            ("bucketNum", "unsupported_by_dialect"),
            ("replicaNum", "unsupported_by_dialect"),
            ("fields[0].fieldType", "invalid_value"),
            ("fields[1].fieldName", "invalid_name"),
            ("fields[1].defaultValue", "not_representable"),
            ("fields[3].fieldName", "conflict"),
            ("keyColumns", "invalid_value"),
            ("partitionColumn", "invalid_value"),
        ])
    );
    let empty = Table { fields: Vec::new(), keys: Vec::new(), ..orders() };
    assert_eq!(refused(Change::CreateTable(empty)), pairs(&[("fields", "missing")]));
}

#[test]
fn a_partitioned_key_includes_the_partition_column() {
    let table = Table { partition: vec!["total".to_owned()], ..orders() };
    assert_eq!(refused(Change::CreateTable(table)), pairs(&[("partitionColumn", "invalid_value")]));
}

#[test]
fn used_or_inherited_tables_are_not_dropped() {
    let drop = |facts: TableFacts| {
        refused(Change::DropTable(DropTable { current: with_facts(&facts), at_once: true }))
    };
    let conflict = pairs(&[("", "conflict")]);
    assert_eq!(drop(TableFacts { users: set("the view shop.v"), ..TableFacts::default() }), conflict);
    assert_eq!(drop(TableFacts { children: set("shop.heir"), ..TableFacts::default() }), conflict);
    let partition = TableFacts { partition_of: Some("shop.all".to_owned()), ..TableFacts::default() };
    assert_eq!(drop(partition.clone()), conflict);
    let rename = RenameTable { current: with_facts(&partition), new_name: "old".to_owned() };
    assert_eq!(refused(Change::RenameTable(rename)), conflict);
    let extension = TableFacts { extension: Some("postgis".to_owned()), ..TableFacts::default() };
    assert_eq!(drop(extension), pairs(&[("", "unsupported_by_dialect")]));
    let unread = Table { extra: None, ..orders() };
    let dropped = refused(Change::DropTable(DropTable { current: unread, at_once: true }));
    assert_eq!(dropped, pairs(&[("", "unsupported_by_dialect")]));
}

#[test]
fn a_name_that_would_be_cut_off_is_refused() {
    let rename = |name: String| Change::RenameTable(RenameTable { current: orders(), new_name: name });
    assert_eq!(refused(rename("長".repeat(22))), pairs(&[("tableName", "name_too_long")]));
    assert_eq!(sql(rename("長".repeat(21))).len(), 1);
    let long = alter(orders(), "note", |after| after.name = "x".repeat(64));
    assert_eq!(refused(long), pairs(&[("fieldName", "name_too_long")]));
}

#[test]
fn properties_lost_by_retyping_block_it() {
    let facts = [
        FieldFacts { collation: Some("\"C\"".to_owned()), ..FieldFacts::default() },
        FieldFacts { storage: set("storage EXTERNAL"), ..FieldFacts::default() },
        FieldFacts { inherited: true, ..FieldFacts::default() },
        FieldFacts { identity: Some("always".to_owned()), ..FieldFacts::default() },
    ];
    for facts in facts {
        let change =
            alter(with_field_facts("total", &facts), "total", |after| after.type_text = "numeric".to_owned());
        assert_eq!(refused(change), pairs(&[("fieldType", "unsupported_by_dialect")]), "{facts:?}");
    }
    let used = FieldFacts { users: set("the view shop.v"), ..FieldFacts::default() };
    let change =
        alter(with_field_facts("total", &used), "total", |after| after.type_text = "numeric".to_owned());
    assert_eq!(refused(change), pairs(&[("fieldType", "conflict")]));
    let lossy = alter(orders(), "total", |after| after.type_text = "numeric(9,2)".to_owned());
    assert_eq!(refused(lossy), pairs(&[("fieldType", "unsupported_by_dialect")]));
    let mut strange = orders();
    strange.fields[2].type_text = "shop.mood".to_owned();
    let change = alter(strange, "total", |after| after.type_text = "text".to_owned());
    assert_eq!(refused(change), pairs(&[("fieldType", "unsupported_by_dialect")]));
}

#[test]
fn defaults_of_heirs_and_partitions_are_not_overwritten() {
    let heirs = || with_facts(&TableFacts { children: set("shop.heir"), ..TableFacts::default() });
    let another = |after: &mut Field| after.defaults_to = DefaultValue::Text("x".to_owned());
    let of_default = pairs(&[("defaultValue", "unsupported_by_dialect")]);
    assert_eq!(refused(alter(heirs(), "note", another)), of_default);
    assert_eq!(sql(alter(heirs(), "note", |after| after.comment = "x".to_owned())).len(), 1);

    let differ = FieldFacts { defaults_differ: true, ..FieldFacts::default() };
    let of_partitions = || with_field_facts("note", &differ);
    assert_eq!(refused(alter(of_partitions(), "note", another)), of_default);
    let retype = alter(of_partitions(), "note", |after| after.type_text = "varchar".to_owned());
    assert_eq!(refused(retype), pairs(&[("fieldType", "unsupported_by_dialect")]));
    assert_eq!(sql(alter(of_partitions(), "note", |after| after.nullable = false)).len(), 1);
}

#[test]
fn the_key_stays_as_it_is() {
    let unsupported = |member: &str| pairs(&[(member, "unsupported_by_dialect")]);
    let retype = alter(orders(), "id", |after| after.type_text = "numeric".to_owned());
    assert_eq!(refused(retype), unsupported("fieldType"));
    assert_eq!(refused(alter(orders(), "id", |after| after.nullable = true)), unsupported("isNullable"));
    assert_eq!(refused(alter(orders(), "note", |after| after.key = true)), unsupported("isPrimaryKey"));
    let drop = DropField { current: orders(), field: "id".to_owned() };
    assert_eq!(refused(Change::DropField(drop)), unsupported("fieldName"));
    assert_eq!(sql(alter(orders(), "id", |after| after.name = "number".to_owned())).len(), 1);
}

#[test]
fn a_field_that_others_need_is_not_dropped() {
    let drop = |facts: &FieldFacts| {
        let current = with_field_facts("note", facts);
        refused(Change::DropField(DropField { current, field: "note".to_owned() }))
    };
    let conflict = pairs(&[("fieldName", "conflict")]);
    assert_eq!(drop(&FieldFacts { users: set("the view shop.v"), ..FieldFacts::default() }), conflict);
    assert_eq!(drop(&FieldFacts { shared: set("index by_both"), ..FieldFacts::default() }), conflict);
    let partitioned = Table { partition: vec!["note".to_owned()], ..orders() };
    let change = Change::DropField(DropField { current: partitioned, field: "note".to_owned() });
    assert_eq!(refused(change), pairs(&[("fieldName", "unsupported_by_dialect")]));
    let nobody = Change::DropField(DropField { current: orders(), field: "nobody".to_owned() });
    assert_eq!(refused(nobody), pairs(&[("fieldName", "missing")]));
}

#[test]
fn a_field_unaddable_to_rows_is_refused() {
    for (field, expected) in [
        (Field { nullable: false, ..field("x", "int") }, ("isNullable", "unsupported_by_dialect")),
        (Field { key: true, ..field("x", "int") }, ("isPrimaryKey", "unsupported_by_dialect")),
        (field("note", "int"), ("fieldName", "conflict")),
        (field("x", "datetime"), ("fieldType", "invalid_value")),
        (
            Field { defaults_to: DefaultValue::Text("7".to_owned()), ..field("x", "int") },
            ("defaultValue", "not_representable"),
        ),
    ] {
        let change = Change::AddField(AddField { current: orders(), field, behind: None });
        assert_eq!(refused(change), pairs(&[expected]));
    }
    let heirs = with_facts(&TableFacts { children: set("shop.heir"), ..TableFacts::default() });
    let change = Change::AddField(AddField { current: heirs, field: field("x", "int"), behind: None });
    assert_eq!(refused(change), pairs(&[("", "unsupported_by_dialect")]));
}

#[test]
fn what_postgresql_has_nothing_for_is_refused_by_member() {
    let count = || SetCount { current: orders(), count: 3 };
    let other = OtherChange { operation: "vacuum".to_owned(), current: None, input: "{}".to_owned() };
    for (change, member) in [
        (Change::SetBuckets(count()), "bucketNum"),
        (Change::SetReplicas(count()), "replicaNum"),
        (Change::Other(other), ""),
    ] {
        assert_eq!(refused(change), pairs(&[(member, "unsupported_by_dialect")]));
    }
}

#[test]
fn a_generating_field_can_only_be_renamed() {
    let mut table = orders();
    table.fields.push(Field { generated: Some("(total * 2)".to_owned()), ..field("twice", "numeric") });
    let drop = DropField { current: table.clone(), field: "total".to_owned() };
    assert_eq!(refused(Change::DropField(drop)), pairs(&[("fieldName", "conflict")]));
    let retype = alter(table.clone(), "total", |after| after.type_text = "numeric".to_owned());
    assert_eq!(refused(retype), pairs(&[("fieldType", "conflict")]));
    let (plan, _) = checked(alter(table, "total", |after| after.name = "sum".to_owned()));
    assert_eq!(plan.notes[0].member, "fields[3].generated");
}
