use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;

use super::resume::conversation;
use crate::http::{Client, Get, Server};
use crate::measure::{Comparison, Contest, Measure, Target};
use crate::ours::{APP, Chat, Order, Part, Resume};
use crate::stage::Stage;

const WHOLE: &str = "all four GETs";
const WHOLE_FLOOR: &str = "all four calls";
const NOTHING: &str = "GET as many bytes of an empty server";

/// A request and the library's calls for the same.
struct Request {
    name: &'static str,
    floor: &'static str,
    part: &'static [Part],
    path: &'static str,
}

const REQUESTS: [Request; 4] = [
    Request { name: "GET meta", floor: "meta", part: &[Part::Meta], path: "meta" },
    Request {
        name: "GET history",
        floor: "history",
        part: &[Part::History],
        path: "history?dialect=ag2",
    },
    Request { name: "GET context", floor: "context", part: &[Part::Context], path: "context" },
    Request { name: "GET artifact", floor: "artifact", part: &[Part::Artifact], path: "artifact" },
];

/// The accepted extra time of a request, compared with the library's calls, in milliseconds.
const PER_REQUEST_MS: f64 = 0.3;

pub(super) async fn run(stage: &Stage) -> Result<Vec<Comparison>> {
    let messages = stage.sized(2_000, 100);
    let chat = conversation(stage, messages).await?;
    let service = Server::of_service(Arc::new(stage.store.clone())).await?;
    let all_paths: Vec<_> = REQUESTS.iter().map(|request| request.path).collect();
    let whole = get(service.address, &chat, &all_paths).await?;
    let nothing = Server::of_nothing(whole.answer_bytes().await?).await?;
    let ours = |parts| Resume { chat: chat.clone(), messages, parts, order: Order::InTurn };

    let reads = stage.sized(5, 2);
    let mut contest = Contest::new(stage)
        .reading(WHOLE, reads, whole)
        .reading(WHOLE_FLOOR, reads, ours(&Part::SERVICE))
        .reading(NOTHING, reads, get(nothing.address, &chat, &["history"]).await?);
    for Request { name, floor, part, path } in REQUESTS {
        contest = contest
            .reading(name, reads, get(service.address, &chat, &[path]).await?)
            .reading(floor, reads, ours(part));
    }
    let outcome = contest.run().await?;
    service.stop().await?;
    nothing.stop().await?;

    let compare = |ours, floor| outcome.compare(ours, floor, Measure::Latency);
    let all = Target::DifferenceAtMost(PER_REQUEST_MS * 4.0);
    let mut comparisons = vec![compare(WHOLE, WHOLE_FLOOR)?.aiming_at(all)];
    for Request { name, floor, .. } in REQUESTS {
        let one = Target::DifferenceAtMost(PER_REQUEST_MS);
        comparisons.push(compare(name, floor)?.aiming_at(one));
    }
    comparisons.push(compare(NOTHING, WHOLE_FLOOR)?);
    Ok(comparisons)
}

/// Gets paths below a chat, over its own connection.
async fn get(address: SocketAddr, chat: &Chat, paths: &[&str]) -> Result<Get> {
    let path = |path: &&str| format!("/api/chats/{APP}/{}/{path}", chat.id);
    Ok(Get { client: Client::connect(address).await?, paths: paths.iter().map(path).collect() })
}
