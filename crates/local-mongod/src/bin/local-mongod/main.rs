//! Runs a real MongoDB for a command or until Ctrl-C.

mod path;
mod run;
mod serve;
mod server_arguments;
mod signals;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

const EXAMPLES: &str = "\
Examples:
  local-mongod run -- cargo test
      runs the tests with MONGODB_URI naming a fresh server
  local-mongod run --members 3 --test-commands -- ./failover.sh
      the same with a replica set of three and fail points
  local-mongod serve --data-dir ./data
      runs a server that keeps its data, until Ctrl-C
  MONGOD=$(local-mongod path)
      finds a mongod, and fetches one if there is none

Environment:
  MONGOD              use this binary and no other
  LOCAL_MONGOD_CACHE  keep fetched binaries in this directory";

/// Runs a real MongoDB on this machine and leaves nothing of it behind.
#[derive(Debug, Parser)]
#[command(name = "local-mongod", version, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Run),
    Serve(serve::Serve),
    Path(path::Path),
}

#[tokio::main]
async fn main() -> Result<ExitCode> {
    match Arguments::parse().command {
        Command::Run(arguments) => run::run(arguments).await,
        Command::Serve(arguments) => serve::serve(arguments).await,
        Command::Path(arguments) => path::path(&arguments),
    }
}
