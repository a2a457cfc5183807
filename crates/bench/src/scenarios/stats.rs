use anyhow::Result;

use crate::measure::{Comparison, Contest, Measure, Target};
use crate::ours::ReadStats;
use crate::stage::Stage;

const FEW: &str = "stats of 1,000 calls";
const MANY: &str = "stats of 100,000 calls";
const MOST: &str = "stats of 1,000,000 calls";

pub(super) async fn run(stage: &Stage) -> Result<Vec<Comparison>> {
    let sizes = [(FEW, 1_000, 100), (MANY, 100_000, 200), (MOST, 1_000_000, 300)];
    let mut contest = Contest::new(stage);
    for (name, full, quick) in sizes {
        let calls = stage.sized(full, quick);
        let progress = stage.progress("filling", calls);
        let workflow = format!("workflow-{calls}");
        let read = ReadStats::fill(&stage.store, &workflow, calls, &progress).await?;
        progress.finish_and_clear();
        contest = contest.reading(name, stage.sized(20, 2), read);
    }
    let outcome = contest.run().await?;
    let compare = |ours| outcome.compare(ours, FEW, Measure::Latency);
    let alike = Target::RatioAtMost(1.2);
    Ok(vec![compare(MANY)?.aiming_at(alike), compare(MOST)?.aiming_at(alike)])
}
