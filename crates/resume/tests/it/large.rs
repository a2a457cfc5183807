//! Messages with as many calls and results as a message may hold.

use resume::dialect;
use resume::{Options, UnsettledPolicy};
use serde_json::{Value, json};

use crate::openai::{call, result, said};
use crate::transcript::{log, violations};

const CALLS: usize = 45_000;
const RESPONSES: usize = 60_000;

/// A message with calls, and one that answers them in reverse and then answers unknown calls.
fn exchange() -> Vec<Value> {
    let calls: Vec<_> = (0..CALLS).map(|at| call(&at.to_string())).collect();
    let responses = (0..CALLS).rev().chain(CALLS..RESPONSES);
    let responses: Vec<_> = responses.map(|at| result(&at.to_string())).collect();
    vec![
        said(),
        json!({"role": "assistant", "content": "x", "tool_calls": calls}),
        json!({"role": "tool", "content": "", "tool_responses": responses}),
        said(),
    ]
}

#[test]
fn many_calls_in_one_message_take_no_longer_than_in_several() {
    let options = Options { unsettled: Some(UnsettledPolicy::Settle), ..Options::default() };
    let messages = log(&exchange());
    for dialect in dialect::all() {
        let rendered = dialect.render(messages.clone(), &options);
        assert_eq!(violations(dialect, &rendered.messages), []);
        if !dialect.is_export_only() {
            let parsed = dialect.parse(rendered.system, rendered.messages);
            assert_eq!(parsed.dropped, [], "{dialect:?}");
        }
    }
}

#[test]
fn only_the_first_of_very_many_violations_are_returned() {
    let parts = json!(vec![0; 50_000]);
    let calls: Vec<_> = (0..50_000).map(|at| call(&at.to_string())).collect();
    let results: Vec<_> = (0..50_000).map(|at| result(&at.to_string())).collect();
    let transcripts = [
        vec![json!(0); 50_000],
        vec![json!({"role": "user", "content": parts, "parts": parts})],
        vec![json!({"role": "assistant", "content": "x", "tool_calls": calls})],
        vec![json!({"role": "tool", "content": "x", "tool_responses": results})],
    ];
    for dialect in dialect::all() {
        for transcript in &transcripts {
            let found = dialect.validate(transcript);
            assert!(found.len() <= 2_000, "{dialect:?}: {}", found.len());
            assert!(found.is_sorted_by_key(|violation| violation.index), "{dialect:?}");
        }
        assert!(!dialect.validate(&transcripts[0]).is_empty(), "{dialect:?}");
    }
}
