//! Figures as in the rows: shown with their own digits, summed up exactly.

use serde_json::Value;

/// The most fraction digits in a sum.
const DECIMALS_MAX: usize = 12;
/// The most fraction digits in a sentence; for figures below one, counted from the first digit that is not 0.
const DECIMALS_TOLD: usize = 4;
const DECIMALS_ROUNDED: usize = 2;
const DIGITS_OF_SMALL: i32 = 3;

/// A numeric cell.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    pub text: String,
    pub value: f64,
}

impl Figure {
    /// A number, or a text that is one, as databases write decimals.
    pub fn of(cell: &Value) -> Option<Figure> {
        let text = match cell {
            Value::Number(number) => number.to_string(),
            Value::String(text) if text.len() <= 60 => text.trim().to_owned(),
            _ => return None,
        };
        // The parser also accepts `inf` and `nan`.
        let is_number = text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        let value: f64 = text.parse().ok().filter(|value: &f64| is_number && value.is_finite())?;
        // An integer that the database returns as a floating-point number.
        let text = text.strip_suffix(".0").map_or(text.clone(), str::to_owned);
        Some(Figure { text, value })
    }

    /// The form in a sentence: rounded to readable digits; the table has all of them.
    pub fn told(&self) -> String {
        let decimals = self.text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        if decimals <= DECIMALS_TOLD || self.text.contains(['e', 'E']) {
            return self.text.clone();
        }
        let size = self.value.abs();
        if size >= 1.0 || size == 0.0 {
            return format!("{:.DECIMALS_ROUNDED$}", self.value);
        }
        #[expect(clippy::cast_possible_truncation, reason = "the exponent of a finite number is small")]
        let zeros = -(size.log10().floor() as i32) - 1;
        let decimals = usize::try_from(zeros + DIGITS_OF_SMALL).unwrap_or(DECIMALS_ROUNDED);
        format!("{:.decimals$}", self.value)
    }

    /// The same with its thousands apart: `1,234,567.8`.
    pub fn grouped(&self) -> String {
        grouped(&self.told())
    }

    /// Its digits as an integer, and the number of fraction digits.
    fn digits(&self) -> Option<(i128, usize)> {
        let (whole, decimals) = self.text.split_once('.').unwrap_or((&self.text, ""));
        if decimals.len() > DECIMALS_MAX || !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        Some((format!("{whole}{decimals}").parse().ok()?, decimals.len()))
    }
}

/// A figure with its thousands apart.
pub fn grouped(told: &str) -> String {
    let (sign, plain) = told.strip_prefix('-').map_or(("", told), |plain| ("-", plain));
    let (whole, decimals) = plain.find('.').map_or((plain, ""), |at| plain.split_at(at));
    if !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return told.to_owned();
    }
    let first = (whole.len() + 2) % 3 + 1;
    let mut parts = vec![&whole[..first.min(whole.len())]];
    parts.extend((first..whole.len()).step_by(3).map(|at| &whole[at..at + 3]));
    format!("{sign}{}{decimals}", parts.join(","))
}

/// The sum with the decimals of the most exact figure; `None` if it is not exact.
pub fn sum(figures: &[Figure]) -> Option<String> {
    let digits: Vec<(i128, usize)> = figures.iter().map(Figure::digits).collect::<Option<_>>()?;
    let decimals = digits.iter().map(|(_, decimals)| *decimals).max().unwrap_or(0);
    let mut sum: i128 = 0;
    for (number, has) in digits {
        let factor = 10_i128.checked_pow(u32::try_from(decimals - has).ok()?)?;
        sum = sum.checked_add(number.checked_mul(factor)?)?;
    }
    if decimals == 0 {
        return Some(sum.to_string());
    }
    let sign = if sum < 0 { "-" } else { "" };
    let text = format!("{:0>width$}", sum.unsigned_abs(), width = decimals + 1);
    let (whole, after) = text.split_at(text.len() - decimals);
    Some(format!("{sign}{whole}.{after}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn figures(cells: &[Value]) -> Vec<Figure> {
        cells.iter().filter_map(Figure::of).collect()
    }

    #[test]
    fn a_sum_keeps_its_parts_precision() {
        for (cells, expected) in [
            (vec![json!(1), json!(2), json!(0)], "3"),
            (vec![json!(0.1), json!(0.2)], "0.3"),
            (vec![json!("10.50"), json!(-20)], "-9.50"),
            (vec![json!(-0.05), json!(0.01)], "-0.04"),
            (vec![json!(3.0), json!(4)], "7"),
        ] {
            assert_eq!(sum(&figures(&cells)).as_deref(), Some(expected), "{cells:?}");
        }
        assert_eq!(sum(&figures(&[json!(1e300), json!(1)])), None);
    }

    #[test]
    fn a_sentence_tells_no_more_digits_than_are_read() {
        for (cell, expected) in [
            (json!(548.985_772_357_723_6), "548.99"),
            (json!(-1.999_999), "-2.00"),
            (json!(0.012_345_67), "0.0123"),
            (json!(0.333_333_333_333), "0.333"),
            (json!(12.3456), "12.3456"),
            (json!("0.00000"), "0.00"),
            (json!(42), "42"),
            (json!(1e300), "1e+300"),
        ] {
            assert_eq!(Figure::of(&cell).unwrap().told(), expected, "{cell}");
        }
    }

    #[test]
    fn thousands_stand_apart() {
        for (told, expected) in [
            ("7", "7"),
            ("999", "999"),
            ("1000", "1,000"),
            ("-327486.5", "-327,486.5"),
            ("1234567", "1,234,567"),
            ("1e+300", "1e+300"),
        ] {
            assert_eq!(grouped(told), expected);
        }
    }

    #[test]
    fn what_is_no_number_is_none() {
        for cell in [json!("inf"), json!("NaN"), json!("2026-01-02"), json!(null), json!(true), json!("")] {
            assert_eq!(Figure::of(&cell), None, "{cell}");
        }
        assert_eq!(Figure::of(&json!("12.30")).unwrap().text, "12.30");
    }
}
