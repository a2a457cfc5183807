//! The part of a call, whose result comes later.

use records::JsonObject;
use serde_json::{Value, json};

use super::fields::{fits, is_approval};
use crate::Repair;
use crate::canonical::{Call, CanonicalMessage, json_input};
use crate::dialect::parsed;

/// The states of calls without results.
const WAITING: [&str; 4] =
    ["input-streaming", "input-available", "approval-requested", "approval-responded"];

/// The result that is stored for a call that a person denied.
const DENIED_RESULT: &str = "The call was denied.";

/// Returns whether an entry is that of a call that waited when it was stored.
pub(super) fn is_waiting(entry: &Value) -> bool {
    entry["state"].as_str().is_some_and(|state| WAITING.contains(&state))
}

/// A call as it is stored.
pub(super) struct ReadCall {
    pub(super) call: Value,
    /// Its fields that no other format has.
    pub(super) own: JsonObject,
    pub(super) result: Option<records::NewMessage>,
}

/// Reads the part of a call of a function.
pub(super) fn read(function: &str, mut part: JsonObject) -> ReadCall {
    let id = parsed::take_text(&mut part, "toolCallId").unwrap_or_default();
    let is_static = part.remove("type").is_some_and(|kind| kind != "dynamic-tool");
    part.remove("toolName");
    let mut own = JsonObject::new();
    if is_static {
        own.insert("static".to_owned(), true.into());
    }
    let input = part.remove("input").unwrap_or_else(|| {
        own.insert("lacks_input".to_owned(), true.into());
        json!({})
    });
    if input.as_str().is_some_and(|text| json_input(text).is_some()) {
        own.insert(TEXT_INPUT.to_owned(), true.into());
    }
    let mut call = parsed::stored_call(&id, function, &input);
    if let Some((provider, signature)) = take_signature(&mut part) {
        call["extra_content"] = json!({"google": {"thought_signature": signature}});
        if provider != GOOGLE {
            own.insert(SIGNED_AS.to_owned(), provider.into());
        }
    }
    let state = part.remove("state").unwrap_or_default();
    let result = match state.as_str() {
        Some("output-available") => part.remove("output").map(|output| (output, false)),
        Some("output-error") => part.remove("errorText").map(|text| (text, true)),
        Some("output-denied") => {
            own.insert("state".to_owned(), state);
            Some((denied_result(part.get("approval")).into(), true))
        }
        _ => {
            own.insert("state".to_owned(), state);
            None
        }
    };
    let result = result.map(|(content, failed)| parsed::stored_result(&id, content, failed));
    own.extend(part);
    ReadCall { call, own, result }
}

/// Returns the result that is stored for a call that a person denied: with the reason, which the library gives its model.
fn denied_result(approval: Option<&Value>) -> String {
    let reason = approval.and_then(|approval| approval["reason"].as_str());
    match reason.filter(|reason| !reason.trim().is_empty()) {
        Some(reason) => format!("{DENIED_RESULT} The reason: {reason}"),
        None => DENIED_RESULT.to_owned(),
    }
}

/// The names under which the providers of the SDK for Gemini have what it says of a call.
const GOOGLE: &str = "google";
const VERTEX: &str = "vertex";

/// The own field that says that the input is a text, although it is JSON of something else.
const TEXT_INPUT: &str = "text_input";

/// The own field with the name under which a call has its signature, if it is not [`GOOGLE`].
const SIGNED_AS: &str = "signed_as";

/// Takes Gemini's signature of a call out of its part, with the name under which it is there.
fn take_signature(part: &mut JsonObject) -> Option<(&'static str, Value)> {
    let metadata = part.get_mut("callProviderMetadata")?.as_object_mut()?;
    let has_signature =
        |name: &&str| metadata.get(*name).is_some_and(|it| it["thoughtSignature"].is_string());
    let provider = [GOOGLE, VERTEX].into_iter().find(has_signature)?;
    let fields = metadata.get_mut(provider)?.as_object_mut()?;
    let signature = fields.shift_remove("thoughtSignature")?;
    if fields.is_empty() {
        metadata.shift_remove(provider);
        if metadata.is_empty() {
            part.shift_remove("callProviderMetadata");
        }
    }
    Some((provider, signature))
}

/// The part of a call, before its result is known.
#[derive(Debug)]
pub(super) struct OpenCall {
    id: String,
    name: String,
    input: Value,
    /// The input as it is stored.
    input_text: String,
    signature: Option<String>,
    own: JsonObject,
    result: Option<CallResult>,
}

/// How a call ended.
#[derive(Debug)]
enum CallResult {
    Output(Value),
    Failed(String),
}

impl OpenCall {
    pub(super) fn new(call: &mut Call) -> Self {
        Self {
            input_text: call.input_text().to_owned(),
            input: call.take_input(),
            id: std::mem::take(&mut call.id),
            name: std::mem::take(&mut call.target.name),
            signature: call.signature.take(),
            own: JsonObject::new(),
            result: None,
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Adds the fields that the part came with; reports those that the SDK does not have.
    pub(super) fn add_own(&mut self, own: JsonObject, message: &mut CanonicalMessage) {
        const READ: [&str; 7] =
            ["of", "static", "lacks_input", TEXT_INPUT, "state", "approval", SIGNED_AS];
        let is_known = |(field, value): (&String, &Value)| {
            READ.contains(&field.as_str()) || fits(field, value)
        };
        if !own.iter().all(is_known) {
            message.repairs.push(Repair::ProviderFieldsRemoved);
        }
        if own.get(TEXT_INPUT) == Some(&Value::Bool(true)) {
            self.input = std::mem::take(&mut self.input_text).into();
        }
        self.own = own;
    }

    pub(super) fn add_result(&mut self, result: &mut CanonicalMessage) {
        self.result = Some(if result.is_error {
            CallResult::Failed(result.take_text())
        } else {
            CallResult::Output(result.content.take())
        });
    }

    /// Returns the part.
    pub(super) fn into_part(mut self) -> Value {
        let mut part = self.begin_part();
        let stored_state = self.own.remove("state").unwrap_or_default();
        let approval = self.own.remove("approval").unwrap_or_default();
        let signed_as = self.own.remove(SIGNED_AS).unwrap_or_default();
        let is_answered = |answer| is_approval(&approval, answer);
        let (state, has_approval) = match self.result.take() {
            Some(CallResult::Output(output)) => {
                part["output"] = output;
                ("output-available", is_answered(Some(true)))
            }
            Some(CallResult::Failed(text)) => {
                // A call that waited for the answer of a person, who denied it, is stored in the state of the answer.
                let states = ["output-denied", "approval-responded"];
                let is_denied = states.iter().any(|state| stored_state == *state)
                    && (text == DENIED_RESULT || text == denied_result(Some(&approval)));
                if is_denied && is_answered(Some(false)) {
                    ("output-denied", true)
                } else {
                    part["errorText"] = text.into();
                    ("output-error", is_answered(Some(true)))
                }
            }
            None => match stored_state.as_str() {
                Some("input-streaming") => ("input-streaming", false),
                Some("approval-requested") if is_answered(None) => ("approval-requested", true),
                Some("approval-responded")
                    if is_answered(Some(true)) || is_answered(Some(false)) =>
                {
                    ("approval-responded", true)
                }
                _ => ("input-available", false),
            },
        };
        part["state"] = state.into();
        if has_approval {
            part["approval"] = approval;
        }
        let of_state: &[&str] = match state {
            "input-streaming" => &["rawInput", "inputEncoding"],
            "output-available" => &["resultProviderMetadata", "preliminary"],
            "output-error" => &["resultProviderMetadata", "rawInput"],
            _ => &[],
        };
        let common =
            ["title", "dynamic", "toolMetadata", "providerExecuted", "callProviderMetadata"];
        for (field, value) in self.own {
            let is_raw_text = field != "rawInput" || state == "output-error" || value.is_string();
            let is_of_state = of_state.contains(&field.as_str()) && is_raw_text;
            if (common.contains(&field.as_str()) || is_of_state) && fits(&field, &value) {
                part[field] = value;
            }
        }
        if let Some(signature) = self.signature {
            let provider = if signed_as == VERTEX { VERTEX } else { GOOGLE };
            part["callProviderMetadata"][provider]["thoughtSignature"] = signature.into();
        }
        part
    }

    /// Returns the part with what does not depend on the state.
    fn begin_part(&mut self) -> Value {
        let mut part = if self.own.get("static") == Some(&Value::Bool(true)) {
            json!({"type": format!("tool-{}", self.name), "toolCallId": self.id})
        } else {
            json!({"type": "dynamic-tool", "toolName": self.name, "toolCallId": self.id})
        };
        part["state"] = Value::Null;
        let lacked_input = self.own.get("lacks_input") == Some(&Value::Bool(true));
        if !(lacked_input && self.input == json!({}) && self.may_lack_input()) {
            part["input"] = self.input.take();
        }
        part
    }

    /// Returns whether a part in its state may lack the input: while it streams, or after an error.
    fn may_lack_input(&self) -> bool {
        match self.result {
            Some(CallResult::Output(_)) => false,
            Some(CallResult::Failed(_)) => {
                self.own.get("state").is_none_or(|state| state != "output-denied")
            }
            None => self.own.get("state").is_some_and(|state| state == "input-streaming"),
        }
    }
}
