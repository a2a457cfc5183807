//! Stored messages, created from JSON.

use std::path::{Path, PathBuf};

use proptest::sample::Index;
use records::{EventId, Message, MessageBody, NewMessage};
use resume::dialect::{self, Dialect, Rendered, Resent, Violation};
use resume::{Options, ingest};
use serde_json::Value;

/// Creates a stored message; a value that is not an object becomes an empty message.
#[expect(clippy::default_trait_access, reason = "the type of a time is named by `records` alone")]
pub(crate) fn stored(sequence: usize, message: &Value) -> Message {
    let text = |field: &str| message[field].as_str().map(str::to_owned);
    let extra = MessageBody::EXTRA.into_iter();
    let extra = extra.filter_map(|key| Some((key.to_owned(), message.get(key)?.clone())));
    let Ok(event_id) = EventId::parse(format!("evt_{sequence}")) else {
        panic!("a number makes a valid event id");
    };
    Message {
        sequence: sequence as u64,
        event_id,
        body: MessageBody {
            role: text("role").unwrap_or_default(),
            name: text("name"),
            content: message["content"].clone(),
            extra: extra.collect(),
            ..MessageBody::default()
        },
        created_at: Default::default(),
        author: None,
        edited_at: None,
        edited_by: None,
        deleted_at: message.get("deleted_at").map(|_| Default::default()),
        deleted_by: None,
        is_text_kept: false,
    }
}

/// Creates the stored messages of a conversation.
pub(crate) fn log(messages: &[Value]) -> Vec<Message> {
    let numbered = messages.iter().enumerate();
    numbered.map(|(sequence, message)| stored(sequence, message)).collect()
}

/// Creates stored messages from parsed ones.
pub(crate) fn stored_all(messages: Vec<NewMessage>) -> Vec<Message> {
    let numbered = messages.into_iter().enumerate();
    let stored = |(sequence, message): (usize, NewMessage)| {
        let minted = stored(sequence, &Value::Null);
        let event_id = message.event_id.unwrap_or(minted.event_id);
        Message { event_id, body: message.body, ..minted }
    };
    numbered.map(stored).collect()
}

/// Parses a transcript in the pieces into which it is cut, each after those before it are stored. That of a dialect that
/// sends messages in chunks is cut before messages of the user alone.
pub(crate) fn in_pieces(
    dialect: &dyn Dialect,
    messages: &[Value],
    cuts: &[Index],
) -> Vec<NewMessage> {
    let mut cuts: Vec<_> = cuts.iter().map(|cut| cut.index(messages.len() + 1)).collect();
    if dialect.resent() == Resent::Continues {
        cuts.retain(|cut| messages.get(*cut).is_some_and(|it| begins_turn(it, &messages[..*cut])));
    }
    cuts.extend([0, messages.len()]);
    cuts.sort_unstable();
    let mut parsed = Vec::new();
    for piece in cuts.windows(2).map(|cut| &messages[cut[0]..cut[1]]) {
        let log =
            if dialect.needs_context(piece) { stored_all(parsed.clone()) } else { Vec::new() };
        parsed.extend(ingest::parse_piece(dialect, Vec::new(), piece.to_vec(), &log).messages);
    }
    parsed
}

/// Parses updates of `acp`, each sent in a request of its own.
pub(crate) fn in_single_chunks(updates: &[Value]) -> Vec<NewMessage> {
    let mut parsed: Vec<NewMessage> = Vec::new();
    for update in updates {
        let piece = ingest::parse_piece(&dialect::Acp, Vec::new(), vec![update.clone()], &[]);
        for mut message in piece.messages {
            let is_taken =
                |it: &NewMessage| it.event_id.is_some() && it.event_id == message.event_id;
            if parsed.iter().any(is_taken) {
                assert!(ingest::continue_message(&dialect::Acp, &mut message, None));
            }
            parsed.push(message);
        }
    }
    parsed
}

/// Replaces the ids that [`stored`] gives by one that is the same for all, and leaves out those that are made of them.
pub(crate) fn without_minted_ids(mut messages: Vec<Value>) -> Vec<Value> {
    fn replace(value: &mut Value) {
        match value {
            Value::String(text) if text.starts_with("evt_") => "evt".clone_into(text),
            Value::Array(items) => items.iter_mut().for_each(replace),
            Value::Object(fields) => {
                fields.retain(|field, _| field != "uuid" && field != "parentUuid");
                fields.values_mut().for_each(replace);
            }
            _ => {}
        }
    }
    messages.iter_mut().for_each(replace);
    messages
}

/// Returns whether a chunk is the first one of a message of the user.
fn begins_turn(chunk: &Value, before: &[Value]) -> bool {
    let id = |chunk: &Value| chunk["_meta"]["messageId"].as_str().map(str::to_owned);
    chunk["sessionUpdate"] == "user_message_chunk"
        && before.last().is_none_or(|last| id(last) != id(chunk))
}

/// Stores parsed messages, and renders them in a dialect.
pub(crate) fn rendered_in(to: &dyn Dialect, messages: Vec<NewMessage>) -> Rendered {
    to.render(stored_all(messages), &Options::default())
}

/// Returns the rules of the format and of the provider that a rendering breaks, except the rule that there must be messages: a renderer
/// cannot promise that.
pub(crate) fn violations(dialect: &dyn Dialect, messages: &[Value]) -> Vec<Violation> {
    let mut found = dialect::validate(dialect, messages).err().unwrap_or_default();
    found.retain(|violation| violation.rule != "no_messages");
    found
}

/// Returns a path below the workspace root.
pub(crate) fn below_workspace(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// Returns the lines of a file with one JSON value on each, unless there is no such file.
pub(crate) fn json_lines(path: &Path) -> Option<Vec<Value>> {
    let text = std::fs::read_to_string(path).ok()?;
    let parsed: Result<_, _> = text.lines().map(serde_json::from_str).collect();
    match parsed {
        Ok(lines) => Some(lines),
        Err(error) => panic!("{} holds no JSON lines: {error}", path.display()),
    }
}
