use anyhow::Result;

use crate::floor::InsertMany;
use crate::measure::{Comparison, Contest, Load, Measure, Target};
use crate::ours::{Append, Chat};
use crate::stage::Stage;

const BATCH: usize = 100;
const WRITERS: usize = 8;

const ONE: &str = "append of 100";
const ONE_FLOOR: &str = "insert_many of 100";
const SEVERAL: &str = "append of 100, 8 chats";
const SEVERAL_FLOOR: &str = "insert_many of 100, 8 writers";

pub(super) async fn run(stage: &Stage) -> Result<Vec<Comparison>> {
    let one = Load { writers: 1, writes: stage.sized(10, 2), batch: BATCH };
    let several = Load { writers: WRITERS, writes: stage.sized(3, 1), batch: BATCH };
    let chat = Chat::create(&stage.store).await?;
    let chats = Chat::create_many(&stage.store, WRITERS).await?;
    let contest = Contest::new(stage)
        .writing(ONE, one, Append::to(chat))
        .writing(ONE_FLOOR, one, InsertMany::new(&stage.floor, "messages"))
        .writing(SEVERAL, several, Append::to_each(chats))
        .writing(SEVERAL_FLOOR, several, InsertMany::new(&stage.floor, "more_messages"));
    let outcome = contest.run().await?;
    let throughput = |ours, floor| outcome.compare(ours, floor, Measure::Throughput);
    Ok(vec![
        throughput(ONE, ONE_FLOOR)?.aiming_at(Target::RatioAtLeast(0.8)),
        throughput(SEVERAL, SEVERAL_FLOOR)?.aiming_at(Target::RatioAtLeast(0.8)),
    ])
}
