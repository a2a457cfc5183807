use std::collections::BTreeSet;
use std::marker::PhantomData;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use persistence::StoreError;
use records::{AppId, AuditAction, Caller, ChatId, Permission, Scope, UserId};

use super::conditions::{Conditions, Unconditional};
use super::fencing_token::fencing_header;
use super::identity::identified;
use super::if_match::if_match_header;
use super::needs::Needed;
use super::path::{PathParam, parse_path_param, path_param};
use crate::auth::Identity;
use crate::operation::{Description, Input};
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;
use crate::traces;

/// How many entries of the audit log are written at once for one request.
const RECORDED_AT_ONCE: usize = 8;

/// A request to an app as a whole.
///
/// An app that the caller's token does not name is refused with 403. The answer is the same whether the
/// app exists or not, so it reveals nothing, and it tells the caller that the token is the problem.
#[derive(Debug)]
pub(crate) struct AppScope<P>(pub(crate) Scope, pub(crate) PhantomData<P>);

impl<P: Needed> Input for AppScope<P> {
    fn describe(description: &mut Description) {
        describe_app(description, P::PERMISSION);
        description.problems(&[ProblemKind::FORBIDDEN_APP]);
    }
}

impl<P: Needed> FromRequestParts<AppState> for AppScope<P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let identity = identified(parts, state).await?;
        let app_id = app_id(parts).await?;
        let scope = authorize_app(app_id, &identity, P::PERMISSION, state).await?;
        record_support(state, &scope, None).await?;
        Ok(Self(scope, PhantomData))
    }
}

/// A request to one chat.
///
/// A chat of an app that the caller's token does not name is answered with 404, like an id that was never
/// used: a caller that may not see a chat cannot find out that it exists.
///
/// `C` says which conditions of a write the route honours.
#[derive(Debug)]
pub(crate) struct ChatScope<P, C = Unconditional> {
    /// The scope, which needs the permission `P`.
    pub(crate) scope: Scope,
    pub(crate) chat_id: ChatId,
    kind: PhantomData<(P, C)>,
}

impl<P: Needed, C: Conditions> FromRequestParts<AppState> for ChatScope<P, C> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let identity = identified(parts, state).await?;
        let (scope, chat_id) = read_chat_scope(parts, &identity, P::PERMISSION, state).await?;
        Ok(Self { scope, chat_id, kind: PhantomData })
    }
}

impl<P: Needed, C: Conditions> Input for ChatScope<P, C> {
    fn describe(description: &mut Description) {
        describe_chat(description, P::PERMISSION);
        C::describe(description);
    }
}

/// The caller of a route whose path names no app: the app is in the body. It needs the permission `P` in that app.
#[derive(Debug)]
pub(crate) struct UnscopedCaller<P>(Identity, PhantomData<P>);

impl<P: Needed> FromRequestParts<AppState> for UnscopedCaller<P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        Ok(Self(identified(parts, state).await?, PhantomData))
    }
}

impl<P: Needed> Input for UnscopedCaller<P> {
    fn describe(description: &mut Description) {
        describe_in_app(description, P::PERMISSION);
        description.problems(&[ProblemKind::FORBIDDEN_APP]);
    }
}

impl<P: Needed> UnscopedCaller<P> {
    /// Returns the scope of the caller in an app.
    pub(crate) async fn scope_in(
        self,
        app_id: Option<&str>,
        state: &AppState,
    ) -> Result<Scope, Problem> {
        authorize_app(required_app_id(app_id)?, &self.0, P::PERMISSION, state).await
    }
}

/// Describes a request that concerns an app.
pub(super) fn describe_in_app(description: &mut Description, permission: Permission) {
    description.permission(permission);
    description.problems(&[
        ProblemKind::INVALID_APP_ID,
        ProblemKind::APP_DISABLED,
        ProblemKind::FORBIDDEN_ROLE,
        ProblemKind::FORBIDDEN_PERMISSION,
    ]);
}

/// Describes a request whose path names an app.
pub(super) fn describe_app(description: &mut Description, permission: Permission) {
    AppId::describe(description);
    describe_in_app(description, permission);
}

/// Describes a request whose path names a chat.
pub(super) fn describe_chat(description: &mut Description, permission: Permission) {
    describe_app(description, permission);
    ChatId::describe(description);
    description.problems(&[ProblemKind::CHAT_NOT_FOUND]);
}

/// Reads the chat from the path, and authorizes the caller.
pub(super) async fn read_chat_scope(
    parts: &mut Parts,
    identity: &Identity,
    needed: Permission,
    state: &AppState,
) -> Result<(Scope, ChatId), Problem> {
    let app_id = app_id(parts).await?;
    let chat_id = parse_path_param(parts).await?;
    let fencing_token = fencing_header(parts)?;
    let scope = authorize_chat(app_id, &chat_id, identity, needed, state).await?;
    record_support(state, &scope, Some(&chat_id)).await?;
    let if_match = if_match_header(parts)?;
    Ok((Scope { fencing_token, if_match, ..scope }, chat_id))
}

/// Authorizes a caller for the app of a chat; `ChatNotFound` if it may not use the app.
pub(crate) async fn authorize_chat(
    app_id: AppId,
    chat_id: &ChatId,
    identity: &Identity,
    needed: Permission,
    state: &AppState,
) -> Result<Scope, Problem> {
    identity.check_revoked_in(&app_id)?;
    if !identity.may_use_app(&app_id) {
        return Err(StoreError::ChatNotFound(chat_id.clone()).into());
    }
    authorize_app(app_id, identity, needed, state).await
}

/// Records in the audit log that support reads a chat or the list of chats, or says something. A request whose entry
/// cannot be stored is refused, and so is one to a chat that does not exist.
///
/// Managing a chat has entries of its own, which the store writes.
pub(crate) async fn record_support(
    state: &AppState,
    scope: &Scope,
    chat_id: Option<&ChatId>,
) -> Result<(), Problem> {
    if !matches!(scope.caller, Caller::Support { .. }) {
        return Ok(());
    }
    let action = match (scope.permission, chat_id) {
        (Permission::Read, Some(_)) => AuditAction::ReadChat,
        (Permission::Read, None) => AuditAction::ListChats,
        (Permission::Say, _) => AuditAction::SayInChat,
        _ => return Ok(()),
    };
    let store = &state.store;
    match store.record_chat_read(scope, chat_id, action).await {
        // It may be deleted, and read as such by those who manage it.
        Err(StoreError::ChatNotFound(_)) if action == AuditAction::ReadChat => {
            let managing = scope.needing(Permission::Manage).finding_deleted();
            Ok(store.record_chat_read(&managing, chat_id, action).await?)
        }
        recorded => Ok(recorded?),
    }
}

/// Records in the audit log that support reads these chats. A list shows what was said in them.
pub(crate) async fn record_support_in<'a>(
    state: &AppState,
    scope: &Scope,
    chats: impl Iterator<Item = &'a ChatId>,
) -> Result<(), Problem> {
    if !matches!(scope.caller, Caller::Support { .. }) {
        return Ok(());
    }
    let chats: BTreeSet<&ChatId> = chats.collect();
    let record = async |chat_id| record_support(state, scope, Some(chat_id)).await;
    stream::iter(chats).map(Ok).try_for_each_concurrent(RECORDED_AT_ONCE, record).await
}

/// Refuses a user that acts for another user, whether the requested record exists or not. `detail` says what
/// users may do only for themselves.
pub(crate) fn check_acts_for(
    caller: &Caller,
    user_id: &UserId,
    detail: &str,
) -> Result<(), Problem> {
    if caller.may_act_for(user_id) {
        return Ok(());
    }
    Err(Problem::new(ProblemKind::FORBIDDEN_OWNER, detail))
}

/// Returns the app from the path.
pub(super) async fn app_id(parts: &mut Parts) -> Result<AppId, Problem> {
    parse_app_id(path_param::<AppId>(parts).await?)
}

/// Parses an app id from any part of the request.
pub(super) fn parse_app_id(text: impl Into<String>) -> Result<AppId, Problem> {
    AppId::parse(text).map_err(|error| Problem::new(ProblemKind::INVALID_APP_ID, error.to_string()))
}

/// Parses an app id from the query or the body, where it is required.
pub(super) fn required_app_id(text: Option<&str>) -> Result<AppId, Problem> {
    let missing = || Problem::new(ProblemKind::INVALID_APP_ID, "app_id is missing");
    parse_app_id(text.ok_or_else(missing)?)
}

/// Authorizes a caller for an app: the token must name it, and the registry must allow it.
pub(super) async fn authorize_app(
    app_id: AppId,
    identity: &Identity,
    needed: Permission,
    state: &AppState,
) -> Result<Scope, Problem> {
    check_app(&app_id, identity)?;
    let settings = state.registry.check(&app_id).await?;
    let caller = identity.caller(settings)?;
    if needed == Permission::Create {
        check_creates(&caller)?;
    }
    traces::note_app(&app_id);
    let (grant, origin) = (identity.grant(), identity.origin());
    Ok(Scope { grant, origin, ..Scope::new(app_id, caller, needed) })
}

/// Refuses a caller that may not create chats, and so may not fork any.
pub(crate) fn check_creates(caller: &Caller) -> Result<(), Problem> {
    if caller.may_create() {
        return Ok(());
    }
    let detail = "a token with the role support cannot create chats";
    Err(Problem::new(ProblemKind::FORBIDDEN_ROLE, detail))
}

/// Refuses an app that the token does not name.
pub(super) fn check_app(app_id: &AppId, identity: &Identity) -> Result<(), Problem> {
    identity.check_revoked_in(app_id)?;
    if identity.may_use_app(app_id) {
        return Ok(());
    }
    let detail = "the token is not valid for this app; use one whose apps claim names it";
    Err(Problem::new(ProblemKind::FORBIDDEN_APP, detail))
}
