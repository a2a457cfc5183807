use std::marker::PhantomData;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use persistence::StoreError;
use records::{AssistantId, AuditAction, Caller, DocumentPath, Permission, Scope};

use super::conditions::{Conditions, Unconditional};
use super::identity::identified;
use super::if_match::if_match_header;
use super::needs::Needed;
use super::path::{PathParam, parse_path_param};
use super::scope::{app_id, authorize_app, describe_app};
use crate::operation::{Description, Input};
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;

/// What names a record of an app in the path.
pub(crate) trait RecordId: PathParam + Send + Sync + 'static {
    /// The problem of a record that does not exist.
    const NOT_FOUND: ProblemKind;
    /// The problems of a request to all of them, besides those of the app.
    const OF_ALL: &'static [ProblemKind];
    /// What support does that reads such records.
    const READ: AuditAction;

    /// Returns the error of a record that does not exist.
    fn not_found(self) -> StoreError;
}

impl RecordId for AssistantId {
    const NOT_FOUND: ProblemKind = ProblemKind::ASSISTANT_NOT_FOUND;
    const OF_ALL: &'static [ProblemKind] = &[];
    const READ: AuditAction = AuditAction::ReadAssistants;

    fn not_found(self) -> StoreError {
        StoreError::AssistantNotFound(self)
    }
}

impl RecordId for DocumentPath {
    const NOT_FOUND: ProblemKind = ProblemKind::DOCUMENT_NOT_FOUND;
    const OF_ALL: &'static [ProblemKind] = &[ProblemKind::CHAT_NOT_FOUND];
    const READ: AuditAction = AuditAction::ReadDocuments;

    fn not_found(self) -> StoreError {
        StoreError::DocumentNotFound(self)
    }
}

/// A request to the records of a kind in an app, which needs the permission `P` in each of them.
#[derive(Debug)]
pub(crate) struct RecordsScope<R, P> {
    pub(crate) scope: Scope,
    kind: PhantomData<fn() -> (R, P)>,
}

/// A request to one record, which needs the permission `P`.
///
/// A record of an app that the caller's token does not name is answered with 404, like one that never was.
#[derive(Debug)]
pub(crate) struct RecordScope<R, P, C = Unconditional> {
    pub(crate) scope: Scope,
    pub(crate) id: R,
    kind: PhantomData<(P, C)>,
}

/// A request to the assistants of an app.
pub(crate) type AssistantsScope<P> = RecordsScope<AssistantId, P>;
/// A request to one assistant.
pub(crate) type AssistantScope<P, C = Unconditional> = RecordScope<AssistantId, P, C>;
/// A request to the documents of an app.
pub(crate) type DocumentsScope<P> = RecordsScope<DocumentPath, P>;
/// A request to one document.
pub(crate) type DocumentScope<P, C = Unconditional> = RecordScope<DocumentPath, P, C>;

impl<R: RecordId, P: Needed> FromRequestParts<AppState> for RecordsScope<R, P> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let identity = identified(parts, state).await?;
        let scope = authorize_app(app_id(parts).await?, &identity, P::PERMISSION, state).await?;
        record_support(state, &scope, R::READ).await?;
        Ok(Self { scope, kind: PhantomData })
    }
}

impl<R: RecordId, P: Needed> Input for RecordsScope<R, P> {
    fn describe(description: &mut Description) {
        describe_app(description, P::PERMISSION);
        description.problems(&[ProblemKind::FORBIDDEN_APP]);
        description.problems(R::OF_ALL);
    }
}

impl<R: RecordId, P: Needed, C: Conditions> FromRequestParts<AppState> for RecordScope<R, P, C> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let identity = identified(parts, state).await?;
        let app_id = app_id(parts).await?;
        let id: R = parse_path_param(parts).await?;
        identity.check_revoked_in(&app_id)?;
        if !identity.may_use_app(&app_id) {
            return Err(id.not_found().into());
        }
        let scope = authorize_app(app_id, &identity, P::PERMISSION, state).await?;
        record_support(state, &scope, R::READ).await?;
        let scope = Scope { if_match: if_match_header(parts)?, ..scope };
        Ok(Self { scope, id, kind: PhantomData })
    }
}

impl<R: RecordId, P: Needed, C: Conditions> Input for RecordScope<R, P, C> {
    fn describe(description: &mut Description) {
        describe_app(description, P::PERMISSION);
        R::describe(description);
        description.problems(&[R::NOT_FOUND]);
        C::describe(description);
    }
}

/// Records in the audit log that support reads records. The store records what support changes.
async fn record_support(
    state: &AppState,
    scope: &Scope,
    action: AuditAction,
) -> Result<(), Problem> {
    let is_support = matches!(scope.caller, Caller::Support { .. });
    if is_support && scope.permission == Permission::Read {
        state.store.record_chat_read(scope, None, action).await?;
    }
    Ok(())
}
