use anyhow::Result;
use persistence::mongo::MongoStore;

use crate::measure::{Comparison, Contest, Load, Measure, Target};
use crate::ours::{Append, Chat};
use crate::stage::Stage;

const TURN: [&str; 2] = ["10,000 chats in turn", "10,000 chats in turn, no indexes"];
const HOT: [&str; 2] = ["one chat", "one chat, no indexes"];

const CREATED_AT_ONCE: usize = 500;

pub(super) async fn run(stage: &Stage) -> Result<Vec<Comparison>> {
    let bare = stage.store_without_indexes().await?;
    let total = stage.sized(10_000, 20);
    // A lap is one append to each chat, at whatever minute that is.
    let turn = Load { writers: 1, writes: total, batch: 1 };
    let hot = Load { writers: 1, writes: stage.sized(500, 2), batch: 1 };
    let hot_chat = Chat::create(&stage.store).await?;
    let hot_chat_bare = Chat::create(&bare).await?;
    let contest = Contest::new(stage)
        .writing(TURN[0], turn, Append::to_next(create(stage, &stage.store, total).await?))
        .writing(TURN[1], turn, Append::to_next(create(stage, &bare, total).await?))
        .writing(HOT[0], hot, Append::to(hot_chat))
        .writing(HOT[1], hot, Append::to(hot_chat_bare));
    let outcome = contest.run().await?;
    let compare = |of: [&str; 2], measure| outcome.compare(of[0], of[1], measure);
    Ok(vec![
        compare(TURN, Measure::Mean)?.aiming_at(Target::RatioSurelyBelow(1.05)),
        compare(TURN, Measure::Latency)?,
        compare(HOT, Measure::Mean)?.aiming_at(Target::RatioSurelyBelow(1.1)),
    ])
}

/// Creates chats of users, with a team and an assistant.
async fn create(stage: &Stage, store: &MongoStore, total: usize) -> Result<Vec<Chat>> {
    let progress = stage.progress("creating", total);
    let mut chats = Vec::new();
    while chats.len() < total {
        let last = total.min(chats.len() + CREATED_AT_ONCE);
        let created = Chat::create_owned(store, chats.len()..last).await?;
        progress.inc(created.len() as u64);
        chats.extend(created);
    }
    progress.finish_and_clear();
    Ok(chats)
}
