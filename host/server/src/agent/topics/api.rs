//! Handlers of topics and messages.

use lakeport_base::error::{Detail, Error};
use lakeport_http::form::{Amend, Draft, Patch};
use lakeport_http::{Bare, Caller, Json, Nothing};
use lakeport_store::Tx;
use uuid::Uuid;

use super::view::{DeletedTopic, FeedbackView, List, TopicView, WrittenMessage};
use super::{Feedback, Says, Topic, check_answers, check_owner, may_read, readable, store, unknown};
use crate::agent::forms::{
    CreateTopic, DATASOURCES_MAX, ListQuery, MessagePath, RateAnswer, TopicPath, UpdateTopic,
};
use crate::agent::models;
use crate::agent::tasks;
use crate::agent::{self, Agent, Call};
use crate::audit::{Change, Commit};
use crate::datasources;

/// The most topics of an owner.
const TOPICS_MAX: i64 = 10_000;

/// `GET /api/v1/nl2sql/topics`
pub async fn list(call: Call<Nothing, ListQuery>) -> Result<Bare<List<TopicView>>, Error> {
    let paging = call.query.paging();
    let (total, topics) = store::page(&call.state.db, &call.caller.key(), &paging).await?;
    Ok(Bare::new(&List::new(&paging, total, topics.iter().map(Topic::view).collect())))
}

/// `POST /api/v1/nl2sql/topics`
pub async fn create(call: Call<Nothing, Nothing, Draft<CreateTopic>>) -> Result<Bare<TopicView>, Error> {
    let (state, body) = (&call.state, call.body.read());
    let name = body.model.as_ref().map(|name| name.0.as_str());
    let model = checked_model(&call, body.datasources.as_deref(), name).await?;
    let now_ms = state.clock.now_ms();
    let mut topic = Topic {
        id: 0,
        topic_id: Uuid::now_v7().to_string(),
        owner: call.caller.key(),
        title: body.title.0.clone(),
        datasources: body.datasources.clone(),
        model,
        message_count: 0,
        bytes: 0,
        last_task: None,
        created_at_ms: now_ms,
        updated_at_ms: now_ms,
    };
    let mut tx = state.db.begin().await?;
    if store::count_of(&mut tx, &topic.owner).await? >= TOPICS_MAX {
        let message = format!("you have {TOPICS_MAX} topics, the most there can be; delete some first");
        return Err(Error::conflict("too_many_topics", message));
    }
    topic.id = store::insert(&mut tx, &topic).await?;
    changed(&mut tx, &topic);
    let change = Change::of("topic", &topic.topic_id).after(&topic.definition());
    call.commit(tx, change, shown(&topic)).await
}

/// For those who follow the owner's topics.
fn changed(tx: &mut Tx, topic: &Topic) {
    tx.changed(agent::TOPICS_TOPIC, agent::topic_key(&topic.topic_id, &topic.owner));
}

fn shown(topic: &Topic) -> Bare<TopicView> {
    Bare::new(&topic.view()).with_etag(&topic.etag())
}

/// The model of this name, in a form with which nothing is wrong; or all that is, together.
async fn checked_model<P, F>(
    call: &Call<P, Nothing, Draft<F>>,
    datasources: Option<&[String]>,
    name: Option<&str>,
) -> Result<Option<(i64, String)>, Error> {
    let (state, body) = (&call.state, &call.body);
    let mut wrong = body.found(check_datasources(state, &call.caller, datasources).await)?;
    let mut model = None;
    if let Some(name) = name {
        match models::api::named(state, name).await {
            Ok(found) => model = Some((found.id, found.name)),
            Err(error) => wrong.extend(body.found(Err(error))?),
        }
    }
    body.refuse(wrong)?;
    Ok(model)
}

/// 403 where the caller is bound to others, 400 where there is none of that name.
async fn check_datasources(state: &Agent, caller: &Caller, names: Option<&[String]>) -> Result<(), Error> {
    let Some(names) = names else { return Ok(()) };
    if names.len() > DATASOURCES_MAX {
        let message = format!("names {} data sources; {DATASOURCES_MAX} at most", names.len());
        return Err(Error::invalid(vec![Detail::new("datasources", message)]));
    }
    names.iter().try_for_each(|name| caller.check_datasource(name))?;
    let known = datasources::names(&state.db).await?;
    let wrong: Vec<Detail> = names
        .iter()
        .enumerate()
        .filter(|(_, name)| !known.contains(name))
        .map(|(place, name)| Detail::new(format!("datasources[{place}]"), datasources::no_such(name)))
        .collect();
    if wrong.is_empty() { Ok(()) } else { Err(Error::invalid(wrong)) }
}

/// `GET /api/v1/nl2sql/topics/{topic_id}`
pub async fn get(call: Call<TopicPath>) -> Result<Bare<TopicView>, Error> {
    Ok(shown(&readable(&call.state.db, &call.caller, call.path.topic_id).await?))
}

/// `PUT /api/v1/nl2sql/topics/{topic_id}`
pub async fn update(call: Call<TopicPath, Nothing, Draft<UpdateTopic>>) -> Result<Bare<TopicView>, Error> {
    let (state, body) = (&call.state, call.body.read());
    readable(&state.db, &call.caller, call.path.topic_id).await?;
    let names = match &body.datasources {
        Patch::Set(names) => Some(names.as_slice()),
        Patch::Keep | Patch::Clear => None,
    };
    let name = match &body.model {
        Patch::Set(name) => Some(name.0.as_str()),
        Patch::Keep | Patch::Clear => None,
    };
    let model = checked_model(&call, names, name).await?;
    let mut tx = state.db.begin().await?;
    let before = locked(&mut tx, &call.caller, call.path.topic_id).await?;
    call.check_if_match(&before.etag())?;
    refuse_busy(&mut tx, &before).await?;
    let mut after = before.clone();
    if let Amend(Some(title)) = &body.title {
        after.title = title.0.clone();
    }
    after.datasources = body.datasources.clone().over(after.datasources);
    match body.model {
        Patch::Keep => {}
        Patch::Clear | Patch::Set(_) => after.model = model,
    }
    if after != before {
        after.updated_at_ms = state.clock.now_ms();
        store::update(&mut tx, &after).await?;
        changed(&mut tx, &after);
    }
    let change =
        Change::of("topic", &before.topic_id).before(&before.definition()).after(&after.definition());
    call.commit(tx, change, shown(&after)).await
}

/// `DELETE /api/v1/nl2sql/topics/{topic_id}`
pub async fn delete(call: Call<TopicPath>) -> Result<Bare<DeletedTopic>, Error> {
    let mut tx = call.state.db.begin().await?;
    let topic = locked(&mut tx, &call.caller, call.path.topic_id).await?;
    call.check_if_match(&topic.etag())?;
    // A waiting task is deleted with its topic.
    for (task_id, is_running) in tasks::store::lock_all_open(&mut tx, topic.id).await? {
        if is_running {
            return Err(busy(&task_id));
        }
        tx.changed(agent::TOPIC, agent::asked_key(&task_id));
    }
    store::delete(&mut tx, topic.id).await?;
    changed(&mut tx, &topic);
    let change = Change::of("topic", &topic.topic_id).before(&topic.definition());
    let answer = Bare::new(&DeletedTopic { topic_id: topic.topic_id, deleted: true });
    call.commit(tx, change, answer).await
}

/// The caller's own topic, locked until the transaction ends.
pub async fn locked(tx: &mut Tx, caller: &Caller, topic_id: Uuid) -> Result<Topic, Error> {
    let topic = store::lock(tx, &topic_id.to_string()).await?;
    let topic = topic.filter(|topic| may_read(caller, &topic.owner)).ok_or_else(|| unknown(topic_id))?;
    check_owner(caller, &topic.owner)?;
    Ok(topic)
}

/// 409 while a task of the topic is running or waiting.
async fn refuse_busy(tx: &mut Tx, topic: &Topic) -> Result<(), Error> {
    let Some(task_id) = tasks::store::lock_open(tx, topic.id).await? else { return Ok(()) };
    Err(busy(&task_id))
}

fn busy(task_id: &str) -> Error {
    let message = format!("the topic's task {task_id} is not done; wait for its end, or cancel it");
    Error::conflict("task_running", message)
}

/// `POST /api/v1/nl2sql/messages/{message_id}/feedback`
pub async fn rate(call: Call<MessagePath, Nothing, Json<RateAnswer>>) -> Result<Bare<FeedbackView>, Error> {
    let (state, body) = (&call.state, &*call.body);
    let message_id = call.path.message_id;
    let mut tx = state.db.begin().await?;
    let found = store::author(&mut tx, &message_id.to_string()).await?;
    let (id, says, owner) = found
        .filter(|(_, _, owner)| may_read(&call.caller, owner))
        .ok_or_else(|| Error::not_found("message", message_id))?;
    check_owner(&call.caller, &owner)?;
    if says != Says::Assistant {
        let message = "the message is a question; answers are rated";
        return Err(Error::conflict("not_an_answer", message));
    }
    let comment = body.comment.as_ref().map(|comment| comment.0.clone());
    let feedback = Feedback { rating: body.rating, comment, at_ms: state.clock.now_ms() };
    store::set_feedback(&mut tx, id, &feedback).await?;
    let change = Change::of("message", message_id).after(&feedback);
    call.commit(tx, change, Bare::new(&FeedbackView::from(feedback))).await
}

/// `GET /api/v1/nl2sql/topics/{topic_id}/messages`
pub async fn messages(call: Call<TopicPath, ListQuery>) -> Result<Bare<List<WrittenMessage>>, Error> {
    let state = &call.state;
    let paging = call.query.paging();
    let db = state.db.snapshot().await?;
    let topic = readable(&db, &call.caller, call.path.topic_id).await?;
    check_answers(&db, &call.caller, &topic).await?;
    let listed = store::listed(&db, &topic, &paging).await?;
    let messages = match state.messages.page(&listed) {
        Some(messages) => messages,
        None => {
            let messages = store::messages(&db, &topic, &paging).await?;
            state.messages.write(&topic.topic_id, listed, messages)?
        }
    };
    drop(db);
    Ok(Bare::new(&List::new(&paging, topic.message_count, messages)))
}
