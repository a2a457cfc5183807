//! `reprise tokens mint`: a service with the same settings accepts the token.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use reqwest::Method;
use tests::binary::{run, told};
use tests::client::{Client, refusal};
use tests::database::Database;
use tests::service::Service;
use tests::settings::Settings;
use tests::waiting::until;

/// A key of the tests of the service.
fn key(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/service/tests/it/keys").join(name)
}

async fn mint(settings: &Settings, options: &[&str]) -> Result<String> {
    let minted = told(&run(&[&["tokens", "mint"], options].concat(), settings).await?)?;
    ensure!(minted.lines().count() == 1, "only the token: {minted}");
    Ok(minted.trim_end().to_owned())
}

#[tokio::test]
async fn a_minted_token_is_accepted_for_each_algorithm() -> Result<()> {
    let database = Database::create().await?;
    let of_all = Settings::of(&database)
        .with("auth.mode", "jwt")
        .with("auth.issuer", "https://login.example.org")
        .with("auth.audience", "reprise");
    let secret = "a secret of at least thirty-two bytes";
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), format!("{secret}\n"))?;
    let shared = of_all.clone().with("auth.algorithm", "HS256").with("auth.secret", secret);
    let rsa = of_all.clone().with("auth.algorithm", "RS256");
    let rsa = rsa.with("auth.key_file", key("rsa.pub.pem").display());
    let ec = of_all.with("auth.algorithm", "ES256");
    let ec = ec.with("auth.key_file", key("ec.pub.pem").display());
    for (settings, private) in [
        (&shared, None),
        (&shared, Some(file.path().to_owned())),
        (&rsa, Some(key("rsa.pem"))),
        (&ec, Some(key("ec.pem"))),
    ] {
        let private = private.map(|path| path.display().to_string());
        let private: Vec<&str> = private.iter().flat_map(|path| ["--key", path]).collect();
        let service = Service::start(settings).await?;
        let program = ["--user", "importer", "--role", "service", "--app", "acme_corp"];
        let token = mint(settings, &[&program, &private[..]].concat()).await?;
        Client::with_token(service.url(), &token)?.create_chat("Generator").await?;
        let person = ["--user", "alice", "--team", "red", "--all-apps", "--expires-in", "2s"];
        let token = mint(settings, &[&person, &private[..]].concat()).await?;
        let client = Client::with_token(service.url(), &token)?;
        client.call(Method::GET, "/api/chats/globex", None).await?;
        let operator = ["--user", "olga", "--role", "operator", "--all-apps"];
        let token = mint(settings, &[&operator, &private[..]].concat()).await?;
        Client::with_token(service.url(), &token)?.call(Method::GET, "/api/apps", None).await?;
        until("the token to expire", async || {
            let listed = client.call(Method::GET, "/api/chats/globex", None).await;
            Ok(listed.is_err().then_some(listed))
        })
        .await
        .and_then(|listed| {
            ensure!(refusal(listed)?.status == 401);
            Ok(())
        })?;
        service.stop().await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_token_that_no_service_would_accept_is_not_minted() -> Result<()> {
    let settings = Settings::at("mongodb://127.0.0.1:1/", "reprise").with("auth.mode", "jwt");
    let shared = settings.clone().with("auth.algorithm", "HS256");
    let shared = shared.with("auth.secret", "a secret of at least thirty-two bytes");
    let rsa = settings.with("auth.algorithm", "RS256");
    let rsa = rsa.with("auth.key_file", key("rsa.pub.pem").display());
    let other = tempfile::NamedTempFile::new()?;
    std::fs::write(other.path(), "another secret of thirty-two bytes or more")?;
    let (other, public) = (other.path().display().to_string(), key("rsa.pub.pem"));
    let (public, ec) = (public.display().to_string(), key("ec.pem").display().to_string());
    let open = Settings::at("mongodb://127.0.0.1:1/", "reprise");
    for (settings, options, reason) in [
        (&open, &[][..], "auth.mode is \"none\""),
        (&rsa, &[], "the settings name public keys"),
        (&rsa, &["--key", &public], "holds a public key, which can verify a token and not sign it"),
        (&rsa, &["--key", &ec], "has no usable private RS256 key"),
        (&rsa, &["--key", "/nowhere/key.pem"], "failed to read /nowhere/key.pem"),
        (&shared, &["--key", &other], "the service would refuse the token"),
        (&shared, &["--expires-in", "2y"], "at most 366d"),
        (&shared, &["--expires-in", "367d"], "at most 366d"),
    ] {
        let who = ["tokens", "mint", "--user", "alice", "--app", "acme_corp"];
        let output = run(&[&who, options].concat(), settings).await?;
        let said = String::from_utf8(output.stderr)?;
        ensure!(!output.status.success() && said.contains(reason), "{options:?}: {said}");
        ensure!(output.stdout.is_empty());
    }
    Ok(())
}
