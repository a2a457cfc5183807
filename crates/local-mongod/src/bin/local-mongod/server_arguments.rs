//! The options of `run` and `serve` about the server.

use std::path::PathBuf;

use clap::Args;
use local_mongod::Options;

#[derive(Args, Debug)]
pub(crate) struct ServerArguments {
    /// Members of the replica set
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=7))]
    members: u8,

    /// Directory that keeps the data [default: a temporary one]
    #[arg(long, value_name = "DIRECTORY")]
    data_dir: Option<PathBuf>,

    /// Port of the first member, the others follow it [default: free ports]
    #[arg(long)]
    port: Option<u16>,

    /// Enable fail points and other commands for tests
    #[arg(long)]
    test_commands: bool,
}

impl ServerArguments {
    pub(crate) fn options(self) -> Options {
        Options {
            members: self.members,
            data_dir: self.data_dir,
            port: self.port,
            test_commands: self.test_commands,
            ..Options::from_env()
        }
    }
}
