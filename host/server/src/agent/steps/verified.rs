//! A question that an editor has verified: its SQL is run first, whichever the model. If it does not run any more, the model
//! answers, and the answer says so.

use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::background::Budget;
use super::model::{Conversation, Language, Model, ModelError, Next, Said};
use super::offline::answer::one_line;
use super::offline::{RUN, rows};
use crate::agent::knowledge::Entry;
use crate::agent::knowledge::verified::VerifiedQuestion;
use crate::agent::models::spent::Spent;
use crate::agent::outcome::Answer;
use crate::agent::tasks::event::{Step, ToolResult};
use crate::agent::time_of;

/// Characters of the reason why a statement failed.
const REASON_MAX_CHARS: usize = 500;

pub struct Verified {
    pub entry: Entry<VerifiedQuestion>,
    /// The task's model.
    pub model: std::sync::Arc<dyn Model>,
}

impl Model for Verified {
    fn needs_background(&self, conversation: &Conversation) -> bool {
        rest(conversation).is_some_and(|rest| self.model.needs_background(&rest))
    }

    fn budget(&self) -> Budget {
        self.model.budget()
    }

    fn cost_of_broken_off(&self, conversation: &Conversation) -> Spent {
        rest(conversation).map_or_else(Spent::default, |rest| self.model.cost_of_broken_off(&rest))
    }

    fn next<'m>(&'m self, conversation: &'m Conversation) -> BoxFuture<'m, Result<Said, ModelError>> {
        Box::pin(async move {
            match (rest(conversation), first(conversation)) {
                (Some(rest), _) => Ok(self.after_failure(conversation, self.model.next(&rest).await?)),
                (None, Some(run)) => Ok(self.answer(conversation.language, run)),
                (None, None) => Ok(self.run(conversation.language)),
            }
        })
    }
}

/// The result of the verified statement.
fn first(conversation: &Conversation) -> Option<&ToolResult> {
    conversation.results().next().filter(|result| result.tool == RUN)
}

/// The conversation after a verified statement that failed.
fn rest(conversation: &Conversation) -> Option<Conversation> {
    first(conversation).filter(|run| run.outcome.is_err())?;
    let place = conversation.steps.iter().position(|step| matches!(step, Step::ToolResult(_)))?;
    Some(Conversation { steps: conversation.steps[place + 1..].to_vec(), ..conversation.clone() })
}

fn input(body: &VerifiedQuestion) -> Value {
    json!({ "datasource": body.datasource, "sql": body.sql })
}

impl Verified {
    /// Whether a task with these steps may have begun with this question's statement: what was verified or changed
    /// meanwhile does not answer it any more.
    pub fn fits(body: &VerifiedQuestion, steps: &[Step]) -> bool {
        let first = steps.iter().find_map(|step| match step {
            Step::ToolCall { tool, input, .. } => Some((tool, input)),
            _ => None,
        });
        first.is_none_or(|(tool, known)| tool == RUN && *known == input(body))
    }

    fn run(&self, language: Language) -> Said {
        let input = input(&self.entry.body);
        let thought = match language {
            Language::English => format!("This question is verified ({}); I run its SQL.", self.by(language)),
            Language::Chinese => format!("这是经过验证的问题（{}），执行其 SQL。", self.by(language)),
        };
        Next::Call { tool: RUN.to_owned(), input }.after(thought)
    }

    fn by(&self, language: Language) -> String {
        let (author, at) = (&self.entry.author, time_of(self.entry.updated_at_ms));
        let day = at.split('T').next().unwrap_or_default();
        match language {
            Language::English => format!("by {author}, {day}"),
            Language::Chinese => format!("{author}，{day}"),
        }
    }

    /// The model's answer says why the verified statement does not answer.
    fn after_failure(&self, conversation: &Conversation, said: Said) -> Said {
        let (Next::Answer(answer), Some(Err(cause))) =
            (&said.next, first(conversation).map(|run| &run.outcome))
        else {
            return said;
        };
        let language = conversation.language;
        let (by, why) = (self.by(language), one_line(&cause.message, REASON_MAX_CHARS));
        let why = why.trim_end_matches(['.', '。']);
        let failed = match language {
            Language::English => format!(
                "The verified SQL of this question ({by}) failed: {why}. What follows is answered without it."
            ),
            Language::Chinese => {
                format!("这个问题经过验证的 SQL（{by}）执行失败：{why}。以下回答没有使用它。")
            }
        };
        let content = format!("{failed}\n\n{}", answer.content);
        let answer = Answer { content, outcome: answer.outcome.clone() };
        Said { next: Next::Answer(answer), ..said }
    }

    fn answer(&self, language: Language, run: &ToolResult) -> Said {
        let body = &self.entry.body;
        let verified = match language {
            Language::English => format!("Verified question ({}).", self.by(language)),
            Language::Chinese => format!("经过验证的问题（{}）。", self.by(language)),
        };
        let written = json!({ "title": body.question, "explanation": body.note, "shape": "table" });
        let output = run.outcome.as_ref().unwrap_or(&Value::Null);
        let table = run.artifacts.iter().find(|artifact| artifact["kind"] == "table").unwrap_or(output);
        let told = rows::of_rows(language, &written, table);
        Next::Answer(Answer::new(format!("{told}\n\n{verified}"))).into()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::agent::steps::offline::Offline;
    use crate::agent::tasks::event::ToolError;

    fn verified(note: Option<&str>) -> Verified {
        let body = VerifiedQuestion {
            question: "How many orders?".to_owned(),
            datasource: "shop".to_owned(),
            sql: "SELECT 3".to_owned(),
            note: note.map(str::to_owned),
        };
        let (author, created_at_ms, updated_at_ms) = ("ann".to_owned(), 0, 0);
        let entry = Entry { id: 1, body, author, created_at_ms, updated_at_ms };
        Verified { entry, model: Arc::new(Offline) }
    }

    fn after(outcome: Result<Value, ToolError>) -> Conversation {
        let (call_id, tool) = ("c".to_owned(), RUN.to_owned());
        let result =
            ToolResult { call_id, tool, outcome, duration_ms: 1, truncated: false, artifacts: Vec::new() };
        Conversation::new("how many orders", vec![Step::ToolResult(result)])
    }

    #[tokio::test]
    async fn its_sql_is_run_and_the_answer_names_it() {
        let verified = verified(Some("Without tests."));
        let said = verified.next(&Conversation::new("how many orders", Vec::new())).await.unwrap();
        let Next::Call { input, .. } = said.next else { panic!("a call") };
        assert_eq!(input, json!({ "datasource": "shop", "sql": "SELECT 3" }));
        let rows =
            json!({ "columns": [{ "name": "n", "type": "INTEGER" }], "rows": [[3]], "truncated": false });
        let said = verified.next(&after(Ok(rows))).await.unwrap();
        let Next::Answer(answer) = said.next else { panic!("an answer") };
        assert_eq!(
            answer.content,
            "How many orders?: 3.\n\nWithout tests.\n\nVerified question (by ann, 1970-01-01)."
        );
    }

    #[test]
    fn a_task_that_began_otherwise_goes_on_otherwise() {
        let body = verified(None).entry.body;
        let call = |tool: &str, input: Value| {
            vec![Step::ToolCall { call_id: "c".to_owned(), tool: tool.to_owned(), input }]
        };
        assert!(Verified::fits(&body, &[]));
        assert!(Verified::fits(&body, &call(RUN, json!({ "datasource": "shop", "sql": "SELECT 3" }))));
        assert!(!Verified::fits(&body, &call(RUN, json!({ "datasource": "shop", "sql": "SELECT 4" }))));
        assert!(!Verified::fits(&body, &call("search_catalog", json!({}))));
    }

    #[tokio::test]
    async fn without_its_sql_the_model_answers_and_says_so() {
        let mut failed = after(Err(ToolError::new("upstream_failed", "no such table", false)));
        let said = verified(None).next(&failed).await.unwrap();
        assert!(matches!(said.next, Next::Call { tool, .. } if tool == "search_catalog"));
        let refused = |tool: &str| {
            let outcome = Err(ToolError::new("cannot_answer", "`rainbows` means nothing to me.", false));
            let (call_id, tool, artifacts) = (tool.to_owned(), tool.to_owned(), Vec::new());
            let result = ToolResult { call_id, tool, outcome, duration_ms: 1, truncated: false, artifacts };
            Step::ToolResult(result)
        };
        failed.steps.extend(["search_catalog", "write_sql"].map(refused));
        let said = verified(None).next(&failed).await.unwrap();
        let Next::Answer(answer) = said.next else { panic!("an answer") };
        let begin = "The verified SQL of this question (by ann, 1970-01-01) failed: no such table. What follows is \
                     answered without it.\n\nI cannot answer that";
        assert!(answer.content.starts_with(begin), "{}", answer.content);
    }
}
