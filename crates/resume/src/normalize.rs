use serde::Serialize;
use serde_json::{Map, Value};

use crate::{DropReason, Dropped, Unsettled};

mod candidate;
pub use candidate::Candidate;

/// How a conversation is brought into a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The name of a user whose messages carry none.
    pub default_user_name: String,
    /// What becomes of calls that are not answered.
    pub unsettled: Unsettled,
}

impl Default for Options {
    fn default() -> Self {
        Self { default_user_name: "user".to_owned(), unsettled: Unsettled::default() }
    }
}

/// A message in the strict form: exactly a role, a speaker and a content.
///
/// AG2 resumes a group chat from a list of these.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StrictMessage {
    /// Which side spoke.
    pub role: StrictRole,
    /// The speaker, as the log names it; never empty.
    pub name: String,
    /// What was said, uncut, in the type it has in the log; never null.
    pub content: Value,
}

/// The roles of the strict form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StrictRole {
    /// The person, or the program that stands for one.
    User,
    /// An agent.
    Assistant,
}

impl StrictRole {
    /// Returns the role as it is written.
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

/// Brings messages into the strict form, in order, and reports every one that has no place in it.
///
/// Takes JSON values or [`records::Message`]s. Owned messages are taken apart, so that no content is
/// copied; of borrowed ones only what is kept is copied. Every message appears exactly once, in
/// one of the two lists. The rules, in the order in which they are asked:
///
/// 1. What is not an object is dropped, and so is a message with a `deleted_at`.
/// 2. `name` is the speaker, else `agent_name`; a name that is empty or not a string does not
///    count. Names are not trimmed or changed in any other way.
/// 3. The role must be `user` or `assistant`. Where it is absent, null or empty, a message in the
///    [default user's name](Options::default_user_name) has the role `user`.
/// 4. A user without a name gets the default name; an assistant must have one.
/// 5. The content may be anything but null: the empty string, `0` and `false` are contents.
///
/// Normalising the outcome again changes nothing.
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
        match judge(candidate, options) {
            Ok(message) => kept.push(message),
            Err(reason) => dropped.push(Dropped { index, sequence, reason }),
        }
    }
    (kept, dropped)
}

/// Brings one message into the strict form, or says why it has no place in it.
pub(crate) fn judge(
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

    fn verdict(message: &Value) -> Result<Value, &'static str> {
        judge(message.into(), &Options::default()).map(Value::from).map_err(|reason| reason.slug())
    }

    #[test]
    fn agent_name_speaks_where_name_does_not() {
        let expected = Ok(json!({"role": "assistant", "name": "planner", "content": "x"}));
        for name in [json!(null), json!(""), json!(5), json!(["a"])] {
            let message = json!({
                "role": "assistant", "name": name, "agent_name": "planner", "content": "x",
            });
            assert_eq!(verdict(&message), expected);
        }
        let both = json!({"role": "user", "name": "a", "agent_name": "b", "content": "x"});
        assert_eq!(verdict(&both).unwrap()["name"], "a");
    }

    #[test]
    fn names_are_not_trimmed() {
        let message = json!({"role": "assistant", "name": " ", "content": ""});
        assert_eq!(verdict(&message), Ok(message));
    }

    #[test]
    fn a_missing_role_is_that_of_the_user_only_in_the_users_name() {
        for role in [json!(null), json!("")] {
            let message = json!({"role": role, "name": "user", "content": "x"});
            assert_eq!(verdict(&message).unwrap()["role"], "user");
        }
        assert_eq!(verdict(&json!({"name": "bob", "content": "x"})), Err("missing_role"));
        assert_eq!(verdict(&json!({"content": "x"})), Err("missing_role"));
        let number = json!({"role": 5, "name": "user", "content": "x"});
        assert_eq!(verdict(&number), Err("unsupported_role"));
    }

    #[test]
    fn every_content_but_null_passes_unchanged() {
        for content in [json!(""), json!(0), json!(false), json!([]), json!({}), json!([null])] {
            let message = json!({"role": "assistant", "name": "a", "content": content});
            assert_eq!(verdict(&message), Ok(message));
        }
        let null = json!({"role": "assistant", "name": "a", "content": null});
        assert_eq!(verdict(&null), Err("null_content"));
        assert_eq!(verdict(&json!({"role": "user"})), Err("null_content"));
    }

    #[test]
    fn an_empty_default_name_names_nobody() {
        let options = Options { default_user_name: String::new(), ..Options::default() };
        let message = json!({"role": "user", "content": "x"});
        assert_eq!(judge((&message).into(), &options), Err(DropReason::MissingName));
    }
}
