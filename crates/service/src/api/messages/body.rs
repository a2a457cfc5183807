use records::{
    Author, CallId, DisplayName, EventId, Invalid, JsonObject, MessageBody, NewMessage, Segment,
    UserId,
};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::extract::{IdempotencyKey, Keyed};
use crate::openapi::values;
use crate::problem::Problem;
use crate::wire::{Stated, keep_null};

/// A message to append. A null field counts as missing, except `content`. Any other field is kept in `provider`, for the
/// dialect `openai`, and told in `noted`.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewMessage, example = json!({
    "event_id": "evt_msg_001",
    "role": "assistant",
    "name": "interviewer",
    "content": "What features should it include?",
    "timestamp": "2025-10-02T10:00:05.000Z"
}))]
pub(crate) struct MessageRequest {
    /// The idempotency key of the message; minted if missing.
    #[schema(value_type = Option<values::Name>)]
    event_id: Option<EventId>,
    /// Where the caller believes that the message is. The chat gives the positions; a difference is told in `noted`.
    #[serde(default)]
    pub(crate) sequence: Option<u64>,
    /// Beside a single message: append it only if the chat has this `last_sequence`.
    #[serde(default)]
    pub(super) expected_last_sequence: Option<u64>,
    /// `user`, `assistant`, `system`, `tool` or any other. Required, except for initial messages, whose
    /// default is `user`.
    #[schema(value_type = Option<values::Name>)]
    role: Option<String>,
    /// The speaker.
    name: Option<String>,
    /// An alternative to `name`.
    agent_name: Option<String>,
    /// Any JSON value, mostly text. Required unless the message has `content_blocks`, `function_call`, `props`, `refusal`,
    /// `tool_calls` or `tool_responses`.
    #[serde(default, deserialize_with = "keep_null")]
    content: Option<Value>,
    /// The caller's own time, stored as given, at most 64 characters.
    #[schema(max_length = 64)]
    timestamp: Option<String>,
    /// Data of the caller that is stored with the message.
    #[schema(value_type = Option<Object>)]
    metadata: Option<JsonObject>,
    /// The person who wrote the message, if the caller is a service; what a person appends is always their own.
    author: Option<AuthorRequest>,
    /// The assistant that wrote the message.
    #[schema(value_type = Option<values::Name>)]
    assistant_id: Option<String>,
    /// Groups messages that belong together.
    #[schema(value_type = Option<values::Name>)]
    block_id: Option<String>,
    /// The connector to the model; the chat shows the last one as `last_connector`.
    #[schema(value_type = Option<values::Name>)]
    connector: Option<String>,
    /// The content as the blocks of Anthropic: histories take from them the reasoning with its signatures, and the content
    /// if `content` is missing or the same text.
    content_blocks: Option<Value>,
    event_type: Option<Value>,
    function_call: Option<Value>,
    is_user_proxy: Option<Value>,
    /// The caller's own id of the message. It need not be unique in the chat.
    #[schema(value_type = Option<values::Name>)]
    message_id: Option<String>,
    /// The mode, such as `chat` or `task`; the chat shows the last one as `last_mode`.
    #[schema(value_type = Option<values::Name>)]
    mode: Option<String>,
    /// The id of the provider call that produced the message.
    #[schema(value_type = Option<values::Name>)]
    produced_by_call_id: Option<CallId>,
    /// The properties of the message for a user interface, mostly an object.
    props: Option<Value>,
    reasoning_content: Option<Value>,
    refusal: Option<Value>,
    structured_output: Option<Value>,
    structured_schema: Option<Value>,
    /// Distinguishes threads that run at the same time.
    #[schema(value_type = Option<values::Name>)]
    thread_id: Option<String>,
    tool_call_id: Option<Value>,
    tool_calls: Option<Value>,
    /// Beside a result: whether, or how, the call failed. Histories give the result as failed unless it is false or an empty
    /// text.
    tool_error: Option<Value>,
    tool_responses: Option<Value>,
    /// The type of the message, such as `text` or `image`.
    #[serde(rename = "type")]
    #[schema(value_type = Option<values::Name>)]
    kind: Option<String>,
    /// What the message came with besides these fields, by dialect.
    #[schema(value_type = Option<Object>)]
    provider: Option<JsonObject>,
    #[serde(flatten)]
    #[schema(ignore)]
    others: JsonObject,
}

impl Keyed for MessageRequest {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        key.fill("event_id", &mut self.event_id)
    }
}

/// The person who wrote a message.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewAuthor)]
pub(crate) struct AuthorRequest {
    #[schema(value_type = values::Name)]
    user_id: UserId,
    /// The current display name: 1 to 128 visible characters, without blanks at its ends.
    #[schema(value_type = Option<values::Name>)]
    display_name: Option<DisplayName>,
}

impl From<AuthorRequest> for Author {
    fn from(author: AuthorRequest) -> Self {
        Self { user_id: author.user_id, display_name: author.display_name }
    }
}

/// The dialect for which unknown fields are kept: the fields of a message are like those of Chat Completions.
const UNKNOWN_FIELDS: &str = "openai";

/// A message with one of these fields needs no content.
const INSTEAD_OF_CONTENT: [&str; 6] =
    ["content_blocks", "function_call", "props", "refusal", "tool_calls", "tool_responses"];

/// Fields that only the service sets.
const RESERVED: [&str; 12] = [
    "_id",
    "app_id",
    "chat_id",
    "created_at",
    "deleted_at",
    "deleted_by",
    "duplicate",
    "edited_at",
    "edited_by",
    "last_sequence",
    "schema_version",
    "status",
];

impl MessageRequest {
    /// Returns what the message says of itself that is not stored as it says it.
    pub(crate) fn stated(&self) -> Stated {
        let given = self.others.iter().filter(|(_, value)| !value.is_null());
        let unknown_fields = given.map(|(field, _)| field.clone()).collect();
        Stated { sequence: self.sequence, unknown_fields }
    }

    /// Returns what the message came with besides the fields of a message.
    fn take_provider(&mut self) -> Result<Option<JsonObject>, Invalid> {
        let mut others = std::mem::take(&mut self.others);
        others.retain(|_, value| !value.is_null());
        if let Some(field) = others.keys().find(|field| RESERVED.contains(&field.as_str())) {
            return Err(Invalid::value(Segment::key(field.clone()), "is set by the service"));
        }
        let mut provider = self.provider.take().filter(|provider| !provider.is_empty());
        if !others.is_empty() {
            let kept = provider.get_or_insert_default().entry(UNKNOWN_FIELDS);
            match kept.or_insert_with(|| JsonObject::new().into()) {
                Value::Object(kept) => kept.extend(others),
                _ => return Err(Invalid::value("/provider/openai", "must be an object")),
            }
        }
        Ok(provider)
    }

    /// Converts the message; the locations of errors are within it.
    pub(crate) fn into_message(
        mut self,
        default_role: Option<&str>,
    ) -> Result<NewMessage, Invalid> {
        let refuse = |field, detail: &str| Invalid::value(Segment::key(field), detail);
        if self.expected_last_sequence.is_some() {
            return Err(refuse(
                "expected_last_sequence",
                "belongs beside messages, not into one of them",
            ));
        }
        let provider = self.take_provider()?;
        let mut extra = self.take_extra();
        if let Some(provider) = provider {
            extra.insert(MessageBody::PROVIDER.to_owned(), provider.into());
        }
        let role = self.role.or(default_role.map(str::to_owned));
        let name = match (self.name, self.agent_name) {
            (Some(name), Some(agent_name)) if name != agent_name => {
                return Err(refuse("agent_name", "must be the same speaker as name"));
            }
            (name, agent_name) => name.or(agent_name),
        };
        let may_lack_content = INSTEAD_OF_CONTENT.iter().any(|field| extra.contains_key(*field));
        let content = match self.content {
            None if !may_lack_content => return Err(refuse("content", "is missing")),
            content => content.unwrap_or_default(),
        };
        let body = MessageBody {
            role: role.ok_or_else(|| refuse("role", "is missing"))?,
            name,
            content,
            timestamp: self.timestamp,
            metadata: self.metadata,
            extra,
        };
        let (event_id, author) = (self.event_id, self.author.map(Into::into));
        Ok(NewMessage { event_id, body, author })
    }

    /// Takes the given fields out of those in [`MessageBody::EXTRA`].
    fn take_extra(&mut self) -> JsonObject {
        let produced_by = self.produced_by_call_id.take();
        let fields = [
            ("assistant_id", self.assistant_id.take().map(Value::from)),
            ("block_id", self.block_id.take().map(Value::from)),
            (MessageBody::CONNECTOR, self.connector.take().map(Value::from)),
            ("content_blocks", self.content_blocks.take()),
            ("event_type", self.event_type.take()),
            ("function_call", self.function_call.take()),
            ("is_user_proxy", self.is_user_proxy.take()),
            ("message_id", self.message_id.take().map(Value::from)),
            (MessageBody::MODE, self.mode.take().map(Value::from)),
            (MessageBody::PRODUCED_BY, produced_by.map(|call_id| Value::from(call_id.as_str()))),
            (MessageBody::PROPS, self.props.take()),
            ("reasoning_content", self.reasoning_content.take()),
            ("refusal", self.refusal.take()),
            ("structured_output", self.structured_output.take()),
            ("structured_schema", self.structured_schema.take()),
            ("thread_id", self.thread_id.take().map(Value::from)),
            ("tool_call_id", self.tool_call_id.take()),
            ("tool_calls", self.tool_calls.take()),
            ("tool_error", self.tool_error.take()),
            ("tool_responses", self.tool_responses.take()),
            (MessageBody::TYPE, self.kind.take().map(Value::from)),
        ];
        let given = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        given.collect()
    }
}
