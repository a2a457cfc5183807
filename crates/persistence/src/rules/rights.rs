//! What the rights of a caller mean for what is written.

use records::{ChatId, Message, MessageBody, MessageEdit, Permission, Scope, UserId};
use serde_json::Value;

use crate::StoreError;

/// Refuses messages that do more than say something as a user, from a caller that may only do that.
pub(crate) fn check_roles<'a>(
    scope: &Scope,
    chat_id: &ChatId,
    messages: impl Iterator<Item = &'a MessageBody>,
) -> Result<(), StoreError> {
    match Permission::to_append(messages) {
        Permission::Run if says_only(scope) => Err(forbidden(chat_id, Permission::Run)),
        _ => Ok(()),
    }
}

/// Refuses an answer that does more than say something, like [`check_roles`].
pub(crate) fn check_answer(
    scope: &Scope,
    chat_id: &ChatId,
    content: &Value,
) -> Result<(), StoreError> {
    if says_only(scope) && MessageBody::content_acts(content) {
        return Err(forbidden(chat_id, Permission::Run));
    }
    Ok(())
}

/// Refuses an edit of another person's message by a caller that may only say something, and one that does more; `None` deletes.
pub(crate) fn check_edit(
    scope: &Scope,
    chat_id: &ChatId,
    message: &Message,
    edit: Option<&MessageEdit>,
) -> Result<(), StoreError> {
    if says_only(scope) && edit.is_some_and(MessageEdit::acts) {
        return Err(forbidden(chat_id, Permission::Run));
    }
    let author = message.author.as_ref().map(|author| &author.user_id);
    check_author(scope, chat_id, author)
}

/// Refuses an edit of a message by this author, like [`check_edit`].
pub(crate) fn check_author(
    scope: &Scope,
    chat_id: &ChatId,
    author: Option<&UserId>,
) -> Result<(), StoreError> {
    if says_only(scope) && author != scope.caller.person() {
        return Err(forbidden(chat_id, Permission::Run));
    }
    Ok(())
}

/// Returns whether the caller is a person who may do no more than say something.
pub(crate) fn says_only(scope: &Scope) -> bool {
    scope.permission == Permission::Say && scope.caller.person().is_some()
}

fn forbidden(chat_id: &ChatId, permission: Permission) -> StoreError {
    StoreError::Forbidden { chat_id: chat_id.clone(), permission }
}
