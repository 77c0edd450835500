//! Rows of statements, and whether two statements give the same.

use anyhow::Result;
use sqlx::sqlite::SqliteRow;
use sqlx::{AssertSqlSafe, Row as _, SqliteConnection, TypeInfo as _, ValueRef as _};

/// Rows of cells in a comparable form: numbers rounded to six digits, texts that are numbers as numbers.
pub type Rows = Vec<Vec<String>>;

/// The rows of a statement.
pub async fn read(database: &mut SqliteConnection, sql: &str) -> Result<Rows> {
    let rows = sqlx::query(AssertSqlSafe(sql.to_owned())).fetch_all(database).await?;
    rows.iter().map(cells).collect()
}

/// The most frequent values of a column, as texts.
pub async fn values(
    database: &mut SqliteConnection,
    table: &str,
    column: &str,
    most: i64,
) -> Result<Vec<String>> {
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    let (table, column) = (quoted(table), quoted(column));
    let sql = format!(
        "SELECT CAST({column} AS TEXT) FROM {table} WHERE {column} IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT \
         {most}"
    );
    let rows: Vec<(String,)> = sqlx::query_as(AssertSqlSafe(sql)).fetch_all(database).await?;
    Ok(rows.into_iter().map(|(value,)| value).collect())
}

fn cells(row: &SqliteRow) -> Result<Vec<String>> {
    let cell = |at: usize| -> Result<String> {
        let raw = row.try_get_raw(at)?;
        if raw.is_null() {
            return Ok("NULL".to_owned());
        }
        Ok(match raw.type_info().name() {
            "INTEGER" | "BOOLEAN" => row.try_get::<i64, _>(at)?.to_string(),
            "REAL" => number(row.try_get::<f64, _>(at)?),
            _ => {
                let text: String = row.try_get_unchecked(at)?;
                text.parse::<f64>().map_or(text, number)
            }
        })
    };
    (0..row.columns().len()).map(cell).collect()
}

fn number(number: f64) -> String {
    let rounded = format!("{number:.6}");
    rounded.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Whether rows are those that are wanted, whatever the order of columns and, unless that matters, of rows.
///
/// `wider`: further columns do not matter.
pub fn are_same(found: &Rows, wanted: &Rows, is_ordered: bool, wider: bool) -> bool {
    let (Some(one), Some(other)) = (found.first(), wanted.first()) else {
        return found.is_empty() && wanted.is_empty();
    };
    if found.len() != wanted.len() || one.len() < other.len() || !wider && one.len() != other.len() {
        return false;
    }
    // Each wanted column is one of those with the same cells.
    let column = |rows: &Rows, at: usize| -> Vec<String> {
        let mut cells: Vec<String> = rows.iter().map(|row| row[at].clone()).collect();
        if !is_ordered {
            cells.sort_unstable();
        }
        cells
    };
    let candidates: Vec<Vec<usize>> = (0..other.len())
        .map(|wanted_at| {
            let cells = column(wanted, wanted_at);
            (0..one.len()).filter(|at| column(found, *at) == cells).collect()
        })
        .collect();
    fits(found, wanted, is_ordered, &candidates, &mut Vec::new())
}

fn fits(
    found: &Rows,
    wanted: &Rows,
    is_ordered: bool,
    candidates: &[Vec<usize>],
    taken: &mut Vec<usize>,
) -> bool {
    let Some(of_next) = candidates.get(taken.len()) else {
        let mut picked: Rows =
            found.iter().map(|row| taken.iter().map(|at| row[*at].clone()).collect()).collect();
        let mut wanted = wanted.clone();
        if !is_ordered {
            picked.sort_unstable();
            wanted.sort_unstable();
        }
        return picked == wanted;
    };
    of_next.iter().any(|at| {
        if taken.contains(at) {
            return false;
        }
        taken.push(*at);
        let does_fit = fits(found, wanted, is_ordered, candidates, taken);
        taken.pop();
        does_fit
    })
}

/// Without the rows that a calendar adds: those whose numbers are 0 or missing.
pub fn without_empty(rows: &Rows) -> Rows {
    let is_empty =
        |row: &&Vec<String>| row.len() > 1 && row[1..].iter().all(|cell| cell == "0" || cell == "NULL");
    rows.iter().filter(|row| !is_empty(row)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&[&str]]) -> Rows {
        rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect()
    }

    #[test]
    fn rows_are_the_same_whatever_the_order_of_columns() {
        let (one, other) = (rows(&[&["a", "1"], &["b", "2"]]), rows(&[&["2", "b"], &["1", "a"]]));
        assert!(are_same(&one, &other, false, false) && !are_same(&one, &other, true, false));
        let crossed = rows(&[&["a", "2"], &["b", "1"]]);
        assert!(!are_same(&one, &crossed, false, false));
        let names = rows(&[&["a"], &["b"]]);
        assert!(!are_same(&one, &names, false, false) && are_same(&one, &names, false, true));
        assert!(!are_same(&names, &one, false, true));
        assert!(are_same(&Vec::new(), &Vec::new(), true, false));
    }
}
