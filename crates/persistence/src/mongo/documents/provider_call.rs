use bson::spec::BinarySubtype;
use bson::{Binary, DateTime, Document, RawDocumentBuf, doc};
use records::{AppId, CallId, ChatId, MicroDollars, Model, ProviderCall, Tokens, WorkflowName};

use crate::StoreError;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{PROVIDER_CALLS, SCHEMA_VERSION, counter, encode};
use crate::mongo::engine::failure::Failure;
use crate::rules::call_batch::DigestedCall;

/// Returns the id of a call.
pub(crate) fn call_key(chat_id: &ChatId, call_id: &CallId) -> Document {
    doc! { "chat_id": chat_id.as_str(), "call_id": call_id.as_str() }
}

/// Returns the document of a call; `recording_id` names the store call that records it, so that its
/// retry knows its own work.
pub(crate) fn call_document(
    app_id: &AppId,
    workflow_name: &WorkflowName,
    chat_id: &ChatId,
    kept: &DigestedCall,
    recording_id: &str,
) -> Result<RawDocumentBuf, Failure> {
    let DigestedCall { call, digest } = kept;
    let digest = Binary { subtype: BinarySubtype::Generic, bytes: digest.to_vec() };
    encode(&doc! {
        "_id": call_key(chat_id, &call.call_id),
        "app_id": app_id.as_str(),
        "workflow_name": workflow_name.as_str(),
        "agent": call.agent.as_deref(),
        "requested_provider": call.requested.provider.as_deref(),
        "requested_model": call.requested.model.as_deref(),
        "provider": call.used.provider.as_deref(),
        "model": call.used.model.as_deref(),
        "prompt_tokens": counter(call.tokens.prompt),
        "completion_tokens": counter(call.tokens.completion),
        "total_tokens": counter(call.tokens.total),
        "cost_micros_usd": counter(call.cost.micros()),
        "duration_ms": counter(call.duration_ms),
        "request_id": call.request_id.as_deref(),
        "called_at": DateTime::from_chrono(call.called_at),
        "digest": digest,
        "recording_id": recording_id,
        "schema_version": SCHEMA_VERSION,
    })
}

/// Opens a stored call.
pub(crate) fn open_call(raw: &RawDocumentBuf) -> Result<Fields<'_>, StoreError> {
    Fields::open(PROVIDER_CALLS, "(a call)", raw)
}

/// Reads a call.
pub(crate) fn call_record(fields: &Fields<'_>) -> Result<DigestedCall, StoreError> {
    let text = |field| fields.field(field)?.optional_string();
    let cost = MicroDollars::new(fields.count("cost_micros_usd")?);
    let call = ProviderCall {
        call_id: fields.inside(fields.document("_id")?).parsed("call_id")?,
        agent: text("agent")?,
        requested: Model { provider: text("requested_provider")?, model: text("requested_model")? },
        used: Model { provider: text("provider")?, model: text("model")? },
        tokens: Tokens {
            prompt: fields.count("prompt_tokens")?,
            completion: fields.count("completion_tokens")?,
            total: fields.count("total_tokens")?,
        },
        cost: cost.map_err(|e| fields.corrupt("cost_micros_usd", Some(e.into())))?,
        duration_ms: fields.count("duration_ms")?,
        request_id: text("request_id")?,
        called_at: fields.time("called_at")?,
    };
    Ok(DigestedCall { call, digest: fields.bytes("digest")? })
}
