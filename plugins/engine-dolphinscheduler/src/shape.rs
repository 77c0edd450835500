//! What all values of a parameter have in common: whether they are numbers, whatever the date.
//!
//! The type of a bare value in SQL must not change from one day to the next. So it follows from the format,
//! and never from one day's value: `$[yyyyMMdd]` is a number each day, and `$[MM]` is `01` on some.

/// The most digits of a number: every database keeps them all.
const DIGITS_MAX: usize = 18;
/// The longest number with a fraction or an exponent, in bytes.
const NUMBER_MAX_BYTES: usize = 40;

/// The texts that a format can give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    lead: Lead,
    /// The most characters.
    most: usize,
}

/// How the texts begin, and whether they have digits alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lead {
    /// There is no text.
    Empty,
    /// Digits, the first of which is never 0.
    Digit,
    /// Digits without a leading zero: 0 stands alone.
    Lone,
    /// Digits, and the first of several may be 0.
    Padded,
    /// A whole number, which may be negative.
    Signed,
    /// Other characters, too.
    Other,
}

impl Shape {
    pub const EMPTY: Shape = Shape { lead: Lead::Empty, most: 0 };
    /// Anything.
    pub const TEXT: Shape = Shape { lead: Lead::Other, most: 0 };
    /// A whole number, such as an id.
    pub const WHOLE: Shape = Shape { lead: Lead::Signed, most: DIGITS_MAX };

    /// Digits, the first of which is never 0.
    pub const fn digits(most: usize) -> Shape {
        Shape { lead: Lead::Digit, most }
    }

    /// Digits without a leading zero.
    pub const fn lone(most: usize) -> Shape {
        Shape { lead: Lead::Lone, most }
    }

    /// Digits that may begin with 0.
    pub const fn padded(most: usize) -> Shape {
        Shape { lead: Lead::Padded, most }
    }

    /// The shape of one text.
    pub fn of(text: &str) -> Shape {
        let lead = match text.as_bytes() {
            [] => Lead::Empty,
            digits if !digits.iter().all(u8::is_ascii_digit) => Lead::Other,
            [b'0'] => Lead::Lone,
            [b'0', ..] => Lead::Padded,
            _ => Lead::Digit,
        };
        Shape { lead, most: text.len() }
    }

    /// The texts of this shape with those of the other one behind them.
    pub fn then(self, next: Shape) -> Shape {
        let lead = match (self.lead, next.lead) {
            (Lead::Empty, _) => return next,
            (_, Lead::Empty) => return self,
            (Lead::Other | Lead::Signed, _) | (_, Lead::Other | Lead::Signed) => Lead::Other,
            (Lead::Lone, _) => Lead::Padded,
            (lead, _) => lead,
        };
        Shape { lead, most: self.most.saturating_add(next.most) }
    }

    /// Whether each of the texts is a number that is written as itself.
    pub fn is_number(self) -> bool {
        matches!(self.lead, Lead::Digit | Lead::Lone | Lead::Signed) && self.most <= DIGITS_MAX
    }
}

/// Whether a text without times is a number: `7`, `-0.5`, `1e3`, and not `007`, which is a code.
pub fn is_number(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_plain = whole == "0" || !whole.starts_with('0');
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    let is_short = whole.len() <= DIGITS_MAX && text.len() <= NUMBER_MAX_BYTES;
    is_short && digits(whole) && is_plain && digits(part) && digits(exponent)
}
