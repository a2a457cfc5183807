//! The messages of a chat: append, read, edit, delete, and render as a history.

mod body;
mod recognised;
mod request;
mod resent;
mod response;
mod transcript;

pub(crate) mod append;
pub(crate) mod clear;
pub(crate) mod delete;
pub(crate) mod delete_by_id;
pub(crate) mod delete_several;
pub(crate) mod get;
pub(crate) mod get_by_id;
pub(crate) mod history;
pub(crate) mod initial;
pub(crate) mod list;
pub(crate) mod proof;
pub(crate) mod synchronise;
pub(crate) mod update;
pub(crate) mod update_by_id;

use persistence::{Store, StoreError};
use records::{ChatId, EventId, Permission, Scope};
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;

use crate::config::LimitsConfig;
use crate::extract::{FromParams, Params, declared};
use crate::problem::{Problem, ProblemKind};

pub(crate) use append::{append_all, placed};
pub(crate) use body::{AuthorRequest, MessageRequest};
pub(crate) use request::{MESSAGES, MessagesBody};
pub(crate) use resent::{append_nothing, append_within};
use response::AppendResponse;
pub(crate) use transcript::{CONTEXT, OWN_ID, read_checked, read_valid, turn_messages};

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

/// Returns the sequence of the message with an id, which it has for ever.
async fn sequence_of(
    store: &dyn Store,
    scope: &Scope,
    chat_id: &ChatId,
    event_id: &EventId,
) -> Result<u64, Problem> {
    let found = store.find_messages(scope, chat_id, std::slice::from_ref(event_id)).await?;
    let sequence = found.into_iter().next().flatten();
    sequence.ok_or_else(|| no_message(chat_id, event_id))
}

/// Creates the problem of an id that the chat does not have.
fn no_message(chat_id: &ChatId, event_id: &EventId) -> Problem {
    let detail = format!("message {event_id} of chat {chat_id} not found");
    Problem::new(ProblemKind::MESSAGE_NOT_FOUND, detail)
}

/// Edits a message of the caller; if it is another person's, as a caller that may run the workflow.
pub(crate) async fn own_or_any<T, F>(
    scope: &Scope,
    edit: impl Fn(Scope) -> F,
) -> Result<T, StoreError>
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
