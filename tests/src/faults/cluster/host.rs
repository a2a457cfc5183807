use std::time::Duration;

use anyhow::{Context, Result};
use tokio::sync::watch;

use crate::client::Client;
use crate::service::Service;
use crate::settings::Settings;

/// A service that can be stopped and started repeatedly.
#[derive(Debug)]
pub struct Host {
    settings: Settings,
    client_timeout: Duration,
    service: Option<Service>,
    reached: watch::Sender<Client>,
}

impl Host {
    pub(super) async fn start(settings: Settings, client_timeout: Duration) -> Result<Self> {
        let service = Service::start(&settings).await?;
        let client = Client::with_timeout(service.url(), client_timeout)?;
        let reached = watch::Sender::new(client);
        Ok(Self { settings, client_timeout, service: Some(service), reached })
    }

    /// A client of the service, which follows restarts.
    pub fn reached(&self) -> watch::Receiver<Client> {
        self.reached.subscribe()
    }

    /// Gives callers another address, such as that of a proxy.
    pub fn reach_at(&self, url: &str) -> Result<()> {
        self.reached.send_replace(Client::with_timeout(url, self.client_timeout)?);
        Ok(())
    }

    /// The service, while it runs.
    pub fn service(&self) -> Result<&Service> {
        self.service.as_ref().context("the service does not run")
    }

    /// Kills it as `kill -9` does.
    pub async fn kill(&mut self) -> Result<()> {
        self.service.take().context("the service does not run")?.kill().await
    }

    /// Asks it to stop and waits until it has.
    pub async fn terminate(&mut self) -> Result<()> {
        self.service.take().context("the service does not run")?.stop().await
    }

    /// Starts it again, on a new port.
    pub async fn start_again(&mut self) -> Result<()> {
        let service = Service::start(&self.settings).await?;
        let client = Client::with_timeout(service.url(), self.client_timeout)?;
        self.reached.send_replace(client);
        self.service = Some(service);
        Ok(())
    }

    pub(super) async fn heal(&mut self) -> Result<()> {
        match &self.service {
            Some(service) => {
                service.resume()?;
                service.ready().await
            }
            None => self.start_again().await,
        }
    }

    pub(super) async fn stop(self) -> Result<()> {
        match self.service {
            Some(service) => service.stop().await,
            None => Ok(()),
        }
    }
}
