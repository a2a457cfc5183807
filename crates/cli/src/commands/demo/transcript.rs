use std::path::Path;

use anyhow::{Context, bail};
use records::MessageBody;
use resume::ingest;
use serde_json::Value;

const BUILT_IN: &str = include_str!("../../../group-chat.jsonl");

/// A conversation to play.
pub(super) struct Transcript {
    /// Its source, as text for people.
    pub(super) source: String,
    pub(super) messages: Vec<MessageBody>,
}

impl Transcript {
    /// Reads a transcript file, or the built-in one.
    pub(super) fn load(path: Option<&Path>) -> anyhow::Result<Self> {
        let (source, text) = match path {
            None => ("the built-in transcript".to_owned(), BUILT_IN.to_owned()),
            Some(path) => {
                let text = std::fs::read_to_string(path)
                    .with_context(|| format!("cannot read {}", path.display()))?;
                (path.display().to_string(), text)
            }
        };
        let messages = parse(&text).with_context(|| format!("{source} is not a transcript"))?;
        Ok(Self { source, messages })
    }
}

fn parse(text: &str) -> anyhow::Result<Vec<MessageBody>> {
    let mut messages = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let number = index + 1;
        let value: Value =
            serde_json::from_str(line).with_context(|| format!("line {number} is not JSON"))?;
        let conversation = value.get("history").or_else(|| value.get("messages"));
        if let Some(Value::Array(items)) = conversation {
            return items.iter().map(message).collect();
        }
        messages.push(message(&value).with_context(|| format!("line {number}"))?);
    }
    Ok(messages)
}

fn message(value: &Value) -> anyhow::Result<MessageBody> {
    let (Some(role), Some(content)) = (value["role"].as_str(), value.get("content")) else {
        bail!("a message needs a role and a content");
    };
    let mut body = MessageBody::new(role, value["name"].as_str(), content.clone());
    let replayed = MessageBody::EXTRA.into_iter().filter(|it| !MessageBody::NATIVE.contains(it));
    for name in replayed {
        if let Some(extra) = value.get(name) {
            body.extra.insert(name.to_owned(), extra.clone());
        }
    }
    ingest::speaker_from_role(&mut body);
    body.check()?;
    Ok(body)
}
