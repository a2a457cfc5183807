use chrono::{DateTime, Utc};
use records::{
    AppId, ChatId, ChatStatus, DerivedId, EventId, JsonObject, MessageBody, NewArtifact,
    NewChatSession, NewMessage, UserId, WorkflowName,
};
use serde_json::Value;

use super::messages::text;
use super::{ChatState, Layout, Part, PartError};
use crate::jsonl::read_time;
use crate::{ReadMessage, kept};

/// The chat sessions of `MozaiksAI`: a document for each chat, with its messages.
///
/// Its releases have named the app `enterprise_id` and the speaker of a message `agent_name`, and two of its numbers for the
/// status mean something else in each: whether the chat has ended decides.
pub const MOZAIKS: Layout =
    Layout { name: "mozaiks", place: ("MozaiksAI", "chat_sessions"), order: &[("_id", 1)], read };

const CHAT_ID: &str = "chat_id";
const MESSAGES: &str = "messages";
const SEQUENCE: &str = "sequence";

/// Fields that follow from others, or that a chat of Reprise does not need.
const DERIVED: [&str; 6] =
    ["last_updated_at", "duration_sec", "last_sequence", "completed_at", "ended_at", "status"];

fn read(mut document: JsonObject, workflow_name: &WorkflowName) -> Result<Part, PartError> {
    let mut notes = Vec::new();
    let id = document.shift_remove("_id").unwrap_or_default();
    let named = document.shift_remove(CHAT_ID).filter(|id| !id.is_null()).unwrap_or(id);
    let named = named.as_str().ok_or(PartError::Field(CHAT_ID, "a text"))?;
    let chat_id = ChatId::parse(named)?;
    let app_id = take_app(&mut document)?;
    let created_at = time(&document, "created_at");
    document.shift_remove("created_at");
    let active_at = time(&document, "last_updated_at");
    let (messages, faults) = read_messages(document.shift_remove(MESSAGES), &mut notes)?;
    let state = take_state(&mut document, &mut notes);
    for field in DERIVED {
        document.shift_remove(field);
    }
    let new = take_chat(document, chat_id.clone(), workflow_name, &mut notes)?;
    Ok(Part {
        app_id,
        new,
        chat_id,
        created_at,
        active_at,
        generation: 0,
        messages,
        id_note: None,
        notes,
        faults,
        state: Some(state),
    })
}

fn take_app(document: &mut JsonObject) -> Result<Option<AppId>, PartError> {
    let names = ["app_id", "enterprise_id"].map(|field| document.shift_remove(field));
    let app_id = names.into_iter().flatten().find(|id| !id.is_null());
    let Some(app_id) = app_id else { return Ok(None) };
    let app_id = app_id.as_str().ok_or(PartError::Field("app_id", "a text or an ObjectId"))?;
    Ok(Some(AppId::parse(app_id)?))
}

/// Makes the chat of what is left of the document: fields that a chat does not have become metadata.
fn take_chat(
    mut document: JsonObject,
    chat_id: ChatId,
    workflow_name: &WorkflowName,
    notes: &mut Vec<String>,
) -> Result<NewChatSession, PartError> {
    let workflow_name = match document.shift_remove("workflow_name") {
        None | Some(Value::Null) => workflow_name.clone(),
        Some(Value::String(name)) => WorkflowName::parse(name)?,
        Some(_) => return Err(PartError::Field("workflow_name", "a text")),
    };
    let user_id = document.get("user_id").and_then(Value::as_str);
    let user_id = user_id.and_then(|user_id| UserId::parse(user_id).ok());
    if user_id.is_some() || document.get("user_id").is_some_and(Value::is_null) {
        document.shift_remove("user_id");
    } else if document.contains_key("user_id") {
        notes.push("has a user_id that is no valid id: it is in the metadata".to_owned());
    }
    let seed = document.get("cache_seed").and_then(Value::as_u64);
    let cache_seed = seed.and_then(|seed| u32::try_from(seed).ok());
    if cache_seed.is_some() {
        document.shift_remove("cache_seed");
    }
    document.retain(|_, value| !value.is_null());
    let new = NewChatSession {
        chat_id: Some(chat_id),
        user_id,
        cache_seed,
        metadata: document,
        ..NewChatSession::of(workflow_name)
    };
    new.check()?;
    Ok(new)
}

fn take_state(document: &mut JsonObject, notes: &mut Vec<String>) -> ChatState {
    let ended_at = time(document, "completed_at").or_else(|| time(document, "ended_at"));
    let status = document.get("status").and_then(Value::as_i64);
    let status = match (status, ended_at) {
        (Some(4), _) | (Some(2), Some(_)) => ChatStatus::Failed,
        (Some(3), _) | (_, Some(_)) => ChatStatus::Completed,
        (Some(2), None) => ChatStatus::Paused,
        _ => ChatStatus::Running,
    };
    let context = match document.shift_remove("context_snapshot") {
        Some(Value::Object(context)) if !context.is_empty() => Some(context),
        None | Some(Value::Null | Value::Object(_)) => None,
        Some(_) => {
            notes.push("has a context_snapshot that is no object: it is left out".to_owned());
            None
        }
    };
    let artifact = document.shift_remove("last_artifact");
    let artifact = artifact.and_then(|artifact| match artifact {
        Value::Object(artifact) => Some(artifact_of(artifact)),
        _ => None,
    });
    ChatState { status, since: ended_at, context, artifact }
}

fn artifact_of(mut artifact: JsonObject) -> NewArtifact {
    let mut take = |field: &str| match artifact.shift_remove(field) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    let updated_at = take("updated_at").and_then(|time| read_any_time(&time));
    NewArtifact {
        ui_tool_id: take("ui_tool_id"),
        event_id: take("event_id"),
        display: take("display"),
        workflow_name: take("workflow_name"),
        updated_at,
        payload: artifact.shift_remove("payload").unwrap_or_default(),
    }
}

/// The messages, and what is wrong with those that cannot be stored.
type Messages = (Vec<ReadMessage>, Vec<String>);

/// Reads the messages in the order of their sequences: two operations wrote a sequence and its message, so that the messages
/// of several writers do not stand in their order.
fn read_messages(messages: Option<Value>, notes: &mut Vec<String>) -> Result<Messages, PartError> {
    let messages = match messages {
        Some(Value::Array(messages)) => messages,
        None | Some(Value::Null) => Vec::new(),
        Some(_) => return Err(PartError::Field(MESSAGES, "a list")),
    };
    let sequence = |message: &Value| message.get(SEQUENCE).and_then(Value::as_i64);
    let mut ordered: Vec<_> = messages.into_iter().map(|it| (sequence(&it), it)).collect();
    let is_counted = ordered.iter().all(|(sequence, _)| sequence.is_some());
    if is_counted {
        note_order(ordered.iter().filter_map(|(sequence, _)| *sequence), notes);
        ordered.sort_by_key(|(sequence, _)| *sequence);
    } else {
        notes.push("has messages without a sequence: all stay in the order of the list".to_owned());
    }
    let (mut read, mut faults) = (Vec::new(), Vec::new());
    for (index, (sequence, message)) in ordered.into_iter().enumerate() {
        let number = sequence.filter(|_| is_counted).unwrap_or_else(|| as_number(index));
        match read_message(message, number) {
            Ok(message) => read.push(message),
            Err(error) => faults.push(format!("message {number}: {error}")),
        }
    }
    Ok((read, faults))
}

fn as_number(index: usize) -> i64 {
    i64::try_from(index).unwrap_or(i64::MAX)
}

/// Notes whether the messages do not stand in their order, and which sequences are missing or occur twice.
fn note_order(sequences: impl Iterator<Item = i64>, notes: &mut Vec<String>) {
    let listed: Vec<i64> = sequences.collect();
    let mut ordered = listed.clone();
    ordered.sort_unstable();
    if ordered != listed {
        notes.push("has messages out of their order: they are stored by sequence".to_owned());
    }
    let pairs = || ordered.windows(2).map(|pair| (pair[0], pair[1]));
    let missing: i64 = pairs().map(|(before, after)| (after - before - 1).max(0)).sum();
    if let Some((before, after)) = pairs().find(|(before, after)| after - before > 1) {
        notes.push(format!(
            "lacks {missing} messages, the first between the sequences {before} and {after}: \
             sequences are given anew"
        ));
    }
    if let Some((twice, _)) = pairs().find(|(before, after)| before == after) {
        notes.push(format!("has the sequence {twice} twice: sequences are given anew"));
    }
}

fn read_message(message: Value, number: i64) -> Result<ReadMessage, PartError> {
    let Value::Object(mut message) = message else {
        return Err(PartError::Field(MESSAGES, "a list of objects"));
    };
    message.shift_remove(SEQUENCE);
    let role = text(&message, "role")?.to_owned();
    message.shift_remove("role");
    let content = message.shift_remove("content").unwrap_or_default();
    let mut take = |field: &str| match message.shift_remove(field) {
        Some(Value::String(text)) if !text.is_empty() => Some(text),
        _ => None,
    };
    let agent_name = take("agent_name");
    let name = take("name").or(agent_name);
    let timestamp = take("timestamp");
    let event_id = take("event_id").and_then(|id| EventId::parse(id).ok());
    let metadata = match message.shift_remove("metadata") {
        Some(Value::Object(metadata)) if !metadata.is_empty() => Some(metadata),
        _ => None,
    };
    let is_field = |name: &str| MessageBody::EXTRA.contains(&name) && name != MessageBody::PROVIDER;
    message.retain(|_, value| !value.is_null());
    let (mut extra, others): (JsonObject, JsonObject) =
        message.into_iter().partition(|(name, _)| is_field(name));
    kept::keep(&mut extra, MOZAIKS.name, others);
    let body = MessageBody { role, name, content, timestamp, metadata, extra };
    let bytes = body.check()?;
    let derived = event_id.is_none().then(|| DerivedId {
        prefix: format!("{}:{number}:", MOZAIKS.name).into(),
        digest: body.digest(),
    });
    Ok(ReadMessage::new(NewMessage { event_id, body, author: None }, bytes, derived))
}

fn time(document: &JsonObject, field: &str) -> Option<DateTime<Utc>> {
    read_any_time(document.get(field)?.as_str()?)
}

/// Reads a time; one without a zone is in UTC.
fn read_any_time(text: &str) -> Option<DateTime<Utc>> {
    read_time(text).or_else(|| read_time(&format!("{text}Z")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_json(document: Value) -> Part {
        let Value::Object(document) = document else { panic!("no object") };
        read(document, &WorkflowName::parse("Chat").unwrap()).unwrap()
    }

    #[test]
    fn a_session_of_the_document_is_read() {
        let part = read_json(json!({
            "_id": "chat_abc123", "app_id": "6507f1b2e4b0c8a9d2f3e4a5", "workflow_name": "Generator",
            "user_id": "user_456", "cache_seed": 2_847_561_923_u32, "status": 3,
            "created_at": "2025-10-02T10:00:00.000Z", "completed_at": "2025-10-02T10:15:00.000Z",
            "last_sequence": 2, "duration_sec": 900.0, "trace_id": "t1",
            "last_artifact": { "ui_tool_id": "code_editor", "payload": { "a": 1 }, "display": null },
            "messages": [
                { "role": "user", "name": "user", "content": "Create a todo app", "sequence": 0,
                  "timestamp": "2025-10-02T10:00:00.000Z", "event_id": "init_abc123" },
                { "role": "assistant", "name": "interviewer", "content": "Which?", "sequence": 1 },
            ],
            "context_snapshot": { "interview_complete": true },
        }));
        assert_eq!(part.app_id.unwrap().as_str(), "6507f1b2e4b0c8a9d2f3e4a5");
        assert_eq!(
            (part.chat_id.as_str(), part.notes.len()),
            ("chat_abc123", 0),
            "{:?}",
            part.notes
        );
        assert_eq!(Value::Object(part.new.metadata), json!({ "trace_id": "t1" }));
        assert_eq!(part.new.cache_seed, Some(2_847_561_923));
        let messages = part.messages.into_iter().map(|it| it.into_message(None));
        let ids: Vec<_> = messages.filter_map(|it| it.event_id).collect();
        assert_eq!(ids[0].as_str(), "init_abc123");
        assert!(ids[1].as_str().starts_with("mozaiks:1:"), "{ids:?}");
        let state = part.state.unwrap();
        assert_eq!(state.status, ChatStatus::Completed);
        assert_eq!(state.since, read_time("2025-10-02T10:15:00Z"));
        assert_eq!(state.artifact.unwrap().ui_tool_id.as_deref(), Some("code_editor"));
    }

    #[test]
    fn messages_are_ordered_by_sequence_and_gaps_are_told() {
        let part = read_json(json!({
            "_id": "c1", "enterprise_id": "e1", "status": 0,
            "messages": [
                { "role": "assistant", "agent_name": "planner", "content": "b", "sequence": 5,
                  "mood": { "a": 1 }, "event_type": "message.created" },
                { "role": "user", "content": "a", "sequence": 1 },
                { "content": "no role", "sequence": 6 },
                { "role": "user", "content": "d", "sequence": 6 },
            ],
        }));
        let contents: Vec<_> = part.messages.iter().map(|it| &it.message.body.content).collect();
        assert_eq!(contents, ["a", "b", "d"]);
        let planner = &part.messages[1].message.body;
        assert_eq!(planner.name.as_deref(), Some("planner"));
        let extra = json!({
            "event_type": "message.created",
            "provider": { "mozaiks": { "mood": { "a": 1 } } },
        });
        assert_eq!(Value::Object(planner.extra.clone()), extra);
        assert_eq!(part.faults, ["message 6: `role` must be a text"]);
        assert_eq!(part.notes.len(), 3, "{:?}", part.notes);
        assert!(part.notes[1].contains("lacks 3 messages"), "{:?}", part.notes);
        assert_eq!(part.state.unwrap().status, ChatStatus::Running);
    }

    #[test]
    fn a_status_that_means_two_things_is_decided_by_the_end() {
        let status = |status: i64, ended: Option<&str>| {
            let document = json!({ "_id": "c", "status": status, "completed_at": ended });
            read_json(document).state.unwrap().status
        };
        let time = Some("2025-10-02T10:15:00");
        assert_eq!(status(1, time), ChatStatus::Completed);
        assert_eq!(status(1, None), ChatStatus::Running);
        assert_eq!(status(2, None), ChatStatus::Paused);
        assert_eq!(status(2, time), ChatStatus::Failed);
        assert_eq!(status(4, None), ChatStatus::Failed);
        assert_eq!(status(0, None), ChatStatus::Running);
    }
}
