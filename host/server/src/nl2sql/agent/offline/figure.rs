//! Figures as rows have them: told with the digits that they came with, summed up without losing or making any.

use serde_json::Value;

/// Digits after the point that are summed up.
const DECIMALS_MAX: usize = 12;

/// A cell that is a number.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    pub text: String,
    pub value: f64,
}

impl Figure {
    /// A number, or a text that is one, as databases write their decimals.
    pub fn of(cell: &Value) -> Option<Figure> {
        let text = match cell {
            Value::Number(number) => number.to_string(),
            Value::String(text) if text.len() <= 60 => text.trim().to_owned(),
            _ => return None,
        };
        // `inf` and `nan` are numbers to the parser alone.
        let is_number = text.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        let value: f64 = text.parse().ok().filter(|value: &f64| is_number && value.is_finite())?;
        // A whole number that a database has as a real one.
        let text = text.strip_suffix(".0").map_or(text.clone(), str::to_owned);
        Some(Figure { text, value })
    }

    /// Its digits as a whole number, and how many of them stand after the point.
    fn digits(&self) -> Option<(i128, usize)> {
        let (whole, decimals) = self.text.split_once('.').unwrap_or((&self.text, ""));
        if decimals.len() > DECIMALS_MAX || !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        Some((format!("{whole}{decimals}").parse().ok()?, decimals.len()))
    }
}

/// The sum with as many decimals as the most exact of them has; none where it cannot be told exactly.
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
    fn a_sum_has_the_digits_of_its_parts_and_no_more() {
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
    fn what_is_no_number_is_none() {
        for cell in [json!("inf"), json!("NaN"), json!("2026-01-02"), json!(null), json!(true), json!("")] {
            assert_eq!(Figure::of(&cell), None, "{cell}");
        }
        assert_eq!(Figure::of(&json!("12.30")).unwrap().text, "12.30");
    }
}
