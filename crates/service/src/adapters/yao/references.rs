use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::TurnId;
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::list_messages::ANSWER_MIB;
use super::reader::{self, Part, TypedFilter};
use crate::adapters::ForeignQuery;
use crate::admission::Reserve;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json, Path};
use crate::problem::Problem;

/// What a request has cited.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatReferences)]
pub(crate) struct ReferencesResponse {
    #[schema(example = "req_abc")]
    request_id: String,
    /// The sources of its retrieval messages in order, each with its `index` from 1, the `message_id` and the `query`.
    #[schema(value_type = Vec<Object>)]
    references: Vec<Value>,
    /// Whether there may be more sources. Missing if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

/// Returns the sources that the retrieval messages of a request have.
#[operation(answers = "The sources")]
pub(crate) async fn list_references(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Path(request_id): Path<TurnId>,
    ForeignQuery(()): ForeignQuery<()>,
    _: Reserve<ANSWER_MIB>,
) -> Result<Json<ReferencesResponse>, Problem> {
    let fields =
        vec![("request_id", request_id.as_str().to_owned()), ("type", "retrieval".to_owned())];
    let filter = TypedFilter { fields, limit: 1_000, part: Part::After(0) };
    let typed = reader::read(&*store, &scope, &chat_id, &filter).await?;
    let mut references = Vec::new();
    // What a person says cites nothing.
    for mut message in typed.messages.into_iter().filter(|it| it["role"] == "assistant") {
        let sources = message["props"]["sources"].as_array_mut().map(std::mem::take);
        for mut source in sources.unwrap_or_default() {
            if !source.is_object() {
                source = json!({"content": source});
            }
            source["index"] = (references.len() + 1).into();
            source["message_id"] = message["message_id"].clone();
            source["query"] = message["props"]["query"].clone();
            references.push(source);
        }
    }
    Ok(Json(ReferencesResponse {
        request_id: request_id.into(),
        references,
        truncated: typed.is_truncated,
    }))
}
