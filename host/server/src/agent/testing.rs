//! Topics and questions as the handlers store them.

use lakeport_store::Db;
use uuid::Uuid;

use super::tasks::store::{self, NewTask};
use super::topics::{self, Message, Says, Topic};

/// An empty topic of this owner.
pub async fn topic(db: &Db, owner: &str) -> Topic {
    let mut topic = Topic {
        id: 0,
        topic_id: Uuid::now_v7().to_string(),
        owner: owner.to_owned(),
        title: "orders".to_owned(),
        datasources: None,
        model: None,
        message_count: 0,
        bytes: 0,
        last_task: None,
        created_at_ms: 5,
        updated_at_ms: 5,
    };
    let mut tx = db.begin().await.unwrap();
    topic.id = topics::store::insert(&mut tx, &topic).await.unwrap();
    tx.commit().await.unwrap();
    topic
}

/// A question in it; returns the task's internal id.
pub async fn ask(db: &Db, topic: &Topic, content: &str) -> i64 {
    let task_id = Uuid::now_v7().to_string();
    let message = Message {
        message_id: Uuid::now_v7().to_string(),
        task_id: task_id.clone(),
        says: Says::User,
        content: content.to_owned(),
        artifacts: "[]".to_owned(),
        outcome: None,
        feedback: None,
        created_at_ms: 6,
    };
    let new = NewTask {
        task_id: &task_id,
        topic: topic.id,
        content,
        asked_by: "local",
        datasources: None,
        provider: "offline",
        model: "offline",
        model_id: None,
    };
    let mut tx = db.begin().await.unwrap();
    assert!(topics::store::add_message(&mut tx, topic.id, &message, 0).await.unwrap());
    store::insert(&mut tx, &new, 6).await.unwrap();
    tx.commit().await.unwrap();
    store::find(db, &task_id).await.unwrap().expect("it was just stored").id
}
