//! The assistants of Yao, below `/v1/agent`.

pub(super) mod create;
pub(super) mod delete;
pub(super) mod delete_several;
mod filter;
pub(super) mod get;
mod infos;
pub(super) mod list;
mod locale;
mod model;
pub(super) mod tags;
pub(super) mod update;

pub(super) use infos::infos_of;
pub(super) use locale::Locale;
