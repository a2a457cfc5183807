use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::Result;
use futures::future::try_join_all;
use tokio::time::{MissedTickBehavior, interval, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::http::Process;
use crate::live::{Audience, Tell};
use crate::measure::{CpuTime, Delays, Deliver as _};
use crate::ours::{Append, Chat, SteadyAppends};
use crate::report::{Figure, Findings};
use crate::stage::Stage;

/// How many service processes there are.
const PROCESSES: [usize; 4] = [0, 1, 4, 16];

/// The chats with a subscriber at each process.
const LIVE_CHATS: usize = 10;

/// The appends to chats without subscribers that are begun at each tick, 3,000 a second, and the chats that they go to in turn.
const APPENDED_EACH_TICK: usize = 30;
const QUIET_CHATS: usize = 3_000;

/// The most appends that wait for their acknowledgement.
const MAX_APPENDS: usize = 128;

/// How often appends are begun.
const TICK: Duration = Duration::from_millis(10);

/// The pause between two deliveries of a process.
const PAUSE: Duration = Duration::from_millis(250);

/// How long is measured.
const MEASURED: Duration = Duration::from_secs(15);

/// How long is waited before measuring, so that each process follows the changes.
const SETTLING: Duration = Duration::from_secs(2);

pub(super) async fn run(stage: &Stage) -> Result<Findings> {
    let quiet = Chat::create_many(&stage.store, stage.sized(QUIET_CHATS, 20)).await?;
    let mut figures = Vec::new();
    let counts = &PROCESSES[..stage.sized(PROCESSES.len(), 2)];
    let progress = stage.progress("measuring", counts.len());
    for count in counts {
        figures.extend(with_processes(stage, *count, &quiet).await?);
        progress.inc(1);
    }
    progress.finish_and_clear();
    Ok(Findings { comparisons: Vec::new(), figures })
}

/// Measures with the given number of processes.
async fn with_processes(stage: &Stage, count: usize, quiet: &[Chat]) -> Result<Vec<Figure>> {
    let start = || Process::start(&stage.uri, &stage.store_database);
    let processes = try_join_all((0..count).map(|_| start())).await?;
    let delays = Delays::default();
    let telling = processes.iter().map(|process| tell(stage, process.address, &delays));
    let telling = try_join_all(telling).await?;

    let ending = CancellationToken::new();
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let appends = SteadyAppends {
        source: stage.source.clone(),
        chats: quiet.to_vec(),
        ticks,
        each_tick: stage.sized(APPENDED_EACH_TICK, 1),
        most: MAX_APPENDS,
    };
    let load = tokio::spawn(appends.run(ending.clone()));
    sleep(stage.sized(SETTLING, TICK)).await;
    let mongod = CpuTime::of(stage.floor.server_pid().await?);
    let of_processes: Vec<_> = processes.iter().map(Process::cpu_time).collect();
    let before = mongod.used()?;
    let before_of_processes = used_by_all(&of_processes)?;
    let began = Instant::now();
    let until = began + stage.sized(MEASURED, Duration::from_millis(500));
    delays.clear();
    let listening = telling.iter().map(|tell| deliver_until(stage, tell, until));
    try_join_all(listening).await?;
    sleep_until(until.into()).await;
    let elapsed = began.elapsed();
    let share = |used: Duration| 100.0 * used.as_secs_f64() / elapsed.as_secs_f64();
    let of_mongod = share(mongod.used_since(before)?);
    let of_each = share(used_by_all(&of_processes)?.saturating_sub(before_of_processes))
        / count.max(1) as f64;
    ending.cancel();
    let appended = load.await??;
    drop(telling);
    try_join_all(processes.into_iter().map(Process::stop)).await?;

    let figure = |name: &str, value, unit| Figure {
        name: format!("{count} processes: {name}"),
        value,
        unit,
        at_most: None,
    };
    let mut figures = vec![
        figure("appends", appended, "messages/s"),
        figure("CPU of mongod", of_mongod, "% of a core"),
    ];
    if count > 0 {
        figures.extend([
            figure("CPU of each process", of_each, "% of a core"),
            figure("event after acknowledgement, p50", delays.quantile(0.5), "ms"),
            figure("event after acknowledgement, p99", delays.quantile(0.99), "ms"),
        ]);
    }
    Ok(figures)
}

fn used_by_all(processes: &[CpuTime]) -> Result<Duration> {
    processes.iter().map(CpuTime::used).sum()
}

/// Gathers a subscriber for each live chat of a process.
async fn tell(stage: &Stage, address: SocketAddr, delays: &Delays) -> Result<Tell<Append>> {
    let chats = Chat::create_many(&stage.store, stage.sized(LIVE_CHATS, 2)).await?;
    let audience = Audience::gather(address, &chats, 1).await?;
    let writes = chats.into_iter().map(Append::to).collect();
    Ok(Tell { writes, audience, delays: delays.clone() })
}

async fn deliver_until(stage: &Stage, tell: &Tell<Append>, until: Instant) -> Result<()> {
    while Instant::now() < until {
        tell.deliver(&stage.source.take(tell.messages())).await?;
        sleep(PAUSE).await;
    }
    Ok(())
}
