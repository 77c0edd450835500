//! Words for people: where they come from, and which sex they have.

/// Names of fields whose values may be places.
pub const PLACES: &[&str] = &["country", "nation", "nationality", "continent", "region", "origin"];

/// Places with the words for what comes from there.
const DEMONYMS: &[(&str, &str)] = &[
    ("africa", "african"),
    ("asia", "asian"),
    ("europe", "european"),
    ("north america", "north american"),
    ("south america", "south american"),
    ("america|usa|united states|us|united states of america", "american"),
    ("australia", "australian"),
    ("austria", "austrian"),
    ("belgium", "belgian"),
    ("brazil", "brazilian"),
    ("canada", "canadian"),
    ("china", "chinese"),
    ("denmark", "danish"),
    ("egypt", "egyptian"),
    ("england", "english"),
    ("france", "french"),
    ("germany", "german"),
    ("greece", "greek"),
    ("india", "indian"),
    ("ireland", "irish"),
    ("italy", "italian"),
    ("japan", "japanese"),
    ("korea|south korea", "korean"),
    ("mexico", "mexican"),
    ("netherlands|holland", "dutch"),
    ("norway", "norwegian"),
    ("poland", "polish"),
    ("portugal", "portuguese"),
    ("russia", "russian"),
    ("spain", "spanish"),
    ("sweden", "swedish"),
    ("switzerland", "swiss"),
    ("turkey", "turkish"),
    ("uk|united kingdom|britain|great britain", "british"),
    ("vietnam", "vietnamese"),
];

/// `french` of `France`.
pub fn demonyms(value: &str) -> impl Iterator<Item = &'static str> {
    let value = value.trim().to_lowercase();
    let of = move |places: &str| places.split('|').any(|place| place == value);
    DEMONYMS.iter().filter(move |(places, _)| of(places)).map(|(_, people)| *people)
}

/// Names of fields whose values may be sexes.
pub const SEXES: &[&str] = &["sex", "gender"];

/// The word for a value of a field of sexes.
pub fn sex_of(value: &str) -> Option<&'static str> {
    match value.to_lowercase().as_str() {
        "f" | "female" | "女" => Some("female"),
        "m" | "male" | "男" => Some("male"),
        _ => None,
    }
}
