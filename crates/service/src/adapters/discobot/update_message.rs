use axum::extract::State;
use operation::operation;
use persistence::StoreError;
use records::{JsonObject, Location, Message, Permission};
use resume::dialect::Parsed;
use serde::Deserialize;
use utoipa::ToSchema;

use super::find::{StoredMessage, answered_ids};
use super::merge::{StoredChanges, merged};
use super::message;
use crate::adapters::ForeignQuery;
use crate::admission::Reserve;
use crate::api::messages::{append_within, own_or_any};
use crate::extract::conditions::Fenced;
use crate::extract::needs::Say;
use crate::extract::{ChatScope, Json, Keyed, MessageId, Path};
use crate::operation::NoContent;
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;

/// Fields of a `UIMessage`. Each replaces the old one.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(transparent)]
#[schema(as = UpdateSessionMessage, value_type = Object, example = json!({"content": "Updated"}))]
pub(crate) struct UpdateMessageRequest(JsonObject);

impl Keyed for UpdateMessageRequest {}

/// Changes fields of a message. A message that does not exist stays so.
///
/// `content` without `parts` replaces the text. Results of calls may be added at any time, other parts after a call only to
/// the last message. A message with calls is stored as several, so that a request that is cut off may have changed some of
/// them; the same request again does the rest. Users change what they have written themselves; other messages need the
/// permission `run`.
#[operation(answers = "The message is changed, if it exists", problems = [SEQUENCE_CONFLICT, MESSAGE_TOO_LARGE])]
pub(crate) async fn update_session_message(
    State(state): State<AppState>,
    ChatScope { scope, chat_id, .. }: ChatScope<Say, Fenced>,
    Path(MessageId(id)): Path<MessageId>,
    ForeignQuery(()): ForeignQuery<()>,
    _: Reserve<16>,
    Json(UpdateMessageRequest(changes)): Json<UpdateMessageRequest>,
) -> Result<NoContent, Problem> {
    let store = &*state.store;
    let reading = scope.needing(Permission::Read);
    let found = match StoredMessage::find(store, &reading, &chat_id, &id).await {
        Err(StoreError::ChatNotFound(_)) => None,
        found => found?,
    };
    let Some(found) = found else { return Ok(NoContent) };
    let changes = changes_of(found, changes).await?;
    for (sequence, edit) in changes.edits {
        let update =
            async |scope| store.update_message(&scope, &chat_id, sequence, edit.clone()).await;
        own_or_any(&scope, update).await?;
    }
    if !changes.appended.is_empty() {
        let place = |_| Location::from("/parts");
        let appended = append_within(&state, &scope, &chat_id, changes.appended).await;
        appended.map_err(|error| Problem::located(error, place))?;
    }
    if !changes.deleted.is_empty() {
        let delete = async |scope| store.delete_messages(&scope, &chat_id, &changes.deleted).await;
        own_or_any(&scope, delete).await?;
    }
    Ok(NoContent)
}

/// Returns what changes in the store when fields of a message change.
async fn changes_of(found: StoredMessage, changes: JsonObject) -> Result<StoredChanges, Problem> {
    let has_several = |it: &Message| answered_ids(&it.body).count() > 1;
    let shown = found.shown().filter(|_| !found.messages.iter().any(has_several));
    let Some(shown) = shown else {
        let detail = "the message is stored in a way that cannot be changed here";
        return Err(Problem::invalid_body("", detail));
    };
    let place = |at: Location| if at.item.is_some() { "/parts".into() } else { at };
    let becomes = message::read(vec![merged(shown, changes)?]).await;
    let Parsed { messages, .. } = becomes.map_err(|problem| Problem::located(problem, place))?;
    let stored = StoredChanges::between(found.messages, messages);
    if stored.says_more() && !found.is_last {
        let detail = "only calls and results can be added to a message that others follow";
        return Err(Problem::new(ProblemKind::SEQUENCE_CONFLICT, detail));
    }
    Ok(stored)
}
