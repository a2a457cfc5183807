use anyhow::Result;
use futures::{StreamExt as _, TryStreamExt as _, stream};

use crate::floor::ListSessions;
use crate::measure::{Comparison, Contest, Measure, Target};
use crate::ours::{APP, Chat, ListChats};
use crate::stage::Stage;

const OURS: &str = "newest 20 of 10,000 sessions";
const FLOOR: &str = "the same find";

const WANTED: usize = 20;

/// Messages in each session, so that its document is not empty.
const MESSAGES: usize = 4;
const AT_ONCE: usize = 16;

pub(super) async fn run(stage: &Stage) -> Result<Vec<Comparison>> {
    let total = stage.sized(10_000, 50);
    let progress = stage.progress("filling", total);
    let creating = stream::iter(0..total).map(|_| async {
        let chat = Chat::create(&stage.store).await?;
        chat.fill(&stage.source.take(MESSAGES), MESSAGES, &progress).await?;
        anyhow::Ok(())
    });
    creating.buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    progress.finish_and_clear();

    let floor = ListSessions::new(&stage.floor, &stage.store_database, APP, WANTED);
    let reads = stage.sized(50, 3);
    let contest = Contest::new(stage)
        .reading(OURS, reads, ListChats::new(&stage.store, WANTED)?)
        .reading(FLOOR, reads, floor);
    let comparison = contest.run().await?.compare(OURS, FLOOR, Measure::Latency)?;
    Ok(vec![comparison.aiming_at(Target::RatioAtMost(1.3))])
}
