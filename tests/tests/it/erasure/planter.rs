//! Request bodies with a token in every field that takes text, made from the description of the API.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use reqwest::Method;
use serde_json::{Map, Value, json};
use tests::client::APP;

use super::chats::ELSEWHERE;

/// The key of the metadata by which chats are listed.
pub(super) const LISTED_KEY: &str = "customer";

/// An operation of the API.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    pub(super) method: Method,
    pub(super) path: String,
}

/// A field of a body, in a chat of the person or in one of another person.
pub(super) type Field = (&'static str, String, String);

/// Makes bodies, and remembers the token of each field.
#[derive(Debug)]
pub(super) struct Planter {
    document: Value,
    /// What all tokens begin with; an id of the person as well.
    prefix: String,
    tokens: BTreeMap<Field, usize>,
    /// The fields that are left out, and why.
    omitted: BTreeMap<Field, &'static str>,
    /// Makes ids that are used once.
    calls: usize,
}

/// What a field becomes.
enum Leaf {
    Token,
    Given(Value),
    /// Left out, for a reason.
    Omitted(&'static str),
}

impl Planter {
    pub(super) fn new(document: Value, prefix: String) -> Self {
        Self { document, prefix, tokens: BTreeMap::new(), omitted: BTreeMap::new(), calls: 0 }
    }

    pub(super) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns the id of the person who is erased.
    pub(super) fn person(&self) -> String {
        format!("{}person", self.prefix)
    }

    /// Returns the fields that have a token, by the number of the token.
    pub(super) fn fields(&self) -> BTreeMap<usize, &Field> {
        self.tokens.iter().map(|(field, number)| (*number, field)).collect()
    }

    /// Returns the fields that are left out, and why.
    pub(super) fn omitted(&self) -> &BTreeMap<Field, &'static str> {
        &self.omitted
    }

    /// Returns an id that was not used before.
    pub(super) fn unique(&mut self) -> String {
        self.calls += 1;
        format!("id-{}", self.calls)
    }

    pub(super) fn operation(&self, id: &str) -> Result<Operation> {
        let (path, method, _) = self.described(id)?;
        Ok(Operation { method: method.to_uppercase().parse()?, path: path.to_owned() })
    }

    /// Returns the ids of the operations with a field that takes text.
    pub(super) fn planted_operations(&self) -> Result<Vec<String>> {
        let mut probe = Self::new(self.document.clone(), String::new());
        let mut ids = Vec::new();
        for (_, _, operation) in self.operations() {
            let id = operation["operationId"].as_str().context("no id")?;
            let before = probe.tokens.len();
            probe.bodies("any", id)?;
            if probe.tokens.len() > before {
                ids.push(id.to_owned());
            }
        }
        Ok(ids)
    }

    fn operations(&self) -> impl Iterator<Item = (&String, &String, &Value)> {
        let paths = self.document["paths"].as_object().into_iter().flatten();
        paths.flat_map(|(path, item)| {
            let methods = item.as_object().into_iter().flatten();
            methods.map(move |(method, operation)| (path, method, operation))
        })
    }

    fn described(&self, id: &str) -> Result<(&str, &str, &Value)> {
        let found = self.operations().find(|(_, _, operation)| operation["operationId"] == id);
        let (path, method, operation) = found.with_context(|| format!("{id} is not described"))?;
        Ok((path, method, operation))
    }

    /// Returns a body of an operation for each of the alternatives of its schema, all with the same tokens.
    pub(super) fn bodies(&mut self, side: &'static str, id: &str) -> Result<Vec<Value>> {
        let body = &self.described(id)?.2["requestBody"]["content"]["application/json"]["schema"];
        if body.is_null() {
            return Ok(Vec::new());
        }
        let body = self.resolved(body);
        let alternatives = ["oneOf", "anyOf"].iter().find_map(|of| body[of].as_array().cloned());
        let alternatives = alternatives.unwrap_or_else(|| vec![body]);
        Ok(alternatives.iter().map(|schema| self.value(side, id, "", schema, true)).collect())
    }

    fn resolved(&self, schema: &Value) -> Value {
        let Some(reference) = schema["$ref"].as_str() else { return schema.clone() };
        let pointer = reference.trim_start_matches('#');
        self.resolved(self.document.pointer(pointer).unwrap_or(&Value::Null))
    }

    /// Returns a value of a schema; null for what is left out.
    fn value(
        &mut self,
        side: &'static str,
        id: &str,
        path: &str,
        schema: &Value,
        is_required: bool,
    ) -> Value {
        let schema = self.resolved(schema);
        match self.given(side, id, path) {
            Leaf::Given(value) => return value,
            Leaf::Omitted(reason) => {
                self.omitted.insert((side, id.to_owned(), path.to_owned()), reason);
                return Value::Null;
            }
            Leaf::Token => {}
        }
        let choices = ["oneOf", "anyOf"].iter().find_map(|of| schema[of].as_array());
        if let Some(choices) = choices {
            let first = choices.iter().find(|choice| choice["type"] != "null");
            return first.map_or(Value::Null, |it| self.value(side, id, path, it, is_required));
        }
        if let Some(properties) = schema["properties"].as_object() {
            return self.object(side, id, path, properties, &schema["required"]);
        }
        if schema["items"].is_object() {
            let item = self.value(side, id, &format!("{path}/*"), &schema["items"], true);
            return if item.is_null() { Value::Null } else { json!([item]) };
        }
        let is = |kind: &str| match &schema["type"] {
            Value::Array(kinds) => kinds.iter().any(|it| it == kind),
            it => it == kind,
        };
        if schema.get("enum").is_some() || schema.get("format").is_some() {
            return if is_required { required_value(&schema) } else { Value::Null };
        }
        if is("object") {
            if schema["additionalProperties"] != true {
                return json!({});
            }
            let token = self.token(side, id, &format!("{path}/{{}}"));
            // A message in the shape of a dialect.
            let is_message = path == "/messages/*";
            return if is_message {
                json!({ "role": "user", "content": token, "name": token })
            } else {
                json!({ &token: { "deep": [token] } })
            };
        }
        if schema["type"].is_null() || is("string") {
            return self.token(side, id, path).into();
        }
        Value::Null
    }

    fn object(
        &mut self,
        side: &'static str,
        id: &str,
        path: &str,
        properties: &Map<String, Value>,
        required: &Value,
    ) -> Value {
        let mut object = Map::new();
        for (name, schema) in properties {
            let is_required =
                required.as_array().is_some_and(|required| required.iter().any(|it| it == name));
            let value = self.value(side, id, &format!("{path}/{name}"), schema, is_required);
            if !value.is_null() {
                object.insert(name.clone(), value);
            }
        }
        object.into()
    }

    /// Returns the token of a field. All have the same length, so that none is the beginning of another.
    fn token(&mut self, side: &'static str, id: &str, path: &str) -> String {
        let next = self.tokens.len();
        let field = (side, id.to_owned(), path.to_owned());
        let number = *self.tokens.entry(field).or_insert(next);
        format!("{}{number:04}", self.prefix)
    }

    /// Says what a field has that does not take any text.
    fn given(&mut self, side: &'static str, id: &str, path: &str) -> Leaf {
        let last = path.rsplit('/').next().unwrap_or_default();
        let given = match (id, path, last) {
            (_, _, "user_id") => json!(self.person()),
            (_, "/app_id", _) => json!(APP),
            (_, _, "role") => json!("user"),
            ("append_chunks", "/from", _) => json!(0),
            ("append_turn", "/outcome" | "/steps/*/status", _) => json!("failed"),
            // Longer than the test takes.
            ("acquire_lease", "/ttl_ms", _) => json!(3_600_000),
            ("request_input", "/kind", _) => json!("choice"),
            ("create_chat" | "ensure_chat" | "update_chat" | "fork_chat", "/metadata", _) => {
                let token = self.token(side, id, "/metadata/{}");
                json!({ &token: { "deep": [token] }, LISTED_KEY: token })
            }
            (_, _, "props") => {
                let token = self.token(side, id, path);
                json!({ &token: [token] })
            }
            (_, "/system/*", _) if side == ELSEWHERE => {
                return Leaf::Omitted("only the agents of a chat give instructions");
            }
            (_, "/system/*", _) => {
                json!({ "type": "text", "text": self.token(side, id, path) })
            }
            (_, _, "provider") if id != "record_calls" && !path.starts_with("/call/") => {
                json!({ "openai": { "id": self.token(side, id, path) } })
            }
            ("submit_user_input", "/input_request_id" | "/chat_id", _)
            | ("say", "/request_id", _)
            | ("ensure_chat", "/chat_id", _)
            | ("delete_messages", "/event_ids/*", _) => {
                return Leaf::Omitted("names what exists already");
            }
            ("answer_input_request", "/tool_call", _) => {
                return Leaf::Omitted("repeats what the question has");
            }
            ("append_turn", "/steps/*/stack_parent_id", _) => {
                return Leaf::Omitted("names another stack of the turn");
            }
            ("append_turn", _, "chunk_id" | "delta" | "delta_path" | "delta_action") => {
                return Leaf::Omitted("makes the message a part of another one");
            }
            (_, _, "agent_name") => return Leaf::Omitted("another word for the name"),
            (_, _, "produced_by_call_id") => return Leaf::Omitted("names a call"),
            (_, _, "cost_usd") => return Leaf::Omitted("a number"),
            (
                "append_turn" | "request_input" | "put_transcript" | "append_messages",
                "/request_id",
                _,
            )
            | ("create_chat" | "fork_chat", "/chat_id", _)
            | (_, _, "event_id" | "entry_id" | "call_id" | "lease_id") => {
                json!(format!("{}-{}", self.token(side, id, path), self.unique()))
            }
            _ => return Leaf::Token,
        };
        Leaf::Given(given)
    }
}

/// Returns a value for a field that must be there, but takes no text.
fn required_value(schema: &Value) -> Value {
    match schema["enum"].get(0) {
        Some(first) => first.clone(),
        None if schema["format"] == "date-time" => json!("2026-01-01T00:00:00Z"),
        None => json!(1),
    }
}
