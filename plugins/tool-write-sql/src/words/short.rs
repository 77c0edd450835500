//! Abbreviations in the names of tables and fields: `bldg_nm`, `amt`, `cmplnt`.

use super::english;

/// Usual abbreviations with what they are short for.
const USUAL: &[(&str, &str)] = &[
    ("acct", "account"),
    ("addr", "address"),
    ("amt", "amount"),
    ("appt", "appointment"),
    ("apt", "apartment"),
    ("bldg", "building"),
    ("catg", "category"),
    ("cd", "code"),
    ("cnt", "count"),
    ("cntry", "country"),
    ("crs", "course"),
    ("ctry", "country"),
    ("cust", "customer"),
    ("dept", "department"),
    ("desc", "description"),
    ("dep", "departure"),
    ("descr", "description"),
    ("dob", "birth date"),
    ("dpt", "department"),
    ("dt", "date"),
    ("dur", "duration"),
    ("emp", "employee"),
    ("flr", "floor"),
    ("fname", "first name"),
    ("freq", "frequency"),
    ("grp", "group"),
    ("hr", "hour"),
    ("hrs", "hours"),
    ("ht", "height"),
    ("lang", "language"),
    ("lname", "last name"),
    ("loc", "location"),
    ("lvl", "level"),
    ("max", "maximum"),
    ("meth", "method"),
    ("mfr", "manufacturer"),
    ("mgr", "manager"),
    ("min", "minimum"),
    ("mth", "month"),
    ("nbr", "number"),
    ("nm", "name"),
    ("ord", "order"),
    ("org", "organization"),
    ("pct", "percentage"),
    ("perc", "percentage"),
    ("perf", "performance"),
    ("pop", "population"),
    ("prc", "price"),
    ("prod", "product"),
    ("qty", "quantity"),
    ("rm", "room"),
    ("sal", "salary"),
    ("sch", "school"),
    ("seq", "sequence"),
    ("sev", "severity"),
    ("stat", "status"),
    ("stn", "station"),
    ("stu", "student"),
    ("sts", "status"),
    ("tel", "telephone"),
    ("tot", "total"),
    ("ttl", "title"),
    ("txn", "transaction"),
    ("typ", "type"),
    ("veh", "vehicle"),
    ("ver", "version"),
    ("whse", "warehouse"),
    ("wk", "week"),
    ("wt", "weight"),
    ("yr", "year"),
    ("yrs", "years"),
];

/// Abbreviations beside years and numbers, which may be others elsewhere.
pub const BESIDE_YEARS: &[(&str, &str)] =
    &[("est", "established"), ("exp", "experience"), ("reg", "registration")];

/// Units of measurement at the end of names.
pub const UNITS: &[&str] = &[
    "second", "seconds", "ms", "millis", "minute", "minutes", "min", "mins", "hour", "hours", "hrs", "days",
    "bytes", "kb", "mb", "gb", "yuan", "usd", "eur", "gbp", "cny", "m", "km", "cm", "mm", "ft", "kg", "g",
    "lb", "lbs", "ml", "l", "meter", "metre", "mile",
];

/// The shortest beginning of a word that is an abbreviation of it.
const BEGINNING_MIN: usize = 3;
/// The most letters of a word that its abbreviation leaves out.
const MISSING_MAX: usize = 9;
/// Of so many letters of a word, one at least is in its abbreviation.
const SHARE_MIN: usize = 3;
/// Consonants at the end of an abbreviation that has a vowel before them: `resdt`, and not `rent`.
const CONSONANTS_MIN: usize = 3;
/// Short words that are no abbreviations.
const EVERYDAY: &[&str] = &[
    "act", "air", "arm", "art", "bag", "bar", "bay", "bed", "bet", "bid", "bit", "boy", "box", "bug", "bus",
    "can", "cap", "car", "cat", "cow", "cup", "cut", "day", "dog", "ear", "egg", "eye", "fan", "far", "fit",
    "fly", "fun", "gas", "gun", "hat", "hen", "hit", "hot", "ice", "ink", "jet", "job", "key", "kid", "law",
    "leg", "lot", "low", "man", "map", "men", "mix", "new", "nut", "oil", "old", "owl", "pad", "pan", "pay",
    "pen", "pet", "pie", "pig", "pin", "pit", "pot", "pub", "ram", "rat", "red", "rod", "row", "run", "sea",
    "set", "sex", "sky", "son", "sub", "sun", "tag", "tax", "tea", "tip", "toe", "top", "toy", "van", "war",
    "way", "web", "win", "zoo",
];

/// Whether it is the beginning of a longer word, and no word itself.
pub fn begins(short: &str, word: &str) -> bool {
    short.len() == BEGINNING_MIN
        && word.len() >= SHARE_MIN * 2
        && word.starts_with(short)
        && !EVERYDAY.contains(&short)
}

/// The words that an abbreviation usually stands for.
pub fn usual(short: &str) -> Option<impl Iterator<Item = &'static str>> {
    USUAL.iter().find(|(known, _)| *known == short).map(|(_, whole)| whole.split(' '))
}

/// The words of a field's name, spelt out and without a unit: `dur_min` is a duration.
pub fn words_of(name: &str) -> Vec<String> {
    let mut words = english::name_words(name);
    if words.len() > 1 && words.last().is_some_and(|last| UNITS.contains(&last.as_str())) {
        words.pop();
    }
    let spelt = |word: &String| -> Vec<String> {
        usual(word).map_or_else(|| vec![word.clone()], |whole| whole.map(str::to_owned).collect())
    };
    words.iter().flat_map(spelt).collect()
}

/// Whether it is short for a word: its beginning, or that and consonants of the rest.
pub fn is_short_of(short: &str, word: &str) -> bool {
    let is_ascii = short.bytes().chain(word.bytes()).all(|byte| byte.is_ascii_lowercase());
    let missing = word.len().saturating_sub(short.len());
    if !is_ascii
        || !(1..=MISSING_MAX).contains(&missing)
        || short.as_bytes().first() != word.as_bytes().first()
    {
        return false;
    }
    short.len() >= BEGINNING_MIN && word.starts_with(short) || is_skeleton_of(short, word)
}

/// Whether it is a word's first letter, or its beginning, with some of its consonants.
pub fn is_skeleton_of(short: &str, word: &str) -> bool {
    let is_long = short.len() >= word.len() || SHARE_MIN * short.len() < word.len();
    if !short.is_ascii() || !word.is_ascii() || is_long {
        return false;
    }
    let consonants = short.bytes().rev().take_while(|byte| !b"aeiou".contains(byte)).count();
    let is_skeleton = consonants == short.len() || consonants >= CONSONANTS_MIN;
    let begins = (short.len() - consonants).max(1);
    if !is_skeleton || short.len() < 2 || short[..begins] != word[..begins] {
        return false;
    }
    let mut rest = word[begins..].bytes();
    short[begins..].bytes().all(|wanted| rest.any(|byte| byte == wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abbreviations_are_told_from_words() {
        for (short, word) in [
            ("bldg", "building"),
            ("cmplnt", "complaint"),
            ("dnr", "donor"),
            ("resdt", "resident"),
            ("amen", "amenity"),
            ("rm", "room"),
        ] {
            assert!(is_short_of(short, word), "{short} {word}");
        }
        for (short, word) in
            [("rent", "resident"), ("date", "donate"), ("id", "individual"), ("room", "room")]
        {
            assert!(!is_short_of(short, word), "{short} {word}");
        }
    }
}
