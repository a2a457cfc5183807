//! The documents of an app.

pub(crate) mod append;
pub(crate) mod binding;
pub(crate) mod delete;
pub(crate) mod delete_several;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod listen;
pub(crate) mod namespaces;
pub(crate) mod put;
