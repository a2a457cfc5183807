//! Sends spans to a collector of OpenTelemetry.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, ensure};
use async_trait::async_trait;
use opentelemetry::trace::{Status, TracerProvider as _};
use opentelemetry::{KeyValue, global};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{
    Sampler, SdkTracerProvider, SpanData, SpanEvents, SpanExporter, Tracer,
};
use service::OutgoingClient;
use tokio::runtime::Handle;
use tracing::Subscriber;
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::registry::LookupSpan;

use crate::settings::Traces;

/// How long the collector may take to accept spans.
const TIMEOUT: Duration = Duration::from_secs(5);
/// The most of its answer that is read, in bytes.
const MAX_ANSWER_BYTES: usize = 64 << 10;
/// Attributes that may repeat a value of a caller: an error of the driver has the values of a key that exists.
const HIDDEN: [&str; 3] = ["exception.message", "exception.stacktrace", "db.query.text"];

/// What exports spans. Those that were not sent yet are sent when it is closed.
#[derive(Debug)]
pub(crate) struct Exporter {
    provider: SdkTracerProvider,
    tracer: Tracer,
}

impl Exporter {
    /// Checks the settings of the export; without a collector the others have no effect.
    pub(crate) fn check(settings: &Traces) -> anyhow::Result<()> {
        let Some(endpoint) = &settings.endpoint else { return Ok(()) };
        let ratio = settings.sample_ratio;
        ensure!(
            (0.0..=1.0).contains(&ratio),
            "traces.sample_ratio is {ratio}: it must be from 0 to 1"
        );
        let is_http = endpoint.starts_with("http://") || endpoint.starts_with("https://");
        let is_url = is_http && Request::builder().uri(endpoint).body(()).is_ok();
        ensure!(is_url, "traces.endpoint must be a URL that begins with http:// or https://");
        Ok(())
    }

    /// Starts the export; `None` if it is off. Traces of callers are understood in any case, so that the log names them.
    pub(crate) fn start(settings: &Traces, runtime: &Handle) -> anyhow::Result<Option<Self>> {
        global::set_text_map_propagator(TraceContextPropagator::new());
        let Some(endpoint) = &settings.endpoint else { return Ok(None) };
        Self::check(settings)?;
        let ratio = settings.sample_ratio;
        let client = OutgoingClient::with_limits(TIMEOUT, MAX_ANSWER_BYTES);
        let reason = Reason::default();
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_http_client(Sender {
                client,
                runtime: runtime.clone(),
                reason: Arc::clone(&reason),
            })
            .with_endpoint(endpoint)
            .with_protocol(Protocol::HttpBinary)
            .with_timeout(TIMEOUT)
            .build()
            .context("traces.endpoint is not usable")?;
        let resource = Resource::builder()
            .with_service_name(settings.service_name.clone())
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let provider = SdkTracerProvider::builder()
            .with_batch_exporter(Reported { exporter, reason, lost: AtomicU64::new(0) })
            .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(ratio))))
            .with_resource(resource)
            .build();
        let tracer = provider.tracer("reprise");
        global::set_tracer_provider(provider.clone());
        Ok(Some(Self { provider, tracer }))
    }

    /// Returns the layer that takes the spans of traces, and no others.
    pub(crate) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        OpenTelemetryLayer::new(self.tracer.clone())
            .with_location(false)
            .with_threads(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_filter(Targets::new().with_target(persistence::traces::TARGET, LevelFilter::INFO))
    }

    /// Sends what was not sent yet.
    pub(crate) fn close(self) {
        if let Err(error) = self.provider.shutdown() {
            tracing::warn!(%error, "some spans were not sent");
        }
    }
}

/// Sends requests of the exporter, whose thread is none of the runtime.
#[derive(Debug)]
struct Sender {
    client: OutgoingClient,
    runtime: Handle,
    reason: Reason,
}

/// Why the last request of the exporter has failed. The error of the library would repeat the whole address and answer.
type Reason = Arc<Mutex<String>>;

#[async_trait]
impl HttpClient for Sender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let request = request.map(Vec::from);
        let sent = self.runtime.spawn(async move { client.send(request).await });
        let sent = sent.await?;
        let failure = match &sent {
            Ok(response) if response.status().is_success() => None,
            Ok(response) => Some(format!("the collector has answered {}", response.status())),
            Err(error) => Some(error.to_string()),
        };
        if let Some(failure) = failure {
            *self.reason.lock().unwrap_or_else(PoisonError::into_inner) = failure;
        }
        Ok(sent?.map(Bytes::from))
    }
}

/// Takes away what may repeat a text of a conversation or the name of a person, and logs when exports begin to fail and when they
/// work again.
struct Reported<E> {
    exporter: E,
    reason: Reason,
    /// The spans that were lost since exports began to fail.
    lost: AtomicU64,
}

impl<E> fmt::Debug for Reported<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reported").field("lost", &self.lost).finish_non_exhaustive()
    }
}

impl<E> Reported<E> {
    /// Notes how the export of some spans has ended. The library sends none of them again.
    fn note(&self, spans: usize, has_failed: bool) {
        if has_failed {
            let lost_before = self.lost.fetch_add(spans as u64, Ordering::Relaxed);
            if lost_before == 0 {
                let cause = self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone();
                tracing::warn!(cause, "failed to export spans; they are lost until it works again");
            }
            return;
        }
        let lost = self.lost.swap(0, Ordering::Relaxed);
        if lost > 0 {
            tracing::info!(lost, "spans are exported again");
        }
    }
}

impl<E: SpanExporter> SpanExporter for Reported<E> {
    async fn export(&self, mut batch: Vec<SpanData>) -> OTelSdkResult {
        for span in &mut batch {
            span.attributes.retain(|attribute| !HIDDEN.contains(&attribute.key.as_str()));
            span.events = SpanEvents::default();
            if let Status::Error { description } = &mut span.status {
                *description = "".into();
            }
        }
        let spans = batch.len();
        let exported = self.exporter.export(batch).await;
        self.note(spans, exported.is_err());
        exported
    }

    fn shutdown_with_timeout(&mut self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&mut self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}
