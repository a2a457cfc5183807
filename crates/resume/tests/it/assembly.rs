//! Messages that arrive in chunks.

use proptest::prelude::*;
use proptest::sample::Index;
use resume::assembly::{self, Assembly, AssemblyError, ChunkOutcome, Stream};
use resume::dialect::{self, Acp, Dialect, UiMessage};
use resume::{Options, UnsettledPolicy};
use serde_json::{Value, json};

use crate::losses::transcript;
use crate::transcript::{log, violations};

/// A complete action of an agent.
#[derive(Debug, Clone)]
enum AgentAction {
    Say(String),
    Think(String),
    Call(String),
}

fn action() -> impl Strategy<Value = AgentAction> {
    let text = || "[a-zé ]{1,12}";
    prop_oneof![
        3 => text().prop_map(AgentAction::Say),
        1 => text().prop_map(AgentAction::Think),
        2 => text().prop_map(AgentAction::Call),
    ]
}

/// Creates the chunks of an action, given its number.
type Tell = fn(usize, &AgentAction, &[Index]) -> Vec<Value>;

/// Cuts a text into pieces at the positions in `cuts`.
fn pieces(text: &str, cuts: &[Index]) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut places: Vec<_> = cuts.iter().map(|cut| cut.index(chars.len() + 1)).collect();
    places.extend([0, chars.len()]);
    places.sort_unstable();
    places.windows(2).map(|ends| chars[ends[0]..ends[1]].iter().collect()).collect()
}

/// Creates the chunks of an action in the stream of the AI SDK.
fn sdk_chunks(number: usize, action: &AgentAction, cuts: &[Index]) -> Vec<Value> {
    let (kind, text) = match action {
        AgentAction::Say(text) => ("text", text),
        AgentAction::Think(text) => ("reasoning", text),
        AgentAction::Call(text) => {
            let (id, input) = (format!("c{number}"), json!({"q": text}));
            let start = json!({"type": "tool-input-start", "toolCallId": id, "toolName": "f"});
            let delta = |piece| json!({"type": "tool-input-delta", "toolCallId": id, "inputTextDelta": piece});
            let deltas = pieces(&input.to_string(), cuts).into_iter().map(delta);
            let available = json!({"type": "tool-input-available", "toolCallId": id, "toolName": "f", "input": input});
            let output = json!({"type": "tool-output-available", "toolCallId": id, "output": text});
            return [start].into_iter().chain(deltas).chain([available, output]).collect();
        }
    };
    // The same id in every step, as some providers have it.
    let start = json!({"type": format!("{kind}-start"), "id": "0"});
    let delta = |piece| json!({"type": format!("{kind}-delta"), "id": "0", "delta": piece});
    let deltas = pieces(text, cuts).into_iter().map(delta);
    let end = json!({"type": format!("{kind}-end"), "id": "0"});
    [start].into_iter().chain(deltas).chain([end]).collect()
}

/// Creates the updates of an action in a session of ACP.
fn acp_updates(number: usize, action: &AgentAction, cuts: &[Index]) -> Vec<Value> {
    let (kind, text) = match action {
        AgentAction::Say(text) => ("agent_message_chunk", text),
        AgentAction::Think(text) => ("agent_thought_chunk", text),
        AgentAction::Call(text) => {
            let id = format!("c{number}");
            let update = |status: &str| json!({"sessionUpdate": "tool_call_update", "toolCallId": id, "status": status, "rawOutput": text});
            let call = json!({"sessionUpdate": "tool_call", "toolCallId": id, "title": "f", "rawInput": {"q": text}});
            return vec![call, update("in_progress"), update("completed"), update("in_progress")];
        }
    };
    let chunk = |piece| json!({"sessionUpdate": kind, "content": {"type": "text", "text": piece}});
    pieces(text, cuts).into_iter().map(chunk).collect()
}

/// Assembles a stream whose chunks arrive in a given order, some of them repeatedly.
fn assembled(stream: Stream, chunks: &[Value], order: &[Index]) -> Vec<Value> {
    let mut assembly = Assembly::new(stream, "s");
    let some = order.iter().map(|index| index.index(chunks.len()));
    for at in some.chain(0..chunks.len()) {
        assert!(assembly.push(at as u64, chunks[at].clone()).is_ok());
    }
    assert_eq!(assembly.position(), chunks.len() as u64);
    assembly.messages()
}

proptest! {
    #[test]
    fn order_cuts_and_repetition_do_not_change_the_message(
        actions in prop::collection::vec(action(), 1..6),
        cuts in prop::collection::vec(any::<Index>(), 0..5),
        order in prop::collection::vec(any::<Index>(), 0..40),
    ) {
        for (stream, tell) in [(Stream::UiMessage, sdk_chunks as Tell), (Stream::Acp, acp_updates)] {
            let chunks = |cuts: &[Index]| -> Vec<Value> {
                actions.iter().enumerate().flat_map(|(number, action)| tell(number, action, cuts)).collect()
            };
            let whole = assembled(stream, &chunks(&[]), &[]);
            prop_assert_eq!(whole.len(), 1);
            prop_assert_eq!(UiMessage.validate(&whole), []);
            prop_assert_eq!(assembled(stream, &chunks(&cuts), &order), whole);
        }
    }

    #[test]
    fn a_message_is_replayed_as_chunks(
        actions in prop::collection::vec(action(), 1..6),
    ) {
        let chunks = actions.iter().enumerate();
        let chunks: Vec<_> = chunks.flat_map(|(number, action)| sdk_chunks(number, action, &[])).collect();
        let whole = assembled(Stream::UiMessage, &chunks, &[]);
        let replayed = assembly::chunks_of(whole[0].clone());
        prop_assert_eq!(assembled(Stream::UiMessage, &replayed, &[]), whole);
    }

    #[test]
    fn a_replayed_session_is_assembled_as_it_is_parsed(chat in transcript()) {
        let options = Options { unsettled: Some(UnsettledPolicy::Settle), ..Options::default() };
        let updates = Acp.render(log(&chat), &options).messages;
        let messages = assembled(Stream::Acp, &updates, &[]);
        prop_assert_eq!(violations(&UiMessage, &messages), []);
        let bodies = |parsed: dialect::Parsed| {
            let all = parsed.messages.into_iter().filter(|message| message.body.role == "user");
            all.map(|message| (message.event_id, message.body.content)).collect::<Vec<_>>()
        };
        let read = Acp.parse(Vec::new(), updates);
        prop_assert_eq!(bodies(UiMessage.parse(Vec::new(), messages)), bodies(read));
    }
}

fn parts(stream: Stream, chunks: Value) -> Value {
    let Value::Array(chunks) = chunks else { panic!("chunks are a list") };
    let mut messages = assembled(stream, &chunks, &[]);
    messages.pop().map_or(Value::Null, |mut message| message["parts"].take())
}

fn text(id: &str, delta: &str) -> Value {
    json!({"type": "text-delta", "id": id, "delta": delta})
}

#[test]
fn a_text_after_a_tool_part_is_a_separate_part() {
    let call =
        json!({"type": "tool-input-available", "toolCallId": "c", "toolName": "f", "input": {}});
    let parts =
        parts(Stream::UiMessage, json!([text("t", "a"), call, text("t", "b"), text("t", "c")]));
    let call =
        json!({"type": "tool-f", "toolCallId": "c", "state": "input-available", "input": {}});
    let said = |text: &str| json!({"type": "text", "text": text});
    assert_eq!(parts, json!([said("a"), call, said("bc")]));
}

/// The AI SDK puts streams of several models into one message, so that a text may go on behind a call.
#[test]
fn a_text_goes_on_until_it_ends() {
    for kind in ["text", "reasoning"] {
        let chunk = |event: &str| json!({"type": format!("{kind}-{event}"), "id": "t"});
        let said =
            |delta: &str| json!({"type": format!("{kind}-delta"), "id": "t", "delta": delta});
        let call = json!({"type": "tool-input-available", "toolCallId": "c", "toolName": "f", "input": {}});
        let output = json!({"type": "tool-output-available", "toolCallId": "c", "output": 1});
        let chunks =
            json!([chunk("start"), said("a"), call, said("b"), output, said("c"), chunk("end")]);
        let found = parts(Stream::UiMessage, chunks);
        assert_eq!(found[0], json!({"type": kind, "text": "abc"}));
        assert_eq!(found.as_array().unwrap().len(), 2);
        // A later one of the same id is another one.
        let again = json!([chunk("start"), said("a"), chunk("end"), chunk("start"), said("b")]);
        assert_eq!(parts(Stream::UiMessage, again).as_array().unwrap().len(), 2);
    }
}

#[test]
fn late_chunks_change_nothing() {
    let end = json!({"type": "text-end", "id": "t"});
    let ended = parts(Stream::UiMessage, json!([text("t", "a"), end, text("t", "b")]));
    assert_eq!(ended, json!([{"type": "text", "text": "a"}]));
    let call = |kind: &str, field: &str, value: Value| json!({"type": kind, "toolCallId": "c", "toolName": "f", field: value});
    let late = parts(
        Stream::UiMessage,
        json!([
            call("tool-input-start", "dynamic", json!(true)),
            call("tool-output-available", "output", json!(1)),
            call("tool-input-delta", "inputTextDelta", json!("{}")),
            call("tool-input-available", "input", json!({"a": 1})),
            call("tool-output-error", "errorText", json!("no")),
        ]),
    );
    let done = json!({
        "type": "dynamic-tool", "toolName": "f", "toolCallId": "c", "state": "output-available",
        "input": null, "output": 1,
    });
    assert_eq!(late, json!([done]));
}

#[test]
fn a_later_output_replaces_a_preliminary_one() {
    let output = |value: i32, preliminary: bool| {
        json!({
            "type": "tool-output-available", "toolCallId": "c", "toolName": "f", "output": value,
            "preliminary": preliminary,
        })
    };
    let parts =
        parts(Stream::UiMessage, json!([output(1, true), output(2, false), output(3, false)]));
    assert_eq!(parts[0]["output"], 2);
    assert_eq!(parts[0].get("preliminary"), None);
}

#[test]
fn an_approval_is_requested_and_denied() {
    let chunk =
        |kind: &str| json!({"type": kind, "toolCallId": "c", "toolName": "f", "approvalId": "p"});
    let asked = json!([chunk("tool-approval-request")]);
    assert_eq!(parts(Stream::UiMessage, asked)[0]["state"], "approval-requested");
    let answer = json!({"type": "tool-approval-response", "approvalId": "p", "approved": false});
    let denied = json!([chunk("tool-approval-request"), answer, chunk("tool-output-denied")]);
    let part = &parts(Stream::UiMessage, denied)[0];
    assert_eq!(
        (&part["state"], &part["approval"]),
        (&json!("output-denied"), &json!({"id": "p", "approved": false}))
    );
}

#[test]
fn every_kind_of_part_is_replayed_as_chunks() {
    // The tests of the renderings compare them with the SDK itself.
    let streams = include_str!("../../../../fixtures/streams/ui-message.jsonl");
    for line in streams.lines() {
        let chunks: Vec<Value> = serde_json::from_str(line).unwrap();
        let whole = assembled(Stream::UiMessage, &chunks, &[]);
        let replayed = assembly::chunks_of(whole[0].clone());
        assert_eq!(assembled(Stream::UiMessage, &replayed, &[]), whole);
    }
}

#[test]
fn a_stream_adds_to_an_earlier_message() {
    let call = |id: &str| json!({"type": "tool-input-available", "toolCallId": id, "toolName": "f", "input": {}});
    let output =
        |id: &str| json!({"type": "tool-output-available", "toolCallId": id, "output": id});
    let first = [json!({"type": "start", "messageId": "m"}), call("a"), call("b"), output("b")];
    let message = &assembled(Stream::UiMessage, &first, &[])[0];
    let added = |chunks: &[Value]| {
        let mut assembly = Assembly::continuing("s", message);
        let mut results = Vec::new();
        for (position, chunk) in (0..).zip(chunks) {
            results.push(assembly.push(position, chunk.clone()).is_ok());
        }
        assert!(assembly.continues());
        (assembly.ended_calls(), assembly.messages(), results)
    };
    let (ended, messages, results) = added(&[output("a"), output("c"), json!({"type": "finish"})]);
    assert_eq!(results, [true, false, true], "no call is c");
    assert_eq!((ended[0]["output"].as_str(), ended.len(), messages.len()), (Some("a"), 1, 0));
    // A step that is begun again takes nothing of the earlier message.
    let (step, reset) = (json!({"type": "start-step"}), json!({"type": "reset-step"}));
    for before in [vec![], vec![step]] {
        let chunks =
            [before.clone(), vec![text("t", "no"), reset.clone(), text("u", "yes"), output("a")]];
        let (ended, messages, _) = added(&chunks.concat());
        assert_eq!((ended.len(), &messages[0]["id"]), (1, &json!("m")));
        let parts = messages[0]["parts"].as_array().unwrap();
        assert_eq!((parts.len(), &parts[before.len()]["text"]), (before.len() + 1, &json!("yes")));
    }
}

#[test]
fn other_fields_of_a_call_stay_in_its_part() {
    let chunk = |kind: &str, besides: Value| {
        let mut chunk = json!({"type": kind, "toolCallId": "c", "toolName": "f"});
        chunk.as_object_mut().unwrap().extend(besides.as_object().unwrap().clone());
        chunk
    };
    let chunks = json!([
        chunk("tool-input-start", json!({"providerExecuted": true, "title": "Find"})),
        chunk(
            "tool-input-available",
            json!({"input": {}, "providerMetadata": {"g": {"s": "abc"}}})
        ),
        chunk(
            "tool-output-available",
            json!({"output": 1, "providerMetadata": {"g": {"s": "def"}}})
        ),
        chunk("tool-output-available", json!({"output": 2, "title": "late"})),
    ]);
    let part = json!({
        "type": "tool-f", "toolCallId": "c", "state": "output-available", "input": {}, "output": 1,
        "title": "Find", "providerExecuted": true,
        "callProviderMetadata": {"g": {"s": "abc"}}, "resultProviderMetadata": {"g": {"s": "def"}},
    });
    assert_eq!(parts(Stream::UiMessage, chunks), json!([part]));
}

#[test]
fn updates_of_a_call_hold_only_changed_fields() {
    let update = |fields: Value| {
        let mut update = json!({"sessionUpdate": "tool_call_update", "toolCallId": "c"});
        update.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        update
    };
    let diff = json!({"type": "diff", "path": "a.txt", "newText": "b"});
    let chunks = json!([
        {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Edit a.txt"},
        {"sessionUpdate": "usage_update", "used": 1, "size": 2},
        update(json!({"rawInput": {"path": "a.txt"}, "name": "edit"})),
        update(json!({"content": [diff], "rawOutput": null})),
        update(json!({"status": "completed", "content": null})),
    ]);
    let part = json!({
        "type": "dynamic-tool", "toolName": "edit", "toolCallId": "c", "state": "output-available",
        "input": {"path": "a.txt"}, "output": [diff],
    });
    assert_eq!(parts(Stream::Acp, chunks.clone()), json!([part]));

    let updates: Vec<Value> = chunks.as_array().unwrap().clone();
    assert_eq!(violations(&Acp, &updates), []);
    let parsed = Acp.parse(Vec::new(), updates);
    let call = &parsed.messages[0].body.extra["tool_calls"][0]["function"];
    assert_eq!(call, &json!({"name": "edit", "arguments": "{\"path\":\"a.txt\"}"}));
    assert_eq!(parsed.messages[1].body.content, json!([diff]));
}

#[test]
fn a_long_stream_is_assembled() {
    // Each looked for among all others, these would take minutes.
    const MANY: usize = 40_000;
    let calls = (0..MANY).flat_map(|n| {
        let id = format!("c{n}");
        let start = json!({"type": "tool-input-start", "toolCallId": id, "toolName": "f"});
        let delta = json!({"type": "text-delta", "id": "t", "delta": "x"});
        [start, delta, json!({"type": "data-x", "id": n, "data": 1})]
    });
    let input = (0..MANY).map(
        |_| json!({"type": "tool-input-delta", "toolCallId": "c0", "inputTextDelta": "[1,2]"}),
    );
    let chunks = calls.chain(input);
    let mut assembly = Assembly::new(Stream::UiMessage, "s");
    for (position, chunk) in (0..).zip(chunks) {
        assembly.push(position, chunk).unwrap();
    }
    assert_eq!(assembly.messages()[0]["parts"].as_array().unwrap().len(), 3 * MANY);

    let mut assembly = Assembly::new(Stream::Acp, "s");
    for n in 0..MANY {
        let call =
            json!({"sessionUpdate": "tool_call", "toolCallId": format!("c{n}"), "title": "f"});
        let said = json!({
            "sessionUpdate": "user_message_chunk", "messageId": format!("m{n}"),
            "content": {"type": "text", "text": "x"},
        });
        for (at, chunk) in [call, said].into_iter().enumerate() {
            assembly.push((2 * n + at) as u64, chunk).unwrap();
        }
    }
    assert_eq!(assembly.messages().len(), 2 * MANY);
}

#[test]
fn a_call_known_only_at_its_end_has_a_part() {
    let shown = json!([{"type": "content", "content": {"type": "text", "text": "done"}}]);
    let update = json!({
        "sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "completed", "content": shown,
    });
    let part = json!({
        "type": "dynamic-tool", "toolName": "c", "toolCallId": "c", "state": "output-available",
        "input": null, "output": "done",
    });
    assert_eq!(parts(Stream::Acp, json!([update])), json!([part]));
}

#[test]
fn a_message_has_its_own_id_or_one_of_its_stream() {
    let mut assembly = Assembly::new(Stream::UiMessage, "turn_7");
    assert_eq!(assembly.push(0, text("t", "a")), Ok(ChunkOutcome::Applied));
    assert_eq!(assembly.messages()[0]["id"], "turn_7_0");
    let start = json!({"type": "start", "messageId": "m1", "messageMetadata": {"name": "planner"}});
    assert_eq!(assembly.push(1, start), Ok(ChunkOutcome::Applied));
    let message = &assembly.messages()[0];
    assert_eq!((&message["id"], &message["metadata"]["name"]), (&json!("m1"), &json!("planner")));
}

#[test]
fn a_step_is_reset_and_data_is_replaced() {
    let (start, reset) = (json!({"type": "start-step"}), json!({"type": "reset-step"}));
    let data = |value: i32| json!({"type": "data-progress", "id": "d", "data": value});
    let fleeting = json!({"type": "data-progress", "id": "e", "data": 0, "transient": true});
    let chunks = json!([data(1), fleeting, start, text("t", "a"), reset, text("t", "b"), data(2)]);
    let kept = json!([data(2), {"type": "step-start"}, {"type": "text", "text": "b"}]);
    assert_eq!(parts(Stream::UiMessage, chunks), kept);
}

#[test]
fn early_chunks_wait_and_invalid_ones_are_skipped() {
    let mut assembly = Assembly::new(Stream::UiMessage, "s");
    assert_eq!(assembly.push(2, text("t", "c")), Ok(ChunkOutcome::Waiting));
    assert_eq!(assembly.push(2, text("t", "c")), Ok(ChunkOutcome::Duplicate));
    assert_eq!(assembly.push(0, text("t", "a")), Ok(ChunkOutcome::Applied));
    assert_eq!(assembly.push(0, text("t", "a")), Ok(ChunkOutcome::Duplicate));
    let unknown = assembly.push(1, json!({"type": "riddle"}));
    assert!(matches!(unknown, Err(AssemblyError::InvalidChunk { position: 1, .. })));
    assert_eq!(assembly.messages()[0]["parts"], json!([{"type": "text", "text": "ac"}]));
    let early = assembly.push(10_000, text("t", "z"));
    assert!(matches!(early, Err(AssemblyError::TooFarAhead { position: 10_000, next: 3, .. })));
}
