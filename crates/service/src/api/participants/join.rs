use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::{Caller, DisplayName, UserId};
use serde::Deserialize;
use utoipa::ToSchema;

use super::ONLY_FOR_THEMSELVES;
use crate::api::created::Created;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Keyed, OptionalJson, Query, check_acts_for};
use crate::openapi::values;
use crate::problem::Problem;
use crate::wire::ParticipantResponse;

/// The user who joins: the caller, or the user that a service names.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewParticipant, example = json!({"user_id": "user_alice_456", "display_name": "Alice"}))]
pub(crate) struct JoinRequest {
    #[schema(value_type = Option<values::Name>)]
    user_id: Option<UserId>,
    /// The display name: 1 to 128 visible characters, without blanks at its ends.
    #[schema(value_type = Option<values::Name>)]
    display_name: Option<DisplayName>,
}

impl Keyed for JoinRequest {}

impl JoinRequest {
    /// Returns the user who joins.
    fn user_id(&self, caller: &Caller) -> Result<UserId, Problem> {
        let user_id = self.user_id.as_ref().or(caller.person());
        let user_id = user_id.ok_or_else(|| Problem::invalid_body("/user_id", "is missing"))?;
        check_acts_for(caller, user_id, ONLY_FOR_THEMSELVES)
            .map_err(|problem| problem.at("/user_id", "must be that of the caller"))?;
        Ok(user_id.clone())
    }
}

/// Adds a participant to a chat. Idempotent: for an existing participant only the display name is updated, if
/// one is given.
///
/// Joining an open chat (`link` or `app`) makes the user a member, and so does a service that names a user.
#[operation(
    answers = "The user is a participant now",
    repeated = "The user was a participant before",
    problems = [FORBIDDEN_OWNER, TOO_MANY_PARTICIPANTS],
)]
pub(crate) async fn join_chat(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(()): Query<()>,
    OptionalJson(request): OptionalJson<JoinRequest>,
) -> Result<Created<ParticipantResponse>, Problem> {
    let user_id = request.user_id(&scope.caller)?;
    let name = request.display_name.as_ref();
    let joined = store.join_chat(&scope, &chat_id, &user_id, name).await?;
    Ok(Created::new(joined.participant, joined.outcome))
}
