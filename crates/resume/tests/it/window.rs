use resume::window::{newest, newest_indices};
use serde_json::{Value, json};

use crate::transcript::log;

fn said(text: &str) -> Value {
    json!({"role": "user", "name": "u", "content": text})
}

fn calls(ids: &[&str]) -> Value {
    let calls: Vec<_> = ids.iter().map(|id| json!({"id": id})).collect();
    json!({"role": "assistant", "name": "a", "tool_calls": calls})
}

fn result(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "r"})
}

fn system() -> Value {
    json!({"role": "system", "content": "s"})
}

fn kept(messages: &[Value], size: usize) -> Vec<usize> {
    newest_indices(&log(messages), size)
}

#[test]
fn the_newest_messages_are_kept_in_order() {
    let chat = [said("a"), said("b"), said("c")];
    assert_eq!(kept(&chat, 2), [1, 2]);
    assert_eq!(kept(&chat, 3), [0, 1, 2]);
    assert_eq!(kept(&chat, 99), [0, 1, 2]);
    let messages = newest(log(&chat), 2);
    assert_eq!(messages, log(&chat)[1..]);
}

#[test]
fn a_window_of_size_zero_is_empty() {
    assert!(kept(&[system(), said("a")], 0).is_empty());
    assert!(kept(&[], 5).is_empty());
}

#[test]
fn instructions_keep_their_positions_and_count() {
    let developer = json!({"role": "developer", "content": "d"});
    let chat = [system(), said("a"), said("b"), developer, said("c")];
    assert_eq!(kept(&chat, 3), [0, 3, 4]);
    assert_eq!(kept(&chat, 2), [0, 3]);
    assert_eq!(kept(&chat, 1), [3]);
}

#[test]
fn a_call_and_its_results_are_all_in_the_window_or_none() {
    let chat = [said("a"), calls(&["x", "y"]), result("y"), result("x"), said("b")];
    assert_eq!(kept(&chat, 4), [1, 2, 3, 4]);
    for size in 1..4 {
        assert_eq!(kept(&chat, size), [4], "{size}");
    }
    assert!(kept(&chat[..4], 2).is_empty());
}

#[test]
fn one_message_with_several_results_is_one_message() {
    let responses = json!({
        "role": "tool", "name": "_Group_Tool_Executor", "content": "r\nr",
        "tool_responses": [{"tool_call_id": "x"}, {"tool_call_id": "y"}],
    });
    let chat = [said("a"), calls(&["x", "y"]), responses, said("b")];
    assert_eq!(kept(&chat, 3), [1, 2, 3]);
    assert_eq!(kept(&chat, 2), [3]);
}

#[test]
fn messages_between_a_call_and_its_result_stay_with_them() {
    let chat = [calls(&["x"]), said("a"), system(), result("x"), said("b")];
    assert_eq!(kept(&chat, 5), [0, 1, 2, 3, 4]);
    assert_eq!(kept(&chat, 4), [2, 4]);
}

#[test]
fn a_result_of_a_repeated_id_belongs_to_the_nearest_earlier_call() {
    let chat = [calls(&["x"]), result("x"), calls(&["x"]), result("x")];
    assert_eq!(kept(&chat, 3), [2, 3]);
}

#[test]
fn calls_without_ids_are_matched_by_function() {
    let call = json!({"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}});
    let chat = [call, json!({"role": "function", "name": "f", "content": "r"}), said("b")];
    assert_eq!(kept(&chat, 2), [2]);
    assert_eq!(kept(&chat, 3), [0, 1, 2]);
}

#[test]
fn results_without_calls_and_calls_without_results_count_alone() {
    let chat = [result("q"), calls(&["x"]), said("b")];
    assert_eq!(kept(&chat, 2), [1, 2]);
    assert_eq!(kept(&chat[..1], 1), [0]);
}
