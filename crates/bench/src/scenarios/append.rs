use anyhow::Result;

use crate::floor::InsertOne;
use crate::measure::{Comparison, Contest, Load, Measure, Target};
use crate::ours::{Append, Chat};
use crate::stage::Stage;

const GIVEN: &str = "append, ids given";
const MINTED: &str = "append, ids minted";
const FLOOR: &str = "insert_one";
const UNIQUE: &str = "insert_one, unique index";

pub(super) async fn run(stage: &Stage) -> Result<Vec<Comparison>> {
    let given = Append::to(Chat::create(&stage.store).await?);
    let minted = Append::to(Chat::create(&stage.store).await?).with_minted_ids();
    let floor = InsertOne::new(&stage.floor, "messages");
    let unique = InsertOne::with_unique_index(&stage.floor, "unique_messages").await?;
    let load = Load { writers: 1, writes: stage.sized(50, 5), batch: 1 };
    let contest = Contest::new(stage)
        .writing(GIVEN, load, given)
        .writing(MINTED, load, minted)
        .writing(FLOOR, load, floor)
        .writing(UNIQUE, load, unique);
    let outcome = contest.run().await?;
    let latency = |ours, floor| outcome.compare(ours, floor, Measure::Latency);
    Ok(vec![
        latency(GIVEN, FLOOR)?.aiming_at(Target::RatioAtMost(1.4)),
        latency(MINTED, FLOOR)?,
        latency(GIVEN, UNIQUE)?,
    ])
}
