//! Saying something in an open chat makes a person a member of it, so that they may say something before they are one.

use persistence::{AnsweredInput, Append, Store, StoreError};
use records::{
    ChatId, ChatSession, InputRequestId, Member, NewInputAnswer, NewMessage, Permission, Scope,
    UserId, Visibility,
};

/// Appends messages; a person who may only read joins the chat first, if its visibility is `link`.
pub(crate) async fn append(
    store: &dyn Store,
    scope: &Scope,
    chat_id: &ChatId,
    messages: Vec<NewMessage>,
) -> Result<Append, StoreError> {
    let call = |messages| store.append(scope, chat_id, messages);
    joining(store, scope, chat_id, messages, call).await
}

/// Answers an input request; joins like [`append`].
pub(crate) async fn answer(
    store: &dyn Store,
    scope: &Scope,
    chat_id: &ChatId,
    request_id: &InputRequestId,
    answer: NewInputAnswer,
) -> Result<AnsweredInput, StoreError> {
    let call = |answer| store.answer_input_request(scope, chat_id, request_id, answer);
    joining(store, scope, chat_id, answer, call).await
}

/// Makes a call that says something. If the caller is refused and may join the chat, the caller joins it, and the call
/// is made again.
async fn joining<I: Clone, T, F>(
    store: &dyn Store,
    scope: &Scope,
    chat_id: &ChatId,
    input: I,
    call: impl Fn(I) -> F,
) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    // A program is never refused, and its batches may be large.
    let again = scope.caller.person().map(|_| input.clone());
    let answer = call(input).await;
    match again {
        Some(input) if joins_after(store, scope, chat_id, &answer).await? => call(input).await,
        _ => answer,
    }
}

/// Makes a person who opens a socket a member of an open chat. One that is full admits them as a reader.
pub(crate) async fn open_chat(
    store: &dyn Store,
    scope: &Scope,
    chat: &ChatSession,
) -> Result<(), StoreError> {
    let Some(person) = scope.caller.person() else { return Ok(()) };
    let may_say = scope.grant.admits(Permission::Say);
    if !may_say || !chat.visibility.is_open() || chat.user_id.as_ref() == Some(person) {
        return Ok(());
    }
    match store.join_chat(scope, &chat.chat_id, person, None).await {
        Ok(_) | Err(StoreError::TooManyParticipants(_)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns what the caller may do in a chat, whatever its status and lifecycle are.
pub(crate) async fn permissions(
    store: &dyn Store,
    scope: &Scope,
    chat: &ChatSession,
) -> Result<Vec<Permission>, StoreError> {
    let scope = scope.needing(Permission::Read).finding_deleted();
    let (mut members, mut joins) = (Vec::new(), false);
    // Membership gives no more than to say something.
    if let Some(person) = scope.caller.person()
        && !scope.may(Permission::Say, chat, &members)
    {
        members = store.list_members(&scope, &chat.chat_id).await?;
        joins = joins_by_saying(&scope, person, chat, &members);
    }
    let held = |it: &Permission| match it {
        // A caller who starts chats may fork each one that they read.
        Permission::Create => scope.caller.may_create() && scope.grant.admits(Permission::Create),
        Permission::Say if joins => true,
        other => scope.may(*other, chat, &members),
    };
    Ok(Permission::OF_CHATS.into_iter().filter(held).collect())
}

/// Returns whether saying something makes a person a member of a chat with these members.
fn joins_by_saying(scope: &Scope, person: &UserId, chat: &ChatSession, members: &[Member]) -> bool {
    chat.visibility == Visibility::Link && scope.makes_member(person, chat, members)
}

/// Joins the chat after a refusal, if joining gives the right to say something. Returns whether it did.
async fn joins_after<T>(
    store: &dyn Store,
    scope: &Scope,
    chat_id: &ChatId,
    answer: &Result<T, StoreError>,
) -> Result<bool, StoreError> {
    let is_refused =
        matches!(answer, Err(StoreError::Forbidden { permission: Permission::Say, .. }));
    let Some(person) = scope.caller.person().filter(|_| is_refused) else { return Ok(false) };
    let reading = scope.needing(Permission::Read);
    let Some(chat) = store.get_chat(&reading, chat_id).await? else { return Ok(false) };
    // Saves reading the members.
    if chat.visibility != Visibility::Link {
        return Ok(false);
    }
    let members = store.list_members(&reading, chat_id).await?;
    let is_joining = joins_by_saying(scope, person, &chat, &members);
    if is_joining {
        store.join_chat(&reading, chat_id, person, None).await?;
    }
    Ok(is_joining)
}
