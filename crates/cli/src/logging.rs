use std::io::{IsTerminal, stderr};

use anyhow::Context;
use tracing_subscriber::EnvFilter;

use crate::settings::{Log, LogFormat};

/// Sends the log to standard error, so that standard output holds only the command's result.
pub(crate) fn start(log: &Log) -> anyhow::Result<()> {
    let filter = EnvFilter::try_new(&log.filter)
        .with_context(|| format!("log.filter {:?} cannot be read", log.filter))?;
    // Its trace level logs whole frames, and the first frame may contain a token.
    let filter = filter.add_directive("tungstenite=info".parse()?);
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(stderr().is_terminal())
        .with_writer(stderr);
    match log.format {
        LogFormat::Text => subscriber.init(),
        LogFormat::Json => subscriber.json().init(),
    }
    Ok(())
}
