//! The search over tables and fields: visibility and views of the hits. The catalogue in memory does the
//! searching.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use ::http::Method;
use lakeport_base::Error;
use lakeport_catalog::{Filter, Hit, plain, split};
use lakeport_http::form::Text;
use lakeport_http::{Caller, Data, Nothing, Page, PageNum, PageSize, Paging, Role, Route};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::core::{Core, stands_on_core};
use crate::datasources;
use crate::part::Part;
use crate::tables::{self, Catalog, Field, Record};

/// The default page size.
const PAGE_SIZE_DEFAULT: i64 = 20;
/// The longest keyword, in characters.
const KEYWORD_MAX_CHARS: usize = 200;

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SearchQuery {
    /// Part of a name, a comment, a description or a tag, ignoring case; each of several words must match.
    /// `database.table` finds a table, too. All other characters are literal.
    keyword: Text<1, KEYWORD_MAX_CHARS>,
    /// Only tables of this data source.
    cluster_id: Option<i64>,
    #[schemars(extend("default" = 1))]
    page_num: Option<PageNum>,
    #[schemars(extend("default" = PAGE_SIZE_DEFAULT))]
    page_size: Option<PageSize>,
}

#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "SearchHitType")]
enum HitType {
    Table,
    Field,
}

/// A table, or a field of one.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "SearchHit")]
struct HitView {
    #[serde(rename = "type")]
    kind: HitType,
    table_id: i64,
    table_name: String,
    db_name: String,
    cluster_id: Option<i64>,
    field_id: Option<i64>,
    field_name: Option<String>,
    /// Of the field or the table.
    comment: Option<String>,
    description: Option<String>,
    /// Members that contain the keyword or one of its words.
    matched: Vec<&'static str>,
}

/// The searched catalogue.
pub struct Search {
    core: Arc<Core>,
    catalog: Arc<Catalog>,
}

stands_on_core!(Search);

impl Search {
    pub fn new(core: &Arc<Core>, catalog: &Arc<Catalog>) -> Search {
        Search { core: Arc::clone(core), catalog: Arc::clone(catalog) }
    }
}

pub fn part() -> Part<Search> {
    Part {
        tags: &[("search", "Full-text search for tables and fields")],
        routes: routes(),
        ..Part::default()
    }
}

/// A request to this module.
type Call<P = Nothing, Q = Nothing, B = Nothing> = lakeport_http::Call<Search, P, Q, B>;

fn routes() -> Vec<Route<Search>> {
    vec![Route::new(
        Method::GET,
        "/api/v1/search",
        Role::Viewer,
        "search",
        "Search tables and fields; matches in names rank before matches in comments and descriptions",
        search,
    )]
}

/// `GET /api/v1/search`
async fn search(call: Call<Nothing, SearchQuery>) -> Result<Data<Page<HitView>>, Error> {
    let (state, query) = (&call.state, &call.query);
    let paging = Paging::of(query.page_num, query.page_size, PAGE_SIZE_DEFAULT)?;
    let keyword = plain(query.keyword.0.trim());
    let seen = Seen::of(state, &call.caller).await?;
    state.catalog.caught_up().await?;
    let (total, hits) = found(state, &keyword, seen, query.cluster_id, &paging).await?;
    let views = shown(state, &keyword, &hits).await?;
    Ok(Data::new(&paging.page(total as i64, views)))
}

/// The data sources whose tables the caller may see.
struct Seen {
    names: HashMap<i64, String>,
    caller: Arc<Caller>,
}

impl Seen {
    async fn of(state: &Search, caller: &Arc<Caller>) -> Result<Seen, Error> {
        Ok(Seen { names: datasources::names_by_id(&state.db).await?, caller: Arc::clone(caller) })
    }

    fn has(&self, cluster_id: Option<i64>) -> bool {
        // A table without a data source is visible to all.
        let Some(id) = cluster_id else { return true };
        match self.names.get(&id) {
            Some(name) => name != datasources::OWN_NAME && self.caller.may_use(name),
            None => !self.caller.is_bound(),
        }
    }
}

/// On a blocking thread: a search reads all fields, which would block threads that answer requests.
async fn found(
    state: &Arc<Search>,
    keyword: &str,
    seen: Seen,
    cluster_id: Option<i64>,
    paging: &Paging,
) -> Result<(usize, Vec<Hit>), Error> {
    let (state, keyword, paging) = (Arc::clone(state), keyword.to_owned(), *paging);
    let search = move || {
        let filter = Filter { cluster_id, ..Filter::default() };
        let (offset, size) = (paging.offset() as usize, paging.page_size as usize);
        state.catalog.read().search(&keyword, &filter, |source| seen.has(source), offset, size)
    };
    tokio::task::spawn_blocking(search).await.map_err(Error::internal)
}

/// The current data from the store; omits deleted ones.
async fn shown(state: &Search, keyword: &str, hits: &[Hit]) -> Result<Vec<HitView>, Error> {
    let words = split(keyword);
    let table_ids: BTreeSet<i64> = hits.iter().map(|hit| hit.table_id).collect();
    let table_ids: Vec<i64> = table_ids.into_iter().collect();
    let field_ids: Vec<i64> = hits.iter().filter_map(|hit| hit.field_id).collect();
    let tables = tables::records_of(&state.db, &table_ids).await?;
    let tables: HashMap<i64, Record> = tables.into_iter().map(|table| (table.id, table)).collect();
    let fields = tables::fields_of_ids(&state.db, &field_ids).await?;
    let fields: HashMap<i64, Field> = fields.into_iter().map(|field| (field.id, field)).collect();
    let view = |hit: &Hit| {
        let table = tables.get(&hit.table_id)?;
        match hit.field_id {
            None => Some(HitView::of_table(table, &words)),
            Some(id) => Some(HitView::of_field(table, fields.get(&id)?, &words)),
        }
    };
    Ok(hits.iter().filter_map(view).collect())
}

fn has(text: Option<&str>, words: &[&str]) -> bool {
    let has = |text: String| words.iter().any(|word| text.contains(word));
    text.is_some_and(|text| has(text.to_lowercase()))
}

impl HitView {
    fn of_table(table: &Record, words: &[&str]) -> HitView {
        let of = &table.definition;
        let qualified = format!("{}.{}", of.db_name, of.table_name);
        let with_point: Vec<&str> = words.iter().copied().filter(|word| word.contains('.')).collect();
        let is_named = has(Some(&of.table_name), words) || has(Some(&qualified), &with_point);
        let members = [
            ("tableName", is_named),
            ("tableComment", has(of.table_comment.as_deref(), words)),
            ("tags", of.tags.iter().any(|tag| has(Some(tag), words))),
            ("description", has(of.description.as_deref(), words)),
        ];
        HitView {
            kind: HitType::Table,
            table_id: table.id,
            table_name: of.table_name.clone(),
            db_name: of.db_name.clone(),
            cluster_id: of.cluster_id,
            field_id: None,
            field_name: None,
            comment: of.table_comment.clone(),
            description: of.description.clone(),
            matched: members.into_iter().filter(|(_, has)| *has).map(|(member, _)| member).collect(),
        }
    }

    fn of_field(table: &Record, field: &Field, words: &[&str]) -> HitView {
        let members = [
            ("fieldName", has(Some(&field.name), words)),
            ("fieldComment", has(field.comment.as_deref(), words)),
            ("description", has(field.description.as_deref(), words)),
        ];
        HitView {
            kind: HitType::Field,
            field_id: Some(field.id),
            field_name: Some(field.name.clone()),
            comment: field.comment.clone(),
            description: field.description.clone(),
            matched: members.into_iter().filter(|(_, has)| *has).map(|(member, _)| member).collect(),
            ..HitView::of_table(table, words)
        }
    }
}
