use anyhow::Result;

use crate::floor::ReadWindow;
use crate::measure::{Comparison, Contest, Measure, Target};
use crate::ours::{Chat, ReadTail};
use crate::stage::Stage;

const OURS: &str = "newest 50 of 100,000";
const FLOOR: &str = "find_one of a document with 50";

const WANTED: usize = 50;

/// How many messages are appended at a time to make the chat: so few that its segments come out about
/// as small as if there had been one at a time.
const BATCH: usize = 8;

pub(super) async fn run(stage: &Stage) -> Result<Vec<Comparison>> {
    let chat = Chat::create(&stage.store).await?;
    let total = stage.sized(100_000, 400);
    let progress = stage.progress("filling", total);
    for _ in 0..total / 400 {
        chat.fill(&stage.source.take(400), BATCH, &progress).await?;
    }
    progress.finish_and_clear();

    let floor = ReadWindow::create(&stage.floor, &stage.source.take(WANTED)).await?;
    let ours = ReadTail { chat, limit: WANTED, source: stage.source.clone() };
    let reads = stage.sized(30, 3);
    let contest = Contest::new(stage).reading(OURS, reads, ours).reading(FLOOR, reads, floor);
    let comparison = contest.run().await?.compare(OURS, FLOOR, Measure::Latency)?;
    Ok(vec![comparison.aiming_at(Target::RatioAtMost(1.5))])
}
