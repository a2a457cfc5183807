//! What is rendered message by message is what is rendered at once.

use proptest::prelude::*;
use proptest::sample::Index;
use records::Message;
use resume::dialect::{self, Ag2, Dialect, OpenAi, Rendered};
use resume::replay::{Replay, Survey};
use resume::{Options, Repair, Unsettled, window};
use serde_json::json;

use crate::openai::{caller, dropped, result, said};
use crate::strategies::conversation;
use crate::transcript::{log, violations};

/// Surveys one conversation, as far as that is needed.
fn survey(dialect: &dyn Dialect, newest: Option<usize>, messages: &[Message]) -> Replay {
    survey_for(&Options::default(), dialect, newest, messages)
}

fn survey_for(
    options: &Options,
    dialect: &dyn Dialect,
    newest: Option<usize>,
    messages: &[Message],
) -> Replay {
    let mut survey = Survey::new(dialect, newest, options);
    if survey.is_needed() {
        messages.iter().cloned().for_each(|message| survey.note(message));
    }
    survey.finish()
}

/// Replays what the conversation has become since.
fn replay(mut replay: Replay, messages: &[Message]) -> Rendered {
    let mut rendered = Vec::new();
    for message in messages {
        rendered.extend(replay.push(message.clone()));
    }
    let rest = replay.finish();
    rendered.extend(rest.messages);
    Rendered { messages: rendered, ..rest }
}

/// What may happen to a message while a conversation is read.
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

fn make(change: &Change, message: &mut Message) {
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
        unsettled in prop::sample::select(&Unsettled::ALL),
    ) {
        let options = Options { unsettled, ..Options::default() };
        let messages = log(&chat);
        let in_window = match newest {
            Some(size) => window::newest(messages.clone(), size),
            None => messages.clone(),
        };
        for dialect in dialect::ALL {
            let expected = dialect.render(in_window.clone(), &options);
            let replayed = replay(survey_for(&options, dialect, newest, &messages), &messages);
            prop_assert_eq!(replayed, expected);
        }
    }

    #[test]
    fn what_changes_meanwhile_breaks_no_rule(
        chat in conversation(),
        newest in prop::option::of(0_usize..12),
        changes in prop::collection::vec((any::<Index>(), change()), 1..4),
        appended in conversation(),
    ) {
        let surveyed = log(&chat);
        let mut found = log(&[chat, appended].concat());
        for (index, change) in changes.iter().filter(|_| !surveyed.is_empty()) {
            make(change, &mut found[index.index(surveyed.len())]);
        }
        for dialect in dialect::ALL {
            let replayed = replay(survey(dialect, newest, &surveyed), &found);
            prop_assert_eq!(violations(dialect, &replayed.messages), []);
            let sequences = replayed.dropped.iter().filter_map(|dropped| dropped.sequence);
            if dialect.looks_ahead() {
                prop_assert!(sequences.max() < Some(surveyed.len() as u64));
            }
        }
    }
}

#[test]
fn what_is_appended_after_the_survey_is_left_out() {
    let chat = [said(), said(), said()];
    let mut replay = survey(&OpenAi, None, &log(&chat[..2]));
    for (sequence, message) in log(&chat).into_iter().enumerate() {
        assert_eq!(replay.is_complete(), sequence == 2);
        assert_eq!(replay.push(message).len(), usize::from(sequence < 2));
    }
}

#[test]
fn without_a_survey_a_replay_goes_on_for_as_long_as_it_is_fed() {
    let mut replay = survey(&Ag2, None, &[]);
    for message in log(&[said(), said()]) {
        assert!(!replay.is_complete());
        assert_eq!(replay.push(message).len(), 1);
    }
    assert!(survey(&Ag2, Some(1), &[]).is_complete());
}

#[test]
fn a_result_deleted_meanwhile_is_replaced_by_null() {
    let chat = [caller(None::<&str>, &["a", "b"]), result("a"), result("b"), said()];
    let surveyed = log(&chat);
    let mut found = surveyed.clone();
    make(&Change::Delete, &mut found[2]);
    let rendered = replay(survey(&OpenAi, None, &surveyed), &found);
    let null = json!({"role": "tool", "tool_call_id": "b", "content": "null"});
    assert_eq!(rendered.messages, [chat[0].clone(), chat[1].clone(), null, said()]);
    assert_eq!(dropped(&rendered), [(2, "deleted")]);
    let expected = Repair::DeletedResultReplaced { call_id: "b".to_owned() };
    let repairs: Vec<_> = rendered.repaired.iter().map(|it| (it.index, &it.repair)).collect();
    assert_eq!(repairs, [(0, &expected)]);
}

#[test]
fn the_results_of_a_call_deleted_meanwhile_are_dropped() {
    let surveyed = log(&[said(), caller("x", &["a"]), result("a")]);
    let mut found = surveyed.clone();
    make(&Change::Delete, &mut found[1]);
    let rendered = replay(survey(&OpenAi, None, &surveyed), &found);
    assert_eq!(rendered.messages, [said()]);
    assert_eq!(dropped(&rendered), [(1, "deleted"), (2, "orphan_result")]);
}
