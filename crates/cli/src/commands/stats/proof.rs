use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Context;
use indicatif::ProgressBar;
use persistence::mongo::{MongoStore, StatsDifference, Workflow};
use persistence::{AuditLog as _, StoreError};
use records::{Actor, AppId, AuditAction};
use serde_json::json;

use crate::backend::{Backend, expect_app};
use crate::output::Output;
use crate::progress;
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only the workflows of this app.
    #[arg(long, value_name = "APP")]
    app: Option<AppId>,
    #[command(flatten)]
    output: Output,
}

/// How often a workflow is mended again that is found to be off after it was.
const ROUNDS: usize = 5;

/// What a walk over all workflows has found.
#[derive(Debug, Default)]
struct Found {
    workflows: usize,
    differences: usize,
    /// Workflows that are off still.
    unmended: usize,
}

/// Finds every rollup that is not what its records add up to.
pub(super) async fn verify(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let walk = async |store: &MongoStore, bar: &ProgressBar| {
        let mut found = Found::default();
        for workflow in store.counted_workflows(arguments.app.as_ref()).await? {
            found.workflows += 1;
            let mut count = |difference| {
                tell(arguments.output, &workflow, &difference, bar);
                found.differences += 1;
            };
            store.verify_stats(&workflow, &|| bar.inc(1), &mut count).await?;
        }
        Ok(found)
    };
    let found = walked(settings, arguments, walk).await.context("cannot verify the stats")?;
    let Found { workflows, differences, .. } = found;
    arguments.output.print(
        || json!({ "workflows": workflows, "differences": differences }),
        || format!("{workflows} workflows verified, {differences} differences"),
    )?;
    Ok(if differences == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Mends every rollup that is not what its records add up to.
pub(super) async fn rebuild(
    arguments: &Arguments,
    settings: &Settings,
) -> anyhow::Result<ExitCode> {
    let walk = async |store: &MongoStore, bar: &ProgressBar| {
        let app_id = arguments.app.as_ref();
        let actor = Actor::command_line();
        store.record_action(&actor, app_id, None, AuditAction::RebuildStats).await?;
        let mut found = Found::default();
        for workflow in store.counted_workflows(app_id).await? {
            found.workflows += 1;
            let mut is_off = true;
            for _ in 0..ROUNDS {
                is_off = false;
                let mut count = |difference| {
                    tell(arguments.output, &workflow, &difference, bar);
                    found.differences += 1;
                    is_off = true;
                };
                store.rebuild_stats(&workflow, &|| bar.inc(1), &mut count).await?;
                if !is_off {
                    break;
                }
            }
            found.unmended += usize::from(is_off);
        }
        Ok(found)
    };
    let found = walked(settings, arguments, walk).await.context("cannot rebuild the stats")?;
    let Found { workflows, differences, unmended } = found;
    arguments.output.print(
        || json!({ "workflows": workflows, "differences": differences, "unmended": unmended }),
        || format!("{workflows} workflows verified, {differences} differences mended"),
    )?;
    if unmended > 0 {
        writeln!(
            std::io::stderr(),
            "{unmended} workflows still differ; does another process rebuild them at the same time?"
        )?;
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}

async fn walked(
    settings: &Settings,
    arguments: &Arguments,
    walk: impl AsyncFnOnce(&MongoStore, &ProgressBar) -> Result<Found, StoreError>,
) -> anyhow::Result<Found> {
    let backend = Backend::join(settings).await?;
    let bar = progress::bar("records")?;
    let found = async {
        expect_app(&backend.store, arguments.app.as_ref()).await?;
        bar.set_length(backend.store.count_records().await?);
        Ok(walk(&backend.store, &bar).await?)
    };
    let found: anyhow::Result<Found> = found.await;
    bar.finish_and_clear();
    backend.close().await;
    found
}

fn tell(output: Output, workflow: &Workflow, difference: &StatsDifference, bar: &ProgressBar) {
    let Workflow { app_id, workflow_name } = workflow;
    let object = || {
        let difference = difference.to_string();
        json!({ "app_id": app_id, "workflow_name": workflow_name, "difference": difference })
    };
    bar.suspend(|| {
        // If standard output is closed, there is no other place to report to.
        let _ = output.print(object, || format!("{app_id} {workflow_name}, {difference}"));
    });
}
