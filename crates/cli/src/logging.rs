use std::io::{IsTerminal, Write as _, stderr};

use anyhow::Context;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::settings::{Log, LogFormat};
use crate::traces::Exporter;

/// Reads which lines the log has.
pub(crate) fn filter(log: &Log) -> anyhow::Result<Targets> {
    let filter: Targets = log.filter.parse().with_context(|| {
        format!(
            "log.filter {:?} cannot be read: write a level such as \"info\", or levels of targets such as \
             \"warn,service=debug\"",
            log.filter
        )
    })?;
    // Its trace level logs whole frames, and the first frame may contain a token.
    let filter = filter.with_target("tungstenite", LevelFilter::INFO);
    // The spans of traces are exported, not logged.
    Ok(filter.with_target(persistence::traces::TARGET, LevelFilter::OFF))
}

/// Sends the log to standard error, so that standard output holds only the command's result. A panic is logged too.
pub(crate) fn start(format: LogFormat, filter: Targets, traces: Option<&Exporter>) {
    let lines =
        tracing_subscriber::fmt::layer().with_ansi(stderr().is_terminal()).with_writer(stderr);
    let lines = match format {
        LogFormat::Text => lines.with_filter(filter).boxed(),
        LogFormat::Json => lines.json().with_filter(filter).boxed(),
    };
    tracing_subscriber::registry().with(lines).with(traces.map(Exporter::layer)).init();
    std::panic::set_hook(Box::new(|panic| {
        let place =
            panic.location().map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
        // The message of a panic may repeat what a caller has sent, so only its place is logged.
        tracing::error!(%place, "a panic");
    }));
}

/// Tells people something on standard error: as a line, or in a log in JSON as one of its records.
pub(crate) fn tell(format: LogFormat, message: &str) {
    match format {
        LogFormat::Json => tracing::info!("{message}"),
        // If this cannot be written, there is no other place to report to.
        LogFormat::Text => drop(writeln!(stderr(), "{message}")),
    }
}
