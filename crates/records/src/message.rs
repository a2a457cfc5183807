use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::ids::{NAME_RULE, is_name, is_stored_name};
use crate::json::{self, Digest, Hasher, JsonObject, Limits};
use crate::{DisplayName, EventId, Invalid, Segment, SizeLimit, UserId};

/// A stored message of a chat.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// The position of the message in the chat: from 0, without gaps, never reused.
    pub sequence: u64,
    /// The id of the message, unique within the chat.
    pub event_id: EventId,
    /// The role, the speaker and the content.
    pub body: MessageBody,
    /// The person who appended the message; edits and deletion keep it.
    pub author: Option<Author>,
    /// When the message was stored.
    pub created_at: DateTime<Utc>,
    /// When the body was last edited, if it was edited.
    pub edited_at: Option<DateTime<Utc>>,
    /// The person who last edited the body; `None` if a service did, or an earlier release, which kept no editor.
    pub edited_by: Option<UserId>,
    /// When the message was deleted, if it was; then the body has only the role and the name.
    pub deleted_at: Option<DateTime<Utc>>,
    /// The person who deleted the message; `None` as for `edited_by`.
    pub deleted_by: Option<UserId>,
    /// The message is deleted, but its text is still stored, because another chat shares and shows it.
    pub is_text_kept: bool,
}

impl Message {
    /// Returns whether a person wrote, edited or deleted the message.
    pub fn names(&self, user_id: &UserId) -> bool {
        let author = self.author.as_ref().map(|author| &author.user_id);
        let others = [self.edited_by.as_ref(), self.deleted_by.as_ref()];
        others.into_iter().chain([author]).flatten().any(|it| it == user_id)
    }
}

/// The person who wrote a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Author {
    /// The id of the person.
    pub user_id: UserId,
    /// The display name of the person at that time, as stated with the message.
    pub display_name: Option<DisplayName>,
}

/// The role, the speaker and the content of a message.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MessageBody {
    /// The role as given: `user`, `assistant`, `system`, `tool`, or any other role of the source.
    pub role: String,
    /// The name of the speaker.
    pub name: Option<String>,
    /// The content: text, any other JSON, or null.
    pub content: Value,
    /// The time that the caller gave, stored as text without change.
    pub timestamp: Option<String>,
    /// Any data of the caller about the message.
    pub metadata: Option<JsonObject>,
    /// Further fields that dialects need; their names are in [`MessageBody::EXTRA`].
    pub extra: JsonObject,
}

impl MessageBody {
    /// The names of the fields that [`MessageBody::extra`] may have.
    pub const EXTRA: [&'static str; 23] = [
        "assistant_id",
        "block_id",
        Self::CONNECTOR,
        "content_blocks",
        "event_type",
        "function_call",
        "is_user_proxy",
        "message_id",
        Self::MODE,
        Self::PRODUCED_BY,
        Self::PROPS,
        Self::PROVIDER,
        "reasoning_content",
        "refusal",
        Self::REQUEST_ID,
        "structured_output",
        "structured_schema",
        "thread_id",
        "tool_call_id",
        "tool_calls",
        "tool_error",
        "tool_responses",
        Self::TYPE,
    ];

    /// The fields of [`MessageBody::extra`] that no dialect reads.
    ///
    /// A transcript may have fields with these names. They are stored like other fields of its dialect.
    pub const NATIVE: [&'static str; 8] = [
        "assistant_id",
        Self::CONNECTOR,
        "content_blocks",
        "message_id",
        Self::MODE,
        Self::PROPS,
        "tool_error",
        Self::TYPE,
    ];

    /// The field with the connector to a model; the chat keeps the last one.
    pub const CONNECTOR: &'static str = "connector";

    /// The field with the mode in which a message was written; the chat keeps the last one.
    pub const MODE: &'static str = "mode";

    /// The field with the id of the provider call that produced the message, or null.
    pub const PRODUCED_BY: &'static str = "produced_by_call_id";

    /// The field with the properties of a message for a user interface.
    pub const PROPS: &'static str = "props";

    /// The field with what a message came with besides the fields of a stored message: an object by the names of dialects.
    pub const PROVIDER: &'static str = "provider";

    /// The field with the id of the turn to which the message belongs.
    pub const REQUEST_ID: &'static str = "request_id";

    /// The field with the type of a message, such as `text` or `image`.
    pub const TYPE: &'static str = "type";

    /// The fields of [`MessageBody::extra`] that hold an id or null.
    pub const ID_FIELDS: [&'static str; 6] = [
        "assistant_id",
        "block_id",
        "message_id",
        Self::PRODUCED_BY,
        Self::REQUEST_ID,
        "thread_id",
    ];

    /// The fields of [`MessageBody::extra`] that hold a name or null.
    const NAME_FIELDS: [&'static str; 3] = [Self::CONNECTOR, Self::MODE, Self::TYPE];

    /// Returns the fields of [`MessageBody::extra`] that may hold any JSON and come from the caller.
    pub fn free_extra() -> impl Iterator<Item = &'static str> {
        let has_form = |name: &&str| {
            *name == Self::PROVIDER
                || Self::ID_FIELDS.contains(name)
                || Self::NAME_FIELDS.contains(name)
        };
        Self::EXTRA.into_iter().filter(move |name| !has_form(name))
    }

    /// Returns the text of a field of [`MessageBody::extra`]; `None` if it has none.
    pub fn extra_text(&self, field: &str) -> Option<&str> {
        self.extra.get(field)?.as_str()
    }

    /// Returns whether the message does more than say something: it makes a call, has the result of one or allows one, or has
    /// fields of a format in which they say what the program is to do.
    pub fn acts(&self) -> bool {
        acts(&self.extra) || Self::content_acts(&self.content)
    }

    /// Returns whether a content has a part that is no speech: a call, the result of one, or one that allows a call or refuses it.
    ///
    /// Some formats give a model the parts of a content as they are stored.
    pub fn content_acts(content: &Value) -> bool {
        const FIELDS: [&str; 10] = [
            "codeExecutionResult",
            "code_execution_result",
            "executableCode",
            "executable_code",
            "functionCall",
            "functionResponse",
            "function_call",
            "function_response",
            "toolResult",
            "toolUse",
        ];
        let mut parts = content.as_array().into_iter().flatten();
        parts.any(|part| {
            part["type"].as_str().is_some_and(kind_acts)
                || FIELDS.iter().any(|field| part.get(*field).is_some())
        })
    }

    /// Returns the turn of which the message is part of the answer; `None` for what a user says.
    pub fn answered_turn(&self) -> Option<&str> {
        self.extra_text(Self::REQUEST_ID).filter(|_| self.role != "user")
    }

    /// Returns who speaks: the name, or the role if there is no name.
    pub fn speaker(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.role)
    }

    /// Creates a body with a role, a speaker and a content.
    pub fn new(role: &str, name: Option<&str>, content: impl Into<Value>) -> Self {
        Self {
            role: role.to_owned(),
            name: name.map(str::to_owned),
            content: content.into(),
            ..Self::default()
        }
    }

    /// Checks every field of a new message, and returns the size of the body encoded as BSON, in bytes.
    pub fn check(&self) -> Result<usize, Invalid> {
        self.check_names(is_name)?;
        self.check_stored()
    }

    /// Checks every field of a message that an earlier release may have stored, with the names that it
    /// accepted, and returns the size of the body encoded as BSON, in bytes.
    pub fn check_stored(&self) -> Result<usize, Invalid> {
        self.check_names(is_stored_name)?;
        if self.timestamp.as_deref().is_some_and(|t| t.chars().count() > Limits::TIMESTAMP_CHARS) {
            let limit = format!("must be at most {} characters", Limits::TIMESTAMP_CHARS);
            return Err(Invalid::value("/timestamp", limit));
        }
        let bytes = self.measure()?;
        if bytes > Limits::MESSAGE_BYTES {
            let detail = format!(
                "the message is {bytes} bytes; the limit is {} bytes",
                Limits::MESSAGE_BYTES
            );
            return Err(Invalid::too_large(SizeLimit::Message, "/content", detail));
        }
        Ok(bytes)
    }

    fn check_names(&self, is_accepted: fn(&str) -> bool) -> Result<(), Invalid> {
        if !is_accepted(&self.role) {
            return Err(Invalid::value("/role", NAME_RULE));
        }
        if self.name.as_deref().is_some_and(|name| !name.is_empty() && !is_accepted(name)) {
            return Err(Invalid::value("/name", NAME_RULE));
        }
        let is_name = |value: &Value| value.is_null() || value.as_str().is_some_and(is_accepted);
        let is_wrong = |name: &&str| self.extra.get(*name).is_some_and(|value| !is_name(value));
        let mut names = Self::ID_FIELDS.into_iter().chain(Self::NAME_FIELDS);
        if let Some(name) = names.find(is_wrong) {
            return Err(Invalid::value(Segment::key(name), NAME_RULE));
        }
        Ok(())
    }

    fn measure(&self) -> Result<usize, Invalid> {
        let mut bytes = json::measure(&self.content).map_err(|e| e.below("/content"))?;
        if let Some(metadata) = &self.metadata {
            bytes += json::measure_object(metadata).map_err(|e| e.below("/metadata"))?;
        }
        for (name, value) in &self.extra {
            let field = || Segment::key(name.clone());
            if !Self::EXTRA.contains(&name.as_str()) {
                return Err(Invalid::value(field(), "is not a field of a message"));
            }
            bytes += json::measure(value).map_err(|e| e.below(field()))?;
        }
        Ok(bytes + self.role.len() + self.name.as_deref().map_or(0, str::len))
    }

    /// Returns the digest that distinguishes a repeated message from another message with the same id.
    pub fn digest(&self) -> Digest {
        let mut hasher = Hasher::default();
        hasher.field("role", &Value::from(self.role.as_str()));
        hasher.field("name", &Value::from(self.name.as_deref()));
        hasher.field("content", &self.content);
        hasher.field("timestamp", &Value::from(self.timestamp.as_deref()));
        if let Some(metadata) = &self.metadata {
            hasher.object("metadata", metadata);
        }
        hasher.object("extra", &self.extra);
        hasher.finish()
    }

    /// Returns the body of the message after its deletion: only the role. The name may be that of a person.
    #[must_use]
    pub fn tombstone(&self) -> Self {
        Self { role: self.role.clone(), ..Self::default() }
    }
}

/// A message to append.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    /// The id of the message; the store mints one if it is missing. Only a message with an id is safe to
    /// repeat.
    pub event_id: Option<EventId>,
    /// The role, the speaker and the content.
    pub body: MessageBody,
    /// The person who wrote the message. Only a service may state it: a person is the author of every
    /// message that they append.
    pub author: Option<Author>,
}

impl From<MessageBody> for NewMessage {
    fn from(body: MessageBody) -> Self {
        Self { event_id: None, body, author: None }
    }
}

/// An edit of a message; a field that is `None` stays unchanged.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct MessageEdit {
    /// The new content.
    pub content: Option<Value>,
    /// The new name of the speaker.
    pub name: Option<String>,
    /// The new metadata, which replaces all of the old.
    pub metadata: Option<JsonObject>,
    /// The new [`type`](MessageBody::TYPE).
    pub kind: Option<String>,
    /// The new [`props`](MessageBody::PROPS), which replace all of the old.
    pub props: Option<Value>,
    /// The new further fields, which replace all of the old, also what the message came with.
    pub extra: Option<JsonObject>,
}

impl From<MessageBody> for MessageEdit {
    /// Replaces what a message says by what another body says; its role stays.
    fn from(body: MessageBody) -> Self {
        let MessageBody { name, content, metadata, extra, .. } = body;
        let extra = Some(extra);
        Self { content: Some(content), name, metadata, extra, ..Self::default() }
    }
}

/// Returns whether a type, of a message or of a part of one, is that of a call, of its result or of a decision about one.
fn kind_acts(kind: &str) -> bool {
    ["approval", "call", "function", "non_standard", "tool"].iter().any(|word| kind.contains(word))
}

/// See [`MessageBody::acts`].
fn acts(extra: &JsonObject) -> bool {
    const CALLS: [&str; 5] =
        ["function_call", "tool_call_id", "tool_calls", "tool_error", "tool_responses"];
    // In what a user says in other formats, a program may find its state, instructions or approvals.
    const FORMATS_OF_SPEECH: [&str; 10] = [
        "acp",
        "ag-ui",
        "ag2-v1",
        "anthropic",
        "bedrock-converse",
        "gemini",
        "langchain",
        "openai",
        "ui-message",
        "yao",
    ];
    let is_given = |value: &Value| !value.is_null() && *value != Value::Array(Vec::new());
    let formats = extra.get(MessageBody::PROVIDER).and_then(Value::as_object);
    let kind = extra.get(MessageBody::TYPE).and_then(Value::as_str);
    kind.is_some_and(kind_acts)
        || extra.get("content_blocks").is_some_and(MessageBody::content_acts)
        || CALLS.iter().any(|field| extra.get(*field).is_some_and(is_given))
        || formats.is_some_and(|formats| {
            formats.keys().any(|format| !FORMATS_OF_SPEECH.contains(&format.as_str()))
        })
}

/// Makes a content that of each of the results of a message, without what else their provider has said in them.
fn replace_results(extra: &mut JsonObject, content: &Value) {
    let responses = extra.get_mut("tool_responses").and_then(Value::as_array_mut);
    let results = responses.into_iter().flatten().filter_map(Value::as_object_mut);
    for response in results.filter(|response| response.contains_key("tool_call_id")) {
        response.insert("content".to_owned(), content.clone());
        response.remove("extra_content");
    }
}

impl MessageEdit {
    /// Returns whether the edit lets a message [act](MessageBody::acts).
    pub fn acts(&self) -> bool {
        self.extra.as_ref().is_some_and(acts)
            || self.content.as_ref().is_some_and(MessageBody::content_acts)
            || self.kind.as_deref().is_some_and(kind_acts)
    }

    /// Checks the fields that are new, on their own.
    pub fn check(&self) -> Result<(), Invalid> {
        if self.name.as_deref().is_some_and(|name| !name.is_empty() && !is_name(name)) {
            return Err(Invalid::value("/name", NAME_RULE));
        }
        if self.kind.as_deref().is_some_and(|kind| !is_name(kind)) {
            return Err(Invalid::value("/type", NAME_RULE));
        }
        Ok(())
    }

    /// Returns the edited body.
    #[must_use]
    pub fn apply(&self, body: &MessageBody) -> MessageBody {
        let mut extra = self.extra.as_ref().unwrap_or(&body.extra).clone();
        if self.extra.is_none() && (self.content.is_some() || self.name.is_some()) {
            // What the message came with belongs to what it said; the names say that there was something.
            let kept = extra.get_mut(MessageBody::PROVIDER).and_then(Value::as_object_mut);
            kept.into_iter().flat_map(JsonObject::values_mut).for_each(|it| *it = Value::Null);
        }
        if self.extra.is_none()
            && let Some(content) = &self.content
        {
            replace_results(&mut extra, content);
        }
        let kind = self.kind.as_deref().map(|kind| (MessageBody::TYPE, Value::from(kind)));
        let props = self.props.clone().map(|props| (MessageBody::PROPS, props));
        for (field, value) in kind.into_iter().chain(props) {
            extra.insert(field.to_owned(), value);
        }
        MessageBody {
            role: body.role.clone(),
            name: self.name.clone().or_else(|| body.name.clone()),
            content: self.content.as_ref().unwrap_or(&body.content).clone(),
            timestamp: body.timestamp.clone(),
            metadata: self.metadata.clone().or_else(|| body.metadata.clone()),
            extra,
        }
    }
}
