use std::fmt;

use chrono::{DateTime, SecondsFormat};
use records::json::{self, hex};
use records::{ChatId, JsonObject, NewToolRun, ToolRun, ToolRunId};
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use super::index::read_time;
use super::line::{DIALECT, LineError, OWN, TIMESTAMP, names};

const SESSION_ID: &str = "sessionId";
const TOOL_NAME: &str = "toolName";
const PARAMETERS: &str = "parameters";
const RESULT: &str = "result";
const SUCCESS: &str = "success";
const EXECUTION_TIME: &str = "executionTime";
const ERROR: &str = "error";

/// The fields of a line. All others are metadata of the run.
const FIELDS: [&str; 9] =
    [TIMESTAMP, SESSION_ID, TOOL_NAME, PARAMETERS, RESULT, SUCCESS, EXECUTION_TIME, ERROR, OWN];

/// A run of a tool that was read from a line.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ReadToolLine {
    /// The run; it has an id.
    pub run: NewToolRun,
    /// The size of the run in the store, in bytes.
    pub bytes: usize,
    /// What is not stored as it stands in the line.
    pub notes: Vec<ToolLineNote>,
}

/// Something in a line that is not stored as it stands there.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolLineNote {
    /// The time is more precise than a millisecond.
    Timestamp,
    /// The line names another session than its file.
    OtherSession,
    /// The duration is not a whole number of milliseconds.
    Duration,
    /// The error is not a text; its JSON is kept as text.
    Error,
}

impl fmt::Display for ToolLineNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Timestamp => "has a timestamp that is more precise than a millisecond: it is cut",
            Self::OtherSession => {
                "names another session in sessionId: it belongs to that of its file"
            }
            Self::Duration => "has an executionTime with a fraction: it is rounded",
            Self::Error => "has an error that is not a text: it is stored as text",
        })
    }
}

/// What a line has for Reprise alone.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Own {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run_id: Option<ToolRunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_call_id: Option<String>,
    /// The metadata whose keys are fields of the line.
    #[serde(default, skip_serializing_if = "JsonObject::is_empty")]
    metadata: JsonObject,
}

/// Reads a line of the file with the runs of tools of a chat.
///
/// As with messages, the id of the run follows from the number of the line and from what it says, unless the line has one.
pub fn read_tool_line(
    text: &[u8],
    number: u64,
    chat_id: &ChatId,
) -> Result<ReadToolLine, LineError> {
    let Value::Object(mut line) = json::parse(text)? else { return Err(LineError::NotAnObject) };
    let mut notes = Vec::new();
    let Some(Value::String(tool_name)) = line.shift_remove(TOOL_NAME) else {
        return Err(LineError::Field(TOOL_NAME, "a text"));
    };
    let timestamp = line.shift_remove(TIMESTAMP);
    let timestamp = timestamp.as_ref().and_then(Value::as_str);
    let started_at = timestamp.and_then(read_time);
    if started_at.is_none() {
        return Err(LineError::Field(TIMESTAMP, "a time like 2025-06-26T10:00:00Z"));
    }
    let exact = timestamp.and_then(|text| DateTime::parse_from_rfc3339(text).ok());
    if exact.is_some_and(|exact| Some(exact.to_utc()) != started_at) {
        notes.push(ToolLineNote::Timestamp);
    }
    if line.shift_remove(SESSION_ID).is_some_and(|id| !names(&id, chat_id)) {
        notes.push(ToolLineNote::OtherSession);
    }
    let execution_time_ms = duration(line.shift_remove(EXECUTION_TIME), &mut notes)?;
    let error = match line.shift_remove(ERROR) {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text),
        Some(other) => {
            notes.push(ToolLineNote::Error);
            Some(other.to_string())
        }
    };
    let is_success = match line.shift_remove(SUCCESS) {
        None | Some(Value::Null) => error.is_none(),
        Some(Value::Bool(is_success)) => is_success,
        Some(_) => return Err(LineError::Field(SUCCESS, "true or false")),
    };
    let parameters = line.shift_remove(PARAMETERS).unwrap_or_default();
    let result = line.shift_remove(RESULT).unwrap_or_default();
    let own = line.shift_remove(OWN).map_or_else(|| Ok(Own::default()), serde_json::from_value);
    let own: Own = own.map_err(LineError::Own)?;
    let mut metadata = line;
    metadata.extend(own.metadata);
    let mut run = NewToolRun {
        run_id: own.run_id,
        tool_name,
        agent: own.agent,
        tool_call_id: own.tool_call_id,
        parameters,
        result,
        is_success,
        error,
        execution_time_ms,
        metadata,
        started_at,
    };
    let bytes = run.check()?;
    run.run_id = run.run_id.take().or_else(|| derived_id(number, &run));
    Ok(ReadToolLine { run, bytes, notes })
}

/// Reads a number of milliseconds.
fn duration(value: Option<Value>, notes: &mut Vec<ToolLineNote>) -> Result<Option<u64>, LineError> {
    let number = match value {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Number(number)) => number,
        Some(_) => return Err(LineError::Field(EXECUTION_TIME, "a number of milliseconds")),
    };
    let whole = number.as_u64().or_else(|| {
        notes.push(ToolLineNote::Duration);
        rounded(&number)
    });
    let whole = whole.ok_or(LineError::Field(EXECUTION_TIME, "a number of milliseconds"))?;
    Ok(Some(whole))
}

/// Rounds a number that is not negative.
fn rounded(number: &Number) -> Option<u64> {
    format!("{:.0}", number.as_f64()?).parse().ok()
}

/// Writes a run as the line with this number of the file of its chat, without a line break. Reading the line gives the run back.
#[must_use]
pub fn write_tool_line(run: &ToolRun, number: u64, chat_id: &ChatId) -> String {
    let mut line = JsonObject::new();
    let mut put = |field: &str, value: Value| drop(line.insert(field.to_owned(), value));
    put(TIMESTAMP, run.started_at.to_rfc3339_opts(SecondsFormat::Millis, true).into());
    put(SESSION_ID, chat_id.as_str().into());
    put(TOOL_NAME, run.tool_name.as_str().into());
    put(PARAMETERS, run.parameters.clone());
    put(RESULT, run.result.clone());
    put(SUCCESS, run.is_success.into());
    put(EXECUTION_TIME, run.execution_time_ms.into());
    put(ERROR, run.error.as_deref().into());
    let mut own = Own {
        run_id: Some(run.run_id.clone()),
        agent: run.agent.clone(),
        tool_call_id: run.tool_call_id.clone(),
        metadata: JsonObject::new(),
    };
    for (field, value) in &run.metadata {
        let metadata = if FIELDS.contains(&field.as_str()) { &mut own.metadata } else { &mut line };
        metadata.insert(field.clone(), value.clone());
    }
    if derived_id(number, &run.clone().into()) == own.run_id {
        own.run_id = None;
    }
    if own != Own::default() {
        // A struct of texts and JSON is always JSON.
        line.insert(OWN.to_owned(), serde_json::to_value(own).unwrap_or_default());
    }
    Value::Object(line).to_string()
}

fn derived_id(number: u64, run: &NewToolRun) -> Option<ToolRunId> {
    ToolRunId::parse(format!("{DIALECT}:{number}:{}", hex(&run.digest()))).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use records::Uuid7Ids;
    use serde_json::json;

    use super::*;

    const TIME: &str = "2025-06-26T10:00:00.000Z";

    fn chat() -> ChatId {
        ChatId::parse("abc123").unwrap()
    }

    fn line() -> Value {
        json!({
            "timestamp": TIME, "sessionId": "abc123", "toolName": "WebSearch",
            "parameters": { "query": "rust" }, "result": {}, "success": true,
            "executionTime": 250, "error": null,
        })
    }

    fn with(field: &str, value: Value) -> Value {
        let mut line = line();
        line[field] = value;
        line
    }

    fn read(line: &Value) -> ReadToolLine {
        read_tool_line(line.to_string().as_bytes(), 1, &chat()).unwrap()
    }

    fn stored(new: NewToolRun) -> ToolRun {
        new.kept_at(DateTime::UNIX_EPOCH, &Uuid7Ids)
    }

    #[test]
    fn a_line_becomes_a_run_and_comes_back() {
        let ReadToolLine { run, notes, .. } = read(&line());
        assert_eq!(notes, []);
        assert!(run.run_id.as_ref().unwrap().as_str().starts_with("jsonl:1:"));
        assert_eq!((&*run.tool_name, run.execution_time_ms), ("WebSearch", Some(250)));
        assert!(run.is_success && run.metadata.is_empty());
        assert_eq!(write_tool_line(&stored(run), 1, &chat()), line().to_string());
    }

    #[test]
    fn fields_that_are_not_of_the_layout_come_back() {
        let line = with("user", json!({ "$oid": 1 }));
        let run = read(&line).run;
        assert_eq!(run.metadata["user"], json!({ "$oid": 1 }));
        assert_eq!(write_tool_line(&stored(run), 1, &chat()), line.to_string());
    }

    #[test]
    fn what_is_not_stored_as_it_stands_is_noted() {
        for (field, value, note) in [
            ("timestamp", json!("2025-06-26T10:00:00.0001Z"), ToolLineNote::Timestamp),
            ("sessionId", json!("other"), ToolLineNote::OtherSession),
            ("executionTime", json!(12.5), ToolLineNote::Duration),
            ("error", json!({ "code": 1 }), ToolLineNote::Error),
        ] {
            assert_eq!(read(&with(field, value)).notes, [note], "{field}");
        }
        assert_eq!(read(&with("executionTime", json!(12.6))).run.execution_time_ms, Some(13));
    }

    #[test]
    fn what_is_missing_is_filled_in() {
        let bare = json!({ "timestamp": TIME, "toolName": "Shell", "error": "exit code 1" });
        let run = read(&bare).run;
        assert!(!run.is_success);
        assert_eq!((run.parameters, run.execution_time_ms), (Value::Null, None));
    }

    #[test]
    fn a_line_that_cannot_be_a_run_is_an_error() {
        for (line, reason) in [
            ("[]".to_owned(), "is not a JSON object"),
            ("{\"toolName\":".to_owned(), "cannot be read: "),
            (with("toolName", json!(5)).to_string(), "`toolName` must be a text"),
            (with("toolName", json!("")).to_string(), "cannot be stored: "),
            (with("timestamp", json!("today")).to_string(), "`timestamp` must be a time"),
            (with("success", json!("yes")).to_string(), "`success` must be true or false"),
            (with("executionTime", json!(-1)).to_string(), "`executionTime` must be a number"),
            (with("result", json!("x".repeat(257 << 10))).to_string(), "cannot be stored: "),
            (with("reprise", json!({ "x": 1 })).to_string(), "`reprise` unknown field"),
        ] {
            let error = read_tool_line(line.as_bytes(), 1, &chat()).unwrap_err().to_string();
            assert!(error.starts_with(reason), "{error}");
        }
    }

    proptest! {
        #[test]
        fn a_run_that_is_written_is_read_back(
            id in proptest::option::of("[a-z]{1,8}"),
            agent in proptest::option::of("[A-Za-z]{1,6}"),
            tool_call_id in proptest::option::of("[a-z]{1,6}"),
            error in proptest::option::of("\\PC{0,12}"),
            is_success: bool,
            duration in proptest::option::of(0..1_000_000_u64),
            key in "(x|timestamp|reprise|toolName|\\PC{0,4})",
            number in 1..9_u64,
        ) {
            let mut run = NewToolRun {
                run_id: id.and_then(|id| ToolRunId::parse(id).ok()),
                tool_name: "search".to_owned(),
                agent,
                tool_call_id,
                parameters: json!({ "$oid": [0.5, 1, "1"] }),
                result: json!(1.0),
                is_success,
                error,
                execution_time_ms: duration,
                metadata: json!({ key: [null] }).as_object().cloned().unwrap(),
                started_at: read_time(TIME),
            };
            run.run_id = run.run_id.take().or_else(|| derived_id(number, &run));
            let line = write_tool_line(&stored(run.clone()), number, &chat());
            let read = read_tool_line(line.as_bytes(), number, &chat()).unwrap();
            prop_assert_eq!((read.run, read.notes), (run, vec![]));
        }
    }
}
