//! The service on loopback, and a minimal client.

mod client;
mod get;
mod listener;
mod post;
mod process;
mod server;

pub(crate) use client::Client;
pub(crate) use get::Get;
pub(crate) use listener::{Listener, Told};
pub(crate) use post::Post;
pub(crate) use process::{Process, serve};
pub(crate) use server::Server;
