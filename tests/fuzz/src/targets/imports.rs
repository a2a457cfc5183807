//! Chats in files and documents of other systems.

use std::io::BufReader;

use records::{JsonObject, WorkflowName};
use resume::dialect::{self, Dialect};
use serde_json::Value;
use transfer::ReadMessage;
use transfer::ag2_log::Log;
use transfer::collections::LAYOUTS;
use transfer::lines::Lines;
use transfer::transcripts::{ReadChat, read_chat};

use super::Target;
use crate::{fixtures, input};

pub(super) const TARGET: Target = Target { name: "imports", check, seeds };

/// The first byte chooses what is read: a chat in a dialect, the log of AG2, or a document of a collection.
fn check(bytes: &[u8]) {
    let (kind, rest) = input::byte(bytes);
    let workflow = WorkflowName::parse("Chat").unwrap();
    match kind {
        200.. => check_log(rest, &workflow),
        100.. => {
            let Some(Value::Object(document)) = input::json(rest) else { return };
            check_document(kind, &document, &workflow);
        }
        _ => {
            let dialect = input::dialect(kind);
            let Ok(chat) = read_chat(rest, dialect, &workflow) else { return };
            check_chat(&chat);
            let again = read_chat(rest, dialect, &workflow).unwrap();
            assert_eq!(again.messages, chat.messages, "the ids are the same when it is read again");
        }
    }
}

fn check_chat(chat: &ReadChat) {
    assert_eq!(chat.new.check(), Ok(()));
    check_messages(&chat.messages);
}

fn check_messages(messages: &[ReadMessage]) {
    for read in messages {
        let message = read.clone().into_message(None);
        assert!(message.event_id.is_some());
        assert_eq!(message.body.check(), Ok(read.bytes()));
    }
}

fn check_document(layout: usize, document: &JsonObject, workflow: &WorkflowName) {
    let layout = LAYOUTS[layout % LAYOUTS.len()];
    let Ok(part) = layout.read(document.clone(), workflow) else { return };
    assert_eq!(part.new.check(), Ok(()));
    assert_eq!(part.new.chat_id.as_ref().unwrap_or(&part.chat_id), &part.chat_id);
    check_messages(&part.messages);
}

/// Reads a log from a buffer of a few bytes, in lines that may not be long.
fn check_log(bytes: &[u8], workflow: &WorkflowName) {
    const MAX_LINE: usize = 4 << 10;
    let mut lines = Lines::bounded(BufReader::with_capacity(7, bytes), MAX_LINE);
    let mut expected = bytes.split(|byte| *byte == b'\n');
    let (mut log, mut sessions) = (Log::default(), Vec::new());
    while let Some(line) = lines.next_line().unwrap() {
        let own = expected.next().unwrap();
        assert_eq!(line.text, (own.len() <= MAX_LINE).then_some(own));
        if let Some(text) = line.text
            && let Ok(session) = log.push(text, line.number)
        {
            sessions.extend(session);
        }
    }
    assert_eq!(lines.bytes(), bytes.len() as u64);
    sessions.extend(log.finish());
    for session in sessions {
        let chat_id = session.chat_id().clone();
        let Ok((chat, calls)) = session.into_chat(workflow) else { continue };
        assert_eq!(chat.new.chat_id, Some(chat_id));
        check_chat(&chat);
        for call in calls {
            assert_eq!(call.check(), Ok(()));
        }
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let numbered = (0_u8..).zip(dialect::all());
    let of = |(number, dialect): (u8, &'static dyn Dialect)| {
        fixtures::prefixed(&[number], fixtures::written(dialect.name()))
    };
    let mut seeds: Vec<_> = numbered.flat_map(of).collect();
    seeds.extend(fixtures::prefixed(&[4], fixtures::lines("fixtures/moving/chats.jsonl")));
    // The number modulo three is that of the layout.
    for (number, name) in [(102, "mozaiks"), (103, "langchain"), (104, "openai-agents")] {
        let lines = fixtures::lines(&format!("fixtures/moving/mongo/{name}.jsonl"));
        seeds.extend(fixtures::prefixed(&[number], lines));
    }
    seeds.push([vec![200], fixtures::file("fixtures/moving/autogen_logs/runtime.log")].concat());
    seeds
}
