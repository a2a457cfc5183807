use anyhow::Result;

use crate::floor::ReadSession;
use crate::measure::{Comparison, Contest, Measure, Target};
use crate::ours::{Chat, Order, Part, Resume};
use crate::stage::Stage;

const IN_TURN: &str = "resume, calls in turn";
const AT_ONCE: &str = "resume, calls at once";
const FLOOR: &str = "the documents, raw";

/// Large enough to be stored in blobs.
const LOAD_BYTES: usize = 64 << 10;

pub(super) async fn run(stage: &Stage) -> Result<Vec<Comparison>> {
    let messages = stage.sized(2_000, 100);
    let chat = conversation(stage, messages).await?;
    let floor = ReadSession::new(&stage.floor, &stage.store_database, chat.id.as_str(), 2);
    let ours = |order| {
        let chat = chat.clone();
        Resume { chat, messages, parts: &Part::LIBRARY, order }
    };
    let reads = stage.sized(10, 2);
    let contest = Contest::new(stage)
        .reading(IN_TURN, reads, ours(Order::InTurn))
        .reading(AT_ONCE, reads, ours(Order::AtOnce))
        .reading(FLOOR, reads, floor);
    let outcome = contest.run().await?;
    let latency = |ours| outcome.compare(ours, FLOOR, Measure::Latency);
    Ok(vec![latency(IN_TURN)?.aiming_at(Target::RatioAtMost(1.3)), latency(AT_ONCE)?])
}

/// Makes a chat whose messages were appended one at a time, with a snapshot and an artifact.
pub(super) async fn conversation(stage: &Stage, messages: usize) -> Result<Chat> {
    let chat = Chat::create(&stage.store).await?;
    let progress = stage.progress("filling", messages);
    chat.fill(&stage.source.take(messages), 1, &progress).await?;
    progress.finish_and_clear();
    chat.seal().await?;
    chat.lade(&stage.source.text(LOAD_BYTES)).await?;
    Ok(chat)
}
