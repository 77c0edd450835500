//! Writing the tokens of a statement from left to right.

use super::{TextToken, Token, TypeToken};

/// A statement under construction.
///
/// ```
/// use lakeport_sdk::dialect::Statement;
///
/// let tokens = Statement::new()
///     .words("COMMENT ON TABLE")
///     .name(["shop", "orders"])
///     .words("IS")
///     .text("literal", "what was ordered")
///     .tokens();
/// assert_eq!(tokens.len(), 4);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use = "a statement does nothing until its tokens are part of a step"]
pub struct Statement {
    tokens: Vec<Token>,
}

impl Statement {
    /// An empty one.
    pub fn new() -> Statement {
        Statement::default()
    }

    /// Words separated by single blanks, all of them in the operation's vocabulary.
    pub fn words(self, words: impl Into<String>) -> Statement {
        self.token(Token::Keyword(words.into()))
    }

    /// A name, outermost part first.
    pub fn name<S: Into<String>>(self, parts: impl IntoIterator<Item = S>) -> Statement {
        self.token(Token::Name(parts.into_iter().map(Into::into).collect()))
    }

    /// A string literal, written by one of the dialect's text rules.
    pub fn text(self, rule: impl Into<String>, value: impl Into<String>) -> Statement {
        self.token(Token::Text(TextToken { value: value.into(), rule: rule.into() }))
    }

    /// A number literal.
    pub fn number(self, digits: impl ToString) -> Statement {
        self.token(Token::Number(digits.to_string()))
    }

    /// A data type.
    pub fn data_type(self, tokens: Vec<TypeToken>) -> Statement {
        self.token(Token::DataType(tokens))
    }

    /// One of `(` `)` `,` `=` `.` `*`.
    pub fn symbol(self, symbol: &str) -> Statement {
        self.token(Token::Symbol(symbol.to_owned()))
    }

    /// An expression that came with the change, unchanged.
    pub fn expression(self, expression: impl Into<String>) -> Statement {
        self.token(Token::Expression(expression.into()))
    }

    /// A host value, in session and cancellation recipes.
    pub fn host_value(self, name: &str) -> Statement {
        self.token(Token::HostValue(name.to_owned()))
    }

    /// Any token.
    pub fn token(mut self, token: Token) -> Statement {
        self.tokens.push(token);
        self
    }

    /// Appends another statement's tokens.
    pub fn then(mut self, more: Statement) -> Statement {
        self.tokens.extend(more.tokens);
        self
    }

    /// Items separated by commas: `.list(fields, |statement, field| statement.name([field]))`.
    pub fn list<I>(
        mut self,
        items: impl IntoIterator<Item = I>,
        mut write: impl FnMut(Statement, I) -> Statement,
    ) -> Statement {
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self = self.symbol(",");
            }
            self = write(self, item);
        }
        self
    }

    /// The same in parentheses.
    pub fn in_parentheses<I>(
        self,
        items: impl IntoIterator<Item = I>,
        write: impl FnMut(Statement, I) -> Statement,
    ) -> Statement {
        self.symbol("(").list(items, write).symbol(")")
    }

    /// The tokens.
    pub fn tokens(self) -> Vec<Token> {
        self.tokens
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_commas_between_and_none_at_its_ends() {
        let tokens = Statement::new().in_parentheses(["a", "b"], |s, name| s.name([name])).tokens();
        let name = |text: &str| Token::Name(vec![text.to_owned()]);
        let symbol = |text: &str| Token::Symbol(text.to_owned());
        assert_eq!(tokens, [symbol("("), name("a"), symbol(","), name("b"), symbol(")")]);
    }
}
