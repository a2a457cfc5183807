//! An erasure finds every text that a person has left through the API.

mod chats;
mod planter;
mod search;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use records::{Ids as _, Uuid7Ids};
use reqwest::Method;
use serde_json::{Value, json};
use tests::binary::{run, told};
use tests::client::{APP, Client};
use tests::database::Database;
use tests::service::Service;
use tests::settings::Settings;
use tests::waiting::{until, until_within};

use self::chats::{ELSEWHERE, IN_OTHER_CHATS, IN_OWN_CHATS, OWN, World};
use self::planter::{LISTED_KEY, Planter};
use self::search::Found;
use crate::moving::moves_whole;

/// Operations that take text, but none of a person.
const NOT_OF_A_PERSON: &[(&str, &str)] =
    &[("update_app", "an operator names keys of the metadata")];

/// What stays after an erasure, and why, by the operation, or any, and the field.
const STAYS: &[(&str, &str, &str)] = &[
    ("*", "chat_id", "ids of chats stay taken"),
    ("*", "event_id", "ids of messages stay taken"),
    ("*", "entry_id", "ids of entries stay taken"),
    ("create_chat", "/workflow_name", "the statistics count chats by workflow"),
    ("ensure_chat", "/workflow_name", "the statistics count chats by workflow"),
    ("create_chat", "/team_id", INHERITED),
    ("create_chat", "/assistant_id", INHERITED),
    ("ensure_chat", "/team_id", INHERITED),
    ("ensure_chat", "/assistant_id", INHERITED),
    ("update_chat", "/team_id", INHERITED),
    ("update_chat", "/assistant_id", INHERITED),
    ("record_calls", "call_id", CALLS),
    ("append_exchange", "/call/call_id", CALLS),
    ("record_calls", "agent", CALLS),
    ("append_exchange", "/call/agent", CALLS),
    ("record_calls", "requested_provider", CALLS),
    ("append_exchange", "/call/requested_provider", CALLS),
    ("record_calls", "requested_model", CALLS),
    ("append_exchange", "/call/requested_model", CALLS),
    ("record_calls", "provider", CALLS),
    ("append_exchange", "/call/provider", CALLS),
    ("record_calls", "model", CALLS),
    ("append_exchange", "/call/model", CALLS),
    ("record_calls", "provider_kind", KIND),
    ("append_exchange", "/call/provider_kind", KIND),
    ("append_exchange", "/call/request_id", "a call in a chat of another person stays whole"),
    ("append_turn", "/request_id", "ids of turns stay taken"),
];

const INHERITED: &str = "a fork of another person has the team and the assistant of its source";

const CALLS: &str = "the statistics count calls by model and agent";

const KIND: &str = "the kind of a provider stays beside its name";

/// What is not stored, or not until the erasure, and why.
const NOT_STORED: &[(&str, &str, &str)] = &[
    ("hold_chat", "/reason", "gone when the hold was lifted"),
    ("*", "/request_id", "ids of messages are made of it"),
    ("append_turn", "message_id", "only joins the parts of a message"),
];

/// Returns why a field is what it is.
fn reason(of: &[(&str, &str, &'static str)], id: &str, path: &str) -> Option<&'static str> {
    let found = of.iter().find(|(operation, field, _)| {
        ["*", id].contains(operation) && (*field == path || path.ends_with(&format!("/{field}")))
    });
    found.map(|(_, _, reason)| *reason)
}

async fn token(settings: &Settings, user: &str, role: &[&str]) -> Result<String> {
    let mint = [&["tokens", "mint", "--user", user, "--app", APP], role].concat();
    Ok(told(&run(&mint, settings).await?)?.trim_end().to_owned())
}

async fn verify(settings: &Settings) -> Result<()> {
    for of in ["stats", "wallets"] {
        let verified = told(&run(&[of, "verify"], settings).await?)?;
        ensure!(verified.contains(" 0 differences"), "{verified}");
    }
    Ok(())
}

#[tokio::test]
async fn every_field_that_a_person_can_fill_is_erased() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database)
        .with("auth.mode", "jwt")
        .with("auth.algorithm", "HS256")
        .with("auth.secret", "a secret of at least thirty-two bytes");
    let services = [Service::start(&settings).await?, Service::start(&settings).await?];
    let url = services[0].url();
    let document = services[0].client()?.call(Method::GET, "/openapi.json", None).await?;
    // The random end of an id: a token must be no longer than a word of the search index may be.
    let random = Uuid7Ids.mint("");
    let planter = Planter::new(document, format!("t{}", &random[random.len() - 16..]));
    let person = planter.person();
    let service = token(&settings, "orchestrator", &["--role", "service"]).await?;
    let operator = token(&settings, "olga", &["--role", "operator"]).await?;
    let mut world = World {
        service: Client::with_token(url, &service)?,
        operator: Client::with_token(url, &operator)?,
        person: Client::with_token(url, &token(&settings, &person, &[]).await?)?,
        planter,
        database: &database,
        lasting: Vec::new(),
    };
    declare_listed_key(&world).await?;
    for (side, operations) in [(OWN, IN_OWN_CHATS), (ELSEWHERE, IN_OTHER_CHATS)] {
        for (id, needs) in operations {
            world.write(side, id, *needs).await?;
        }
    }
    let called: BTreeSet<&str> = IN_OWN_CHATS.iter().map(|(id, _)| *id).collect();
    let excused: BTreeSet<&str> = NOT_OF_A_PERSON.iter().map(|(id, _)| *id).collect();
    let taking = world.planter.planted_operations()?;
    let forgotten: Vec<_> =
        taking.iter().filter(|id| !called.contains(&***id) && !excused.contains(&***id)).collect();
    assert!(forgotten.is_empty(), "operations that take text and are not called: {forgotten:?}");

    let prefix = world.planter.prefix().to_owned();
    let other = Client::with_token(services[1].url(), &service)?;
    // The other service has all of them in memory.
    let mut listening = Vec::new();
    for chat_id in &world.lasting {
        listening.push(other.chat(chat_id).events(None).await?);
    }
    let before = Found::in_database(&database, &prefix).await?;
    verify(&settings).await?;
    moves_whole(&settings).await?;
    erase(&world, &person, &settings).await?;
    verify(&settings).await?;
    moves_whole(&settings).await?;
    let after = Found::in_database(&database, &prefix).await?;

    let (fates, faults) = fates(&world.planter, &before, &after);
    let gone: BTreeSet<usize> =
        before.tokens.keys().filter(|it| !after.tokens.contains_key(it)).copied().collect();
    tell(format_args!(
        "{} fields with a token, {} erased, {} places",
        world.planter.fields().len(),
        gone.len(),
        before.places().len()
    ));
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(after.person.is_empty(), "{:?}", after.person);
    until("the other service to show none of it", async || {
        let shown = Value::from(world.shown(&other).await?).to_string();
        let mut found = Found::default();
        found.note(&prefix, "shown", &shown);
        let is_clean = found.person.is_empty() && found.tokens.keys().all(|it| !gone.contains(it));
        Ok(is_clean.then_some(()))
    })
    .await?;
    drop(listening);
    insta::assert_snapshot!("fields", fates.join("\n"));
    // The search index is written in its own time.
    let places = before.places().into_iter().filter(|place| !place.starts_with("search_"));
    insta::assert_snapshot!("places", places.collect::<Vec<_>>().join("\n"));
    for service in services {
        service.stop().await?;
    }
    Ok(())
}

/// Declares the key of the metadata by which chats are listed, so that its values are stored twice.
async fn declare_listed_key(world: &World<'_>) -> Result<()> {
    let path = format!("/api/apps/{APP}");
    world.operator.call(Method::PUT, &path, Some(&json!({}))).await?;
    let settings = json!({ "settings": { "metadata_keys": [LISTED_KEY] } });
    world.operator.call(Method::PATCH, &path, Some(&settings)).await?;
    Ok(())
}

#[expect(clippy::print_stderr, reason = "the coverage is a result of the test")]
fn tell(coverage: fmt::Arguments<'_>) {
    eprintln!("{coverage}");
}

/// Erases the person by the route, and proves the numbers meanwhile.
async fn erase(world: &World<'_>, person: &str, settings: &Settings) -> Result<()> {
    let erasures = format!("/api/apps/{APP}/erasures");
    let begun = json!({ "user_id": person });
    let begun = world.operator.call(Method::POST, &erasures, Some(&begun)).await?;
    let path = format!("{erasures}/{}", begun["pseudonym"].as_str().context("no pseudonym")?);
    until_within(Duration::from_mins(5), "the erasure to be finished", async || {
        verify(settings).await?;
        let erasure = world.operator.call(Method::GET, &path, None).await?;
        ensure!(erasure["held"] == json!([]), "{erasure}");
        Ok((!erasure["finished_at"].is_null()).then_some(()))
    })
    .await
}

/// Says of each field what became of its text, and what should have been otherwise.
fn fates(planter: &Planter, before: &Found, after: &Found) -> (Vec<String>, Vec<String>) {
    let (mut fates, mut faults) = (BTreeMap::new(), Vec::new());
    for (number, (side, id, path)) in planter.fields() {
        let field = format!("{side} {id} {path}");
        let stays = reason(STAYS, id, path);
        let fate = match (before.tokens.get(&number), after.tokens.get(&number)) {
            (_, Some(places)) => stays
                .map(|reason| format!("stays: {reason}"))
                .ok_or_else(|| format!("{field} is still in {places:?}")),
            (Some(_), None) => Ok("erased".to_owned()),
            (None, None) => reason(NOT_STORED, id, path)
                .map(|reason| format!("not stored: {reason}"))
                .ok_or_else(|| format!("{field} was not found before the erasure")),
        };
        match fate {
            Ok(fate) => _ = fates.insert(field, fate),
            Err(fault) => faults.push(fault),
        }
    }
    for ((side, id, path), reason) in planter.omitted() {
        fates.insert(format!("{side} {id} {path}"), format!("left out: {reason}"));
    }
    (fates.into_iter().map(|(field, fate)| format!("{field}: {fate}")).collect(), faults)
}
