use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use futures::future::try_join_all;
use indicatif::ProgressBar;
use reqwest::header::RETRY_AFTER;
use reqwest::{RequestBuilder, StatusCode};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::conversation::Conversation;
use super::resident::{Memory, Resident};
use crate::database::Database;
use crate::percentile::of_sorted;
use crate::service::Service;
use crate::settings::Settings;

/// How many plans are read, and of what.
#[derive(Clone, Copy, Debug)]
pub struct PlansAtOnce {
    /// Megabytes of message contents in the chat.
    pub megabytes: usize,
    /// How many plans are read at once.
    pub plans: u8,
    /// By the services of how many apps, each of which has its own share of the memory and its own large chat.
    pub apps: u8,
}

/// What the plans needed, and what they did to other requests.
#[derive(Clone, Debug, Serialize)]
pub struct PlansReport {
    /// The resident set of the service while the plans were read, in megabytes.
    #[serde(rename = "resident_mb")]
    pub memory: Memory,
    /// Plans that arrived whole.
    pub complete: usize,
    /// The answers of one plan, in megabytes.
    pub megabytes: usize,
    /// How often a plan was refused because there was no memory, and asked for again.
    pub refused: usize,
    /// From the first request of a plan to its last byte, in seconds: the median and the longest.
    pub seconds: [f64; 2],
    /// Small requests without the plans.
    pub alone: SmallRequests,
    /// Small requests beside the plans.
    pub beside: SmallRequests,
}

/// The times of small requests, in milliseconds: the median, and the 99th percentile.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SmallRequests {
    /// The appends of one message.
    pub append_ms: [f64; 2],
    /// The pages of 50 messages.
    pub page_ms: [f64; 2],
    /// The number of pairs of an append and a page.
    pub pairs: usize,
    /// How many of these requests were refused because there was no memory. They count in the times.
    pub refused: usize,
}

/// How long the small requests are measured alone.
const ALONE: Duration = Duration::from_secs(10);
/// The pause between two pairs of small requests.
const PAUSE: Duration = Duration::from_millis(5);

/// Reads plans of a large chat at once beside small requests of another caller, and measures both.
pub async fn plans_at_once(
    uri: &str,
    load: PlansAtOnce,
    progress: &ProgressBar,
) -> Result<PlansReport> {
    let database = Database::on(uri).await?;
    let settings = Settings::of(&database);
    let conversation = Conversation::of_megabytes(load.megabytes);
    let service = Service::start(&settings).await?;
    let mut callers = Vec::new();
    for app in 0..load.apps {
        let caller = Caller::create(&service, &format!("app_{app}")).await?;
        for batch in conversation.batches() {
            let response = caller.append(&batch.messages).send().await?;
            response.error_for_status().context("the large chat was not stored")?;
            progress.inc(batch.bytes as u64);
        }
        callers.push(caller);
    }
    let small = Caller::create(&service, "another_app").await?;
    let small_path = small.url.replace(service.url(), "");
    let paths: Vec<_> = callers.iter().map(|it| it.url.replace(service.url(), "")).collect();
    service.stop().await?;

    let service = Service::start(&settings).await?;
    let callers: Vec<_> =
        paths.iter().map(|path| Caller::new(&service, path)).collect::<Result<_>>()?;
    let small = Caller::new(&service, &small_path)?;
    let waiting = async {
        sleep(ALONE).await;
        Ok(())
    };
    let alone = small.during(waiting).await?.1;
    let reading = try_join_all(
        (0..load.plans)
            .map(async |plan| callers[usize::from(plan % load.apps)].plan(progress).await),
    );
    let resident = Resident::of(service.pid()?);
    let ((read, beside), memory) = resident.during(small.during(reading)).await?;
    service.stop().await?;

    let mut seconds: Vec<_> = read.iter().map(|plan| plan.seconds).collect();
    seconds.sort_unstable_by(f64::total_cmp);
    Ok(PlansReport {
        memory,
        complete: read.len(),
        megabytes: read.first().map_or(0, |plan| plan.bytes) / 1_000_000,
        refused: read.iter().map(|plan| plan.refused).sum(),
        seconds: [of_sorted(&seconds, 50), seconds.last().copied().unwrap_or_default()],
        alone,
        beside,
    })
}

/// The services of an app, and the chat that they read and write.
#[derive(Debug)]
struct Caller {
    http: reqwest::Client,
    url: String,
}

/// A plan that arrived.
#[derive(Debug)]
struct Plan {
    bytes: usize,
    refused: usize,
    seconds: f64,
}

impl Caller {
    fn new(service: &Service, path: &str) -> Result<Self> {
        let http = reqwest::Client::builder().no_proxy().build()?;
        Ok(Self { http, url: format!("{}{path}", service.url()) })
    }

    /// Creates a chat in an app.
    async fn create(service: &Service, app: &str) -> Result<Self> {
        let path = format!("/api/chats/{app}");
        let Self { http, url } = Self::new(service, &path)?;
        let created = http.post(url).json(&json!({ "workflow_name": "Plans" })).send().await?;
        let created: Value = created.error_for_status()?.json().await?;
        let chat_id = created["chat_id"].as_str().context("a chat without an id")?;
        Self::new(service, &format!("{path}/{chat_id}"))
    }

    /// Reads a plan; if it is refused because there is no memory, asks again as late as the answer says.
    async fn plan(&self, progress: &ProgressBar) -> Result<Plan> {
        let started = Instant::now();
        let url = format!("{}/resume?dialect=openai", self.url);
        let mut refused = 0;
        loop {
            let mut response = self.http.get(&url).send().await?;
            if response.status() == StatusCode::SERVICE_UNAVAILABLE {
                refused += 1;
                let retry_after = response.headers().get(RETRY_AFTER);
                let retry_after = retry_after.context("a refusal without Retry-After")?;
                sleep(Duration::from_secs(retry_after.to_str()?.parse()?)).await;
                continue;
            }
            ensure!(response.status().is_success(), "a plan was answered {}", response.status());
            let (mut bytes, mut last) = (0, None);
            while let Some(chunk) = response.chunk().await? {
                bytes += chunk.len();
                progress.inc(chunk.len() as u64);
                last = chunk.last().copied();
            }
            ensure!(last == Some(b'}'), "a plan ended early");
            return Ok(Plan { bytes, refused, seconds: started.elapsed().as_secs_f64() });
        }
    }

    /// Repeats small requests during an operation.
    async fn during<T>(
        &self,
        operation: impl Future<Output = Result<T>>,
    ) -> Result<(T, SmallRequests)> {
        let (mut appends, mut pages, mut refused) = (Vec::new(), Vec::new(), 0);
        let repeating = async {
            loop {
                for (times, request) in
                    [(&mut appends, self.append(&[message()])), (&mut pages, self.page())]
                {
                    let (milliseconds, is_refused) = timed(request).await?;
                    times.push(milliseconds);
                    refused += usize::from(is_refused);
                }
                sleep(PAUSE).await;
            }
        };
        let result = tokio::select! {
            result = operation => result?,
            failure = repeating => {
                let failure: Result<()> = failure;
                bail!("a small request failed: {:?}", failure.err())
            }
        };
        let pairs = pages.len();
        let [append_ms, page_ms] = [appends, pages].map(|mut times| {
            times.sort_unstable_by(f64::total_cmp);
            [of_sorted(&times, 50), of_sorted(&times, 99)]
        });
        Ok((result, SmallRequests { append_ms, page_ms, pairs, refused }))
    }

    fn append(&self, messages: &[Value]) -> RequestBuilder {
        let url = format!("{}/messages", self.url);
        self.http.post(url).json(&json!({ "messages": messages }))
    }

    fn page(&self) -> RequestBuilder {
        self.http.get(format!("{}/messages?limit=50", self.url))
    }
}

fn message() -> Value {
    json!({"role": "user", "content": "x".repeat(1_000)})
}

/// Sends a request; returns the milliseconds until its answer has arrived, and whether there was no memory for it.
async fn timed(request: RequestBuilder) -> Result<(f64, bool)> {
    let started = Instant::now();
    let response = request.send().await?;
    let is_refused = response.status() == StatusCode::SERVICE_UNAVAILABLE;
    let response = if is_refused { response } else { response.error_for_status()? };
    response.bytes().await?;
    Ok((started.elapsed().as_secs_f64() * 1_000.0, is_refused))
}

impl std::fmt::Display for PlansReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { memory, complete, megabytes, refused, seconds: [median, longest], .. } = self;
        let Memory { before, peak, after } = memory;
        writeln!(f, "resident set in MB: {before:.0} before, {peak:.0} peak, {after:.0} after")?;
        writeln!(
            f,
            "{complete} plans of {megabytes} MB arrived; {refused} times refused with 503"
        )?;
        writeln!(f, "a plan took {median:.1} s (median), {longest:.1} s (longest)\n")?;
        writeln!(
            f,
            "| small requests, ms | append p50 | p99 | page p50 | p99 | pairs | refused |"
        )?;
        writeln!(f, "|---|---|---|---|---|---|---|")?;
        for (when, small) in [("alone", &self.alone), ("beside the plans", &self.beside)] {
            let SmallRequests { append_ms: [a50, a99], page_ms: [p50, p99], pairs, refused } =
                small;
            writeln!(
                f,
                "| {when} | {a50:.2} | {a99:.1} | {p50:.2} | {p99:.1} | {pairs} | {refused} |"
            )?;
        }
        Ok(())
    }
}
