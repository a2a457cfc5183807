use serde::Serialize;
use serde_json::{Map, Value};

use crate::{DropReason, Dropped, UnsettledPolicy};

mod candidate;
pub use candidate::Candidate;

/// How a conversation is rendered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The name of the user for messages of the role `user` without a name.
    pub default_user_name: String,
    /// What happens to calls without results; they are removed if nothing is chosen, unless they came in the dialect as
    /// waiting.
    pub unsettled: Option<UnsettledPolicy>,
    /// The agent as which a dialect for models renders: its own turns are the assistant's, those of all others the user's.
    pub viewpoint: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { default_user_name: "user".to_owned(), unsettled: None, viewpoint: None }
    }
}

/// A message with exactly a role, a name and a content.
///
/// AG2 resumes a group chat from a list of such messages.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StrictMessage {
    /// The role of the speaker.
    pub role: StrictRole,
    /// The name of the speaker, as stored; never empty.
    pub name: String,
    /// The content as stored; never null.
    pub content: Value,
}

/// The role of a strict message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StrictRole {
    /// A person, or a program that acts for one.
    User,
    /// An agent.
    Assistant,
}

impl StrictRole {
    /// Returns the role as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

impl From<StrictMessage> for Value {
    fn from(message: StrictMessage) -> Self {
        let mut object = Map::with_capacity(3);
        object.insert("role".to_owned(), message.role.as_str().into());
        object.insert("name".to_owned(), message.name.into());
        object.insert("content".to_owned(), message.content);
        Self::Object(object)
    }
}

/// Converts messages into strict messages, in order, and reports every message that was dropped.
///
/// Accepts JSON values or [`records::Message`]s. The content of owned messages is moved, not copied;
/// borrowed messages are copied only if they are kept. Every message appears exactly once, in one of
/// the two lists. The rules apply in this order:
///
/// 1. A value that is not an object is dropped, and so is a message with a `deleted_at`.
/// 2. The speaker is `name`, or else `agent_name`; a name that is empty or not a string is ignored.
///    Names are not trimmed or changed otherwise.
/// 3. The role must be `user` or `assistant`. A message without a role, or with one that is null or
///    empty, has the role `user` if its speaker is the [default user](Options::default_user_name).
/// 4. A user without a name gets the default user name; an assistant without one is dropped.
/// 5. The content may be anything but null: the empty string, `0` and `false` are valid.
///
/// Normalising the result again changes nothing.
pub fn normalize<'a, M: Into<Candidate<'a>>>(
    messages: impl IntoIterator<Item = M>,
    options: &Options,
) -> (Vec<StrictMessage>, Vec<Dropped>) {
    let messages = messages.into_iter();
    let mut kept = Vec::with_capacity(messages.size_hint().0);
    let mut dropped = Vec::new();
    for (index, message) in messages.enumerate() {
        let candidate = message.into();
        let sequence = candidate.sequence();
        match to_strict(candidate, options) {
            Ok(message) => kept.push(message),
            Err(reason) => dropped.push(Dropped { index, sequence, reason }),
        }
    }
    (kept, dropped)
}

/// Converts one message into a strict message, or returns the reason to drop it.
pub(crate) fn to_strict(
    candidate: Candidate<'_>,
    options: &Options,
) -> Result<StrictMessage, DropReason> {
    let fields = candidate.fields.ok_or(DropReason::NotAnObject)?;
    if fields.deleted {
        return Err(DropReason::Deleted);
    }
    let default_name = options.default_user_name.as_str();
    let name = fields.name.or(fields.agent_name);
    let role = match fields.role.as_deref() {
        Some("user") => StrictRole::User,
        Some("assistant") => StrictRole::Assistant,
        Some(other) => return Err(DropReason::unsupported_role(other)),
        None if name.as_deref() == Some(default_name) => StrictRole::User,
        None => return Err(DropReason::MissingRole),
    };
    let name = match (name, role) {
        (Some(name), _) => name.into_owned(),
        (None, StrictRole::User) if !default_name.is_empty() => default_name.to_owned(),
        (None, _) => return Err(DropReason::MissingName),
    };
    let content = fields.content.ok_or(DropReason::NullContent)?.into_owned();
    Ok(StrictMessage { role, name, content })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn normalized(message: &Value) -> Result<Value, &'static str> {
        to_strict(message.into(), &Options::default())
            .map(Value::from)
            .map_err(|reason| reason.slug())
    }

    #[test]
    fn agent_name_is_the_speaker_if_name_is_missing() {
        let expected = Ok(json!({"role": "assistant", "name": "planner", "content": "x"}));
        for name in [json!(null), json!(""), json!(5), json!(["a"])] {
            let message = json!({
                "role": "assistant", "name": name, "agent_name": "planner", "content": "x",
            });
            assert_eq!(normalized(&message), expected);
        }
        let both = json!({"role": "user", "name": "a", "agent_name": "b", "content": "x"});
        assert_eq!(normalized(&both).unwrap()["name"], "a");
    }

    #[test]
    fn names_are_not_trimmed() {
        let message = json!({"role": "assistant", "name": " ", "content": ""});
        assert_eq!(normalized(&message), Ok(message));
    }

    #[test]
    fn a_missing_role_becomes_user_only_for_the_default_user_name() {
        for role in [json!(null), json!("")] {
            let message = json!({"role": role, "name": "user", "content": "x"});
            assert_eq!(normalized(&message).unwrap()["role"], "user");
        }
        assert_eq!(normalized(&json!({"name": "bob", "content": "x"})), Err("missing_role"));
        assert_eq!(normalized(&json!({"content": "x"})), Err("missing_role"));
        let number = json!({"role": 5, "name": "user", "content": "x"});
        assert_eq!(normalized(&number), Err("unsupported_role"));
    }

    #[test]
    fn every_content_but_null_stays_unchanged() {
        for content in [json!(""), json!(0), json!(false), json!([]), json!({}), json!([null])] {
            let message = json!({"role": "assistant", "name": "a", "content": content});
            assert_eq!(normalized(&message), Ok(message));
        }
        let null = json!({"role": "assistant", "name": "a", "content": null});
        assert_eq!(normalized(&null), Err("null_content"));
        assert_eq!(normalized(&json!({"role": "user"})), Err("null_content"));
    }

    #[test]
    fn an_empty_default_name_is_not_used() {
        let options = Options { default_user_name: String::new(), ..Options::default() };
        let message = json!({"role": "user", "content": "x"});
        assert_eq!(to_strict((&message).into(), &options), Err(DropReason::MissingName));
    }
}
