use indicatif::{ProgressBar, ProgressStyle};

/// Returns a progress bar; it is hidden if standard error is not a terminal.
pub(crate) fn bar(what: &str) -> anyhow::Result<ProgressBar> {
    let style = format!("{{bar:30}} {{pos}}/{{len}} {what}, {{eta}} left");
    Ok(ProgressBar::new(0).with_style(ProgressStyle::with_template(&style)?))
}

/// Returns a progress bar for work of unknown length; it is hidden if standard error is not a terminal.
pub(crate) fn counter(what: &str) -> anyhow::Result<ProgressBar> {
    let style = format!("{{spinner}} {{pos}} {what}, {{elapsed}}");
    Ok(ProgressBar::new_spinner().with_style(ProgressStyle::with_template(&style)?))
}

/// Returns a progress bar for a number of bytes; it is hidden if standard error is not a terminal.
pub(crate) fn bytes() -> anyhow::Result<ProgressBar> {
    let style = "{bar:30} {bytes}/{total_bytes}, {eta} left";
    Ok(ProgressBar::new(0).with_style(ProgressStyle::with_template(style)?))
}
