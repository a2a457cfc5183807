//! People sign in in a browser, at an issuer of their company.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::{get, post};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use persistence::memory::MemoryStore;
use ring::digest::{SHA256, digest};
use serde_json::{Value, json};
use service::{Algorithm, AuthConfig, Config, LimitsConfig, SignInConfig};
use tokio::net::TcpListener;
use tokio::time::sleep;

use crate::harness::{Answer, Client};
use crate::signing::{jwk, new_ec_key, sign};
use crate::tokens::{hs256, limits, seconds};

const OWN: &str = "https://chats.example.org";
const SESSION: &str = "__Host-reprise_session";
const SIGN_IN: &str = "__Host-reprise_sign_in";
const RECHECK: Duration = Duration::from_millis(30);
const CHATS: &str = "/api/chats/acme_corp";

/// An issuer in this process, at which `alice` is always signed in.
#[derive(Clone)]
struct Issuer {
    url: String,
    pem: Arc<String>,
    /// The requests of browsers, by the code that each was given.
    visits: Arc<Mutex<HashMap<String, HashMap<String, String>>>>,
    /// Changes to the claims of the next ID token.
    claims: Arc<Mutex<Value>>,
    is_away: Arc<AtomicBool>,
}

impl Issuer {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            pem: Arc::new(new_ec_key()),
            visits: Arc::default(),
            claims: Arc::new(Mutex::new(json!({}))),
            is_away: Arc::default(),
        };
        let app = Router::new()
            .route("/.well-known/openid-configuration", get(discovery))
            .route("/jwks.json", get(keys))
            .route("/token", post(exchange))
            .with_state(issuer.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        issuer
    }

    /// Shows the issuer's page to a browser, and signs in. Returns the query with which the browser is sent back.
    fn visit(&self, location: &str) -> String {
        let (endpoint, query) = location.split_once('?').unwrap();
        assert_eq!(endpoint, format!("{}/authorize", self.url));
        let asked: HashMap<String, String> = form(query);
        assert_eq!(asked["response_type"], "code");
        assert_eq!(asked["client_id"], "reprise");
        assert_eq!(asked["redirect_uri"], format!("{OWN}/api/sign-in/callback"));
        assert_eq!(asked["code_challenge_method"], "S256");
        assert_eq!(asked["scope"], "openid teams");
        let mut visits = self.visits.lock().unwrap();
        let code = format!("code-{}", visits.len());
        let back = format!("code={code}&state={}&iss={}&session_state=x", asked["state"], self.url);
        visits.insert(code, asked);
        back
    }
}

fn form(query: &str) -> HashMap<String, String> {
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, value)| (name.to_owned(), decoded(value))).collect()
}

fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let digits = [rest.next().unwrap(), rest.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            other => other,
        });
    }
    String::from_utf8(bytes).unwrap()
}

/// A response in JSON.
type Json = ([(&'static str, &'static str); 1], String);

fn as_json(body: &Value) -> Json {
    ([("content-type", "application/json")], body.to_string())
}

async fn discovery(State(issuer): State<Issuer>) -> Result<Json, StatusCode> {
    if issuer.is_away.load(Ordering::Relaxed) {
        return Err(StatusCode::BAD_GATEWAY);
    }
    Ok(as_json(&json!({
        "issuer": issuer.url,
        "authorization_endpoint": format!("{}/authorize", issuer.url),
        "token_endpoint": format!("{}/token", issuer.url),
        "jwks_uri": format!("{}/jwks.json", issuer.url),
        "authorization_response_iss_parameter_supported": true,
    })))
}

async fn keys(State(issuer): State<Issuer>) -> Json {
    as_json(&json!({"keys": [jwk("ES256", &issuer.pem, "k1")]}))
}

/// Exchanges a code once, if the service proves that it began the visit.
async fn exchange(
    State(issuer): State<Issuer>,
    headers: HeaderMap,
    body: String,
) -> Result<Json, (StatusCode, Json)> {
    let asked = form(&body);
    let refused = |error| Err((StatusCode::BAD_REQUEST, as_json(&json!({"error": error}))));
    let login = format!("Basic {}", STANDARD.encode("reprise:client secret".replace(' ', "+")));
    if headers["authorization"].to_str().unwrap() != login {
        return refused("invalid_client");
    }
    let Some(visit) = issuer.visits.lock().unwrap().remove(&asked["code"]) else {
        return refused("invalid_grant");
    };
    let challenge = URL_SAFE_NO_PAD.encode(digest(&SHA256, asked["code_verifier"].as_bytes()));
    if visit["code_challenge"] != challenge || visit["redirect_uri"] != asked["redirect_uri"] {
        return refused("invalid_grant");
    }
    let mut claims = json!({
        "iss": issuer.url, "aud": "reprise", "sub": "alice", "apps": ["acme_corp"],
        "exp": seconds(60), "nonce": visit["nonce"],
    });
    for (name, value) in issuer.claims.lock().unwrap().as_object().unwrap() {
        claims[name] = value.clone();
    }
    let token = sign(&json!({"alg": "ES256", "kid": "k1"}), &claims.to_string(), &issuer.pem);
    Ok(as_json(&json!({"access_token": "unused", "token_type": "Bearer", "id_token": token})))
}

fn config(issuer: &Issuer) -> Config {
    let sign_in = SignInConfig {
        issuer: Some(issuer.url.clone()),
        client_id: "reprise".to_owned(),
        client_secret: Some("client secret".to_owned().into()),
        algorithm: Algorithm::ES256,
        public_url: OWN.to_owned(),
        scopes: vec!["teams".to_owned()],
        ..SignInConfig::default()
    };
    let recheck_ms = RECHECK.as_millis().try_into().unwrap();
    let limits = LimitsConfig { recheck_ms, ..limits() };
    Config { auth: AuthConfig { sign_in, ..hs256() }, limits, ..Config::default() }
}

/// A browser, with its cookies.
#[derive(Clone)]
struct Browser {
    client: Client,
    cookies: HashMap<String, String>,
}

impl Browser {
    fn of(client: &Client) -> Self {
        Self { client: client.clone(), cookies: HashMap::new() }
    }

    /// Sends a request with the cookies and these headers, and keeps the cookies of the response.
    async fn send(&mut self, method: &str, path: &str, headers: &[(&str, &str)]) -> Answer {
        let mut request = self.client.request(method, path);
        let cookies: Vec<_> =
            self.cookies.iter().map(|(name, it)| format!("{name}={it}")).collect();
        if !cookies.is_empty() {
            request = request.header("cookie", cookies.join("; "));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let body = if method == "POST" && path == CHATS {
            request = request.header("content-type", "application/json");
            Body::from(json!({"workflow_name": "Generator"}).to_string())
        } else {
            Body::empty()
        };
        let answer = self.client.send(request.body(body).unwrap()).await;
        for cookie in answer.headers.get_all("set-cookie") {
            let text = cookie.to_str().unwrap();
            assert!(text.contains("; Path=/; ") && text.contains("; HttpOnly; Secure; SameSite="));
            let (name, value) = text.split(';').next().unwrap().split_once('=').unwrap();
            self.cookies.insert(name.to_owned(), value.to_owned());
            self.cookies.retain(|_, value| !value.is_empty());
        }
        answer
    }

    /// Begins to sign in. Returns the query with which the issuer sends the browser back.
    async fn begin(&mut self, issuer: &Issuer) -> String {
        let begun = self.send("GET", "/api/sign-in?return_to=/dashboard%23/acme_corp", &[]).await;
        assert_eq!(begun.status, 303, "{}", begun.text);
        issuer.visit(begun.header("location"))
    }

    async fn finish(&mut self, query: &str) -> Answer {
        self.send("GET", &format!("/api/sign-in/callback?{query}"), &[]).await
    }

    async fn sign_in(client: &Client, issuer: &Issuer) -> Self {
        let mut browser = Self::of(client);
        let query = browser.begin(issuer).await;
        let finished = browser.finish(&query).await;
        assert_eq!((finished.status, finished.header("location")), (303, "/dashboard#/acme_corp"));
        browser
    }

    /// Returns what a page must send to change something.
    async fn csrf_token(&mut self) -> String {
        let session = self.send("GET", "/api/session", &[]).await.body();
        session["session"]["csrf_token"].as_str().unwrap().to_owned()
    }

    async fn create_chat(&mut self, headers: &[(&str, &str)]) -> (u16, String) {
        let answer = self.send("POST", CHATS, headers).await;
        let body = answer.body();
        (answer.status, body["code"].as_str().unwrap_or_default().to_owned())
    }
}

async fn service() -> (Issuer, Client) {
    let issuer = Issuer::start().await;
    let client = Client::over(Arc::new(MemoryStore::default()), config(&issuer));
    (issuer, client)
}

fn forbidden(slug: &str) -> (u16, String) {
    (403, slug.to_owned())
}

#[tokio::test]
async fn a_person_signs_in_reads_writes_and_signs_out() {
    let (issuer, client) = service().await;
    let mut stranger = Browser::of(&client);
    let session = stranger.send("GET", "/api/session", &[]).await.body();
    assert_eq!(session, json!({"can_sign_in": true, "session": null}));
    assert_eq!(stranger.send("GET", CHATS, &[]).await.status, 401);

    let mut browser = Browser::sign_in(&client, &issuer).await;
    assert!(browser.cookies.contains_key(SESSION) && !browser.cookies.contains_key(SIGN_IN));
    let session = browser.send("GET", "/api/session", &[]).await.body();
    assert_eq!(session["session"]["user_id"], "alice");
    assert_eq!(session["session"]["apps"], json!(["acme_corp"]));
    assert_eq!(browser.send("GET", CHATS, &[]).await.status, 200);
    assert_eq!(browser.send("GET", "/api/chats/globex", &[]).await.status, 403);

    let csrf_token = browser.csrf_token().await;
    let own = [("origin", OWN), ("x-csrf-token", &*csrf_token)];
    assert_eq!(browser.create_chat(&own).await.0, 201);
    let kept = browser.clone();
    let signed_out = browser.send("POST", "/api/sign-out", &own).await;
    assert_eq!((signed_out.status, browser.cookies.len()), (204, 0));
    let mut kept = kept;
    assert_eq!(kept.send("GET", CHATS, &[]).await.status, 401, "a copy of the cookie is worthless");
}

#[tokio::test]
async fn other_sites_cannot_use_the_session_of_a_browser() {
    let (issuer, client) = service().await;
    let mut browser = Browser::sign_in(&client, &issuer).await;
    let csrf_token = browser.csrf_token().await;
    let other = Browser::sign_in(&client, &issuer).await.csrf_token().await;
    let token = ("x-csrf-token", &*csrf_token);
    for refused in [
        &[][..],
        &[token],
        &[("origin", OWN)],
        &[("origin", "https://evil.example"), token],
        &[("origin", "null"), token],
        &[("origin", OWN), ("origin", "https://evil.example"), token],
        &[("origin", OWN), ("sec-fetch-site", "cross-site"), token],
        &[("origin", OWN), ("sec-fetch-site", "same-site"), token],
        &[("origin", OWN), ("x-csrf-token", "")],
        &[("origin", OWN), ("x-csrf-token", &other)],
    ] {
        assert_eq!(
            browser.create_chat(refused).await,
            forbidden("forbidden-origin"),
            "{refused:?}"
        );
    }
    for foreign in [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site")] {
        let read = browser.send("GET", CHATS, &[foreign]).await;
        assert_eq!(read.problem(), forbidden("forbidden-origin"));
    }
    let own = [("origin", OWN), ("sec-fetch-site", "same-origin"), token];
    assert_eq!(browser.create_chat(&own).await.0, 201);
}

#[tokio::test]
async fn a_sign_in_that_this_browser_has_not_begun_is_refused() {
    let (issuer, client) = service().await;
    let mut mallory = Browser::of(&client);
    let of_mallory = mallory.begin(&issuer).await;
    let mut victim = Browser::of(&client);
    let failed = forbidden("sign-in-failed");
    assert_eq!(victim.finish(&of_mallory).await.problem(), failed, "without a sign-in");
    let of_victim = victim.begin(&issuer).await;
    assert_eq!(victim.finish(&of_mallory).await.problem(), failed, "of another browser");
    // The code of another browser with the own state: the issuer refuses the proof.
    let state = of_victim.split('&').find(|part| part.starts_with("state=")).unwrap();
    let code = of_mallory.split('&').next().unwrap();
    assert_eq!(victim.finish(&format!("{code}&{state}")).await.problem(), failed, "another code");
    for query in ["", "error=access_denied", "code=x", &*format!("{state}&error=access_denied")] {
        assert_eq!(victim.finish(query).await.problem(), failed, "{query}");
    }
    let foreign = format!("{of_victim}&iss=https://evil.example");
    assert_eq!(victim.finish(&foreign).await.problem(), failed, "another issuer");
    let unnamed = of_victim.replace(&format!("&iss={}", issuer.url), "");
    assert_ne!(unnamed, of_victim);
    assert_eq!(victim.finish(&unnamed).await.problem(), failed, "an issuer without a name");
    assert!(!victim.cookies.contains_key(SESSION));
    assert_eq!(victim.finish(&of_victim).await.status, 303);
    assert_eq!(victim.finish(&of_victim).await.problem(), failed, "a code is used once");
}

#[tokio::test]
async fn an_id_token_that_is_not_for_this_sign_in_is_refused() {
    let (issuer, client) = service().await;
    for claims in [
        json!({"nonce": "another"}),
        json!({"aud": "another-program"}),
        json!({"aud": ["another-program", "reprise"], "azp": "another-program"}),
        json!({"iss": "https://evil.example"}),
        json!({"exp": seconds(-60)}),
        json!({"role": "service"}),
    ] {
        *issuer.claims.lock().unwrap() = claims.clone();
        let mut browser = Browser::of(&client);
        let query = browser.begin(&issuer).await;
        let refused = browser.finish(&query).await;
        assert_eq!(refused.problem(), (403, "sign-in-failed".to_owned()), "{claims}");
        assert!(!browser.cookies.contains_key(SESSION));
    }
}

#[tokio::test]
async fn a_browser_is_never_sent_to_another_site() {
    let (issuer, client) = service().await;
    for foreign in ["https://evil.example", "//evil.example", "/%5Cevil.example", "evil"] {
        let mut browser = Browser::of(&client);
        let begun = browser.send("GET", &format!("/api/sign-in?return_to={foreign}"), &[]).await;
        let finished = browser.finish(&issuer.visit(begun.header("location"))).await;
        assert_eq!(
            (finished.status, finished.header("location")),
            (303, "/dashboard"),
            "{foreign}"
        );
    }
}

#[tokio::test]
async fn an_issuer_that_is_away_is_asked_again() {
    let (issuer, client) = service().await;
    issuer.is_away.store(true, Ordering::Relaxed);
    let mut browser = Browser::of(&client);
    let answer = browser.send("GET", "/api/sign-in", &[]).await;
    assert_eq!(answer.problem(), (503, "keys-unavailable".to_owned()));
    assert!(!answer.header("retry-after").is_empty());
    issuer.is_away.store(false, Ordering::Relaxed);
    Browser::sign_in(&client, &issuer).await;
}

#[tokio::test]
async fn without_settings_people_cannot_sign_in() {
    let client = Client::open();
    assert_eq!(client.get("/api/sign-in").await.problem(), (404, "no-sign-in".to_owned()));
    let session = client.get("/api/session").await.body();
    assert_eq!(session, json!({"can_sign_in": false, "session": null}));
}

#[tokio::test]
async fn people_sign_in_and_out_under_load_and_no_request_is_answered_wrongly() {
    let (issuer, client) = service().await;
    let stop = Arc::new(AtomicBool::new(false));
    let workers: Vec<_> = (0..6)
        .map(|_| {
            let (issuer, client, stop) = (issuer.clone(), client.clone(), Arc::clone(&stop));
            tokio::spawn(async move {
                let mut answered = 0;
                while !stop.load(Ordering::Relaxed) {
                    let mut browser = Browser::sign_in(&client, &issuer).await;
                    let csrf_token = browser.csrf_token().await;
                    let own = [("origin", OWN), ("x-csrf-token", &*csrf_token)];
                    for _ in 0..5 {
                        assert_eq!(browser.send("GET", CHATS, &[]).await.status, 200);
                        assert_eq!(browser.create_chat(&own).await.0, 201);
                    }
                    let mut copy = browser.clone();
                    assert_eq!(browser.send("POST", "/api/sign-out", &own).await.status, 204);
                    assert_eq!(copy.send("GET", CHATS, &[]).await.status, 401);
                    answered += 1;
                }
                answered
            })
        })
        .collect();
    sleep(Duration::from_secs(2)).await;
    stop.store(true, Ordering::Relaxed);
    for worker in workers {
        assert!(worker.await.unwrap() > 0);
    }
}
