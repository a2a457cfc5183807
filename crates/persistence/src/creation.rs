//! Creations under an id that the caller chose, which are safe to repeat.

use records::{ChatId, ChatSession, NewChatSession, NewFork, Permission, Scope};

use crate::{Store, StoreError};

/// The result of a creation that may be a repeat.
#[derive(Debug, Clone, PartialEq)]
pub enum Creation {
    /// The call created this chat session.
    New(ChatSession),
    /// An earlier call with the same arguments created this chat session; nothing was changed.
    Repeated(ChatSession),
}

/// Creates a chat session, or returns the one that a call with the same arguments created.
///
/// If the id belongs to another chat, or to one that the caller may not read, the call is
/// [`ChatExists`](StoreError::ChatExists). A creation stores all its arguments and nothing changes
/// them later, so the stored chat session tells whether the call is a repeat.
pub async fn create_chat_once(
    store: &dyn Store,
    scope: &Scope,
    new: NewChatSession,
) -> Result<Creation, StoreError> {
    match store.create_chat(scope, new.clone()).await {
        Ok(chat) => Ok(Creation::New(chat)),
        Err(StoreError::ChatExists(chat_id)) => {
            existing(store, scope, chat_id, |chat| new.has_created(chat)).await
        }
        Err(error) => Err(error),
    }
}

/// Returns the chat session under the id of `new`, and creates it if there is none.
///
/// An existing chat of another workflow, or one that the caller may not read, is
/// [`ChatExists`](StoreError::ChatExists).
pub async fn ensure_chat(
    store: &dyn Store,
    scope: &Scope,
    new: NewChatSession,
) -> Result<Creation, StoreError> {
    let workflow_name = new.workflow_name.clone();
    match store.create_chat(scope, new).await {
        Ok(chat) => Ok(Creation::New(chat)),
        Err(StoreError::ChatExists(chat_id)) => {
            existing(store, scope, chat_id, |chat| chat.workflow_name == workflow_name).await
        }
        Err(error) => Err(error),
    }
}

/// Forks a chat, or returns the fork that a call with the same arguments created.
///
/// Errors are those of [`create_chat_once`]. A missing sequence means all messages at the time of the
/// first call; a repeat returns that fork, however far the source has grown since.
pub async fn fork_chat_once(
    store: &dyn Store,
    scope: &Scope,
    source: &ChatId,
    fork: NewFork,
) -> Result<Creation, StoreError> {
    match store.fork_chat(scope, source, fork.clone()).await {
        Ok(chat) => Ok(Creation::New(chat)),
        Err(StoreError::ChatExists(chat_id)) => {
            existing(store, scope, chat_id, |chat| fork.has_created(source, chat)).await
        }
        Err(error) => Err(error),
    }
}

/// Returns the chat session under an id, if the caller may see it and the call may have created it.
async fn existing(
    store: &dyn Store,
    scope: &Scope,
    chat_id: ChatId,
    is_repeat: impl FnOnce(&ChatSession) -> bool,
) -> Result<Creation, StoreError> {
    match store.get_chat(&scope.needing(Permission::Read), &chat_id).await? {
        Some(chat) if is_repeat(&chat) => Ok(Creation::Repeated(chat)),
        _ => Err(StoreError::ChatExists(chat_id)),
    }
}
