use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use records::MessageEdit;
use resume::Repair;
use resume::dialect::{Ag2, Anthropic, Dialect, Gemini, GeminiApi, GoogleAdk, OpenAi};
use resume::ingest::{self, Check};
use serde_json::{Value, json};

use crate::round_trip::{assert_kept, check_faulty, stored_in};
use crate::transcript::rendered_in;

fn event(id: &str, author: &str, role: &str, parts: &[Value]) -> Value {
    let content = json!({"role": role, "parts": parts});
    json!({"id": id, "author": author, "invocationId": "e-1", "content": content})
}

fn call(id: &str) -> Value {
    json!({"functionCall": {"id": id, "name": "f", "args": {"a": 1}}})
}

fn result(id: &str, response: &Value) -> Value {
    json!({"functionResponse": {"id": id, "name": "f", "response": response}})
}

fn picture() -> Value {
    json!({"inlineData": {"mimeType": "image/png", "data": "-_-_"}})
}

fn linked() -> Value {
    json!({"fileData": {"fileUri": "gs://a/b.pdf", "mimeType": "application/pdf", "displayName": "b"}})
}

#[test]
fn the_order_and_the_fields_of_parts_are_kept() {
    let signed = |part: &Value, signature: &str| {
        let mut part = part.clone();
        part["thoughtSignature"] = json!(signature);
        part
    };
    let text = json!({"text": "Let me see."});
    let thought = json!({"text": "hm", "thought": true});
    let mut bare = call("b");
    bare["functionCall"].as_object_mut().unwrap().remove("args");
    let sound = json!({"inlineData": {"mimeType": "audio/mpeg", "data": "SUQz"}});
    let mut clip = linked();
    clip["videoMetadata"] = json!({"fps": 1.5});
    let code = json!({"executableCode": {"code": "1 + 1", "language": "PYTHON"}});
    let parts = [
        text.clone(),
        signed(&thought, "-_8="),
        signed(&call("a"), "c2ln"),
        json!({"thoughtSignature": "c2ln"}),
        json!({"text": "", "thoughtSignature": "c2ln"}),
        thought,
        bare,
        signed(&text, "c2ln"),
        picture(),
        sound,
        clip,
        json!({"fileData": {"fileUri": "https://example.org/a.png"}}),
        code,
        json!({"text": " "}),
    ];
    let results = [result("a", &json!({"sky": "clear"})), result("b", &json!({"result": null}))];
    assert_kept(
        &GoogleAdk,
        &[
            event("1", "user", "user", &[json!({"text": "hi"}), linked(), picture()]),
            event("2", "guide", "model", &parts),
            event("3", "guide", "user", &results),
        ],
    );
}

#[test]
fn every_response_is_kept() {
    let responses = [
        json!({"result": "done"}),
        json!({"result": 1.5}),
        json!({"result": ["a"]}),
        json!({"result": [{"type": "text", "text": "x"}]}),
        json!({"result": {"sky": "clear"}}),
        json!({"result": {"result": 1}}),
        json!({"result": {"error": "no"}}),
        json!({"error": "no"}),
        json!({"error": {"code": 1}}),
        json!({"error": [{"type": "text"}]}),
        json!({"error": "no", "code": 1}),
        json!({"output": "x"}),
        json!({}),
    ];
    for response in responses {
        let mut with_media = result("b", &response);
        with_media["functionResponse"]["parts"] = json!([picture(), linked()]);
        let mut later = result("c", &response);
        later["functionResponse"]["willContinue"] = json!(true);
        later["functionResponse"]["scheduling"] = json!("SILENT");
        later["thoughtSignature"] = json!("c2ln");
        let calls = ["a", "b", "c"].map(call);
        let results = [result("a", &response), with_media, later];
        let caller = event("1", "guide", "model", &calls);
        assert_kept(&GoogleAdk, &[caller, event("2", "guide", "user", &results)]);
    }
}

#[test]
fn what_media_of_a_response_have_besides_is_kept_or_reported() {
    let of_response = |field: &str, value: Value| {
        let mut part = picture();
        part[field] = value;
        let mut answer = result("a", &json!({"a": 1}));
        answer["functionResponse"]["parts"] = json!([linked(), part]);
        [event("1", "guide", "model", &[call("a")]), event("2", "guide", "user", &[answer])]
    };
    assert_kept(&GoogleAdk, &of_response("mediaProcessing", json!("STATIC")));
    for (field, value) in
        [("mediaProcessing", json!(1)), ("documentMetadata", json!({"startPage": 1}))]
    {
        let rendered = stored_in(&GoogleAdk, &GoogleAdk, &of_response(field, value));
        let slugs: Vec<_> = rendered.repaired.iter().map(|it| it.repair.slug()).collect();
        assert_eq!(slugs, ["provider_fields_removed"], "{field}");
        let media = &rendered.messages[1]["content"]["parts"][0]["functionResponse"]["parts"];
        assert_eq!(*media, json!([linked(), picture()]));
    }
}

#[test]
fn what_only_events_have_is_kept() {
    let actions = json!({"stateDelta": {"a": null}, "artifactDelta": {"f": 1}, "escalate": true});
    let mut changed = json!({"id": "1", "author": "guide", "invocationId": "e-1"});
    changed["actions"] = actions.clone();
    changed["nodeInfo"] = json!({"path": "host@1/guide@1"});
    let mut failed = json!({"id": "2", "author": "user", "invocationId": ""});
    failed["errorCode"] = json!("SAFETY");
    let empty = event("3", "guide", "model", &[]);
    let thought = event("4", "guide", "model", &[json!({"text": "hm", "thought": true})]);
    let mut said = event("5", "guide", "model", &[json!({"text": "Done."}), call("a")]);
    said["actions"] = actions;
    said["longRunningToolIds"] = json!(["a"]);
    said["timestamp"] = json!(1.5);
    said["newInLaterVersions"] = json!({"a": 1});
    let mut answered = event("6", "user", "user", &[result("a", &json!({"result": "ok"}))]);
    answered["content"]["parts"].as_array_mut().unwrap().push(json!({"text": "And now?"}));
    answered["branch"] = json!("host.guide");
    let events = [changed, failed, empty, thought, said, answered];
    assert_kept(&GoogleAdk, &events);
    let others = stored_in(&OpenAi, &GoogleAdk, &events);
    let dropped: Vec<_> = others.dropped.iter().map(|it| (it.index, it.reason.slug())).collect();
    let nothing = (0..3).map(|index| (index, "null_content"));
    assert_eq!(dropped, nothing.chain([(3, "only_reasoning")]).collect::<Vec<_>>());
    let roles: Vec<_> = others.messages.iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["assistant", "tool", "user"]);
    assert!(others.repaired.iter().all(|it| it.repair == Repair::ProviderFieldsRemoved));
}

#[test]
fn speakers_are_authors() {
    let text = [json!({"text": "hi"})];
    let events = [
        event("1", "Bob", "user", &text),
        event("2", "guide", "model", &text),
        event("3", "user", "model", &text),
        event("4", "assistant", "user", &text),
    ];
    assert_kept(&GoogleAdk, &events);
    let strict = stored_in(&Ag2, &GoogleAdk, &events).messages;
    let speakers: Vec<_> = strict.iter().map(|it| (&it["role"], &it["name"])).collect();
    assert_eq!(speakers[0], (&json!("user"), &json!("Bob")));
    assert_eq!(speakers[1], (&json!("assistant"), &json!("guide")));
}

#[test]
fn what_the_library_dumps_without_aliases_is_read() {
    let part = |field: &str, value: Value| {
        let mut part = json!({"text": null, "function_call": null, "thought_signature": null});
        part[field] = value;
        part
    };
    let call = json!({"id": "a", "name": "f", "args": {"snake_case": null}, "will_continue": null});
    let response = json!({"id": "a", "name": "f", "response": {"a_b": null}, "parts": null});
    let state = json!({"a_b": null});
    let mut dumped = vec![
        json!({"invocation_id": "e-1", "id": "1", "author": "guide", "error_code": null,
            "content": {"role": "model", "parts": [part("function_call", call)]},
            "node_info": {"path": "", "output_for": null}, "timestamp": 1.5}),
        json!({"invocation_id": "e-1", "id": "2", "author": "guide",
            "content": {"role": "user", "parts": [part("function_response", response)]},
            "actions": {"state_delta": state, "transfer_to_agent": null}}),
    ];
    GoogleAdk.prepare(&mut dumped);
    assert_kept(&GoogleAdk, &dumped);
    assert_eq!(dumped[0]["nodeInfo"], json!({"path": ""}));
    assert_eq!(
        dumped[0]["content"]["parts"][0]["functionCall"]["args"],
        json!({"snake_case": null})
    );
    assert_eq!(dumped[1]["actions"], json!({"stateDelta": {"a_b": null}}));
}

#[test]
fn data_are_standard_base64_for_others() {
    let events = [event("1", "user", "user", &[picture()])];
    let rendered = stored_in(&Anthropic, &GoogleAdk, &events);
    assert_eq!(rendered.messages[0]["content"][0]["source"]["data"], "+/+/");
}

#[test]
fn an_edit_removes_what_the_event_came_with() {
    let mut said =
        event("1", "guide", "model", &[json!({"text": "a", "thoughtSignature": "c2ln"})]);
    said["avgLogprobs"] = json!(-1.5);
    let mut parsed = GoogleAdk.parse(Vec::new(), vec![said]).messages;
    let edit = MessageEdit { content: Some("edited".into()), ..MessageEdit::default() };
    parsed[0].body = edit.apply(&parsed[0].body);
    let rendered = rendered_in(&GoogleAdk, parsed).messages;
    let content = json!({"role": "model", "parts": [{"text": "edited"}]});
    let expected = json!({"id": "1", "author": "guide", "invocationId": "e-1", "content": content});
    assert_eq!(rendered[0]["content"], expected["content"]);
    assert_eq!(rendered[0]["invocationId"], "e-1");
    assert_eq!(rendered[0].get("avgLogprobs"), None);
}

#[test]
fn partial_events_and_later_results_are_reported() {
    let mut partial = event("1", "guide", "model", &[json!({"text": "It i"})]);
    partial["partial"] = json!(true);
    let parsed = GoogleAdk.parse(Vec::new(), vec![partial]);
    assert_eq!(parsed.dropped[0].reason.slug(), "unsupported_role");
    let pending = json!({"status": "pending"});
    let events = [
        event("1", "guide", "model", &[call("a")]),
        event("2", "guide", "user", &[result("a", &pending)]),
        event("3", "user", "user", &[result("a", &json!({"result": "ok"}))]),
    ];
    // A person has confirmed the call: the library uses the last result.
    assert_kept(&GoogleAdk, &events);
    let others = stored_in(&OpenAi, &GoogleAdk, &events);
    assert_eq!(others.messages.len(), 2);
    assert_eq!(others.messages[1]["content"], "ok");
    assert_eq!(
        (others.dropped[0].index, others.dropped[0].reason.slug()),
        (1, "superseded_result")
    );
    // One that comes far too late does not take its place.
    let long = "x".repeat(2 << 20);
    let [called, first, last] = events;
    let events = [called, first, event("4", "user", "user", &[json!({"text": long})]), last];
    let others = stored_in(&OpenAi, &GoogleAdk, &events);
    assert_eq!(others.messages[1]["content"], r#"{"status":"pending"}"#);
    assert_eq!((others.dropped[0].index, others.dropped[0].reason.slug()), (3, "late_result"));
}

#[test]
fn calls_of_long_running_tools_may_wait() {
    let mut caller = event("1", "guide", "model", &[json!({"text": "Wait."}), call("a")]);
    caller["longRunningToolIds"] = json!(["a"]);
    let user = event("2", "user", "user", &[json!({"text": "hi"})]);
    let events = [caller.clone(), user.clone()];
    let result = event("3", "user", "user", &[result("a", &json!({"result": "ok"}))]);
    assert_kept(&GoogleAdk, &events);
    let noted = ingest::check(&GoogleAdk, &events, Check::Lenient).noted;
    assert_eq!((noted[0].index, noted[0].rule), (0, "missing_result"));
    let others = stored_in(&OpenAi, &GoogleAdk, &events);
    assert_eq!(others.messages[0].get("tool_calls"), None);
    let rendered =
        stored_in(&GoogleAdk, &GoogleAdk, &[caller.clone(), user.clone(), result.clone()]);
    assert_eq!(rendered.messages, [caller.clone(), result, user]);
    caller["content"]["parts"].as_array_mut().unwrap().push(call("b"));
    let rendered = stored_in(&GoogleAdk, &GoogleAdk, &[caller]);
    assert_eq!(rendered.messages[0]["content"]["parts"], json!([{"text": "Wait."}]));
}

#[test]
fn a_tool_may_answer_again() {
    let mut caller = event("1", "guide", "model", &[call("a")]);
    caller["longRunningToolIds"] = json!(["a"]);
    let answer =
        |id: &str, said: &str| event(id, "user", "user", &[result("a", &json!({"result": said}))]);
    let events = [
        caller,
        answer("2", "pending"),
        event("3", "guide", "model", &[json!({"text": "I wait."}), call("b")]),
        event("4", "guide", "user", &[result("b", &json!({}))]),
        answer("5", "done"),
    ];
    assert_kept(&GoogleAdk, &events);
    // So may one that does not run long, after another call.
    let mut plain = events.clone();
    plain[0].as_object_mut().unwrap().shift_remove("longRunningToolIds");
    assert_kept(&GoogleAdk, &plain);
    // Other formats have the last answer.
    let others = stored_in(&OpenAi, &GoogleAdk, &events);
    assert_eq!(others.messages[1]["content"], "done");
    assert_eq!(others.messages[2]["content"], "I wait.");
    let dropped: Vec<_> = others.dropped.iter().map(|it| (it.index, it.reason.slug())).collect();
    assert_eq!(dropped, [(1, "superseded_result")]);
    let moved = others.repaired.iter().filter(|it| it.repair.slug() == "result_moved");
    assert_eq!(moved.map(|it| it.index).collect::<Vec<_>>(), [4]);
}

#[test]
fn a_tool_may_answer_again_beside_another_call() {
    let mut caller = event("1", "guide", "model", &[call("k"), call("l")]);
    caller["longRunningToolIds"] = json!(["l"]);
    let answer = |id: &str, said: &str| result(id, &json!({"status": said}));
    let both = [answer("k", "done"), answer("l", "pending")];
    let mut events = vec![
        caller,
        event("2", "guide", "user", &both),
        event("3", "user", "user", &[answer("l", "approved")]),
    ];
    assert_kept(&GoogleAdk, &events);
    // So may the other call, as one that a person must confirm.
    events[2] = event("3", "user", "user", &[answer("k", "again")]);
    assert_kept(&GoogleAdk, &events);
}

#[test]
fn calls_and_responses_without_ids_are_matched() {
    let named = |field: &str| json!({field: {"name": "f"}});
    let events = [
        event("1", "guide", "model", &[named("functionCall"), named("functionCall")]),
        event("2", "guide", "user", &[named("functionResponse"), named("functionResponse")]),
    ];
    let rendered = stored_in(&GoogleAdk, &GoogleAdk, &events);
    assert_eq!((rendered.dropped, rendered.messages.len()), (vec![], 2));
    let ids = |event: &Value, field: &str| {
        [0, 1].map(|at| event["content"]["parts"][at][field]["id"].clone())
    };
    assert_eq!(
        ids(&rendered.messages[0], "functionCall"),
        ids(&rendered.messages[1], "functionResponse")
    );
}

#[test]
fn what_an_agent_thinks_beside_a_result_stays_its_own() {
    let thought = json!({"text": "hm", "thought": true});
    let [of_none, of_call] = ["none", "a"].map(|id| result(id, &json!({})));
    let without_role = json!({"parts": [of_call, thought]});
    // The first result has no call, and goes with what is kept of its event.
    let of_model = json!({"role": "model", "parts": [of_none, of_call, thought]});
    for content in [without_role, of_model] {
        let answered = json!({"id": "2", "author": "guide", "content": content});
        let events = vec![event("1", "guide", "model", &[call("a")]), answered];
        check_faulty(&GoogleAdk, &GoogleAdk.parse(Vec::new(), events).messages).unwrap();
    }
}

#[test]
fn code_that_gemini_has_run_stays_signed() {
    let code =
        json!({"executableCode": {"language": "PYTHON", "code": "1"}, "thoughtSignature": "c2ln"});
    let output = json!({"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}});
    let answered = json!({"role": "model", "parts": [code, output]});
    let asked = json!({"role": "user", "parts": [{"text": "q"}]});
    let events =
        stored_in(&GoogleAdk, &Gemini { api: GeminiApi::Developer }, &[asked, answered]).messages;
    assert_eq!(events[1]["content"]["parts"], json!([code, output]));
    assert_kept(&GoogleAdk, &events);
}

#[test]
fn only_what_cannot_be_read_is_refused() {
    let refused = [
        json!(1),
        json!({"id": "1"}),
        event("1", "a", "system", &[]),
        json!({"id": "1", "author": "a", "content": "hi"}),
        event("1", "a", "model", &[json!({"functionCall": {"args": {}}})]),
    ];
    for event in refused {
        assert_ne!(
            ingest::check(&GoogleAdk, std::slice::from_ref(&event), Check::Lenient).refused,
            [],
            "{event}"
        );
    }
    let mut odd = event("1", "a", "model", &[call("a"), json!({"text": "x", "new": 1})]);
    odd["timestamp"] = json!("today");
    odd["actions"] = json!({"leap": 1});
    let checked = ingest::check(&GoogleAdk, &[odd.clone(), odd.clone()], Check::Lenient);
    assert_eq!(checked.refused, []);
    let rendered = stored_in(
        &GoogleAdk,
        &GoogleAdk,
        &[odd, event("2", "a", "user", &[result("a", &json!({}))])],
    );
    assert_eq!(rendered.repaired[0].repair, Repair::ProviderFieldsRemoved);
    assert_eq!(rendered.messages[0]["actions"], json!({}));
    assert_eq!(rendered.messages[0].get("timestamp"), None);
}

/// An event of any kind, with faults.
fn faulty() -> impl Strategy<Value = Value> {
    let parts = vec![
        json!({"text": "hi"}),
        json!({"text": ""}),
        json!({"text": 1, "thought": 1}),
        json!({"text": "hm", "thought": true, "thoughtSignature": "?"}),
        json!({"text": "hm", "thought": true}),
        json!({"text": "", "thought": true}),
        json!({"thoughtSignature": "c2ln"}),
        json!({"text": "x", "thoughtSignature": "c2ln", "new": 1}),
        picture(),
        linked(),
        json!({"inlineData": {"mimeType": "image/png", "data": "iV"}}),
        json!({"inlineData": {"data": "iVBO"}, "text": "x"}),
        json!({"fileData": {"fileUri": 1}}),
        json!({"executableCode": {"code": 1}}),
        json!({"codeExecutionResult": {"outcome": "OUTCOME_OK"}}),
        call("a"),
        call("b"),
        json!({"functionCall": {"id": "a", "name": "f", "willContinue": 1}, "thoughtSignature": "?"}),
        json!({"functionCall": {"name": "f", "args": [1]}}),
        json!({"functionCall": 1}),
        result("a", &json!({"result": {"a": 1}})),
        result("b", &json!("x")),
        json!({"functionResponse": {"id": "a", "parts": [picture(), {"inlineData": {"mimeType": "a/b", "data": "?"}}, 1]}}),
        json!({"functionResponse": null}),
        json!("x"),
    ];
    let fields = vec![
        json!({}),
        json!({"actions": {"stateDelta": {"a": 1}}}),
        json!({"actions": {"stateDelta": 1, "new": 1, "artifactDelta": {"a": 1.5}}}),
        json!({"timestamp": "x", "message": "hi", "route": 1}),
        json!({"author": 1}),
        json!({"author": null, "id": 1, "nodeInfo": {"path": 1, "new": 1}}),
        json!({"content": null, "errorCode": "X"}),
        json!({"longRunningToolIds": [1], "usageMetadata": 1, "output": [1]}),
        json!({"partial": true}),
        json!({"longRunningToolIds": ["a"]}),
        json!({"longRunningToolIds": ["a", "b"]}),
    ];
    let role = select(vec![json!("user"), json!("model"), json!(null), json!("x")]);
    let author = select(vec!["user", "guide", "", "assistant"]);
    (select(vec!["1", "2"]), author, role, vec(select(parts), 0..4), select(fields)).prop_map(
        |(id, author, role, parts, fields)| {
            let content = json!({"role": role, "parts": parts});
            let mut event = json!({"id": id, "author": author, "content": content});
            for (field, value) in fields.as_object().into_iter().flatten() {
                event[field] = value.clone();
            }
            event
        },
    )
}

proptest! {
    #[test]
    fn any_events_can_be_stored_and_rendered(events in vec(faulty(), 0..8)) {
        check_faulty(&GoogleAdk, &GoogleAdk.parse(Vec::new(), events).messages)?;
    }
}
