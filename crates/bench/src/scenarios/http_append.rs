use std::sync::Arc;

use anyhow::{Error, Result};

use crate::http::{Client, Post, Server};
use crate::measure::{Comparison, Contest, Load, Measure, Target};
use crate::ours::{APP, Append, Chat};
use crate::stage::Stage;

const OURS: &str = "POST messages";
const FLOOR: &str = "append";
const NOTHING: &str = "POST to an empty server";

/// About the size of the response to an append.
const ANSWER_BYTES: usize = 160;

pub(super) async fn run(stage: &Stage) -> Result<Vec<Comparison>> {
    let service = Server::of_service(Arc::new(stage.store.clone())).await?;
    let nothing = Server::of_nothing(ANSWER_BYTES).await?;
    let chat = Chat::create(&stage.store).await?;
    let path = format!("/api/chats/{APP}/{}/messages", chat.id);
    let client =
        async |server: &Server| Ok::<_, Error>(Arc::new(Client::connect(server.address).await?));
    let post = Post { client: client(&service).await?, path: path.clone() };
    let post_nothing = Post { client: client(&nothing).await?, path };

    let load = Load { writers: 1, writes: stage.sized(50, 5), batch: 1 };
    let contest = Contest::new(stage)
        .writing(OURS, load, post)
        .writing(FLOOR, load, Append::to(Chat::create(&stage.store).await?))
        .writing(NOTHING, load, post_nothing);
    let outcome = contest.run().await?;
    service.stop().await?;
    nothing.stop().await?;
    Ok(vec![
        outcome.compare(OURS, FLOOR, Measure::Latency)?.aiming_at(Target::DifferenceAtMost(0.3)),
        outcome.compare(NOTHING, FLOOR, Measure::Latency)?,
    ])
}
