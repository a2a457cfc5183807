//! Keys that rotate, tokens that expire and users that are revoked while two services are busy: each request is answered,
//! and answered rightly.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::{Value, json};
use tests::binary::{run, told};
use tests::client::{APP, Chat, Client, Events, refusal};
use tests::database::Database;
use tests::service::Service;
use tests::settings::Settings;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// A key of the issuer.
struct Key {
    kid: &'static str,
    pair: EcdsaKeyPair,
}

impl Key {
    fn new(kid: &'static str) -> Result<Self> {
        let (algorithm, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let document = EcdsaKeyPair::generate_pkcs8(algorithm, &random);
        let document = document.ok().context("no key was made")?;
        let pair = EcdsaKeyPair::from_pkcs8(algorithm, document.as_ref(), &random);
        Ok(Self { kid, pair: pair.ok().context("the key cannot be read")? })
    }

    fn public(&self) -> Value {
        // The first byte says that both coordinates follow.
        let (x, y) = self.pair.public_key().as_ref()[1..].split_at(32);
        let [x, y] = [x, y].map(|number| URL_SAFE_NO_PAD.encode(number));
        json!({"kty": "EC", "crv": "P-256", "kid": self.kid, "alg": "ES256", "x": x, "y": y})
    }

    fn token(&self, user: &str, lifetime_sec: u64) -> Result<String> {
        let exp = seconds()? + lifetime_sec;
        let header = json!({"alg": "ES256", "kid": self.kid});
        let claims = json!({"sub": user, "apps": [APP], "exp": exp});
        let [header, claims] =
            [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        let message = format!("{header}.{claims}");
        let signature = self.pair.sign(&SystemRandom::new(), message.as_bytes());
        let signature = URL_SAFE_NO_PAD.encode(signature.ok().context("it was not signed")?);
        Ok(format!("{message}.{signature}"))
    }
}

fn seconds() -> Result<u64> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs())
}

/// Replaces the file as an issuer should: a reader sees the old list or the new one.
fn list(path: &Path, keys: &[&Key]) -> Result<()> {
    let keys: Vec<_> = keys.iter().map(|key| key.public()).collect();
    let new = path.with_extension("new");
    fs::write(&new, json!({ "keys": keys }).to_string())?;
    Ok(fs::rename(&new, path)?)
}

/// What a writer did until it was refused or told to stop.
struct Written {
    chat: Chat,
    /// The ids of the messages that were acknowledged.
    stored: HashSet<String>,
    /// Whether the last call was refused.
    was_refused: bool,
}

/// Appends one message after another, until the token is refused or `stop` is set.
fn write(chat: Chat, writer: String, stop: &Arc<AtomicBool>) -> JoinHandle<Result<Written>> {
    let stop = Arc::clone(stop);
    tokio::spawn(async move {
        let mut stored = HashSet::new();
        while !stop.load(Ordering::Relaxed) {
            let event_id = format!("{writer}-{}", stored.len());
            let message = json!({"role": "user", "content": "x", "event_id": event_id});
            match chat.append(&[message]).await {
                Ok(_) => stored.insert(event_id),
                answer => {
                    let status = refusal(answer).context(writer)?.status;
                    ensure!(status == 401, "it was answered {status}");
                    return Ok(Written { chat, stored, was_refused: true });
                }
            };
            chat.get("meta").await.or_else(|error| {
                let status = refusal::<Value>(Err(error))?.status;
                ensure!(status == 401, "it was answered {status}");
                Ok(Value::Null)
            })?;
        }
        Ok(Written { chat, stored, was_refused: false })
    })
}

/// The id of the message after which nothing is written.
const END: &str = "end";

/// Reads a stream to its end or to the message [`END`], and returns the ids of the messages before it.
fn read(mut events: Events) -> JoinHandle<Result<HashSet<String>>> {
    tokio::spawn(async move {
        let mut ids = HashSet::new();
        while let Some(event) = events.next().await? {
            if let Some(id) = event.data["event_id"].as_str()
                && event.name == "message"
            {
                if id == END {
                    break;
                }
                ensure!(ids.insert(id.to_owned()), "{id} came twice");
            }
        }
        Ok(ids)
    })
}

/// A person with two writers and two readers, one of each at each service.
struct Person {
    writers: Vec<JoinHandle<Result<Written>>>,
    readers: Vec<JoinHandle<Result<HashSet<String>>>>,
}

impl Person {
    async fn begin(
        services: &[Service],
        name: &str,
        token: &str,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self> {
        let clients = services.iter().map(|service| Client::with_token(service.url(), token));
        let clients: Vec<Client> = clients.collect::<Result<_>>()?;
        let chat = clients[0].create_chat("Load").await?;
        let (mut writers, mut readers) = (Vec::new(), Vec::new());
        for (place, client) in clients.iter().enumerate() {
            let chat = client.chat(chat.id());
            readers.push(read(chat.events(None).await?));
            writers.push(write(chat, format!("{name}-{place}"), stop));
        }
        Ok(Self { writers, readers })
    }

    /// Waits until both writers were refused and both streams have ended.
    async fn refused(self) -> Result<usize> {
        let mut acknowledged = HashSet::new();
        for writer in self.writers {
            let written = writer.await??;
            ensure!(written.was_refused, "it was never refused");
            let again = refusal(written.chat.get("meta").await)?.status;
            ensure!(again == 401, "it was accepted again: {again}");
            acknowledged.extend(written.stored);
        }
        for reader in self.readers {
            let ids = reader.await??;
            ensure!(ids.is_subset(&acknowledged), "a message of a refused append was stored");
        }
        Ok(acknowledged.len())
    }

    /// Waits until both writers have stopped, and both readers have read what they have written.
    async fn accepted(self) -> Result<usize> {
        let (mut acknowledged, mut chats) = (HashSet::new(), Vec::new());
        for writer in self.writers {
            let written = writer.await??;
            ensure!(!written.was_refused, "another user was refused");
            acknowledged.extend(written.stored);
            chats.push(written.chat);
        }
        chats[0].append(&[json!({"role": "user", "content": "x", "event_id": END})]).await?;
        for reader in self.readers {
            ensure!(reader.await?? == acknowledged, "a stream is not what was acknowledged");
        }
        Ok(acknowledged.len())
    }

    fn is_accepted(&self) -> bool {
        self.writers.iter().all(|writer| !writer.is_finished())
            && self.readers.iter().all(|reader| !reader.is_finished())
    }
}

#[tokio::test(flavor = "multi_thread")]
#[expect(clippy::print_stdout, reason = "the numbers, for --nocapture")]
async fn identities_change_under_load_and_no_request_is_answered_wrongly() -> Result<()> {
    let (old, kept, new) = (Key::new("old")?, Key::new("kept")?, Key::new("new")?);
    let directory = tempfile::tempdir()?;
    let keys = directory.path().join("jwks.json");
    list(&keys, &[&old, &kept])?;
    let database = Database::create().await?;
    let settings = Settings::of(&database)
        .with("auth.mode", "jwt")
        .with("auth.algorithm", "ES256")
        .with("auth.key_file", keys.display())
        .with("auth.leeway_sec", 0)
        .with("limits.recheck_ms", 500);
    let services = [Service::start(&settings).await?, Service::start(&settings).await?];
    let stop = Arc::new(AtomicBool::new(false));
    let begin = async |name: &str, token: String| {
        Person::begin(&services, name, &token, &stop).await.with_context(|| name.to_owned())
    };
    let steady = begin("steady", kept.token("steady", 600)?).await?;
    let rotated = begin("rotated", old.token("rotated", 600)?).await?;
    let revoked = begin("revoked", kept.token("revoked", 600)?).await?;
    let expires_at = seconds()? + 8;
    let expired = begin("expired", kept.token("expired", 8)?).await?;
    sleep(Duration::from_secs(1)).await;

    // A token of a new key is accepted as soon as the key is listed.
    list(&keys, &[&old, &kept, &new])?;
    let joined = begin("joined", new.token("joined", 600)?).await?;
    ensure!(rotated.is_accepted(), "its key is still listed");
    list(&keys, &[&kept, &new])?;
    let of_rotated = rotated.refused().await.context("the user of a removed key")?;

    ensure!(revoked.is_accepted(), "the user is not revoked yet");
    told(&run(&["tokens", "revoke", "--user", "revoked", "--app", APP], &settings).await?)?;
    let of_revoked = revoked.refused().await.context("the revoked user")?;

    let of_expired = expired.refused().await.context("the user of the expired token")?;
    ensure!(seconds()? >= expires_at, "a token was refused before it had expired");

    ensure!(steady.is_accepted() && joined.is_accepted(), "another user was refused");
    sleep(Duration::from_secs(1)).await;
    stop.store(true, Ordering::Relaxed);
    let of_others = steady.accepted().await? + joined.accepted().await?;
    println!(
        "appends: {of_others} of users whose tokens stayed valid, {of_rotated} before a key was removed, \
         {of_revoked} before the user was revoked, {of_expired} before the token expired"
    );
    for service in services {
        service.stop().await?;
    }
    Ok(())
}
