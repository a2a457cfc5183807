use std::borrow::Cow;

use bson::{DateTime, Document, RawDocument, doc};
use records::json::Digest;
use records::{AppId, ChatId, JsonObject, ToolRun, ToolRunId};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::StoreError;
use crate::mongo::collection_names::TOOL_RUNS;
use crate::mongo::documents::SCHEMA_VERSION;
use crate::mongo::documents::stored::read_document;
use crate::mongo::engine::json::Json;
use crate::rules::tool_run_batch::DigestedRun;

/// A stored run of a tool.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ToolRunDocument<'a> {
    #[serde(rename = "_id")]
    id: ToolRunKey,
    app_id: AppId,
    agent: Option<String>,
    tool_name: String,
    tool_call_id: Option<String>,
    parameters: Json<Cow<'a, Value>>,
    result: Json<Cow<'a, Value>>,
    is_success: bool,
    error: Option<String>,
    execution_time_ms: Option<u64>,
    metadata: Json<Cow<'a, JsonObject>>,
    started_at: DateTime,
    recorded_at: DateTime,
    #[serde(with = "serde_bytes")]
    digest: Digest,
    recording_id: String,
    schema_version: i64,
}

/// The id of a stored run.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ToolRunKey {
    pub(super) chat_id: ChatId,
    pub(super) run_id: ToolRunId,
}

/// Returns the id of a run.
pub(super) fn tool_run_key(chat_id: &ChatId, run_id: &ToolRunId) -> Document {
    doc! { "chat_id": chat_id.as_str(), "run_id": run_id.as_str() }
}

impl<'a> ToolRunDocument<'a> {
    /// Creates the document of a run. `recording_id` is the id of the store call that records it, by which a retry recognises
    /// its own write.
    pub(super) fn new(
        app_id: &AppId,
        chat_id: &ChatId,
        kept: &'a DigestedRun,
        recording_id: &str,
    ) -> Self {
        let run = &kept.run;
        Self {
            id: ToolRunKey { chat_id: chat_id.clone(), run_id: run.run_id.clone() },
            app_id: app_id.clone(),
            agent: run.agent.clone(),
            tool_name: run.tool_name.clone(),
            tool_call_id: run.tool_call_id.clone(),
            parameters: Json(Cow::Borrowed(&run.parameters)),
            result: Json(Cow::Borrowed(&run.result)),
            is_success: run.is_success,
            error: run.error.clone(),
            execution_time_ms: run.execution_time_ms,
            metadata: Json(Cow::Borrowed(&run.metadata)),
            started_at: DateTime::from_chrono(run.started_at),
            recorded_at: DateTime::from_chrono(run.recorded_at),
            digest: kept.digest,
            recording_id: recording_id.to_owned(),
            schema_version: SCHEMA_VERSION,
        }
    }
}

impl From<ToolRunDocument<'_>> for ToolRun {
    fn from(document: ToolRunDocument<'_>) -> Self {
        Self {
            run_id: document.id.run_id,
            tool_name: document.tool_name,
            agent: document.agent,
            tool_call_id: document.tool_call_id,
            parameters: document.parameters.0.into_owned(),
            result: document.result.0.into_owned(),
            is_success: document.is_success,
            error: document.error,
            execution_time_ms: document.execution_time_ms,
            metadata: document.metadata.0.into_owned(),
            started_at: document.started_at.to_chrono(),
            recorded_at: document.recorded_at.to_chrono(),
        }
    }
}

/// Reads a run.
pub(crate) fn tool_run_record(raw: &RawDocument) -> Result<ToolRun, StoreError> {
    read_document::<ToolRunDocument<'_>>(TOOL_RUNS, raw).map(ToolRun::from)
}

/// Reads a run with its digest, and the id of the store call that recorded it.
pub(super) fn read_tool_run(raw: &RawDocument) -> Result<(DigestedRun, String), StoreError> {
    let mut document: ToolRunDocument<'_> = read_document(TOOL_RUNS, raw)?;
    let recording_id = std::mem::take(&mut document.recording_id);
    let digest = document.digest;
    Ok((DigestedRun { run: document.into(), digest, has_start: true }, recording_id))
}
