//! A mongod that is no member of a replica set has no transactions.

use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use local_mongod::Lookup;
use reqwest::{Method, StatusCode};
use serde_json::Value;
use tests::binary::run;
use tests::client::refusal;
use tests::service::Service;
use tests::settings::Settings;
use tests::waiting::until;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};

/// A mongod of its own, which is killed when it is dropped.
struct Standalone {
    _mongod: Child,
    _data: tempfile::TempDir,
    uri: String,
}

impl Standalone {
    async fn start() -> Result<Self> {
        let lookup = Lookup::from_env();
        let mongod = tokio::task::spawn_blocking(move || local_mongod::resolve(&lookup)).await??;
        let data = tempfile::tempdir()?;
        let port = TcpListener::bind("127.0.0.1:0").await?.local_addr()?.port();
        let mut command = Command::new(mongod);
        command.arg("--dbpath").arg(data.path()).arg("--port").arg(port.to_string());
        command.args(["--bind_ip", "127.0.0.1", "--wiredTigerCacheSizeGB", "0.25"]);
        let mongod = command.stdout(Stdio::null()).kill_on_drop(true).spawn()?;
        until("mongod to listen", async || Ok(TcpStream::connect(("127.0.0.1", port)).await.ok()))
            .await?;
        let uri = format!("mongodb://127.0.0.1:{port}/?directConnection=true");
        Ok(Self { _mongod: mongod, _data: data, uri })
    }
}

#[tokio::test]
async fn a_standalone_server_is_never_ready_and_every_report_says_what_to_do() -> Result<()> {
    let standalone = Standalone::start().await?;
    let settings = Settings::at(&standalone.uri, "reprise");
    let service = Service::start_without_store(&settings).await?;
    let log = until("the service to say what is missing", async || {
        let log = service.logged()?;
        Ok(log.contains("rs.initiate()").then_some(log))
    })
    .await?;
    ensure!(!log.contains("Kind:"), "the driver's words: {log}");

    let ready = reqwest::get(format!("{}/api/health/ready", service.url())).await?;
    ensure!(ready.status() == StatusCode::SERVICE_UNAVAILABLE);
    let ready: Value = ready.json().await?;
    ensure!(ready["checks"]["store"] == "not-a-replica-set", "{ready}");
    let client = service.client()?;
    client.call(Method::GET, "/api/health/live", None).await?;
    let refused = refusal(client.create_chat("Generator").await)?;
    ensure!((refused.status, &*refused.kind) == (503, "not-a-replica-set"), "{refused:?}");

    let report = String::from_utf8(run(&["check"], &settings).await?.stdout)?;
    let fault = report.lines().find(|line| line.contains("replica set")).context("no finding")?;
    ensure!(fault.starts_with("FAULT") && fault.contains("rs.initiate()"), "{report}");
    // No other finding has other advice.
    ensure!(!report.contains("retryWrites") && !report.contains("features"), "{report}");

    let register = run(&["apps", "register", "acme_corp"], &settings).await?;
    let said = String::from_utf8(register.stderr)?;
    ensure!(said.contains("rs.initiate()") && !said.contains("Kind:"), "{said}");
    service.stop().await
}
