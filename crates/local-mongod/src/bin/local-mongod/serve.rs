//! `local-mongod serve`: a server until Ctrl-C.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use local_mongod::LocalMongod;

use crate::server_arguments::ServerArguments;
use crate::signals::Signals;

/// Run a server until Ctrl-C and print its URI
#[derive(Args, Debug)]
pub(crate) struct Serve {
    #[command(flatten)]
    server: ServerArguments,
}

#[expect(clippy::print_stdout, reason = "the URI is this command's output")]
pub(crate) async fn serve(arguments: Serve) -> Result<ExitCode> {
    let server = LocalMongod::start(arguments.server.options()).await?;
    let mut signals = Signals::listen()?;
    println!("{}", server.uri());
    tokio::select! {
        _ = signals.next() => {}
        error = server.ended() => return Err(error.into()),
    }
    server.stop().await;
    Ok(ExitCode::SUCCESS)
}
