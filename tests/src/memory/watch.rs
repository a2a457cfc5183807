use std::time::{Duration, Instant};

use anyhow::Result;
use tokio::time::sleep;

use super::resident::{Memory, Resident};
use crate::percentile::of_sorted;
use crate::service::Service;

/// What a service needed during an operation.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    /// Its resident set.
    pub memory: Memory,
    /// The 99th percentile of the time in which it answered `GET /api/health/live` meanwhile.
    pub live_p99: Duration,
}

/// The pause between two health checks.
const INTERVAL: Duration = Duration::from_millis(5);

/// Watches a service during an operation, as another caller sees it.
pub async fn watch<T>(
    service: &Service,
    operation: impl Future<Output = Result<T>>,
) -> Result<(T, Watched)> {
    let http = reqwest::Client::builder().no_proxy().build()?;
    let url = format!("{}/api/health/live", service.url());
    http.get(&url).send().await?.error_for_status()?;
    let mut answered_in = Vec::new();
    let probe = async {
        loop {
            let asked = Instant::now();
            let answer = http.get(&url).send().await;
            if answer.is_ok_and(|answer| answer.status().is_success()) {
                answered_in.push(asked.elapsed());
            } else {
                answered_in.push(Duration::MAX);
            }
            sleep(INTERVAL).await;
        }
    };
    let probed = async {
        tokio::select! {
            () = probe => unreachable!("it never ends"),
            result = operation => result,
        }
    };
    let (result, memory) = Resident::of(service.pid()?).during(probed).await?;
    answered_in.sort_unstable();
    Ok((result, Watched { memory, live_p99: of_sorted(&answered_in, 99) }))
}
