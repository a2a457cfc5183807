//! The service on loopback, and the thinnest client there is.

mod client;
mod get;
mod post;
mod server;

pub(crate) use client::Client;
pub(crate) use get::Get;
pub(crate) use post::Post;
pub(crate) use server::Server;
