//! What editors know and the agent uses first: verified questions with their SQL, and the glossary of terms. Both are lists
//! of entries that are made, changed, exported and imported alike; see [`Kind`].

pub mod api;
pub mod forms;
pub mod glossary;
mod store;
pub mod verified;
mod view;
mod words;

use std::sync::Arc;

use ::http::Method;
use futures_util::future::BoxFuture;
use lakeport_base::Error;
use lakeport_base::error::Detail;
use lakeport_base::text::half_width;
use lakeport_http::Role::{Editor, Viewer};
use lakeport_http::{Caller, Route, etag_of};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::agent::Agent;
use crate::datasources;
pub use glossary::Glossary;
pub use verified::Verified;

/// The most entries of a kind.
pub const ENTRIES_MAX: i64 = 5_000;

/// The operations of verified questions and of the glossary.
pub fn routes() -> Vec<Route<Agent>> {
    let mut routes = of::<Verified>(&VERIFIED);
    routes.extend(of::<Glossary>(&GLOSSARY));
    routes
}

/// The paths, and the ids and summaries of the operations: list, create, get, update, delete, export, import.
struct Names {
    all: &'static str,
    one: &'static str,
    export: &'static str,
    import: &'static str,
    ids: [&'static str; 7],
    summaries: [&'static str; 7],
    /// What a deletion is refused for.
    delete_refuses: &'static [&'static str],
}

const VERIFIED: Names = Names {
    all: "/api/v1/nl2sql/verified",
    one: "/api/v1/nl2sql/verified/{id}",
    export: "/api/v1/nl2sql/verified/export",
    import: "/api/v1/nl2sql/verified/import",
    ids: [
        "listVerified",
        "createVerified",
        "getVerified",
        "updateVerified",
        "deleteVerified",
        "exportVerified",
        "importVerified",
    ],
    summaries: [
        "List verified questions with their SQL",
        "Verify a question: from now on its SQL answers it",
        "Get a verified question",
        "Update the given members of a verified question",
        "Delete a verified question",
        "Export all verified questions",
        "Import verified questions; the same one of the same data source is replaced; all of them or none",
    ],
    // One that a caller may see, it may also change.
    delete_refuses: &[],
};

const GLOSSARY: Names = Names {
    all: "/api/v1/nl2sql/glossary",
    one: "/api/v1/nl2sql/glossary/{id}",
    export: "/api/v1/nl2sql/glossary/export",
    import: "/api/v1/nl2sql/glossary/import",
    ids: ["listTerms", "createTerm", "getTerm", "updateTerm", "deleteTerm", "exportTerms", "importTerms"],
    summaries: [
        "List the terms of the glossary",
        "Create a term of the glossary",
        "Get a term",
        "Update the given members of a term",
        "Delete a term",
        "Export the whole glossary",
        "Import terms; the same one of the same data source is replaced; all of them or none",
    ],
    delete_refuses: &["datasource_not_allowed"],
};

fn of<K: Kind>(names: &Names) -> Vec<Route<Agent>> {
    let [list, create, get, update, delete, export, import] = names.ids;
    let summaries = names.summaries;
    vec![
        Route::new(Method::GET, names.all, Viewer, list, summaries[0], api::list::<K>),
        Route::new(Method::POST, names.all, Editor, create, summaries[1], api::create::<K>)
            .versioned()
            .refuses(&["datasource_not_allowed", "name_taken", "too_many_entries"]),
        Route::new(Method::GET, names.one, Viewer, get, summaries[2], api::get::<K>).versioned(),
        Route::new(Method::PUT, names.one, Editor, update, summaries[3], api::update::<K>)
            .versioned()
            .refuses(&["datasource_not_allowed", "name_taken"]),
        Route::new(Method::DELETE, names.one, Editor, delete, summaries[4], api::delete::<K>)
            .versioned()
            .refuses(names.delete_refuses),
        Route::new(Method::GET, names.export, Viewer, export, summaries[5], api::export::<K>),
        Route::new(Method::POST, names.import, Editor, import, summaries[6], api::import::<K>).refuses(&[
            "datasource_not_allowed",
            "name_taken",
            "too_many_entries",
        ]),
    ]
}

/// A kind of entries.
pub trait Kind: Send + Sync + 'static {
    /// In the audit log, and in errors.
    const RESOURCE: &'static str;
    /// In the store.
    const STORED: &'static str;
    /// Of exported files.
    const FORMAT: &'static str;
    /// The members of an entry.
    type Body: Clone + PartialEq + Serialize + DeserializeOwned + JsonSchema + Send + Sync + 'static;
    type Create: Clone + DeserializeOwned + JsonSchema + Send + Sync + 'static;
    type Update: From<Self::Create> + DeserializeOwned + JsonSchema + Send + Sync + 'static;

    /// The members after a change, and what is wrong with them.
    fn changed(before: Option<&Self::Body>, form: &Self::Update) -> (Self::Body, Vec<Detail>);
    /// The question or the term, in the form in which two are the same.
    fn words(body: &Self::Body) -> String;
    /// The data source that it is about, if it is about one.
    fn datasource(body: &Self::Body) -> Option<&str>;
    /// Checks what only the server and the databases know; returns what is wrong, with the place of each. `before`: the
    /// stored entry that is changed.
    fn check<'c>(
        state: &'c Arc<Agent>,
        caller: &'c Caller,
        before: Option<&'c Self::Body>,
        bodies: &'c [Self::Body],
    ) -> BoxFuture<'c, Result<Vec<(usize, Detail)>, Error>>;
}

/// A stored entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry<B> {
    pub id: i64,
    pub body: B,
    /// The name of the caller who changed it last.
    pub author: String,
    pub created_at_ms: i64,
    pub updated_at_ms: i64,
}

impl<B: Serialize> Entry<B> {
    pub fn etag(&self) -> String {
        etag_of(&(self.id, &self.body))
    }
}

/// Marks that mean nothing wherever they stand: two texts that differ in them are the same.
const MEANINGLESS: &str = "?。、()【】《》「」『』\"'`“”‘’";
/// Marks that mean nothing at the end of a text.
const MEANINGLESS_AT_END: &str = ".!,;:…";

/// A text in the form in which two are the same: in lower case, of half width, without marks that mean nothing. Every
/// other sign counts, also one that nothing here knows.
pub fn plain(text: &str) -> String {
    let lower: String = text.chars().map(half_width).flat_map(char::to_lowercase).collect();
    let is_end = |c: char| c.is_whitespace() || MEANINGLESS.contains(c) || MEANINGLESS_AT_END.contains(c);
    let characters: Vec<char> = folded(lower.trim_end_matches(is_end)).chars().collect();
    let kept = characters.iter().enumerate().map(|(place, &c)| {
        let (before, after) = (&characters[..place], &characters[place + 1..]);
        if is_meaningless(c, before, after) { ' ' } else { c }
    });
    folded(&kept.collect::<String>())
}

fn is_meaningless(c: char, before: &[char], after: &[char]) -> bool {
    let begins = |text: &[char], is: fn(char) -> bool| text.first().is_some_and(|c| is(*c));
    match c {
        // Between words; not in `1,000`, `10:30` and `,5`.
        ',' | ';' | ':' => {
            let behind_blank = after.strip_prefix(&[' ']).unwrap_or(after);
            !begins(behind_blank, char::is_numeric)
        }
        // Within a word such as `e-mail`; not in `-5`.
        '-' => {
            let ends = before.last().is_some_and(char::is_ascii_alphanumeric);
            ends && begins(after, |c| c.is_ascii_alphanumeric())
        }
        _ => MEANINGLESS.contains(c),
    }
}

/// A text with one blank for all white space in a place, and none around it.
fn folded(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Runs what may take more than a few milliseconds, where no request waits for it.
async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.map_err(Error::internal)?
}

fn has_words(text: &str) -> bool {
    text.chars().any(char::is_alphanumeric)
}

/// The entries about data sources that do not exist, by their exact names.
async fn unknown_datasources<K: Kind>(
    state: &Agent,
    bodies: &[K::Body],
) -> Result<Vec<(usize, Detail)>, Error> {
    let known = datasources::names(&state.db).await?;
    let named = bodies.iter().enumerate().filter_map(|(place, body)| Some((place, K::datasource(body)?)));
    let unknown = named.filter(|(_, name)| !known.iter().any(|known| known == name));
    Ok(unknown.map(|(place, name)| (place, Detail::new("datasource", datasources::no_such(name)))).collect())
}

/// Whether the rights allow this data source.
fn is_allowed(rights: Option<&[String]>, datasource: &str) -> bool {
    rights.is_none_or(|names| names.iter().any(|name| name == datasource))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_width_and_punctuation_make_no_difference() {
        assert_eq!(plain(" How many  ORDERS?! "), "how many orders");
        assert_eq!(plain("ＧＭＶ（本月）是多少？"), plain("gmv 本月 是多少"));
        for (one, other) in [
            ("top 5", "top 50"),
            ("amount > 500", "amount < 500"),
            ("amount = 500", "amount != 500"),
            ("1.5", "1 5"),
            ("above -5", "above 5"),
            ("C++", "C"),
            ("C#", "C"),
            ("above .5", "above 5"),
            ("amount ≧ 500", "amount ≦ 500"),
            ("amount ⩾ 500", "amount ⩽ 500"),
            ("高于-5的天数", "高于5的天数"),
            ("高于 -5", "高于 5"),
            ("above \u{2212}5", "above 5"),
            ("above - 5", "above 5"),
            ("±5", "5"),
            ("¬ paid", "paid"),
            ("a ! = 5", "a = 5"),
            ("!paid orders", "paid orders"),
            ("$ 5", "€ 5"),
            ("5‰", "5"),
            ("revenue ↑", "revenue ↓"),
            ("10:30", "10 30"),
            ("ratio 3 : 4", "ratio 3 4"),
            ("above ,5", "above 5"),
            ("[1, 5)", "(1, 5]"),
            ("a/b", "a b"),
            ("a*b", "a b"),
            ("ods_orders", "ods orders"),
            ("shop.orders", "shop orders"),
            ("5\u{20e3}", "5"),
        ] {
            assert_ne!(plain(one), plain(other));
        }
        assert_eq!(plain(&plain("Orders (2026-11-26) > 1.5?")), plain("orders 2026 11 26 > 1.5"));
        for (one, other) in [
            ("订单，按天；“北京”。", "订单 按天 北京"),
            ("Orders, by e-mail: how many...", "orders by e mail how many"),
            ("《订单》有多少！！", "订单 有多少"),
            ("", " ?! "),
        ] {
            assert_eq!(plain(one), plain(other));
        }
    }
}
