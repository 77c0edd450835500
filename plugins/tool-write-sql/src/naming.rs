//! Finds a data source that the question names: `How many orders in the data source shop?`, `数据源 shop 有多少订单`.

/// Words that precede the name at any place.
const BEFORE: &[&str] = &["data source", "datasource", "数据源"];
/// Words that precede it at the end of a question.
const BEFORE_AT_END: &[&str] = &["in", "from"];
/// Words that are removed with it.
const LEADS: &[&str] = &["in", "from", "of", "the", "在"];

/// The name of the data source, and the question without it.
pub fn source<'n>(question: &str, names: &[&'n str]) -> Option<(&'n str, String)> {
    let question = question.trim_end_matches(|c: char| c.is_whitespace() || "?？.。!！".contains(c));
    names.iter().find_map(|name| Some((*name, without(question, name)?)))
}

fn without(question: &str, name: &str) -> Option<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let quoted = |c: char| matches!(c, '"' | '“' | '”' | '`');
    let (folded, wanted) = (question.to_ascii_lowercase(), name.to_ascii_lowercase());
    folded.match_indices(&wanted).find_map(|(at, _)| {
        let (head, tail) = (&question[..at], &question[at + name.len()..]);
        if head.ends_with(is_part) || tail.starts_with(is_part) {
            return None;
        }
        let (head, tail) = (head.trim_end_matches(quoted), tail.trim_start_matches(quoted));
        let said = BEFORE.iter().find_map(|word| ends_with(head, word));
        let head = match said {
            Some(head) => head,
            None if tail.trim().is_empty() => BEFORE_AT_END.iter().find_map(|word| ends_with(head, word))?,
            None => return None,
        };
        let mut head = head;
        while let Some(shorter) = LEADS.iter().find_map(|word| ends_with(head, word)) {
            head = shorter;
        }
        // `数据源 shop 中的订单`
        let tail = tail.trim_start();
        let tail = ["中的", "里的", "中", "里", "的"]
            .iter()
            .find_map(|word| tail.strip_prefix(word))
            .unwrap_or(tail);
        Some(format!("{} {}", head.trim_end(), tail).trim().to_owned())
    })
}

/// The text before a word that ends it.
fn ends_with<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let text = text.trim_end();
    let from = text.len().checked_sub(word.len())?;
    let fits = text.get(from..)?.eq_ignore_ascii_case(word);
    let head = &text[..from];
    let is_whole = !word.is_ascii() || !head.ends_with(|c: char| c.is_ascii_alphanumeric());
    (fits && is_whole).then_some(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_can_say_which_data_source_it_means() {
        for (question, left) in [
            ("How many orders in shop?", Some("How many orders")),
            ("How many orders in the data source shop last week", Some("How many orders last week")),
            ("数据源 shop 中的订单有多少", Some("订单有多少")),
            ("在数据源“shop”里有多少订单？", Some("有多少订单")),
            ("How many shop orders?", None),
            ("orders in shops", None),
        ] {
            let found = source(question, &["bank", "shop"]);
            assert_eq!(found, left.map(|left| ("shop", left.to_owned())), "{question}");
        }
    }
}
