//! What a plugin must not see of an answer: masked members, and secrets.

use serde_json::Value;

/// Writes null where the JSON Pointer leads, with `*` for every item of a list. What is not there stays so.
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

/// The bytes with `***` for each occurrence of a secret.
pub fn hide(bytes: Vec<u8>, secret: &[u8]) -> Vec<u8> {
    let find = |rest: &[u8]| rest.windows(secret.len()).position(|window| window == secret);
    if secret.is_empty() || find(&bytes).is_none() {
        return bytes;
    }
    let (mut rest, mut kept) = (&bytes[..], Vec::with_capacity(bytes.len()));
    while let Some(at) = find(rest) {
        kept.extend_from_slice(&rest[..at]);
        kept.extend_from_slice(b"***");
        rest = &rest[at + secret.len()..];
    }
    kept.extend_from_slice(rest);
    kept
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_mask_leads_through_lists() {
        let mut value = json!({"data": {"list": [{"a": 1}, {"a": {"b": 2}}, 3]}, "a/b": 4});
        for pointer in ["/data/list/*/a", "/data/list/2", "/a~1b", "/none/*/x"] {
            mask(&mut value, pointer);
        }
        assert_eq!(value, json!({"data": {"list": [{"a": null}, {"a": null}, null]}, "a/b": null}));
    }

    #[test]
    fn each_occurrence_of_a_secret_is_hidden() {
        assert_eq!(hide(b"a secret, secret".to_vec(), b"secret"), b"a ***, ***");
        assert_eq!(hide(b"none".to_vec(), b"secret"), b"none");
        assert_eq!(hide(b"none".to_vec(), b""), b"none");
    }
}
