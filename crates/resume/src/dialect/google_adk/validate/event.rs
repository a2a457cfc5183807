use serde_json::Value;

use super::part;
use crate::dialect::violation::Problem;
use crate::dialect::violation_list::ViolationList;

/// Returns the rules that an event breaks on its own.
pub(super) fn problems(event: &Value) -> Vec<Problem> {
    if !event.is_object() {
        return vec![("not_an_object", "the event is not a JSON object".to_owned())];
    }
    let mut problems: Vec<_> = speaker_problem(event).into_iter().collect();
    let has_id = event["id"].is_string();
    problems.extend((!has_id).then(|| ("missing_id", "the event has no id".to_owned())));
    problems.extend(content_problem(&event["content"]));
    let parts = event["content"]["parts"].as_array().into_iter().flatten();
    problems.extend(parts.filter_map(part::problem).take(ViolationList::MAX));
    problems.extend(field_problem(event));
    problems
}

fn speaker_problem(event: &Value) -> Option<Problem> {
    let role = &event["content"]["role"];
    let has_author = event["author"].as_str().is_some_and(|author| !author.is_empty());
    match role.as_str() {
        Some("user" | "model") if !has_author => {
            Some(("invalid_name", "the event has no author".to_owned()))
        }
        Some("user" | "model") => None,
        None if role.is_null() && has_author => None,
        None if role.is_null() => {
            Some(("unknown_role", "there is no author and no role".to_owned()))
        }
        _ => Some(("unknown_role", format!("there is no role {role}"))),
    }
}

fn content_problem(content: &Value) -> Option<Problem> {
    let parts = &content["parts"];
    let is_content = content.is_null() || content.is_object();
    if is_content && (parts.is_null() || parts.is_array()) {
        return None;
    }
    Some(("invalid_content", "the content is not an object with a list of parts".to_owned()))
}

fn field_problem(event: &Value) -> Option<Problem> {
    let actions = &event["actions"];
    let has_type =
        |(field, is_type): &(&str, fn(&Value) -> bool)| event.get(*field).is_none_or(is_type);
    let wrong = FIELDS.iter().find(|field| !has_type(field)).map(|(field, _)| *field);
    // The library gives these to its constructor, which puts them into other fields.
    let argument = ["message", "node_path", "route", "state"];
    let argument = argument.into_iter().find(|field| event.get(*field).is_some());
    let action = actions.as_object().into_iter().flatten().find_map(|(field, value)| {
        let known = ACTIONS.iter().find(|(known, _)| known == field);
        let is_valid = known.is_some_and(|(_, is_type)| is_type(value));
        (!is_valid).then_some(field.as_str())
    });
    let field = wrong.or(argument).or(action)?;
    Some((
        "unknown_field",
        format!("the library does not accept the field {field:?} with this value"),
    ))
}

type Field = (&'static str, fn(&Value) -> bool);

const FIELDS: [Field; 32] = [
    ("actions", Value::is_object),
    ("avgLogprobs", Value::is_number),
    ("branch", Value::is_string),
    ("cacheMetadata", Value::is_object),
    ("citationMetadata", Value::is_object),
    ("customMetadata", Value::is_object),
    ("environmentId", Value::is_string),
    ("errorCode", Value::is_string),
    ("errorMessage", Value::is_string),
    ("finishReason", Value::is_string),
    ("goAway", Value::is_object),
    ("groundingMetadata", Value::is_object),
    ("inputTranscription", Value::is_object),
    ("interactionId", Value::is_string),
    ("interactionStatus", Value::is_string),
    ("interrupted", Value::is_boolean),
    ("invocationId", Value::is_string),
    ("isolationScope", Value::is_string),
    ("liveSessionId", Value::is_string),
    ("liveSessionResumptionUpdate", Value::is_object),
    ("logprobsResult", Value::is_object),
    ("longRunningToolIds", is_text_list),
    ("modelVersion", Value::is_string),
    ("nodeInfo", is_node),
    ("outputTranscription", Value::is_object),
    ("partial", Value::is_boolean),
    ("timestamp", Value::is_number),
    ("turnComplete", Value::is_boolean),
    ("turnCompleteReason", Value::is_string),
    ("usageMetadata", Value::is_object),
    ("voiceActivity", Value::is_object),
    ("author", Value::is_string),
];

/// Other actions are refused.
const ACTIONS: [Field; 15] = [
    ("agentState", Value::is_object),
    ("artifactDelta", is_versions),
    ("compaction", Value::is_object),
    ("endOfAgent", Value::is_boolean),
    ("escalate", Value::is_boolean),
    ("renderUiWidgets", Value::is_array),
    ("requestedAuthConfigs", Value::is_object),
    ("requestedToolConfirmations", Value::is_object),
    ("rewindBeforeInvocationId", Value::is_string),
    ("route", |_| true),
    ("setModelResponse", |_| true),
    ("skipSummarization", Value::is_boolean),
    ("stateDelta", Value::is_object),
    ("transferReason", Value::is_string),
    ("transferToAgent", Value::is_string),
];

fn is_text_list(value: &Value) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(Value::is_string))
}

fn is_versions(value: &Value) -> bool {
    value.as_object().is_some_and(|files| files.values().all(Value::is_i64))
}

fn is_node(value: &Value) -> bool {
    value.is_object() && value.get("path").is_none_or(Value::is_string)
}
