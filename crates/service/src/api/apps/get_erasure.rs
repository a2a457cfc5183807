use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, StoreError};
use records::{AuditAction, Pseudonym};

use crate::extract::{Json, OperatedApp, Path, Query};
use crate::problem::Problem;
use crate::receipts::ReceiptSigner;
use crate::wire::ErasureResponse;

/// Returns an erasure: how far it has come or, once it is finished, its receipt.
#[operation(answers = "The erasure", problems = [ERASURE_NOT_FOUND])]
pub(crate) async fn get_erasure(
    State(store): State<Arc<dyn Store>>,
    State(signer): State<Arc<ReceiptSigner>>,
    OperatedApp { app_id, actor }: OperatedApp,
    Path(pseudonym): Path<Pseudonym>,
    Query(()): Query<()>,
) -> Result<Json<ErasureResponse>, Problem> {
    let erasure = store.get_erasure(&app_id, pseudonym).await?;
    let erasure = erasure.ok_or(StoreError::ErasureNotFound(pseudonym))?;
    store.record_registry_read(&actor, Some(&app_id), AuditAction::GetErasure).await?;
    Ok(Json(ErasureResponse::new(erasure, &signer)))
}
