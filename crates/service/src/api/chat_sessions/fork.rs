use axum::extract::State;
use operation::operation;
use persistence::fork_chat_once;
use records::{Caller, ChatId, JsonObject, NewFork, UserId};
use serde::Deserialize;
use utoipa::ToSchema;

use super::create::{Located, created, own};
use crate::extract::needs::Read;
use crate::extract::{ChatScope, IdempotencyKey, Json, Keyed, Query, check_creates};
use crate::openapi::values;
use crate::problem::Problem;
use crate::state::AppState;

/// A fork to create; its source is in the path.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"sequence": 1, "title": "Another way"}))]
pub(crate) struct ForkRequest {
    /// Minted if missing.
    #[schema(value_type = Option<values::ChatId>)]
    chat_id: Option<ChatId>,
    /// Messages with a sequence below this are shared with the fork; all messages if missing.
    sequence: Option<u64>,
    /// At most 512 characters.
    #[schema(max_length = 512)]
    title: Option<String>,
    /// At most 16 KiB.
    #[schema(value_type = Option<Object>)]
    metadata: Option<JsonObject>,
    /// A user may name only themselves; the default is the caller.
    #[schema(value_type = Option<values::Name>)]
    user_id: Option<UserId>,
    /// Derived from app and chat if missing.
    #[schema(value_type = Option<u64>, maximum = 4_294_967_295_u32)]
    cache_seed: Option<u32>,
}

impl Keyed for ForkRequest {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        key.fill("chat_id", &mut self.chat_id)
    }
}

/// Forks a chat: creates a chat session that continues from an earlier point of another.
///
/// Idempotent under a `chat_id`: a repeat with the same body returns the fork and changes nothing.
#[operation(
    answers = "The fork, running",
    repeated = "A repeat with the same body: the fork that exists",
    problems = [FORBIDDEN_OWNER, CHAT_EXISTS, METADATA_TOO_LARGE, UPGRADE_PENDING],
)]
pub(crate) async fn fork_chat(
    State(state): State<AppState>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(()): Query<()>,
    Json(request): Json<ForkRequest>,
) -> Result<Located, Problem> {
    check_creates(&scope.caller)?;
    let fork = request.on_behalf_of(&scope.caller)?;
    state.check_new_chat(&scope, fork.chat_id.as_ref())?;
    Ok(created(fork_chat_once(&*state.store, &scope, &chat_id, fork).await?))
}

impl ForkRequest {
    /// Fills in the owner: the caller, or the user that a service names.
    fn on_behalf_of(self, caller: &Caller) -> Result<NewFork, Problem> {
        let user_id = match caller {
            // Support forks no chats.
            Caller::Service | Caller::Support { .. } => self.user_id,
            Caller::User { user_id, .. } => own("/user_id", self.user_id.as_ref(), Some(user_id))?,
        };
        Ok(NewFork {
            chat_id: self.chat_id,
            sequence: self.sequence,
            user_id,
            cache_seed: self.cache_seed,
            title: self.title,
            metadata: self.metadata.unwrap_or_default(),
        })
    }
}
