use std::collections::HashSet;

use serde_json::Value;

/// Finds the call that each response answers, where ids may be absent, and gives ids to the calls
/// that have none.
///
/// A response answers the call with its id, or else the first call of its function, in the turn
/// before, that no response has answered or names.
pub(super) struct Pairing {
    /// The ids that are given anywhere, which no other call may get.
    given: HashSet<String>,
    count: usize,
    /// The calls of the turn before that are not answered.
    open: Vec<Open>,
    is_calling: bool,
    /// The ids of the responses being read.
    answering: HashSet<String>,
}

struct Open {
    id: String,
    is_given: bool,
    function: String,
}

impl Pairing {
    pub(super) fn new(contents: &[Value]) -> Self {
        let parts = contents.iter().filter_map(|content| content["parts"].as_array()).flatten();
        let ids = parts.flat_map(|part| [id(&part["functionCall"]), id(&part["functionResponse"])]);
        Self {
            given: ids.flatten().map(str::to_owned).collect(),
            count: 0,
            open: Vec::new(),
            is_calling: false,
            answering: HashSet::new(),
        }
    }

    /// Begins to read a content; several of the model in a row are one turn.
    pub(super) fn begin(&mut self, role: &str, parts: &[Value]) {
        let was_calling = self.is_calling;
        self.is_calling = role == "assistant";
        if self.is_calling && !was_calling {
            self.open.clear();
        }
        let ids = parts.iter().filter_map(|part| id(&part["functionResponse"]));
        self.answering = ids.map(str::to_owned).collect();
    }

    /// Returns the id of a call.
    pub(super) fn call(&mut self, call: &Value) -> String {
        let given = id(call).map(str::to_owned);
        let is_given = given.is_some();
        let id = given.unwrap_or_else(|| self.new_id());
        self.open.push(Open { id: id.clone(), is_given, function: function(call).to_owned() });
        id
    }

    /// Returns the id of the call that a response answers; a new one, or its own, if there is none.
    pub(super) fn answer(&mut self, response: &Value) -> String {
        let given = id(response);
        let function = function(response);
        let by_id = self.open.iter().position(|open| Some(open.id.as_str()) == given);
        let answers = |open: &Open| {
            let is_free =
                if given.is_some() { !open.is_given } else { !self.answering.contains(&open.id) };
            is_free && (open.function == function || function.is_empty())
        };
        match by_id.or_else(|| self.open.iter().position(answers)) {
            Some(position) => self.open.remove(position).id,
            None => given.map_or_else(|| self.new_id(), str::to_owned),
        }
    }

    fn new_id(&mut self) -> String {
        loop {
            self.count += 1;
            let id = format!("call_{}", self.count);
            if !self.given.contains(&id) {
                return id;
            }
        }
    }
}

fn id(call: &Value) -> Option<&str> {
    call["id"].as_str().filter(|id| !id.is_empty())
}

fn function(call: &Value) -> &str {
    call["name"].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Reads turns of calls, written `name` or `name#id`, and of responses, to the ids they get.
    fn paired(turns: &[(&str, &[&str])]) -> Vec<Vec<String>> {
        let part = |role: &str, text: &&str| {
            let field = if role == "assistant" { "functionCall" } else { "functionResponse" };
            let (name, id) = text.split_once('#').unwrap_or((text, ""));
            json!({field: {"name": name, "id": id}})
        };
        let parts = |(role, texts): &(&str, &[&str])| -> Vec<Value> {
            texts.iter().map(|text| part(role, text)).collect()
        };
        let contents: Vec<_> = turns.iter().map(|turn| json!({"parts": parts(turn)})).collect();
        let mut pairing = Pairing::new(&contents);
        let mut read = |turn: &(&str, &[&str])| -> Vec<String> {
            let parts = parts(turn);
            pairing.begin(turn.0, &parts);
            let id = |part: &Value| match part.get("functionCall") {
                Some(call) => pairing.call(call),
                None => pairing.answer(&part["functionResponse"]),
            };
            parts.iter().map(id).collect()
        };
        turns.iter().map(&mut read).collect()
    }

    #[test]
    fn responses_are_told_by_their_names() {
        let ids = paired(&[("assistant", &["f", "g", "f"]), ("user", &["g", "f", "f"])]);
        assert_eq!(ids[1], ["call_2", "call_1", "call_3"]);
        let ids = paired(&[("assistant", &["f"]), ("assistant", &["g"]), ("user", &["g", "f"])]);
        assert_eq!(ids[2], ["call_2", "call_1"]);
    }

    #[test]
    fn an_id_on_one_side_is_enough() {
        let ids = paired(&[("assistant", &["f#a", "f"]), ("user", &["f", "f#b"])]);
        assert_eq!(ids, [["a", "call_1"], ["a", "call_1"]]);
        let ids = paired(&[("assistant", &["f#a", "f#b"]), ("user", &["f", "f#a"])]);
        assert_eq!(ids[1], ["b", "a"]);
    }

    #[test]
    fn only_calls_of_the_turn_before_are_answered() {
        let turns: [(_, &[_]); 4] =
            [("assistant", &["f"]), ("user", &[]), ("assistant", &["f"]), ("user", &["f", "g"])];
        let ids = paired(&turns);
        assert_eq!(ids[3], ["call_2", "call_3"]);
    }

    #[test]
    fn new_ids_are_not_among_those_given() {
        let turns: [(_, &[_]); 3] = [
            ("assistant", &["f", "g#call_2", "f"]),
            ("user", &["h#call_3"]),
            ("assistant", &["f"]),
        ];
        assert_eq!(paired(&turns)[0], ["call_1", "call_2", "call_4"]);
    }
}
