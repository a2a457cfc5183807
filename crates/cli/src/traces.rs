//! Sends spans to a collector of OpenTelemetry.

use std::fmt;
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
        let exporter = opentelemetry_otlp::SpanExporter::builder()
            .with_http()
            .with_http_client(Sender { client, runtime: runtime.clone() })
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
            .with_batch_exporter(WithoutContent(exporter))
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
}

#[async_trait]
impl HttpClient for Sender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = self.client.clone();
        let request = request.map(Vec::from);
        let sent = self.runtime.spawn(async move { client.send(request).await });
        Ok(sent.await??.map(Bytes::from))
    }
}

/// Takes away what may repeat a text of a conversation or the name of a person.
struct WithoutContent<E>(E);

impl<E> fmt::Debug for WithoutContent<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WithoutContent")
    }
}

impl<E: SpanExporter> SpanExporter for WithoutContent<E> {
    async fn export(&self, mut batch: Vec<SpanData>) -> OTelSdkResult {
        for span in &mut batch {
            span.attributes.retain(|attribute| !HIDDEN.contains(&attribute.key.as_str()));
            span.events = SpanEvents::default();
            if let Status::Error { description } = &mut span.status {
                *description = "".into();
            }
        }
        self.0.export(batch).await
    }

    fn shutdown_with_timeout(&mut self, timeout: Duration) -> OTelSdkResult {
        self.0.shutdown_with_timeout(timeout)
    }

    fn force_flush(&mut self) -> OTelSdkResult {
        self.0.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.0.set_resource(resource);
    }
}
