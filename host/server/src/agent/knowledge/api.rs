//! Handlers of verified questions and terms.

use std::collections::HashMap;

use lakeport_base::Error;
use lakeport_base::error::Detail;
use lakeport_base::text::shortened;
use lakeport_http::form::Draft;
use lakeport_http::{Bare, Caller, Nothing};

use super::forms::{EntryPath, EntryQuery, ITEMS_MAX, Import};
use super::view::{DeletedEntry, EntryView, Export, Imported};
use super::{ENTRIES_MAX, Entry, Kind, store};
use crate::agent::Call;
use crate::agent::topics::view::List;
use crate::audit::{Change, Commit};

/// `GET /api/v1/nl2sql/verified`, `GET /api/v1/nl2sql/glossary`
pub async fn list<K: Kind>(call: Call<Nothing, EntryQuery>) -> Result<Bare<List<EntryView<K::Body>>>, Error> {
    let paging = call.query.paging();
    let keyword = call.query.keyword.as_ref().map_or("", |keyword| keyword.0.as_str());
    let datasources = call.caller.datasources.as_deref();
    let (total, entries) = store::page::<K>(&call.state.db, datasources, keyword, &paging).await?;
    Ok(Bare::new(&List::new(&paging, total, entries.into_iter().map(EntryView::from).collect())))
}

/// `GET /api/v1/nl2sql/verified/{id}`, `GET /api/v1/nl2sql/glossary/{id}`
pub async fn get<K: Kind>(call: Call<EntryPath>) -> Result<Bare<EntryView<K::Body>>, Error> {
    let id = call.path.id;
    let entry = store::find::<K>(&call.state.db, id).await?;
    let entry = entry.filter(|entry| may_read::<K>(&call.caller, &entry.body));
    Ok(shown::<K>(entry.ok_or_else(|| unknown::<K>(id))?))
}

fn shown<K: Kind>(entry: Entry<K::Body>) -> Bare<EntryView<K::Body>> {
    let etag = entry.etag();
    Bare::new(&EntryView::from(entry)).with_etag(&etag)
}

fn unknown<K: Kind>(id: i64) -> Error {
    Error::not_found(K::RESOURCE, id)
}

fn may_read<K: Kind>(caller: &Caller, body: &K::Body) -> bool {
    K::datasource(body).is_none_or(|name| caller.may_use(name))
}

/// 403 for a caller that is bound to data sources, unless the entry is about one of these.
fn check_may_write<K: Kind>(caller: &Caller, body: &K::Body) -> Result<(), Error> {
    match K::datasource(body) {
        Some(name) => caller.check_datasource(name),
        None if caller.is_bound() => {
            let message = "your token is bound to data sources; name one of them in `datasource`";
            Err(Error::forbidden("datasource_not_allowed", message))
        }
        None => Ok(()),
    }
}

/// `POST /api/v1/nl2sql/verified`, `POST /api/v1/nl2sql/glossary`
pub async fn create<K: Kind>(
    call: Call<Nothing, Nothing, Draft<K::Create>>,
) -> Result<Bare<EntryView<K::Body>>, Error> {
    let (state, caller) = (&call.state, &call.caller);
    let (body, wrong) = K::changed(None, &K::Update::from(call.body.read().clone()));
    check::<K, _, _>(&call, None, &body, wrong).await?;
    let now_ms = state.clock.now_ms();
    let mut entry =
        Entry { id: 0, body, author: caller.name.clone(), created_at_ms: now_ms, updated_at_ms: now_ms };
    let mut tx = state.db.begin().await?;
    refuse_full(store::count::<K>(&mut tx).await? + 1)?;
    entry.id = store::insert::<K>(&mut tx, &entry).await?;
    let change = Change::of(K::RESOURCE, entry.id).after(&entry.body);
    call.commit(tx, change, shown::<K>(entry)).await
}

/// 400 for all that is wrong with an entry: its form, what is known of that, and what only the server knows; 403 where
/// the caller may not write it.
async fn check<K: Kind, P, F>(
    call: &Call<P, Nothing, Draft<F>>,
    before: Option<&K::Body>,
    body: &K::Body,
    mut wrong: Vec<Detail>,
) -> Result<(), Error> {
    wrong.extend(call.body.found(check_may_write::<K>(&call.caller, body))?);
    let found = K::check(&call.state, &call.caller, before, std::slice::from_ref(body)).await?;
    wrong.extend(found.into_iter().map(|(_, detail)| detail));
    call.body.refuse(wrong)
}

fn refuse_full(count: i64) -> Result<(), Error> {
    if count <= ENTRIES_MAX {
        return Ok(());
    }
    let message = format!("there can be {ENTRIES_MAX} at most; delete some first");
    Err(Error::conflict("too_many_entries", message))
}

/// `PUT /api/v1/nl2sql/verified/{id}`, `PUT /api/v1/nl2sql/glossary/{id}`
pub async fn update<K: Kind>(
    call: Call<EntryPath, Nothing, Draft<K::Update>>,
) -> Result<Bare<EntryView<K::Body>>, Error> {
    let (state, caller, id) = (&call.state, &call.caller, call.path.id);
    // The guard is asked without a lock; the lock below finds whether it was about the same entry.
    let known = store::find::<K>(&state.db, id).await?;
    let known = known.filter(|entry| may_read::<K>(caller, &entry.body)).ok_or_else(|| unknown::<K>(id))?;
    check_may_write::<K>(caller, &known.body)?;
    let (body, wrong) = K::changed(Some(&known.body), call.body.read());
    check::<K, _, _>(&call, Some(&known.body), &body, wrong).await?;
    let mut tx = state.db.begin().await?;
    let before = store::lock::<K>(&mut tx, id).await?.ok_or_else(|| unknown::<K>(id))?;
    call.check_if_match(&before.etag())?;
    if before.body != known.body {
        let message = "it was changed meanwhile; send the change again";
        return Err(Error::unavailable("store_busy", message).retry_after(1));
    }
    let mut after = Entry { body, ..before.clone() };
    if after != before {
        (after.author, after.updated_at_ms) = (caller.name.clone(), state.clock.now_ms());
        store::update::<K>(&mut tx, &after).await?;
    }
    let change = Change::of(K::RESOURCE, id).before(&before.body).after(&after.body);
    call.commit(tx, change, shown::<K>(after)).await
}

/// `DELETE /api/v1/nl2sql/verified/{id}`, `DELETE /api/v1/nl2sql/glossary/{id}`
pub async fn delete<K: Kind>(call: Call<EntryPath>) -> Result<Bare<DeletedEntry>, Error> {
    let id = call.path.id;
    let mut tx = call.state.db.begin().await?;
    let before = store::lock::<K>(&mut tx, id).await?;
    let before =
        before.filter(|entry| may_read::<K>(&call.caller, &entry.body)).ok_or_else(|| unknown::<K>(id))?;
    check_may_write::<K>(&call.caller, &before.body)?;
    call.check_if_match(&before.etag())?;
    store::delete(&mut tx, id).await?;
    let change = Change::of(K::RESOURCE, id).before(&before.body);
    call.commit(tx, change, Bare::new(&DeletedEntry { id, deleted: true })).await
}

/// `GET /api/v1/nl2sql/verified/export`, `GET /api/v1/nl2sql/glossary/export`
pub async fn export<K: Kind>(call: Call) -> Result<Bare<Export<K::Body>>, Error> {
    let entries = store::all::<K>(&call.state.db).await?.into_iter().map(|entry| entry.body);
    let items = entries.filter(|body| may_read::<K>(&call.caller, body)).collect();
    Ok(Bare::new(&Export { format: K::FORMAT.to_owned(), items }))
}

/// `POST /api/v1/nl2sql/verified/import`, `POST /api/v1/nl2sql/glossary/import`: all of it, or nothing.
pub async fn import<K: Kind>(
    call: Call<Nothing, Nothing, Draft<Import<K::Create>>>,
) -> Result<Bare<Imported>, Error> {
    let (state, caller) = (&call.state, &call.caller);
    let (bodies, mut wrong) = changed::<K>(call.body.read());
    let may_write = bodies.iter().try_for_each(|body| check_may_write::<K>(caller, body));
    wrong.extend(call.body.found(may_write)?);
    let found = K::check(state, caller, None, &bodies).await?;
    wrong.extend(found.into_iter().map(|(place, detail)| in_item(place, detail)));
    call.body.refuse(wrong)?;
    let now_ms = state.clock.now_ms();
    let mut imported = Imported { created: 0, updated: 0, unchanged: 0 };
    let mut tx = state.db.begin().await?;
    let count = store::count::<K>(&mut tx).await?;
    for body in &bodies {
        let author = caller.name.clone();
        match store::lock_same::<K>(&mut tx, body).await? {
            Some(before) if before.body == *body => imported.unchanged += 1,
            Some(before) => {
                let after = Entry { body: body.clone(), author, updated_at_ms: now_ms, ..before };
                store::update::<K>(&mut tx, &after).await?;
                imported.updated += 1;
            }
            None => {
                let new =
                    Entry { id: 0, body: body.clone(), author, created_at_ms: now_ms, updated_at_ms: now_ms };
                store::insert::<K>(&mut tx, &new).await?;
                imported.created += 1;
            }
        }
    }
    refuse_full(count + imported.created as i64)?;
    let change = Change::of(K::RESOURCE, "import").after(&bodies);
    call.commit(tx, change, Bare::new(&imported)).await
}

/// The entries of a file, and what is wrong with them; none of too many.
fn changed<K: Kind>(form: &Import<K::Create>) -> (Vec<K::Body>, Vec<Detail>) {
    let mut wrong = Vec::new();
    if form.format != K::FORMAT {
        let message = format!("is `{}`; it must be `{}`", shortened(&form.format, 50), K::FORMAT);
        wrong.push(Detail::new("format", message));
    }
    if form.items.len() > ITEMS_MAX {
        let message = format!("has {} entries; {ITEMS_MAX} at most in one import", form.items.len());
        wrong.push(Detail::new("items", message));
        return (Vec::new(), wrong);
    }
    let mut bodies = Vec::new();
    for (place, item) in form.items.iter().enumerate() {
        let (body, found) = K::changed(None, &K::Update::from(item.clone()));
        wrong.extend(found.into_iter().map(|detail| in_item(place, detail)));
        bodies.push(body);
    }
    wrong.extend(given_twice::<K>(&bodies));
    (bodies, wrong)
}

/// The entries that are the same as one before them, and yet differ: only one of the two could be kept.
fn given_twice<K: Kind>(bodies: &[K::Body]) -> Vec<Detail> {
    let mut first = HashMap::new();
    let mut twice = Vec::new();
    for (place, body) in bodies.iter().enumerate() {
        let before = *first.entry((K::words(body), K::datasource(body))).or_insert(place);
        if bodies[before] != *body {
            let what = K::RESOURCE.replace('_', " ");
            let message =
                format!("is the same {what} as items[{before}] with other members; keep one of the two");
            twice.push(Detail::new(format!("items[{place}]"), message));
        }
    }
    twice
}

fn in_item(place: usize, detail: Detail) -> Detail {
    Detail::new(format!("items[{place}].{}", detail.field), detail.message)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agent::knowledge::{Glossary, Verified};

    fn wrong<K: Kind>(file: serde_json::Value) -> Vec<(String, String)> {
        let form: Import<K::Create> = serde_json::from_value(file).unwrap();
        let (_, wrong) = changed::<K>(&form);
        wrong.into_iter().map(|detail| (detail.field, detail.message)).collect()
    }

    #[test]
    fn two_of_the_same_in_a_file_are_refused_if_they_differ() {
        let question = |question: &str, datasource: &str, sql: &str| json!({ "question": question, "datasource": datasource, "sql": sql });
        let found = wrong::<Verified>(json!({ "format": "lakeport.verified/1", "items": [
            question("How many orders?", "a", "SELECT 1"),
            question("How many orders?", "b", "SELECT 2"),
            question("How many orders?", "a", "SELECT 1"),
            question("how many ORDERS", "a", "SELECT 2"),
        ] }));
        let [(field, message)] = &found[..] else { panic!("{found:?}") };
        assert!(field == "items[3]" && message.contains("items[0]"), "{field} {message}");
        let term = |term: &str, definition: &str| json!({ "term": term, "definition": definition });
        let found = wrong::<Glossary>(json!({ "format": "x", "items": [
            term("GMV", "one"), term("?", "two"), term("gmv", "two"),
        ] }));
        let fields: Vec<&str> = found.iter().map(|(field, _)| field.as_str()).collect();
        assert_eq!(fields, ["format", "items[1].term", "items[2]"]);
    }
}
