//! Plain columns for people. Control characters are removed from plugins' texts, so that a name or a log line
//! cannot control the terminal.

use lakeport_base::text::is_unsafe;

/// Rows below headings, columns two spaces apart.
pub fn columns(headings: &[&str], rows: &[Vec<String>]) -> String {
    let rows: Vec<Vec<String>> =
        rows.iter().map(|row| row.iter().map(|cell| printable(cell)).collect()).collect();
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([headings[column].chars().count()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    let line = |cells: &[String]| {
        let padded: Vec<String> = cells
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:<width$}", width = *width))
            .collect();
        padded.join("  ").trim_end().to_owned() + "\n"
    };
    let headings: Vec<String> = headings.iter().map(|heading| (*heading).to_owned()).collect();
    std::iter::once(line(&headings)).chain(rows.iter().map(|row| line(row))).collect()
}

/// The text on one line, without characters that control a terminal or the direction of writing.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if is_unsafe(c) { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["a".to_owned(), "long one".to_owned()], vec!["bcd".to_owned(), "x".to_owned()]];
        assert_eq!(columns(&["N", "TEXT"], &rows), "N    TEXT\na    long one\nbcd  x\n");
    }

    #[test]
    fn a_cell_cannot_drive_the_terminal() {
        assert_eq!(printable("a\u{1b}[2Jb\nc"), "a [2Jb c");
    }
}
