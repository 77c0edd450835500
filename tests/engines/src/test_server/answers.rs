//! What a call is asked with, and how it is answered.

use serde_json::{Value, json};

use super::Generation;

/// Data, or a refusal.
pub type Outcome = Result<Value, Refusal>;

/// A code of DolphinScheduler with its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub code: i64,
    pub text: String,
}

impl Refusal {
    pub fn new(code: i64, text: impl Into<String>) -> Refusal {
        Refusal { code, text: text.into() }
    }
}

/// Refuses with a code.
pub fn refuse<T>(code: i64, text: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal::new(code, text))
}

pub fn envelope(outcome: Outcome) -> Value {
    match outcome {
        Ok(data) => json!({"code": 0, "msg": "success", "data": data, "failed": false, "success": true}),
        Err(refusal) => json!({
            "code": refusal.code, "msg": refusal.text, "data": null, "failed": true, "success": false,
        }),
    }
}

/// What a request says. Names are those of 3.2, in each generation.
#[derive(Debug)]
pub struct Args {
    pub generation: Generation,
    /// The numbers in the path; the project is not among them.
    pub place: Vec<i64>,
    /// By the names of the generation.
    pub params: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Args {
    pub fn get(&self, name: &str) -> Option<&str> {
        let name = self.generation.word(name);
        self.params.iter().find(|(known, _)| *known == name).map(|(_, value)| value.as_str())
    }

    /// The same, where absent is empty.
    pub fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    pub fn word(&self, name: &str, default: &str) -> String {
        self.get(name).filter(|word| !word.is_empty()).unwrap_or(default).to_owned()
    }

    /// Numbers were checked before.
    pub fn number(&self, name: &str) -> Option<i64> {
        self.get(name)?.trim().parse().ok()
    }

    /// The last number in the path.
    pub fn id(&self) -> i64 {
        self.place.last().copied().unwrap_or_default()
    }

    /// The asked page of these rows. `pageNo` of the answer is the row that it begins with.
    pub fn page(&self, rows: &[Value]) -> Outcome {
        let at_least_one = |name: &str| {
            let number = self.number(name).and_then(|number| usize::try_from(number).ok());
            let wrong = || Refusal::new(10_001, format!("request parameter {name} is not valid"));
            number.filter(|number| *number > 0).ok_or_else(wrong)
        };
        let (number, size) = (at_least_one("pageNo")?, at_least_one("pageSize")?);
        let (offset, total) = ((number - 1).saturating_mul(size), rows.len());
        let rows: Vec<&Value> = rows.iter().skip(offset).take(size).collect();
        Ok(json!({
            "totalList": rows,
            "total": total,
            "totalPage": (total > 0).then(|| total.div_ceil(size)),
            "pageSize": size,
            "currentPage": number,
            "pageNo": offset,
        }))
    }
}

/// A row that is written with the names of 3.2, with those of its generation.
pub fn named(generation: Generation, row: Value) -> Value {
    match row {
        Value::Object(members) => {
            members.into_iter().map(|(name, value)| (generation.word(&name), value)).collect()
        }
        other => other,
    }
}

/// A row of two parts: one alone is too much for the macro.
pub fn joined(row: Value, more: Value) -> Value {
    match (row, more) {
        (Value::Object(row), Value::Object(more)) => row.into_iter().chain(more).collect(),
        (row, _) => row,
    }
}
