//! Sessions in JSON Lines: what was read and written is read as the same.

use chrono::DateTime;
use records::{ChatId, Message, NewMessage, NewToolRun, ToolRun, WorkflowName};
use serde_json::Value;
use transfer::jsonl::{
    Entry, OlderFile, SessionFile, file_of, read_line, read_tool_line, tools_file_of, write_line,
    write_tool_line,
};

use super::Target;
use crate::{fixtures, input};

pub(super) const TARGET: Target = Target { name: "jsonl", check, seeds };

/// The first byte chooses what is read: a line of a message or of a tool, an entry of the index, a file of the older layout, or the
/// name of a file.
fn check(bytes: &[u8]) {
    let (kind, rest) = input::byte(bytes);
    let chat_id = ChatId::parse("abc123").unwrap();
    let workflow = WorkflowName::parse("Chat").unwrap();
    match kind % 5 {
        0 => check_line(rest, &chat_id),
        1 => check_tool_line(rest, &chat_id),
        2 => {
            let (key, entry) = input::line(rest);
            let (key, entry) = (String::from_utf8_lossy(key), input::json(entry));
            let Some(Ok(entry)) = entry.map(|entry| Entry::read(&key, &entry, &workflow)) else {
                return;
            };
            assert_eq!(entry.new.check(), Ok(()));
            assert_eq!(entry.new.chat_id, Some(entry.chat_id));
        }
        3 => {
            if let Ok(OlderFile::Session(session)) =
                OlderFile::read(rest, "session_abc123.json", &workflow)
            {
                for line in session.messages.lines() {
                    check_line(line.as_bytes(), &session.entry.chat_id);
                }
                for line in session.tools.lines() {
                    check_tool_line(line.as_bytes(), &session.entry.chat_id);
                }
            }
        }
        _ => match SessionFile::of(&String::from_utf8_lossy(rest)) {
            SessionFile::Messages(chat_id) => {
                assert!(String::from_utf8_lossy(rest).starts_with(&file_of(&chat_id)));
            }
            SessionFile::Tools(chat_id) => {
                assert!(String::from_utf8_lossy(rest).starts_with(&tools_file_of(&chat_id)));
            }
            SessionFile::Refused(_) | SessionFile::Other => {}
        },
    }
}

fn check_line(line: &[u8], chat_id: &ChatId) {
    let Ok(read) = read_line(line, 1, chat_id) else { return };
    assert_eq!(read.message.body.check(), Ok(read.bytes));
    assert_eq!(read_line(line, 1, chat_id).unwrap(), read, "reading is deterministic");
    let written = write_line(&stored(read.message.clone()), 1, chat_id);
    let again = read_line(written.as_bytes(), 1, chat_id).expect("what was written is read");
    assert_eq!(again.notes, [], "{written}");
    let mut expected = read.message;
    // A message without a time has got one.
    expected.body.timestamp = expected.body.timestamp.or(again.message.body.timestamp.clone());
    assert_eq!(again.message, expected, "{written}");
    assert_eq!(write_line(&stored(again.message), 1, chat_id), written);
}

fn stored(new: NewMessage) -> Message {
    Message {
        sequence: 0,
        event_id: new.event_id.expect("a read message has an id"),
        body: new.body,
        author: new.author,
        created_at: DateTime::default(),
        edited_at: None,
        edited_by: None,
        deleted_at: None,
        deleted_by: None,
        is_text_kept: false,
    }
}

fn check_tool_line(line: &[u8], chat_id: &ChatId) {
    let Ok(read) = read_tool_line(line, 1, chat_id) else { return };
    assert_eq!(read.run.check(), Ok(read.bytes));
    let run = run_of(read.run.clone());
    let written = write_tool_line(&run, 1, chat_id);
    let again = read_tool_line(written.as_bytes(), 1, chat_id).expect("what was written is read");
    assert_eq!(again.notes, [], "{written}");
    assert_eq!(again.run, read.run, "{written}");
}

fn run_of(new: NewToolRun) -> ToolRun {
    new.kept_at(DateTime::default(), &records::Uuid7Ids)
}

fn seeds() -> Vec<Vec<u8>> {
    let data = "fixtures/moving/data/sessions";
    let lines = fixtures::lines(&format!("{data}/session_abc123.jsonl"));
    let tools = fixtures::lines(&format!("{data}/session_abc123_tools.jsonl"));
    let index: Value =
        serde_json::from_slice(&fixtures::file(&format!("{data}/index.json"))).unwrap();
    let entries = index.as_object().into_iter().flatten();
    let entries = entries.map(|(key, entry)| format!("{key}\n{entry}").into_bytes());
    let older = ["default_542072a3", "older_1f2e3d4c"]
        .map(|name| fixtures::file(&format!("fixtures/moving/data/chats/session_{name}.json")));
    let names = ["session_abc123.jsonl.gz", "session_abc123_tools.jsonl"];
    let names = names.map(|name| name.as_bytes().to_vec());
    let mut seeds = fixtures::prefixed(&[0], lines);
    seeds.extend(fixtures::prefixed(&[1], tools));
    seeds.extend(fixtures::prefixed(&[2], entries.collect()));
    seeds.extend(fixtures::prefixed(&[3], older.to_vec()));
    seeds.extend(fixtures::prefixed(&[4], names.to_vec()));
    seeds
}
