use anyhow::Result;

use crate::floor::ReadWindow;
use crate::measure::{Comparison, Contest, Measure, Target};
use crate::ours::{Chat, ReadTail};
use crate::stage::Stage;

const OURS: &str = "newest 50 of 100,000";
const FLOOR: &str = "find_one of a document with 50";

const WANTED: usize = 50;

/// Messages in one append while the chat is made: many for messages that are never read, and so few
/// for the newest that they are stored as if they had been appended one at a time.
const BATCH: usize = 100;
const NEWEST_BATCH: usize = 2;

pub(super) async fn run(stage: &Stage) -> Result<Vec<Comparison>> {
    let chat = Chat::create(&stage.store).await?;
    let total = stage.sized(100_000, 400);
    let progress = stage.progress("filling", total);
    for batch in 1..=total / 400 {
        let is_newest = batch == total / 400;
        let size = if is_newest { NEWEST_BATCH } else { BATCH };
        chat.fill(&stage.source.take(400), size, &progress).await?;
    }
    progress.finish_and_clear();

    let floor = ReadWindow::create(&stage.floor, &stage.source.take(WANTED)).await?;
    let ours = ReadTail { chat, limit: WANTED, source: stage.source.clone() };
    let reads = stage.sized(30, 3);
    let contest = Contest::new(stage).reading(OURS, reads, ours).reading(FLOOR, reads, floor);
    let comparison = contest.run().await?.compare(OURS, FLOOR, Measure::Latency)?;
    Ok(vec![comparison.aiming_at(Target::RatioAtMost(1.5))])
}
