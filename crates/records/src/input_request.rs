use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use crate::ids::{NAME_RULE, is_name};
use crate::json::{self, Digest, Hasher, JsonObject, Limits};
use crate::{
    Author, ChatId, ChatStatus, EventId, InputRequestId, Invalid, Location, MessageBody,
    NewMessage, Segment, SizeLimit, UserId,
};

/// A question of a workflow that waits for an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct InputRequest {
    /// The chat of the request.
    pub chat_id: ChatId,
    /// The id of the request, unique within the chat.
    pub request_id: InputRequestId,
    /// The question.
    pub question: Question,
    /// When the request was created.
    pub created_at: DateTime<Utc>,
    /// When the request expires: from then on it refuses answers.
    pub expires_at: Option<DateTime<Utc>>,
    /// When and how the request was closed; `None` while it is pending.
    pub closing: Option<Closing>,
}

/// A question, and the answers that it accepts.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The text that people see.
    pub prompt: String,
    /// The name of the agent that asks.
    pub agent: Option<String>,
    /// The kind of answer.
    pub kind: InputKind,
    /// The possible answers for [`InputKind::Choice`]; empty for other kinds.
    pub options: Vec<String>,
    /// The tool call about which the answer decides.
    pub tool_call: Option<BoundToolCall>,
    /// Any data of the caller about the question.
    pub metadata: JsonObject,
}

/// The kind of answer that a question accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// Any JSON except null and blank text.
    Text,
    /// One of the options.
    Choice,
    /// `true` or `false`.
    Confirm,
}

/// The tool call to which a question is bound. An answer applies only to these arguments.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundToolCall {
    /// The id of the call that the model gave.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The arguments of the call.
    pub arguments: Value,
}

/// A reference to the tool call about which a person decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolCallRef {
    /// The id of the call.
    pub id: String,
    /// The name of the tool.
    pub name: String,
    /// The [`arguments_hash`] of the arguments that the person saw.
    pub arguments_hash: Digest,
}

/// When and how a request was closed. A closed request never opens again.
#[derive(Debug, Clone, PartialEq)]
pub struct Closing {
    /// When the request was closed.
    pub at: DateTime<Utc>,
    /// How the request was closed.
    pub how: Closed,
}

/// How a request was closed.
#[derive(Debug, Clone, PartialEq)]
pub enum Closed {
    /// The request was answered.
    Answered(InputAnswer),
    /// The workflow cancelled the request.
    Cancelled {
        /// The reason that the caller gave.
        reason: Option<String>,
    },
    /// The request expired without an answer.
    Expired,
    /// The chat ended.
    ChatEnded {
        /// The status with which the chat ended.
        status: ChatStatus,
    },
}

/// The answer to a request, which is also a message of its chat.
#[derive(Debug, Clone, PartialEq)]
pub struct InputAnswer {
    /// The answer.
    pub content: Value,
    /// The name of the person who answered, as stated with the answer.
    pub name: String,
    /// The person who answered.
    pub author: Option<Author>,
    /// The id of the message.
    pub event_id: EventId,
    /// The sequence of the message.
    pub sequence: u64,
}

impl InputRequest {
    /// The reason for the pause of a chat that waits for input.
    pub const PAUSE_REASON: &'static str = "awaiting input";
    /// The largest number of pending requests of one chat.
    pub const MAX_PENDING: usize = 16;

    /// Returns whether a person answered it.
    pub fn is_answered_by(&self, user_id: &UserId) -> bool {
        let Some(Closing { how: Closed::Answered(answer), .. }) = &self.closing else {
            return false;
        };
        answer.author.as_ref().is_some_and(|author| author.user_id == *user_id)
    }

    /// Returns the name of the state: `pending`, `answered`, `cancelled`, `expired` or `chat_ended`.
    pub fn state(&self) -> &'static str {
        self.closing.as_ref().map_or("pending", |closing| closing.how.as_str())
    }

    /// Returns whether the request has expired, although the store has not closed it yet.
    pub fn is_overdue(&self, now: DateTime<Utc>) -> bool {
        self.closing.is_none() && self.expires_at.is_some_and(|expires_at| expires_at <= now)
    }

    /// Returns the request in its state at a time: an overdue request has expired.
    #[must_use]
    pub fn at(mut self, now: DateTime<Utc>) -> Self {
        if self.is_overdue(now) {
            self.closing = self.expires_at.map(|at| Closing { at, how: Closed::Expired });
        }
        self
    }
}

impl Closed {
    /// Returns the name on the wire and in the store.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Answered(_) => "answered",
            Self::Cancelled { .. } => "cancelled",
            Self::Expired => "expired",
            Self::ChatEnded { .. } => "chat_ended",
        }
    }
}

impl InputKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Text, Self::Choice, Self::Confirm];

    /// Returns the name on the wire and in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Choice => "choice",
            Self::Confirm => "confirm",
        }
    }
}

impl BoundToolCall {
    /// Returns the reference by which an answer names this call.
    pub fn reference(&self) -> ToolCallRef {
        ToolCallRef {
            id: self.id.clone(),
            name: self.name.clone(),
            arguments_hash: arguments_hash(&self.arguments),
        }
    }
}

/// Returns the digest of the arguments of a call, computed by [`Hasher`].
pub fn arguments_hash(arguments: &Value) -> Digest {
    let mut hasher = Hasher::default();
    hasher.field("arguments", arguments);
    hasher.finish()
}

impl Question {
    /// Creates a question that accepts any text.
    pub fn of(prompt: impl Into<String>) -> Self {
        Self {
            prompt: prompt.into(),
            agent: None,
            kind: InputKind::Text,
            options: Vec::new(),
            tool_call: None,
            metadata: JsonObject::new(),
        }
    }

    /// Checks every field.
    pub fn check(&self) -> Result<(), Invalid> {
        check_text("/prompt".into(), &self.prompt, Limits::PROMPT_BYTES)?;
        if self.agent.as_deref().is_some_and(|agent| !is_name(agent)) {
            return Err(Invalid::value("/agent", NAME_RULE));
        }
        self.check_options()?;
        if let Some(call) = &self.tool_call {
            for (pointer, name) in [("/tool_call/id", &call.id), ("/tool_call/name", &call.name)] {
                if !is_name(name) {
                    return Err(Invalid::value(pointer, NAME_RULE));
                }
            }
            let pointer = "/tool_call/arguments";
            let bytes = json::measure(&call.arguments).map_err(|e| e.below(pointer))?;
            SizeLimit::Question.check(pointer, bytes, Limits::ARGUMENTS_BYTES)?;
        }
        let bytes = json::measure_object(&self.metadata).map_err(|e| e.below("/metadata"))?;
        SizeLimit::Metadata.check("/metadata", bytes, Limits::METADATA_BYTES)
    }

    fn check_options(&self) -> Result<(), Invalid> {
        let is_choice = self.kind == InputKind::Choice;
        if is_choice == self.options.is_empty() {
            let rule = if is_choice {
                "must hold at least one option"
            } else {
                "must be empty unless kind is choice"
            };
            return Err(Invalid::value("/options", rule));
        }
        if self.options.len() > Limits::OPTIONS {
            let limit = format!("must hold at most {} options", Limits::OPTIONS);
            return Err(Invalid::value("/options", limit));
        }
        for (index, option) in self.options.iter().enumerate() {
            let location = Location::from(Segment::Index(index)).below("/options");
            check_text(location.clone(), option, Limits::OPTION_BYTES)?;
            if self.options[..index].contains(option) {
                return Err(Invalid::value(location, "occurs twice"));
            }
        }
        Ok(())
    }

    /// Checks that the question accepts a content as its answer.
    pub fn admits(&self, content: &Value) -> Result<(), Invalid> {
        let (is_admitted, rule) = match self.kind {
            InputKind::Text => {
                let is_blank = content.is_null()
                    || content.as_str().is_some_and(|text| text.trim().is_empty());
                (!is_blank, "must not be blank")
            }
            InputKind::Choice => {
                let chosen = content.as_str();
                let is_option = |option: &String| Some(option.as_str()) == chosen;
                (self.options.iter().any(is_option), "must be one of the options")
            }
            InputKind::Confirm => (content.is_boolean(), "must be true or false"),
        };
        if is_admitted { Ok(()) } else { Err(Invalid::value("/content", rule)) }
    }
}

fn check_text(location: Location, text: &str, max: usize) -> Result<(), Invalid> {
    if text.trim().is_empty() {
        return Err(Invalid::value(location, "must not be blank"));
    }
    SizeLimit::Question.check(location, text.len(), max)
}

/// An input request to create.
#[derive(Debug, Clone, PartialEq)]
pub struct NewInputRequest {
    /// The id of the request; the store mints one if it is missing. Only a request with an id is safe to
    /// repeat.
    pub request_id: Option<InputRequestId>,
    /// The question.
    pub question: Question,
    /// The number of seconds after which the request expires, 1 to [`Limits::INPUT_EXPIRY_SEC`]. Without it,
    /// the request never expires.
    pub expires_in_sec: Option<u32>,
}

impl NewInputRequest {
    /// Checks every field.
    pub fn check(&self) -> Result<(), Invalid> {
        self.question.check()?;
        let allowed = 1..=Limits::INPUT_EXPIRY_SEC;
        if self.expires_in_sec.is_some_and(|seconds| !allowed.contains(&seconds)) {
            let limit = format!("must be 1 to {}", Limits::INPUT_EXPIRY_SEC);
            return Err(Invalid::value("/expires_in_sec", limit));
        }
        Ok(())
    }

    /// Returns the digest that distinguishes a repeated request from another one with the same id.
    pub fn digest(&self) -> Digest {
        let Question { prompt, agent, kind, options, tool_call, metadata } = &self.question;
        let call = tool_call.as_ref().map(|call| json!([call.id, call.name, call.arguments]));
        let mut hasher = Hasher::default();
        hasher.field("prompt", &Value::from(prompt.as_str()));
        hasher.field("agent", &Value::from(agent.as_deref()));
        hasher.field("kind", &Value::from(kind.as_str()));
        hasher.field("options", &Value::from(options.clone()));
        hasher.field("tool_call", &call.unwrap_or_default());
        hasher.object("metadata", metadata);
        hasher.field("expires_in_sec", &Value::from(self.expires_in_sec));
        hasher.finish()
    }
}

/// An answer to an input request.
#[derive(Debug, Clone, PartialEq)]
pub struct NewInputAnswer {
    /// The id of the message that the answer becomes; the store mints one if it is missing. Only an answer
    /// with an id is safe to repeat.
    pub event_id: Option<EventId>,
    /// The name of the person who answers; the caller if it is missing.
    pub name: Option<String>,
    /// The person for whom a service answers. A person may answer only for themselves.
    pub author: Option<Author>,
    /// The answer.
    pub content: Value,
    /// The tool call about which the answer decides, if the question is bound to one.
    pub tool_call: Option<ToolCallRef>,
}

impl NewInputAnswer {
    /// The field in the metadata of the message that holds the id of the answered request.
    pub const REQUEST: &'static str = "input_request_id";

    /// Creates an answer with only a content.
    pub fn of(content: impl Into<Value>) -> Self {
        Self { event_id: None, name: None, author: None, content: content.into(), tool_call: None }
    }

    /// Returns the message that the answer becomes. Its role is `user`, and its metadata holds the id of the
    /// request.
    pub fn message(&self, request_id: &InputRequestId, caller: Option<&UserId>) -> NewMessage {
        let name = self.name.as_deref().or(caller.map(UserId::as_str)).unwrap_or("user");
        let mut body = MessageBody::new("user", Some(name), self.content.clone());
        let of_request = (Self::REQUEST.to_owned(), Value::from(request_id.as_str()));
        body.metadata = Some(JsonObject::from_iter([of_request]));
        NewMessage { event_id: self.event_id.clone(), author: self.author.clone(), body }
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;

    use super::*;

    fn choice(options: &[&str]) -> Question {
        let options = options.iter().map(|&option| option.to_owned()).collect();
        Question { kind: InputKind::Choice, options, ..Question::of("Which one?") }
    }

    #[test]
    fn each_kind_of_question_accepts_its_answers() {
        let admits = |question: &Question, content: Value| question.admits(&content).is_ok();
        let text = Question::of("Why?");
        for (content, is_admitted) in
            [(json!("because"), true), (json!({"a": 1}), true), (json!(" "), false)]
        {
            assert_eq!(admits(&text, content.clone()), is_admitted, "{content}");
        }
        assert!(!admits(&text, Value::Null));
        let choice = choice(&["a", "b"]);
        assert!(admits(&choice, json!("b")) && !admits(&choice, json!("c")));
        assert!(!admits(&choice, json!(["a"])));
        let confirm = Question { kind: InputKind::Confirm, ..Question::of("Sure?") };
        assert!(admits(&confirm, json!(false)) && !admits(&confirm, json!("yes")));
    }

    #[test]
    fn only_choices_have_options_and_these_are_distinct() {
        assert!(choice(&["a", "b"]).check().is_ok());
        let pointer = |question: Question| question.check().unwrap_err().location.to_string();
        assert_eq!(pointer(choice(&["a", "a"])), "/options/1");
        assert_eq!(pointer(choice(&["a", " "])), "/options/1");
        assert_eq!(pointer(choice(&[])), "/options");
        let odd = Question { kind: InputKind::Text, ..choice(&["a"]) };
        assert_eq!(pointer(odd), "/options");
    }

    #[test]
    fn an_overdue_request_expired_at_its_expiry_time() {
        let now = DateTime::from_timestamp_millis(1_759_399_200_000).unwrap();
        let request = InputRequest {
            chat_id: ChatId::parse("c1").unwrap(),
            request_id: InputRequestId::parse("i1").unwrap(),
            question: Question::of("Why?"),
            created_at: now,
            expires_at: Some(now + TimeDelta::seconds(5)),
            closing: None,
        };
        assert_eq!(request.clone().at(now + TimeDelta::milliseconds(4_999)).state(), "pending");
        let expired = request.at(now + TimeDelta::seconds(60));
        assert_eq!(expired.state(), "expired");
        assert_eq!(expired.closing.unwrap().at, now + TimeDelta::seconds(5));
    }
}
