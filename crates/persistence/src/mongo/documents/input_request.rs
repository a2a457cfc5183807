use bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use records::json::Digest;
use records::{
    AppId, BoundToolCall, ChatId, ChatStatus, Closed, Closing, DisplayName, InputAnswer, InputKind,
    InputRequest, InputRequestId, Question,
};

use crate::StoreError;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::message::author_record;
use crate::mongo::documents::{INPUT_REQUESTS, SCHEMA_VERSION, binary, counter, encode};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::json::{to_bson, to_document};
use crate::rules::input::KeptInput;

/// The state of a request that takes an answer.
pub(crate) const PENDING: &str = "pending";

/// An input request as it is stored.
#[derive(Debug)]
pub(crate) struct StoredInput {
    pub(crate) kept: KeptInput,
    /// Names the store call that asked it, so that its retry knows its own work.
    pub(crate) asking_id: String,
    /// Names the store call that answered it, likewise.
    pub(crate) answering_id: Option<String>,
}

/// Returns the id of an input request.
pub(crate) fn input_key(chat_id: &ChatId, request_id: &InputRequestId) -> Document {
    doc! { "chat_id": chat_id.as_str(), "request_id": request_id.as_str() }
}

/// Returns the document of a request that is asked.
pub(crate) fn input_document(
    app_id: &AppId,
    kept: &KeptInput,
    asking_id: &str,
) -> Result<RawDocumentBuf, Failure> {
    let InputRequest { chat_id, request_id, question, created_at, expires_at, .. } = &kept.request;
    let tool_call = question.tool_call.as_ref().map(|call| {
        let BoundToolCall { id, name, arguments } = call;
        doc! { "id": id, "name": name, "arguments": to_bson(arguments) }
    });
    encode(&doc! {
        "_id": input_key(chat_id, request_id),
        "app_id": app_id.as_str(),
        "state": PENDING,
        "prompt": &question.prompt,
        "agent": question.agent.as_deref(),
        "kind": question.kind.as_str(),
        "options": &question.options,
        "tool_call": tool_call,
        "metadata": to_document(&question.metadata),
        "created_at": DateTime::from_chrono(*created_at),
        "expires_at": expires_at.map(DateTime::from_chrono),
        "closed_at": Bson::Null,
        "reason": Bson::Null,
        "answer": Bson::Null,
        "digest": binary(&kept.digest),
        "asking_id": asking_id,
        "schema_version": SCHEMA_VERSION,
    })
}

/// Returns what closing sets; `answered` names the store call that answers, with the digest of the
/// message.
pub(crate) fn closing_fields(closing: &Closing, answered: Option<(&str, &Digest)>) -> Document {
    let mut fields = doc! {
        "state": closing.how.as_str(),
        "closed_at": DateTime::from_chrono(closing.at),
    };
    match &closing.how {
        Closed::Answered(InputAnswer { content, name, author, event_id, sequence }) => {
            let mut answer = doc! {
                "content": to_bson(content), "name": name, "event_id": event_id.as_str(),
                "sequence": counter(*sequence),
            };
            if let Some(author) = author {
                let display_name = author.display_name.as_ref().map(DisplayName::as_str);
                let user_id = author.user_id.as_str();
                answer.insert("author", doc! { "user_id": user_id, "display_name": display_name });
            }
            if let Some((answering_id, digest)) = answered {
                answer.insert("answering_id", answering_id);
                answer.insert("digest", binary(digest));
            }
            fields.insert("answer", answer);
        }
        Closed::Cancelled { reason } => drop(fields.insert("reason", reason.as_deref())),
        Closed::ChatEnded { status } => drop(fields.insert("reason", status.as_str())),
        Closed::Expired => {}
    }
    fields
}

/// Reads the app that an input request belongs to.
pub(crate) fn input_app(raw: &RawDocumentBuf) -> Result<AppId, StoreError> {
    let fields = Fields::open(INPUT_REQUESTS, "(an input request)", raw)?;
    fields.parsed("app_id")
}

/// Reads an input request.
pub(crate) fn input_record(raw: &RawDocumentBuf) -> Result<StoredInput, StoreError> {
    let fields = Fields::open(INPUT_REQUESTS, "(an input request)", raw)?;
    let id = fields.inside(fields.document("_id")?);
    let answer = fields.optional_document("answer")?.map(|answer| fields.inside(answer));
    let question = Question {
        prompt: fields.field("prompt")?.text()?.to_owned(),
        agent: fields.field("agent")?.optional_string()?,
        kind: fields.field("kind")?.one_of(InputKind::ALL, |kind| kind.as_str())?,
        options: fields.field("options")?.strings()?,
        tool_call: tool_call(&fields)?,
        metadata: fields.object("metadata")?,
    };
    let request = InputRequest {
        chat_id: id.parsed("chat_id")?,
        request_id: id.parsed("request_id")?,
        question,
        created_at: fields.time("created_at")?,
        expires_at: fields.field("expires_at")?.optional_time()?,
        closing: closing(&fields, answer.as_ref())?,
    };
    let answer_digest = answer.map(|answer| answer.bytes("digest")).transpose()?;
    let answering_id = answer.map(|answer| answer.field("answering_id")?.optional_string());
    Ok(StoredInput {
        kept: KeptInput { request, digest: fields.bytes("digest")?, answer_digest },
        asking_id: fields.field("asking_id")?.text()?.to_owned(),
        answering_id: answering_id.transpose()?.flatten(),
    })
}

fn tool_call(fields: &Fields<'_>) -> Result<Option<BoundToolCall>, StoreError> {
    let Some(call) = fields.optional_document("tool_call")? else { return Ok(None) };
    let call = fields.inside(call);
    let text = |field| Ok::<_, StoreError>(call.field(field)?.text()?.to_owned());
    let arguments = call.value("arguments")?;
    Ok(Some(BoundToolCall { id: text("id")?, name: text("name")?, arguments }))
}

fn closing(
    fields: &Fields<'_>,
    answer: Option<&Fields<'_>>,
) -> Result<Option<Closing>, StoreError> {
    let state = fields.field("state")?;
    let how = match state.text()? {
        PENDING => return Ok(None),
        "answered" => {
            let answer = fields.required("answer", answer)?;
            Closed::Answered(InputAnswer {
                content: answer.value("content")?,
                name: answer.field("name")?.text()?.to_owned(),
                author: author_record(answer)?,
                event_id: answer.parsed("event_id")?,
                sequence: answer.count("sequence")?,
            })
        }
        "cancelled" => Closed::Cancelled { reason: fields.field("reason")?.optional_string()? },
        "expired" => Closed::Expired,
        "chat_ended" => {
            let status =
                fields.field("reason")?.one_of(ChatStatus::ALL, |status| status.as_str())?;
            Closed::ChatEnded { status }
        }
        _ => return Err(fields.corrupt("state", None)),
    };
    Ok(Some(Closing { at: fields.time("closed_at")?, how }))
}
