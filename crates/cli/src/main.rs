#![doc = include_str!("../README.md")]

mod arguments;
mod backend;
mod commands;
mod logging;
mod output;
mod progress;
mod settings;
mod settings_check;
mod signals;
mod terminal;
mod time_argument;
mod traces;

use std::process::ExitCode;

use clap::Parser;
use tokio::runtime::Builder;
use tracing_subscriber::filter::Targets;

use arguments::{Arguments, Command};
use settings::LogFormat;
use terminal::safe_text;
use traces::Exporter;

/// Gives memory that is free back to the system; docs/decisions/0083-memory-goes-back-to-the-system.md.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(refusal) => return refused(&refusal),
    };
    match run(arguments) {
        Ok(code) => code,
        Err(_) if output::is_closed() => ExitCode::from(output::CLOSED_STATUS),
        Err(error) => {
            // It may repeat what is in a file of others.
            let reason = format!("reprise: {error:#}");
            logging::tell(LogFormat::Text, &safe_text(&reason));
            ExitCode::FAILURE
        }
    }
}

/// Prints the help, or why the arguments are refused. What it repeats of them does not control the terminal.
fn refused(refusal: &clap::Error) -> ExitCode {
    let text = refusal.render();
    let is_help = !refusal.use_stderr();
    // Colours are escapes themselves, so help has them, and what repeats arguments has not.
    if is_help || safe_text(&text.to_string()) == text.to_string() {
        // If this cannot be written, there is no other place to report to.
        let _ = refusal.print();
    } else {
        logging::tell(LogFormat::Text, safe_text(&text.to_string()).trim_end());
    }
    u8::try_from(refusal.exit_code()).map_or(ExitCode::FAILURE, ExitCode::from)
}

fn run(arguments: Arguments) -> anyhow::Result<ExitCode> {
    let settings = arguments.settings()?;
    let format = settings.log.format;
    let runtime = Builder::new_multi_thread().enable_all().build()?;
    // A check reports what is wrong with these settings beside all else.
    let is_check = matches!(arguments.command, Command::Check(_));
    let traces = match Exporter::start(&settings.traces, runtime.handle()) {
        Err(_) if is_check => None,
        started => started?,
    };
    let filter = match logging::filter(&settings.log) {
        Err(_) if is_check => Targets::new(),
        filter => filter?,
    };
    logging::start(settings.log.format, filter, traces.as_ref());
    let ended = runtime.block_on(commands::run(arguments.command, settings));
    if let Some(traces) = traces {
        traces.close();
    }
    // Background work, such as sealing, is safe to stop anywhere.
    runtime.shutdown_background();
    // A log in JSON contains the reason as well, because standard error must hold nothing else.
    if let (LogFormat::Json, Err(error), false) = (format, &ended, output::is_closed()) {
        tracing::error!(cause = format!("{error:#}"), "the command failed");
        return Ok(ExitCode::FAILURE);
    }
    ended
}
