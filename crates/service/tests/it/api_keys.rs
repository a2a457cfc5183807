//! Keys that are issued to programs, in place of tokens.

use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use persistence::memory::MemoryStore;
use persistence::{AccessKeys as _, Store};
use records::{
    AccessKey, AccessKeyKind, AccessKeySecret, Actor, AppId, Bearer, NewAccessKey, TeamId, UserId,
};
use serde_json::json;
use service::{Config, LimitsConfig};
use tokio::time::{sleep, timeout};

use crate::harness::Client;
use crate::tokens::{hs256, status};

const RECHECK: Duration = Duration::from_millis(40);

/// A service, and the store in which its keys are.
struct Fixture {
    store: Arc<MemoryStore>,
    client: Client,
}

impl Fixture {
    fn new() -> Self {
        let store = Arc::new(MemoryStore::default());
        let recheck_ms = RECHECK.as_millis().try_into().unwrap();
        let limits = LimitsConfig { recheck_ms, ..LimitsConfig::default() };
        let config = Config { auth: hs256(), limits, ..Config::default() };
        let client = Client::over(Arc::<MemoryStore>::clone(&store) as Arc<dyn Store>, config);
        Self { store, client }
    }

    /// Creates a key for `acme_corp` with some settings changed.
    async fn key(&self, change: impl FnOnce(&mut NewAccessKey)) -> (AccessKey, String) {
        let mut bytes = [0; AccessKeySecret::RANDOM_BYTES];
        getrandom::fill(&mut bytes).unwrap();
        let secret = AccessKeySecret::from_random(&bytes);
        let text = secret.expose().to_owned();
        let mut key = NewAccessKey {
            secret,
            kind: AccessKeyKind::Api,
            label: None,
            bearer: Bearer::Service,
            apps: Some(vec![AppId::parse("acme_corp").unwrap()]),
            expires_at: None,
        };
        change(&mut key);
        (self.store.create_access_key(Some(&Actor::command_line()), key).await.unwrap(), text)
    }
}

fn alice() -> UserId {
    UserId::parse("alice").unwrap()
}

#[tokio::test]
async fn a_key_gives_the_rights_of_its_role_in_its_apps() {
    let fixture = Fixture::new();
    let (_, service) = fixture.key(|_| {}).await;
    let team_id = Some(TeamId::parse("red").unwrap());
    let (_, user) =
        fixture.key(|key| key.bearer = Bearer::User { user_id: alice(), team_id }).await;
    let (_, operator) = fixture
        .key(|key| {
            key.bearer = Bearer::Operator { user_id: alice() };
            key.apps = None;
        })
        .await;
    let as_service = fixture.client.with_token(&service);
    let body = json!({"workflow_name": "Generator", "user_id": "alice"});
    let created = as_service.post("/api/chats/acme_corp", body).await;
    assert_eq!(created.status, 201, "{}", created.text);
    let chat = created.body()["chat_id"].as_str().unwrap().to_owned();
    assert_eq!(as_service.get("/api/chats/globex").await.problem().0, 403, "another app");

    let as_user = fixture.client.with_token(&user);
    assert_eq!(as_user.get(&format!("/api/chats/acme_corp/{chat}")).await.status, 200);
    let message = json!({"messages": [{"role": "assistant", "name": "planner", "content": "x"}]});
    let forged = as_user.post(&format!("/api/chats/acme_corp/{chat}/messages"), message).await;
    assert_eq!(forged.problem(), (403, "forbidden-permission".to_owned()));

    let as_operator = fixture.client.with_token(&operator);
    assert_eq!(as_operator.get("/api/apps").await.status, 200);
    assert_eq!(as_operator.get("/api/chats/acme_corp").await.problem().0, 403);
}

#[tokio::test]
async fn keys_that_are_wrong_expired_or_of_a_browser_are_refused() {
    let fixture = Fixture::new();
    let (_, good) = fixture.key(|_| {}).await;
    assert_eq!(status(&fixture.client, &good).await, 200);
    let wrong_secret = format!("{}{}", &good[..good.len() - 4], "0000");
    let unknown = format!("{}{}_{}", AccessKeySecret::PREFIX, "0".repeat(16), "0".repeat(64));
    let past: DateTime<Utc> = DateTime::from_timestamp(1, 0).unwrap();
    let (_, expired) = fixture.key(|key| key.expires_at = Some(past)).await;
    let (_, of_a_browser) = fixture.key(|key| key.kind = AccessKeyKind::SignIn).await;
    for refused in [wrong_secret, unknown, expired, of_a_browser] {
        assert_eq!(status(&fixture.client, &refused).await, 401, "{refused}");
    }
}

#[tokio::test]
async fn a_revoked_key_is_refused_after_the_recheck() {
    let fixture = Fixture::new();
    let (key, revoked) = fixture.key(|_| {}).await;
    let (_, other) = fixture.key(|_| {}).await;
    assert_eq!(status(&fixture.client, &revoked).await, 200);
    assert_eq!(status(&fixture.client, &other).await, 200);
    fixture.store.revoke_access_key(Some(&Actor::command_line()), &key.id).await.unwrap();
    sleep(2 * RECHECK).await;
    assert_eq!(status(&fixture.client, &revoked).await, 401);
    assert_eq!(status(&fixture.client, &other).await, 200);
}

#[tokio::test]
async fn the_use_of_a_key_is_noted_once_a_minute() {
    let fixture = Fixture::new();
    let (key, text) = fixture.key(|_| {}).await;
    let last_used = async || fixture.store.find_access_key(&key.id).await.unwrap().unwrap();
    assert_eq!(last_used().await.last_used_at, None);
    status(&fixture.client, &text).await;
    let noted = async {
        loop {
            sleep(Duration::from_millis(1)).await;
            if let Some(at) = last_used().await.last_used_at {
                return at;
            }
        }
    };
    let noted = timeout(Duration::from_mins(1), noted).await.expect("the use is noted");
    for _ in 0..5 {
        status(&fixture.client, &text).await;
    }
    sleep(RECHECK).await;
    assert_eq!(last_used().await.last_used_at, Some(noted));
}

#[tokio::test]
async fn a_problem_never_repeats_a_key() {
    let fixture = Fixture::new();
    let (_, text) = fixture.key(|key| key.expires_at = DateTime::from_timestamp(1, 0)).await;
    let answer = fixture.client.with_token(&text).get("/api/chats/acme_corp").await;
    assert_eq!(answer.problem(), (401, "unauthenticated".to_owned()));
    assert!(answer.text.contains("API key"), "{}", answer.text);
    assert!(!answer.text.contains(&text[20..]));
}
