use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::Member;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::pages::Page;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Query};
use crate::openapi::values;
use crate::problem::Problem;

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
#[operation(answers = "The members")]
pub(crate) async fn list_members(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(()): Query<()>,
) -> Result<Page<MemberResponse>, Problem> {
    let members = store.list_members(&scope, &chat_id).await?;
    Ok(Page::whole(members))
}
