use std::process::ExitCode;

use records::{AppId, WorkflowName};

use super::report::Report;
use super::run_on_store;
use super::sink::Sink;
use crate::output::Output;
use crate::settings::Settings;

/// Where the chats of files go.
#[derive(Debug, clap::Args)]
pub(crate) struct Destination {
    /// The app of the chats.
    #[arg(long, value_name = "APP")]
    app: AppId,
    /// The workflow of the chats that name none.
    #[arg(long, value_name = "WORKFLOW", default_value = "Chat")]
    pub(crate) workflow: WorkflowName,
    /// Read and check everything; store nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: Output,
}

impl Destination {
    /// Runs an import into the app, and prints its numbers.
    pub(crate) async fn import(
        &self,
        settings: &Settings,
        report: Report,
        import: impl AsyncFnOnce(&Sink<'_>, &mut Report) -> anyhow::Result<()>,
    ) -> anyhow::Result<ExitCode> {
        let report = run_on_store(settings, report, async |store, clock, report| {
            let sink = Sink::begin(store, clock, &self.app, self.dry_run).await?;
            import(&sink, report).await
        });
        report.await?.finish(self.output, self.dry_run)
    }
}
