use persistence::{Store, StoreError};
use records::{ChatId, Permission, Scope, StreamState, TurnId};

/// Ends the running streams of a completion, or of all completions of a chat: what they answer is over.
pub(super) async fn stop_streams(
    store: &dyn Store,
    scope: &Scope,
    chat_id: &ChatId,
    of: Option<&TurnId>,
) -> Result<(), StoreError> {
    let reading = scope.needing(Permission::Read);
    for stream in store.list_streams(&reading, chat_id).await? {
        let is_meant = of.is_none_or(|completion| stream.turn_id() == *completion);
        if is_meant && stream.mark.state == StreamState::Running {
            store.stop_stream(scope, chat_id, &stream.stream_id).await?;
        }
    }
    Ok(())
}
