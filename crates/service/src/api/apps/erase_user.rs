use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::UserId;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::extract::{Json, Keyed, OperatedApp, Query};
use crate::openapi::values;
use crate::problem::Problem;
use crate::receipts::ReceiptSigner;
use crate::wire::ErasureResponse;

/// The person to erase.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewErasure, example = json!({"user_id": "user_alice_456"}))]
pub(crate) struct EraseRequest {
    #[schema(value_type = values::Name)]
    user_id: UserId,
}

impl Keyed for EraseRequest {}

/// Begins to erase a person from an app. Idempotent while the erasure is under way.
///
/// A service works through the chats of the app from then on, whether or not the caller waits; read the erasure to see how
/// far it has come. What the person writes meanwhile may remain, so revoke their tokens first.
#[operation(answers = "The erasure", problems = [UPGRADE_PENDING])]
pub(crate) async fn erase_user(
    State(store): State<Arc<dyn Store>>,
    State(signer): State<Arc<ReceiptSigner>>,
    OperatedApp { app_id, actor }: OperatedApp,
    Query(()): Query<()>,
    Json(request): Json<EraseRequest>,
) -> Result<Json<ErasureResponse>, Problem> {
    let erasure = store.begin_erasure(&actor, &app_id, &request.user_id).await?;
    Ok(Json(ErasureResponse::new(erasure, &signer)))
}
