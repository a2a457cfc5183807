use std::fmt::Write as _;

use records::json::{measure, measure_object};
use records::{Limits, MessageBody, NewTurn, TurnMessage};
use serde_json::{Value, json};

/// Leaves room for what a message has besides its content.
const ROOM: usize = 4 << 10;

/// Cuts what is too large for a turn, and says so in its place: the rest of the answer is stored.
pub(super) fn fit(messages: &mut Vec<TurnMessage>) {
    if messages.len() > NewTurn::MAX_MESSAGES {
        let left_out = messages.len() - NewTurn::MAX_MESSAGES + 1;
        messages.truncate(NewTurn::MAX_MESSAGES - 1);
        let note = format!("[{left_out} further messages of this answer are not stored]");
        let body = MessageBody::new("assistant", None, note);
        messages.push(TurnMessage { body, author: None });
    }
    let mut most = Limits::MESSAGE_BYTES - ROOM;
    let sizes = messages.iter().map(|message| size(&message.body).min(most));
    if sizes.sum::<usize>() + messages.len() * ROOM > NewTurn::MAX_MESSAGE_BYTES {
        most = (NewTurn::MAX_MESSAGE_BYTES / messages.len()).saturating_sub(ROOM).min(most);
    }
    for message in messages {
        fit_message(&mut message.body, most);
    }
}

/// Returns the size of the content and of the further fields of a message, in bytes.
fn size(body: &MessageBody) -> usize {
    measure(&body.content).unwrap_or_default() + measure_object(&body.extra).unwrap_or_default()
}

fn fit_message(body: &mut MessageBody, most: usize) {
    loop {
        let size = size(body);
        if size <= most {
            return;
        }
        let excess = size - most;
        let parts = body.content.as_array_mut().into_iter().flatten();
        let media = parts.filter(|part| part["type"] != "text").max_by_key(|part| longest(part));
        let of_media = media.as_deref().map_or(0, longest);
        let in_extra = body.extra.values().map(longest).max().unwrap_or_default();
        let largest = if of_media >= in_extra && of_media > ROOM {
            // A part of an image is none.
            media.map(|part| {
                *part = json!({"type": "text", "text": format!("[{of_media} bytes of this answer are not stored]")});
            })
        } else if longest(&body.content) >= in_extra {
            cut(&mut body.content, excess)
        } else {
            body.extra
                .values_mut()
                .max_by_key(|value| longest(value))
                .and_then(|it| cut(it, excess))
        };
        if largest.is_none() {
            // Many small values.
            body.content = format!("[{size} bytes of this answer are not stored]").into();
            body.extra.clear();
        }
    }
}

/// Returns the length of the longest text in a value.
fn longest(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(longest).max().unwrap_or_default(),
        Value::Object(fields) => fields.values().map(longest).max().unwrap_or_default(),
        _ => 0,
    }
}

/// Cuts the longest text in a value; `None` if none is long.
fn cut(value: &mut Value, excess: usize) -> Option<()> {
    match value {
        Value::String(text) if text.len() > ROOM => {
            let mut kept = text.len().saturating_sub(excess + ROOM);
            while !text.is_char_boundary(kept) {
                kept -= 1;
            }
            let left_out = text.len() - kept;
            text.truncate(kept);
            // Writing to a string does not fail.
            let _ = write!(text, "[{left_out} further bytes are not stored]");
            Some(())
        }
        Value::Array(items) => cut(items.iter_mut().max_by_key(|item| longest(item))?, excess),
        Value::Object(fields) => {
            cut(fields.values_mut().max_by_key(|field| longest(field))?, excess)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(content: Value) -> TurnMessage {
        TurnMessage { body: MessageBody::new("assistant", None, content), author: None }
    }

    fn fitted(mut messages: Vec<TurnMessage>) -> Vec<TurnMessage> {
        fit(&mut messages);
        let mut bytes = 0;
        for message in &messages {
            bytes += message.body.check().unwrap();
        }
        assert!(bytes <= NewTurn::MAX_MESSAGE_BYTES && messages.len() <= NewTurn::MAX_MESSAGES);
        messages
    }

    #[test]
    fn what_fits_is_unchanged() {
        let messages = vec![message("x".repeat(4_000_000).into()), message(Value::Null)];
        assert_eq!(fitted(messages.clone()), messages);
    }

    #[test]
    fn long_texts_are_cut_and_media_are_replaced() {
        let text = "ä".repeat(3 << 20);
        let image = json!({"type": "image_url", "image_url": {"url": "x".repeat(5 << 20)}});
        let part = json!({"type": "text", "text": "see"});
        let mut with_call = message(Value::Null);
        let call = json!([{"id": "c", "function": {"name": "f", "arguments": text}}]);
        with_call.body.extra.insert("tool_calls".to_owned(), call);
        let many = Value::from(vec!["x".repeat(1_000); 6_000]);
        let all = vec![
            message(text.clone().into()),
            message(json!([part, image])),
            with_call,
            message(many),
        ];
        let all = fitted(all);
        let said = all[0].body.content.as_str().unwrap();
        assert!(said.starts_with("ää") && said.ends_with(" further bytes are not stored]"));
        assert!(said.len() > 4_000_000);
        assert_eq!(all[1].body.content[0], part);
        assert_eq!(all[1].body.content[1]["text"], "[5242880 bytes of this answer are not stored]");
        let arguments = &all[2].body.extra["tool_calls"][0]["function"]["arguments"];
        assert!(arguments.as_str().unwrap().ends_with(" further bytes are not stored]"));
        assert!(
            all[3].body.content.as_str().unwrap().contains("bytes of this answer are not stored")
        );
    }

    #[test]
    fn a_turn_holds_so_many_messages_and_bytes() {
        let all = fitted(vec![message("x".into()); NewTurn::MAX_MESSAGES + 5]);
        assert_eq!(
            all.last().unwrap().body.content,
            "[6 further messages of this answer are not stored]"
        );
        assert_eq!(fitted(vec![message("x".repeat(3 << 20).into()); 40]).len(), 40);
    }
}
