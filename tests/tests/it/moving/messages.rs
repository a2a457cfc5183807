//! Chats in a dialect, one a line.

use std::fs;

use anyhow::{Context as _, Result};
use persistence::ChatSessions as _;
use records::ChatId;
use serde_json::{Value, json};
use tests::client::APP;
use tests::transcript::real_runs;

use super::{Place, compressed, text};

fn chat(id: &str, texts: &[&str]) -> String {
    let message = |text: &&str| json!({ "role": "user", "content": text });
    let messages: Vec<_> = texts.iter().map(message).collect();
    format!("{}\n", json!({ "chat_id": id, "messages": messages }))
}

async fn import(
    place: &Place,
    dialect: &str,
    lines: &str,
    options: &[&str],
) -> Result<(Value, String, Option<i32>)> {
    let directory = tempfile::tempdir()?;
    let file = directory.path().join("chats.jsonl");
    fs::write(&file, lines)?;
    let import = ["import", "messages", text(&file)?, "--app", APP, "--dialect", dialect];
    place.run(&[&import[..], options].concat()).await
}

#[tokio::test]
async fn chats_of_a_dialect_are_stored_and_what_is_not_is_told() -> Result<()> {
    let place = Place::new().await?;
    let calls =
        json!([{ "id": "1", "type": "function", "function": { "name": "f", "arguments": "{}" } }]);
    let open = json!({
        "id": "open", "title": "Weather", "user_id": "alice", "created_at": "2025-06-26T10:00:00Z", "score": 1,
        "messages": [
            { "role": "user", "content": "Hello" },
            { "role": "assistant", "content": null, "tool_calls": calls },
        ],
    });
    let lines = [
        format!("{open}\n"),
        "{\"messages\":[{\"role\":\"user\",\"content\":\"no id\"}]}\n".to_owned(),
        "{\"chat_id\":\"bad\",\"messages\":[{\"role\":\"user\",\"content\":5}]}\n".to_owned(),
        chat("other", &["a", "b"]),
        "{\"chat_id\":\"cut\",\"mess".to_owned(),
    ];
    let lines = lines.concat();
    let (dry, ..) = import(&place, "openai", &lines, &["--dry-run"]).await?;
    let (numbers, said, code) = import(&place, "openai", &lines, &[]).await?;
    for expected in [
        "warning: chats.jsonl:1: has a field `score` that is left out",
        "warning: chats.jsonl:1: message 1: ",
        "error: chats.jsonl:2: has no chat_id: name one, or use --prefix",
        "error: chats.jsonl:3: breaks rules of its dialect: message 0: ",
        "warning: chats.jsonl:5: is cut off",
    ] {
        assert!(said.contains(expected), "{expected} is not in {said}");
    }
    assert_eq!((&numbers, code), (&dry, Some(1)), "a dry run counts the same");
    assert_eq!((&numbers["created"], &numbers["stored"]), (&json!(2), &json!(4)), "{said}");
    let stored = place.store.get_chat(&place.scope, &ChatId::parse("open")?).await?;
    let stored = stored.context("it is not stored")?;
    assert_eq!((stored.title.as_deref(), stored.last_sequence), (Some("Weather"), 2));
    assert_eq!(stored.created_at.to_rfc3339(), "2025-06-26T10:00:00+00:00");

    // A chat that has grown adds what is new.
    let (grown, ..) = import(&place, "openai", &chat("other", &["a", "b", "c"]), &[]).await?;
    assert_eq!((&grown["stored"], &grown["known"]), (&json!(1), &json!(2)));
    // One that was changed would be stored behind what is there.
    for options in [&[][..], &["--dry-run"]] {
        let (changed, said, code) =
            import(&place, "openai", &chat("other", &["A", "b", "c"]), options).await?;
        assert_eq!((&changed["stored"], code), (&json!(0), Some(1)), "{said}");
        assert!(said.contains("does not begin as the chat other that is stored"), "{said}");
    }
    let without_id = "{\"messages\":[{\"role\":\"user\",\"content\":\"no id\"}]}\n";
    for stored in [1, 0] {
        let (numbers, said, code) =
            import(&place, "openai", without_id, &["--prefix", "run_"]).await?;
        assert_eq!((&numbers["stored"], said.as_str(), code), (&json!(stored), "", Some(0)));
    }
    assert_eq!(place.messages(&ChatId::parse("run_1")?).await?.len(), 1);
    let (numbers, said, _) =
        import(&place, "openai", &chat("long", &vec!["x"; 2_500]), &[]).await?;
    assert_eq!(numbers["stored"], 2_500, "{said}");
    Ok(())
}

#[tokio::test]
async fn logs_of_real_runs_are_imported_whole() -> Result<()> {
    let place = Place::new().await?;
    let Some(runs) = real_runs("openai-airline.jsonl", "messages")? else { return Ok(()) };
    let lines = |(at, messages): (usize, &Vec<Value>)| {
        format!("{}\n", json!({ "id": format!("run_{at}"), "messages": messages }))
    };
    let file: String = runs.iter().enumerate().map(lines).collect();
    let (numbers, said, code) = import(&place, "openai", &file, &[]).await?;
    assert_eq!((&numbers["errors"], code), (&json!(0), Some(0)), "{said}");
    assert_eq!(numbers["chats"], runs.len());
    assert_eq!(numbers["stored"], runs.iter().map(Vec::len).sum::<usize>());
    Ok(())
}

#[tokio::test]
async fn a_compressed_file_is_imported_as_far_as_it_can_be_read() -> Result<()> {
    let (place, directory) = (Place::new().await?, tempfile::tempdir()?);
    let file = directory.path().join("chats.jsonl.gz");
    let whole = [chat("one", &["a"]), chat("two", &["b"])].concat();
    let whole = compressed(whole.as_bytes())?;
    let import = ["import", "messages", text(&file)?, "--app", APP, "--dialect", "openai"];
    // The end of the file says how long its text is, and its checksum.
    fs::write(&file, &whole[..whole.len() - 4])?;
    let (numbers, said, code) = place.run(&import).await?;
    assert_eq!((&numbers["stored"], &numbers["errors"], code), (&json!(2), &json!(1), Some(1)));
    assert!(said.contains("error: chats.jsonl.gz:3: the compressed file is cut off"), "{said}");
    fs::write(&file, &whole)?;
    let again = place.succeed(&import).await?;
    assert_eq!((&again["stored"], &again["known"]), (&json!(0), &json!(2)));
    Ok(())
}
