//! What takes the parser time without measure: it reads the arguments of some words again and again. A parser cannot be
//! stopped, so these texts are not given to it.

use sqlparser::dialect::Dialect;
use sqlparser::keywords::Keyword;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

/// Calls of POSITION within each other: each doubles the time.
const POSITIONS_MAX: usize = 8;
/// MATCH in one text, which the parser takes for a call each: its time grows with their square.
const MATCHES_MAX: usize = 500;

/// A parser of this text, for expressions and single statements.
pub fn parser<'d>(dialect: &'d dyn Dialect, sql: &str, depth: usize) -> Result<Parser<'d>, ParserError> {
    let tokens = Tokenizer::new(dialect, sql).tokenize_with_location()?;
    refuse(&tokens)?;
    Ok(Parser::new(dialect).with_recursion_limit(depth).with_tokens_with_locations(tokens))
}

/// Refuses such a text, as one that is nested too deeply.
pub fn refuse(tokens: &[TokenWithSpan]) -> Result<(), ParserError> {
    let (mut before, mut parentheses, mut positions, mut matches) = (Keyword::NoKeyword, Vec::new(), 0, 0);
    for token in tokens {
        let keyword = match &token.token {
            Token::Whitespace(_) => continue,
            Token::Word(word) => word.keyword,
            Token::LParen => {
                let is_position = before == Keyword::POSITION;
                positions += usize::from(is_position);
                parentheses.push(is_position);
                Keyword::NoKeyword
            }
            Token::RParen => {
                positions -= usize::from(parentheses.pop().unwrap_or(false));
                Keyword::NoKeyword
            }
            _ => Keyword::NoKeyword,
        };
        matches += usize::from(keyword == Keyword::MATCH);
        if positions > POSITIONS_MAX || matches > MATCHES_MAX {
            return Err(ParserError::RecursionLimitExceeded);
        }
        before = keyword;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use sqlparser::dialect::GenericDialect;

    use super::*;

    fn is_refused(sql: &str) -> bool {
        matches!(parser(&GenericDialect {}, sql, 100), Err(ParserError::RecursionLimitExceeded))
    }

    #[test]
    fn texts_that_take_too_long_are_refused() {
        let nested = |count: usize| format!("SELECT {}1{}", "POSITION(".repeat(count), ")".repeat(count));
        assert!(!is_refused(&nested(POSITIONS_MAX)) && is_refused(&nested(POSITIONS_MAX + 1)));
        assert!(is_refused(&nested(40).replace('(', " /* x */ (")));
        assert!(!is_refused(&format!("SELECT {}", "POSITION('a' IN b), ".repeat(100))));
        assert!(!is_refused("SELECT MATCH (a) AGAINST ('b')"));
        assert!(is_refused(&format!("SELECT {}1", "MATCH ".repeat(MATCHES_MAX + 1))));
    }
}
