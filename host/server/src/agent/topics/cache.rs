//! Messages as JSON, cached because they are read again and again. What was said never changes; only its rating does. Those of
//! deleted topics stay until others push them out, but are not found any more.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use lakeport_base::Error;
use lakeport_http::WrittenJson;
use parking_lot::Mutex;

use super::Message;
use super::view::{MessageView, WrittenMessage};

/// All cached messages; the oldest go first.
const CACHED_MAX_BYTES: usize = 16 * 1024 * 1024;
/// A longer message is not cached.
const MESSAGE_MAX_BYTES: usize = 1024 * 1024;
/// About what an entry takes beside its texts.
const ENTRY_BYTES: usize = 200;

/// A message of a page: its id, and its rating as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub message_id: String,
    pub feedback: Option<String>,
}

#[derive(Default)]
pub struct MessageCache(Mutex<Messages>);

#[derive(Default)]
struct Messages {
    by_id: HashMap<String, Entry>,
    /// Their ids, in the order in which they came.
    ids: VecDeque<String>,
    bytes: usize,
}

/// A message as JSON, with the rating that it had then.
struct Entry {
    feedback: Option<String>,
    text: Arc<str>,
}

impl MessageCache {
    /// The messages of a page; `None` if one of them is not cached as it is now.
    pub fn page(&self, listed: &[Listed]) -> Option<Vec<WrittenMessage>> {
        let messages = self.0.lock();
        let one = |listed: &Listed| {
            let entry = messages.by_id.get(&listed.message_id)?;
            let is_current = entry.feedback == listed.feedback;
            is_current.then(|| WrittenMessage(WrittenJson(Arc::clone(&entry.text))))
        };
        listed.iter().map(one).collect()
    }

    /// Writes the messages of a page, and caches them.
    pub fn write(
        &self,
        topic_id: &str,
        listed: Vec<Listed>,
        messages: Vec<Message>,
    ) -> Result<Vec<WrittenMessage>, Error> {
        let one = |(listed, message)| {
            let text =
                serde_json::to_string(&MessageView::new(topic_id, message)).map_err(Error::internal)?;
            let text: Arc<str> = text.into();
            self.0.lock().put(listed, &text);
            Ok(WrittenMessage(WrittenJson(text)))
        };
        listed.into_iter().zip(messages).map(one).collect()
    }
}

impl Messages {
    fn put(&mut self, listed: Listed, text: &Arc<str>) {
        if text.len() > MESSAGE_MAX_BYTES {
            return;
        }
        let Listed { message_id, feedback } = listed;
        let entry = Entry { feedback, text: Arc::clone(text) };
        self.bytes += entry.bytes(&message_id);
        match self.by_id.insert(message_id.clone(), entry) {
            Some(before) => self.bytes -= before.bytes(&message_id),
            None => self.ids.push_back(message_id),
        }
        while self.bytes > CACHED_MAX_BYTES
            && let Some(oldest) = self.ids.pop_front()
        {
            self.bytes -= self.by_id.remove(&oldest).map_or(0, |entry| entry.bytes(&oldest));
        }
    }
}

impl Entry {
    fn bytes(&self, id: &str) -> usize {
        ENTRY_BYTES + 2 * id.len() + self.text.len() + self.feedback.as_ref().map_or(0, String::len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::topics::Says;

    fn listed(ids: &[&str], feedback: Option<&str>) -> Vec<Listed> {
        let one = |id: &&str| Listed { message_id: (*id).to_owned(), feedback: feedback.map(str::to_owned) };
        ids.iter().map(one).collect()
    }

    #[test]
    fn the_oldest_messages_go_first() {
        let cache = MessageCache::default();
        let text: Arc<str> = "x".repeat(MESSAGE_MAX_BYTES).into();
        let ids: Vec<String> = (0..20).map(|id| id.to_string()).collect();
        for id in &ids {
            listed(&[id], None).into_iter().for_each(|one| cache.0.lock().put(one, &text));
        }
        let has = |id: &str| cache.page(&listed(&[id], None)).is_some();
        assert!(has("19") && has("5") && !has("4") && !has("0"));
        assert!(cache.page(&listed(&["19", "0"], None)).is_none());
        assert!(cache.0.lock().bytes <= CACHED_MAX_BYTES);
        let long: Arc<str> = "x".repeat(MESSAGE_MAX_BYTES + 1).into();
        listed(&["long"], None).into_iter().for_each(|one| cache.0.lock().put(one, &long));
        assert!(!has("long") && has("19"));
    }

    #[test]
    fn a_new_rating_is_written_again() {
        let cache = MessageCache::default();
        let message = |content: &str| Message {
            message_id: "m".to_owned(),
            task_id: "t".to_owned(),
            says: Says::Assistant,
            content: content.to_owned(),
            artifacts: "[]".to_owned(),
            outcome: None,
            feedback: None,
            created_at_ms: 0,
        };
        let write = |feedback: Option<&str>, content: &str| {
            let written = cache.write("topic", listed(&["m"], feedback), vec![message(content)]).unwrap();
            written[0].0.0.to_string()
        };
        let first = write(None, "one");
        assert!(first.contains("\"content\":\"one\"") && first.contains("\"topic_id\":\"topic\""), "{first}");
        assert_eq!(cache.page(&listed(&["m"], None)).unwrap()[0].0.0.as_ref(), first);
        assert!(cache.page(&listed(&["m"], Some("{}"))).is_none());
        write(Some("{}"), "two");
        assert!(cache.page(&listed(&["m"], None)).is_none());
        let rated = cache.page(&listed(&["m"], Some("{}"))).unwrap();
        assert!(rated[0].0.0.contains("two"));
        let entry = cache.0.lock().bytes;
        write(Some("{}"), "two");
        assert_eq!(cache.0.lock().bytes, entry);
    }
}
