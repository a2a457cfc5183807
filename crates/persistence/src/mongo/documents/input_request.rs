use std::borrow::Cow;

use bson::{DateTime, Document, RawDocumentBuf, doc};
use records::json::Digest;
use records::{
    AppId, Author, BoundToolCall, ChatId, ChatStatus, Closed, Closing, DisplayName, EventId,
    InputAnswer, InputKind, InputRequest, InputRequestId, JsonObject, Question, UserId,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::StoreError;
use crate::mongo::collection_names::INPUT_REQUESTS;
use crate::mongo::documents::SCHEMA_VERSION;
use crate::mongo::documents::stored::{FieldError, embedded, read_document, read_record};
use crate::mongo::documents::word::StoredName;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::json::Json;
use crate::rules::input::KeptInput;

/// The stored state of a request that can still be answered.
pub(crate) const PENDING: &str = "pending";

/// An input request, with the store calls that asked and answered it.
#[derive(Debug)]
pub(crate) struct StoredInput {
    pub(crate) kept: KeptInput,
    /// The id of the store call that asked it, by which a retry recognises its own write.
    pub(crate) asking_id: String,
    /// The same for the store call that answered it.
    pub(crate) answering_id: Option<String>,
}

/// A stored input request.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct InputRequestDocument<'a> {
    #[serde(rename = "_id")]
    id: InputRequestKey,
    app_id: AppId,
    state: State,
    prompt: String,
    agent: Option<String>,
    kind: StoredName<InputKind>,
    options: Vec<String>,
    tool_call: Option<ToolCallDocument<'a>>,
    metadata: Json<Cow<'a, JsonObject>>,
    created_at: DateTime,
    expires_at: Option<DateTime>,
    closed_at: Option<DateTime>,
    reason: Option<String>,
    answer: Option<AnswerDocument<'a>>,
    #[serde(with = "serde_bytes")]
    digest: Digest,
    asking_id: String,
    schema_version: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct InputRequestKey {
    chat_id: ChatId,
    request_id: InputRequestId,
}

/// The state of a request: pending, or how it was closed.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum State {
    Pending,
    Answered,
    Cancelled,
    Expired,
    ChatEnded,
}

#[derive(Debug, Serialize, Deserialize)]
struct ToolCallDocument<'a> {
    id: String,
    name: String,
    #[serde(default)]
    arguments: Json<Cow<'a, Value>>,
}

#[derive(Debug, Serialize, Deserialize)]
struct AnswerDocument<'a> {
    #[serde(default)]
    content: Json<Cow<'a, Value>>,
    name: String,
    event_id: EventId,
    sequence: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    author: Option<AnswerAuthor>,
    #[serde(skip_serializing_if = "Option::is_none")]
    answering_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "serde_bytes")]
    digest: Option<Digest>,
}

#[derive(Debug, Serialize, Deserialize)]
struct AnswerAuthor {
    user_id: UserId,
    display_name: Option<DisplayName>,
}

/// Returns the id of an input request.
pub(crate) fn input_key(chat_id: &ChatId, request_id: &InputRequestId) -> Document {
    doc! { "chat_id": chat_id.as_str(), "request_id": request_id.as_str() }
}

impl<'a> InputRequestDocument<'a> {
    /// Creates the document of a new request.
    pub(crate) fn new(app_id: &AppId, kept: &'a KeptInput, asking_id: &str) -> Self {
        let InputRequest { chat_id, request_id, question, .. } = &kept.request;
        let tool_call = question.tool_call.as_ref().map(|call| {
            let BoundToolCall { id, name, arguments } = call;
            let (id, name) = (id.clone(), name.clone());
            ToolCallDocument { id, name, arguments: Json(Cow::Borrowed(arguments)) }
        });
        Self {
            id: InputRequestKey { chat_id: chat_id.clone(), request_id: request_id.clone() },
            app_id: app_id.clone(),
            state: State::Pending,
            prompt: question.prompt.clone(),
            agent: question.agent.clone(),
            kind: StoredName(question.kind),
            options: question.options.clone(),
            tool_call,
            metadata: Json(Cow::Borrowed(&question.metadata)),
            created_at: DateTime::from_chrono(kept.request.created_at),
            expires_at: kept.request.expires_at.map(DateTime::from_chrono),
            closed_at: None,
            reason: None,
            answer: None,
            digest: kept.digest,
            asking_id: asking_id.to_owned(),
            schema_version: SCHEMA_VERSION,
        }
    }

    /// Takes the closing of the request; `None` if it is pending.
    fn closing(&mut self) -> Result<Option<Closing>, FieldError> {
        let required = |field| move || FieldError::new(field);
        let how = match self.state {
            State::Pending => return Ok(None),
            State::Answered => {
                Closed::Answered(self.answer.take().ok_or_else(required("answer"))?.into())
            }
            State::Cancelled => Closed::Cancelled { reason: self.reason.take() },
            State::Expired => Closed::Expired,
            State::ChatEnded => {
                let reason = self.reason.as_deref();
                let status = ChatStatus::ALL.into_iter().find(|s| reason == Some(s.as_str()));
                Closed::ChatEnded { status: status.ok_or_else(required("reason"))? }
            }
        };
        let at = self.closed_at.ok_or_else(required("closed_at"))?.to_chrono();
        Ok(Some(Closing { at, how }))
    }
}

/// Returns the fields that closing a request sets. `answered` is the id of the store call that answers, and
/// the digest of the answer's message.
pub(crate) fn closing_fields(
    closing: &Closing,
    answered: Option<(&str, &Digest)>,
) -> Result<Document, Failure> {
    let mut fields = doc! {
        "state": closing.how.as_str(),
        "closed_at": DateTime::from_chrono(closing.at),
    };
    match &closing.how {
        Closed::Answered(answer) => {
            let answer = AnswerDocument::new(answer, answered);
            fields.insert("answer", embedded(&answer)?);
        }
        Closed::Cancelled { reason } => drop(fields.insert("reason", reason.as_deref())),
        Closed::ChatEnded { status } => drop(fields.insert("reason", status.as_str())),
        Closed::Expired => {}
    }
    Ok(fields)
}

impl<'a> AnswerDocument<'a> {
    fn new(answer: &'a InputAnswer, answered: Option<(&str, &Digest)>) -> Self {
        let author = answer.author.clone().map(|author| {
            let Author { user_id, display_name } = author;
            AnswerAuthor { user_id, display_name }
        });
        Self {
            content: Json(Cow::Borrowed(&answer.content)),
            name: answer.name.clone(),
            event_id: answer.event_id.clone(),
            sequence: answer.sequence,
            author,
            answering_id: answered.map(|(answering_id, _)| answering_id.to_owned()),
            digest: answered.map(|(_, digest)| *digest),
        }
    }
}

impl From<AnswerDocument<'_>> for InputAnswer {
    fn from(document: AnswerDocument<'_>) -> Self {
        let author = document.author.map(|author| {
            let AnswerAuthor { user_id, display_name } = author;
            Author { user_id, display_name }
        });
        Self {
            content: document.content.0.into_owned(),
            name: document.name,
            author,
            event_id: document.event_id,
            sequence: document.sequence,
        }
    }
}

impl TryFrom<InputRequestDocument<'_>> for StoredInput {
    type Error = FieldError;

    fn try_from(mut document: InputRequestDocument<'_>) -> Result<Self, FieldError> {
        let answer = document.answer.as_ref();
        let answer_digest = answer.and_then(|answer| answer.digest);
        if answer.is_some() && answer_digest.is_none() {
            return Err(FieldError::new("answer.digest"));
        }
        let answering_id = answer.and_then(|answer| answer.answering_id.clone());
        let closing = document.closing()?;
        let tool_call = document.tool_call.map(|call| {
            let ToolCallDocument { id, name, arguments } = call;
            BoundToolCall { id, name, arguments: arguments.0.into_owned() }
        });
        let question = Question {
            prompt: document.prompt,
            agent: document.agent,
            kind: document.kind.0,
            options: document.options,
            tool_call,
            metadata: document.metadata.0.into_owned(),
        };
        let request = InputRequest {
            chat_id: document.id.chat_id,
            request_id: document.id.request_id,
            question,
            created_at: document.created_at.to_chrono(),
            expires_at: document.expires_at.map(DateTime::to_chrono),
            closing,
        };
        Ok(Self {
            kept: KeptInput { request, digest: document.digest, answer_digest },
            asking_id: document.asking_id,
            answering_id,
        })
    }
}

/// Reads the app that an input request belongs to.
pub(crate) fn input_app(raw: &RawDocumentBuf) -> Result<AppId, StoreError> {
    #[derive(Deserialize)]
    struct Owned {
        app_id: AppId,
    }

    Ok(read_document::<Owned>(INPUT_REQUESTS, raw)?.app_id)
}

/// Reads an input request.
pub(crate) fn input_record(raw: &RawDocumentBuf) -> Result<StoredInput, StoreError> {
    read_record::<InputRequestDocument<'_>, _>(INPUT_REQUESTS, raw)
}
