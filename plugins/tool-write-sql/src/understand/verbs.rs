//! Unknown verbs: `the pets raised by students`, `how many concerts does each stadium host`. One that only says how two
//! things hang together changes nothing: there is one way between them. Any other one may be what is asked
//! (`customers who returned orders`), and is not skipped.

use super::link::{Chunk, Piece};
use super::names::Named;
use super::read::Reader;
use crate::words::concept;
use crate::words::english::{name_words, singular, verb_stems};
use crate::words::phrases::Op;

/// Words right before a verb.
const BEFORE_VERBS: &[&str] = &[
    "who", "that", "which", "they", "do", "does", "did", "have", "has", "had", "were", "was", "are", "is",
    "been", "to", "not", "never",
];
/// Words right after a verb.
const AFTER_VERBS: &[&str] = &[
    "by", "in", "on", "at", "for", "from", "with", "to", "a", "an", "the", "any", "some", "more", "less",
    "fewer", "most", "all", "no", "there", "both", "either", "it", "them",
];
/// Verbs that say no more than that one thing has to do with the other.
const NEUTRAL: &[&str] = &[
    "host",
    "play",
    "raise",
    "manage",
    "perform",
    "conduct",
    "own",
    "hold",
    "serve",
    "teach",
    "attend",
    "visit",
    "join",
    "enroll",
    "enrol",
    "take",
    "study",
    "live",
    "work",
    "employ",
    "hire",
    "contain",
    "include",
    "offer",
    "provide",
    "produce",
    "write",
    "direct",
    "compose",
    "sing",
    "compete",
    "participate",
    "appear",
    "belong",
    "run",
    "operate",
    "drive",
    "fly",
    "star",
    "cover",
    "share",
    "speak",
    "use",
    "treat",
    "advise",
    "lead",
    "head",
    "supervise",
    "represent",
    "organize",
    "organise",
    "keep",
    "associate",
    "assign",
    "relate",
    "link",
    "locate",
    "base",
    "sign",
    "become",
    "register",
    "award",
    "receive",
    "get",
    "give",
    "make",
    "place",
    "have",
    "bring",
    "come",
    "go",
    "carry",
    "call",
    "know",
    "affiliate",
    "consist",
    "feature",
    "fight",
    "rule",
    "govern",
    "inhabit",
    "occupy",
    "found",
    "build",
    "do",
    "record",
    "show",
];
/// Their forms that follow no rule.
const IRREGULAR: &[(&str, &str)] = &[
    ("held", "hold"),
    ("taught", "teach"),
    ("took", "take"),
    ("taken", "take"),
    ("ran", "run"),
    ("wrote", "write"),
    ("written", "write"),
    ("sang", "sing"),
    ("sung", "sing"),
    ("drove", "drive"),
    ("driven", "drive"),
    ("flew", "fly"),
    ("flown", "fly"),
    ("spoken", "speak"),
    ("spoke", "speak"),
    ("led", "lead"),
    ("kept", "keep"),
    ("became", "become"),
    ("got", "get"),
    ("gave", "give"),
    ("given", "give"),
    ("made", "make"),
    ("had", "have"),
    ("brought", "bring"),
    ("came", "come"),
    ("went", "go"),
    ("known", "know"),
    ("fought", "fight"),
    ("founded", "found"),
    ("done", "do"),
    ("shown", "show"),
    ("built", "build"),
];
const AUXILIARIES: &[&str] = &["do", "does", "did"];
/// Ends of forms that are no nouns.
const FORMS: &[&str] = &["ed", "ing"];

impl Reader<'_> {
    /// Whether an unknown word only ties two things together.
    pub(super) fn is_verb_between(&self) -> bool {
        let piece = &self.pieces[self.at];
        let is_word = piece.text.len() >= 3 && piece.text.chars().all(|letter| letter.is_ascii_lowercase());
        is_word
            && is_neutral(&piece.text)
            && (self.is_between_tables() || self.is_after_object() || self.is_said_of_thing())
            && self.is_verb_here()
    }

    /// `triggered manually`, `手动触发`: says the field of the value beside it.
    pub(super) fn is_verb_of_value(&self) -> bool {
        let concept = concept(&self.pieces[self.at].text.to_lowercase());
        let known = crate::words::glossary::chinese(&self.pieces[self.at].text);
        let concept = known.map_or(concept, str::to_owned);
        let says = |piece: Option<&Piece>| {
            let Some(Piece { chunk: Chunk::Named(named), .. }) = piece else { return false };
            named.iter().any(|named| match named {
                Named::Value(place, _) => {
                    let words = name_words(&self.schema.field(*place).name);
                    words.iter().any(|word| crate::words::concept(word) == concept)
                }
                _ => false,
            })
        };
        says(self.pieces.get(self.at + 1)) || self.at > 0 && says(self.pieces.get(self.at - 1))
    }

    fn is_verb_here(&self) -> bool {
        let text = &self.pieces[self.at].text;
        let Some(before) = self.at.checked_sub(1).map(|at| &self.pieces[at]) else { return false };
        let after = self.pieces.get(self.at + 1);
        let is_loose = after.is_none_or(|next| match &next.chunk {
            Chunk::Mark | Chunk::Number(_) | Chunk::Range(_) => true,
            Chunk::Op(op) => {
                matches!(op, Op::Count | Op::Most(_) | Op::Extreme(_) | Op::ExtremeOf(..) | Op::Compare(_))
                    || AFTER_VERBS.contains(&first_word(next).as_str())
            }
            _ => false,
        });
        let leads = BEFORE_VERBS.contains(&last_word(before).as_str());
        let is_form = FORMS.iter().any(|end| text.ends_with(end));
        let subject_is_plural = singular(&last_word(before)) != last_word(before);
        match &before.chunk {
            Chunk::Op(_) => leads && (is_loose || after.is_some_and(is_named)),
            Chunk::Named(_) if is_form => is_loose || after.is_some_and(is_named),
            Chunk::Named(_) => {
                is_loose && (self.is_after_object() || subject_is_plural && !text.ends_with('s'))
            }
            _ => false,
        }
    }

    /// Whether a table is named before it, and another one after it or before, as in `For each stadium, how many concerts
    /// play there?`
    fn is_between_tables(&self) -> bool {
        let tables = |pieces: &[Piece]| -> Vec<usize> { pieces.iter().filter_map(table_of).collect() };
        let (before, after) = (tables(&self.pieces[..self.at]), tables(&self.pieces[self.at + 1..]));
        let differs = |one: &usize| after.iter().chain(&before).any(|other| other != one);
        before.first().is_some_and(differs)
    }

    /// `events held at the town hall`: a participle, and what the thing has to do with.
    fn is_said_of_thing(&self) -> bool {
        let (before, text) = (&self.pieces[..self.at], &self.pieces[self.at].text);
        let thing = before.iter().any(is_named);
        let leads = |piece: &Piece| {
            matches!(piece.chunk, Chunk::Op(Op::Filler | Op::By | Op::Link))
                && AFTER_VERBS.contains(&first_word(piece).as_str())
        };
        let is_value =
            |chunk: &Chunk| chunk.may_be_value() || matches!(chunk, Chunk::Quoted | Chunk::Range(_));
        // `the instructor who teaches it`
        let next = self.pieces.get(self.at + 1).map(first_word).unwrap_or_default();
        let is_of_it = matches!(next.as_str(), "it" | "them");
        if thing && is_of_it {
            return true;
        }
        let mut after = self.pieces[self.at + 1..].iter();
        let is_led = after.next().is_some_and(leads);
        let tells = after.find(|piece| !matches!(piece.chunk, Chunk::Op(Op::Filler)));
        let is_told = tells.is_some_and(|piece| is_value(&piece.chunk) || is_named(piece));
        let is_form = is_participle(text) || text.ends_with("ing");
        thing && is_form && is_led && is_told
    }

    /// `How many orchestras does each company manage?`
    fn is_after_object(&self) -> bool {
        let before = &self.pieces[..self.at];
        let auxiliary = before.iter().rposition(|piece| AUXILIARIES.contains(&last_word(piece).as_str()));
        auxiliary.is_some_and(|at| before[..at].iter().any(is_named) && before[at..].iter().any(is_named))
    }
}

/// Whether a word is the participle of a verb.
pub(super) fn is_participle(word: &str) -> bool {
    word.len() > 4 && word.ends_with("ed") || IRREGULAR.iter().any(|(form, _)| *form == word)
}

pub(super) fn is_neutral(word: &str) -> bool {
    let irregular = IRREGULAR.iter().find(|(form, _)| *form == word).map(|(_, verb)| (*verb).to_owned());
    let mut stems = verb_stems(word);
    stems.extend(irregular);
    stems.extend([word.to_owned(), singular(word)]);
    stems.iter().any(|stem| NEUTRAL.contains(&stem.as_str()))
}

/// The table whose rows a piece names.
fn table_of(piece: &Piece) -> Option<usize> {
    let Chunk::Named(named) = &piece.chunk else { return None };
    named.iter().find_map(|named| if let Named::Table(table) = named { Some(*table) } else { None })
}

fn is_named(piece: &Piece) -> bool {
    let Chunk::Named(named) = &piece.chunk else { return false };
    named.iter().any(|named| matches!(named, Named::Table(_) | Named::Field(..)))
}

fn first_word(piece: &Piece) -> String {
    piece.text.split(' ').next().unwrap_or_default().to_lowercase()
}

fn last_word(piece: &Piece) -> String {
    piece.text.split(' ').next_back().unwrap_or_default().to_lowercase()
}
