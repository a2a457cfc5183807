//! Who takes part in a chat.

pub(crate) mod join;
pub(crate) mod leave;
pub(crate) mod list;
mod response;

use records::{Caller, UserId};

use crate::problem::{Problem, ProblemKind};

/// Refuses to let a person act for somebody else, whether the chat is there or not.
fn check_is_own(caller: &Caller, user_id: &UserId) -> Result<(), Problem> {
    if caller.may_act_for(user_id) {
        return Ok(());
    }
    Err(Problem::new(ProblemKind::FORBIDDEN_OWNER, "a user joins and leaves for themselves only"))
}
