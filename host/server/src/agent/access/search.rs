//! Searches tables by a text in English, Chinese or both: words by stems, Chinese by pairs of characters,
//! each weighted higher the fewer tables it matches.

use std::collections::{BTreeSet, HashMap};

use lakeport_bindings::tool::catalog::Hit;

use super::catalog::Seen;
use super::sources::Sources;

/// Words and pairs of one text; further ones are ignored.
const NEEDLES_MAX: usize = 40;
/// Fields in a hit.
const FIELDS_MAX: usize = 20;
/// The shortest stem that may match inside of words.
const INSIDE_MIN_CHARS: usize = 4;

/// The weights of matches.
const NAME_WORD: f32 = 4.0;
const NAME_PART: f32 = 2.0;
const COMMENT: f32 = 2.0;
const FIELD_NAME: f32 = 1.5;
const FIELD_COMMENT: f32 = 1.0;

/// Words without information about the table.
const STOP_WORDS: &[&str] = &[
    "a", "all", "an", "and", "any", "are", "at", "average", "been", "by", "can", "chart", "compare", "count",
    "day", "did", "do", "does", "during", "each", "every", "find", "for", "from", "give", "had", "has",
    "have", "how", "i", "in", "is", "it", "last", "least", "list", "many", "me", "month", "most", "much",
    "my", "number", "of", "on", "or", "over", "past", "per", "please", "show", "sum", "table", "tell",
    "that", "the", "their", "there", "these", "this", "to", "top", "total", "trend", "was", "we", "week",
    "were", "what", "when", "where", "which", "who", "with", "year", "you",
];
/// Characters without information; they end a run of Chinese.
const STOP_CHARACTERS: &str = "的了是有在和与按每各及其这那被把请我你他个";
/// Pairs without information about the table.
const STOP_PAIRS: &[&str] = &[
    "一共", "一下", "上周", "上月", "什么", "今天", "几天", "几个", "分别", "列出", "哪些", "多少", "如何",
    "平均", "总共", "总数", "情况", "所有", "排名", "数量", "显示", "最多", "最少", "最近", "本周", "本月",
    "查看", "查询", "次数", "每天", "每月", "统计", "给出", "趋势", "过去", "近期", "天内",
];

/// A prepared search text.
pub struct Search {
    needles: Vec<Needle>,
    /// Names and comments of candidate fields, by table.
    fields: HashMap<u64, Vec<(String, String)>>,
}

struct Needle {
    /// A stem, or a pair of Chinese characters; lower case.
    part: String,
    is_word: bool,
}

/// The matches of a table.
struct Fit<'t> {
    table: Seen<'t>,
    /// By needle.
    scores: Vec<f32>,
    fields: Vec<String>,
}

impl Search {
    pub fn of(text: &str) -> Search {
        let mut known = BTreeSet::new();
        let mut needles: Vec<Needle> = words(text)
            .map(|word| Needle { part: stem(&word).to_owned(), is_word: true })
            .chain(pairs(text).into_iter().map(|part| Needle { part, is_word: false }))
            .collect();
        needles.retain(|needle| known.insert(needle.part.clone()));
        needles.truncate(NEEDLES_MAX);
        Search { needles, fields: HashMap::new() }
    }

    /// The parts that the store searches in fields.
    pub fn parts(&self) -> Vec<String> {
        self.needles.iter().map(|needle| needle.part.clone()).collect()
    }

    /// Adds the fields that the store found: table, name, comment.
    pub fn with_fields(&mut self, fields: Vec<(i64, String, String)>) {
        for (table, name, comment) in fields {
            self.fields.entry(table.unsigned_abs()).or_default().push((name, comment));
        }
    }

    /// The matching tables, best first.
    pub fn hits<'t>(&self, tables: impl Iterator<Item = Seen<'t>>, sources: &Sources) -> Vec<Hit> {
        let mut total = 0_usize;
        let count = |_: &Seen<'t>| total += 1;
        let fits: Vec<Fit<'t>> = tables.inspect(count).filter_map(|table| self.fit(table)).collect();
        let weights: Vec<f32> = (0..self.needles.len())
            .map(|at| {
                let fitting = fits.iter().filter(|fit| fit.scores[at] > 0.0).count();
                (1.0 + total as f32 / (1.0 + fitting as f32)).ln()
            })
            .collect();
        let mut hits: Vec<Hit> = fits
            .into_iter()
            .map(|fit| Hit {
                score: fit.scores.iter().zip(&weights).map(|(score, weight)| score * weight).sum(),
                table: fit.table.head(sources),
                fields: fit.fields,
            })
            .collect();
        hits.sort_by(|one, other| {
            let key = |hit: &Hit| (hit.table.physical, hit.table.row_count);
            let by_score = other.score.total_cmp(&one.score);
            by_score.then_with(|| key(other).cmp(&key(one))).then_with(|| one.table.id.cmp(&other.table.id))
        });
        hits
    }

    fn fit<'t>(&self, table: Seen<'t>) -> Option<Fit<'t>> {
        let (id, comment) = match table {
            Seen::Own(own) => (own.id(), own.head().comment),
            Seen::Entry(entry) => {
                (entry.id.unsigned_abs(), entry.table_comment.as_deref().unwrap_or_default().to_owned())
            }
        };
        let (name, comment) = (Text::of(table.name()), Text::of(&comment));
        let mut scores: Vec<f32> = self
            .needles
            .iter()
            .map(|needle| {
                let named = needle.fits(&name, NAME_WORD, NAME_PART);
                named.max(needle.fits(&comment, COMMENT, COMMENT / 2.0))
            })
            .collect();
        let mut fields = Vec::new();
        let own_fields;
        let candidates = match table {
            Seen::Own(own) => {
                own_fields =
                    own.whole().fields.into_iter().map(|field| (field.name, field.comment)).collect();
                Some(&own_fields)
            }
            Seen::Entry(_) => self.fields.get(&id),
        };
        for (name, comment) in candidates.into_iter().flatten() {
            self.fit_field(name, comment, &mut scores, &mut fields);
        }
        scores.iter().any(|score| *score > 0.0).then_some(Fit { table, scores, fields })
    }

    fn fit_field(&self, name: &str, comment: &str, scores: &mut [f32], fields: &mut Vec<String>) {
        let (name_text, comment) = (Text::of(name), Text::of(comment));
        let mut is_fit = false;
        for (needle, score) in self.needles.iter().zip(scores) {
            let fit = needle.fits(&name_text, FIELD_NAME, FIELD_NAME / 2.0).max(needle.fits(
                &comment,
                FIELD_COMMENT,
                FIELD_COMMENT / 2.0,
            ));
            is_fit |= fit > 0.0;
            *score = score.max(fit);
        }
        if is_fit && fields.len() < FIELDS_MAX {
            fields.push(name.to_owned());
        }
    }
}

impl Needle {
    /// `word` if it is a word of the text, `part` if it is inside of one.
    fn fits(&self, text: &Text, word: f32, part: f32) -> f32 {
        if !self.is_word {
            return if text.folded.contains(&self.part) { word } else { 0.0 };
        }
        if text.stems.contains(&self.part) {
            return word;
        }
        let is_inside = self.part.chars().count() >= INSIDE_MIN_CHARS && text.folded.contains(&self.part);
        if is_inside { part } else { 0.0 }
    }
}

/// A searched name or comment.
struct Text {
    folded: String,
    stems: BTreeSet<String>,
}

impl Text {
    fn of(text: &str) -> Text {
        Text {
            folded: text.to_lowercase(),
            stems: all_words(text).map(|word| stem(&word).to_owned()).collect(),
        }
    }
}

/// The informative words of a text.
fn words(text: &str) -> impl Iterator<Item = String> {
    all_words(text).filter(|word| {
        let is_number = word.chars().all(|c| c.is_ascii_digit());
        word.len() > 1
            && !is_number
            && !STOP_WORDS.contains(&word.as_str())
            && !STOP_WORDS.contains(&stem(word))
    })
}

/// Words in lower case; `orderItems` and `order_items` are two.
fn all_words(text: &str) -> impl Iterator<Item = String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in text.chars() {
        let is_in_word = c.is_alphanumeric() && !is_chinese(c);
        if !is_in_word || was_lower && c.is_uppercase() {
            words.push(String::new());
        }
        if is_in_word {
            words.last_mut().expect("there is always one").extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    words.into_iter().filter(|word| !word.is_empty())
}

/// The longest first.
const ENDINGS: &[&str] = &[
    "ications", "ication", "ations", "ishing", "ation", "ished", "ishes", "ings", "ish", "ing", "ies", "ied",
    "ed", "es", "s", "y", "e",
];

/// An English word without its endings: `publish` and `publications` have the same stem.
fn stem(word: &str) -> &str {
    const STEM_MIN: usize = 4;
    for ending in ENDINGS {
        let Some(stem) = word.strip_suffix(ending) else { continue };
        if stem.len() >= STEM_MIN && stem.is_ascii() {
            return stem;
        }
    }
    word.strip_suffix('s').filter(|stem| stem.len() > 2 && !stem.ends_with('s')).unwrap_or(word)
}

/// Pairs of adjacent Chinese characters.
fn pairs(text: &str) -> Vec<String> {
    let runs = text.split(|c: char| !is_chinese(c) || STOP_CHARACTERS.contains(c));
    let of_run = |run: &str| {
        let characters: Vec<char> = run.chars().collect();
        characters.windows(2).map(|pair| pair.iter().collect::<String>()).collect::<Vec<_>>()
    };
    runs.flat_map(of_run).filter(|pair| !STOP_PAIRS.contains(&pair.as_str())).collect()
}

fn is_chinese(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}
