//! Turns a question and a schema into SQL, or into the reason why there is none. Plain data on both sides:
//! the tests run this.

use std::collections::BTreeSet;

use lakeport_sdk::serde_json::Value;

use crate::beside;
use crate::calendar::{Cycle, Day, Unit};
use crate::explain;
use crate::follow::{self, Message};
use crate::known::Known;
use crate::labels::{self, Labels};
use crate::plan::{
    self, algebra,
    query::{Column, Expr, Query},
};
use crate::schema::{Kind, Place, Schema};
use crate::sql;
use crate::sums;
use crate::understand::choose::is_state;
use crate::understand::meaning::{Filter, Group, Meaning, Measure, Test, Unclear};
use crate::understand::names::Named;
use crate::understand::side_by_side::say_the_same;
use crate::understand::{self, Read, Several};
pub use crate::words::chinese::is_chinese;
use crate::words::paraphrases::{self, paraphrase};
use crate::words::phrases::{Chart, Func};

/// The most tables of which an ambiguous word is tried.
const READINGS_MAX: usize = 30;

/// An answer to a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    pub sql: String,
    pub title: String,
    pub explanation: String,
    pub tables: Vec<String>,
    pub shape: &'static str,
    /// Names of the numeric columns.
    pub measures: Vec<String>,
    /// Numeric columns whose values add up: counts of rows and sums, neither averages nor distinct counts.
    pub summed: Vec<String>,
    /// Names of the measures that follow from others: the same of the days before, a change, a share of the total.
    pub derived: Vec<String>,
    /// The unit of a series' first column.
    pub unit: Option<&'static str>,
    /// The number of tables that the question names: how well the question fits this schema.
    pub things: usize,
    /// The answer's row limit; with so many rows there may be more.
    pub limit: Option<u64>,
    /// The query as JSON.
    pub query: Value,
    /// How many of its choices might be others: words read as others, things of one name, rows that joins repeat, texts read
    /// as numbers.
    pub doubts: u32,
    /// The chart that the question wishes.
    pub chart: Option<Chart>,
}

/// SQL for a question.
pub fn answer(question: &str, schema: &Schema, today: Day) -> Result<Answer, Unclear> {
    answer_of(question, &Known::of(schema), today)
}

/// The same for further questions about one schema.
pub fn answer_of(question: &str, known: &Known<'_>, today: Day) -> Result<Answer, Unclear> {
    understood(question, known, today).map(|understood| understood.answer(question, known, today))
}

/// SQL for a question that may change an earlier one: `and the month before?`
///
/// `earlier`: the questions before it, the oldest first.
pub fn answer_after(
    question: &str,
    earlier: &[String],
    known: &Known<'_>,
    today: Day,
) -> Result<Answer, Unclear> {
    // A whole question stands alone: what was asked before need not be read.
    let said = Message::of(question);
    let may_change = said.is_marked() || said.refers() || said.takes_away() || said.asks_which();
    let alone = understood(question, known, today);
    if said.asks()
        && !may_change
        && let Ok(alone) = &alone
        && !alone.meaning.tables.is_empty()
    {
        return Ok(alone.answer(question, known, today));
    }
    let mut so_far = Conversation::default();
    for message in earlier {
        so_far.take(message, known, today);
    }
    let (understood, is_change) = so_far.understood(question, alone, known, today)?;
    let mut answer = understood.answer(question, known, today);
    if is_change {
        let chinese = is_chinese(question);
        answer.explanation.push_str(&explain::continues(&so_far.messages, chinese));
        answer.explanation.push_str(&explain::ignores(&so_far.ignored, chinese));
    }
    Ok(answer)
}

/// Whether a message is about the data, and not `thanks a lot`.
fn says_something(message: &str, known: &Known<'_>, today: Day) -> bool {
    let said = Message::of(message);
    said.is_marked()
        || said.is_part()
        || said.asks()
        || message.contains(|letter: char| letter.is_ascii_digit())
        || !understand::named_tables(message, known, today).is_empty()
}

/// A question, as the messages after it changed it.
#[derive(Default)]
struct Conversation<'m> {
    last: Option<Understood>,
    /// The question and the messages that changed it.
    messages: Vec<&'m str>,
    /// Messages since then that changed nothing, since they were not understood.
    ignored: Vec<&'m str>,
}

impl<'m> Conversation<'m> {
    fn take(&mut self, message: &'m str, known: &Known<'_>, today: Day) {
        match self.understood(message, understood(message, known, today), known, today) {
            Ok((understood, is_change)) => {
                if !is_change {
                    self.messages.clear();
                    self.ignored.clear();
                }
                self.messages.push(message);
                self.last = Some(understood);
            }
            Err(_) if self.last.is_some() && says_something(message, known, today) => {
                self.ignored.push(message)
            }
            Err(_) => {}
        }
    }

    /// A message, and whether it changes the question so far. `alone`: the message by itself.
    fn understood(
        &self,
        message: &str,
        alone: Result<Understood, Unclear>,
        known: &Known<'_>,
        today: Day,
    ) -> Result<(Understood, bool), Unclear> {
        let Some(last) = &self.last else { return alone.map(|alone| (alone, false)) };
        let said = Message::of(message);
        let is_whole = |alone: &Understood| said.asks() && !alone.meaning.tables.is_empty();
        // What a few words leave out, the question before says.
        let earlier = &last.meaning;
        let is_grouped = !earlier.groups.is_empty()
            || earlier.unit.is_some()
            || earlier.cycle.is_some()
            || earlier.range.is_some()
            || !earlier.filters.is_empty();
        let is_of_those = said.asks_which() && is_grouped && !earlier.measures.is_empty();
        // `是哪些客户`, after a number of orders: not all of them.
        if is_of_those && alone.as_ref().is_ok_and(|alone| alone.meaning.measures.is_empty()) {
            return Err(Unclear::Shape);
        }
        let begins_anew = match &alone {
            Ok(_) if said.begins_with_pronoun() => false,
            Ok(alone) if said.takes_away() || said.refers() && alone.meaning.tables.is_empty() => false,
            Ok(alone) => {
                is_whole(alone)
                    || said.is_total()
                    || !(said.is_marked() || said.is_part() || said.is_short() && is_grouped)
            }
            Err(_) => false,
        };
        // `How many workflows failed yesterday?` could mean two things, and none of them because of what was asked before.
        let asks_back = matches!(alone, Err(Unclear::Ambiguous(_))) && said.asks() && !said.is_marked();
        if begins_anew || asks_back {
            return alone.map(|alone| (alone, false));
        }
        let changed = last.changed(said, message, known, today).or_else(|| {
            let other = paraphrase(message)?;
            let mut changed = last.changed(Message::of(&other.text), &other.text, known, today)?;
            changed.repaired.splice(..0, other.said);
            Some(changed)
        });
        match (changed, alone) {
            (Some(changed), _) => Ok((changed, true)),
            // It speaks of something that is not understood: `and category?`, after the best product.
            (None, Ok(alone))
                if said.takes_away()
                    || said.is_part()
                    || said.refers() && alone.meaning.tables.is_empty()
                    || said.is_marked() && !said.asks() =>
            {
                Err(Unclear::Change(message.to_owned()))
            }
            // Not the word that says that it changes something is unknown.
            (None, Err(_)) if said.is_marked() && !said.asks() || said.is_part() => {
                match understood(&follow::bare(message), known, today) {
                    Err(unclear @ (Unclear::Words(_) | Unclear::NoDay(_))) => Err(unclear),
                    _ => Err(Unclear::Change(message.to_owned())),
                }
            }
            (None, alone) => alone.map(|alone| (alone, false)),
        }
    }
}

/// A question with its meaning and its query.
struct Understood {
    meaning: Meaning,
    query: Query,
    repaired: Vec<(String, String)>,
    /// Several things had a name of the question.
    is_chosen: bool,
    /// The other numbers that it asks for, of other tables.
    beside: Vec<Understood>,
    /// All of these by one query, which counts only what its table has, but can be grouped.
    joined: Option<Box<Understood>>,
}

/// The query of a question in which a word means one of the things that it may mean.
pub fn reading(question: &str, word: &str, thing: &Named, known: &Known<'_>, today: Day) -> Option<Value> {
    let read = understand::read(question, known, today).with(word, thing);
    let labels = Labels { schema: known.schema, chinese: is_chinese(question) };
    let meaning = read.meaning(known, None).ok()?;
    let query = plan::plan(known, meaning, labels, today).ok()?;
    Some(algebra::told(&query, known.schema))
}

/// Understands a question by itself, or in other words.
fn understood(question: &str, known: &Known<'_>, today: Day) -> Result<Understood, Unclear> {
    let unclear = match understood_as_said(question, known, today) {
        Err(unclear) if !matches!(unclear, Unclear::NoDay(_)) => unclear,
        other => return other,
    };
    if let Some(sides) = sides(question, known, today) {
        return Ok(sides);
    }
    let Some(other) = paraphrase(question) else { return Err(unclear) };
    let found = understood_as_said(&other.text, known, today).ok();
    let Some(mut understood) = found.or_else(|| sides(&other.text, known, today)) else {
        return Err(unclear);
    };
    understood.repaired.splice(..0, other.said);
    Ok(understood)
}

/// Understands a question about two kinds of days, as one number of each.
fn sides(question: &str, known: &Known<'_>, today: Day) -> Option<Understood> {
    let one = |(question, side): (String, &str)| {
        let mut one = understood_as_said(&question, known, today).ok()?;
        let [column] = &mut one.query.columns[..] else { return None };
        column.alias = if side.is_ascii() {
            labels::short(&format!("{} {side}", column.alias))
        } else {
            labels::short(&format!("{side}{}", column.alias))
        };
        (one.query.is_one_row() && one.beside.is_empty()).then_some(one)
    };
    let [first, second] = paraphrases::sides(question)?.map(one);
    let both = Understood { beside: vec![second?], ..first? };
    let of = |one: &Understood| of_query(&one.query, known.schema, today, false);
    let can = beside::together(both.all().map(of).collect(), known.schema.dialect, false).is_some();
    can.then_some(both)
}

fn understood_as_said(question: &str, known: &Known<'_>, today: Day) -> Result<Understood, Unclear> {
    let read = understand::read(question, known, today);
    let labels = Labels { schema: known.schema, chinese: is_chinese(question) };
    let joined = understood_as(&read, known, labels, today);
    let may_be_several = match &joined {
        // `How many customers and products?`, and not `customers per product`.
        Ok(understood) => {
            let has_groups = !understood.meaning.groups.is_empty() && !read.says_groups();
            understood.counts_parts() || has_groups && read.begins_with_number(known.schema)
        }
        Err(Unclear::Word(_) | Unclear::Shape | Unclear::Apart(..) | Unclear::NoTime(_)) => true,
        Err(_) => false,
    };
    let several = if may_be_several { side_by_side(&read, known, labels, today) } else { None };
    match several {
        Some(several) => Ok(Understood { joined: joined.ok().map(Box::new), ..several }),
        None => joined,
    }
}

/// Understands a question as one of several numbers, each by itself.
fn side_by_side(read: &Read, known: &Known<'_>, labels: Labels<'_>, today: Day) -> Option<Understood> {
    let each = read.side_by_side(known.schema).into_iter().enumerate().map(|(at, one)| {
        let understood = understood_as(&one, known, labels, today).ok()?;
        read.is_of_number(&understood.query, at).then_some(understood)
    });
    let all: Vec<Understood> = each.collect::<Option<_>>()?;
    let several = Understood::of_several(all)?.if_one_row_each(known, today)?;
    Some(Understood { repaired: read.repaired.clone(), ..several })
}

/// The query of a meaning; of what was not sold, with its amount.
fn planned(
    meaning: Meaning,
    known: &Known<'_>,
    labels: Labels<'_>,
    today: Day,
) -> Result<(Meaning, Query), Unclear> {
    let query = plan::plan(known, meaning.clone(), labels, today)?;
    if let Some(other) = with_amount_of_state(&meaning, known.schema)
        && let Ok(query) = plan::plan(known, other.clone(), labels, today)
    {
        return Ok((other, query));
    }
    Ok((meaning, query))
}

/// `revenue of cancelled orders`: the amount of these, which were not sold. The question with the only amount of the table
/// whose rows must have a state, in place of what was sold.
fn with_amount_of_state(meaning: &Meaning, schema: &Schema) -> Option<Meaning> {
    let has_state = |filter: &&Filter| {
        let field = schema.field(filter.place);
        let is_sold = |value: &String| SOLD.contains(&value.to_lowercase().as_str());
        matches!(&filter.test, Test::Among(values, true) if !values.iter().any(is_sold))
            && is_state(&field.name)
    };
    let state = meaning.filters.iter().find(has_state)?.place.table;
    let is_sale = |place: Place| place.table != state && sums::flows(schema.field(place));
    let mut amounts = schema.places(state).filter(|place| {
        let field = schema.field(*place);
        sums::adds_up(field) && field.kind() == Kind::Number && field.name.to_lowercase().ends_with("amount")
    });
    let (Some(amount), None) = (amounts.next(), amounts.next()) else { return None };
    let mut changed = meaning.clone();
    match (&mut changed.measures[..], &mut changed.items[..]) {
        ([Measure::Made(Func::Sum, place)], []) | ([], [place]) if is_sale(*place) => *place = amount,
        _ => return None,
    }
    if !changed.tables.contains(&state) {
        changed.tables.push(state);
    }
    Some(changed)
}

/// States of what was sold.
const SOLD: [&str; 5] = ["paid", "shipped", "delivered", "completed", "done"];

fn understood_as(
    read: &Read,
    known: &Known<'_>,
    labels: Labels<'_>,
    today: Day,
) -> Result<Understood, Unclear> {
    let with = |preferred: Option<usize>| {
        let (meaning, query) = planned(read.meaning(known, preferred)?, known, labels, today)?;
        Ok(Understood::alone(meaning, query, read.repaired.clone(), preferred.is_some()))
    };
    let word = match with(None) {
        Err(Unclear::Ambiguous(word)) => word,
        Err(Unclear::Word(word)) => {
            let unknown = read.unknown();
            return Err(if unknown.contains(&word) { Unclear::Words(unknown) } else { Unclear::Word(word) });
        }
        other => return other,
    };
    // Several tables have something of that name: the one by which the question can be answered, or else by fewer joins.
    let Some(kind) = read.ambiguous_kind(&word, known.schema) else {
        return Err(Unclear::Ambiguous(word));
    };
    let mut found: Vec<((u8, usize), Understood)> = Vec::new();
    let mut unclear = None;
    for table in read.tables().into_iter().take(READINGS_MAX) {
        match with(Some(table)) {
            Ok(understood) => {
                let of = |table: usize| layer(&known.schema.table(table).name);
                // Of the rows of one table, what is in its layer: orders that were cancelled have no sales.
                let layer = match understood.meaning.measures[..] {
                    [Measure::Count(counted)] if counted != table => of(table).abs_diff(of(counted)),
                    _ => of(table),
                };
                found.push(((layer, tables(&understood.query, known.schema).len()), understood));
            }
            Err(Unclear::Ambiguous(other)) if other == word => {}
            Err(error) => unclear = unclear.or(Some(error)),
        }
    }
    // It is not that word which is not understood.
    let unknown = read.unknown();
    if found.is_empty() && !unknown.is_empty() {
        return Err(Unclear::Words(unknown));
    }
    found.sort_by_key(|(cost, _)| *cost);
    found.dedup_by(|(_, one), (_, other)| one.query == other.query);
    match &found[..] {
        // A state of a thing and a state of what happened to it are different questions.
        [_, _, ..] if kind == Several::Values => Err(Unclear::Ambiguous(word)),
        [] => Err(unclear.unwrap_or(Unclear::Ambiguous(word))),
        [(one, _), (other, _), ..] if one == other => Err(Unclear::Ambiguous(word)),
        _ => Ok(found.swap_remove(0).1),
    }
}

impl Understood {
    fn alone(meaning: Meaning, query: Query, repaired: Vec<(String, String)>, is_chosen: bool) -> Understood {
        Understood { meaning, query, repaired, is_chosen, beside: Vec::new(), joined: None }
    }

    fn of_several(all: Vec<Understood>) -> Option<Understood> {
        let mut all = all.into_iter();
        let first = all.next()?;
        Some(Understood { beside: all.collect(), ..first })
    }

    /// Itself, if its numbers can stand side by side: each is one row, and the same is said of all.
    fn if_one_row_each(self, known: &Known<'_>, today: Day) -> Option<Understood> {
        let is_alike = |one: &Understood| {
            say_the_same((&self.meaning, &self.query), (&one.meaning, &one.query)) && one.query.is_one_row()
        };
        let of = |one: &Understood| of_query(&one.query, known.schema, today, false);
        let can = self.all().all(is_alike)
            && beside::together(self.all().map(of).collect(), known.schema.dialect, false).is_some();
        can.then_some(self)
    }

    /// Its numbers: itself, and those beside it.
    fn all(&self) -> impl Iterator<Item = &Understood> {
        std::iter::once(self).chain(&self.beside)
    }

    /// This question as a message changes it, if it does: all of its numbers.
    fn changed(&self, said: Message<'_>, message: &str, known: &Known<'_>, today: Day) -> Option<Understood> {
        let change = |one: &Understood| one.changed_alone(said, message, known, today);
        if self.beside.is_empty() {
            return change(self);
        }
        let measures: Vec<Measure> = self.all().flat_map(|one| one.meaning.measures.clone()).collect();
        let read = understand::read(&follow::bare(message), known, today);
        // `only the orders`, `also the quantity`: not of each number.
        if read.names_number(known.schema, &measures) || follow::other_function(message).is_some() {
            return None;
        }
        let joined = self.joined.as_deref().and_then(change);
        let all = self.all().map(change).collect::<Option<_>>();
        match all.and_then(Understood::of_several).and_then(|changed| changed.if_one_row_each(known, today)) {
            Some(mut changed) => {
                changed.beside.iter_mut().for_each(|one| one.repaired.clear());
                Some(Understood { joined: joined.map(Box::new), ..changed })
            }
            None => joined,
        }
    }

    fn changed_alone(
        &self,
        said: Message<'_>,
        message: &str,
        known: &Known<'_>,
        today: Day,
    ) -> Option<Understood> {
        let read = understand::read(&follow::bare(message), known, today);
        let labels = Labels { schema: known.schema, chinese: is_chinese(message) };
        let other = match (follow::other_function(message), follow::other_end(message)) {
            (Some(func), _) => Some(follow::with_function(&self.meaning, func)?),
            (None, Some(greatest)) => Some(follow::with_end(&self.meaning, greatest)?),
            (None, None) if follow::asks_shares(message) => Some(follow::with_shares(&self.meaning)?),
            (None, None) => None,
        };
        if let Some(meaning) = other {
            let query = plan::plan(known, meaning.clone(), labels, today).ok()?;
            return Some(Understood::alone(meaning, query, Vec::new(), self.is_chosen));
        }
        let with = |preferred: Option<usize>| -> Option<Understood> {
            let part = self.in_place(read.meaning(known, preferred).ok()?, known.schema);
            let changed = follow::changed(&self.meaning, part, said)?;
            let (meaning, query) = planned(changed, known, labels, today).ok()?;
            let is_chosen = self.is_chosen || preferred.is_some();
            Some(Understood::alone(meaning, query, read.repaired.clone(), is_chosen))
        };
        let of_base = self.meaning.tables.first().copied();
        with(None)
            .or_else(|| with(of_base))
            .or_else(|| read.tables().into_iter().find_map(|table| with(Some(table))))
    }

    /// A part of a question with conditions on the fields that the question has: `red` instead of `green`, of whatever has
    /// that colour.
    fn in_place(&self, mut part: Meaning, schema: &Schema) -> Meaning {
        let name = |place: Place| schema.field(place).name.to_lowercase();
        for filter in &mut part.filters {
            let known = self.meaning.filters.iter().find(|known| name(known.place) == name(filter.place));
            if let (Some(known), Test::Among(values, _)) = (known, &filter.test)
                && values.iter().all(|value| schema.field(known.place).values.contains(value))
            {
                filter.place = known.place;
            }
        }
        part
    }

    fn answer(&self, question: &str, known: &Known<'_>, today: Day) -> Answer {
        let chinese = is_chinese(question);
        let of = |one: &Understood| Answer {
            doubts: one.doubts(known.schema),
            ..of_query(&one.query, known.schema, today, chinese)
        };
        let answer = match &self.beside[..] {
            [] => of(self),
            _ => beside::together(self.all().map(of).collect(), known.schema.dialect, chinese)
                .expect("they are one row each, which was checked"),
        };
        let mut repairs = explain::repairs(&self.repaired, chinese);
        let lower = question.to_lowercase();
        let words = ["fiscal", "financial year", "fy", "财年", "财政年"];
        if self.query.fiscal.is_some() || words.iter().any(|word| lower.contains(word)) {
            repairs += &explain::fiscal(known.schema.first_month(), chinese);
        }
        Answer {
            things: things(self.all().map(|one| &one.meaning)),
            explanation: answer.explanation + &repairs,
            chart: self.meaning.chart,
            ..answer
        }
    }

    /// Whether one of its numbers counts the things whose parts are in the table.
    fn counts_parts(&self) -> bool {
        let is_of_parts =
            |measure: &Measure| matches!(measure, Measure::Count(table) if *table != self.query.from);
        let numbers = self.query.columns.iter().filter(|column| column.measure).count();
        numbers > 1 && self.meaning.measures.iter().any(is_of_parts)
    }

    fn doubts(&self, schema: &Schema) -> u32 {
        let query = &self.query;
        let repeats = query.joins.iter().any(|step| !step.up);
        let is_text = |column: &Column| match column.expr {
            Expr::Made(_, place) => schema.field(place).kind() == Kind::NumberText,
            _ => false,
        };
        let doubts = [
            self.is_chosen,
            self.counts_parts() && !repeats,
            repeats,
            query.absent.is_some() || !query.present.is_empty(),
            query.columns.iter().any(is_text),
        ];
        let repaired = u32::try_from(self.repaired.len()).unwrap_or(u32::MAX);
        repaired.saturating_add(doubts.iter().map(|doubt| u32::from(*doubt)).sum())
    }
}

/// How far a table is from what happened, by the prefix of its name: details before what was taken in, before summaries.
pub fn layer(name: &str) -> u8 {
    match name.split('_').next().unwrap_or_default().to_lowercase().as_str() {
        "dws" => 2,
        "ads" => 3,
        "ods" | "stg" => 1,
        _ => 0,
    }
}

/// SQL for a query that was written as JSON, or what is wrong with it.
pub fn answer_of_query(
    query: &Value,
    known: &Known<'_>,
    today: Day,
    chinese: bool,
) -> Result<Answer, String> {
    if query["beside"].is_null() {
        return Ok(of_query(&algebra::read(query, known)?, known.schema, today, chinese));
    }
    let each = algebra::read_beside(query, known)?;
    let all = each.iter().map(|query| of_query(query, known.schema, today, chinese)).collect();
    let wrong = || "beside: each number has a name of its own".to_owned();
    beside::together(all, known.schema.dialect, chinese).ok_or_else(wrong)
}

fn of_query(query: &Query, schema: &Schema, today: Day, chinese: bool) -> Answer {
    let labels = Labels { schema, chinese };
    Answer {
        sql: sql::write(query, labels),
        title: explain::title(query, labels),
        explanation: explain::explanation(query, labels, today),
        tables: tables(query, schema),
        shape: query.shape.word(),
        measures: measures(query),
        summed: summed(query),
        derived: query.derived.iter().map(|(_, alias)| alias.clone()).collect(),
        unit: query.unit.map(Unit::word).or(query.cycle.map(Cycle::word)),
        things: 0,
        limit: query.rows_told(),
        query: algebra::told(query, schema),
        doubts: 0,
        chart: None,
    }
}

/// How many tables some meanings name.
fn things<'m>(meanings: impl Iterator<Item = &'m Meaning>) -> usize {
    let named = |meaning: &'m Meaning| {
        let counted = meaning.measures.iter().chain(meaning.having.iter().map(|(measure, ..)| measure));
        let counted = counted.filter_map(|measure| match measure {
            Measure::Count(table) => Some(*table),
            Measure::Different(_) | Measure::Made(..) | Measure::Share(_) | Measure::Part(_) => None,
        });
        let grouped = meaning.groups.iter().filter_map(|group| match group {
            Group::Table(table) => Some(*table),
            Group::Field(_) => None,
        });
        meaning.tables.iter().copied().chain(counted).chain(grouped)
    };
    meanings.flat_map(named).collect::<BTreeSet<usize>>().len()
}

/// Names of the numeric columns.
fn measures(query: &Query) -> Vec<String> {
    let columns = query.columns.iter().filter(|column| column.measure).map(|column| &column.alias);
    columns.chain(query.derived.iter().map(|(_, alias)| alias)).cloned().collect()
}

/// Names of those whose values add up: none of numbers that stand beside others.
fn summed(query: &Query) -> Vec<String> {
    let adds_up = |column: &&Column| column.measure && column.expr.adds_up();
    query.columns.iter().filter(adds_up).map(|column| column.alias.clone()).collect()
}

fn tables(query: &Query, schema: &Schema) -> Vec<String> {
    let related = query.absent.iter().chain(&query.present).flat_map(|related| {
        std::iter::once(related.child.table).chain(related.steps.iter().map(|step| step.to()))
    });
    let all = std::iter::once(query.from).chain(query.joins.iter().map(|step| step.to())).chain(related);
    let mut names: Vec<String> = Vec::new();
    for table in all {
        let name = &schema.table(table).name;
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    names
}
