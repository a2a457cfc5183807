use chrono::{DateTime, SecondsFormat, Utc};
use records::{AppId, ChatId, Message, MessageBody};
use serde_json::{Value, json};

/// Returns what is committed to of a message: everything that a reader is shown, as JSON, except for the call that has produced
/// it, because the deletion of a call changes that in many messages at once.
pub(crate) fn statement(message: &Message) -> String {
    let MessageBody { role, name, content, timestamp, metadata, extra } = &message.body;
    let mut said = json!({
        "sequence": message.sequence,
        "event_id": message.event_id.as_str(),
        "role": role,
        "content": content,
        "created_at": time(message.created_at),
    });
    let extra = extra.iter().filter(|(field, _)| *field != MessageBody::PRODUCED_BY);
    let further = [
        ("name", name.as_deref().map(Value::from)),
        ("timestamp", timestamp.as_deref().map(Value::from)),
        ("metadata", metadata.clone().map(Value::Object)),
        (
            "author",
            message.author.as_ref().map(|author| {
                json!([
                    author.user_id.as_str(),
                    author.display_name.as_ref().map(ToString::to_string)
                ])
            }),
        ),
        ("edited_at", message.edited_at.map(time)),
        ("edited_by", message.edited_by.as_ref().map(|person| person.as_str().into())),
        ("deleted_at", message.deleted_at.map(time)),
        ("deleted_by", message.deleted_by.as_ref().map(|person| person.as_str().into())),
    ];
    for (field, value) in further {
        if let Some(value) = value {
            said[field] = value;
        }
    }
    // Their order is that of the document, which a fork or an edit may change.
    let mut extra: Vec<_> = extra.collect();
    extra.sort_unstable_by_key(|(field, _)| *field);
    for (field, value) in extra {
        said[field] = value.clone();
    }
    said.to_string()
}

fn time(at: DateTime<Utc>) -> Value {
    at.to_rfc3339_opts(SecondsFormat::Millis, true).into()
}

/// Returns what the tag of a change covers: the app, the chat, the number of the change, and the new message.
pub(crate) fn change_tag_input(
    app_id: &AppId,
    chat_id: &ChatId,
    changes: u32,
    message: &Message,
) -> Vec<u8> {
    let statement = statement(message);
    format!("reprise change\n{app_id}\n{chat_id}\n{changes}\n{statement}").into_bytes()
}
