//! Databases of a schema with generated rows. Values that right statements compare with stand among them, so that these
//! give rows; names are told apart, and references are skewed, so that rankings have a first one.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use anyhow::{Context as _, Result};
use serde_json::Value;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{AssertSqlSafe, ConnectOptions as _, SqliteConnection};

use super::Question;

/// A schema of a public set.
#[derive(Debug, Clone)]
pub struct Shape {
    pub name: String,
    pub tables: Vec<ShapeTable>,
}

#[derive(Debug, Clone)]
pub struct ShapeTable {
    pub name: String,
    pub columns: Vec<Column>,
}

#[derive(Debug, Clone)]
pub struct Column {
    pub name: String,
    kind: Kind,
    is_key: bool,
    /// The table and the column that it refers to.
    refers: Option<(usize, usize)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Text,
    Time,
    Truth,
}

/// Values by table and column, in lower case.
type Literals = BTreeMap<(String, String), Vec<String>>;

const WORDS: [&str; 20] = [
    "Alpha", "Bravo", "Cedar", "Delta", "Ember", "Falcon", "Garnet", "Harbor", "Iris", "Juniper", "Karma",
    "Lotus", "Maple", "Nimbus", "Onyx", "Pearl", "Quartz", "Raven", "Sable", "Tulip",
];

impl Shape {
    /// In the form `{db_id, table_names_original, column_names_original, column_types, primary_keys, foreign_keys}`.
    pub fn of(schema: &Value) -> Result<Shape> {
        let list = |name: &str| schema[name].as_array().with_context(|| format!("no list {name}"));
        let whole = |value: &Value| value.as_u64().and_then(|number| usize::try_from(number).ok());
        let (columns, kinds) = (list("column_names_original")?, list("column_types")?);
        let keys: HashSet<usize> = list("primary_keys")?.iter().filter_map(whole).collect();
        let refers: BTreeMap<usize, usize> = list("foreign_keys")?
            .iter()
            .filter_map(|pair| Some((whole(&pair[0])?, whole(&pair[1])?)))
            .collect();
        let mut tables: Vec<ShapeTable> = list("table_names_original")?
            .iter()
            .filter_map(|name| Some(ShapeTable { name: name.as_str()?.to_owned(), columns: Vec::new() }))
            .collect();
        // The table of each column, and its place there.
        let mut places: Vec<Option<(usize, usize)>> = Vec::new();
        for (column, kind) in columns.iter().zip(kinds) {
            let Some(table) = whole(&column[0]) else {
                places.push(None);
                continue;
            };
            let kind = match kind.as_str() {
                Some("number") => Kind::Number,
                Some("time") => Kind::Time,
                Some("boolean") => Kind::Truth,
                _ => Kind::Text,
            };
            let (name, is_key) =
                (column[1].as_str().unwrap_or_default().to_owned(), keys.contains(&places.len()));
            places.push(Some((table, tables[table].columns.len())));
            tables[table].columns.push(Column { name, kind, is_key, refers: None });
        }
        for (from, to) in refers {
            if let (Some(Some(from)), Some(to)) = (places.get(from), places.get(to)) {
                tables[from.0].columns[from.1].refers = *to;
            }
        }
        // The sets name only the first column of a key.
        for table in &mut tables {
            let mut keys = table.columns.iter().filter(|column| column.is_key);
            let one = matches!((keys.next(), keys.next()), (Some(only), None) if only.refers.is_some());
            let at = table.columns.iter().position(|column| column.is_key).unwrap_or_default();
            if let Some(next) = table.columns.get_mut(at + 1).filter(|next| one && next.kind == Kind::Text) {
                next.is_key = true;
            }
        }
        let name = schema["db_id"].as_str().context("no db_id")?.to_owned();
        tables.retain(|table| table.name != "sqlite_sequence");
        Ok(Shape { name, tables })
    }

    /// A database in memory with rows; other rows for each `filling`.
    pub async fn filled(&self, questions: &[Question], filling: u64) -> Result<SqliteConnection> {
        let mut database = SqliteConnectOptions::new().in_memory(true).connect().await?;
        let literals = self.literals(questions);
        let seed = self
            .name
            .bytes()
            .fold(filling + 1, |seed, byte| seed.wrapping_mul(31).wrapping_add(u64::from(byte)));
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut data: Vec<Vec<Vec<String>>> = vec![Vec::new(); self.tables.len()];
        for table in self.in_order() {
            let rows = self.rows(table, &literals, &data, &mut random);
            self.write(&mut database, table, &rows).await?;
            data[table] = rows;
        }
        Ok(database)
    }

    /// Tables after those that they refer to.
    fn in_order(&self) -> Vec<usize> {
        let (mut done, mut left): (Vec<usize>, Vec<usize>) = (Vec::new(), (0..self.tables.len()).collect());
        while !left.is_empty() {
            let is_ready = |table: &usize| {
                let refers = self.tables[*table].columns.iter().filter_map(|column| column.refers);
                refers.into_iter().all(|(to, _)| to == *table || done.contains(&to))
            };
            let at = left.iter().position(is_ready).unwrap_or(0);
            done.push(left.remove(at));
        }
        done
    }

    fn rows(
        &self,
        table: usize,
        literals: &Literals,
        data: &[Vec<Vec<String>>],
        random: &mut Random,
    ) -> Vec<Vec<String>> {
        let shape = &self.tables[table];
        let keys_of = shape.columns.iter().filter(|column| column.is_key).count();
        let count = 25 + random.below(36);
        let (mut rows, mut keys, mut names) = (Vec::new(), HashSet::new(), HashSet::new());
        for number in 0..count {
            let mut row: Vec<String> = Vec::new();
            for (at, column) in shape.columns.iter().enumerate() {
                let known = literals.get(&(shape.name.to_lowercase(), column.name.to_lowercase()));
                let known = known.map_or(&[][..], Vec::as_slice);
                let referred = column.refers.filter(|(to, _)| !data[*to].is_empty());
                let mut value = match referred {
                    Some((to, field)) => {
                        random.skewed(&data[to].iter().map(|row| row[field].clone()).collect::<Vec<_>>())
                    }
                    None if column.is_key && column.kind == Kind::Number => (number + 1).to_string(),
                    None if column.is_key && keys_of == 1 => {
                        format!("{}{number}", WORDS[number % WORDS.len()][..3].to_uppercase())
                    }
                    None => random.value(column, known),
                };
                // A row is known by its name.
                if column.kind == Kind::Text && referred.is_none() && is_title(&shape.name, &column.name) {
                    if names.contains(&(at, value.clone())) {
                        value = format!("{value} {number}");
                    }
                    names.insert((at, value.clone()));
                }
                row.push(value);
            }
            let has_keys = shape.columns.iter().any(|column| column.is_key);
            let key: Vec<String> = shape
                .columns
                .iter()
                .zip(&row)
                .filter(|(column, _)| column.is_key || !has_keys && shape.columns.len() == 2)
                .map(|(_, value)| value.clone())
                .collect();
            if key.is_empty() || keys.insert(key) {
                rows.push(row);
            }
        }
        rows
    }

    async fn write(&self, database: &mut SqliteConnection, table: usize, rows: &[Vec<String>]) -> Result<()> {
        let shape = &self.tables[table];
        let keys = shape.columns.iter().filter(|column| column.is_key).count();
        let column = |column: &Column| {
            let kind = match column.kind {
                Kind::Number => "INTEGER",
                Kind::Text => "TEXT",
                Kind::Time => "DATETIME",
                Kind::Truth => "BOOLEAN",
            };
            let key = if column.is_key && keys == 1 { " PRIMARY KEY" } else { "" };
            format!("\"{}\" {kind}{key}", column.name)
        };
        let columns: Vec<String> = shape.columns.iter().map(column).collect();
        let key: Vec<String> = shape
            .columns
            .iter()
            .filter(|column| column.is_key && keys > 1)
            .map(|column| format!("\"{}\"", column.name))
            .collect();
        let key = if key.is_empty() { String::new() } else { format!(", PRIMARY KEY ({})", key.join(", ")) };
        let create = format!("CREATE TABLE \"{}\" ({}{key})", shape.name, columns.join(", "));
        sqlx::query(AssertSqlSafe(create)).execute(&mut *database).await?;
        let marks = vec!["?"; shape.columns.len()].join(", ");
        let insert = format!("INSERT OR IGNORE INTO \"{}\" VALUES ({marks})", shape.name);
        for row in rows {
            let mut query = sqlx::query(AssertSqlSafe(insert.clone()));
            for (column, value) in shape.columns.iter().zip(row) {
                query = match (column.kind, value.parse::<i64>(), value.parse::<f64>()) {
                    (Kind::Number | Kind::Truth, Ok(whole), _) => query.bind(whole),
                    (Kind::Number, _, Ok(number)) => query.bind(number),
                    _ => query.bind(value),
                };
            }
            query.execute(&mut *database).await?;
        }
        Ok(())
    }

    /// What the right statements compare columns with.
    fn literals(&self, questions: &[Question]) -> Literals {
        let mut literals = Literals::new();
        for question in questions.iter().filter(|question| question.database == self.name) {
            for right in &question.right {
                self.literals_of(&tokens(right), &mut literals);
            }
        }
        literals
    }

    fn literals_of(&self, tokens: &[String], literals: &mut Literals) {
        let columns: BTreeMap<String, BTreeSet<String>> = self
            .tables
            .iter()
            .map(|table| {
                let names = table.columns.iter().map(|column| column.name.to_lowercase());
                (table.name.to_lowercase(), names.collect())
            })
            .collect();
        let lower: Vec<String> = tokens.iter().map(|token| token.to_lowercase()).collect();
        let mut aliases: BTreeMap<String, String> = BTreeMap::new();
        for (at, table) in lower.iter().enumerate().skip(1) {
            if matches!(lower[at - 1].as_str(), "from" | "join") && columns.contains_key(table) {
                aliases.insert(table.clone(), table.clone());
                if lower.get(at + 1).is_some_and(|word| word == "as")
                    && let Some(alias) = lower.get(at + 2)
                {
                    aliases.insert(alias.clone(), table.clone());
                }
            }
        }
        let mut put = |field: &str, value: &str| {
            let table = match field.split_once('.') {
                Some((alias, _)) => aliases.get(alias).cloned(),
                None => {
                    let having = aliases.values().find(|table| columns[*table].contains(field));
                    having.cloned()
                }
            };
            let column = field.rsplit('.').next().unwrap_or_default().to_owned();
            if let Some(table) = table {
                let value = value.trim_matches(['"', '\'', '%', ' ']).to_owned();
                literals.entry((table, column)).or_default().push(value);
            }
        };
        for (at, word) in lower.iter().enumerate() {
            match (word.as_str(), at.checked_sub(1).map(|before| lower[before].as_str()), tokens.get(at + 1))
            {
                ("=" | "!=" | "<>" | ">=" | "<=" | ">" | "<" | "like", Some(field), Some(value))
                    if is_literal(value) =>
                {
                    put(field, value);
                }
                ("between", Some(field), Some(least)) if is_literal(least) => {
                    put(field, least);
                    if let Some(most) = tokens.get(at + 3) {
                        put(field, most);
                    }
                }
                _ => {}
            }
        }
    }
}

fn is_literal(token: &str) -> bool {
    token.starts_with(['"', '\'']) || token.parse::<f64>().is_ok()
}

/// Words, quoted texts and signs.
fn tokens(sql: &str) -> Vec<String> {
    let letters: Vec<char> = sql.chars().collect();
    let (mut tokens, mut at) = (Vec::new(), 0);
    while let Some(&letter) = letters.get(at) {
        let from = at;
        if letter.is_whitespace() {
            at += 1;
            continue;
        } else if matches!(letter, '"' | '\'') {
            at += 1;
            while at < letters.len() && letters[at] != letter {
                at += 1;
            }
            at += 1;
        } else if letter.is_alphanumeric() || letter == '_' {
            while letters.get(at).is_some_and(|next| next.is_alphanumeric() || matches!(next, '_' | '.')) {
                at += 1;
            }
        } else if matches!(letter, '<' | '>' | '!' | '=') {
            while letters.get(at).is_some_and(|next| matches!(next, '<' | '>' | '!' | '=')) {
                at += 1;
            }
        } else {
            at += 1;
        }
        tokens.push(letters[from..at.min(letters.len())].iter().collect());
    }
    tokens
}

fn is_title(table: &str, column: &str) -> bool {
    let (table, column) = (table.to_lowercase(), column.to_lowercase());
    matches!(column.as_str(), "name" | "title") || column == table || column == format!("{table}_name")
}

/// Numbers that look random and are the same each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, most: usize) -> usize {
        (self.next() >> 11) as usize % most
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<'t>(&mut self, from: &[&'t str]) -> &'t str {
        from[self.below(from.len())]
    }

    /// The first ones more often; a third of them never.
    fn skewed(&mut self, values: &[String]) -> String {
        let mut distinct: Vec<&String> = Vec::new();
        for value in values {
            if !distinct.contains(&value) {
                distinct.push(value);
            }
        }
        distinct.truncate((distinct.len() * 2 / 3).max(3));
        let (mut low, high) = (0, distinct.len());
        while low + 1 < high && self.chance(70) {
            low += 1 + self.below(2);
        }
        distinct[low.min(high - 1)].clone()
    }

    fn value(&mut self, column: &Column, known: &[String]) -> String {
        let name = column.name.to_lowercase();
        match column.kind {
            Kind::Number => {
                let numbers: Vec<f64> = known.iter().filter_map(|value| value.parse().ok()).collect();
                if !numbers.is_empty() && self.chance(30) {
                    return numbers[self.below(numbers.len())].to_string();
                }
                let most = numbers.iter().copied().fold(0.0, f64::max);
                if name.contains("year") {
                    (1970 + self.below(51)).to_string()
                } else if most > 200.0 {
                    (1 + self.below(2 * most as usize)).to_string()
                } else {
                    (1 + self.below(1_000)).to_string()
                }
            }
            Kind::Time => {
                if !known.is_empty() && self.chance(30) {
                    return known[self.below(known.len())].clone();
                }
                let (year, month, day) = (1990 + self.below(33), 1 + self.below(12), 1 + self.below(28));
                format!("{year}-{month:02}-{day:02} 0{}:00:00", self.below(10))
            }
            Kind::Truth => self.below(2).to_string(),
            Kind::Text => self.text(&name, known),
        }
    }

    fn text(&mut self, name: &str, known: &[String]) -> String {
        let mut distinct: Vec<&str> = Vec::new();
        for value in known {
            if !distinct.contains(&value.as_str()) {
                distinct.push(value);
            }
        }
        let flags = ["t", "f", "y", "n", "yes", "no", "true", "false", "m"];
        let is_flag = !distinct.is_empty()
            && distinct.iter().all(|value| flags.contains(&value.to_lowercase().as_str()));
        if is_flag {
            return match distinct[0].to_lowercase().as_str() {
                "f" if matches!(name, "sex" | "gender") => self.pick(&["F", "M"]),
                "m" => self.pick(&["M", "F"]),
                "y" | "n" => self.pick(&["Y", "N"]),
                _ => self.pick(&["T", "F"]),
            }
            .to_owned();
        }
        if name.contains("year") {
            return match distinct[..] {
                [] => (2010 + self.below(9)).to_string(),
                _ if self.chance(70) => self.pick(&distinct).to_owned(),
                _ => (2010 + self.below(9)).to_string(),
            };
        }
        if name == "share" {
            return format!("{}.{}", 1 + self.below(99), self.below(10));
        }
        if !distinct.is_empty() && self.chance(70) {
            return self.skewed(&distinct.iter().map(|value| (*value).to_owned()).collect::<Vec<String>>());
        }
        if name.contains("name") && self.chance(80) {
            return format!("{} {}", self.pick(&WORDS), self.pick(&WORDS));
        }
        self.pick(&WORDS).to_owned()
    }
}
