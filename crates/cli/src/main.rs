#![doc = include_str!("../README.md")]

mod arguments;
mod backend;
mod commands;
mod logging;
mod output;
mod progress;
mod settings;
mod terminal;
mod time_argument;
mod traces;

use std::process::ExitCode;

use clap::Parser;
use tokio::runtime::Builder;

use arguments::Arguments;
use settings::LogFormat;
use traces::Exporter;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(code) => code,
        Err(error) => {
            logging::tell(LogFormat::Text, &format!("reprise: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let settings = arguments.settings()?;
    let format = settings.log.format;
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    let traces = Exporter::start(&settings.traces, runtime.handle())?;
    logging::start(&settings.log, traces.as_ref())?;
    let ended = runtime.block_on(commands::run(arguments.command, settings));
    if let Some(traces) = traces {
        traces.close();
    }
    // Background work, such as sealing, is safe to stop anywhere.
    runtime.shutdown_background();
    // A log in JSON contains the reason as well, because standard error must hold nothing else.
    if let (LogFormat::Json, Err(error)) = (format, &ended) {
        tracing::error!(cause = format!("{error:#}"), "the command failed");
        return Ok(ExitCode::FAILURE);
    }
    ended
}
