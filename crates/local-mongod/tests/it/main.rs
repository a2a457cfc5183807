//! A real server: started, killed, found again, and gone when nobody needs it.

mod command;
mod data_dir;
mod driver;
mod fetching;
mod members;
mod poll;
mod running;
mod taken;
