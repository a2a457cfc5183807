use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::{ChatId, JsonObject, MessageEdit, Scope};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::{Expectation, own_or_any};
use crate::admission::Reserve;
use crate::extract::conditions::Conditional;
use crate::extract::needs::Say;
use crate::extract::{ChatScope, Json, Keyed, Path, Query, Sequence, Tagged};
use crate::openapi::values;
use crate::problem::Problem;
use crate::wire::{MessageResponse, keep_null};

/// An edit of a message, with at least one field. Missing fields are not changed; a null field counts as missing, except
/// `content`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = MessageEdit, example = json!({"content": "What should the app do?"}))]
pub(crate) struct UpdateMessageRequest {
    /// The new content; null is a value too.
    #[serde(default, deserialize_with = "keep_null")]
    content: Option<Value>,
    /// The new speaker.
    name: Option<String>,
    /// The new metadata, which replaces all of the old.
    #[schema(value_type = Option<Object>)]
    metadata: Option<JsonObject>,
    /// The new properties, which replace all of the old.
    props: Option<Value>,
    /// The new type.
    #[serde(rename = "type")]
    #[schema(value_type = Option<values::Name>)]
    kind: Option<String>,
}

impl Keyed for UpdateMessageRequest {}

impl TryFrom<UpdateMessageRequest> for MessageEdit {
    type Error = Problem;

    fn try_from(request: UpdateMessageRequest) -> Result<Self, Problem> {
        let UpdateMessageRequest { content, name, metadata, props, kind } = request;
        let edit = Self { content, name, metadata, kind, props, extra: None };
        if edit == Self::default() {
            let detail = "must have at least one of content, name, metadata, type, props";
            return Err(Problem::invalid_body("", detail));
        }
        Ok(edit)
    }
}

/// Edits a message; its sequence and id do not change.
///
/// Users edit what they have written themselves; other messages need the permission `run`.
#[operation(
    answers = "The edited message",
    problems = [SEQUENCE_CONFLICT, MESSAGE_NOT_FOUND, MESSAGE_TOO_LARGE],
)]
pub(crate) async fn update_message(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Say, Conditional>,
    Path(Sequence(sequence)): Path<Sequence>,
    Query(expectation): Query<Expectation>,
    _: Reserve<12>,
    Json(request): Json<UpdateMessageRequest>,
) -> Result<Tagged<Json<MessageResponse>>, Problem> {
    update(&*store, &expectation.of(scope), &chat_id, sequence, request).await
}

pub(super) async fn update(
    store: &dyn Store,
    scope: &Scope,
    chat_id: &ChatId,
    sequence: u64,
    request: UpdateMessageRequest,
) -> Result<Tagged<Json<MessageResponse>>, Problem> {
    let edit: MessageEdit = request.try_into()?;
    let update =
        async |scope: Scope| store.update_message(&scope, chat_id, sequence, edit.clone()).await;
    let message = own_or_any(scope, update).await?;
    let tag = Some(message.entity_tag());
    Ok(Tagged { tag, response: Json(message.into()) })
}
