//! Finds what looks like a parameter in a text: `${…}` and `$[…]`.

use std::ops::Range;

/// The longest content of `$[…]`, in bytes: time expressions are shorter.
const PATTERN_MAX_BYTES: usize = 128;
/// Characters that end a name, or show that there is none.
const NO_NAME: [char; 7] = ['}', '{', '$', '\'', '"', '\n', '\r'];
/// The last element in JSON paths of MySQL and PostgreSQL: `$[last]`, `$[last-1]`.
const LAST: &str = "last";

/// A possible parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found<'t> {
    pub span: Range<usize>,
    pub form: Form<'t>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form<'t> {
    /// `${…}`
    Named(&'t str),
    /// `$[…]` with a possible time expression.
    Moment(&'t str),
    /// `${` without an end.
    Open,
}

/// The possible parameters of a text that are wanted, in order. Others are left, and looked into.
pub fn find<'t>(text: &'t str, is_wanted: impl Fn(Form<'t>) -> bool) -> impl Iterator<Item = Found<'t>> {
    let mut from = 0;
    std::iter::from_fn(move || {
        while let Some(start) = text[from..].find('$').map(|at| from + at) {
            from = start + 1;
            let Some((form, length)) = form(&text[from..]).filter(|(form, _)| is_wanted(*form)) else {
                continue;
            };
            from += length;
            return Some(Found { span: start..from, form });
        }
        None
    })
}

/// All of them.
pub fn find_all(text: &str) -> impl Iterator<Item = Found<'_>> {
    find(text, |_| true)
}

/// The form behind a `$`, and its length.
fn form(rest: &str) -> Option<(Form<'_>, usize)> {
    if let Some(inner) = rest.strip_prefix('{') {
        return Some(match inner.find(NO_NAME).filter(|&end| inner[end..].starts_with('}')) {
            Some(end) => (Form::Named(&inner[..end]), end + 2),
            None => (Form::Open, 1),
        });
    }
    // `$[0]` and `$[last]` are paths into JSON.
    let inner = rest.strip_prefix('[')?;
    let is_path = inner.strip_prefix(LAST).is_some_and(|rest| !rest.starts_with(is_name_part));
    let may_be = inner.starts_with(|c: char| c.is_ascii_alphabetic()) && !is_path;
    let near = if may_be { &inner[..inner.floor_char_boundary(PATTERN_MAX_BYTES + 1)] } else { "" };
    let end = near.find(']')?;
    Some((Form::Moment(&inner[..end]), end + 2))
}

fn is_name_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '('
}

/// The text with its parameters replaced by letters, which touch their neighbours.
pub fn filled(text: &str, found: &[Found<'_>]) -> String {
    let (mut filled, mut end) = (String::with_capacity(text.len()), 0);
    for Found { span, .. } in found {
        filled.push_str(&text[end..span.start]);
        filled.extend(std::iter::repeat_n('p', span.len()));
        end = span.end;
    }
    filled + &text[end..]
}
