//! The example company's workflows: defined, changed, submitted and approved over a month.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::catalogue::TableIds;
use super::files::{PublicationWords, Story, TaskWords, WorkflowWords};
use super::moments::Moments;
use super::requests::{Requests, named, number, records};

const WORKFLOWS: &str = "/api/v1/workflows";
/// When they were defined.
const DEFINED: (u64, &str) = (30, "10:00");
/// Minutes between a submission and the decision.
const DECIDED_AFTER: i64 = 35;
/// How long a deployment may take, and the polling interval.
const DEPLOYMENT_MAX: Duration = Duration::from_secs(60);
const DEPLOYMENT_LOOK: Duration = Duration::from_millis(100);

pub struct Makers<'d> {
    pub requests: &'d Requests,
    pub moments: &'d Moments,
    pub source_id: i64,
    pub table_ids: &'d TableIds,
}

/// The workflow of this name in the list, if it exists.
async fn find(requests: &Requests, name: &str) -> anyhow::Result<Option<Value>> {
    let page =
        requests.get(&format!("{WORKFLOWS}?keyword={}&pageSize=500", name.replace(' ', "%20"))).await?;
    Ok(named(records(&page), "name", name).cloned())
}

/// The details of the workflow with this name.
pub async fn detail(requests: &Requests, name: &str) -> anyhow::Result<Value> {
    let listed = find(requests, name).await?.with_context(|| format!("no workflow {name}"))?;
    requests.get(&format!("{WORKFLOWS}/{}", number(&listed, "id")?)).await
}

/// Fails if a user's workflow has one of these names.
pub async fn refuse_others(requests: &Requests, story: &Story) -> anyhow::Result<()> {
    for words in &story.workflows {
        if let Some(known) = find(requests, &words.name).await? {
            ensure!(
                known["createdBy"] == words.by.as_str(),
                "there is a workflow `{}` that is not the example company's: rename it",
                words.name
            );
        }
    }
    Ok(())
}

impl Makers<'_> {
    pub async fn define(&self, words: &WorkflowWords) -> anyhow::Result<()> {
        let (days_ago, time) = DEFINED;
        self.moments.go_to(self.moments.at(days_ago, time)?);
        if find(self.requests, &words.name).await?.is_none() {
            let form = json!({ "name": words.name, "description": words.description });
            self.requests.post(&words.by, WORKFLOWS, &form).await?;
        }
        let workflow = detail(self.requests, &words.name).await?;
        let id = number(&workflow, "id")?;
        for task in &words.tasks {
            if named(records(&workflow["tasks"]), "taskName", &task.name).is_none() {
                self.requests.post(&words.by, "/api/v1/tasks", &self.task(id, task)?).await?;
            }
        }
        if workflow["schedule"].is_null() {
            self.requests.put(&words.by, &format!("{WORKFLOWS}/{id}/schedule"), &words.schedule).await?;
        }
        Ok(())
    }

    fn task(&self, workflow_id: i64, words: &TaskWords) -> anyhow::Result<Value> {
        let ids = |names: &[String]| -> anyhow::Result<Vec<i64>> {
            let id =
                |name: &String| self.table_ids.get(name).copied().with_context(|| format!("no table {name}"));
            names.iter().map(id).collect()
        };
        let mut task = words.members.clone();
        task.insert("workflowId".to_owned(), workflow_id.into());
        task.insert("taskName".to_owned(), words.name.as_str().into());
        task.insert("taskType".to_owned(), "SQL".into());
        task.insert("datasourceId".to_owned(), self.source_id.into());
        task.insert("sqlContent".to_owned(), words.sql.join("\n").into());
        Ok(
            json!({ "task": task, "inputTableIds": ids(&words.inputs)?, "outputTableIds": ids(&words.outputs)? }),
        )
    }

    /// Changes, submits, decides and deploys, as far as that is not done; the comment identifies the
    /// publication.
    pub async fn publish(&self, words: &PublicationWords) -> anyhow::Result<()> {
        let workflow = detail(self.requests, &words.workflow).await?;
        let target = format!("{WORKFLOWS}/{}", number(&workflow, "id")?);
        self.moments.go_to(self.moments.at(words.days_ago, &words.at)?);
        let known = named(records(&workflow["publications"]), "comment", &words.comment);
        let record = match known {
            Some(record) => record.clone(),
            None => {
                self.change(&workflow, words).await?;
                let form = json!({ "comment": words.comment });
                self.requests.post(&words.by, &format!("{target}/publish"), &form).await?
            }
        };
        self.moments.wait(DECIDED_AFTER);
        let is_open = record["status"] == "PENDING" || record["deployment"]["state"] == "failed";
        let record = if is_open {
            let form = json!({ "status": words.decision, "comment": words.decision_comment });
            let decide = format!("{target}/publish/{}/approve", number(&record, "recordId")?);
            self.requests.post(&words.decided_by, &decide, &form).await?
        } else {
            record
        };
        self.deployed(words, record).await
    }

    async fn change(&self, workflow: &Value, words: &PublicationWords) -> anyhow::Result<()> {
        let Some(set) = &words.set else { return Ok(()) };
        let Some(name) = &words.task else {
            let target = format!("{WORKFLOWS}/{}", number(workflow, "id")?);
            return self.requests.put(&words.by, &target, set).await.map(drop);
        };
        let task = named(records(&workflow["tasks"]), "taskName", name);
        let task = task.with_context(|| format!("the workflow {} has no task {name}", words.workflow))?;
        let target = format!("/api/v1/tasks/{}", number(task, "id")?);
        self.requests.put(&words.by, &target, &json!({ "task": set })).await.map(drop)
    }

    /// The answer to an approval may come before the deployment ends.
    async fn deployed(&self, words: &PublicationWords, mut record: Value) -> anyhow::Result<()> {
        let until = Instant::now() + DEPLOYMENT_MAX;
        while record["deployment"]["state"] == "pending" {
            ensure!(Instant::now() < until, "the workflow {} was not deployed in time", words.workflow);
            sleep(DEPLOYMENT_LOOK).await;
            let workflow = detail(self.requests, &words.workflow).await?;
            let now = named(records(&workflow["publications"]), "comment", &words.comment);
            record = now.cloned().with_context(|| format!("no publication {}", words.comment))?;
        }
        match record["deployment"]["state"].as_str() {
            Some("failed") => {
                bail!("the workflow {} was not deployed: {}", words.workflow, record["deployment"]["error"])
            }
            _ => Ok(()),
        }
    }

    pub async fn bring_online(&self, words: &WorkflowWords) -> anyhow::Result<()> {
        let workflow = detail(self.requests, &words.name).await?;
        let target = format!("{WORKFLOWS}/{}/schedule/online", number(&workflow, "id")?);
        if workflow["status"] != "online" {
            self.requests.post(&words.by, &target, &json!({})).await?;
        }
        Ok(())
    }
}
