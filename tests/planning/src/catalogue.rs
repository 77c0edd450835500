//! A catalogue of very many tables in memory, as the server keeps it.

use lakeport_catalog::terms::{Needles, scores};
use lakeport_catalog::{Entry, Index, Texts};
use tool_write_sql::schema::Schema;

/// Words of which other tables' names and fields are made.
const SUBJECTS: [&str; 60] = [
    "account", "address", "agent", "audit", "batch", "billing", "branch", "budget", "campaign", "cargo",
    "cart", "claim", "contract", "coupon", "course", "customer", "dealer", "delivery", "deposit", "device",
    "discount", "document", "driver", "employee", "event", "expense", "fleet", "freight", "guest", "invoice",
    "item", "journal", "lead", "ledger", "loan", "location", "member", "merchant", "meter", "order",
    "parcel", "partner", "patient", "payment", "payroll", "policy", "price", "product", "project", "quote",
    "refund", "rental", "route", "sensor", "shipment", "station", "supplier", "ticket", "vendor", "visit",
];
const ASPECTS: [&str; 40] = [
    "amount",
    "balance",
    "category",
    "channel",
    "city",
    "code",
    "count",
    "country",
    "created_at",
    "currency",
    "description",
    "discount",
    "duration",
    "email",
    "end_date",
    "fee",
    "flag",
    "grade",
    "id",
    "level",
    "limit",
    "manager",
    "name",
    "note",
    "number",
    "owner",
    "phone",
    "quantity",
    "rate",
    "reason",
    "region",
    "score",
    "start_date",
    "status",
    "tax",
    "title",
    "total",
    "type",
    "updated_at",
    "weight",
];
const LAYERS: [&str; 6] = ["ods", "dwd", "dws", "ads", "dim", "stg"];
const KINDS: [&str; 8] = ["detail", "summary", "history", "daily", "monthly", "snapshot", "log", "mapping"];

/// A table with its name, its comment, and the names and comments of its fields.
pub type Described = (String, String, Vec<(String, String)>);

/// Tables with so many fields each, as they are in warehouses.
pub fn other_tables(count: usize, fields: usize) -> impl Iterator<Item = Described> {
    (0..count).map(move |number| {
        let pick =
            |list: &[&'static str], salt: usize| list[(number * 7_919 + salt * 104_729) / 31 % list.len()];
        let (subject, other) = (pick(&SUBJECTS, number), pick(&SUBJECTS, number + 5));
        let kind = pick(&KINDS, number + 11);
        let name = format!("{}_{subject}_{other}_{kind}_{number}", pick(&LAYERS, number + 3));
        let comment = format!("{kind} of each {subject} by {other}");
        let field = |at: usize| {
            let (subject, aspect) =
                (pick(&SUBJECTS, number + at * 13), ASPECTS[(number + at * 17) % ASPECTS.len()]);
            (format!("{subject}_{aspect}"), format!("{aspect} of the {subject}").replace('_', " "))
        };
        (name, comment, (0..fields).map(field).collect())
    })
}

/// The index, with the database of each table.
#[derive(Default)]
pub struct Catalogue {
    pub index: Index,
    count: i64,
}

impl Catalogue {
    pub fn add(&mut self, database: &str, (name, comment, fields): Described) {
        self.count += 1;
        let entry = Entry {
            id: self.count,
            cluster_id: Some(1),
            db_name: database.into(),
            table_name: name.as_str().into(),
            table_comment: (!comment.is_empty()).then(|| comment.as_str().into()),
            layer: None,
            business_domain: None,
            data_domain: None,
            owner: None,
            tags: Box::default(),
            is_deprecated: false,
            is_physical: true,
            has_drift: false,
            row_count: None,
            data_size: None,
            index_size: None,
            created_at_ms: 0,
            updated_at_ms: 0,
        };
        let fields = fields.into_iter().enumerate();
        let fields = fields.map(|(at, (name, comment))| (self.count * 10_000 + at as i64, name, comment));
        self.index.put(entry, &Texts { description: None, fields: fields.collect() });
    }

    pub fn add_schema(&mut self, schema: &Schema) {
        for table in &schema.tables {
            let fields =
                table.fields.iter().map(|field| (field.name.clone(), field.comment.clone())).collect();
            self.add(&schema.datasource, (table.name.clone(), table.comment.clone(), fields));
        }
    }

    /// The tables that fit a text, best first: database and name.
    pub fn found(&self, text: &str, most: usize) -> Vec<(String, String)> {
        let scores = scores(&[self.index.terms()], &Needles::of(text), |_, _| true);
        let mut scores: Vec<(u32, f32)> = scores.into_iter().flatten().collect();
        scores.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(&other.0)));
        let entries = scores.iter().filter_map(|(place, _)| self.index.at(*place));
        entries.take(most).map(|entry| (entry.db_name.to_string(), entry.table_name.to_string())).collect()
    }
}
