use std::collections::{HashMap, HashSet, VecDeque};
use std::mem;

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
    /// The calls of the turn before.
    calls: Vec<Call>,
    /// Where those stand that a response may answer, the first one first; some are answered by now.
    queues: HashMap<Key, VecDeque<usize>>,
    is_calling: bool,
    /// The ids of the responses being read.
    answering: HashSet<String>,
}

struct Call {
    id: String,
    is_given: bool,
    function: String,
    is_answered: bool,
}

/// What calls are looked for by.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    Id(String),
    /// The function, among the calls that have no ids of their own.
    WithoutId(String),
    /// The function, among the calls that no response names.
    Unnamed(String),
}

impl Pairing {
    pub(super) fn new(contents: &[Value]) -> Self {
        let parts = contents.iter().filter_map(|content| content["parts"].as_array()).flatten();
        let ids = parts.flat_map(|part| [id(&part["functionCall"]), id(&part["functionResponse"])]);
        Self {
            given: ids.flatten().map(str::to_owned).collect(),
            count: 0,
            calls: Vec::new(),
            queues: HashMap::new(),
            is_calling: false,
            answering: HashSet::new(),
        }
    }

    /// Begins to read a content; several of the model in a row are one turn.
    pub(super) fn begin(&mut self, role: &str, parts: &[Value]) {
        let was_calling = mem::replace(&mut self.is_calling, role == "assistant");
        let ids = parts.iter().filter_map(|part| id(&part["functionResponse"]));
        self.answering = ids.map(str::to_owned).collect();
        self.queues.clear();
        let calls = mem::take(&mut self.calls);
        if was_calling || !self.is_calling {
            calls.into_iter().filter(|call| !call.is_answered).for_each(|call| self.add(call));
        }
    }

    /// Returns the id of a call.
    pub(super) fn call(&mut self, call: &Value) -> String {
        let given = id(call).map(str::to_owned);
        let is_given = given.is_some();
        let id = given.unwrap_or_else(|| self.new_id());
        let function = function(call).to_owned();
        self.add(Call { id: id.clone(), is_given, function, is_answered: false });
        id
    }

    /// Returns the id of the call that a response answers; a new one, or its own, if there is none.
    pub(super) fn answer(&mut self, response: &Value) -> String {
        let function = function(response).to_owned();
        let Some(given) = id(response) else {
            return self.take(&Key::Unnamed(function)).unwrap_or_else(|| self.new_id());
        };
        let answered = self.take(&Key::Id(given.to_owned()));
        let answered = answered.or_else(|| self.take(&Key::WithoutId(function)));
        answered.unwrap_or_else(|| given.to_owned())
    }

    fn add(&mut self, call: Call) {
        let mut keys = vec![Key::Id(call.id.clone())];
        // A response without a function answers a call of any.
        let functions = [call.function.as_str(), ""];
        for function in functions.into_iter().skip(usize::from(call.function.is_empty())) {
            if !call.is_given {
                keys.push(Key::WithoutId(function.to_owned()));
            }
            if !self.answering.contains(&call.id) {
                keys.push(Key::Unnamed(function.to_owned()));
            }
        }
        for key in keys {
            self.queues.entry(key).or_default().push_back(self.calls.len());
        }
        self.calls.push(call);
    }

    /// Answers the first call that is found by a key, and returns its id.
    fn take(&mut self, key: &Key) -> Option<String> {
        let queue = self.queues.get_mut(key)?;
        while let Some(place) = queue.pop_front() {
            let call = &mut self.calls[place];
            if !mem::replace(&mut call.is_answered, true) {
                return Some(call.id.clone());
            }
        }
        None
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

    #[test]
    fn many_calls_are_paired_one_by_one() {
        // Each looked for among all others, these would take minutes.
        const MANY: usize = 100_000;
        let calls: Vec<_> = (0..MANY).map(|at| format!("f{at}")).collect();
        let calls: Vec<_> = calls.iter().map(String::as_str).collect();
        let responses: Vec<_> = calls.iter().rev().copied().collect();
        let mut ids = paired(&[("assistant", &calls), ("user", &responses)]);
        ids[1].reverse();
        assert!(ids[0] == ids[1]);
    }
}
