use chrono::{DateTime, SecondsFormat, Utc};
use records::{AppId, Author, ChatId, Message, MessageBody};
use serde_json::{Value, json};

/// What the sender of a message and the store say of it, before it has a place in its chat.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Appended<'a> {
    pub(crate) event_id: &'a str,
    pub(crate) body: &'a MessageBody,
    pub(crate) author: Option<&'a Author>,
    pub(crate) created_at: DateTime<Utc>,
}

/// Returns what is committed to of a message: everything that a reader is shown, as JSON, except for the call that has produced
/// it, because the deletion of a call changes that in many messages at once.
pub(crate) fn statement(message: &Message) -> String {
    let changed = [
        ("edited_at", message.edited_at.map(time)),
        ("edited_by", message.edited_by.as_ref().map(|person| person.as_str().into())),
        ("deleted_at", message.deleted_at.map(time)),
        ("deleted_by", message.deleted_by.as_ref().map(|person| person.as_str().into())),
    ];
    said(Some(message.sequence), &appended(message), changed).to_string()
}

/// Returns what the tag of a message covers: the app, the chat whose documents hold it, how often it was changed, and the
/// message as it is now.
pub(crate) fn tag_input(
    app_id: &AppId,
    chat_id: &ChatId,
    changes: u32,
    message: &Message,
) -> Vec<u8> {
    if changes == 0 {
        return appended_tag_input(app_id, chat_id, &appended(message));
    }
    let statement = statement(message);
    format!("reprise change\n{app_id}\n{chat_id}\n{changes}\n{statement}").into_bytes()
}

/// Returns what the tag of a message that is appended covers. The write itself gives the message its sequence.
pub(crate) fn appended_tag_input(
    app_id: &AppId,
    chat_id: &ChatId,
    appended: &Appended<'_>,
) -> Vec<u8> {
    let said = said(None, appended, []);
    format!("reprise append\n{app_id}\n{chat_id}\n{said}").into_bytes()
}

fn appended(message: &Message) -> Appended<'_> {
    Appended {
        event_id: message.event_id.as_str(),
        body: &message.body,
        author: message.author.as_ref(),
        created_at: message.created_at,
    }
}

fn said<const N: usize>(
    sequence: Option<u64>,
    appended: &Appended<'_>,
    changed: [(&str, Option<Value>); N],
) -> Value {
    let Appended { event_id, body, author, created_at } = appended;
    let MessageBody { role, name, content, timestamp, metadata, extra } = body;
    let mut said = json!({});
    if let Some(sequence) = sequence {
        said["sequence"] = sequence.into();
    }
    said["event_id"] = (*event_id).into();
    said["role"] = role.as_str().into();
    said["content"] = content.clone();
    said["created_at"] = time(*created_at);
    let further = [
        ("name", name.as_deref().map(Value::from)),
        ("timestamp", timestamp.as_deref().map(Value::from)),
        ("metadata", metadata.clone().map(Value::Object)),
        (
            "author",
            author.map(|author| {
                json!([
                    author.user_id.as_str(),
                    author.display_name.as_ref().map(ToString::to_string)
                ])
            }),
        ),
    ];
    for (field, value) in further.into_iter().chain(changed) {
        if let Some(value) = value {
            said[field] = value;
        }
    }
    let extra = extra.iter().filter(|(field, _)| *field != MessageBody::PRODUCED_BY);
    // Their order is that of the document, which a fork or an edit may change.
    let mut extra: Vec<_> = extra.collect();
    extra.sort_unstable_by_key(|(field, _)| *field);
    for (field, value) in extra {
        said[field] = value.clone();
    }
    said
}

fn time(at: DateTime<Utc>) -> Value {
    at.to_rfc3339_opts(SecondsFormat::Millis, true).into()
}
