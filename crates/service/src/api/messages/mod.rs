//! The messages of a chat: append, read, edit, delete, and render as a history.

mod body;
mod request;
mod response;
mod transcript;

pub(crate) mod append;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod history;
pub(crate) mod initial;
pub(crate) mod list;
pub(crate) mod update;

use persistence::StoreError;
use records::{Permission, Scope};

pub(crate) use body::{AuthorRequest, MessageRequest};
pub(crate) use request::{MESSAGES, MessagesBody};
pub(crate) use response::{AppendResponse, AppendedResponse};

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
