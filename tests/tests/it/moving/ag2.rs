//! Sessions of a log that AG2 has written.

use std::fs;

use anyhow::{Context as _, Result};
use persistence::{Calls as _, ChatSessions as _};
use records::{ChatId, Message};
use serde_json::json;
use tests::client::APP;

use super::{Place, text};

const LOG: &str = include_str!("../../../../fixtures/moving/autogen_logs/runtime.log");
/// The sessions of the log: a group chat with a tool, a chat of two agents, and one with a call of a model.
const SESSIONS: [&str; 3] = [
    "18d1c0dd-2735-4e53-a843-45c14192d9ec",
    "6012f0fe-090b-4f0c-8edd-b3d299c6748e",
    "aecd62b7-a5f1-4948-b612-caa29e1e139b",
];

/// Returns the role, the speaker and the content of each message.
fn said(messages: &[Message]) -> Vec<[String; 3]> {
    let said = |message: &Message| {
        let content = &message.body.content;
        let content = content.as_str().map_or_else(|| content.to_string(), str::to_owned);
        [message.body.role.clone(), message.body.name.clone().unwrap_or_default(), content]
    };
    messages.iter().map(said).collect()
}

#[tokio::test]
async fn each_message_of_a_log_is_stored_once_with_its_speaker() -> Result<()> {
    let (place, directory) = (Place::new().await?, tempfile::tempdir()?);
    let file = directory.path().join("runtime.log");
    fs::write(&file, LOG)?;
    let import = ["import", "ag2", text(&file)?, "--app", APP, "--workflow", "Support"];
    let dry = place.succeed(&[&import[..], &["--dry-run"]].concat()).await?;
    let numbers = place.succeed(&import).await?;
    assert_eq!(numbers, dry, "a dry run counts the same");
    assert_eq!(numbers["created"], 3);
    let again = place.succeed(&import).await?;
    assert_eq!((&again["stored"], &again["calls_stored"]), (&json!(0), &json!(0)));
    assert_eq!((&again["known"], &again["calls_known"]), (&numbers["stored"], &json!(1)));

    let messages = place.messages_of(SESSIONS[0]).await?;
    let expected = [
        ("user", "customer", "Add 1 and 2, please."),
        ("assistant", "planner", "Step 1"),
        ("assistant", "coder", "null"),
        ("tool", "customer", "3"),
        ("assistant", "planner", "Step 2"),
        ("assistant", "coder", "The sum is 3."),
        ("user", "customer", "Thanks. TERMINATE"),
        ("assistant", "planner", "TERMINATE"),
    ];
    assert_eq!(
        said(&messages),
        expected.map(|(role, name, text)| [role, name, text].map(str::to_owned))
    );
    assert_eq!(place.messages_of(SESSIONS[1]).await?.len(), 4);
    let chat_id = ChatId::parse(SESSIONS[0])?;
    let chat = place.store.get_chat(&place.scope, &chat_id).await?.context("it is not stored")?;
    assert_eq!(chat.created_at.to_rfc3339(), "2026-11-27T11:40:17.564+00:00");
    assert_eq!(chat.workflow_name.as_str(), "Support");

    let calls =
        place.store.list_calls(&place.scope, &ChatId::parse(SESSIONS[2])?, 10, None).await?;
    let [call] = &calls.calls[..] else { anyhow::bail!("not one call: {calls:?}") };
    assert_eq!((call.tokens.prompt, call.tokens.completion), (12, 3));
    assert_eq!(
        (call.agent.as_deref(), call.cost.to_string()),
        (Some("helper"), "0.000060".to_owned())
    );
    assert_eq!(call.used.model.as_deref(), Some("gpt-4o-2024-08-06"));
    Ok(())
}

#[tokio::test]
async fn a_log_that_is_still_written_adds_what_is_new() -> Result<()> {
    let (place, directory) = (Place::new().await?, tempfile::tempdir()?);
    let file = directory.path().join("runtime.log");
    let import = ["import", "ag2", text(&file)?, "--app", APP];
    // Within a line of the first session.
    let cut = LOG.find("The sum is").context("the log has no such message")?;
    fs::write(&file, &LOG[..cut])?;
    let (part, said, code) = place.run(&import).await?;
    assert!(said.contains("is cut off"), "{said}");
    assert_eq!((&part["created"], code), (&json!(1), Some(0)));
    fs::write(&file, LOG)?;
    let whole = place.succeed(&import).await?;
    assert_eq!((&whole["created"], &whole["known"]), (&json!(2), &part["stored"]));
    let ids = place.messages_of(SESSIONS[0]).await?;
    assert_eq!(ids.len(), 8);
    Ok(())
}

/// The ids of messages follow from what was said before them.
#[tokio::test]
async fn a_log_whose_middle_was_mended_is_not_stored_twice() -> Result<()> {
    let (place, directory) = (Place::new().await?, tempfile::tempdir()?);
    let file = directory.path().join("runtime.log");
    let import = ["import", "ag2", text(&file)?, "--app", APP];
    let second =
        LOG.lines().find(|line| line.contains("Step 1")).context("the log has no such message")?;
    fs::write(&file, LOG.replace(second, "{broken"))?;
    let (broken, _, code) = place.run(&import).await?;
    assert_eq!((&broken["created"], code), (&json!(3), Some(1)));
    let before = place.messages_of(SESSIONS[0]).await?;
    fs::write(&file, LOG)?;
    let (mended, said, code) = place.run(&import).await?;
    assert!(said.contains("give the session another id"), "{said}");
    assert_eq!((&mended["stored"], &mended["errors"], code), (&json!(0), &json!(1), Some(1)));
    assert_eq!(place.messages_of(SESSIONS[0]).await?, before);
    Ok(())
}

#[tokio::test]
async fn lines_that_are_no_log_are_told_and_the_rest_is_imported() -> Result<()> {
    let (place, directory) = (Place::new().await?, tempfile::tempdir()?);
    let file = directory.path().join("runtime.log");
    let message =
        LOG.lines().find(|line| line.contains("received_message")).context("no message")?;
    fs::write(
        &file,
        format!("{message}\nnot json\n{LOG}Started new session with Session ID: ../x\n{message}\n"),
    )?;
    let (numbers, said, code) = place.run(&["import", "ag2", text(&file)?, "--app", APP]).await?;
    for expected in [
        "error: runtime.log:1: belongs to no session: no line before it names one",
        "error: runtime.log:2: cannot be read",
        ": belongs to no session",
    ] {
        assert!(said.contains(expected), "{expected} is not in {said}");
    }
    assert_eq!(
        (&numbers["created"], &numbers["errors"], code),
        (&json!(3), &json!(3), Some(1)),
        "{said}"
    );
    Ok(())
}
