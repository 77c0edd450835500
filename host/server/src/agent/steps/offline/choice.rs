//! Which of several readings a message chooses: by its number, its name or its text.

use lakeport_base::text::half_width;

use crate::agent::outcome::Candidate;
use crate::agent::topics::Exchange;

/// Words for numbers, in order.
const ORDINALS: &[&[&str]] = &[
    &["first", "一"],
    &["second", "二"],
    &["third", "三"],
    &["fourth", "四"],
    &["fifth", "五"],
    &["sixth", "六"],
    &["seventh", "七"],
    &["eighth", "八"],
    &["ninth", "九"],
    &["tenth", "十"],
];
/// Words around a number.
const AROUND: &[&str] = &[
    "number", "option", "choice", "no.", "no", "the", "one", "#", "please", "take", "use", "i mean",
    "i choose", "选择", "选", "第", "个", "项", "条",
];
/// The shortest part of a name that names it, in characters.
const NAME_MIN: usize = 2;

/// A question, and those before it, each as what it chose stands for.
pub fn resolved(question: &str, earlier: &[Exchange]) -> (String, Vec<String>) {
    let mut questions: Vec<String> = Vec::new();
    let mut candidates: &[Candidate] = &[];
    for exchange in earlier {
        questions.push(meant(&exchange.question, candidates));
        candidates = &exchange.candidates;
    }
    (meant(question, candidates), questions)
}

/// What may be chosen, if the message is a number that none of it has.
pub fn missed<'e>(message: &str, earlier: &'e [Exchange]) -> Option<&'e [Candidate]> {
    let candidates = &earlier.last()?.candidates[..];
    let is_number = number(&plain(message)).is_some();
    (is_number && !candidates.is_empty() && chosen(message, candidates).is_none()).then_some(candidates)
}

fn meant(message: &str, candidates: &[Candidate]) -> String {
    chosen(message, candidates).map_or(message, |candidate| &candidate.content).to_owned()
}

fn chosen<'c>(message: &str, candidates: &'c [Candidate]) -> Option<&'c Candidate> {
    let plain = plain(message);
    if plain.is_empty() {
        return None;
    }
    if let Some(number) = number(&plain) {
        return candidates.get(number.checked_sub(1)?);
    }
    let is =
        |candidate: &&Candidate| folded(&candidate.label) == plain || folded(&candidate.content) == plain;
    let has = |candidate: &&Candidate| {
        plain.chars().count() >= NAME_MIN && has_words(&folded(&candidate.label), &plain)
    };
    candidates.iter().find(is).or_else(|| only(candidates.iter().filter(has)))
}

fn plain(message: &str) -> String {
    folded(message.trim()).trim_end_matches(['.', '。', '!', ')', '?']).to_owned()
}

/// In lower case, and of half width: `２` is `2`.
fn folded(text: &str) -> String {
    text.chars().map(half_width).flat_map(char::to_lowercase).collect()
}

fn number(plain: &str) -> Option<usize> {
    let mut rest = plain;
    loop {
        let shorter =
            AROUND.iter().find_map(|word| rest.strip_prefix(word).or_else(|| rest.strip_suffix(word)));
        match shorter {
            Some(shorter) => rest = shorter.trim(),
            None => break,
        }
    }
    let ordinal = ORDINALS.iter().position(|words| words.contains(&rest));
    rest.parse().ok().or(ordinal.map(|at| at + 1))
}

/// Whether a text has these words, not within longer ones.
fn has_words(text: &str, words: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric();
    text.match_indices(words).any(|(at, _)| {
        let begins = text[..at].ends_with(is_part) && words.starts_with(is_part);
        let goes_on = text[at + words.len()..].starts_with(is_part) && words.ends_with(is_part);
        !begins && !goes_on
    })
}

fn only<T>(mut found: impl Iterator<Item = T>) -> Option<T> {
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(label: &str) -> Candidate {
        Candidate { label: label.to_owned(), content: format!("content of {label}") }
    }

    #[test]
    fn a_reading_is_chosen_by_number_name_or_text() {
        let readings = [candidate("shop.orders"), candidate("shop.order_items"), candidate("bank.accounts")];
        for (message, label) in [
            ("2", Some("shop.order_items")),
            ("#3", Some("bank.accounts")),
            ("the second one", Some("shop.order_items")),
            ("option 1.", Some("shop.orders")),
            ("第二个", Some("shop.order_items")),
            ("选3", Some("bank.accounts")),
            ("２", Some("shop.order_items")),
            ("第３个。", Some("bank.accounts")),
            ("Ｂａｎｋ．accounts！", Some("bank.accounts")),
            ("４", None),
            ("Bank.Accounts", Some("bank.accounts")),
            ("accounts", Some("bank.accounts")),
            ("content of shop.orders", Some("shop.orders")),
            ("4", None),
            ("0", None),
            ("shop", None),
            ("How many orders?", None),
            ("", None),
        ] {
            let found = chosen(message, &readings).map(|one| one.label.as_str());
            assert_eq!(found, label, "{message}");
        }
    }

    #[test]
    fn earlier_choices_stand_for_what_they_chose() {
        let exchange = |question: &str, candidates: Vec<Candidate>| Exchange {
            question: question.to_owned(),
            answer: String::new(),
            candidates,
        };
        let earlier = [exchange("orders", vec![candidate("a"), candidate("b")]), exchange("2", Vec::new())];
        let (question, before) = resolved("and the month before?", &earlier);
        assert_eq!(question, "and the month before?");
        assert_eq!(before, ["orders", "content of b"]);
        assert_eq!(resolved("2", &earlier[..1]).0, "content of b");
        assert_eq!(missed("3", &earlier[..1]).map(<[_]>::len), Some(2));
        for (message, before) in
            [("2", &earlier[..1]), ("How many orders?", &earlier[..1]), ("3", &earlier[..])]
        {
            assert_eq!(missed(message, before), None, "{message}");
        }
    }
}
