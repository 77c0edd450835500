//! A form with rules of its own. The rules check the members that could be read, and one error reports wrong
//! types and broken rules together.

use lakeport_base::error::{Detail, Error};

/// A form as far as it could be read. A wrong member counts as absent, or is empty if its type has no absent
/// value. The form becomes usable only through [`Draft::refuse`] or [`Draft::checked`].
#[derive(Debug)]
pub struct Draft<T> {
    read: T,
    /// Members that could not be read.
    wrong: Vec<Detail>,
}

impl<T> Draft<T> {
    pub(super) fn new(read: T, wrong: Vec<Detail>) -> Draft<T> {
        Draft { read, wrong }
    }

    /// The form for checking its rules only; do not use it otherwise before it passed.
    pub fn read(&self) -> &T {
        &self.read
    }

    /// 400 with all members that could not be read and the errors `found` by the rules, if there are any.
    pub fn refuse(&self, found: Vec<Detail>) -> Result<(), Error> {
        let all = self.all_wrong(found);
        if all.is_empty() { Ok(()) } else { Err(Error::invalid(all)) }
    }

    /// What a check found wrong, for [`Draft::refuse`]. Its other errors are for forms that could be read: before them
    /// come the members that could not.
    pub fn found(&self, checked: Result<(), Error>) -> Result<Vec<Detail>, Error> {
        match Error::details_of(checked) {
            Ok(found) => Ok(found),
            Err(error) => self.refuse(Vec::new()).and(Err(error)),
        }
    }

    /// The result of the rules; 400 as in [`Draft::refuse`].
    pub fn checked<X>(&self, rules: impl FnOnce(&T) -> Result<X, Vec<Detail>>) -> Result<X, Error> {
        match rules(&self.read) {
            Ok(made) => self.refuse(Vec::new()).map(|()| made),
            Err(found) => Err(Error::invalid(self.all_wrong(found))),
        }
    }

    /// Leaves out the rules' errors about members that could not be read.
    fn all_wrong(&self, mut found: Vec<Detail>) -> Vec<Detail> {
        found.retain(|found| !self.wrong.iter().any(|wrong| are_one(&wrong.field, &found.field)));
        self.wrong.iter().cloned().chain(found).collect()
    }

    /// Whether all members could be read.
    pub(super) fn is_whole(&self) -> bool {
        self.wrong.is_empty()
    }

    /// The form, if all members could be read.
    pub fn whole(self) -> Result<T, Error> {
        self.refuse(Vec::new()).map(|()| self.read)
    }
}

/// Whether two paths are equal or one leads to the other: `globalParams` and `globalParams[1].name`.
fn are_one(one: &str, other: &str) -> bool {
    let (short, long) = if one.len() <= other.len() { (one, other) } else { (other, one) };
    long.strip_prefix(short).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::super::draft_from_json;
    use super::*;

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Form {
        name: String,
        start_time: Option<String>,
        #[serde(default)]
        items: Vec<String>,
    }

    fn rules(form: &Form) -> Result<usize, Vec<Detail>> {
        let mut wrong = Vec::new();
        if form.name.is_empty() {
            wrong.push(Detail::new("name", "must not be empty"));
        }
        if form.start_time.as_deref() == Some("soon") {
            wrong.push(Detail::new("startTime", "is no time"));
        }
        let empty = form.items.iter().enumerate().filter(|(_, item)| item.is_empty());
        wrong.extend(empty.map(|(at, _)| Detail::new(format!("items[{at}]"), "must not be empty")));
        if wrong.is_empty() { Ok(form.items.len()) } else { Err(wrong) }
    }

    fn told(body: &str) -> Vec<(String, String)> {
        let draft = draft_from_json::<Form>(body.as_bytes()).unwrap();
        let Err(Error::Refused(refusal)) = draft.checked(rules) else { panic!("{body}") };
        refusal.details.into_iter().map(|detail| (detail.field, detail.message)).collect()
    }

    fn pair(field: &str, message: &str) -> (String, String) {
        (field.to_owned(), message.to_owned())
    }

    #[test]
    fn rule_errors_and_type_errors_come_together() {
        assert_eq!(
            told(r#"{"name":7,"startTime":"soon","items":["a",1,""]}"#),
            [
                pair("name", "expected a string, got a number"),
                pair("items[1]", "expected a string, got a number"),
                pair("startTime", "is no time"),
                pair("items[2]", "must not be empty"),
            ]
        );
    }

    #[test]
    fn a_wrong_type_alone_is_refused() {
        let expected = [pair("items", "expected an array, got a number")];
        assert_eq!(told(r#"{"name":"a","items":3}"#), expected);
    }

    #[test]
    fn a_valid_form_yields_the_rules_result() {
        let draft = draft_from_json::<Form>(br#"{"name":"a","items":["b"]}"#).unwrap();
        assert_eq!(draft.checked(rules).unwrap(), 1);
        assert!(draft.refuse(vec![Detail::new("name", "is taken")]).is_err());
    }

    #[test]
    fn another_error_comes_after_wrong_members() {
        let forbidden = || Err(Error::forbidden("no", "no"));
        let draft = |body: &str| draft_from_json::<Form>(body.as_bytes()).unwrap();
        let status = |body: &str| draft(body).found(forbidden()).unwrap_err().status();
        assert_eq!((status(r#"{"name":7}"#), status(r#"{"name":"a"}"#)), (400, 403));
        let wrong = Err(Error::invalid(vec![Detail::new("name", "is taken")]));
        assert_eq!(draft(r#"{"name":7}"#).found(wrong).unwrap().len(), 1);
    }

    #[test]
    fn a_path_leads_to_what_is_below_it_alone() {
        assert!(are_one("task", "task.name") && are_one("ids[1]", "ids") && are_one("a", "a"));
        assert!(!are_one("name", "names") && !are_one("task.name", "task.retryTimes"));
    }
}
