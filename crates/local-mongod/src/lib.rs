#![doc = include_str!("../README.md")]

mod environment;
mod options;

mod binary;
mod credentials;
mod data_dir;
mod lock;
mod secret_file;

mod deadline;
mod launch;
mod log;
mod member;
mod port;
mod proxy;
mod replica_set;
mod signal;
mod start_line;
mod supervisor;
mod uses;

mod error;
mod server;
mod shared;
mod user;

pub use binary::resolve;
pub use error::Error;
pub use lock::{Attached, Holder, attach, attach_to_left};
pub use member::Member;
pub use options::{Lookup, Options};
pub use proxy::{Cut, Proxy, Source};
pub use server::LocalMongod;
pub use shared::{SharedMongod, shared_for_tests};
