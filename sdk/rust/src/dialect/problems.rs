//! What is wrong with a change, gathered so that the user is told all of it at once.

use super::{Problem, Table};

/// Problems so far, one for each member: the first that was found.
#[derive(Debug, Default)]
pub struct Problems {
    found: Vec<Problem>,
}

impl Problems {
    /// Adds one, unless the member has one already.
    pub fn add(&mut self, member: impl Into<String>, code: &str, message: impl Into<String>) {
        let member = member.into();
        if self.found.iter().all(|problem| problem.member != member) {
            self.found.push(Problem::new(member, code, message));
        }
    }

    /// What the database cannot do at all, or only with a loss that it does not tell.
    pub fn unsupported(&mut self, member: impl Into<String>, message: impl Into<String>) {
        self.add(member, "unsupported_by_dialect", message);
    }

    /// What something else stands in the way of.
    pub fn conflict(&mut self, member: impl Into<String>, message: impl Into<String>) {
        self.add(member, "conflict", message);
    }

    /// What the database cannot keep as it is.
    pub fn not_representable(&mut self, member: impl Into<String>, message: impl Into<String>) {
        self.add(member, "not_representable", message);
    }

    /// Only tables are planned for.
    pub fn only_tables(&mut self, table: &Table) {
        if table.kind != "table" {
            self.unsupported("", format!("{} is a {}; only tables are changed", table.name.name, table.kind));
        }
    }

    /// Adds others; what they have against the member `from` is said of `to`.
    pub fn add_as(&mut self, others: Problems, from: &str, to: &str) {
        for Problem { member, code, message } in others.found {
            let member = if member == from { to.to_owned() } else { member };
            self.add(member, &code, message);
        }
    }

    /// The answer, if nothing was found.
    pub fn or<T>(self, answer: impl FnOnce() -> T) -> Result<T, Vec<Problem>> {
        if self.found.is_empty() { Ok(answer()) } else { Err(self.found) }
    }

    /// Ends here if anything was found.
    pub fn check(self) -> Result<(), Vec<Problem>> {
        self.or(|| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_has_one_problem_and_others_may_be_said_of_another() {
        let (mut problems, mut others) = (Problems::default(), Problems::default());
        problems.conflict("tableName", "is there");
        problems.unsupported("tableName", "cannot be");
        others.not_representable("comment", "too long");
        problems.add_as(others, "comment", "tableComment");
        let found = problems.check().unwrap_err();
        let said: Vec<_> = found.iter().map(|problem| (&*problem.member, &*problem.code)).collect();
        assert_eq!(said, [("tableName", "conflict"), ("tableComment", "not_representable")]);
        assert_eq!(Problems::default().or(|| 7), Ok(7));
    }
}
