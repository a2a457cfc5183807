use std::slice;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Result;
use async_trait::async_trait;
use futures::future::try_join_all;
use persistence::Streams as _;
use records::{NewStream, StreamFormat, StreamHeader, StreamId};
use tokio::task::JoinSet;
use tokio::time::{interval, sleep};

use crate::http::Process;
use crate::live::{Audience, Tell};
use crate::measure::{Contest, CpuTime, Delays, Deliver, Measure, Target, Write, quantile};
use crate::messages::Message;
use crate::ours::{Append, Chat};
use crate::report::{Figure, Findings};
use crate::stage::Stage;

const CHUNK: &str = "chunk to event, other process";
const FLOOR: &str = "append to event, other process";

/// The viewers of one stream, and the streams at once.
const VIEWERS: usize = 200;
const STREAMS: usize = 1_000;

/// How often an agent sends what its model has produced, and how many chunks that are.
const SENDING: Duration = Duration::from_millis(100);
const CHUNKS: usize = 4;

/// How long many streams are written.
const MEASURED: Duration = Duration::from_secs(15);

pub(super) async fn run(stage: &Stage) -> Result<Findings> {
    let service = Process::start(&stage.uri, &stage.store_database).await?;
    let stream = Running::start(&Chat::create(&stage.store).await?).await?;
    let audience = Audience::gather(service.address, slice::from_ref(&stream.chat), 1).await?;
    let chunk = Tell { writes: vec![Chunk { stream }], audience, delays: Delays::default() };
    let chat = Chat::create(&stage.store).await?;
    let audience = Audience::gather(service.address, slice::from_ref(&chat), 1).await?;
    let message = Tell { writes: vec![Append::to(chat)], audience, delays: Delays::default() };
    let deliveries = stage.sized(20, 2);
    let contest = Contest::new(stage).delivering(CHUNK, deliveries, Rested(chunk)).delivering(
        FLOOR,
        deliveries,
        Rested(message),
    );
    let compared = contest.run().await?.compare(CHUNK, FLOOR, Measure::Latency)?;

    let mut figures = many_viewers(stage, &service).await?;
    figures.extend(many_streams(stage).await?);
    service.stop().await?;
    Ok(Findings { comparisons: vec![compared.aiming_at(Target::RatioAtMost(1.5))], figures })
}

/// A stream that an agent is writing.
#[derive(Debug)]
struct Running {
    chat: Chat,
    id: StreamId,
    next: AtomicU64,
}

impl Running {
    async fn start(chat: &Chat) -> Result<Self> {
        let header = StreamHeader { format: StreamFormat::Text, agent: None, request_id: None };
        let new = NewStream { stream_id: None, header };
        let id = chat.store.start_stream(&chat.scope, &chat.id, new).await?.record.stream_id;
        Ok(Self { chat: chat.clone(), id, next: AtomicU64::new(0) })
    }

    async fn add(&self, chunks: Vec<String>) -> Result<()> {
        let from = self.next.fetch_add(chunks.len() as u64, Ordering::Relaxed);
        let Self { chat, id, .. } = self;
        chat.store.append_chunks(&chat.scope, &chat.id, id, from, chunks).await?;
        Ok(())
    }
}

/// Chunks of a few words, as a model produces them.
fn chunks() -> Vec<String> {
    vec![r#""a few words ""#.to_owned(); CHUNKS]
}

/// `Streams::append_chunks`, after a pause: all streams of a process share one write each 100 ms, and the first after a pause
/// is sent at once.
#[derive(Debug)]
struct Chunk {
    stream: Running,
}

#[async_trait]
impl Write for Chunk {
    type Input = Vec<String>;

    fn prepare(&self, _writer: usize, _messages: &[Message]) -> Result<Self::Input> {
        Ok(chunks())
    }

    async fn write(&self, chunks: Self::Input) -> Result<()> {
        self.stream.add(chunks).await
    }
}

/// Deliveries with a pause before each.
#[derive(Debug)]
struct Rested<D>(D);

#[async_trait]
impl<D: Deliver> Deliver for Rested<D> {
    async fn deliver(&self, messages: &[Message]) -> Result<Vec<Duration>> {
        sleep(SENDING + SENDING / 5).await;
        self.0.deliver(messages).await
    }
}

/// Measures how long after the acknowledgement of chunks each of many viewers of one stream has them.
async fn many_viewers(stage: &Stage, service: &Process) -> Result<Vec<Figure>> {
    let chat = Chat::create(&stage.store).await?;
    let delays = Delays::default();
    let viewers = stage.sized(VIEWERS, 5);
    let audience = Audience::gather(service.address, slice::from_ref(&chat), viewers).await?;
    let write = Chunk { stream: Running::start(&chat).await? };
    let tell = Tell { writes: vec![write], audience, delays: delays.clone() };
    for _ in 0..stage.sized(100, 3) {
        tell.deliver(&stage.source.take(1)).await?;
    }
    let figure = |name: &str, share| Figure {
        name: format!("{viewers} viewers of one stream: event after acknowledgement, {name}"),
        value: delays.quantile(share),
        unit: "ms",
        at_most: None,
    };
    Ok(vec![figure("p50", 0.5), figure("p99", 0.99)])
}

/// Measures what many streams cost that are written at once.
async fn many_streams(stage: &Stage) -> Result<Vec<Figure>> {
    let count = stage.sized(STREAMS, 20);
    let chats = Chat::create_many(&stage.store, count).await?;
    let streams = try_join_all(chats.iter().map(Running::start)).await?;
    let mongod = CpuTime::of(stage.floor.server_pid().await?);
    let (used, sent, began) = (mongod.used()?, stage.floor.inserts_sent().await?, Instant::now());
    let until = began + stage.sized(MEASURED, SENDING);
    let mut agents = JoinSet::new();
    for stream in streams {
        agents.spawn(produce(stream, until));
    }
    let (mut times, mut added) = (Vec::new(), 0_u32);
    while let Some(agent) = agents.join_next().await {
        for time in agent?? {
            times.push(time);
            added += u32::try_from(CHUNKS)?;
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    let sent = stage.floor.inserts_sent().await? - sent;
    let used = mongod.used_since(used)?.as_secs_f64();
    times.sort_unstable();
    let time = |share| quantile(&times, share).as_secs_f64() * 1_000.0;
    let figure = |name: &str, value, unit| Figure {
        name: format!("{count} streams at once: {name}"),
        value,
        unit,
        at_most: None,
    };
    Ok(vec![
        figure("chunks", f64::from(added) / seconds, "chunks/s"),
        figure("inserts", sent / seconds, "inserts/s"),
        figure("CPU of mongod", 100.0 * used / seconds, "% of a core"),
        figure("chunks acknowledged, p50", time(0.5), "ms"),
        figure("chunks acknowledged, p99", time(0.99), "ms"),
    ])
}

/// Adds what an agent has produced, again and again. Returns how long each write took.
async fn produce(stream: Running, until: Instant) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    let mut ticks = interval(SENDING);
    while Instant::now() < until {
        ticks.tick().await;
        let began = Instant::now();
        stream.add(chunks()).await?;
        times.push(began.elapsed());
    }
    Ok(times)
}
