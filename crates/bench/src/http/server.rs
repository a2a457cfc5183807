use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Result;
use axum::Router;
use axum::routing::any;
use bytes::Bytes;
use persistence::Store;
use service::Config;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// A server on its own loopback port, in this process.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    shutdown: CancellationToken,
    serving: JoinHandle<std::io::Result<()>>,
}

impl Server {
    /// Starts the service over a store, with its default settings.
    pub(crate) async fn of_service(store: Arc<dyn Store>) -> Result<Self> {
        let config = Config::default();
        Self::start(service::router(store, config.clone())?, config).await
    }

    /// Starts it with everything that a service process does besides requests and its sweeps.
    pub(crate) async fn of_process(store: Arc<dyn Store>) -> Result<Self> {
        let config = Config::default();
        let (router, indexer) = service::router_and_upkeep(store, config.clone())?;
        // Ends with the process.
        tokio::spawn(indexer.run());
        Self::start(router, config).await
    }

    /// Starts a server that reads any request and returns the given number of bytes.
    ///
    /// A request to it shows the cost of the client, the connection and HTTP itself.
    pub(crate) async fn of_nothing(answer_bytes: usize) -> Result<Self> {
        let answer = Bytes::from("x".repeat(answer_bytes));
        let answering = move |_body: Bytes| std::future::ready(answer.clone());
        Self::start(Router::new().fallback(any(answering)), Config::default()).await
    }

    async fn start(router: Router, config: Config) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let shutdown = CancellationToken::new();
        let until = shutdown.clone();
        let serving =
            tokio::spawn(async move { service::serve(listener, router, &config, until).await });
        Ok(Self { address, shutdown, serving })
    }

    /// Stops it and waits until it has.
    pub(crate) async fn stop(self) -> Result<()> {
        self.shutdown.cancel();
        Ok(self.serving.await??)
    }
}
