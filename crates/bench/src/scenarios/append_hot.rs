use anyhow::Result;

use crate::floor::{CountThenInsert, InsertOne};
use crate::measure::{Comparison, Contest, Load, Measure, Target};
use crate::ours::{Append, Chat};
use crate::stage::Stage;

const WRITERS: usize = 16;

const OURS: &str = "append, 16 writers";
const FLOOR: &str = "insert_one, 16 writers";
const COUNTED: &str = "counter, then insert_one, 16 writers";

pub(super) async fn run(stage: &Stage) -> Result<Vec<Comparison>> {
    let load = Load { writers: WRITERS, writes: stage.sized(20, 2), batch: 1 };
    let contest = Contest::new(stage)
        .writing(OURS, load, Append::to(Chat::create(&stage.store).await?))
        .writing(FLOOR, load, InsertOne::new(&stage.floor, "messages"))
        .writing(COUNTED, load, CountThenInsert::create(&stage.floor).await?);
    let outcome = contest.run().await?;
    let throughput = |floor| outcome.compare(OURS, floor, Measure::Throughput);
    Ok(vec![
        throughput(FLOOR)?.aiming_at(Target::RatioAtLeast(1.5)),
        throughput(COUNTED)?.aiming_at(Target::RatioAtLeast(4.0)),
    ])
}
