use anyhow::Result;

use crate::measure::{Comparison, Contest, Load, Measure, Target};
use crate::ours::RecordCall;
use crate::stage::Stage;

const WRITERS: usize = 64;

const HOT: &str = "calls of one workflow, 64 writers";
const SPREAD: &str = "calls of 64 workflows, 64 writers";

pub(super) async fn run(stage: &Stage) -> Result<Vec<Comparison>> {
    let load = Load { writers: WRITERS, writes: stage.sized(10, 2), batch: 1 };
    let contest = Contest::new(stage)
        .writing(HOT, load, RecordCall::of_one_workflow(&stage.store, WRITERS).await?)
        .writing(SPREAD, load, RecordCall::of_many_workflows(&stage.store, WRITERS).await?);
    let comparison = contest.run().await?.compare(HOT, SPREAD, Measure::Throughput)?;
    Ok(vec![comparison.aiming_at(Target::RatioAtLeast(0.5))])
}
