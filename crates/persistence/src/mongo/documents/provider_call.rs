use bson::{DateTime, Document, RawDocumentBuf, doc};
use records::json::Digest;
use records::{AppId, CallId, ChatId, MicroDollars, Model, ProviderCall, Tokens, WorkflowName};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::StoreError;
use crate::mongo::collection_names::PROVIDER_CALLS;
use crate::mongo::documents::SCHEMA_VERSION;
use crate::mongo::documents::fields::Fields;
use crate::rules::call_batch::DigestedCall;

/// A stored provider call.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct CallDocument {
    #[serde(rename = "_id")]
    id: CallKey,
    app_id: AppId,
    workflow_name: WorkflowName,
    agent: Option<String>,
    requested_provider: Option<String>,
    requested_model: Option<String>,
    provider: Option<String>,
    model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    provider_kind: Option<String>,
    prompt_tokens: u64,
    completion_tokens: u64,
    total_tokens: u64,
    #[serde(deserialize_with = "cost_of_a_call")]
    cost_micros_usd: MicroDollars,
    duration_ms: u64,
    request_id: Option<String>,
    called_at: DateTime,
    #[serde(with = "serde_bytes")]
    digest: Digest,
    recording_id: String,
    schema_version: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct CallKey {
    chat_id: ChatId,
    call_id: CallId,
}

/// Returns the id of a provider call.
pub(crate) fn call_key(chat_id: &ChatId, call_id: &CallId) -> Document {
    doc! { "chat_id": chat_id.as_str(), "call_id": call_id.as_str() }
}

impl CallDocument {
    /// Creates the document of a provider call. `recording_id` is the id of the store call that records it,
    /// by which a retry recognises its own write.
    pub(crate) fn new(
        app_id: &AppId,
        workflow_name: &WorkflowName,
        chat_id: &ChatId,
        kept: &DigestedCall,
        recording_id: &str,
    ) -> Self {
        let DigestedCall { call, digest } = kept.clone();
        Self {
            id: CallKey { chat_id: chat_id.clone(), call_id: call.call_id },
            app_id: app_id.clone(),
            workflow_name: workflow_name.clone(),
            agent: call.agent,
            requested_provider: call.requested.provider,
            requested_model: call.requested.model,
            provider: call.used.provider,
            model: call.used.model,
            provider_kind: call.provider_kind,
            prompt_tokens: call.tokens.prompt,
            completion_tokens: call.tokens.completion,
            total_tokens: call.tokens.total,
            cost_micros_usd: call.cost,
            duration_ms: call.duration_ms,
            request_id: call.request_id,
            called_at: DateTime::from_chrono(call.called_at),
            digest,
            recording_id: recording_id.to_owned(),
            schema_version: SCHEMA_VERSION,
        }
    }
}

impl From<CallDocument> for DigestedCall {
    fn from(document: CallDocument) -> Self {
        let tokens = Tokens {
            prompt: document.prompt_tokens,
            completion: document.completion_tokens,
            total: document.total_tokens,
        };
        let call = ProviderCall {
            call_id: document.id.call_id,
            agent: document.agent,
            requested: Model {
                provider: document.requested_provider,
                model: document.requested_model,
            },
            used: Model { provider: document.provider, model: document.model },
            provider_kind: document.provider_kind,
            tokens,
            cost: document.cost_micros_usd,
            duration_ms: document.duration_ms,
            request_id: document.request_id,
            called_at: document.called_at.to_chrono(),
        };
        Self { call, digest: document.digest }
    }
}

fn cost_of_a_call<'de, D: Deserializer<'de>>(deserializer: D) -> Result<MicroDollars, D::Error> {
    MicroDollars::new(u64::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// Opens a stored provider call to read its fields.
pub(crate) fn open_call(raw: &RawDocumentBuf) -> Result<Fields<'_>, StoreError> {
    Fields::open(PROVIDER_CALLS, "(a call)", raw)
}

/// Reads a provider call.
pub(crate) fn call_record(fields: &Fields<'_>) -> Result<DigestedCall, StoreError> {
    fields.read::<CallDocument>().map(DigestedCall::from)
}
