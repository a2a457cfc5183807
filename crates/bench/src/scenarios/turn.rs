use anyhow::Result;
use records::TurnOutcome;

use crate::floor::InsertOne;
use crate::measure::{Comparison, Contest, Load, Measure, Target};
use crate::ours::{AppendSingly, AppendTurn, Chat, TURN_MESSAGES};
use crate::stage::Stage;

const COMPLETED: &str = "turn, completed";
const BROKEN: &str = "turn, broken off";
const SINGLY: &str = "eleven single writes";
const FLOOR: &str = "insert_one";

pub(super) async fn run(stage: &Stage) -> Result<Vec<Comparison>> {
    let chat = async || Chat::create(&stage.store).await;
    let completed = AppendTurn::to(chat().await?, TurnOutcome::Completed);
    let broken = AppendTurn::to(chat().await?, TurnOutcome::Interrupted);
    let singly = AppendSingly::to(chat().await?);
    let floor = InsertOne::new(&stage.floor, "turn_messages");
    let load = Load { writers: 1, writes: stage.sized(50, 5), batch: TURN_MESSAGES };
    let contest = Contest::new(stage)
        .writing(COMPLETED, load, completed)
        .writing(BROKEN, load, broken)
        .writing(SINGLY, Load { writes: stage.sized(5, 1), ..load }, singly)
        .writing(FLOOR, Load { batch: 1, ..load }, floor);
    let outcome = contest.run().await?;
    let latency = |ours, floor| outcome.compare(ours, floor, Measure::Latency);
    Ok(vec![
        latency(COMPLETED, FLOOR)?.aiming_at(Target::RatioAtMost(2.0)),
        latency(BROKEN, FLOOR)?,
        latency(SINGLY, FLOOR)?,
        latency(COMPLETED, SINGLY)?,
    ])
}
