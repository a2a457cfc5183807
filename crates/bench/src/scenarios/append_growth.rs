//! Compares a long chat with itself when it was short, and with a fresh chat that is short now. The
//! first comparison shows what its owner would notice; the second excludes other changes over time.

use anyhow::Result;

use crate::measure::{Comparison, Contest, Load, Measure, Target};
use crate::ours::{Append, Chat};
use crate::stage::Stage;

const FIRST: &str = "its first 5 %";
const LAST: &str = "last 5 % of a chat";
const LADEN: &str = "with 1 MiB snapshot and artifact";
const FRESH: &str = "first 5 % of a fresh chat, meanwhile";

const MEBIBYTE: usize = 1 << 20;
const TARGET: Target = Target::RatioAtMost(1.15);

pub(super) async fn run(stage: &Stage) -> Result<Vec<Comparison>> {
    let total = stage.sized(100_000, 400);
    let part = total / 20;
    let load = Load { writers: 1, writes: (part / stage.rounds).max(1), batch: 1 };

    let chat = Chat::create(&stage.store).await?;
    let beginning = Contest::cold(stage).writing(FIRST, load, Append::to(chat.clone()));
    let beginning = beginning.run().await?;
    grow(stage, &chat, total - 2 * part).await?;

    let fresh = Append::to(Chat::create(&stage.store).await?);
    let end = Contest::cold(stage).writing(LAST, load, Append::to(chat.clone()));
    let end = end.writing(FRESH, load, fresh).run().await?;

    chat.lade(&stage.source.text(MEBIBYTE)).await?;
    let fresh = Append::to(Chat::create(&stage.store).await?);
    let laden = Contest::cold(stage).writing(LADEN, load, Append::to(chat));
    let laden = laden.writing(FRESH, load, fresh).run().await?;

    let plain = end.laps(LAST)?.compare(beginning.laps(FIRST)?, Measure::Latency);
    let plain_laden = laden.laps(LADEN)?.compare(beginning.laps(FIRST)?, Measure::Latency);
    Ok(vec![
        plain.aiming_at(TARGET),
        end.compare(LAST, FRESH, Measure::Latency)?.aiming_at(TARGET),
        plain_laden.aiming_at(TARGET),
        laden.compare(LADEN, FRESH, Measure::Latency)?.aiming_at(TARGET),
    ])
}

/// Appends messages one at a time.
async fn grow(stage: &Stage, chat: &Chat, messages: usize) -> Result<()> {
    const STEP: usize = 1_000;
    let progress = stage.progress("growing", messages);
    let mut missing = messages;
    while missing > 0 {
        let step = missing.min(STEP);
        chat.fill(&stage.source.take(step), 1, &progress).await?;
        missing -= step;
    }
    progress.finish_and_clear();
    Ok(())
}
