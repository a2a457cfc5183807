//! Stored messages, made from JSON or from what was parsed, and what every rendering of them must keep.

use chrono::DateTime;
use records::{EventId, Message, MessageBody, NewMessage};
use resume::Options;
use resume::dialect::{self, Dialect, Violation};
use serde_json::Value;

fn of_body(sequence: usize, event_id: Option<EventId>, body: MessageBody) -> Message {
    let minted = || EventId::parse(format!("evt_{sequence}")).unwrap();
    Message {
        sequence: sequence as u64,
        event_id: event_id.unwrap_or_else(minted),
        body,
        created_at: DateTime::default(),
        author: None,
        edited_at: None,
        edited_by: None,
        deleted_at: None,
        deleted_by: None,
        is_text_kept: false,
    }
}

/// Makes the messages of a chat from parsed ones. `None` if the store would refuse one.
pub(crate) fn stored(messages: Vec<NewMessage>) -> Option<Vec<Message>> {
    let numbered = messages.into_iter().enumerate();
    let store = |(sequence, message): (usize, NewMessage)| {
        message.body.check().ok()?;
        Some(of_body(sequence, message.event_id, message.body))
    };
    numbered.map(store).collect()
}

/// Makes the messages of a chat from JSON with the fields of stored messages. `None` if the store would refuse one.
pub(crate) fn log(messages: &[Value]) -> Option<Vec<Message>> {
    let body = |message: &Value| {
        let text = |field: &str| message[field].as_str().map(str::to_owned);
        let extra = MessageBody::EXTRA.into_iter();
        let extra = extra.filter_map(|key| Some((key.to_owned(), message.get(key)?.clone())));
        let body = MessageBody {
            role: text("role")?,
            name: text("name"),
            content: message["content"].clone(),
            extra: extra.collect(),
            ..MessageBody::default()
        };
        body.check().ok().map(|_| body)
    };
    let bodies: Option<Vec<_>> = messages.iter().map(body).collect();
    let mut log: Vec<Message> = bodies?
        .into_iter()
        .enumerate()
        .map(|(sequence, body)| of_body(sequence, None, body))
        .collect();
    for (message, json) in log.iter_mut().zip(messages) {
        message.deleted_at = json.get("deleted_at").map(|_| DateTime::default());
    }
    Some(log)
}

/// Returns the rules that a rendering breaks, except the rule that there must be messages: a renderer cannot promise that.
pub(crate) fn violations(dialect: &dyn Dialect, messages: &[Value]) -> Vec<Violation> {
    let mut found = dialect::validate(dialect, messages).err().unwrap_or_default();
    found.retain(|violation| violation.rule != "no_messages");
    found
}

/// Checks that a rendering of a chat breaks no rule of its dialect, and that rendering what is parsed from it changes nothing.
pub(crate) fn check_rendering(dialect: &dyn Dialect, log: Vec<Message>, options: &Options) {
    let first = dialect.render(log.clone(), options);
    assert_eq!(violations(dialect, &first.messages), [], "{dialect:?}: {:?}", first.messages);
    assert_eq!(dialect.render(log, options), first, "{dialect:?} renders the same twice");
    if dialect.is_export_only() || !first.rejected.is_empty() {
        return;
    }
    let parsed = dialect.parse(first.system.clone(), first.messages.clone());
    assert_eq!(parsed.dropped, [], "{dialect:?}: {:?}", first.messages);
    let Some(again) = stored(parsed.messages) else {
        panic!("{dialect:?} renders what the store refuses: {:?}", first.messages);
    };
    let second = dialect.render(again, &Options::default());
    assert_eq!(
        (second.messages, second.system),
        (first.messages, first.system),
        "{dialect:?} renders what it has parsed in the same way"
    );
}
