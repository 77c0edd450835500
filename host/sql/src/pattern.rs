//! The regular expressions of name rules: literals, classes, `|`, groups and counts, so that all engines that
//! a host may use agree on the matches.

use regex::Regex;
use regex_syntax::ast::{self, Ast, GroupKind};

/// The longest pattern, in bytes.
const PATTERN_MAX_BYTES: usize = 1_000;
/// The largest compiled pattern, in bytes.
const COMPILED_MAX_BYTES: usize = 256 * 1024;

/// Compiles a pattern that must match a complete name. The error is the problem.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    if pattern.len() > PATTERN_MAX_BYTES {
        return Err(format!("the pattern has {} bytes; {PATTERN_MAX_BYTES} at most", pattern.len()));
    }
    let parsed = ast::parse::Parser::new().parse(pattern).map_err(|error| format!("{}", error.kind()))?;
    within_subset(&parsed)?;
    regex::RegexBuilder::new(&format!("^(?:{pattern})$"))
        .size_limit(COMPILED_MAX_BYTES)
        .build()
        .map_err(|error| error.to_string())
}

fn within_subset(node: &Ast) -> Result<(), String> {
    let outside = |what: &str| {
        Err(format!(
            "{what} at {} is not in the subset of literals, classes, `|`, groups and counts",
            node.span().start.offset
        ))
    };
    match node {
        Ast::Empty(_) | Ast::Literal(_) | Ast::Dot(_) | Ast::ClassPerl(_) | Ast::ClassBracketed(_) => Ok(()),
        Ast::ClassUnicode(_) => outside("a Unicode class"),
        Ast::Flags(_) => outside("a flag"),
        Ast::Assertion(_) => outside("an anchor (the whole name must match anyway)"),
        Ast::Repetition(repetition) if !repetition.greedy => outside("a lazy count"),
        Ast::Repetition(repetition) => within_subset(&repetition.ast),
        Ast::Group(group) => match &group.kind {
            GroupKind::CaptureIndex(_) => within_subset(&group.ast),
            GroupKind::NonCapturing(flags) if flags.items.is_empty() => within_subset(&group.ast),
            _ => outside("a named or flagged group"),
        },
        Ast::Alternation(alternation) => alternation.asts.iter().try_for_each(within_subset),
        Ast::Concat(concat) => concat.asts.iter().try_for_each(within_subset),
    }
}

#[cfg(test)]
mod tests {
    use super::compile;

    #[test]
    fn the_whole_name_must_match() {
        let regex = compile("[A-Za-z_][A-Za-z0-9_$]{0,62}|Ω+").expect("in the subset");
        assert!(regex.is_match("orders_2"));
        assert!(regex.is_match("ΩΩ"));
        assert!(!regex.is_match("2orders"));
        assert!(!regex.is_match("a b"));
        assert!(!regex.is_match("orders\n"));
    }

    #[test]
    fn what_other_engines_read_differently_is_refused() {
        for pattern in ["^a$", "(?i)a", "a+?", r"\bx", r"\p{L}+", "(?P<n>a)", "(?=a)", "[a", "a{99999999}"] {
            assert!(compile(pattern).is_err(), "{pattern}");
        }
    }
}
