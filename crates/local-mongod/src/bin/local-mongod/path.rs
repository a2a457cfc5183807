//! `local-mongod path`: the binary that the other commands use.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use local_mongod::{Lookup, resolve};

/// Print the path of the mongod binary, which is fetched if there is none
#[derive(Args, Debug)]
pub(crate) struct Path {}

#[expect(clippy::print_stdout, reason = "the path is this command's output")]
pub(crate) fn path(Path {}: &Path) -> Result<ExitCode> {
    println!("{}", resolve(&Lookup::from_env())?.display());
    Ok(ExitCode::SUCCESS)
}
