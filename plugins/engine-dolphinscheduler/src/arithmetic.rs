//! Arithmetic in time patterns: `+ - * /` and parentheses over whole numbers, as fractions.
//!
//! DolphinScheduler 3.x rounds each quotient towards zero. Here nothing is rounded: an offset that is no
//! whole number of its unit is refused, and no meaning depends on the order of the factors.

/// The most digits of a number.
const DIGITS_MAX: usize = 9;

/// A fraction in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fraction {
    above: i64,
    /// Greater than 0.
    below: i64,
}

/// The value in this many parts of a unit: 1/24 of a day is 60 of its 1,440 minutes. `None` if the text is no
/// arithmetic, or its value no whole number of parts.
pub fn calculate(text: &str, parts: i64) -> Option<i64> {
    let mut reader = Reader { rest: text.trim().as_bytes() };
    let value = reader.sum()?.times(Fraction { above: parts, below: 1 })?;
    (reader.rest.is_empty() && value.below == 1).then_some(value.above)
}

/// Whether arithmetic has no other characters than these.
pub fn is_arithmetic(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit() || b"+-*/() ".contains(&byte))
}

/// Patterns are short, and so the recursion is shallow.
struct Reader<'t> {
    rest: &'t [u8],
}

impl Reader<'_> {
    fn skip(&mut self, byte: u8) -> bool {
        let found = self.rest.first() == Some(&byte);
        self.rest = &self.rest[usize::from(found)..];
        found
    }

    fn sum(&mut self) -> Option<Fraction> {
        let mut sum = self.product()?;
        loop {
            sum = if self.skip(b'+') {
                sum.plus(self.product()?)?
            } else if self.skip(b'-') {
                sum.plus(self.product()?.negative())?
            } else {
                return Some(sum);
            }
        }
    }

    fn product(&mut self) -> Option<Fraction> {
        let mut product = self.factor()?;
        loop {
            product = if self.skip(b'*') {
                product.times(self.factor()?)?
            } else if self.skip(b'/') {
                product.times(self.factor()?.inverse()?)?
            } else {
                return Some(product);
            }
        }
    }

    fn factor(&mut self) -> Option<Fraction> {
        if self.skip(b'-') {
            return self.factor().map(Fraction::negative);
        }
        if self.skip(b'+') {
            return self.factor();
        }
        if self.skip(b'(') {
            let inner = self.sum()?;
            return self.skip(b')').then_some(inner);
        }
        let length = self.rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, rest) = self.rest.split_at(length);
        self.rest = rest;
        let digits = str::from_utf8(digits).ok().filter(|digits| digits.len() <= DIGITS_MAX)?;
        Some(Fraction { above: digits.parse().ok()?, below: 1 })
    }
}

impl Fraction {
    fn of(above: i64, below: i64) -> Option<Fraction> {
        let (mut left, mut right) = (above.unsigned_abs(), below.unsigned_abs());
        while right != 0 {
            (left, right) = (right, left % right);
        }
        let common = i64::try_from(left).ok().filter(|&common| common != 0)?;
        (below > 0).then_some(Fraction { above: above / common, below: below / common })
    }

    fn plus(self, other: Fraction) -> Option<Fraction> {
        let left = self.above.checked_mul(other.below)?;
        let right = other.above.checked_mul(self.below)?;
        Fraction::of(left.checked_add(right)?, self.below.checked_mul(other.below)?)
    }

    fn times(self, other: Fraction) -> Option<Fraction> {
        Fraction::of(self.above.checked_mul(other.above)?, self.below.checked_mul(other.below)?)
    }

    /// `above` is no smallest integer: it comes from nine digits, and products are checked.
    fn negative(self) -> Fraction {
        Fraction { above: self.above.saturating_neg(), ..self }
    }

    /// `None` of 0.
    fn inverse(self) -> Option<Fraction> {
        match self.above {
            0 => None,
            above => Fraction::of(self.below.checked_mul(above.signum())?, above.checked_abs()?),
        }
    }
}
