use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use persistence::purge_due;
use records::{Clock as _, Retention, Scope, SystemClock};

use crate::floor::Copies;
use crate::ours::{Chat, Traffic};
use crate::population::Population;
use crate::report::{Figure, Findings};
use crate::stage::Stage;

/// Messages of each chat that is purged; some of them are sealed.
const MESSAGES: usize = 24;
const BATCH: usize = 8;

/// A completed chat is due a year after its last activity.
const RETENTION: Retention = Retention {
    completed_days: 365,
    failed_days: 0,
    abandoned_days: 0,
    deleted_days: 0,
    tool_run_days: 0,
    archive_after_days: 0,
};

/// The time for which appends are measured before the purge.
const BEFORE: Duration = Duration::from_secs(30);

pub(super) async fn run(stage: &Stage) -> Result<Findings> {
    let total = stage.sessions(100_000, 20);
    let scope = fill(stage, total).await?;
    let alone = Traffic::begin(&stage.store, &stage.source).await?;
    tokio::time::sleep(if total < 1_000 { BEFORE / 30 } else { BEFORE }).await;
    let alone = alone.end().await?;

    let beside = Traffic::begin(&stage.store, &stage.source).await?;
    let progress = stage.progress("purging", total);
    let (actor, now) = (scope.actor(), SystemClock.now());
    let mut note = |_| progress.inc(1);
    let began = Instant::now();
    let purging = purge_due(&stage.store, &actor, &scope.app_id, &RETENTION, now, &mut note);
    let purged = purging.await?;
    let seconds = began.elapsed().as_secs_f64();
    progress.finish_and_clear();
    let beside = beside.end().await?;
    ensure!(purged == total as u64, "{purged} of {total} chats were purged");

    let figure =
        |name: &str, value: f64, unit| Figure { name: name.to_owned(), value, unit, at_most: None };
    let figures = vec![
        figure("purged", purged as f64, "chats"),
        figure("rate", purged as f64 / seconds, "chats per s"),
        figure("appends before, p50", alone.p50_ms(), "ms"),
        figure("appends before, p99", alone.p99_ms(), "ms"),
        figure("appends before", alone.per_second(), "per s"),
        figure("appends meanwhile, p50", beside.p50_ms(), "ms"),
        figure("appends meanwhile, p99", beside.p99_ms(), "ms"),
        figure("appends meanwhile", beside.per_second(), "per s"),
    ];
    Ok(Findings { comparisons: Vec::new(), figures })
}

/// Fills the store with completed chats that were last active before their retention.
async fn fill(stage: &Stage, total: usize) -> Result<Scope> {
    let chat = Chat::create(&stage.store).await?;
    let progress = stage.progress("filling", MESSAGES + total);
    chat.fill(&stage.source.take(MESSAGES), BATCH, &progress).await?;
    chat.lade(&stage.source.text(500)).await?;
    chat.seal().await?;
    let copies = Copies::of(&stage.floor, &stage.store_database, chat.id.as_str()).await?;
    let mut population = Population::new(&stage.source, SystemClock.now());
    population.fill(&copies, total, &progress, Population::past_retention).await?;
    progress.finish_and_clear();
    Ok(chat.scope)
}
