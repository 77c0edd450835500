//! Tables and changes for any dialect, with types that it accepts.

use lakeport_bindings::dialect::planner::{
    AddField, AlterField, Change, CommentTable, DropField, DropTable, RenameTable, SetCount,
};
use lakeport_bindings::dialect::schema::{DefaultValue, Field, Table, TableName};

use super::trial::Trial;
use crate::report::Area;

/// Types of many databases. A dialect need not have all.
const USUAL: [&str; 24] = [
    "INTEGER",
    "INT",
    "BIGINT",
    "SMALLINT",
    "VARCHAR(20)",
    "TEXT",
    "STRING",
    "CHAR(3)",
    "DECIMAL(10,2)",
    "NUMERIC(10,2)",
    "DOUBLE",
    "DOUBLE PRECISION",
    "REAL",
    "FLOAT",
    "BOOLEAN",
    "DATE",
    "DATETIME",
    "TIMESTAMP",
    "TIME",
    "BLOB",
    "BYTEA",
    "BINARY(8)",
    "JSON",
    "UUID",
];

/// The samples for one server.
pub struct Samples {
    /// Texts of types that it accepts.
    pub types: Vec<String>,
    /// An integer type.
    pub number: String,
    /// A text type.
    pub text: String,
    /// A date type, if there is one.
    pub date: Option<String>,
    /// The reader's facts about a plain table.
    extra: Option<String>,
}

impl Samples {
    /// `None`, with a finding, if the usual integer and text types are all unknown.
    pub async fn of(trial: &mut Trial) -> Option<Samples> {
        let texts = USUAL.map(str::to_owned);
        let answers = trial.parse(Area::Contract, &texts).await?;
        let accepted: Vec<(String, String)> = texts
            .into_iter()
            .zip(answers)
            .filter_map(|(text, answer)| Some((text, answer.ok()?.family)))
            .collect();
        let of_family =
            |family: &str| accepted.iter().find(|(_, known)| known == family).map(|(text, _)| text.clone());
        let (Some(number), Some(text)) = (of_family("integer"), of_family("text")) else {
            let place = format!("{}, planner.parse-types", trial.server.product);
            let what = format!("of {USUAL:?} none is accepted with the family integer, or none with text");
            trial.report.add(Area::Contract, &place, what, "tables are made of numbers and texts everywhere");
            return None;
        };
        let date = of_family("date");
        let types = accepted.into_iter().map(|(text, _)| text).collect();
        Some(Samples { types, number, text, date, extra: trial.extra.clone() })
    }

    pub fn number(&self, name: &str) -> Field {
        field(name, &self.number)
    }

    pub fn text(&self, name: &str) -> Field {
        field(name, &self.text)
    }

    /// `orders (id, note, total)`, `id` the key.
    pub fn orders(&self) -> Table {
        let id = Field { key: true, nullable: false, ..self.number("id") };
        let fields = vec![id, self.text("note"), self.number("total")];
        Table { extra: self.extra.clone(), ..table("orders", fields) }
    }

    /// Tables with all features of the models: each of the dialect's models, partitioned and distributed.
    pub fn tables(&self, trial: &Trial) -> Vec<Table> {
        let mut tables = vec![self.orders()];
        tables.extend(self.parted(self.orders()));
        let models = trial.info.models.iter().cloned().map(Some);
        for model in std::iter::once(None).chain(models) {
            let mut table = Table { model, ..self.orders() };
            table.distribution = vec!["id".to_owned()];
            table.buckets = Some(4);
            table.replicas = Some(1);
            tables.push(table.clone());
            tables.extend(self.parted(table));
        }
        tables
    }

    /// The table partitioned by a date in its key, if there is a date type.
    fn parted(&self, mut table: Table) -> Option<Table> {
        let date = self.date.as_ref()?;
        table.fields.insert(1, Field { key: true, nullable: false, ..field("day", date) });
        table.keys.push("day".to_owned());
        table.partition = vec!["day".to_owned()];
        Some(table)
    }
}

pub fn field(name: &str, type_text: &str) -> Field {
    Field {
        name: name.to_owned(),
        type_text: type_text.to_owned(),
        nullable: true,
        key: false,
        comment: String::new(),
        defaults_to: DefaultValue::Absent,
        generated: None,
        extra: None,
    }
}

/// A table in the database `shop`; its key consists of the fields that declare it.
pub fn table(name: &str, fields: Vec<Field>) -> Table {
    Table {
        name: TableName { database: "shop".to_owned(), name: name.to_owned() },
        kind: "table".to_owned(),
        comment: String::new(),
        keys: fields.iter().filter(|field| field.key).map(|field| field.name.clone()).collect(),
        fields,
        model: None,
        distribution: Vec::new(),
        buckets: None,
        replicas: None,
        partition: Vec::new(),
        companions: Vec::new(),
        extra: None,
    }
}

pub fn rename(current: Table, to: &str) -> Change {
    Change::RenameTable(RenameTable { current, new_name: to.to_owned() })
}

pub fn restore(current: Table, to: &str) -> Change {
    Change::RestoreTable(RenameTable { current, new_name: to.to_owned() })
}

pub fn drop_table(current: Table) -> Change {
    Change::DropTable(DropTable { current, at_once: false })
}

pub fn comment(current: Table, comment: &str) -> Change {
    Change::CommentTable(CommentTable { current, comment: comment.to_owned() })
}

pub fn add(current: Table, field: Field) -> Change {
    Change::AddField(AddField { current, field, behind: None })
}

/// Changes the definition of this field.
pub fn alter(current: Table, name: &str, change: impl FnOnce(&mut Field)) -> Change {
    let before =
        current.fields.iter().find(|field| field.name == name).cloned().unwrap_or_else(|| field(name, ""));
    let mut after = before.clone();
    change(&mut after);
    Change::AlterField(AlterField { current, before, after })
}

pub fn drop_field(current: Table, field: &str) -> Change {
    Change::DropField(DropField { current, field: field.to_owned() })
}

pub fn buckets(current: Table, count: u32) -> Change {
    Change::SetBuckets(SetCount { current, count })
}

pub fn replicas(current: Table, count: u32) -> Change {
    Change::SetReplicas(SetCount { current, count })
}
