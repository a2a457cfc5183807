//! Two services behind a balancer are restarted one after the other, under load.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use reqwest::Method;
use serde_json::json;
use tests::client::Client;
use tests::database::Database;
use tests::service::Service;
use tests::settings::Settings;
use tests::waiting::until;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::sleep;

/// How often the balancer looks at the readiness of a service.
const PROBE: Duration = Duration::from_millis(100);

/// Passes each connection on to a service that was ready when it was last asked. It knows nothing of HTTP.
#[derive(Clone, Default)]
struct Balancer {
    services: Arc<Mutex<Vec<Backend>>>,
}

#[derive(Clone)]
struct Backend {
    url: String,
    is_ready: bool,
}

impl Balancer {
    async fn start() -> Result<(Self, String)> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let balancer = Self::default();
        let (passing, probing) = (balancer.clone(), balancer.clone());
        tokio::spawn(async move {
            let mut turn = 0;
            while let Ok((mut client, _)) = listener.accept().await {
                turn += 1;
                let Some(address) = passing.ready(turn) else { continue };
                tokio::spawn(async move {
                    let mut service = TcpStream::connect(address).await?;
                    copy_bidirectional(&mut client, &mut service).await
                });
            }
        });
        tokio::spawn(async move {
            loop {
                probing.probe().await;
                sleep(PROBE).await;
            }
        });
        Ok((balancer, url))
    }

    fn ready(&self, turn: usize) -> Option<SocketAddr> {
        let services = self.services.lock().ok()?;
        let ready: Vec<_> = services.iter().filter(|service| service.is_ready).collect();
        let service = ready.get(turn % ready.len().max(1))?;
        service.url.strip_prefix("http://")?.parse().ok()
    }

    async fn probe(&self) {
        let known = self.services.lock().map(|services| services.clone()).unwrap_or_default();
        for Backend { url, .. } in known {
            let Ok(client) = Client::new(&url) else { continue };
            let is_ready = client.call(Method::GET, "/api/health/ready", None).await.is_ok();
            if let Ok(mut services) = self.services.lock() {
                services
                    .iter_mut()
                    .filter(|it| it.url == url)
                    .for_each(|it| it.is_ready = is_ready);
            }
        }
    }

    fn remove(&self, url: &str) -> Result<()> {
        let mut services = self.services.lock().ok().context("a probe has panicked")?;
        services.retain(|service| service.url != url);
        Ok(())
    }

    /// Adds a service, and waits until it is used.
    async fn add(&self, url: &str) -> Result<()> {
        let added = Backend { url: url.to_owned(), is_ready: false };
        self.services.lock().ok().context("a probe has panicked")?.push(added);
        until("the balancer to use a service", async || {
            let services = self.services.lock().ok().context("a probe has panicked")?;
            Ok(services.iter().any(|it| it.url == url && it.is_ready).then_some(()))
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rolling_restart_refuses_and_loses_no_request() -> Result<()> {
    const WRITERS: usize = 8;
    let database = Database::create().await?;
    let settings = Settings::of(&database).with("server.drain_ms", 3_000);
    let (balancer, url) = Balancer::start().await?;
    let mut services = Vec::new();
    for _ in 0..2 {
        let service = Service::start(&settings).await?;
        balancer.add(service.url()).await?;
        services.push(service);
    }
    let chat = Client::new(&url)?.create_chat("Rolling").await?;
    let stop = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (chat, stop) = (chat.clone(), Arc::clone(&stop));
            tokio::spawn(async move {
                let mut stored = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    let id = format!("{writer}-{}", stored.len());
                    let message = json!({"role": "user", "content": "x", "event_id": id});
                    // Sent once: a request that is refused or lost fails the test.
                    chat.append(&[message]).await.with_context(|| id.clone())?;
                    stored.push(id);
                    chat.get("meta").await?;
                }
                anyhow::Ok(stored)
            })
        })
        .collect();
    for _ in 0..2 {
        let old = services.remove(0);
        let new = Service::start(&settings).await?;
        balancer.add(new.url()).await?;
        let gone = old.url().to_owned();
        old.stop().await?;
        balancer.remove(&gone)?;
        services.push(new);
    }
    stop.store(true, Ordering::Relaxed);
    let mut acknowledged = HashSet::new();
    for writer in writers {
        acknowledged.extend(writer.await??);
    }
    let stored = chat.messages().await?;
    let stored: HashSet<_> = stored.iter().filter_map(|it| it["event_id"].as_str()).collect();
    ensure!(stored.len() == acknowledged.len());
    ensure!(acknowledged.iter().all(|id| stored.contains(id.as_str())));
    for service in services {
        service.stop().await?;
    }
    Ok(())
}
