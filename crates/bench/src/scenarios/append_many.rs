use anyhow::Result;

use crate::floor::InsertOne;
use crate::measure::{Comparison, Contest, Load, Measure, Target};
use crate::ours::{Append, Chat};
use crate::stage::Stage;

const WRITERS: usize = 64;

const OURS: &str = "append, 64 chats";
const FLOOR: &str = "insert_one, 64 writers";

pub(super) async fn run(stage: &Stage) -> Result<Vec<Comparison>> {
    let chats = Chat::create_many(&stage.store, WRITERS).await?;
    let load = Load { writers: WRITERS, writes: stage.sized(10, 2), batch: 1 };
    let contest = Contest::new(stage).writing(OURS, load, Append::to_each(chats)).writing(
        FLOOR,
        load,
        InsertOne::new(&stage.floor, "messages"),
    );
    let outcome = contest.run().await?;
    let comparison = outcome.compare(OURS, FLOOR, Measure::Throughput)?;
    Ok(vec![comparison.aiming_at(Target::RatioAtLeast(0.7))])
}
