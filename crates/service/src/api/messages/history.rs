use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use futures::TryStreamExt as _;
use persistence::Store;
use records::{ChatId, Message, UserId};
use resume::dialect::{self, Dialect};
use resume::{Dropped, Options, Repaired, window};
use serde::Serialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use crate::config::Limits;
use crate::extract::{FromParams, InChat, Json, Params, Query};
use crate::openapi::ChatPath;
use crate::problem::{ChatProblems, Problem};

/// In which form, and how much.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct HistoryQuery {
    /// The form to give the messages: `ag2` (unless said) or `openai`.
    #[param(value_type = Option<String>, example = "ag2")]
    dialect: &'static dyn Dialect,
    /// Only the newest so many; system messages are kept and counted, and no tool call is
    /// separated from its results.
    #[param(value_type = Option<usize>, minimum = 1)]
    newest: Option<usize>,
    /// The name of a user whose messages carry none; `user` unless said.
    #[param(value_type = Option<String>, example = "user")]
    default_user_name: String,
}

impl FromParams for HistoryQuery {
    fn from_params(params: &mut Params, _limits: &Limits) -> Result<Self, Problem> {
        let dialect = params.take_with("dialect", |name| {
            let names = || dialect::names().collect::<Vec<_>>().join(", ");
            dialect::named(name).ok_or_else(|| format!("must be one of {}", names()))
        })?;
        let user = params.take_with("default_user_name", |name| {
            UserId::parse(name).map_err(|error| error.rule)
        })?;
        Ok(Self {
            dialect: dialect.unwrap_or(&dialect::Ag2),
            newest: params.take_in("newest", 1..=usize::MAX)?,
            default_user_name: user.map_or_else(|| "user".to_owned(), Into::into),
        })
    }
}

/// A conversation in the form an orchestrator resumes from.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HistoryResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    #[schema(example = "ag2")]
    dialect: &'static str,
    /// The messages, oldest first; in `ag2` exactly `role`, `name` and `content`.
    #[schema(value_type = Vec<Object>, example = json!([
        {"role": "user", "name": "user", "content": "Create a todo app"}
    ]))]
    messages: Vec<Value>,
    /// What the form has no place for.
    dropped: Vec<DroppedResponse>,
    /// What had to be changed to fit; missing when nothing had to.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    repaired: Vec<RepairedResponse>,
    /// The original of each name that was changed; missing when none was.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    names: BTreeMap<String, String>,
}

/// A message that was left out.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Dropped)]
pub(crate) struct DroppedResponse {
    /// Its position in the chat.
    sequence: Option<u64>,
    /// Why, as a stable word.
    #[schema(example = "unsupported_role")]
    reason: &'static str,
    /// Why, in a sentence.
    detail: String,
}

/// A message that was changed; the stored one stays as it is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Repaired)]
pub(crate) struct RepairedResponse {
    /// Its position in the chat.
    sequence: u64,
    /// What was changed, as a stable word.
    #[schema(example = "name_sanitised")]
    repair: &'static str,
    /// What was changed, in a sentence.
    detail: String,
}

impl From<Dropped> for DroppedResponse {
    fn from(dropped: Dropped) -> Self {
        Self {
            sequence: dropped.sequence,
            reason: dropped.reason.slug(),
            detail: dropped.reason.to_string(),
        }
    }
}

impl From<Repaired> for RepairedResponse {
    fn from(repaired: Repaired) -> Self {
        Self {
            sequence: repaired.sequence,
            repair: repaired.repair.slug(),
            detail: repaired.repair.to_string(),
        }
    }
}

impl HistoryQuery {
    fn render(self, chat_id: ChatId, messages: Vec<Message>) -> HistoryResponse {
        let messages = match self.newest {
            Some(size) => window::newest(messages, size),
            None => messages,
        };
        let options = Options { default_user_name: self.default_user_name };
        let rendered = self.dialect.render(messages, &options);
        HistoryResponse {
            chat_id: chat_id.into(),
            dialect: self.dialect.name(),
            messages: rendered.messages,
            dropped: rendered.dropped.into_iter().map(Into::into).collect(),
            repaired: rendered.repaired.into_iter().map(Into::into).collect(),
            names: rendered.names,
        }
    }
}

/// Returns the conversation in the form an orchestrator resumes from.
///
/// What does not fit the form is left out or changed, and reported: nothing vanishes in silence.
#[utoipa::path(
    get, path = "/api/chats/{app_id}/{chat_id}/history", tag = "messages",
    operation_id = "get_history", params(ChatPath, HistoryQuery),
    responses(
        (status = 200, description = "The conversation", body = HistoryResponse),
        ChatProblems,
    ),
)]
pub(crate) async fn get_history(
    State(store): State<Arc<dyn Store>>,
    InChat { scope, chat_id }: InChat,
    Query(query): Query<HistoryQuery>,
) -> Result<Json<HistoryResponse>, Problem> {
    let messages = store.history(&scope, &chat_id).try_collect().await?;
    Ok(Json(query.render(chat_id, messages)))
}
