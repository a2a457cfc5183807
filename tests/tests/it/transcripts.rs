//! Whole conversations are stored over HTTP and come back unchanged.

use anyhow::{Context as _, Result, ensure};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::{Value, json};
use tests::client::{Chat, Client};
use tests::database::Database;
use tests::service::Service;
use tests::settings::Settings;
use tests::transcript::{self, Conversation};

/// Conversations that run at the same time.
const AT_ONCE: usize = 8;

#[tokio::test]
async fn ag2_group_chats_come_back_whole_and_resume_without_a_drop() -> Result<()> {
    each_run("ag2-captain.jsonl", "history", resumes_in_strict_form).await
}

#[tokio::test]
async fn magentic_one_runs_come_back_whole_and_are_dropped_for_a_stated_reason() -> Result<()> {
    each_run("magentic-one.jsonl", "history", async |client, run| {
        let chat = stored(client, run).await?;
        let history = chat.history("ag2").await?;
        ensure!(history.messages.is_empty(), "the strict form kept {:?}", history.messages);
        let dropped: Vec<_> = history.dropped.iter().map(|it| (it.sequence, &*it.reason)).collect();
        let all: Vec<_> =
            (0..).zip(run).map(|(sequence, _)| (sequence, "unsupported_role")).collect();
        assert_eq!(dropped, all);
        Ok(())
    })
    .await
}

#[tokio::test]
async fn magentic_one_runs_are_kept_when_the_speaker_is_taken_from_the_role() -> Result<()> {
    each_run("magentic-one.jsonl", "history", async |client, run| {
        let chat = client.create_chat("MagenticOne").await?;
        chat.post("messages?speaker=role", &json!({ "messages": run })).await?;
        let history = chat.history("ag2").await?;
        assert_eq!(history.dropped, []);
        let spoken: Vec<_> =
            history.messages.iter().map(|it| (&it["name"], &it["content"])).collect();
        let expected: Vec<_> = run.iter().map(|it| (&it["role"], &it["content"])).collect();
        assert_eq!(spoken, expected);
        Ok(())
    })
    .await
}

#[tokio::test]
async fn tool_using_runs_come_back_whole_and_replay_without_a_drop() -> Result<()> {
    each_run("openai-airline.jsonl", "messages", replays_in_openai_form).await
}

#[tokio::test]
async fn the_project_s_own_transcripts_come_back_whole_and_replay_without_a_drop() -> Result<()> {
    let (group_chat, tool_calls) =
        (transcript::fixture("group-chat.jsonl")?, transcript::fixture("tool-calls.jsonl")?);
    let database = Database::create().await?;
    let service = Service::start(&Settings::of(&database)).await?;
    let client = service.client()?;
    resumes_in_strict_form(&client, &group_chat).await?;
    replays_in_openai_form(&client, &group_chat).await?;
    replays_in_openai_form(&client, &tool_calls).await?;
    service.stop().await
}

/// Tries every conversation of a log of real runs.
async fn each_run(
    name: &str,
    field: &str,
    trial: impl AsyncFn(&Client, &Conversation) -> Result<()>,
) -> Result<()> {
    let Some(runs) = transcript::real_runs(name, field)? else {
        return Ok(());
    };
    ensure!(!runs.is_empty(), "{name} is empty");
    let database = Database::create().await?;
    let service = Service::start(&Settings::of(&database)).await?;
    let client = service.client()?;
    let (client, trial) = (&client, &trial);
    let trials = runs.iter().enumerate().map(async |(index, run)| {
        trial(client, run).await.with_context(|| format!("run {index} of {name}"))
    });
    stream::iter(trials).buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    service.stop().await
}

async fn resumes_in_strict_form(client: &Client, conversation: &Conversation) -> Result<()> {
    let chat = stored(client, conversation).await?;
    let history = chat.history("ag2").await?;
    assert_eq!(history.dropped, []);
    same(&history.messages, conversation)
}

/// Every message is present, and changed messages are reported.
async fn replays_in_openai_form(client: &Client, conversation: &Conversation) -> Result<()> {
    let chat = stored(client, conversation).await?;
    let history = chat.history("openai").await?;
    assert_eq!(history.dropped, []);
    let mut expected: Conversation = conversation.iter().cloned().map(in_openai_form).collect();
    for repaired in &history.repaired {
        let sequence = usize::try_from(repaired.sequence)?;
        assert_eq!(history.messages[sequence]["role"], conversation[sequence]["role"]);
        expected[sequence].clone_from(&history.messages[sequence]);
    }
    same(&history.messages, &expected)
}

/// Removes the name of a tool, for which that dialect has no place.
fn in_openai_form(mut message: Value) -> Value {
    if message["role"] == "tool" {
        message.as_object_mut().and_then(|fields| fields.shift_remove("name"));
    }
    message
}

/// Stores a conversation, and checks that its pages return the same.
async fn stored(client: &Client, conversation: &Conversation) -> Result<Chat> {
    let chat = client.create_chat("Transcript").await?;
    let append = chat.append(conversation).await?;
    assert_eq!(append.last_sequence, conversation.len() as u64);
    let read = chat.messages().await?;
    let sequences = read.iter().map(|message| message["sequence"].as_u64());
    assert!(sequences.eq((0..append.last_sequence).map(Some)));
    let as_given: Conversation = read.into_iter().map(as_it_was_given).collect();
    same(&as_given, conversation)?;
    Ok(chat)
}

/// Removes the fields that the service adds to a message.
fn as_it_was_given(mut message: Value) -> Value {
    if let Some(fields) = message.as_object_mut() {
        fields.retain(|key, value| match key.as_str() {
            "sequence" | "event_id" | "timestamp" | "created_at" => false,
            "name" => !value.is_null(),
            _ => true,
        });
    }
    message
}

/// Compares conversations, and names the first message that differs: whole ones fill the screen.
fn same(read: &[Value], written: &[Value]) -> Result<()> {
    for (sequence, (read, written)) in read.iter().zip(written).enumerate() {
        ensure!(read == written, "message {sequence} was {written} and became {read}");
    }
    ensure!(read.len() == written.len(), "{} of {} messages are there", read.len(), written.len());
    Ok(())
}
