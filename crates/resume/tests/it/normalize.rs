use resume::{Options, StrictRole, normalize};
use serde_json::{Value, json};

use crate::transcript::log;

/// Rows as older writers stored them: the speaker in `agent_name`, except for the user.
fn rows_with_agent_names() -> Vec<Value> {
    let row = |sequence: u64, role: &str, speaker: &str, content: &str| {
        json!({
            "sequence": sequence, "event_id": format!("evt_{sequence}"), "role": role,
            "agent_name": speaker, "content": content, "timestamp": "2025-10-02T10:30:00Z",
        })
    };
    vec![
        json!({"sequence": 0, "role": "user", "name": "user", "content": "Plan a picnic"}),
        row(1, "assistant", "planner", "Where?"),
        row(2, "user", "user", "By the lake"),
        row(3, "assistant", "cook", "I bring soup"),
    ]
}

#[test]
fn agent_messages_survive_when_the_speaker_is_in_agent_name() {
    let (kept, dropped) = normalize(rows_with_agent_names(), &Options::default());
    let speakers: Vec<_> = kept.iter().map(|message| message.name.as_str()).collect();
    assert_eq!(speakers, ["user", "planner", "user", "cook"]);
    assert_eq!(dropped, []);
}

#[test]
fn long_structures_stay_structures() {
    let list: Vec<_> = (0..20_000).map(|n| json!({"n": n})).collect();
    for content in [json!(list), json!({"items": list}), json!("x".repeat(50_000))] {
        let message = json!({"role": "assistant", "name": "a", "content": content});
        let (kept, _) = normalize([message], &Options::default());
        assert_eq!(kept[0].content, content);
    }
}

#[test]
fn every_input_type_gives_the_same_result() {
    let options = Options::default();
    let values = vec![
        json!({"sequence": 0, "role": "user", "content": "hi"}),
        json!({"sequence": 1, "role": "assistant", "name": "a", "content": [1]}),
        json!({"sequence": 2, "role": "tool", "name": "a", "content": "x"}),
        json!({"sequence": 3, "role": "user", "name": "a", "deleted_at": "today"}),
        json!({"sequence": 4, "name": "user", "content": "hi"}),
    ];
    let messages = log(&values);
    let expected = normalize(&values, &options);
    assert_eq!((expected.0.len(), expected.1.len()), (3, 2));
    assert_eq!(normalize(&messages, &options), expected);
    assert_eq!(normalize(messages, &options), expected);
    assert_eq!(normalize(values, &options), expected);
}

#[test]
fn the_name_of_the_user_can_be_chosen() {
    let options = Options { default_user_name: "Zoë".to_owned(), ..Options::default() };
    let values = [json!({"role": "user", "content": 1}), json!({"name": "Zoë", "content": 2})];
    let (kept, dropped) = normalize(&values, &options);
    assert!(kept.iter().all(|it| it.name == "Zoë" && it.role == StrictRole::User));
    assert_eq!((kept.len(), dropped.len()), (2, 0));
}

#[test]
fn only_a_valid_sequence_is_reported() {
    let values = [json!({"sequence": 7}), json!({"sequence": -1}), json!({}), json!("text")];
    let (_, dropped) = normalize(&values, &Options::default());
    let sequences: Vec<_> = dropped.iter().map(|drop| drop.sequence).collect();
    assert_eq!(sequences, [Some(7), None, None, None]);
}
