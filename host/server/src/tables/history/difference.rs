//! The difference between two schemas of one table, and how to revert it.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use super::{New, Part, Schema, Shape, Undo};

/// The history entry for a change; `None` without a difference.
pub fn between(table_id: i64, before: &Schema, after: &Schema) -> Option<New> {
    let mut parts = of_table(before, after);
    parts.extend(of_fields(&before.fields, &after.fields));
    let undo = undo(&before.fields, &after.fields);
    if parts.is_empty() && undo == Undo::default() { None } else { Some(New { table_id, parts, undo }) }
}

fn of_table(before: &Schema, after: &Schema) -> Vec<Part> {
    let part = |what: &str, member: Option<&str>, before: Value, after: Value| Part {
        what: what.to_owned(),
        field: None,
        member: member.map(str::to_owned),
        before,
        after,
    };
    let mut parts = Vec::new();
    if before.table_name != after.table_name {
        let (before, after) = (before.table_name.as_str(), after.table_name.as_str());
        parts.push(part("table_renamed", None, before.into(), after.into()));
    }
    if before.comment != after.comment {
        let (before, after) = (before.comment.as_deref(), after.comment.as_deref());
        parts.push(part("comment_changed", None, before.into(), after.into()));
    }
    let members = before.members.iter().zip(&after.members).filter(|(before, after)| before != after);
    parts.extend(members.map(|((member, before), (_, after))| {
        part("table_changed", Some(member), before.clone(), after.clone())
    }));
    parts
}

/// Fields are matched by id, or by name if one side has no id.
fn of_fields(before: &[Shape], after: &[Shape]) -> Vec<Part> {
    let by_id: HashMap<i64, &Shape> =
        before.iter().filter(|field| field.id != 0).map(|field| (field.id, field)).collect();
    let by_name: HashMap<&str, &Shape> = before.iter().map(|field| (field.name.as_str(), field)).collect();
    let part = |what: &str, field: &str, before: Value, after: Value| Part {
        what: what.to_owned(),
        field: Some(field.to_owned()),
        member: None,
        before,
        after,
    };
    let (mut parts, mut kept) = (Vec::new(), Vec::new());
    for now in after {
        let then = match now.id {
            0 => by_name.get(now.name.as_str()),
            id => by_id.get(&id),
        };
        let Some(then) = then else {
            parts.push(part("field_added", &now.name, Value::Null, now.type_text.as_str().into()));
            continue;
        };
        kept.push(*then);
        if then.name != now.name {
            parts.push(part("field_renamed", &now.name, then.name.as_str().into(), now.name.as_str().into()));
        }
        let members = then.members().into_iter().zip(now.members()).filter(|(then, now)| then != now);
        parts.extend(members.map(|((member, then), (_, now_value))| Part {
            member: Some(member.to_owned()),
            ..part("field_changed", &now.name, then, now_value)
        }));
    }
    let are_kept: HashSet<&str> = kept.iter().map(|field| field.name.as_str()).collect();
    let removed = before.iter().filter(|field| !are_kept.contains(field.name.as_str()));
    parts.extend(
        removed.map(|field| part("field_removed", &field.name, field.type_text.as_str().into(), Value::Null)),
    );
    if !kept.is_sorted_by_key(|field| field.place) {
        let names = |fields: &mut dyn Iterator<Item = &Shape>| -> Value {
            fields.map(|field| field.name.clone()).collect::<Vec<String>>().into()
        };
        let (before, after) = (names(&mut before.iter()), names(&mut after.iter()));
        let what = "fields_reordered".to_owned();
        parts.push(Part { what, field: None, member: None, before, after });
    }
    parts
}

fn undo(before: &[Shape], after: &[Shape]) -> Undo {
    let then: HashMap<&str, &Shape> = before.iter().map(|field| (field.name.as_str(), field)).collect();
    let now: HashMap<&str, &Shape> = after.iter().map(|field| (field.name.as_str(), field)).collect();
    let is_other = |field: &&Shape| now.get(field.name.as_str()).is_none_or(|now| !now.is_as(field));
    Undo {
        remove: after
            .iter()
            .filter(|field| !then.contains_key(field.name.as_str()))
            .map(|field| field.name.clone())
            .collect(),
        put: before.iter().filter(is_other).cloned().collect(),
    }
}

/// The fields of an older version, in order: the current ones with each step reverted, newest first.
pub fn taken_back(now: Vec<Shape>, steps: impl IntoIterator<Item = Undo>) -> Vec<Shape> {
    let mut fields: BTreeMap<String, Shape> =
        now.into_iter().map(|field| (field.name.clone(), field)).collect();
    for step in steps {
        for name in step.remove {
            fields.remove(&name);
        }
        fields.extend(step.put.into_iter().map(|field| (field.name.clone(), field)));
    }
    let mut fields: Vec<Shape> = fields.into_values().collect();
    fields.sort_by_key(|field| field.place);
    fields
}

impl Shape {
    /// The members that a change can show, by the interface's names.
    pub(super) fn members(&self) -> [(&'static str, Value); 5] {
        [
            ("fieldType", self.type_text.as_str().into()),
            ("fieldComment", self.comment.as_deref().into()),
            ("isPrimaryKey", self.is_key.into()),
            ("isNullable", self.is_nullable.into()),
            ("defaultValue", self.default.as_deref().into()),
        ]
    }

    /// Equal apart from the id, which a newly found field does not have yet.
    fn is_as(&self, other: &Shape) -> bool {
        (self.place, &self.name) == (other.place, &other.name) && self.members() == other.members()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(id: i64, name: &str, type_text: &str, place: i64) -> Shape {
        Shape {
            id,
            name: name.to_owned(),
            type_text: type_text.to_owned(),
            comment: None,
            is_key: false,
            is_nullable: true,
            default: None,
            place,
        }
    }

    fn schema(name: &str, fields: Vec<Shape>) -> Schema {
        Schema { table_name: name.to_owned(), comment: None, members: vec![("bucketNum", 4.into())], fields }
    }

    fn told(new: &New) -> Vec<String> {
        let told = |part: &Part| {
            let of = [Some(part.what.as_str()), part.field.as_deref(), part.member.as_deref()];
            let of: Vec<&str> = of.into_iter().flatten().collect();
            format!("{} {}>{}", of.join(" "), part.before, part.after)
        };
        new.parts.iter().map(told).collect()
    }

    /// Fields without ids, as read from the store.
    fn shown(fields: &[Shape]) -> Vec<Shape> {
        fields.iter().map(|field| Shape { id: 0, ..field.clone() }).collect()
    }

    #[test]
    fn what_is_the_same_is_no_change() {
        let one = schema("t", vec![field(1, "a", "INT", 1)]);
        assert!(between(7, &one, &one).is_none());
        let found = schema("t", vec![field(0, "a", "INT", 1)]);
        assert!(between(7, &one, &found).is_none());
    }

    #[test]
    fn each_change_is_listed_with_undo() {
        let before = schema(
            "t",
            vec![
                field(1, "a", "INT", 1),
                field(2, "b", "INT", 2),
                field(3, "c", "INT", 3),
                field(4, "d", "INT", 4),
            ],
        );
        let mut after = schema(
            "u",
            vec![
                field(1, "a", "BIGINT", 1),
                field(3, "e", "INT", 2),
                field(4, "d", "INT", 3),
                field(5, "c", "TEXT", 4),
            ],
        );
        after.comment = Some("said".to_owned());
        after.members = vec![("bucketNum", 8.into())];
        let new = between(7, &before, &after).unwrap();
        assert_eq!(
            told(&new),
            [
                "table_renamed \"t\">\"u\"",
                "comment_changed null>\"said\"",
                "table_changed bucketNum 4>8",
                "field_changed a fieldType \"INT\">\"BIGINT\"",
                "field_renamed e \"c\">\"e\"",
                "field_added c null>\"TEXT\"",
                "field_removed b \"INT\">null",
            ]
        );
        let back = taken_back(shown(&after.fields), [new.undo]);
        assert_eq!(shown(&back), shown(&before.fields));
    }

    #[test]
    fn reordering_is_one_change_shifts_none() {
        let abc = |places: [i64; 3]| {
            let mut fields: Vec<Shape> = ["a", "b", "c"]
                .into_iter()
                .zip(places)
                .zip(1..)
                .map(|((name, place), id)| field(id, name, "INT", place))
                .collect();
            fields.sort_by_key(|field| field.place);
            schema("t", fields)
        };
        let new = between(7, &abc([1, 2, 3]), &abc([2, 1, 3])).unwrap();
        assert_eq!(told(&new), ["fields_reordered [\"a\",\"b\",\"c\"]>[\"b\",\"a\",\"c\"]"]);
        assert_eq!(
            shown(&taken_back(shown(&abc([2, 1, 3]).fields), [new.undo])),
            shown(&abc([1, 2, 3]).fields)
        );
        let shifted =
            between(7, &abc([1, 2, 3]), &schema("t", vec![field(2, "b", "INT", 1), field(3, "c", "INT", 2)]));
        assert_eq!(told(&shifted.unwrap()), ["field_removed a \"INT\">null"]);
    }
}
