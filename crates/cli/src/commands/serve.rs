use std::io::{self, Write as _};
use std::iter;
use std::net::SocketAddr;
use std::pin::pin;
use std::process;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use local_mongod::LocalMongod;
use persistence::Store;
use persistence::mongo::MongoStore;
use serde_json::json;
use service::AdapterListener;
use tokio::net::TcpListener;
use tokio::signal::unix::SignalKind;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::backend::{self, Backend};
use crate::settings::{LogFormat, Settings};
use crate::signals;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  reprise serve\n  reprise serve --listen 127.0.0.1:9000\n  \
                        reprise serve --mongo-uri 'mongodb://db.example.org/?replicaSet=rs0'")]
pub(crate) struct Arguments {
    /// The address on which the HTTP API listens.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = service::listen_address)]
    pub(crate) listen: Option<SocketAddr>,
}

/// Serves until SIGINT or SIGTERM, then finishes what was accepted. Calls `is_ready` with its address once the database is open.
pub(crate) async fn run(
    settings: &Settings,
    is_ready: impl FnOnce(SocketAddr) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    settings.check()?;
    let config = settings.service();
    for warning in config.warnings() {
        tracing::warn!("{warning}");
    }
    let shutdown = CancellationToken::new();
    let signals = tokio::spawn(cancel_on_signal(shutdown.clone()));
    // Bind before starting the database, so that a used port is reported at once.
    let listener = TcpListener::bind(settings.server.listen).await.with_context(|| {
        format!("cannot listen on {}; choose another with --listen", settings.server.listen)
    })?;
    let of_adapters = bind_adapters(&config).await?;
    announce(settings, &listener, &of_adapters)?;
    let address = listener.local_addr()?;
    let starting = service::Starting::default();
    let adapters =
        of_adapters.into_iter().map(|(of, listener)| (listener, of.router(starting.router())));
    let listeners = iter::once((listener, starting.router())).chain(adapters).collect();
    let mut serving = pin!(service::serve_all(listeners, &config, shutdown.clone()));
    let backend = tokio::select! {
        backend = Backend::open(settings) => backend?,
        served = &mut serving => return served.context(SERVER_FAILED),
        () = shutdown.cancelled() => return Ok(()),
    };
    let store: Arc<dyn Store> = Arc::new(backend.store.clone());
    let (router, indexer) = service::router_and_upkeep(Arc::clone(&store), config.clone())?;
    is_ready(address)?;
    starting.finish(router);
    tokio::spawn(prepare(backend.store.clone()));
    let mut sweeps = JoinSet::new();
    sweeps.spawn(service::expire_input_requests(Arc::clone(&store)));
    sweeps.spawn(service::interrupt_abandoned_chats(Arc::clone(&store)));
    sweeps.spawn(service::finish_purges(Arc::clone(&store)));
    sweeps.spawn(service::remove_deleted_texts(Arc::clone(&store)));
    sweeps.spawn(service::remove_ended_streams(Arc::clone(&store)));
    sweeps.spawn(service::index_metadata(Arc::clone(&store)));
    sweeps.spawn(service::continue_erasures(Arc::clone(&store)));
    sweeps.spawn(indexer.run());
    if let Some(sender) = service::WebhookSender::new(&config.webhooks, Arc::clone(&store))? {
        sweeps.spawn(sender.run());
    }
    sweeps.spawn(service::purge_due_chats(store, config.apps.settings));
    let served = tokio::select! {
        served = serving => served.context(SERVER_FAILED),
        ended = ended(backend.mongod.as_ref()) => Err(ended),
    };
    sweeps.abort_all();
    backend.close().await;
    signals.abort();
    served
}

const SERVER_FAILED: &str = "the HTTP server failed";

/// Binds the listeners of adapters.
async fn bind_adapters(
    config: &service::Config,
) -> anyhow::Result<Vec<(AdapterListener, TcpListener)>> {
    let mut bound = Vec::new();
    for of in config.adapter_listeners() {
        let (name, address) = (of.name(), of.address());
        let listener = TcpListener::bind(address).await.with_context(|| {
            format!("cannot listen on {address}; choose another for adapters.{name}.listen")
        })?;
        bound.push((of, listener));
    }
    Ok(bound)
}

/// Prints the addresses and the place of the data: a line each, or one JSON object beside a log in JSON.
fn announce(
    settings: &Settings,
    listener: &TcpListener,
    of_adapters: &[(AdapterListener, TcpListener)],
) -> anyhow::Result<()> {
    let url_of = |listener: &TcpListener| -> io::Result<String> {
        Ok(format!("{}://{}", settings.server.scheme(), listener.local_addr()?))
    };
    let (url, place) = (url_of(listener)?, backend::place(settings)?);
    let adapters = of_adapters.iter().map(|(of, listener)| Ok((of.name(), url_of(listener)?)));
    let adapters = adapters.collect::<io::Result<Vec<_>>>()?;
    let mut out = io::stdout();
    match settings.log.format {
        LogFormat::Text => {
            writeln!(out, "listening on {url}\ndata in {place}")?;
            for (name, url) in adapters {
                writeln!(out, "adapter {name} listening on {url}")?;
            }
        }
        LogFormat::Json => {
            let mut said = json!({ "listening": url, "data": place });
            if !adapters.is_empty() {
                said["adapters"] = adapters.into_iter().collect();
            }
            writeln!(out, "{said}")?;
        }
    }
    Ok(out.flush()?)
}

/// Creates the indexes as soon as the store can be reached, and retries until then.
async fn prepare(store: MongoStore) {
    while let Err(error) = store.ping().await {
        let cause = anyhow::Error::from(error);
        tracing::warn!(cause = format!("{cause:#}"), "not ready");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    tracing::info!("ready");
}

/// Returns when the private mongod exits by itself; never returns without a private mongod.
async fn ended(mongod: Option<&LocalMongod>) -> anyhow::Error {
    match mongod {
        Some(mongod) => anyhow::Error::from(mongod.ended().await),
        None => std::future::pending().await,
    }
}

/// How long after the first signal another one counts as the same: a terminal and the program that runs this one may both send it.
const SAME_SIGNAL: Duration = Duration::from_millis(500);

/// Cancels `shutdown` at the first signal, and ends the process at the second.
pub(crate) async fn cancel_on_signal(shutdown: CancellationToken) -> io::Result<()> {
    let (terminate, interrupt) = (SignalKind::terminate(), SignalKind::interrupt());
    // A session that is closed, or who expects a reload, must lose no request either.
    signals::any_of(&[terminate, interrupt, SignalKind::hangup()]).await?;
    tracing::info!("shutting down; another SIGINT or SIGTERM ends the process at once");
    shutdown.cancel();
    tokio::time::sleep(SAME_SIGNAL).await;
    signals::any_of(&[terminate, interrupt]).await?;
    tracing::warn!("ended at once by another signal: requests that were running are cut off");
    process::exit(1)
}
