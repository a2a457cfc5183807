use std::slice;
use std::sync::Arc;

use anyhow::Result;
use futures::future::try_join_all;

use crate::http::{Client, Post, Process};
use crate::live::{Audience, Tell};
use crate::measure::{Contest, Delays, Measure};
use crate::ours::{APP, Chat};
use crate::report::{Figure, Findings};
use crate::stage::Stage;

const HOT: &str = "POST to event, 2,000 of one chat";
const SPREAD: &str = "POST to event, 2,000 chats of one";
const FLOOR: &str = "POST to event, one of one chat";

/// Connections that post messages.
const CONNECTIONS: usize = 64;

/// The target for each subscriber.
const MOST_KIB: f64 = 16.0;

pub(super) async fn run(stage: &Stage) -> Result<Findings> {
    let many = stage.sized(2_000, 20);
    let service = Process::start(&stage.uri, &stage.store_database).await?;
    let clients = try_join_all((0..CONNECTIONS).map(|_| Client::connect(service.address))).await?;
    let clients: Vec<_> = clients.into_iter().map(Arc::new).collect();
    let tell = async |chats: &[Chat], listeners| {
        let audience = Audience::gather(service.address, chats, listeners).await?;
        let post = |(chat, client): (&Chat, &Arc<Client>)| Post {
            client: Arc::clone(client),
            path: format!("/api/chats/{APP}/{}/messages", chat.id),
        };
        let writes = chats.iter().zip(clients.iter().cycle()).map(post).collect();
        anyhow::Ok(Tell { writes, audience, delays: Delays::default() })
    };

    let one = Chat::create(&stage.store).await?;
    let one = tell(slice::from_ref(&one), 1).await?;
    let hot = Chat::create(&stage.store).await?;
    let chats = Chat::create_many(&stage.store, many).await?;
    let resident = [service.resident_bytes()?];
    let hot = tell(slice::from_ref(&hot), many).await?;
    let resident = [resident[0], service.resident_bytes()?];
    let spread = tell(&chats, 1).await?;
    let resident = [resident[0], resident[1], service.resident_bytes()?];

    let deliveries = stage.sized(2, 1);
    let contest = Contest::new(stage)
        .delivering(HOT, deliveries, hot)
        .delivering(SPREAD, deliveries, spread)
        .delivering(FLOOR, stage.sized(20, 2), one);
    let outcome = contest.run().await?;
    service.stop().await?;

    let each = |name: &str, before: u64, after: u64| Figure {
        name: name.to_owned(),
        value: (after as f64 - before as f64) / many as f64 / 1_024.0,
        unit: "KiB",
        at_most: Some(MOST_KIB),
    };
    Ok(Findings {
        comparisons: vec![
            outcome.compare(HOT, FLOOR, Measure::Latency)?,
            outcome.compare(SPREAD, FLOOR, Measure::Latency)?,
        ],
        figures: vec![
            each(
                "resident set of the service for each subscriber of one chat",
                resident[0],
                resident[1],
            ),
            each(
                "resident set of the service for each chat with a subscriber",
                resident[1],
                resident[2],
            ),
        ],
    })
}
