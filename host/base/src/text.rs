//! Texts for people.

/// At most so many characters of a text; an ellipsis marks a cut.
pub fn shortened(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters_and_it_shows() {
        assert_eq!(shortened("订单表", 3), "订单表");
        assert_eq!(shortened("订单表", 2), "订单…");
        assert_eq!(shortened("", 0), "");
    }
}
