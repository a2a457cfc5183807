//! The library calls that are compared with the floors.

mod append;
mod calls;
mod chat;
mod list;
mod resume;
mod steady;
mod tail;
mod traffic;
mod turn;

pub(crate) use append::{Append, EventIds};
pub(crate) use calls::{ReadStats, RecordCall};
pub(crate) use chat::{APP, Chat};
pub(crate) use list::ListChats;
pub(crate) use resume::{Order, Part, Resume};
pub(crate) use steady::SteadyAppends;
pub(crate) use tail::ReadTail;
pub(crate) use traffic::Traffic;
pub(crate) use turn::{AppendSingly, AppendTurn, TURN_MESSAGES};
