use std::net::SocketAddr;
use std::slice;
use std::sync::Arc;

use anyhow::Result;

use crate::floor::{Floor, Watch};
use crate::http::{Process, Server};
use crate::live::{Audience, Tell};
use crate::measure::{Contest, Delays, Measure, Target};
use crate::ours::{Append, Chat};
use crate::report::{Figure, Findings};
use crate::stage::Stage;

const HERE: &str = "append to event, same process";
const THERE: &str = "append to event, other process";
const FLOOR: &str = "insert_one to change stream";

/// The quantiles of the delays that are reported for each lane.
const QUOTED: [[(&str, f64); 2]; 3] = [
    [
        ("same process, event after acknowledgement, p50", 0.5),
        ("same process, event after acknowledgement, p99", 0.99),
    ],
    [
        ("other process, event after acknowledgement, p50", 0.5),
        ("other process, event after acknowledgement, p99", 0.99),
    ],
    [
        ("change stream, event after acknowledgement, p50", 0.5),
        ("change stream, event after acknowledgement, p99", 0.99),
    ],
];

pub(super) async fn run(stage: &Stage) -> Result<Findings> {
    let here = Server::of_service(Arc::new(stage.store.clone())).await?;
    let there = Process::start(&stage.uri, &stage.store_database).await?;
    let delays = [Delays::default(), Delays::default(), Delays::default()];
    let watcher = Floor::connect(&stage.uri, &stage.floor_database, 2).await?;
    let watch = Watch::open(&stage.floor, &watcher, delays[2].clone()).await?;
    let deliveries = stage.sized(50, 5);
    let contest = Contest::new(stage)
        .delivering(HERE, deliveries, tell(stage, here.address, &delays[0]).await?)
        .delivering(THERE, deliveries, tell(stage, there.address, &delays[1]).await?)
        .delivering(FLOOR, deliveries, watch);
    let outcome = contest.run().await?;
    here.stop().await?;
    there.stop().await?;
    let compare = |ours| outcome.compare(ours, FLOOR, Measure::Latency);
    let figures = delays.iter().zip(QUOTED).flat_map(|(delays, quoted)| {
        let figure = |(name, share): (&str, f64)| Figure {
            name: name.to_owned(),
            value: delays.quantile(share),
            unit: "ms",
            at_most: None,
        };
        quoted.map(figure)
    });
    Ok(Findings {
        comparisons: vec![
            compare(HERE)?.aiming_at(Target::RatioAtMost(1.0)),
            compare(THERE)?.aiming_at(Target::RatioAtMost(1.5)),
        ],
        figures: figures.collect(),
    })
}

/// Writes to a chat with the library, for a subscriber at a service.
async fn tell(stage: &Stage, address: SocketAddr, delays: &Delays) -> Result<Tell<Append>> {
    let chat = Chat::create(&stage.store).await?;
    let audience = Audience::gather(address, slice::from_ref(&chat), 1).await?;
    Ok(Tell { writes: vec![Append::to(chat)], audience, delays: delays.clone() })
}
