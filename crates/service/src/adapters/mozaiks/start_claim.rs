//! What starts of the same workflow have in common: the id of the chat that one of them creates.

use chrono::TimeDelta;
use persistence::{DocumentRange, PutCondition, Store, StoreError};
use records::json::{Digest, Hasher, hex};
use records::{AppId, ChatId, DocumentPath, NewDocument, Permission, Scope, StatedBinding};
use serde_json::Value;

/// The namespace of the documents that claim a start.
const NAMESPACE: &str = "reprise/mozaiks/starts";

/// Returns the id of the chat that starts with this digest create, so that one of them creates it.
///
/// The first start stores a document, and its random content id makes the id of the chat. The digest must not make it: everyone can
/// compute it, and every person that knows the id of the chat may join it. `None` means that there is no such id.
pub(super) async fn agreed_id(
    store: &dyn Store,
    app_id: &AppId,
    start: Digest,
    lifetime: TimeDelta,
) -> Result<Option<ChatId>, StoreError> {
    let scope = Scope::service(app_id.clone());
    let Ok(path) = DocumentPath::parse(format!("{NAMESPACE}/{}", hex(&start))) else {
        return Ok(None);
    };
    let claim = NewDocument {
        binding: StatedBinding::default(),
        content_type: "application/octet-stream".to_owned(),
        content: Vec::new(),
        lifetime: Some(lifetime),
    };
    let writing = scope.needing(Permission::Run);
    let head = match store.put_document(&writing, &path, claim, PutCondition::NEW).await {
        Ok(claimed) => claimed.record,
        Err(StoreError::DocumentChanged { .. }) => {
            let reading = scope.needing(Permission::Read);
            let found = store.read_document(&reading, &path, DocumentRange::Nothing).await?;
            let Some(found) = found else { return Ok(None) };
            found.head
        }
        // An older release is still running.
        Err(StoreError::UpgradePending { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    // A person may have stored a document here, and would know what it makes.
    if head.binding.user_id.is_some() || head.binding.chat_id.is_some() {
        return Ok(None);
    }
    let mut hasher = Hasher::default();
    hasher.field("claim", &Value::from(head.content_id));
    Ok(ChatId::parse(format!("chat_{}", &hex(&hasher.finish())[..24])).ok())
}
