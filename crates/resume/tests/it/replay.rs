//! A replay, message by message, equals the rendering of the whole window.

use proptest::prelude::*;
use proptest::sample::Index;
use records::Message;
use resume::dialect::{self, Ag2, Dialect, OpenAi, Rendered};
use resume::replay::{Replay, ReplayScan};
use resume::{Options, Repair, UnsettledPolicy, window};
use serde_json::json;

use crate::openai::{caller, dropped, result, said};
use crate::strategies::conversation;
use crate::transcript::{log, violations};

/// Scans a conversation, if its dialect needs that.
pub(crate) fn scanned(
    dialect: &dyn Dialect,
    newest: Option<usize>,
    messages: &[Message],
) -> Replay {
    scanned_with(&Options::default(), dialect, newest, messages)
}

fn scanned_with(
    options: &Options,
    dialect: &dyn Dialect,
    newest: Option<usize>,
    messages: &[Message],
) -> Replay {
    let mut scan = ReplayScan::new(dialect, newest, options);
    if scan.is_needed() {
        messages.iter().cloned().for_each(|message| scan.observe(message));
    }
    scan.into_replay()
}

/// Replays the conversation as it is after the scan.
pub(crate) fn replay(mut replay: Replay, messages: &[Message]) -> Rendered {
    let mut rendered = Vec::new();
    for message in messages {
        rendered.extend(replay.push(message.clone()));
    }
    let rest = replay.finish();
    rendered.extend(rest.messages);
    Rendered { messages: rendered, ..rest }
}

/// A change of a message between the two passes.
#[derive(Debug, Clone)]
enum Change {
    Delete,
    Rename(&'static str),
    Empty,
}

fn change() -> impl Strategy<Value = Change> {
    let names = prop::sample::select(vec!["a b", "a_b", "planner", "a.b", "ü"]);
    prop_oneof![Just(Change::Delete), names.prop_map(Change::Rename), Just(Change::Empty)]
}

fn apply(change: &Change, message: &mut Message) {
    match change {
        Change::Delete => {
            message.body = message.body.tombstone();
            message.deleted_at = Some(message.created_at);
        }
        Change::Rename(name) => message.body.name = Some((*name).to_owned()),
        Change::Empty => message.body.content = json!(null),
    }
}

proptest! {
    #[test]
    fn a_replay_is_the_rendering_of_the_window(
        chat in conversation(),
        newest in prop::option::of(0_usize..12),
        unsettled in prop::option::of(prop::sample::select(&UnsettledPolicy::ALL)),
        viewpoint in prop::option::of(Just("planner".to_owned())),
    ) {
        let options = Options { unsettled, viewpoint, ..Options::default() };
        let messages = log(&chat);
        let in_window = match newest {
            Some(size) => window::newest(messages.clone(), size),
            None => messages.clone(),
        };
        for dialect in dialect::all() {
            let expected = dialect.render(in_window.clone(), &options);
            let replayed = replay(scanned_with(&options, dialect, newest, &messages), &messages);
            prop_assert_eq!(replayed, expected);
        }
    }

    #[test]
    fn changes_after_the_scan_break_no_rule(
        chat in conversation(),
        newest in prop::option::of(0_usize..12),
        changes in prop::collection::vec((any::<Index>(), change()), 1..4),
        appended in conversation(),
    ) {
        let scanned_log = log(&chat);
        let mut found = log(&[chat, appended].concat());
        for (index, change) in changes.iter().filter(|_| !scanned_log.is_empty()) {
            apply(change, &mut found[index.index(scanned_log.len())]);
        }
        for dialect in dialect::all() {
            let replayed = replay(scanned(dialect, newest, &scanned_log), &found);
            prop_assert_eq!(violations(dialect, &replayed.messages), []);
            let sequences = replayed.dropped.iter().filter_map(|dropped| dropped.sequence);
            if dialect.needs_scan() {
                prop_assert!(sequences.max() < Some(scanned_log.len() as u64));
            }
        }
    }
}

#[test]
fn what_is_appended_after_the_scan_is_not_rendered() {
    let chat = [said(), said(), said()];
    let mut replay = scanned(&OpenAi, None, &log(&chat[..2]));
    let mut rendered = 0;
    for (sequence, message) in log(&chat).into_iter().enumerate() {
        assert_eq!(replay.is_complete(), sequence == 2);
        rendered += replay.push(message).len();
    }
    assert_eq!(rendered + replay.finish().messages.len(), 2);
}

#[test]
fn without_a_scan_a_replay_never_ends() {
    let mut replay = scanned(&Ag2, None, &[]);
    for message in log(&[said(), said()]) {
        assert!(!replay.is_complete());
        assert_eq!(replay.push(message).len(), 1);
    }
    assert!(scanned(&Ag2, Some(1), &[]).is_complete());
}

#[test]
fn a_result_deleted_after_the_scan_becomes_null() {
    let chat = [caller(None::<&str>, &["a", "b"]), result("a"), result("b"), said()];
    let scanned_log = log(&chat);
    let mut found = scanned_log.clone();
    apply(&Change::Delete, &mut found[2]);
    let rendered = replay(scanned(&OpenAi, None, &scanned_log), &found);
    let null = json!({"role": "tool", "tool_call_id": "b", "content": "null"});
    assert_eq!(rendered.messages, [chat[0].clone(), chat[1].clone(), null, said()]);
    assert_eq!(dropped(&rendered), [(2, "deleted")]);
    let expected = Repair::DeletedResultReplaced { call_id: "b".to_owned() };
    let repairs: Vec<_> = rendered.repaired.iter().map(|it| (it.index, &it.repair)).collect();
    assert_eq!(repairs, [(0, &expected)]);
}

#[test]
fn the_results_of_a_call_deleted_after_the_scan_are_dropped() {
    let scanned_log = log(&[said(), caller("x", &["a"]), result("a")]);
    let mut found = scanned_log.clone();
    apply(&Change::Delete, &mut found[1]);
    let rendered = replay(scanned(&OpenAi, None, &scanned_log), &found);
    assert_eq!(rendered.messages, [said()]);
    assert_eq!(dropped(&rendered), [(1, "deleted"), (2, "orphan_result")]);
}
