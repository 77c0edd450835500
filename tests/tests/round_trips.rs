//! A property test: for any definition, the created table has that definition. A data source that does not
//! know the definition reads the table, and the results are compared.
//!
//! The tables are derived from a seed, which a failure names:
//! `LAKEPORT_TEST_SEED=… cargo test --test round_trips` repeats them.

use std::collections::HashSet;

use lakeport_tests::{Kind, Lake, Warehouse, everywhere, id_of};
use serde_json::{Value, json};

const TABLES: &str = "/api/v1/tables";
/// Tables of each database, and more in the slow tier.
const CASES: usize = 60;
const CASES_SLOW: usize = 1_000;
const FIELDS_MAX: usize = 8;
/// The longest comment, in characters; every database here takes it.
const COMMENT_MAX: usize = 200;
const SEED: u64 = 20_260_101;

/// Characters with a meaning in some database, or of more than one byte.
const ODD: [char; 32] = [
    'a', 'B', 'z', '0', '9', '_', '-', ' ', '.', ',', ';', ':', '\'', '"', '`', '\\', '/', '*', '%', '$',
    '{', '}', '(', ')', '#', '@', '?', '表', 'ü', 'é', '№', 'ß',
];
/// Additional characters for texts, which accept more than names.
const ODDER: [char; 6] = ['\n', '\t', '\r', '✓', '\u{200b}', '\u{202e}'];

/// A deterministic generator: SplitMix64.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let bound = u64::try_from(bound).expect("it is small");
        usize::try_from((mixed ^ (mixed >> 31)) % bound).expect("it is below one")
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn of<'o, T>(&mut self, options: &'o [T]) -> &'o T {
        &options[self.below(options.len())]
    }

    fn text(&mut self, at_most: usize) -> String {
        let length = self.below(at_most + 1);
        (0..length).map(|_| *if self.one_in(12) { self.of(&ODDER) } else { self.of(&ODD) }).collect()
    }

    /// A name that every database accepts and that differs from all of `taken`, ignoring case and accents.
    fn name(&mut self, kind: Kind, taken: &mut HashSet<String>) -> String {
        const KEYWORDS: [&str; 8] = ["select", "table", "order", "group", "key", "primary", "from", "null"];
        loop {
            let longest = if self.one_in(6) { 60 } else { 12 };
            let length = 1 + self.below(longest);
            let drawn: String = (0..length).map(|_| *self.of(&ODD)).collect();
            let drawn =
                if self.one_in(8) { (*self.of(&KEYWORDS)).to_owned() } else { drawn.trim().to_owned() };
            let folded: String = drawn
                .to_lowercase()
                .chars()
                .map(|c| match c {
                    'ü' => 'u',
                    'é' => 'e',
                    'ß' => 's',
                    c => c,
                })
                .collect();
            if !drawn.is_empty() && fits(kind, &drawn) && taken.insert(folded) {
                return drawn;
            }
        }
    }
}

/// The limits of names. MariaDB uses a table's name as a file name, in which odd characters take five bytes.
fn fits(kind: Kind, name: &str) -> bool {
    let of_file: usize =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { 1 } else { 5 }).sum();
    match kind {
        Kind::Sqlite => true,
        Kind::Postgres => name.len() <= 63,
        Kind::Mariadb => of_file <= 240,
    }
}

/// A type in its dialect's spelling, and a default that it stores unchanged.
struct Sort {
    type_text: &'static str,
    default: fn(&mut Numbers) -> String,
    may_be_key: bool,
}

const fn sort(type_text: &'static str, default: fn(&mut Numbers) -> String, may_be_key: bool) -> Sort {
    Sort { type_text, default, may_be_key }
}

fn whole(numbers: &mut Numbers) -> String {
    (numbers.below(2_000) as i64 - 1_000).to_string()
}

fn hundredths(numbers: &mut Numbers) -> String {
    format!("{}.{:02}", numbers.below(1_000), numbers.below(100))
}

fn half(numbers: &mut Numbers) -> String {
    format!("{}.5", numbers.below(1_000))
}

fn short_text(numbers: &mut Numbers) -> String {
    numbers.text(20)
}

fn day(numbers: &mut Numbers) -> String {
    format!("20{:02}-{:02}-{:02}", numbers.below(30), 1 + numbers.below(12), 1 + numbers.below(28))
}

fn moment(numbers: &mut Numbers) -> String {
    if numbers.one_in(2) { "CURRENT_TIMESTAMP".to_owned() } else { format!("{} 12:30:05", day(numbers)) }
}

fn truth(numbers: &mut Numbers) -> String {
    (*numbers.of(&["true", "false"])).to_owned()
}

const OF_SQLITE: [Sort; 5] = [
    sort("INTEGER", whole, true),
    sort("REAL", half, false),
    sort("TEXT", short_text, true),
    sort("VARCHAR(20)", short_text, true),
    sort("NUMERIC(12,2)", hundredths, false),
];
const OF_POSTGRES: [Sort; 9] = [
    sort("integer", whole, true),
    sort("bigint", whole, true),
    sort("smallint", whole, false),
    sort("numeric(12,2)", hundredths, false),
    sort("double precision", half, false),
    sort("character varying(40)", short_text, true),
    sort("text", short_text, true),
    sort("boolean", truth, false),
    sort("date", day, true),
];
const OF_MARIADB: [Sort; 10] = [
    sort("INT", whole, true),
    sort("BIGINT", whole, true),
    sort("SMALLINT", whole, false),
    sort("DECIMAL(12,2)", hundredths, false),
    sort("DOUBLE", half, false),
    sort("VARCHAR(40)", short_text, true),
    sort("CHAR(20)", plain, false),
    sort("BOOLEAN", truth, false),
    sort("DATE", day, true),
    sort("DATETIME", moment, false),
];

/// A text of fixed width loses trailing spaces.
fn plain(numbers: &mut Numbers) -> String {
    format!("{}.", numbers.text(18))
}

/// The requested table, its fields in the interface's form.
#[derive(Debug)]
struct Wanted {
    name: String,
    comment: String,
    keys: Vec<String>,
    fields: Vec<Value>,
}

fn wanted(kind: Kind, numbers: &mut Numbers, tables: &mut HashSet<String>) -> Wanted {
    let sorts: &[Sort] = match kind {
        Kind::Sqlite => &OF_SQLITE,
        Kind::Postgres => &OF_POSTGRES,
        Kind::Mariadb => &OF_MARIADB,
    };
    let name = numbers.name(kind, tables);
    let (mut names, mut keys, mut fields) = (HashSet::new(), Vec::new(), Vec::new());
    for _ in 0..=numbers.below(FIELDS_MAX) {
        let (name, sort) = (numbers.name(kind, &mut names), numbers.of(sorts));
        let is_key = sort.may_be_key && keys.len() < 2 && numbers.one_in(3);
        if is_key {
            keys.push(name.clone());
        }
        let default = (!is_key && numbers.one_in(2)).then(|| (sort.default)(numbers));
        fields.push(json!({
            "fieldName": name,
            "fieldType": sort.type_text,
            "fieldComment": numbers.text(COMMENT_MAX),
            "isPrimaryKey": is_key,
            "isNullable": !is_key && numbers.one_in(2),
            "defaultValue": default,
        }));
    }
    Wanted { name, comment: numbers.text(COMMENT_MAX), keys, fields }
}

fn make(lake: &Lake, shop: &Warehouse, wanted: &Wanted) -> Result<(), String> {
    let form = json!({ "tableName": wanted.name, "dbName": shop.db, "clusterId": shop.source,
        "tableComment": wanted.comment, "keyColumns": null });
    let made = lake.server.post(TABLES, &form);
    if made.status != 200 {
        return Err(format!("{made:?}"));
    }
    let id = id_of(&made.data());
    for field in &wanted.fields {
        let made = lake.server.post(&format!("{TABLES}/{id}/fields"), field);
        if made.status != 200 {
            return Err(format!("{field}: {made:?}"));
        }
    }
    let made = lake.server.post(&format!("{TABLES}/{id}/physical"), &json!({}));
    if made.status == 200 && made.data()["physical"] == true { Ok(()) } else { Err(format!("{made:?}")) }
}

/// The comparable part of a definition. SQLite cannot store comments; an absent one is an empty one.
fn shape(kind: Kind, comment: &Value, keys: &str, fields: &[Value]) -> Value {
    let said = |comment: &Value| match kind {
        Kind::Sqlite => Value::Null,
        _ => Value::from(comment.as_str().unwrap_or_default()),
    };
    let field = |field: &Value| {
        json!({
            "name": field["fieldName"],
            "type": field["fieldType"].as_str().map(plainly),
            "comment": said(&field["fieldComment"]),
            "key": field["isPrimaryKey"],
            "nullable": field["isNullable"],
            "default": field["defaultValue"],
        })
    };
    json!({ "comment": said(comment), "keys": keys, "fields": fields.iter().map(field).collect::<Vec<_>>() })
}

/// A normalised type: without differences in case, spaces, and MariaDB's display widths of integers.
fn plainly(type_text: &str) -> String {
    let plain = type_text.to_uppercase().replace(' ', "");
    match plain.as_str() {
        "TINYINT(1)" => "BOOLEAN".to_owned(),
        "INT(11)" | "BIGINT(20)" | "SMALLINT(6)" => plain.split('(').next().unwrap_or_default().to_owned(),
        _ => plain,
    }
}

fn seed() -> u64 {
    let given = std::env::var("LAKEPORT_TEST_SEED").ok();
    given.map_or(SEED, |seed| seed.parse().expect("LAKEPORT_TEST_SEED is a number"))
}

#[test]
fn what_is_defined_is_what_the_database_has_afterwards() {
    let is_slow = std::env::var("LAKEPORT_TEST_TIER").is_ok_and(|tier| tier == "slow");
    let cases = if is_slow { CASES_SLOW } else { CASES };
    for (lake, shop) in everywhere() {
        let (mut numbers, mut names) = (Numbers(seed()), HashSet::new());
        let all: Vec<Wanted> = (0..cases).map(|_| wanted(shop.kind, &mut numbers, &mut names)).collect();
        let told = |case: usize, why: String| {
            format!("case {case} of LAKEPORT_TEST_SEED={} on {:?}: {why}", seed(), shop.kind)
        };
        let mut wrong = Vec::new();
        for (case, wanted) in all.iter().enumerate() {
            if let Err(why) = make(&lake, &shop, wanted) {
                wrong.push(told(case, format!("{why}\n{wanted:?}")));
            }
        }
        let reader = lake.another_source_of(&shop);
        let sync = lake.read_in(reader);
        assert_eq!((&sync["state"], &sync["errors"]), (&json!("success"), &json!([])), "{sync}");
        for (case, wanted) in all.iter().enumerate() {
            let found = found(&lake, reader, &wanted.name);
            let Some(found) = found else {
                wrong.push(told(case, format!("it is not there\n{wanted:?}")));
                continue;
            };
            let fields = found["fields"].as_array().expect("fields");
            let keys = found["keyColumns"].as_str().unwrap_or_default();
            let found = shape(shop.kind, &found["tableComment"], keys, fields);
            let expected = shape(shop.kind, &json!(wanted.comment), &wanted.keys.join(","), &wanted.fields);
            if found != expected {
                wrong.push(told(case, format!("\nwanted {expected}\nfound  {found}")));
            }
        }
        assert!(wrong.is_empty(), "{} of {cases}:\n{}", wrong.len(), wrong[..wrong.len().min(5)].join("\n"));
    }
}

/// A table of a data source by its exact name. Names of one character are part of many others.
fn found(lake: &Lake, source: i64, name: &str) -> Option<Value> {
    let keyword: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
    for page in 1.. {
        let page = format!("{TABLES}?pageSize=500&pageNum={page}&clusterId={source}&keyword={keyword}");
        let page = lake.server.get(&page).data();
        let records = page["records"].as_array().filter(|records| !records.is_empty())?;
        if let Some(record) = records.iter().find(|table| table["tableName"] == name) {
            return Some(lake.server.get(&format!("{TABLES}/{}", record["id"])).data());
        }
    }
    None
}
