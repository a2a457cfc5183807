//! The messages of a chat: append, read, edit, delete, and render as a history.

mod body;
mod grown;
mod request;
mod response;
mod transcript;

pub(crate) mod append;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod history;
pub(crate) mod initial;
pub(crate) mod list;
pub(crate) mod synchronise;
pub(crate) mod update;

use persistence::StoreError;
use records::{Permission, Scope};
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;

use crate::config::LimitsConfig;
use crate::extract::{FromParams, Params, declared};
use crate::problem::Problem;

pub(crate) use body::{AuthorRequest, MessageRequest};
pub(crate) use request::{MESSAGES, MessagesBody};
use response::AppendResponse;

/// The state of the chat that an edit depends on.
#[derive(Debug, IntoParams)]
pub(crate) struct Expectation {
    /// Change the message only if the chat has this `last_sequence`: nothing was appended since the caller read it.
    #[param(value_type = Option<u64>)]
    expected_last_sequence: Option<u64>,
}

impl FromParams for Expectation {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        let expected_last_sequence = params.take_in("expected_last_sequence", 0..=u64::MAX)?;
        Ok(Self { expected_last_sequence })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

impl Expectation {
    fn of(self, scope: Scope) -> Scope {
        Scope { expected_last_sequence: self.expected_last_sequence, ..scope }
    }
}

/// Edits a message of the caller; if it is another person's, as a caller that may run the workflow.
async fn own_or_any<T, F>(scope: &Scope, edit: impl Fn(Scope) -> F) -> Result<T, StoreError>
where
    F: Future<Output = Result<T, StoreError>>,
{
    match edit(scope.clone()).await {
        Err(StoreError::Forbidden { permission: Permission::Run, .. }) => {
            edit(scope.needing(Permission::Run)).await
        }
        edited => edited,
    }
}
