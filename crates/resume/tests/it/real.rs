//! Logs of real runs, which are not part of the project: tested only if they exist.

use std::slice;

use resume::dialect::{self, Ag2, Dialect, OpenAi, Rendered};
use resume::ingest::{self, Check};
use resume::{Options, normalize};
use serde_json::Value;

use crate::transcript::{below_workspace, json_lines, log, rendered_in};

#[expect(clippy::print_stderr, reason = "a test that was skipped says so")]
fn conversations(file: &str, field: &str) -> Vec<Vec<Value>> {
    let path = below_workspace("../shared/real").join(file);
    let Some(lines) = json_lines(&path) else {
        eprintln!("skipped: there is no {file}");
        return Vec::new();
    };
    let lists = lines.iter().filter_map(|line| line[field].as_array());
    lists.cloned().collect()
}

fn render(dialect: &dyn Dialect, chat: &[Value]) -> Rendered {
    let rendered = dialect.render(log(chat), &Options::default());
    assert_eq!(dialect.validate(&rendered.messages), []);
    rendered
}

#[test]
fn ag2_group_chats_pass_without_a_drop() {
    let chats = conversations("ag2-captain.jsonl", "history");
    for chat in &chats {
        assert_eq!(Ag2.validate(chat), []);
        let (strict, dropped) = normalize(chat, &Options::default());
        assert_eq!(dropped, []);
        assert_eq!(&strict.into_iter().map(Value::from).collect::<Vec<_>>(), chat);
        assert_eq!(render(&OpenAi, chat).messages.len(), chat.len());
    }
    assert!(chats.is_empty() || chats.iter().map(Vec::len).sum::<usize>() == 544);
}

#[test]
fn magentic_one_runs_are_dropped_for_their_roles() {
    for chat in conversations("magentic-one.jsonl", "history") {
        for dialect in [&Ag2 as &dyn Dialect, &OpenAi] {
            let rendered = render(dialect, &chat);
            assert_eq!(rendered.messages, [] as [Value; 0]);
            assert_eq!(rendered.dropped.len(), chat.len());
            let slugs = rendered.dropped.iter().map(|drop| drop.reason.slug());
            assert!(slugs.eq(chat.iter().map(|_| "unsupported_role")));
        }
    }
}

#[test]
fn magentic_one_runs_are_kept_once_the_speaker_is_in_the_name() {
    let mut kept = 0;
    for chat in conversations("magentic-one.jsonl", "history") {
        let mut messages = log(&chat);
        for message in &mut messages {
            ingest::speaker_from_role(&mut message.body);
            assert!(message.body.check().is_ok());
        }
        let (strict, dropped) = normalize(messages, &Options::default());
        assert_eq!(dropped, []);
        let speakers = strict.iter().map(|message| message.name.as_str());
        assert!(speakers.eq(chat.iter().filter_map(|message| message["role"].as_str())));
        kept += strict.len();
    }
    assert!(kept == 0 || kept == 1467);
}

#[test]
fn airline_conversations_render_completely() {
    let chats = conversations("openai-airline.jsonl", "messages");
    let mut total = Counts::default();
    for chat in &chats {
        let rendered = render(&OpenAi, chat);
        total.messages += chat.len();
        total.rendered += rendered.messages.len();
        total.dropped += rendered.dropped.len();
        total.repaired += rendered.repaired.len();
    }
    let expected = Counts { messages: 2526, rendered: 2526, dropped: 0, repaired: 0 };
    assert!(chats.is_empty() || total == expected, "{total:?}");
}

#[test]
fn airline_conversations_come_back_as_they_were() {
    for chat in conversations("openai-airline.jsonl", "messages") {
        let checked = ingest::check(&OpenAi, &chat, Check::Lenient);
        assert_eq!(checked.refused, []);
        let whole = OpenAi.parse(Vec::new(), chat.clone());
        let each = chat.iter().flat_map(|message| {
            assert_eq!(
                ingest::check(&OpenAi, slice::from_ref(message), Check::Lenient).refused,
                []
            );
            OpenAi.parse(Vec::new(), vec![message.clone()]).messages
        });
        let each: Vec<_> = each.collect();
        assert_eq!((&whole.messages, whole.dropped), (&each, vec![]));
        let rendered = rendered_in(&OpenAi, whole.messages);
        assert_eq!(rendered.messages, chat);
    }
}

#[test]
fn every_run_renders_validly_in_every_dialect() {
    let logs = [
        ("ag2-captain.jsonl", "history"),
        ("magentic-one.jsonl", "history"),
        ("openai-airline.jsonl", "messages"),
    ];
    for (file, field) in logs {
        for chat in conversations(file, field) {
            let mut messages = log(&chat);
            for message in &mut messages {
                ingest::speaker_from_role(&mut message.body);
            }
            for dialect in dialect::all() {
                let rendered = dialect.render(messages.clone(), &Options::default());
                assert_eq!(dialect::validate(dialect, &rendered.messages), Ok(()));
                assert!(!rendered.messages.is_empty());
            }
        }
    }
}

#[derive(Debug, Default, PartialEq)]
struct Counts {
    messages: usize,
    rendered: usize,
    dropped: usize,
    repaired: usize,
}
