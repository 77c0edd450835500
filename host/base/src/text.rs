//! Texts for people.

/// The minimum similarity of a suggested name; 1 is equality.
const LIKENESS_MIN: f64 = 0.8;

/// At most so many characters of a text; an ellipsis marks a cut.
pub fn shortened(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Characters that begin a line, steer a terminal, or turn the direction of the text around them.
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A full-width letter, digit or sign as its ASCII one; any other character as it is.
pub fn half_width(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(c as u32 - 0xfee0).unwrap_or(c),
        _ => c,
    }
}

/// The most similar known name, if one is similar enough.
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let likeness = |other: &str| strsim::jaro_winkler(&name.to_lowercase(), &other.to_lowercase());
    let scored =
        known.map(|other| (likeness(other), other)).filter(|(likeness, _)| *likeness >= LIKENESS_MIN);
    scored.max_by(|left, right| left.0.total_cmp(&right.0)).map(|(_, other)| other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_width_letters_digits_and_signs_have_ascii_ones() {
        let half: String = "ＧＭＶ２！～ａ。订".chars().map(half_width).collect();
        assert_eq!(half, "GMV2!~a。订");
    }

    #[test]
    fn a_text_is_cut_between_characters_and_it_shows() {
        assert_eq!(shortened("订单表", 3), "订单表");
        assert_eq!(shortened("订单表", 2), "订单…");
        assert_eq!(shortened("", 0), "");
    }
}
