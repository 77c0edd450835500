//! English words: splitting names, and base forms.

/// Irregular plurals and other forms.
const IRREGULAR: &[(&str, &str)] = &[
    ("people", "person"),
    ("children", "child"),
    ("men", "man"),
    ("women", "woman"),
    ("data", "data"),
    ("status", "status"),
    ("statuses", "status"),
    ("series", "series"),
    ("species", "species"),
    ("movies", "movie"),
    ("analyses", "analysis"),
    ("indices", "index"),
    ("bought", "buy"),
    ("built", "build"),
    ("sold", "sell"),
    ("paid", "pay"),
    ("ran", "run"),
    ("spent", "spend"),
    ("sent", "send"),
    ("began", "begin"),
    ("dogs", "dog"),
    ("ids", "id"),
];

/// Numbers in words.
const NUMBERS: &[&str] = &[
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
];

/// The number that a word spells.
pub fn number(word: &str) -> Option<usize> {
    NUMBERS.iter().position(|number| *number == word)
}

/// Places of a ranking in words, from the second on.
const ORDINALS: &[&str] =
    &["second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"];

/// The place that a word names.
pub fn ordinal(word: &str) -> Option<u64> {
    ORDINALS.iter().zip(2..).find(|(known, _)| **known == word).map(|(_, place)| place)
}

/// The words of an identifier, in lower case: `surfaceArea`, `surface_area`.
pub fn name_words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut before = ' ';
    let letters: Vec<char> = name.chars().collect();
    for (at, &letter) in letters.iter().enumerate() {
        let next_lower = letters.get(at + 1).is_some_and(|next| next.is_lowercase());
        let new_word = !before.is_alphanumeric()
            || (letter.is_uppercase() && (before.is_lowercase() || (before.is_uppercase() && next_lower)));
        if letter.is_alphanumeric() {
            if new_word || words.is_empty() {
                words.push(String::new());
            }
            let last = words.last_mut().expect("one was just pushed");
            last.extend(letter.to_lowercase());
        }
        before = letter;
    }
    words
}

/// A noun in the singular.
pub fn singular(word: &str) -> String {
    if let Some((_, plain)) = IRREGULAR.iter().find(|(form, _)| *form == word) {
        return (*plain).to_owned();
    }
    let without = |end: &str, put: &str| word.strip_suffix(end).map(|stem| format!("{stem}{put}"));
    if word.len() <= 3 || ["ss", "us", "is", "news"].iter().any(|end| word.ends_with(end)) {
        return word.to_owned();
    }
    without("ies", "y")
        .or_else(|| {
            ["sses", "ches", "shes", "xes", "zes"].iter().find_map(|end| without(end, &end[..end.len() - 2]))
        })
        .or_else(|| without("s", ""))
        .unwrap_or_else(|| word.to_owned())
}

/// Possible base forms of a verb: `submitted` of `submit`, `created` of `create`.
pub fn verb_stems(word: &str) -> Vec<String> {
    let mut stems = Vec::new();
    for end in ["ed", "ing", "d", "n"] {
        let Some(stem) = word.strip_suffix(end).filter(|stem| stem.len() >= 3) else { continue };
        stems.push(stem.to_owned());
        if end == "ing" || end == "ed" {
            stems.push(format!("{stem}e"));
            let mut letters = stem.chars().rev();
            if let (Some(last), Some(before)) = (letters.next(), letters.next())
                && last == before
            {
                stems.push(stem[..stem.len() - last.len_utf8()].to_owned());
            }
        }
        if let Some(short) = stem.strip_suffix('i') {
            stems.push(format!("{short}y"));
        }
    }
    stems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fall_into_words() {
        assert_eq!(name_words("SurfaceArea"), ["surface", "area"]);
        assert_eq!(name_words("PetID"), ["pet", "id"]);
        assert_eq!(name_words("order_items"), ["order", "items"]);
        assert_eq!(name_words("HTTPStatus2"), ["http", "status2"]);
    }

    #[test]
    fn words_have_a_plain_form() {
        for (form, plain) in
            [("cities", "city"), ("boxes", "box"), ("status", "status"), ("people", "person")]
        {
            assert_eq!(singular(form), plain);
        }
        assert!(verb_stems("submitted").contains(&"submit".to_owned()));
        assert!(verb_stems("created").contains(&"create".to_owned()));
        assert!(verb_stems("modified").contains(&"modify".to_owned()));
    }
}
