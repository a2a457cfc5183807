use std::collections::{HashMap, HashSet, VecDeque};
use std::mem;

use serde_json::Value;

/// Finds the call that each response answers, and gives ids to calls without one.
///
/// A transcript may have no ids at all, or only on the calls or only on the responses. A response
/// answers the call with its id. Otherwise it answers the first call of its function in the previous
/// turn that has no response so far and that no other response names by its id.
///
/// Each call is in the queue of every key by which a response may look for it. So a response takes the
/// first call of a queue, and the time is linear in the number of calls.
pub(in crate::dialect) struct CallIdResolver {
    /// All ids in the transcript, which no other call may get.
    existing_ids: HashSet<String>,
    /// How many new ids were tried.
    new_id_count: usize,
    /// The calls that the current content makes, or that it may answer.
    calls: Vec<Call>,
    /// For each key, the positions in `calls` that a response may answer, in order. A call is in several
    /// queues, so that a queue may hold calls that were answered by another key.
    queues: HashMap<CallKey, VecDeque<usize>>,
    /// Whether the current content is of the model, which makes the calls.
    is_model_turn: bool,
    /// The ids of the responses in the current content.
    response_ids: HashSet<String>,
}

struct Call {
    id: String,
    /// Whether the transcript gives the id; otherwise it is new.
    has_own_id: bool,
    function: String,
    is_answered: bool,
}

/// The key by which a response looks for its call.
#[derive(PartialEq, Eq, Hash)]
enum CallKey {
    /// The id of the call.
    Id(String),
    /// The function of a call that has no id in the transcript.
    FunctionWithoutId(String),
    /// The function of a call whose id no response of the current content names.
    FunctionNotNamed(String),
}

impl CallIdResolver {
    pub(in crate::dialect) fn new<'a>(contents: impl IntoIterator<Item = &'a Value>) -> Self {
        let contents = contents.into_iter();
        let parts = contents.filter_map(|content| content["parts"].as_array()).flatten();
        let ids = parts.flat_map(|part| [id(&part["functionCall"]), id(&part["functionResponse"])]);
        Self {
            existing_ids: ids.flatten().map(str::to_owned).collect(),
            new_id_count: 0,
            calls: Vec::new(),
            queues: HashMap::new(),
            is_model_turn: false,
            response_ids: HashSet::new(),
        }
    }

    /// Begins to read a content; neighbouring contents of the model are one turn.
    pub(in crate::dialect) fn begin_content(&mut self, role: &str, parts: &[Value]) {
        let was_model_turn = mem::replace(&mut self.is_model_turn, role == "assistant");
        let ids = parts.iter().filter_map(|part| id(&part["functionResponse"]));
        self.response_ids = ids.map(str::to_owned).collect();
        self.queues.clear();
        // The queues are rebuilt for this content, because they depend on the ids of its responses. Calls
        // stay open within a turn of the model and until the next one begins.
        let calls = mem::take(&mut self.calls);
        if was_model_turn || !self.is_model_turn {
            calls.into_iter().filter(|call| !call.is_answered).for_each(|call| self.add(call));
        }
    }

    /// Returns the id of a call, which may be new.
    pub(in crate::dialect) fn id_of_call(&mut self, call: &Value) -> String {
        let own_id = id(call).map(str::to_owned);
        let has_own_id = own_id.is_some();
        let id = own_id.unwrap_or_else(|| self.new_id());
        let function = function(call).to_owned();
        self.add(Call { id: id.clone(), has_own_id, function, is_answered: false });
        id
    }

    /// Returns the id of the call that a response answers; without such a call, its own id or a new one.
    pub(in crate::dialect) fn id_of_answered_call(&mut self, response: &Value) -> String {
        let function = function(response).to_owned();
        let Some(own_id) = id(response) else {
            return self
                .take(&CallKey::FunctionNotNamed(function))
                .unwrap_or_else(|| self.new_id());
        };
        let answered = self.take(&CallKey::Id(own_id.to_owned()));
        // The transcript may have ids only on the responses.
        let answered = answered.or_else(|| self.take(&CallKey::FunctionWithoutId(function)));
        answered.unwrap_or_else(|| own_id.to_owned())
    }

    fn add(&mut self, call: Call) {
        let mut keys = vec![CallKey::Id(call.id.clone())];
        // A response without a function name may answer a call of any function.
        let functions = [call.function.as_str(), ""];
        for function in functions.into_iter().skip(usize::from(call.function.is_empty())) {
            if !call.has_own_id {
                keys.push(CallKey::FunctionWithoutId(function.to_owned()));
            }
            if !self.response_ids.contains(&call.id) {
                keys.push(CallKey::FunctionNotNamed(function.to_owned()));
            }
        }
        for key in keys {
            self.queues.entry(key).or_default().push_back(self.calls.len());
        }
        self.calls.push(call);
    }

    /// Marks the first open call with this key as answered, and returns its id.
    fn take(&mut self, key: &CallKey) -> Option<String> {
        let queue = self.queues.get_mut(key)?;
        while let Some(position) = queue.pop_front() {
            let call = &mut self.calls[position];
            if !mem::replace(&mut call.is_answered, true) {
                return Some(call.id.clone());
            }
        }
        None
    }

    fn new_id(&mut self) -> String {
        loop {
            self.new_id_count += 1;
            let id = format!("call_{}", self.new_id_count);
            if !self.existing_ids.contains(&id) {
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

    /// Returns the ids for turns of calls and of responses, each written as `name` or `name#id`.
    fn resolved(turns: &[(&str, &[&str])]) -> Vec<Vec<String>> {
        let part = |role: &str, text: &&str| {
            let field = if role == "assistant" { "functionCall" } else { "functionResponse" };
            let (name, id) = text.split_once('#').unwrap_or((text, ""));
            json!({field: {"name": name, "id": id}})
        };
        let parts = |(role, texts): &(&str, &[&str])| -> Vec<Value> {
            texts.iter().map(|text| part(role, text)).collect()
        };
        let contents: Vec<_> = turns.iter().map(|turn| json!({"parts": parts(turn)})).collect();
        let mut resolver = CallIdResolver::new(&contents);
        let mut read = |turn: &(&str, &[&str])| -> Vec<String> {
            let parts = parts(turn);
            resolver.begin_content(turn.0, &parts);
            let id = |part: &Value| match part.get("functionCall") {
                Some(call) => resolver.id_of_call(call),
                None => resolver.id_of_answered_call(&part["functionResponse"]),
            };
            parts.iter().map(id).collect()
        };
        turns.iter().map(&mut read).collect()
    }

    #[test]
    fn responses_without_ids_answer_by_function_name() {
        let ids = resolved(&[("assistant", &["f", "g", "f"]), ("user", &["g", "f", "f"])]);
        assert_eq!(ids[1], ["call_2", "call_1", "call_3"]);
        let ids = resolved(&[("assistant", &["f"]), ("assistant", &["g"]), ("user", &["g", "f"])]);
        assert_eq!(ids[2], ["call_2", "call_1"]);
    }

    #[test]
    fn an_id_on_one_side_is_enough() {
        let ids = resolved(&[("assistant", &["f#a", "f"]), ("user", &["f", "f#b"])]);
        assert_eq!(ids, [["a", "call_1"], ["a", "call_1"]]);
        let ids = resolved(&[("assistant", &["f#a", "f#b"]), ("user", &["f", "f#a"])]);
        assert_eq!(ids[1], ["b", "a"]);
    }

    #[test]
    fn only_calls_of_the_previous_turn_are_answered() {
        let turns: [(_, &[_]); 4] =
            [("assistant", &["f"]), ("user", &[]), ("assistant", &["f"]), ("user", &["f", "g"])];
        let ids = resolved(&turns);
        assert_eq!(ids[3], ["call_2", "call_3"]);
    }

    #[test]
    fn new_ids_differ_from_existing_ones() {
        let turns: [(_, &[_]); 3] = [
            ("assistant", &["f", "g#call_2", "f"]),
            ("user", &["h#call_3"]),
            ("assistant", &["f"]),
        ];
        assert_eq!(resolved(&turns)[0], ["call_1", "call_2", "call_4"]);
    }

    #[test]
    fn many_calls_are_matched_in_linear_time() {
        // A search through all calls for each response would take minutes.
        const MANY: usize = 100_000;
        let calls: Vec<_> = (0..MANY).map(|at| format!("f{at}")).collect();
        let calls: Vec<_> = calls.iter().map(String::as_str).collect();
        let responses: Vec<_> = calls.iter().rev().copied().collect();
        let mut ids = resolved(&[("assistant", &calls), ("user", &responses)]);
        ids[1].reverse();
        assert!(ids[0] == ids[1]);
    }
}
