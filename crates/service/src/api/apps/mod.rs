//! The registry of apps, for operators.

mod change;
mod response;

pub(crate) mod disable;
pub(crate) mod enable;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod register;

pub(crate) use list::ListAppsQuery;
pub(crate) use response::AppResponse;
