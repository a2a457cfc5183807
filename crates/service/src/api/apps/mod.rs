//! The registry of apps; only operators may use it.

mod change;

pub(crate) mod disable;
pub(crate) mod enable;
pub(crate) mod erase_user;
pub(crate) mod get;
pub(crate) mod get_erasure;
pub(crate) mod hold_chat;
pub(crate) mod lift_hold;
pub(crate) mod lift_revocation;
pub(crate) mod list;
pub(crate) mod list_holds;
pub(crate) mod register;
pub(crate) mod revoke_tokens;
pub(crate) mod update;
