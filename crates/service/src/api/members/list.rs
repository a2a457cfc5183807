use std::sync::Arc;

use axum::extract::State;
use persistence::Store;
use records::Member;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::pages::Page;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json, Query};
use crate::openapi::{ChatPath, values};
use crate::problem::{ChatProblems, Problem};

/// A member of a chat.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Member)]
pub(crate) struct MemberResponse {
    #[schema(example = "user_bob_789")]
    user_id: String,
    /// `member` (may read and say) or `reader` (may read).
    #[schema(value_type = values::MemberRole)]
    role: &'static str,
}

impl From<Member> for MemberResponse {
    fn from(member: Member) -> Self {
        Self { user_id: member.user_id.into(), role: member.role.as_str() }
    }
}

/// Lists the members of a chat, at most 256, in the order in which they were added. Its owner is not among them.
#[utoipa::path(
    get, path = "/api/chats/{app_id}/{chat_id}/members", tag = "members",
    operation_id = "list_members", params(ChatPath),
    security(("bearer_token" = ["read"])),
    responses((status = 200, description = "The members", body = Page<MemberResponse>), ChatProblems),
)]
pub(crate) async fn list_members(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(()): Query<()>,
) -> Result<Json<Page<MemberResponse>>, Problem> {
    let members = store.list_members(&scope, &chat_id).await?;
    Ok(Json(Page::whole(members)))
}
