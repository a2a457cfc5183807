//! Questions of workflows are answered once, whatever breaks.

use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use futures::future::join_all;
use serde_json::{Value, json};
use tests::client::{CallError, Chat, Event, Events};
use tests::database::Database;
use tests::faults::cluster::{Cluster, Timing};
use tests::service::Service;
use tests::settings::Settings;
use tests::waiting::until;

async fn ask(chat: &Chat, id: &str) -> Result<Value, CallError> {
    let question = json!({"request_id": id, "prompt": "Who?", "agent": "planner"});
    chat.post("input-requests", &question).await
}

async fn answer(chat: &Chat, id: &str, content: Value) -> Result<Value, CallError> {
    let event_id = format!("{id} {content}");
    let answer = json!({"content": content, "event_id": event_id});
    chat.post(&format!("input-requests/{id}/answer"), &answer).await
}

/// Repeats the answer until its outcome is known.
async fn answer_at_last(chat: &Chat, id: &str, content: Value) -> Result<Value, CallError> {
    loop {
        match answer(chat, id, content.clone()).await {
            Err(error) if error.may_pass() => tokio::time::sleep(Duration::from_millis(20)).await,
            answered => return answered,
        }
    }
}

/// Reads events up to one with that name.
async fn told(events: &mut Events, name: &str) -> Result<Event> {
    loop {
        let event = events.next().await?.context("the stream has ended")?;
        if event.name == name {
            return Ok(event);
        }
    }
}

#[tokio::test]
async fn of_rivals_at_two_services_one_wins() -> Result<()> {
    const RIVALS: usize = 64;
    let database = Database::create().await?;
    let settings = Settings::of(&database);
    let (one, other) = tokio::try_join!(Service::start(&settings), Service::start(&settings))?;
    let chat = one.client()?.create_chat("Rivals").await?;
    let there = other.client()?.chat(chat.id());
    for round in 0..5 {
        let id = &format!("q{round}");
        ask(&chat, id).await?;
        let mut events = there.events(None).await?;
        let wait = format!("input-requests/{id}?wait=30s");
        let rivals = (0..RIVALS).map(|rival| {
            let chat = if rival % 2 == 0 { &chat } else { &there };
            async move { answer(chat, id, json!(rival)).await }
        });
        let (answers, waited) = tokio::join!(join_all(rivals), there.get(&wait));
        let (mut winners, mut shown) = (Vec::new(), Vec::new());
        for answered in answers {
            match answered {
                Ok(mut answered) => winners.push(answered["input_request"].take()),
                Err(CallError::Refused(problem)) if problem.kind == "input-closed" => {
                    shown.push(problem.input_request);
                }
                Err(error) => bail!("{error}"),
            }
        }
        ensure!((winners.len(), shown.len()) == (1, RIVALS - 1), "{winners:?}");
        let winner = &winners[0];
        ensure!(shown.iter().all(|shown| shown.as_deref() == Some(winner)), "{shown:?}");
        ensure!(waited? == *winner);
        ensure!(told(&mut events, "input-response").await?.data == *winner);
    }
    let messages = chat.messages().await?;
    ensure!(messages.len() == 5, "{messages:?}");
    ensure!(chat.get("meta").await?["status_name"] == "running");
    one.stop().await?;
    other.stop().await
}

/// The service that stored the question is killed, then every mongod; the question stays and is answered.
#[tokio::test]
async fn a_question_outlives_every_process() -> Result<()> {
    let mut cluster = Cluster::start(1, 2, Timing::SHORT).await?;
    let chat = cluster.client().create_chat("Restart").await?;
    ask(&chat, "q1").await?;
    let asked = chat.get("input-requests/q1").await?;
    let short = json!({"request_id": "q2", "prompt": "Quick!", "expires_in_sec": 1});
    chat.post("input-requests", &short).await?;
    for host in cluster.hosts() {
        host.kill().await?;
    }
    cluster.primary().await?.kill_hard().await?;
    cluster.set().restart().await?;
    for host in cluster.hosts() {
        host.start_again().await?;
    }
    let services = cluster.reached();
    let [here, there] =
        [&services[0], &services[1]].map(|service| service.borrow().chat(chat.id()));
    let mut events = there.events(None).await?;
    until("the short one to be closed", async || {
        let meta = here.get("meta").await.ok();
        Ok(meta.filter(|meta| meta["pending_inputs"] == json!([asked])).map(drop))
    })
    .await?;
    ensure!(here.get("input-requests/q2").await?["state"] == "expired");
    let first = told(&mut events, "input-request").await?;
    ensure!(first.data == asked, "{first:?}");
    let (waited, answered) = tokio::join!(
        there.get("input-requests/q1?wait=30s"),
        answer_at_last(&here, "q1", json!("me"))
    );
    ensure!(waited? == answered?["input_request"]);
    let meta = here.get("meta").await?;
    ensure!(meta["status_name"] == "running" && meta["pending_inputs"] == json!([]), "{meta}");
    drop(events);
    cluster.stop().await
}

/// Answers are sent while the primary is killed: each question ends with one answer, and one message.
#[tokio::test]
async fn answers_are_given_once_while_primaries_are_killed() -> Result<()> {
    const QUESTIONS: usize = 40;
    let mut cluster = Cluster::start(3, 2, Timing::SHORT).await?;
    let chat = cluster.client().create_chat("Failover").await?;
    let services = cluster.reached();
    let asking = async {
        for number in 0..QUESTIONS {
            let id = &format!("q{number}");
            let asked = until("the question to be asked", async || Ok(ask(&chat, id).await.ok()));
            asked.await?;
            let rivals = (0..4).map(|rival| {
                let chat = services[rival % 2].borrow().chat(chat.id());
                async move { answer_at_last(&chat, id, json!(rival)).await }
            });
            let answers = join_all(rivals).await;
            let winners = answers.iter().filter(|answered| answered.is_ok()).count();
            ensure!(winners == 1, "{id}: {answers:?}");
        }
        Ok(())
    };
    let disasters = async {
        for _ in 0..2 {
            tokio::time::sleep(Duration::from_millis(500)).await;
            cluster.primary().await?.kill_hard().await?;
            tokio::time::sleep(Duration::from_secs(2)).await;
            cluster.set().restart().await?;
        }
        anyhow::Ok(())
    };
    let ((), ()) = tokio::try_join!(asking, disasters)?;
    cluster.heal().await?;
    let messages = chat.messages().await?;
    let answered: Vec<_> =
        messages.iter().map(|message| message["metadata"]["input_request_id"].clone()).collect();
    let expected: Vec<_> = (0..QUESTIONS).map(|number| json!(format!("q{number}"))).collect();
    ensure!(answered == expected, "{answered:?}");
    cluster.stop().await
}
