use anyhow::Result;

use crate::measure::{Comparison, Contest, Load, Measure, Target};
use crate::ours::RecordCall;
use crate::stage::Stage;

const WRITERS: usize = 64;

const HOT: &str = "calls of one workflow, 64 writers";
const OWNED: &str = "calls of one workflow, chats of one user, 64 writers";
const SPREAD: &str = "calls of 64 workflows, 64 writers";

pub(super) async fn run(stage: &Stage) -> Result<Vec<Comparison>> {
    let load = Load { writers: WRITERS, writes: stage.sized(10, 2), batch: 1 };
    let contest = Contest::new(stage)
        .writing(HOT, load, RecordCall::of_one_workflow(&stage.store, WRITERS).await?)
        .writing(OWNED, load, RecordCall::of_one_user(&stage.store, WRITERS).await?)
        .writing(SPREAD, load, RecordCall::of_many_workflows(&stage.store, WRITERS).await?);
    let results = contest.run().await?;
    let hot = results.compare(HOT, SPREAD, Measure::Throughput)?;
    // What it costs to count a call for a user, too.
    let owned = results.compare(OWNED, HOT, Measure::Throughput)?;
    Ok(vec![hot.aiming_at(Target::RatioAtLeast(0.5)), owned.aiming_at(Target::RatioAtLeast(0.8))])
}
