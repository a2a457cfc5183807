use resume::dialect::{Ag2, Dialect};
use resume::{DropReason, Dropped, Options, Repair, Repaired};
use serde_json::json;

use crate::transcript::log;

#[test]
fn calls_are_removed_and_reported_if_the_text_stays() {
    let calls = json!([{"id": "a", "type": "function", "function": {"name": "f"}}]);
    let chat = [
        json!({"role": "assistant", "name": "a", "content": "hm", "tool_calls": calls}),
        json!({"role": "tool", "name": "_Group_Tool_Executor", "content": "1"}),
        json!({"role": "assistant", "name": "a", "content": null, "tool_calls": calls}),
        json!({"role": "assistant", "name": "a", "content": "no calls", "tool_calls": []}),
    ];
    let rendered = Ag2.render(log(&chat), &Options::default());
    let said = |content: &str| json!({"role": "assistant", "name": "a", "content": content});
    assert_eq!(rendered.messages, [said("hm"), said("no calls")]);
    let repair = Repair::UnsupportedCallsRemoved;
    assert_eq!(rendered.repaired, [Repaired { index: 0, sequence: 0, repair }]);
    let drop = |index, reason| Dropped { index, sequence: Some(index as u64), reason };
    let tool = DropReason::UnsupportedRole { role: "tool".to_owned() };
    assert_eq!(rendered.dropped, [drop(1, tool), drop(2, DropReason::NullContent)]);
}
