//! The default partition. A plan that creates a partitioned table creates it too, since otherwise no row
//! could be inserted, and marks it with a comment to recognise it later.

use crate::describe::NAME_MAX_BYTES;

/// The comment of a partition that was created along with its table.
pub const MARK: &str = "made along with its table: rows that no other partition takes";
/// The suffix of its name.
const SUFFIX: &str = "_default";
/// Hexadecimal digits that keep truncated names unique.
const DIGITS: usize = 8;

/// Its name. Tables with different names have default partitions with different names.
pub fn companion_name(table: &str) -> String {
    let max = NAME_MAX_BYTES as usize;
    if table.len() + SUFFIX.len() <= max {
        return format!("{table}{SUFFIX}");
    }
    let room = max - SUFFIX.len() - DIGITS - 1;
    let end = (0..=room).rev().find(|at| table.is_char_boundary(*at)).unwrap_or(0);
    format!("{}_{:08x}{SUFFIX}", &table[..end], hash(table))
}

/// FNV-1a.
fn hash(text: &str) -> u32 {
    text.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_and_stay_unique() {
        assert_eq!(companion_name("orders"), "orders_default");
        assert_eq!(companion_name(&"a".repeat(55)).len(), 63);
        let one = companion_name(&format!("{}1", "é".repeat(31)));
        let other = companion_name(&format!("{}2", "é".repeat(31)));
        assert_ne!(one, other);
        assert!(one.len() <= 63 && one.ends_with("_default"), "{one}");
    }
}
