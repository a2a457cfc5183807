use std::time::Duration;

use anyhow::Result;
use persistence::mongo::MongoStore;

use crate::measure::{Comparison, Contest, Load, Measure, Target};
use crate::ours::{Append, Chat};
use crate::stage::Stage;

const HOT: [&str; 2] = ["one chat", "one chat, no indexes"];
const EACH: [&str; 2] = ["a new minute of each chat", "the same, no indexes"];
const MANY: [&str; 2] = ["64 chats at once", "64 chats at once, no indexes"];

const WRITERS: usize = 64;
const CREATED_AT_ONCE: usize = 500;

/// From one minute to the next, in seconds. The first append of a chat in a minute changes entries of its indexes.
const MINUTE: usize = 61;

pub(super) async fn run(stage: &Stage) -> Result<Vec<Comparison>> {
    let bare = stage.store_without_indexes().await?;
    let total = stage.sized(10_000, 20);
    let each = create(stage, &stage.store, total).await?;
    let each_bare = create(stage, &bare, total).await?;
    tokio::time::sleep(Duration::from_secs(stage.sized(MINUTE, 0) as u64)).await;
    let one = Load { writers: 1, writes: stage.sized(50, 2), batch: 1 };
    // Half of the chats are enough for all laps and the warm-up: none comes twice.
    let next = Load { writers: 1, writes: total / (2 * stage.rounds).max(1), batch: 1 };
    let many = Load { writers: WRITERS, writes: stage.sized(10, 2), batch: 1 };
    let chats = Chat::create_many(&stage.store, WRITERS).await?;
    let chats_bare = Chat::create_many(&bare, WRITERS).await?;
    let contest = Contest::new(stage)
        .writing(EACH[0], next, Append::to_next(each))
        .writing(EACH[1], next, Append::to_next(each_bare))
        .writing(HOT[0], one, Append::to(Chat::create(&stage.store).await?))
        .writing(HOT[1], one, Append::to(Chat::create(&bare).await?))
        .writing(MANY[0], many, Append::to_each(chats))
        .writing(MANY[1], many, Append::to_each(chats_bare));
    let outcome = contest.run().await?;
    let surely_below = |of: [&str; 2], bound| {
        let comparison = outcome.compare(of[0], of[1], Measure::Latency)?;
        anyhow::Ok(comparison.aiming_at(Target::RatioSurelyBelow(bound)))
    };
    let many = outcome.compare(MANY[0], MANY[1], Measure::Throughput)?;
    Ok(vec![surely_below(EACH, 1.05)?, surely_below(HOT, 1.1)?, many])
}

async fn create(stage: &Stage, store: &MongoStore, total: usize) -> Result<Vec<Chat>> {
    let progress = stage.progress("creating", total);
    let mut chats = Vec::new();
    while chats.len() < total {
        let count = CREATED_AT_ONCE.min(total - chats.len());
        chats.extend(Chat::create_many(store, count).await?);
        progress.inc(count as u64);
    }
    progress.finish_and_clear();
    Ok(chats)
}
