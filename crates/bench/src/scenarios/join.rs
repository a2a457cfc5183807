use std::sync::Arc;

use anyhow::Result;

use crate::floor::ReadSession;
use crate::http::Server;
use crate::live::{Join, Until, events_path};
use crate::measure::{Comparison, Contest, Measure};
use crate::ours::Chat;
use crate::stage::Stage;

const FIRST: &str = "joining, to the first message";
const ALL: &str = "joining, to caught-up";
const FLOOR: &str = "the documents, raw";

/// Messages in one append.
const BATCH: usize = 20;

pub(super) async fn run(stage: &Stage) -> Result<Vec<Comparison>> {
    let messages = stage.sized(10_000, 100);
    let chat = Chat::create(&stage.store).await?;
    let progress = stage.progress("filling", messages);
    chat.fill(&stage.source.take(messages), BATCH, &progress).await?;
    progress.finish_and_clear();
    chat.seal().await?;

    let service = Server::of_service(Arc::new(stage.store.clone())).await?;
    let join = |until| Join { address: service.address, path: events_path(&chat), until };
    let floor = ReadSession::new(&stage.floor, &stage.store_database, chat.id.as_str(), 0);
    let reads = stage.sized(5, 2);
    let contest = Contest::new(stage)
        .reading(FIRST, reads, join(Until::FirstMessage))
        .reading(ALL, reads, join(Until::CaughtUp { messages: messages as u64 }))
        .reading(FLOOR, reads, floor);
    let outcome = contest.run().await?;
    service.stop().await?;
    let compare = |ours| outcome.compare(ours, FLOOR, Measure::Latency);
    Ok(vec![compare(FIRST)?, compare(ALL)?])
}
