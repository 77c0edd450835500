//! Separates changes made directly in the database from a change made by Lakeport: those that the latter does
//! not concern. Pure functions.

use std::collections::HashMap;

use super::{Schema, Shape};

/// The member that depends on the fields.
const KEYS: &str = "keyColumns";

/// The schema that the change found: between the catalogue's earlier one (`then`) and the current one
/// (`now`), where `wanted` is the result of the change alone. Without foreign changes it equals `then`.
pub fn found_before(then: &Schema, wanted: &Schema, now: &Schema) -> Schema {
    let fields = Fields::of(then, wanted, now);
    let are_keys_changed = fields.are_keys_changed();
    let member = |place: usize| {
        let (name, value) = &then.members[place];
        let is_of_change = wanted.members[place].1 != *value || (*name == KEYS && are_keys_changed);
        if is_of_change { (*name, value.clone()) } else { now.members[place].clone() }
    };
    let is_renamed = wanted.table_name != then.table_name;
    let is_commented = wanted.comment != then.comment;
    Schema {
        table_name: if is_renamed { &then.table_name } else { &now.table_name }.clone(),
        comment: if is_commented { &then.comment } else { &now.comment }.clone(),
        members: (0..then.members.len()).map(member).collect(),
        fields: fields.found(),
    }
}

/// The fields of the three, matched by id.
struct Fields<'s> {
    then: &'s Schema,
    now: &'s Schema,
    of_then: HashMap<i64, &'s Shape>,
    of_wanted: HashMap<i64, &'s Shape>,
    of_now: HashMap<i64, &'s Shape>,
}

impl<'s> Fields<'s> {
    fn of(then: &'s Schema, wanted: &'s Schema, now: &'s Schema) -> Fields<'s> {
        let by_id = |schema: &'s Schema| schema.fields.iter().map(|field| (field.id, field)).collect();
        Fields { then, now, of_then: by_id(then), of_wanted: by_id(wanted), of_now: by_id(now) }
    }

    /// Whether the change adds, drops or alters it.
    fn is_changed(&self, id: i64) -> bool {
        match (self.of_then.get(&id), self.of_wanted.get(&id)) {
            (Some(then), Some(wanted)) => then.name != wanted.name || then.members() != wanted.members(),
            (None, None) => false,
            _ => true,
        }
    }

    fn are_keys_changed(&self) -> bool {
        let all = self.of_then.iter().chain(&self.of_wanted);
        all.into_iter().any(|(id, field)| field.is_key && self.is_changed(*id))
    }

    /// In their current order; each index is a former one.
    fn found(&self) -> Vec<Shape> {
        let is_left = |field: &&Shape| !self.is_changed(field.id);
        let kept = |field: &&Shape| self.of_then.contains_key(&field.id) && is_left(field);
        let mut places: Vec<i64> = Vec::new();
        places.extend(
            self.then
                .fields
                .iter()
                .filter(|field| is_left(field) && self.of_now.contains_key(&field.id))
                .map(|field| field.place),
        );
        places.sort_unstable();
        let as_now = self.now.fields.iter().filter(kept).zip(places);
        let mut found: Vec<Shape> = as_now.map(|(field, place)| Shape { place, ..field.clone() }).collect();
        // Fields that the change concerns were as before.
        found.extend(self.then.fields.iter().filter(|field| !is_left(field)).cloned());
        let last = self.then.fields.iter().map(|field| field.place).max().unwrap_or_default();
        let is_new = |field: &&Shape| !self.of_then.contains_key(&field.id) && is_left(field);
        let new = self.now.fields.iter().filter(is_new).zip(last + 1..);
        found.extend(new.map(|(field, place)| Shape { place, ..field.clone() }));
        found.sort_by_key(|field| field.place);
        found
    }
}

#[cfg(test)]
mod tests {
    use super::super::difference::between;
    use super::*;

    fn field(id: i64, name: &str, type_text: &str, place: i64) -> Shape {
        Shape {
            id,
            name: name.to_owned(),
            type_text: type_text.to_owned(),
            comment: None,
            is_key: name == "id",
            is_nullable: true,
            default: None,
            place,
        }
    }

    fn schema(keys: &str, fields: &[Shape]) -> Schema {
        Schema {
            table_name: "t".to_owned(),
            comment: None,
            members: vec![("bucketNum", 4.into()), (KEYS, keys.into())],
            fields: fields.to_vec(),
        }
    }

    /// The changes of the two steps, each as `what field`.
    fn told(then: &Schema, wanted: &Schema, now: &Schema) -> [Vec<String>; 2] {
        let found = found_before(then, wanted, now);
        [(then, &found), (&found, now)].map(|(before, after)| {
            let parts = between(1, before, after).map(|new| new.parts).unwrap_or_default();
            let told = |part: &super::super::Part| {
                format!("{} {}", part.what, part.field.clone().or(part.member.clone()).unwrap_or_default())
            };
            parts.iter().map(told).collect()
        })
    }

    #[test]
    fn outside_changes_are_not_the_changes() {
        let id = field(1, "id", "INT", 1);
        let then = schema("id", &[id.clone(), field(2, "name", "TEXT", 2)]);
        let wanted = schema("id", &[id.clone(), field(2, "name", "TEXT", 2), field(3, "w", "INT", 3)]);
        let now = schema("id", &[id, field(4, "extra", "INT", 2), field(3, "w", "INT", 3)]);
        let [found, changed] = told(&then, &wanted, &now);
        assert_eq!(found, ["field_added extra", "field_removed name"]);
        assert_eq!(changed, ["field_added w"]);
    }

    #[test]
    fn a_change_owns_its_consequences() {
        let [id, a, b] = [field(1, "id", "INT", 1), field(2, "a", "INT", 2), field(3, "b", "INT", 3)];
        let then = schema("id", &[id.clone(), a.clone(), b.clone()]);
        // Dropped: later ones move up.
        let dropped = schema("id", &[id.clone(), field(3, "b", "INT", 2)]);
        assert_eq!(
            told(&then, &schema("id", &[id.clone(), b.clone()]), &dropped),
            [vec![], vec!["field_removed a".to_owned()]]
        );
        // Renamed and retyped.
        let wanted = schema("id", &[id.clone(), field(2, "c", "BIGINT", 2), b.clone()]);
        let now = schema("id", &[id, field(2, "c", "bigint(20)", 2), b]);
        let [found, changed] = told(&then, &wanted, &now);
        assert_eq!(
            (found.len(), changed),
            (0, vec!["field_renamed c".to_owned(), "field_changed c".to_owned()])
        );
    }

    #[test]
    fn members_and_order_are_separated_too() {
        let [id, a, b] = [field(1, "id", "INT", 1), field(2, "a", "INT", 2), field(3, "b", "INT", 3)];
        let then = schema("id", &[id.clone(), a.clone(), b.clone()]);
        let mut now = schema("id", &[id.clone(), field(3, "b", "TEXT", 2), field(2, "a", "INT", 3)]);
        now.members[0].1 = 8.into();
        now.comment = Some("said".to_owned());
        let wanted = Schema { comment: Some("said".to_owned()), ..then.clone() };
        let [found, changed] = told(&then, &wanted, &now);
        assert_eq!(found, ["table_changed bucketNum", "field_changed b", "fields_reordered "]);
        assert_eq!(changed, ["comment_changed "]);
        // Keys depend on the fields of the change.
        let key = Shape { is_key: true, ..field(4, "k", "INT", 4) };
        let wanted = schema("id", &[id.clone(), a.clone(), b.clone(), key.clone()]);
        let [found, changed] = told(&then, &wanted, &schema("id,k", &[id, a, b, key]));
        assert_eq!(
            (found.len(), changed),
            (0, vec![format!("table_changed {KEYS}"), "field_added k".to_owned()])
        );
    }
}
