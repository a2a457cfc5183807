use serde_json::Value;

/// The updates of an answer, with the pieces of each text put together.
///
/// An agent sends a text in many pieces, and each would be stored as a part of its own.
#[derive(Debug, Default)]
pub(super) struct Updates(Vec<Value>);

impl Updates {
    /// Adds the next update, if it is one that is stored.
    pub(super) fn push(&mut self, mut update: Value) {
        if !is_said(&update) {
            return;
        }
        // What an agent reports of a call while it speaks does not divide what it says.
        let last = self.0.iter_mut().rev().find(|update| !is_progress(update));
        if let (Some(last), Some(text)) = (last, text_of(&update))
            && is_continued(last, &update)
            && let Value::String(so_far) = &mut last["content"]["text"]
        {
            so_far.push_str(text);
            return;
        }
        // Some agents begin a call with an update of it.
        if update["sessionUpdate"] == "tool_call_update"
            && update["title"].is_string()
            && !self.0.iter().any(|begun| begun["toolCallId"] == update["toolCallId"])
        {
            update["sessionUpdate"] = "tool_call".into();
        }
        self.0.push(update);
    }

    pub(super) fn as_slice(&self) -> &[Value] {
        &self.0
    }

    pub(super) fn into_vec(self) -> Vec<Value> {
        self.0
    }
}

/// Returns whether an update is part of an answer. Others tell of the session: its mode, its commands, its size.
///
/// What the user says is stored when it is prompted; some agents repeat it.
pub(super) fn is_said(update: &Value) -> bool {
    matches!(
        update["sessionUpdate"].as_str(),
        Some(
            "agent_message_chunk"
                | "agent_thought_chunk"
                | "tool_call"
                | "tool_call_update"
                | "plan"
        )
    )
}

/// Returns whether an update reports of a call that has not ended.
fn is_progress(update: &Value) -> bool {
    update["sessionUpdate"] == "tool_call_update"
        && !matches!(update["status"].as_str(), Some("completed" | "failed"))
}

/// Returns the text of a piece of a text that has nothing else.
fn text_of(update: &Value) -> Option<&str> {
    let content = update["content"].as_object()?;
    let is_plain = content.len() == 2 && content.get("type")? == "text";
    let is_chunk = matches!(
        update["sessionUpdate"].as_str(),
        Some("agent_message_chunk" | "agent_thought_chunk")
    );
    content.get("text")?.as_str().filter(|_| is_plain && is_chunk)
}

/// Returns whether a piece of a text differs from the one before it in its text alone.
fn is_continued(last: &Value, next: &Value) -> bool {
    let others = |update: &Value| {
        let mut others = update.as_object().cloned().unwrap_or_default();
        others.shift_remove("content");
        others
    };
    text_of(last).is_some() && others(last) == others(next)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn chunk(kind: &str, text: &str, id: Option<&str>) -> Value {
        let mut update = json!({"sessionUpdate": kind, "content": {"type": "text", "text": text}});
        if let Some(id) = id {
            update["messageId"] = id.into();
        }
        update
    }

    #[test]
    fn pieces_of_one_text_are_put_together_and_others_are_not() {
        let said = |text: &str| chunk("agent_message_chunk", text, None);
        let thought = |text: &str| chunk("agent_thought_chunk", text, None);
        let of = |id: &str| chunk("agent_message_chunk", "x", Some(id));
        let call = json!({"sessionUpdate": "tool_call", "toolCallId": "c", "title": "f"});
        let image = json!({"sessionUpdate": "agent_message_chunk",
            "content": {"type": "image", "data": "", "mimeType": "image/png"}});
        let noted = json!({"sessionUpdate": "agent_message_chunk",
            "content": {"type": "text", "text": "x", "annotations": {}}});
        let mut updates = Updates::default();
        let all = [
            thought("a"),
            thought("b"),
            said("c"),
            said("d"),
            call.clone(),
            said("e"),
            image.clone(),
            noted.clone(),
            said("f"),
            of("1"),
            of("1"),
            of("2"),
            chunk("user_message_chunk", "x", None),
            json!({"sessionUpdate": "usage_update", "used": 1, "size": 2}),
            json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "in_progress"}),
            of("2"),
        ];
        for update in all {
            updates.push(update);
        }
        let of_one = chunk("agent_message_chunk", "xx", Some("1"));
        let of_two = chunk("agent_message_chunk", "xx", Some("2"));
        let progress = json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "status": "in_progress"});
        let expected = [
            thought("ab"),
            said("cd"),
            call,
            said("e"),
            image,
            noted,
            said("f"),
            of_one,
            of_two,
            progress,
        ];
        assert_eq!(updates.into_vec(), expected);
        assert_eq!(Updates::default().into_vec(), [Value::Null; 0]);
    }

    #[test]
    fn a_call_may_begin_with_an_update_of_it() {
        let update = json!({"sessionUpdate": "tool_call_update", "toolCallId": "c", "title": "f"});
        let mut updates = Updates::default();
        updates.push(update.clone());
        updates.push(update);
        let kinds = updates.as_slice().iter().map(|update| update["sessionUpdate"].clone());
        assert_eq!(kinds.collect::<Vec<_>>(), ["tool_call", "tool_call_update"]);
    }
}
