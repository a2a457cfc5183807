use indicatif::{ProgressBar, ProgressStyle};

/// Returns a bar that counts something; it shows nothing where standard error is no terminal.
pub(crate) fn bar(what: &str) -> anyhow::Result<ProgressBar> {
    let style = format!("{{bar:30}} {{pos}}/{{len}} {what}, {{eta}} left");
    Ok(ProgressBar::new(0).with_style(ProgressStyle::with_template(&style)?))
}
