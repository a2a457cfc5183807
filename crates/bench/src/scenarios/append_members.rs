use anyhow::Result;

use crate::measure::{Comparison, Contest, Load, Measure, Target};
use crate::ours::{Append, Chat};
use crate::stage::Stage;

const MANY: &str = "append, 256 members";
const NONE: &str = "append, no members";
const BY_MEMBER: &str = "append by the last of 256 members";

pub(super) async fn run(stage: &Stage) -> Result<Vec<Comparison>> {
    let (many, by_member) = (Chat::create(&stage.store).await?, Chat::create(&stage.store).await?);
    many.add_members().await?;
    let last = by_member.add_members().await?;
    let load = Load { writers: 1, writes: stage.sized(50, 5), batch: 1 };
    let contest = Contest::new(stage)
        .writing(MANY, load, Append::to(many))
        .writing(BY_MEMBER, load, Append::to(by_member.said_by(last)))
        .writing(NONE, load, Append::to(Chat::create(&stage.store).await?));
    let outcome = contest.run().await?;
    let latency = |ours| outcome.compare(ours, NONE, Measure::Latency);
    let target = Target::RatioAtMost(1.05);
    Ok(vec![latency(MANY)?.aiming_at(target), latency(BY_MEMBER)?.aiming_at(target)])
}
