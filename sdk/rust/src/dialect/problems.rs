//! Collects the problems of a change, so that the user gets all of them at once.

use super::{Problem, Table};

/// The problems found so far, one per member: the first.
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

    /// The database cannot do this at all, or only with a silent loss.
    pub fn unsupported(&mut self, member: impl Into<String>, message: impl Into<String>) {
        self.add(member, "unsupported_by_dialect", message);
    }

    /// Another object prevents this.
    pub fn conflict(&mut self, member: impl Into<String>, message: impl Into<String>) {
        self.add(member, "conflict", message);
    }

    /// The database cannot store this unchanged.
    pub fn not_representable(&mut self, member: impl Into<String>, message: impl Into<String>) {
        self.add(member, "not_representable", message);
    }

    /// Only tables can be changed.
    pub fn only_tables(&mut self, table: &Table) {
        if table.kind != "table" {
            self.unsupported("", format!("{} is a {}; only tables are changed", table.name.name, table.kind));
        }
    }

    /// Adds other problems; those of the member `from` become problems of `to`.
    pub fn add_as(&mut self, others: Problems, from: &str, to: &str) {
        for Problem { member, code, message } in others.found {
            let member = if member == from { to.to_owned() } else { member };
            self.add(member, &code, message);
        }
    }

    /// The answer, if there are no problems.
    pub fn or<T>(self, answer: impl FnOnce() -> T) -> Result<T, Vec<Problem>> {
        if self.found.is_empty() { Ok(answer()) } else { Err(self.found) }
    }

    /// Returns early if there are problems.
    pub fn check(self) -> Result<(), Vec<Problem>> {
        self.or(|| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_keeps_its_first_problem() {
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
