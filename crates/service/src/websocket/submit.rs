use persistence::Store;
use records::{ChatId, Permission, Scope, UserId};

use super::error::{ErrorCode, FrameError};
use super::request::SubmitRequest;
use crate::problem::ProblemKind;
use crate::submission::{Submission, Submitted};

/// Stores the input of a user: as the answer to the pending input request, or as a message.
pub(super) async fn submit(
    store: &dyn Store,
    scope: &Scope,
    chat_id: &ChatId,
    user_id: &UserId,
    request: SubmitRequest,
) -> Result<Submitted, Box<FrameError>> {
    let event_id = request.event_id.clone();
    let submission = Submission {
        text: request.text,
        user_id: Some(user_id.clone()),
        request_id: request.request_id,
        event_id: request.event_id,
    };
    submission.submit(store, &scope.needing(Permission::Say), chat_id, "/text").await.map_err(
        |problem| {
            let error_code = match problem.kind() {
                ProblemKind::INPUT_NOT_FOUND => ErrorCode::InputRequestNotFound,
                _ => ErrorCode::UserMessageFailed,
            };
            FrameError::from_problem(chat_id, error_code, &problem).with_event_id(event_id.as_ref())
        },
    )
}
