use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use chrono::{DateTime, Utc};
use persistence::{PendingOrder, Store, StoreError};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use records::{AppId, Clock as _, Counter, Rollup, Scope, SystemClock};
use tokio::time::{Instant, timeout};

/// How long numbers are used before the store is asked again, also by another scraper.
const FRESH: Duration = Duration::from_secs(10);
/// How long a scrape waits for the store. After that it has the numbers of an earlier one.
const MAX_READ: Duration = Duration::from_secs(3);
/// Pending questions are counted up to this number.
const MAX_QUESTIONS: usize = 1_000;

/// What the apps that have labels of their own do and cost. Read from the store, so it is the same in every process.
#[derive(Debug)]
pub(crate) struct AppMetrics {
    store: Arc<dyn Store>,
    apps: Vec<AppId>,
    numbers: Numbers,
    /// When the store was last asked. Held while it is, so that several scrapes ask once.
    asked: tokio::sync::Mutex<Option<Instant>>,
}

/// The numbers of the apps that were read at least once, for the registry.
#[derive(Debug, Clone, Default)]
pub(super) struct Numbers(Arc<Mutex<Vec<AppNumbers>>>);

#[derive(Debug, Clone)]
struct AppNumbers {
    app: AppId,
    total: Rollup,
    pending_questions: usize,
    oldest_question: Option<DateTime<Utc>>,
    read_at: DateTime<Utc>,
}

impl AppMetrics {
    pub(super) fn new(apps: &[AppId], store: Arc<dyn Store>) -> Self {
        let (numbers, asked) = (Numbers::default(), tokio::sync::Mutex::default());
        Self { store, apps: apps.to_vec(), numbers, asked }
    }

    pub(super) fn collector(&self) -> Numbers {
        self.numbers.clone()
    }

    /// Asks the store for the numbers, unless it was asked shortly before. What it does not answer stays as it was.
    pub(super) async fn refresh(&self) {
        let mut asked = self.asked.lock().await;
        if self.apps.is_empty() || asked.is_some_and(|at| at.elapsed() < FRESH) {
            return;
        }
        match timeout(MAX_READ, self.read_all()).await {
            Ok(Ok(numbers)) => self.numbers.set(numbers),
            Ok(Err(error)) => tracing::warn!(cause = error.to_string(), "no numbers of apps"),
            Err(_) => tracing::warn!("no numbers of apps: the store does not answer in time"),
        }
        *asked = Some(Instant::now());
    }

    async fn read_all(&self) -> Result<Vec<AppNumbers>, StoreError> {
        let mut numbers = Vec::with_capacity(self.apps.len());
        for app in &self.apps {
            numbers.push(self.read(app).await?);
        }
        Ok(numbers)
    }

    async fn read(&self, app: &AppId) -> Result<AppNumbers, StoreError> {
        let mut total = Rollup::default();
        for workflow in self.store.app_stats(app).await? {
            total.merge(&workflow.total, 1);
        }
        let scope = Scope::service(app.clone());
        let (mut pending_questions, mut oldest_question, mut after) = (0, None, None);
        loop {
            let page = self
                .store
                .list_pending_inputs(&scope, PendingOrder::Oldest, MAX_QUESTIONS, after.as_ref())
                .await?;
            let first = page.requests.first().map(|first| first.created_at);
            oldest_question = oldest_question.or(first);
            pending_questions += page.requests.len();
            after = page.next;
            if after.is_none() || pending_questions >= MAX_QUESTIONS {
                break;
            }
        }
        let (app, read_at) = (app.clone(), SystemClock.now());
        let pending_questions = pending_questions.min(MAX_QUESTIONS);
        Ok(AppNumbers { app, total, pending_questions, oldest_question, read_at })
    }
}

/// A label beside the app, if there is one, and a number.
type Series = (Option<(&'static str, &'static str)>, f64);

impl AppNumbers {
    fn counter(&self, counter: Counter) -> f64 {
        float(self.total.count(counter))
    }

    fn labelled<const N: usize>(
        &self,
        label: &'static str,
        counters: [(&'static str, Counter); N],
    ) -> Vec<Series> {
        let series = |(value, counter)| (Some((label, value)), self.counter(counter));
        counters.map(series).to_vec()
    }

    fn chats(&self) -> Vec<Series> {
        let statuses = [
            ("running", Counter::Running),
            ("paused", Counter::Paused),
            ("completed", Counter::Completed),
            ("failed", Counter::Failed),
        ];
        self.labelled("status", statuses)
    }

    fn changes(&self) -> Vec<Series> {
        let changes = [
            ("started", Counter::Starts),
            ("paused", Counter::Pauses),
            ("resumed", Counter::Resumptions),
            ("completed", Counter::Completions),
            ("failed", Counter::Failures),
            ("reopened", Counter::Reopens),
        ];
        self.labelled("change", changes)
    }

    fn tokens(&self) -> Vec<Series> {
        let kinds = [("prompt", Counter::PromptTokens), ("completion", Counter::CompletionTokens)];
        self.labelled("kind", kinds)
    }

    fn calls(&self) -> Vec<Series> {
        vec![(None, self.counter(Counter::Calls))]
    }

    fn call_seconds(&self) -> Vec<Series> {
        vec![(None, self.counter(Counter::CallDurationMs) / 1e3)]
    }

    fn cost(&self) -> Vec<Series> {
        vec![(None, self.counter(Counter::CostMicros) / 1e6)]
    }

    fn questions(&self) -> Vec<Series> {
        vec![(None, float(self.pending_questions as u64))]
    }

    fn oldest_question(&self) -> Vec<Series> {
        let seconds = |since: DateTime<Utc>| (self.read_at - since).as_seconds_f64().max(0.0);
        vec![(None, self.oldest_question.map_or(0.0, seconds))]
    }

    fn read_at(&self) -> Vec<Series> {
        vec![(None, float(self.read_at.timestamp_millis().unsigned_abs()) / 1e3)]
    }
}

/// A metric of apps.
struct AppMetric {
    name: &'static str,
    help: &'static str,
    kind: MetricType,
    series: fn(&AppNumbers) -> Vec<Series>,
}

const METRICS: [AppMetric; 9] = [
    AppMetric {
        name: "reprise_app_chats",
        help: "The chats of an app, by status",
        kind: MetricType::Gauge,
        series: AppNumbers::chats,
    },
    AppMetric {
        name: "reprise_app_chat_changes",
        help: "Chats of an app that were started, paused, resumed, completed, failed or reopened",
        kind: MetricType::Counter,
        series: AppNumbers::changes,
    },
    // Calls can be deleted, so these may decrease. A counter that does has begun again, for Prometheus.
    AppMetric {
        name: "reprise_app_calls",
        help: "Recorded calls of models in an app",
        kind: MetricType::Gauge,
        series: AppNumbers::calls,
    },
    AppMetric {
        name: "reprise_app_call_seconds",
        help: "The time that these calls took, in seconds",
        kind: MetricType::Gauge,
        series: AppNumbers::call_seconds,
    },
    AppMetric {
        name: "reprise_app_tokens",
        help: "The tokens of these calls, by kind",
        kind: MetricType::Gauge,
        series: AppNumbers::tokens,
    },
    AppMetric {
        name: "reprise_app_cost_usd",
        help: "What these calls cost, in US dollars",
        kind: MetricType::Gauge,
        series: AppNumbers::cost,
    },
    AppMetric {
        name: "reprise_app_pending_questions",
        help: "Questions of an app that wait for an answer, counted up to 1,000",
        kind: MetricType::Gauge,
        series: AppNumbers::questions,
    },
    AppMetric {
        name: "reprise_app_oldest_question_age_seconds",
        help: "How long the oldest of them has waited, in seconds",
        kind: MetricType::Gauge,
        series: AppNumbers::oldest_question,
    },
    AppMetric {
        name: "reprise_app_read_timestamp_seconds",
        help: "When these numbers of an app were read from the store, in seconds since 1970",
        kind: MetricType::Gauge,
        series: AppNumbers::read_at,
    },
];

impl Numbers {
    fn set(&self, numbers: Vec<AppNumbers>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = numbers;
    }

    fn get(&self) -> Vec<AppNumbers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Collector for Numbers {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let apps = self.get();
        if apps.is_empty() {
            return Ok(());
        }
        for metric in &METRICS {
            let mut family =
                encoder.encode_descriptor(metric.name, metric.help, None, metric.kind)?;
            for numbers in &apps {
                for (label, value) in (metric.series)(numbers) {
                    let mut labels = vec![("app", numbers.app.as_str())];
                    labels.extend(label);
                    let mut series = family.encode_family(&labels)?;
                    match metric.kind {
                        MetricType::Counter => {
                            series.encode_counter::<NoLabelSet, _, u64>(&value, None)?;
                        }
                        _ => series.encode_gauge(&value)?,
                    }
                }
            }
        }
        Ok(())
    }
}

/// Numbers up to 2^53 are exact.
#[expect(clippy::cast_precision_loss, reason = "the largest numbers are micro-dollars")]
fn float(number: u64) -> f64 {
    number as f64
}
