use resume::dialect::{self, Dialect, OpenAiCompatible};
use resume::{Options, Repair};
use serde_json::json;

use super::{call, caller, dropped, render, repaired, result, said};
use crate::transcript::log;

#[test]
fn one_message_with_several_results_becomes_several() {
    let responses = json!({
        "role": "tool", "name": "_Group_Tool_Executor", "content": "1\n2",
        "tool_responses": [
            {"tool_call_id": "a", "role": "tool", "content": "1"},
            {"tool_call_id": "b", "role": "tool", "content": {"n": 2}},
        ],
    });
    let rendered = render(&[caller(None::<&str>, &["a", "b"]), responses]);
    assert_eq!(rendered.messages[1], json!({"role": "tool", "tool_call_id": "a", "content": "1"}));
    assert_eq!(rendered.messages[2]["content"], r#"{"n":2}"#);
    assert_eq!(dropped(&rendered), []);
    assert_eq!(repaired(&rendered), [(1, "content_serialised")]);
}

/// AG2 names the agent that ran the calls, which is mostly another one than the one that made them.
#[test]
fn the_name_of_an_executor_is_reported_unless_its_call_says_it() {
    let response = json!([{"tool_call_id": "a", "role": "tool", "content": "1"}]);
    let named = |name: &str| {
        let results = json!({"role": "tool", "name": name, "tool_responses": response});
        repaired(&render(&[caller(None::<&str>, &["a"]), results]))
    };
    assert_eq!(named("proxy"), [(1, "field_removed")]);
    let function = caller(None::<&str>, &["a"])["tool_calls"][0]["function"]["name"].clone();
    assert_eq!(named(function.as_str().unwrap_or_default()), []);
}

#[test]
fn unless_all_calls_are_answered_they_are_removed_with_their_results() {
    let rendered = render(&[caller("let me see", &["a", "b"]), result("a"), said()]);
    let text = json!({"role": "assistant", "content": "let me see"});
    assert_eq!(rendered.messages, [text, said()]);
    assert_eq!(repaired(&rendered), [(0, "unanswered_calls_removed")]);
    assert_eq!(dropped(&rendered), [(1, "call_removed")]);
}

#[test]
fn a_message_with_only_calls_is_dropped_with_them() {
    for content in [json!(null), json!(""), json!([])] {
        let rendered = render(&[said(), caller(content, &["a"])]);
        assert_eq!(rendered.messages, [said()]);
        assert_eq!(dropped(&rendered), [(1, "unanswered_calls")]);
    }
}

#[test]
fn a_result_after_other_messages_is_moved_to_its_call() {
    let called = caller("x", &["a", "b"]);
    let rendered = render(&[called.clone(), result("b"), said(), said(), result("a"), said()]);
    assert_eq!(rendered.messages, [called, result("b"), result("a"), said(), said(), said()]);
    assert_eq!((dropped(&rendered), repaired(&rendered)), (vec![], vec![(4, "result_moved")]));
}

#[test]
fn exchanges_that_overlap_are_untangled() {
    let [first, second] = [caller(None::<&str>, &["a"]), caller(None::<&str>, &["b"])];
    let log = [first.clone(), said(), second.clone(), said(), result("b"), result("a"), said()];
    let rendered = render(&log);
    let expected = [first, result("a"), said(), second, result("b"), said(), said()];
    assert_eq!(rendered.messages, expected);
    assert_eq!(dropped(&rendered), []);
}

#[test]
fn a_result_that_comes_far_too_late_is_replaced_by_a_note() {
    let long = json!({"role": "user", "content": "x".repeat(2 << 20)});
    let rendered = render(&[caller(None::<&str>, &["a"]), long, result("a")]);
    let note = "The call was answered later in the conversation.";
    assert_eq!(rendered.messages[1]["content"], note);
    assert_eq!(dropped(&rendered), [(2, "late_result")]);
    assert_eq!(repaired(&rendered), [(0, "result_not_moved")]);
}

#[test]
fn a_late_result_of_a_removed_call_is_dropped_with_it() {
    let rendered = render(&[caller("x", &["a", "b"]), said(), result("a")]);
    assert_eq!(rendered.messages.len(), 2);
    assert_eq!(dropped(&rendered), [(2, "call_removed")]);
}

#[test]
fn a_dropped_message_may_be_between_a_call_and_its_result() {
    let thought = json!({"role": "Orchestrator (thought)", "content": "hm"});
    let rendered = render(&[caller(None::<&str>, &["a"]), thought, result("a")]);
    assert_eq!(rendered.messages.len(), 2);
    assert_eq!(dropped(&rendered), [(1, "unsupported_role")]);
}

#[test]
fn results_without_a_call_and_second_results_are_dropped() {
    let no_id = json!({"role": "tool", "content": "x"});
    let rendered =
        render(&[result("q"), caller(None::<&str>, &["a"]), result("a"), result("a"), no_id]);
    assert_eq!(rendered.messages.len(), 2);
    let expected = [(0, "orphan_result"), (3, "duplicate_result"), (4, "missing_call_id")];
    assert_eq!(dropped(&rendered), expected);
}

#[test]
fn a_digest_that_replaces_an_id_is_used_once() {
    let long = format!("call_{}", "0".repeat(35));
    let again = [caller(None::<&str>, &[&long]), result(&long)];
    let suffixed = format!("{long}_2");
    let other = [caller(None::<&str>, &[&suffixed]), result(&suffixed)];
    let chat = log(&[again.clone(), again, other].concat());
    let rendered = OpenAiCompatible.render(chat, &Options::default());
    let mut ids: Vec<_> =
        rendered.messages.iter().filter_map(|message| message["tool_call_id"].as_str()).collect();
    ids.dedup();
    assert_eq!(ids.len(), 3, "{ids:?}");
}

#[test]
fn an_id_that_a_later_message_uses_again_stays_for_openai_and_is_renamed_for_others() {
    let again = [caller(None::<&str>, &["a"]), result("a")];
    let other = [caller(None::<&str>, &["a_2"]), result("a_2")];
    let chat = [again.clone(), other, again.clone(), again].concat();
    let rendered = render(&chat);
    assert_eq!((rendered.messages, rendered.repaired), (chat.clone(), vec![]));
    let rendered = OpenAiCompatible.render(log(&chat), &Options::default());
    let ids: Vec<_> =
        rendered.messages.iter().filter_map(|message| message["tool_call_id"].as_str()).collect();
    assert_eq!(ids, ["a", "a_2", "a_3", "a_4"]);
    assert_eq!(rendered.messages[6]["tool_calls"][0]["id"], "a_4");
    let renamed = rendered.repaired.iter().map(|it| (it.index, &it.repair));
    assert!(renamed.clone().all(|(_, it)| matches!(it, Repair::CallIdRenamed { .. })));
    assert_eq!(renamed.map(|(index, _)| index).collect::<Vec<_>>(), [4, 5, 6, 7]);
}

#[test]
fn calls_of_a_message_that_share_an_id_are_told_apart() {
    let other =
        json!({"id": "a", "type": "function", "function": {"name": "g", "arguments": "{}"}});
    let message = json!({"role": "assistant", "content": null,
        "tool_calls": [call("a"), call("a"), other, call("b")]});
    let mut second = result("a");
    second["content"] = json!("second");
    // The results are matched in order, also when one of them is late.
    let rendered = render(&[message, result("a"), result("b"), said(), second.clone()]);
    let ids: Vec<_> = rendered.messages[0]["tool_calls"]
        .as_array()
        .unwrap()
        .iter()
        .map(|call| (call["id"].as_str().unwrap(), call["function"]["name"].as_str().unwrap()))
        .collect();
    assert_eq!(ids, [("a", "f"), ("a_2", "g"), ("b", "f")]);
    second["tool_call_id"] = json!("a_2");
    assert_eq!(rendered.messages[1..], [result("a"), result("b"), second, said()]);
    assert_eq!(dropped(&rendered), []);
    assert_eq!(rendered.ids.get("a_2").map(String::as_str), Some("a"));
    let repairs: Vec<_> = rendered.repaired.iter().map(|it| it.repair.slug()).collect();
    assert_eq!(repairs, ["call_merged", "call_id_renamed", "result_moved", "call_id_renamed"]);
}

#[test]
fn malformed_calls_are_removed_together() {
    let broken = [
        json!("f()"),
        json!([call("a"), {"id": "b", "type": "function"}]),
        json!([{"id": "a", "type": "retrieval", "retrieval": {}}]),
    ];
    for tool_calls in broken {
        let message = json!({"role": "assistant", "content": "x", "tool_calls": tool_calls});
        let rendered = render(&[message, result("a")]);
        assert_eq!(rendered.messages, [json!({"role": "assistant", "content": "x"})]);
        assert_eq!(repaired(&rendered), [(0, "malformed_calls_removed")]);
        assert_eq!(rendered.dropped.len(), 1);
    }
    let silent = json!({"role": "assistant", "content": null, "tool_calls": "f()"});
    assert_eq!(dropped(&render(&[silent])), [(0, "malformed_calls")]);
}

#[test]
fn responses_that_are_not_a_list_are_removed() {
    let mut answer = result("a");
    answer["tool_responses"] = json!({"tool_call_id": "b"});
    let rendered = render(&[caller(None::<&str>, &["a"]), answer]);
    assert_eq!(rendered.messages[1], result("a"));
    assert_eq!(repaired(&rendered), [(1, "field_removed")]);
}

#[test]
fn ids_that_are_too_long_become_digests_with_their_results() {
    let (fits, long) = ("a".repeat(40), "a".repeat(41));
    let exchange = |id: &str| [caller(None::<&str>, &[id]), result(id)];
    let chat = [exchange(&fits), exchange(&long), exchange(&fits), exchange(&long)].concat();
    for name in ["openai", "ag2-classic", "ag2-classic-manager"] {
        let dialect = dialect::named(name).unwrap();
        let rendered = dialect.render(log(&chat), &Options::default());
        assert_eq!(dialect.validate(&rendered.messages), []);
        let ids = rendered.messages.iter().filter_map(|it| it["tool_calls"][0]["id"].as_str());
        let ids: Vec<_> = ids.collect();
        let is_again_renamed = name != "openai";
        assert_eq!(
            (ids[0], ids[2] == fits, ids[3] == ids[1]),
            (&*fits, !is_again_renamed, !is_again_renamed)
        );
        assert!(ids.iter().all(|id| id.len() <= 40) && ids[1].starts_with("call_"), "{ids:?}");
        let originals = ids.iter().map(|id| rendered.ids.get(*id).map_or(*id, |id| &**id));
        assert_eq!(originals.collect::<Vec<_>>(), [&fits, &long, &fits, &long]);
        let reasons: Vec<_> = repaired(&rendered).into_iter().map(|(_, slug)| slug).collect();
        assert!(
            !reasons.is_empty()
                && reasons
                    .iter()
                    .all(|it| it.starts_with("call_id_") || *it == "null_content_filled"),
            "{reasons:?}"
        );
    }
}

#[test]
fn a_digest_that_is_used_often_stays_short() {
    let id = "a".repeat(41);
    let exchange = || [caller(None::<&str>, &[&id]), result(&id)];
    let chat: Vec<_> = std::iter::repeat_with(exchange).take(101).flatten().collect();
    assert_eq!(render(&chat).messages.len(), 202);
}
