//! The mask of a call rule: JSON Pointers, with `*` for every item of a list.

use serde_json::Value;

/// Writes null where the pointer leads. What is not there stays so.
pub fn mask(value: &mut Value, pointer: &str) {
    let segments: Vec<String> = pointer
        .strip_prefix('/')
        .unwrap_or_default()
        .split('/')
        .map(|segment| segment.replace("~1", "/").replace("~0", "~"))
        .collect();
    mask_at(value, &segments);
}

fn mask_at(value: &mut Value, segments: &[String]) {
    let Some((segment, rest)) = segments.split_first() else {
        *value = Value::Null;
        return;
    };
    match value {
        Value::Array(items) if segment == "*" => items.iter_mut().for_each(|item| mask_at(item, rest)),
        Value::Array(items) => {
            let item = segment.parse::<usize>().ok().and_then(|index| items.get_mut(index));
            item.into_iter().for_each(|item| mask_at(item, rest));
        }
        Value::Object(members) => {
            members.get_mut(segment).into_iter().for_each(|member| mask_at(member, rest));
        }
        _ => {}
    }
}
