//! JSON within an answer that was written before.

use serde::ser::{Serialize, SerializeStruct as _, Serializer};

/// What tells serde_json to write a text as it is; [`serde_json::value::RawValue`] does it so, too, but reads the text first.
const AS_IT_IS: &str = "$serde_json::private::RawValue";

/// A text that is JSON. Nothing checks it: it is for what this program itself has written.
pub struct WrittenJson<T = String>(pub T);

impl<T: AsRef<str>> Serialize for WrittenJson<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut written = serializer.serialize_struct(AS_IT_IS, 1)?;
        written.serialize_field(AS_IT_IS, self.0.as_ref())?;
        written.end()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn it_is_written_as_it_is() {
        let answer = BTreeMap::from([("a", WrittenJson("[1, {\"b\":null}]".to_owned()))]);
        assert_eq!(serde_json::to_string(&answer).unwrap(), "{\"a\":[1, {\"b\":null}]}");
    }
}
