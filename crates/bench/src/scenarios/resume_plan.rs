use anyhow::Result;

use super::resume::conversation;
use crate::floor::ReadSession;
use crate::measure::{Comparison, Contest, Measure};
use crate::ours::{Order, Part, Resume};
use crate::stage::Stage;

const PLAN: &str = "resume by plan";
const CALLS: &str = "resume, calls at once";
const FLOOR: &str = "the documents, raw";

pub(super) async fn run(stage: &Stage) -> Result<Vec<Comparison>> {
    let messages = stage.sized(2_000, 100);
    let chat = conversation(stage, messages).await?;
    let floor = ReadSession::new(&stage.floor, &stage.store_database, chat.id.as_str(), 2);
    let ours = |parts| Resume { chat: chat.clone(), messages, parts, order: Order::AtOnce };
    let reads = stage.sized(10, 2);
    let contest = Contest::new(stage)
        .reading(PLAN, reads, ours(&Part::PLAN))
        .reading(CALLS, reads, ours(&Part::LIBRARY))
        .reading(FLOOR, reads, floor);
    let outcome = contest.run().await?;
    let latency = |ours, floor| outcome.compare(ours, floor, Measure::Latency);
    Ok(vec![latency(PLAN, FLOOR)?, latency(PLAN, CALLS)?])
}
