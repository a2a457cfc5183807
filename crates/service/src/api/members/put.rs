use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use operation::operation;
use persistence::Store;
use records::UserId;
use records::{Member, MemberRole};
use serde::Deserialize;
use utoipa::ToSchema;

use super::list::MemberResponse;
use crate::extract::needs::Manage;
use crate::extract::{ChatScope, Json, Keyed, OptionalJson, Path, Query};
use crate::openapi::values;
use crate::problem::Problem;
use crate::wire::write_status;

/// What a member may do.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewMember, example = json!({"role": "reader"}))]
pub(crate) struct PutMemberRequest {
    #[serde(default)]
    #[schema(value_type = values::MemberRole)]
    role: Role,
}

impl Keyed for PutMemberRequest {}

/// `member` (may read and say) or `reader` (may read).
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    #[default]
    Member,
    Reader,
}

impl From<Role> for MemberRole {
    fn from(role: Role) -> Self {
        match role {
            Role::Member => Self::Member,
            Role::Reader => Self::Reader,
        }
    }
}

/// Adds a user to a chat, or changes the role of a member. Idempotent.
///
/// A chat has at most 256 members; further users may only read.
#[operation(
    answers = "The user has this role now",
    repeated = "The user had this role before",
    problems = [FENCED, TOO_MANY_MEMBERS],
)]
pub(crate) async fn put_member(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Manage>,
    Path(user_id): Path<UserId>,
    Query(()): Query<()>,
    OptionalJson(request): OptionalJson<PutMemberRequest>,
) -> Result<(StatusCode, Json<MemberResponse>), Problem> {
    let role = request.role.into();
    let outcome = store.put_member(&scope, &chat_id, &user_id, role).await?;
    Ok((write_status([outcome]), Json(Member { user_id, role }.into())))
}
