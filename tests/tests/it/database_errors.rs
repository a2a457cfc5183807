//! What people are told about a database that cannot be used: one sentence, and what to do.

use std::net::Ipv4Addr;

use anyhow::{Context as _, Result, ensure};
use local_mongod::{LocalMongod, Options};
use secrecy::ExposeSecret as _;
use tests::binary::run;
use tests::database::Database;
use tests::service::Service;
use tests::settings::Settings;
use tests::waiting::until;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// Asserts that a command, `check` and `serve` say this, in one line and in no words of the driver.
async fn all_say(uri: &str, sentence: &str) -> Result<()> {
    let settings = Settings::at(uri, "reprise").with("mongo.deadline_ms", 1_500);
    let settings = settings.with("log.filter", "persistence=error,warn");
    let command = run(&["apps", "list"], &settings).await?;
    ensure!(command.status.code() == Some(1), "{uri}: the command must fail");
    let check = run(&["check"], &settings).await?;
    let check = String::from_utf8(check.stdout)?;
    let fault = check.lines().find(|line| line.starts_with("FAULT")).context("no fault")?;
    let log = if uri.starts_with("mongodb+srv") {
        String::from_utf8(run(&["serve"], &settings).await?.stderr)?
    } else {
        let service = Service::start_without_store(&settings).await?;
        let log = until("the service to say what is wrong", async || {
            let log = service.logged()?;
            Ok(log.contains("not ready").then_some(log))
        });
        let log = log.await?;
        service.stop().await?;
        log
    };
    for said in [&String::from_utf8(command.stderr)?, fault, &log] {
        ensure!(said.contains(sentence), "{uri}: {said}");
        for word in ["Kind:", "labels", "source:", "Some(", "Topology", "t0psecret"] {
            ensure!(!said.contains(word), "{word} is in {said}");
        }
    }
    Ok(())
}

/// A server that answers every connection with these bytes and closes it; with none, it stays silent.
async fn stranger(answer: &'static [u8]) -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let port = listener.local_addr()?.port();
    tokio::spawn(async move {
        let mut silent = Vec::new();
        while let Ok((mut connection, _)) = listener.accept().await {
            if answer.is_empty() {
                silent.push(connection);
                continue;
            }
            let _ = connection.read(&mut [0; 1_024]).await;
            let _ = connection.write_all(answer).await;
        }
    });
    Ok(port)
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_told_in_one_sentence() -> Result<()> {
    let refused = "the database server refuses connections (127.0.0.1:1): start it, or correct";
    all_say("mongodb://u:t0psecret@127.0.0.1:1/?replicaSet=rs0", refused).await?;
    let unknown = "the name of the database server cannot be found (no-such-host.invalid:27017):";
    all_say("mongodb://u:t0psecret@no-such-host.invalid/", unknown).await?;
    let unknown = "the name of the database server cannot be found: correct it in mongo.uri";
    all_say("mongodb+srv://u:t0psecret@no-such-host.invalid/", unknown).await?;
    let silent = format!("mongodb://127.0.0.1:{}/", stranger(b"").await?);
    all_say(&silent, "the database server does not answer").await?;
    let foreign = stranger(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await?;
    let foreign = format!("mongodb://127.0.0.1:{foreign}/");
    all_say(&foreign, "the program at this address is no MongoDB server").await
}

#[tokio::test]
async fn a_server_that_is_used_wrongly_is_told_in_one_sentence() -> Result<()> {
    let database = Database::create().await?;
    let place = database.uri().trim_start_matches("mongodb://");
    let (host, _) = place.split_once('/').context("no host")?;
    let tls = format!("mongodb://u:t0psecret@{host}/?tls=true&directConnection=true");
    all_say(&tls, "no TLS connection to the database server is possible").await?;
    let other = format!("mongodb://{host}/?replicaSet=other");
    all_say(&other, "no server of mongo.uri is in the replica set that it names").await
}

#[tokio::test]
async fn wrong_credentials_are_told_in_one_sentence() -> Result<()> {
    let credentials_for = Some("reprise".to_owned());
    let mongod = LocalMongod::start(Options { credentials_for, ..Options::for_tests() }).await?;
    let uri = mongod.uri_with_credentials();
    let (before, place) = uri.expose_secret().rsplit_once('@').context("no credentials")?;
    let user = before.rsplit_once(':').context("no user")?.0;
    let sentence = "the database server does not accept the user or the password: correct them";
    all_say(&format!("{user}:t0psecret@{place}"), sentence).await?;
    all_say(mongod.uri(), "the user of mongo.uri may not do this, or mongo.uri names none").await?;
    mongod.stop().await;
    Ok(())
}
