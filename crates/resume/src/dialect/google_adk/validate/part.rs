use serde_json::Value;

use crate::dialect::violation::Problem;

/// What parts hold, each under its name.
const PAYLOADS: [&str; 9] = [
    "codeExecutionResult",
    "executableCode",
    "fileData",
    "functionCall",
    "functionResponse",
    "inlineData",
    "text",
    "toolCall",
    "toolResponse",
];

/// What parts may have besides, and may also have alone.
const BESIDES: [&str; 7] = [
    "audioTranscription",
    "mediaProcessing",
    "mediaResolution",
    "partMetadata",
    "speechMetadata",
    "thoughtSignature",
    "videoMetadata",
];

/// Returns the rule that a part breaks.
pub(super) fn problem(part: &Value) -> Option<Problem> {
    let Some(fields) = part.as_object() else {
        return Some(("invalid_part", "a part is not a JSON object".to_owned()));
    };
    let mut says_something = false;
    for (field, value) in fields {
        let field = field.as_str();
        says_something |= PAYLOADS.contains(&field) || BESIDES.contains(&field);
        match field {
            _ if PAYLOADS.contains(&field) => {
                if let Some(problem) = payload_problem(field, value) {
                    return Some(problem);
                }
            }
            "thought" if value.is_boolean() => {}
            "thoughtSignature" if value.as_str().is_some_and(is_bytes) => {}
            "mediaProcessing" if value.is_string() => {}
            "thoughtSignature" | "mediaProcessing" => return Some(unknown(field)),
            _ if BESIDES.contains(&field) && value.is_object() => {}
            _ => return Some(unknown(field)),
        }
    }
    let detail = || "a part has no known field".to_owned();
    (!says_something).then(|| ("invalid_part", detail()))
}

fn unknown(field: &str) -> Problem {
    ("unknown_field", format!("parts have no field {field:?} with this value"))
}

fn payload_problem(field: &str, value: &Value) -> Option<Problem> {
    let has = |field: &str| value[field].is_string();
    let may_have = |field: &str, is_type: fn(&Value) -> bool| value.get(field).is_none_or(is_type);
    let (rule, is_valid) = match field {
        "text" => ("invalid_part", value.is_string()),
        "functionCall" => {
            let is_named = value["name"].as_str().is_some_and(|name| !name.is_empty());
            let is_valid = is_named && may_have("args", Value::is_object);
            ("invalid_call", is_valid && may_have("id", Value::is_string))
        }
        "functionResponse" => {
            let is_named = has("id") || has("name");
            let media = value["parts"].as_array().into_iter().flatten();
            let is_valid = is_named && may_have("response", Value::is_object);
            ("invalid_response", is_valid && media.into_iter().all(is_media))
        }
        "inlineData" | "fileData" => ("invalid_part", is_media_of(field, value)),
        _ => ("invalid_part", value.is_object()),
    };
    (!is_valid).then(|| (rule, format!("the {field} of a part lacks a field or has a wrong one")))
}

fn is_media(part: &Value) -> bool {
    let of = |field: &str| part.get(field).is_some_and(|value| is_media_of(field, value));
    of("inlineData") || of("fileData")
}

fn is_media_of(field: &str, value: &Value) -> bool {
    let has = |field: &str| value[field].is_string();
    match field {
        "inlineData" => has("mimeType") && value["data"].as_str().is_some_and(is_bytes),
        _ => has("fileUri"),
    }
}

/// Returns whether a text is base64 in one of the alphabets, with or without padding.
fn is_bytes(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    let is_whole = padding == 0 || (padding <= 2 && text.len().is_multiple_of(4));
    let mixes_alphabets = digits.contains(['+', '/']) && digits.contains(['-', '_']);
    let values: Option<Vec<u8>> = digits.bytes().map(digit_value).collect();
    let Some(values) = values.filter(|_| is_whole && !mixes_alphabets) else { return false };
    // The last digit says less than six bits, and the others are zero.
    let unused = match values.len() % 4 {
        0 => 0,
        1 => return false,
        2 => 0b1111,
        _ => 0b11,
    };
    values.last().is_none_or(|last| last & unused == 0)
}

fn digit_value(digit: u8) -> Option<u8> {
    match digit {
        b'A'..=b'Z' => Some(digit - b'A'),
        b'a'..=b'z' => Some(digit - b'a' + 26),
        b'0'..=b'9' => Some(digit - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}
