//! Shortens a tool's output for models and events: cuts long lists and texts, and reports that.

use lakeport_base::text::shortened;
use serde_json::{Map, Value};

/// Deeper values are dropped.
const DEPTH_MAX: usize = 24;
/// The limits of the first try: items of a list, characters of a text.
const ITEMS: usize = 200;
const CHARS: usize = 8_000;

/// The value within so many bytes of JSON, and whether it was cut.
pub fn within(value: Value, bytes_max: usize) -> (Value, bool) {
    if size(&value) <= bytes_max {
        return (value, false);
    }
    let (mut items, mut chars) = (ITEMS, CHARS);
    while items > 0 {
        let short = cut(&value, items, chars, DEPTH_MAX);
        if size(&short) <= bytes_max {
            return (short, true);
        }
        (items, chars) = (items / 2, chars / 2);
    }
    (Value::Null, true)
}

fn size(value: &Value) -> usize {
    value.to_string().len()
}

fn cut(value: &Value, items: usize, chars: usize, depth: usize) -> Value {
    match value {
        Value::Array(_) | Value::Object(_) if depth == 0 => Value::Null,
        Value::Array(list) => {
            list.iter().take(items).map(|item| cut(item, items, chars, depth - 1)).collect::<Vec<_>>().into()
        }
        Value::Object(members) => {
            let short =
                |(name, member): (&String, &Value)| (name.clone(), cut(member, items, chars, depth - 1));
            Value::Object(members.iter().take(items).map(short).collect::<Map<_, _>>())
        }
        Value::String(text) => shortened(text, chars).into(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_short_enough_stays_as_it_is() {
        let value = json!({ "rows": [[1, "a"]], "more": false });
        assert_eq!(within(value.clone(), 1_000), (value, false));
    }

    #[test]
    fn long_lists_and_texts_lose_their_ends() {
        let value = json!({ "rows": (0..10_000).collect::<Vec<i32>>(), "text": "x".repeat(100_000) });
        let (short, is_cut) = within(value, 4_000);
        assert!(is_cut && size(&short) <= 4_000, "{short}");
        assert_eq!(short["rows"][0], 0);
        assert!(short["text"].as_str().unwrap().ends_with('…'));
    }

    #[test]
    fn nesting_without_end_is_cut_off() {
        let deep = (0..100).fold(json!("x".repeat(9_000)), |inner, _| json!([inner]));
        let (short, is_cut) = within(deep, 500);
        assert!(is_cut && size(&short) <= 500);
    }
}
