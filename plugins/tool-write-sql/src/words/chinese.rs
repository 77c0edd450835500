//! Segments Chinese text: the fewest dictionary words, and as few characters as possible outside of them.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{Form, Word, dates, glossary, phrases};

/// The longest word, and the longest numeral, in characters.
const WORD_MAX: usize = 12;
const NUMERAL_MAX: usize = 3;
/// The cost of a character outside of all words; a word costs 1.
const UNKNOWN_COST: usize = 20;
/// Digits with their values.
const DIGITS: &[(char, f64)] = &[
    ('一', 1.0),
    ('二', 2.0),
    ('两', 2.0),
    ('三', 3.0),
    ('四', 4.0),
    ('五', 5.0),
    ('六', 6.0),
    ('七', 7.0),
    ('八', 8.0),
    ('九', 9.0),
];

/// True for a Chinese character.
pub fn is_han(letter: char) -> bool {
    matches!(letter, '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}')
}

/// English words that a Chinese question does not have.
const ENGLISH: [&str; 28] = [
    "of", "in", "the", "for", "by", "per", "from", "with", "how", "what", "which", "who", "named", "called",
    "last", "this", "is", "are", "was", "were", "did", "do", "does", "to", "than", "over", "show", "list",
];

/// Whether a text is Chinese, and not English that names something Chinese: `orders of 李伟`.
pub fn is_chinese(text: &str) -> bool {
    let letters = text.chars().filter(|letter| is_han(*letter)).count();
    let words = || text.split(|letter: char| !letter.is_ascii_alphabetic()).filter(|word| !word.is_empty());
    let is_english = || words().any(|word| ENGLISH.contains(&word.to_ascii_lowercase().as_str()));
    letters > 0 && !(letters <= 2 * words().count() && is_english())
}

/// Known words: those of every dictionary, and learnt ones, which are their own concepts.
#[derive(Clone, Debug, Default)]
pub struct Dictionary {
    learnt: FxHashSet<String>,
    /// The longest of these by their first characters.
    longest: FxHashMap<char, usize>,
}

impl Dictionary {
    /// Learns the words of a name or a comment: parts without a known word become their own concepts.
    pub fn learn(&mut self, text: &str) {
        let unknown: Vec<String> = self
            .words(text)
            .into_iter()
            .filter(|word| word.form == Form::Han && self.concept(&word.text).is_none())
            .map(|word| word.text)
            .collect();
        unknown.into_iter().for_each(|word| self.insert(word));
    }

    /// Learns a complete value as one word.
    pub fn learn_value(&mut self, value: &str) {
        let is_word = value.chars().all(is_han) && (2..=WORD_MAX).contains(&value.chars().count());
        if is_word && self.concept(value).is_none() {
            self.insert(value.to_owned());
        }
    }

    fn insert(&mut self, word: String) {
        let Some(first) = word.chars().next() else { return };
        let longest = self.longest.entry(first).or_default();
        *longest = word.chars().count().max(*longest);
        self.learnt.insert(word);
    }

    /// The length of the longest word that may begin a text, in characters.
    fn longest(&self, text: &str) -> usize {
        let learnt = text.chars().next().and_then(|first| self.longest.get(&first)).copied();
        let listed =
            [&phrases::LONGEST, &dates::LONGEST, &glossary::LONGEST].map(|known| known.beginning(text));
        let numeral = numeral(text.get(..text.chars().next().map_or(0, char::len_utf8)).unwrap_or_default());
        let all = listed.into_iter().chain(learnt).chain(numeral.map(|_| NUMERAL_MAX));
        all.max().unwrap_or(0)
    }

    #[cfg(test)]
    pub fn knows(&self, word: &str) -> bool {
        self.concept(word).is_some()
    }

    fn concept<'w>(&self, word: &'w str) -> Option<&'w str> {
        let is_known = || phrases::is_chinese(word) || dates::is_chinese(word) || self.learnt.contains(word);
        glossary::chinese(word).or_else(|| is_known().then_some(word))
    }

    fn is_known(&self, piece: &str) -> bool {
        self.concept(piece).is_some() || numeral(piece).is_some()
    }

    /// The words of a Chinese text.
    pub fn words(&self, text: &str) -> Vec<Word> {
        let mut words = Vec::new();
        let mut unknown = String::new();
        for piece in self.cut(text) {
            if !self.is_known(piece) {
                unknown.push_str(piece);
                continue;
            }
            push_unknown(&mut words, &mut unknown);
            let form = numeral(piece).map_or(Form::Han, Form::Number);
            let concept = self.concept(piece).unwrap_or(piece).to_owned();
            let text = piece.to_owned();
            words.push(Word { lower: text.clone(), text, concept, form, possessive: false });
        }
        push_unknown(&mut words, &mut unknown);
        words
    }

    /// The cuts, by the cheapest path to each character.
    fn cut<'t>(&self, text: &'t str) -> Vec<&'t str> {
        let places: Vec<usize> = text.char_indices().map(|(place, _)| place).chain([text.len()]).collect();
        let letters = places.len() - 1;
        let piece = |from: usize, to: usize| &text[places[from]..places[to]];
        let mut best: Vec<(usize, usize)> = vec![(usize::MAX, 0); letters + 1];
        best[0] = (0, 0);
        for from in 0..letters {
            let longest = self.longest(&text[places[from]..]).min(WORD_MAX);
            for to in from + 1..=letters.min(from + longest.max(1)) {
                let is_known = to - from <= longest && self.is_known(piece(from, to));
                let cost = match (is_known, to - from) {
                    (true, _) => 1,
                    (false, 1) => UNKNOWN_COST,
                    (false, _) => continue,
                };
                let total = best[from].0 + cost;
                // On a tie, the longer last word wins, which here is the earlier one.
                if total < best[to].0 {
                    best[to] = (total, from);
                }
            }
        }
        let mut cuts = Vec::new();
        let mut at = letters;
        while at > 0 {
            cuts.push(piece(best[at].1, at));
            at = best[at].1;
        }
        cuts.reverse();
        cuts
    }
}

fn push_unknown(words: &mut Vec<Word>, unknown: &mut String) {
    if !unknown.is_empty() {
        let text = std::mem::take(unknown);
        words.push(Word {
            lower: text.clone(),
            concept: text.clone(),
            text,
            form: Form::Han,
            possessive: false,
        });
    }
}

/// A number up to 99 in Chinese digits.
fn numeral(text: &str) -> Option<f64> {
    let digit = |letter: char| DIGITS.iter().find(|(known, _)| *known == letter).map(|(_, number)| *number);
    let mut letters = text.chars();
    match (letters.next()?, letters.next(), letters.next(), letters.next()) {
        ('十', None, ..) => Some(10.0),
        (one, None, ..) => digit(one),
        ('十', Some(ones), None, _) => Some(10.0 + digit(ones)?),
        (tens, Some('十'), None, _) => Some(digit(tens)? * 10.0),
        (tens, Some('十'), Some(ones), None) => Some(digit(tens)? * 10.0 + digit(ones)?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str) -> Vec<String> {
        Dictionary::default().words(text).into_iter().map(|word| word.text).collect()
    }

    #[test]
    fn words_of_the_dictionary_are_found() {
        assert_eq!(cut("本月每天的执行次数"), ["本月", "每天", "的", "执行", "次数"]);
        assert_eq!(cut("每个工作流的平均执行时长"), ["每个", "工作流", "的", "平均", "执行", "时长"]);
        assert_eq!(cut("有多少个工作流"), ["有多少个", "工作流"]);
        assert_eq!(cut("失败次数最多的"), ["失败", "次数", "最多的"]);
    }

    #[test]
    fn what_is_unknown_stays_together_until_it_is_learned() {
        let mut dictionary = Dictionary::default();
        assert_eq!(dictionary.words("火星的订单")[0].text, "火星");
        dictionary.learn("托盘编号");
        assert!(dictionary.knows("托盘"));
    }

    #[test]
    fn a_chinese_name_makes_no_chinese_question() {
        for text in ["最近30天", "上个月app的GMV是多少", "李伟 orders", "top 3 城市"] {
            assert!(is_chinese(text), "{text}");
        }
        for text in
            ["orders of 李伟", "How long has it been since customer 李伟 ordered?", "how many orders?"]
        {
            assert!(!is_chinese(text), "{text}");
        }
    }

    #[test]
    fn numerals_are_numbers() {
        assert_eq!(numeral("三十"), Some(30.0));
        assert_eq!(numeral("十二"), Some(12.0));
        assert_eq!(numeral("百"), None);
    }
}
