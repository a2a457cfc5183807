//! A real server: started, killed, found again, and stopped when it is no longer needed.

mod command;
mod credentials;
mod data_dir;
mod driver;
mod fetching;
mod members;
mod poll;
mod running;
mod taken;
