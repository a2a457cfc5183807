//! People see each other in a chat, through different services, as long as these run.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::hmac;
use serde_json::{Value, json};
use tests::client::{APP, Chat, Client, Events};
use tests::database::Database;
use tests::service::Service;
use tests::settings::Settings;
use tests::waiting::{MAX_WAIT, until, within};

const SECRET: &str = "a secret of at least thirty-two bytes";

/// Settings of a service that asks for tokens.
fn settings(database: &Database, expiry: Duration) -> Settings {
    Settings::of(database)
        .with("auth.mode", "jwt")
        .with("auth.algorithm", "HS256")
        .with("auth.secret", SECRET)
        .with("limits.presence_expiry_ms", expiry.as_millis())
}

fn client(service: &Service, user: &str) -> Result<Client> {
    let expires_at = SystemTime::now().duration_since(UNIX_EPOCH)? + Duration::from_mins(10);
    let claims = json!({"sub": user, "apps": [APP], "exp": expires_at.as_secs()});
    Client::with_token(service.url(), &sign(&claims))
}

fn sign(claims: &Value) -> String {
    let header = URL_SAFE_NO_PAD.encode(json!({"alg": "HS256"}).to_string());
    let message = format!("{header}.{}", URL_SAFE_NO_PAD.encode(claims.to_string()));
    let key = hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes());
    let signature = URL_SAFE_NO_PAD.encode(hmac::sign(&key, message.as_bytes()));
    format!("{message}.{signature}")
}

/// A person who listens to a chat.
struct Person {
    chat: Chat,
    events: Events,
}

impl Person {
    async fn listening(service: &Service, user: &str, chat_id: &str) -> Result<Self> {
        let chat = client(service, user)?.chat(chat_id);
        let events = chat.events(None).await?;
        Ok(Self { chat, events })
    }

    /// Waits until both the events and the route list these people as present.
    async fn sees(&mut self, expected: &[&str]) -> Result<()> {
        let told = async {
            loop {
                let Some(event) = self.events.next().await? else { bail!("the stream has ended") };
                if event.name == "presence" && users(&event.data) == expected {
                    return Ok(());
                }
            }
        };
        within(MAX_WAIT, "these people to be listed", told).await??;
        until("such people to be listed", async || {
            let presence = self.chat.get("presence").await?;
            Ok((users(&presence) == expected).then_some(()))
        })
        .await
    }
}

fn users(presence: &Value) -> Vec<&str> {
    let present = presence["present"].as_array().into_iter().flatten();
    present.filter_map(|of| of["user_id"].as_str()).collect()
}

/// Alice and bob listen to one chat, each through a service of their own.
async fn alice_and_bob(settings: &Settings) -> Result<[(Service, Person); 2]> {
    let (one, other) = tokio::try_join!(Service::start(settings), Service::start(settings))?;
    let chat = client(&one, "alice")?.create_chat("Seen").await?;
    let mut alice = Person::listening(&one, "alice", chat.id()).await?;
    alice.sees(&["alice"]).await?;
    let mut bob = Person::listening(&other, "bob", chat.id()).await?;
    alice.sees(&["alice", "bob"]).await?;
    bob.sees(&["alice", "bob"]).await?;
    Ok([(one, alice), (other, bob)])
}

#[tokio::test]
async fn people_of_a_service_that_is_killed_are_gone_when_their_time_is_up() -> Result<()> {
    let database = Database::create().await?;
    let settings = settings(&database, Duration::from_millis(1_500));
    let [(here, mut alice), (there, bob)] = alice_and_bob(&settings).await?;
    there.kill().await?;
    alice.sees(&["alice"]).await?;
    drop((alice, bob));
    here.stop().await
}

/// A clean stop removes people at once, not after the expiry.
#[tokio::test]
async fn people_of_a_service_that_is_stopped_are_gone_at_once() -> Result<()> {
    let database = Database::create().await?;
    let settings = settings(&database, Duration::from_hours(1));
    let [(here, mut alice), (there, bob)] = alice_and_bob(&settings).await?;
    there.stop().await?;
    alice.sees(&["alice"]).await?;
    drop((alice, bob));
    here.stop().await
}

#[tokio::test]
async fn who_goes_is_seen_to_go_and_who_comes_back_to_come() -> Result<()> {
    let database = Database::create().await?;
    let settings = settings(&database, Duration::from_hours(1));
    let [(here, mut alice), (there, bob)] = alice_and_bob(&settings).await?;
    let chat_id = bob.chat.id().to_owned();
    drop(bob);
    alice.sees(&["alice"]).await?;
    let bob = Person::listening(&there, "bob", &chat_id).await?;
    alice.sees(&["alice", "bob"]).await?;
    bob.chat.post("participants", &json!({"display_name": "Bob"})).await?;
    let named = async {
        loop {
            let Some(event) = alice.events.next().await? else { bail!("the stream has ended") };
            if event.data["present"][1]["display_name"] == "Bob" {
                return Ok(());
            }
        }
    };
    within(MAX_WAIT, "the name to be listed", named).await??;
    drop((alice, bob));
    here.stop().await?;
    there.stop().await
}
