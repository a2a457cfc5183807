//! The messages of a session as Yao's user interface knows them.

use persistence::{MessageRange, Store, StoreError, Transcript};
use records::{ChatId, Message, Scope};
use resume::Options;
use resume::dialect::{Dialect as _, Yao};
use serde_json::Value;

use crate::adapters::given_time;
use crate::wire::Time;

/// How many messages are read at a time.
pub(super) const READ_AT_ONCE: usize = 500;
/// The most messages that one request examines.
pub(super) const MAX_EXAMINED: usize = 50_000;

/// Which typed messages are wanted.
#[derive(Debug)]
pub(super) struct TypedFilter {
    /// The fields that must have these values.
    pub(super) fields: Vec<(&'static str, String)>,
    /// The most messages.
    pub(super) limit: usize,
    pub(super) part: Part,
}

/// Which of the messages that a filter admits.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part {
    /// The oldest, after so many.
    After(usize),
    /// The newest of those with a smaller sequence than this one, if it is given.
    Newest(Option<u64>),
}

/// Typed messages, oldest first.
#[derive(Debug, Default)]
pub(super) struct Typed {
    pub(super) messages: Vec<Value>,
    /// Whether there may be more that are wanted.
    pub(super) is_truncated: bool,
    bytes: usize,
    left_out: usize,
}

/// Reads the typed messages of a chat that a filter wants.
pub(super) async fn read(
    store: &dyn Store,
    scope: &Scope,
    chat_id: &ChatId,
    filter: &TypedFilter,
) -> Result<Typed, StoreError> {
    let mut typed = Typed::default();
    let (mut examined, mut at) = (
        0,
        match filter.part {
            Part::After(_) => None,
            Part::Newest(before) => before,
        },
    );
    loop {
        let (limit, is_backwards) = (READ_AT_ONCE, matches!(filter.part, Part::Newest(_)));
        let range = if is_backwards {
            MessageRange::Newest { before: at, limit }
        } else {
            MessageRange::Oldest { after: at, before: None, limit }
        };
        let Transcript { mut messages, has_more, .. } =
            store.messages(scope, chat_id, range).await?;
        if is_backwards {
            messages.reverse();
        }
        examined += messages.len();
        at = messages.last().map(|message| message.sequence);
        for message in messages {
            let mut rendered = typed_messages(chat_id, message);
            if is_backwards {
                rendered.reverse();
            }
            typed.add(rendered, filter);
        }
        typed.is_truncated |=
            has_more && examined >= MAX_EXAMINED && typed.messages.len() < filter.limit;
        if !has_more || typed.is_truncated || typed.messages.len() >= filter.limit {
            if is_backwards {
                typed.messages.reverse();
            }
            return Ok(typed);
        }
    }
}

impl Typed {
    /// Adds what the filter wants of the typed messages of a stored one, while there is room.
    ///
    /// They have one number. So a page that ends with a number has all of them, also if they are more than the limit: the next one
    /// begins with another number.
    fn add(&mut self, rendered: Vec<Value>, filter: &TypedFilter) {
        let is_wanted = |message: &Value| {
            filter.fields.iter().all(|(field, wanted)| message[*field] == **wanted)
        };
        let mut wanted: Vec<Value> = rendered.into_iter().filter(is_wanted).collect();
        if self.is_truncated || self.messages.len() >= filter.limit {
            return;
        }
        if let Part::After(offset) = filter.part {
            let skipped = wanted.len().min(offset - self.left_out);
            self.left_out += skipped;
            wanted.drain(..skipped);
            wanted.truncate(filter.limit - self.messages.len());
        }
        let bytes: usize = wanted.iter().map(|message| message.to_string().len()).sum();
        if self.bytes + bytes > Transcript::PAGE_BYTES && !self.messages.is_empty() {
            self.is_truncated = true;
            return;
        }
        self.bytes += bytes;
        self.messages.append(&mut wanted);
    }
}

/// Returns the typed messages of a stored one. A deleted message has none.
pub(super) fn typed_messages(chat_id: &ChatId, message: Message) -> Vec<Value> {
    let number = message.sequence + 1;
    let created_at = Time::from(message.created_at).to_string();
    let updated_at = message.edited_at.map(|at| Time::from(at).to_string());
    let mut rendered = Yao.render(vec![message], &Options::default()).messages;
    for typed in &mut rendered {
        typed["id"] = number.into();
        typed["chat_id"] = chat_id.as_str().into();
        typed["sequence"] = number.into();
        let given = typed.get("created_at").and_then(Value::as_str);
        if given.and_then(given_time::read).is_none() {
            typed["created_at"] = created_at.as_str().into();
        }
        typed["updated_at"] = updated_at.as_deref().unwrap_or(&created_at).into();
    }
    rendered
}
