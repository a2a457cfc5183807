use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use persistence::StoreError;
use records::{AppId, Caller, ChatId, Scope, UserId};

use super::fencing::carried;
use super::path::{parse_path_param, path_param};
use crate::auth::Identity;
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;

/// A call to an app as a whole.
///
/// An app the caller's token does not name is refused with 403: the answer is the same whether the
/// app exists or not, and tells an honest caller that the token is the problem.
#[derive(Debug)]
pub(crate) struct InApp(pub(crate) Scope);

impl FromRequestParts<AppState> for InApp {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let identity = state.authenticator.identify(&parts.headers)?;
        let app_id = app_id(parts).await?;
        Ok(Self(admitted(app_id, &identity, state).await?))
    }
}

/// A call to one chat.
///
/// A chat of an app the caller's token does not name is answered like an id never used, 404: who
/// may not see a chat cannot find out that it exists.
#[derive(Debug)]
pub(crate) struct InChat {
    pub(crate) scope: Scope,
    pub(crate) chat_id: ChatId,
}

impl FromRequestParts<AppState> for InChat {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let identity = state.authenticator.identify(&parts.headers)?;
        in_chat(parts, &identity, state).await
    }
}

/// A call that names its app outside the path.
#[derive(Debug)]
pub(crate) struct Anywhere(Identity);

impl FromRequestParts<AppState> for Anywhere {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        state.authenticator.identify(&parts.headers).map(Self)
    }
}

impl Anywhere {
    /// Enters the app named.
    pub(crate) async fn in_app(
        self,
        app_id: Option<&str>,
        state: &AppState,
    ) -> Result<Scope, Problem> {
        admitted(named_app(app_id)?, &self.0, state).await
    }
}

/// Reads a call to one chat.
pub(super) async fn in_chat(
    parts: &mut Parts,
    identity: &Identity,
    state: &AppState,
) -> Result<InChat, Problem> {
    let app_id = app_id(parts).await?;
    let chat_id = parse_path_param(parts, "chat_id").await?;
    let fencing_token = carried(parts)?;
    let scope = admitted_to_chat(app_id, &chat_id, identity, state).await?;
    Ok(InChat { scope: Scope { fencing_token, ..scope }, chat_id })
}

/// Admits a caller to the app of a chat.
pub(crate) async fn admitted_to_chat(
    app_id: AppId,
    chat_id: &ChatId,
    identity: &Identity,
    state: &AppState,
) -> Result<Scope, Problem> {
    if !identity.may_touch(&app_id) {
        return Err(StoreError::ChatNotFound(chat_id.clone()).into());
    }
    admitted(app_id, identity, state).await
}

/// Refuses to let a person act for somebody else, whether what they ask for is there or not; `detail` says
/// what each may do for themselves alone.
pub(crate) fn check_is_own(caller: &Caller, user_id: &UserId, detail: &str) -> Result<(), Problem> {
    if caller.may_act_for(user_id) {
        return Ok(());
    }
    Err(Problem::new(ProblemKind::FORBIDDEN_OWNER, detail))
}

/// Returns the app in the path.
pub(super) async fn app_id(parts: &mut Parts) -> Result<AppId, Problem> {
    parse_app_id(path_param(parts, "app_id").await?)
}

/// Parses an app id, wherever it stands.
pub(super) fn parse_app_id(text: impl Into<String>) -> Result<AppId, Problem> {
    AppId::parse(text).map_err(|error| Problem::new(ProblemKind::INVALID_APP_ID, error.to_string()))
}

/// Parses an app id that stands outside the path, where it must not be missing.
pub(super) fn named_app(text: Option<&str>) -> Result<AppId, Problem> {
    let missing = || Problem::new(ProblemKind::INVALID_APP_ID, "app_id is missing");
    parse_app_id(text.ok_or_else(missing)?)
}

/// Admits a caller to an app that the token names and the registry does not close.
pub(super) async fn admitted(
    app_id: AppId,
    identity: &Identity,
    state: &AppState,
) -> Result<Scope, Problem> {
    if !identity.may_touch(&app_id) {
        let detail = "the token does not name this app";
        return Err(Problem::new(ProblemKind::FORBIDDEN_APP, detail));
    }
    state.registry.check(&app_id).await?;
    Ok(Scope { caller: identity.caller.clone(), ..Scope::service(app_id) })
}
