//! Keys that change while the service runs.

use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::{Response, StatusCode};
use axum::routing::get;
use futures::future::join_all;
use serde_json::{Value, json};
use service::{Algorithm, AuthConfig};
use tokio::net::TcpListener;
use tokio::time::{Instant, sleep};

use crate::events::Reader;
use crate::harness::Client;
use crate::signing::{jwk, new_ec_key};
use crate::tokens::{client, hs256, token_of};

/// An issuer in this process, which lists its keys.
#[derive(Clone)]
struct Issuer {
    url: String,
    answer: Arc<Mutex<Answer>>,
    fetches: Arc<AtomicUsize>,
}

#[derive(Clone)]
enum Answer {
    Keys(Vec<Value>),
    Status(StatusCode),
    Redirect(String),
    Zeros(usize),
    Nothing,
}

impl Issuer {
    async fn start(keys: &[Value]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = Self {
            url: format!("http://{}/jwks.json", listener.local_addr().unwrap()),
            answer: Arc::new(Mutex::new(Answer::Keys(keys.to_vec()))),
            fetches: Arc::default(),
        };
        let answering = issuer.clone();
        let app = Router::new().route("/jwks.json", get(async move || answering.respond().await));
        tokio::spawn(async move { axum_serve(listener, app).await });
        issuer
    }

    async fn respond(&self) -> Response<Body> {
        self.fetches.fetch_add(1, Ordering::Relaxed);
        let answer = self.answer.lock().unwrap().clone();
        let response = Response::builder();
        let response = match answer {
            Answer::Keys(keys) => response.body(json!({"keys": keys}).to_string().into()),
            Answer::Status(status) => response.status(status).body(Body::empty()),
            Answer::Redirect(to) => response.status(302).header("location", to).body(Body::empty()),
            Answer::Zeros(bytes) => response.body(vec![b' '; bytes].into()),
            Answer::Nothing => std::future::pending().await,
        };
        response.unwrap()
    }

    fn answers(&self, answer: Answer) {
        *self.answer.lock().unwrap() = answer;
    }

    fn fetches(&self) -> usize {
        self.fetches.load(Ordering::Relaxed)
    }

    /// Returns a client of a service that uses the keys of this issuer.
    fn client(&self, refresh_sec: u64) -> Client {
        client(AuthConfig {
            algorithm: Some(Algorithm::ES256),
            secret: None,
            jwks_url: Some(self.url.clone()),
            jwks_refresh_sec: refresh_sec,
            ..hs256()
        })
    }
}

/// Serves until the test ends.
async fn axum_serve(listener: TcpListener, app: Router) {
    let shutdown = tokio_util::sync::CancellationToken::new();
    service::serve(listener, app, &service::Config::default(), shutdown).await.unwrap();
}

/// A key pair of the issuer.
struct Key {
    kid: &'static str,
    pem: String,
}

impl Key {
    fn new(kid: &'static str) -> Self {
        Self { kid, pem: new_ec_key() }
    }

    fn public(&self) -> Value {
        jwk("ES256", &self.pem, self.kid)
    }

    fn token(&self) -> String {
        token_of("ES256", &self.pem, Some(self.kid))
    }
}

async fn status(client: &Client, token: &str) -> u16 {
    client.with_token(token).get("/api/chats/acme_corp").await.status
}

/// Waits until a token gets a status, for at most ten seconds.
async fn until_status(client: &Client, token: &str, expected: u16) {
    let begun = Instant::now();
    while status(client, token).await != expected {
        assert!(begun.elapsed() < Duration::from_secs(10), "still not {expected}");
        sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test]
async fn keys_are_rotated_under_load_and_no_request_is_answered_wrongly() {
    let (old, new) = (Key::new("old"), Key::new("new"));
    let issuer = Issuer::start(&[old.public()]).await;
    let client = issuer.client(1);
    let current = Arc::new(Mutex::new(old.token()));
    let stop = Arc::new(AtomicBool::new(false));
    let workers = (0..8).map(|_| {
        let (client, current, stop) = (client.clone(), Arc::clone(&current), Arc::clone(&stop));
        tokio::spawn(async move {
            let mut answered = 0;
            while !stop.load(Ordering::Relaxed) {
                let token = current.lock().unwrap().clone();
                assert_eq!(status(&client, &token).await, 200);
                answered += 1;
                // Lets the issuer and the service run: nothing else here waits.
                sleep(Duration::from_millis(1)).await;
            }
            answered
        })
    });
    let workers: Vec<_> = workers.collect();
    sleep(Duration::from_millis(300)).await;
    // The issuer signs with the new key at the moment at which it lists it.
    issuer.answers(Answer::Keys(vec![old.public(), new.public()]));
    *current.lock().unwrap() = new.token();
    until_status(&client, &new.token(), 200).await;
    assert_eq!(status(&client, &old.token()).await, 200, "its key is still listed");
    issuer.answers(Answer::Keys(vec![new.public()]));
    until_status(&client, &old.token(), 401).await;
    stop.store(true, Ordering::Relaxed);
    for worker in workers {
        assert!(worker.await.unwrap() > 0, "no request was dropped");
    }
}

#[tokio::test]
async fn forged_key_names_cause_few_fetches_and_hinder_no_valid_token() {
    let (known, forged) = (Key::new("known"), Key::new("forged"));
    let issuer = Issuer::start(&[known.public()]).await;
    let client = issuer.client(300);
    assert_eq!(status(&client, &known.token()).await, 200, "the first request waits for the keys");
    let forged = forged.token();
    let begun = Instant::now();
    let attack = join_all((0..100).map(|_| status(&client, &forged)));
    let valid = async {
        let begun = Instant::now();
        assert_eq!(status(&client, &known.token()).await, 200);
        begun.elapsed()
    };
    let (refusals, valid) = tokio::join!(attack, valid);
    assert!(refusals.iter().all(|status| *status == 401), "{refusals:?}");
    assert!(valid < Duration::from_secs(1), "a known key is not waited for");
    assert!(begun.elapsed() < Duration::from_secs(6));
    assert!(issuer.fetches() <= 3, "{}", issuer.fetches());
}

#[tokio::test]
async fn a_failed_refresh_keeps_the_old_keys_and_is_counted() {
    let (old, new) = (Key::new("old"), Key::new("new"));
    let issuer = Issuer::start(&[old.public()]).await;
    let elsewhere = Issuer::start(&[new.public()]).await;
    let client = issuer.client(1);
    assert_eq!(status(&client, &old.token()).await, 200);
    for answer in [
        Answer::Status(StatusCode::INTERNAL_SERVER_ERROR),
        Answer::Redirect(elsewhere.url.clone()),
        Answer::Zeros(1 << 20),
        Answer::Keys(Vec::new()),
        Answer::Nothing,
    ] {
        issuer.answers(answer);
        let refused = client.with_token(new.token()).get("/api/chats/acme_corp").await;
        assert_eq!(refused.problem(), (503, "keys-unavailable".to_owned()));
        assert_ne!(refused.header("retry-after"), "");
        assert_eq!(status(&client, &old.token()).await, 200);
    }
    assert_eq!(elsewhere.fetches(), 0, "redirects are not followed");
    let operator = json!({"role": "operator"});
    let claims = crate::tokens::claims(&operator).to_string();
    let header = json!({"alg": "ES256", "kid": "old"});
    let operator = crate::signing::sign(&header, &claims, &old.pem);
    let metrics = client.with_token(operator).get("/metrics").await.text;
    let failed = metrics
        .lines()
        .find(|line| line.starts_with("reprise_auth_key_refreshes_total{outcome=\"failed\"}"));
    let failed: u32 = failed.unwrap().rsplit(' ').next().unwrap().parse().unwrap();
    assert!(failed >= 5, "{failed}");
    issuer.answers(Answer::Keys(vec![new.public()]));
    until_status(&client, &new.token(), 200).await;
}

#[tokio::test]
async fn a_key_file_is_read_again_when_it_changes() {
    let (old, new) = (Key::new("old"), Key::new("new"));
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("jwks.json");
    let write = |keys: &[&Key]| {
        let keys: Vec<_> = keys.iter().map(|key| key.public()).collect();
        fs::write(&path, json!({"keys": keys}).to_string()).unwrap();
    };
    write(&[&old]);
    let client = client(AuthConfig {
        algorithm: Some(Algorithm::ES256),
        secret: None,
        key_file: Some(path.clone()),
        ..hs256()
    });
    assert_eq!(status(&client, &new.token()).await, 401);
    write(&[&old, &new]);
    assert_eq!(status(&client, &new.token()).await, 200, "an unknown key is looked for at once");
    assert_eq!(status(&client, &old.token()).await, 200);
    fs::write(&path, "half a fi").unwrap();
    sleep(Duration::from_millis(1_500)).await;
    assert_eq!(status(&client, &old.token()).await, 200, "the last readable file counts");
    write(&[&new]);
    until_status(&client, &old.token(), 401).await;
    assert_eq!(status(&client, &new.token()).await, 200);
}

#[tokio::test]
async fn streams_end_when_the_key_of_their_token_is_removed() {
    let (old, new) = (Key::new("same"), Key::new("same"));
    let kept = Key::new("kept");
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("jwks.json");
    let write = |keys: &[&Key]| {
        let keys: Vec<_> = keys.iter().map(|key| key.public()).collect();
        fs::write(&path, json!({"keys": keys}).to_string()).unwrap();
    };
    write(&[&old, &kept]);
    let client = client(AuthConfig {
        algorithm: Some(Algorithm::ES256),
        secret: None,
        key_file: Some(path.clone()),
        ..hs256()
    });
    let (by_old, by_kept) = (client.with_token(old.token()), client.with_token(kept.token()));
    let chat = by_old.create_chat("c1").await;
    let ticket = by_old.poke(&format!("{chat}/tickets")).await.text_of("ticket");
    let events = format!("{chat}/events");
    let mut readers = vec![
        Reader::open(&by_old, &events, None).await,
        Reader::open(&client, &format!("{events}?ticket={ticket}"), None).await,
        Reader::open(&by_kept, &events, None).await,
    ];
    for reader in &mut readers {
        reader.until("caught-up").await;
    }
    // Another key under the name of the old one.
    write(&[&new, &kept]);
    for reader in &mut readers[..2] {
        reader.ended().await;
    }
    until_status(&client, &new.token(), 200).await;
    let message = json!({"role": "user", "content": "still here"});
    assert_eq!(by_kept.post(&format!("{chat}/messages"), message).await.status, 201);
    readers[2].until("message").await;
}

#[tokio::test]
async fn a_pem_file_may_hold_several_keys() {
    use crate::tokens::{EC, EC_PUBLIC, RSA, RSA_PUBLIC};
    let directory = tempfile::TempDir::new().unwrap();
    let path = directory.path().join("keys.pem");
    fs::write(&path, format!("{RSA_PUBLIC}\n{RSA_PUBLIC}")).unwrap();
    let with_file = |algorithm| AuthConfig {
        algorithm: Some(algorithm),
        secret: None,
        key_file: Some(path.clone()),
        ..hs256()
    };
    let client = client(with_file(Algorithm::RS256));
    assert_eq!(status(&client, &token_of("RS256", RSA, None)).await, 200);
    let other = token_of("ES256", EC, None);
    assert_eq!(status(&client, &other).await, 401);
    fs::write(&path, format!("{EC_PUBLIC}\n{RSA_PUBLIC}")).unwrap();
    let mixed = service::Config { auth: with_file(Algorithm::ES256), ..Default::default() };
    assert!(
        service::router(crate::harness::memory(), mixed).is_err(),
        "one key is of another kind"
    );
}
