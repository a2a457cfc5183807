use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::clock::whole_milliseconds;
use crate::ids::{NAME_RULE, is_name};
use crate::json::{self, Digest, Hasher, JsonObject, Limits};
use crate::{Ids, Invalid, SizeLimit, ToolRunId};

/// A run of a tool: what it was given, what came of it, and how long it took.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolRun {
    /// The id of the run, unique within its chat.
    pub run_id: ToolRunId,
    /// The name of the tool.
    pub tool_name: String,
    /// The name of the agent that used the tool.
    pub agent: Option<String>,
    /// The id that the model gave to the call which the run answers.
    pub tool_call_id: Option<String>,
    /// What the tool was given.
    pub parameters: Value,
    /// What the tool returned; null if it returned nothing.
    pub result: Value,
    /// Whether the tool did what it was asked for.
    pub is_success: bool,
    /// Why the tool failed.
    pub error: Option<String>,
    /// How long the run took, in milliseconds; `None` if it was not measured.
    pub execution_time_ms: Option<u64>,
    /// Any data of the caller about the run.
    pub metadata: JsonObject,
    /// When the run began.
    pub started_at: DateTime<Utc>,
    /// When the run was recorded. Its retention counts from then on.
    pub recorded_at: DateTime<Utc>,
}

/// A run of a tool to record.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewToolRun {
    /// The id of the run; the store mints one if it is missing. Only a run with an id is safe to repeat.
    pub run_id: Option<ToolRunId>,
    /// The name of the tool.
    pub tool_name: String,
    /// The name of the agent that used the tool.
    pub agent: Option<String>,
    /// The id that the model gave to the call which the run answers.
    pub tool_call_id: Option<String>,
    /// What the tool was given.
    pub parameters: Value,
    /// What the tool returned; null if it returned nothing.
    pub result: Value,
    /// Whether the tool did what it was asked for.
    pub is_success: bool,
    /// Why the tool failed.
    pub error: Option<String>,
    /// How long the run took, in milliseconds.
    pub execution_time_ms: Option<u64>,
    /// Any data of the caller about the run.
    pub metadata: JsonObject,
    /// When the run began, truncated to milliseconds; the time of the write if it is missing.
    pub started_at: Option<DateTime<Utc>>,
}

/// The sums of runs of tools.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToolSums {
    /// The number of runs.
    pub runs: u64,
    /// How many of them failed.
    pub failed: u64,
    /// How many of them say how long they took.
    pub timed: u64,
    /// The sum of their durations, in milliseconds.
    pub execution_time_ms: u64,
    /// The longest of their durations, in milliseconds; 0 if none is known.
    pub longest_ms: u64,
}

impl ToolRun {
    /// Returns the size of what callers wrote, in bytes.
    pub fn bytes(&self) -> usize {
        // Everything that is stored was measured before.
        let [parameters, result] =
            [&self.parameters, &self.result].map(|value| json::measure(value).unwrap_or_default());
        let metadata = json::measure_object(&self.metadata).unwrap_or_default();
        parameters + result + metadata + self.error.as_ref().map_or(0, String::len)
    }
}

/// Returns what a caller says to record the same run again.
impl From<ToolRun> for NewToolRun {
    fn from(run: ToolRun) -> Self {
        Self {
            run_id: Some(run.run_id),
            tool_name: run.tool_name,
            agent: run.agent,
            tool_call_id: run.tool_call_id,
            parameters: run.parameters,
            result: run.result,
            is_success: run.is_success,
            error: run.error,
            execution_time_ms: run.execution_time_ms,
            metadata: run.metadata,
            started_at: Some(run.started_at),
        }
    }
}

impl NewToolRun {
    /// Checks every field, and returns the size of the run in bytes.
    pub fn check(&self) -> Result<usize, Invalid> {
        let names = [
            ("/tool_name", Some(&self.tool_name)),
            ("/agent", self.agent.as_ref()),
            ("/tool_call_id", self.tool_call_id.as_ref()),
        ];
        for (pointer, name) in names {
            if name.is_some_and(|name| !is_name(name)) {
                return Err(Invalid::value(pointer, NAME_RULE));
            }
        }
        if self.execution_time_ms.is_some_and(|duration| duration > Limits::TOOL_RUN_MS) {
            let limit = format!("must be at most {}", Limits::TOOL_RUN_MS);
            return Err(Invalid::value("/execution_time_ms", limit));
        }
        let mut all = 0;
        for (pointer, value) in [("/parameters", &self.parameters), ("/result", &self.result)] {
            let bytes = json::measure(value).map_err(|e| e.below(pointer))?;
            SizeLimit::ToolRun.check(pointer, bytes, Limits::TOOL_VALUE_BYTES)?;
            all += bytes;
        }
        let error = self.error.as_ref().map_or(0, String::len);
        SizeLimit::ToolRun.check("/error", error, Limits::TOOL_ERROR_BYTES)?;
        let metadata = json::measure_object(&self.metadata).map_err(|e| e.below("/metadata"))?;
        SizeLimit::Metadata.check("/metadata", metadata, Limits::METADATA_BYTES)?;
        Ok(all + error + metadata)
    }

    /// Returns the digest that distinguishes a repeated run from another one with the same id. The time at which it began is
    /// not part of it, because a caller may leave it to the store.
    #[must_use]
    pub fn digest(&self) -> Digest {
        let mut hasher = Hasher::default();
        let texts = [
            ("tool_name", Some(self.tool_name.as_str())),
            ("agent", self.agent.as_deref()),
            ("tool_call_id", self.tool_call_id.as_deref()),
            ("error", self.error.as_deref()),
        ];
        for (name, text) in texts {
            hasher.field(name, &Value::from(text));
        }
        hasher.field("parameters", &self.parameters);
        hasher.field("result", &self.result);
        hasher.field("is_success", &Value::from(self.is_success));
        hasher.field("execution_time_ms", &Value::from(self.execution_time_ms));
        hasher.object("metadata", &self.metadata);
        hasher.finish()
    }

    /// Returns the run to store at the time `now`.
    #[must_use]
    pub fn kept_at(self, now: DateTime<Utc>, ids: &dyn Ids) -> ToolRun {
        ToolRun {
            run_id: self.run_id.unwrap_or_else(|| ToolRunId::mint(ids)),
            tool_name: self.tool_name,
            agent: self.agent,
            tool_call_id: self.tool_call_id,
            parameters: self.parameters,
            result: self.result,
            is_success: self.is_success,
            error: self.error,
            execution_time_ms: self.execution_time_ms,
            metadata: self.metadata,
            started_at: self.started_at.map_or(now, whole_milliseconds),
            recorded_at: now,
        }
    }
}

impl ToolSums {
    /// Adds a run.
    pub fn add(&mut self, run: &ToolRun) {
        let duration = run.execution_time_ms;
        self.merge(&Self {
            runs: 1,
            failed: u64::from(!run.is_success),
            timed: u64::from(duration.is_some()),
            execution_time_ms: duration.unwrap_or_default(),
            longest_ms: duration.unwrap_or_default(),
        });
    }

    /// Adds other sums.
    pub fn merge(&mut self, other: &Self) {
        self.runs += other.runs;
        self.failed += other.failed;
        self.timed += other.timed;
        self.execution_time_ms += other.execution_time_ms;
        self.longest_ms = self.longest_ms.max(other.longest_ms);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Uuid7Ids;

    fn run() -> NewToolRun {
        NewToolRun {
            tool_name: "WebSearch".to_owned(),
            parameters: json!({ "query": "rust" }),
            result: json!(["a", "b"]),
            is_success: true,
            execution_time_ms: Some(250),
            ..NewToolRun::default()
        }
    }

    #[test]
    fn errors_point_at_their_fields() {
        let pointer = |run: NewToolRun| run.check().unwrap_err().location.to_string();
        assert!(run().check().is_ok());
        assert_eq!(pointer(NewToolRun::default()), "/tool_name");
        assert_eq!(pointer(NewToolRun { agent: Some(" a".to_owned()), ..run() }), "/agent");
        let duration = Some(Limits::TOOL_RUN_MS + 1);
        assert_eq!(
            pointer(NewToolRun { execution_time_ms: duration, ..run() }),
            "/execution_time_ms"
        );
        let integer = json!([{ "n": u64::MAX }]);
        assert_eq!(pointer(NewToolRun { result: integer, ..run() }), "/result/0/n");
        let text = |bytes: usize| "x".repeat(bytes + 1);
        let large = json!(text(Limits::TOOL_VALUE_BYTES));
        assert_eq!(pointer(NewToolRun { parameters: large, ..run() }), "/parameters");
        let error = Some(text(Limits::TOOL_ERROR_BYTES));
        assert_eq!(pointer(NewToolRun { error, ..run() }), "/error");
    }

    #[test]
    fn the_size_is_that_of_what_is_kept() {
        let new = NewToolRun { error: Some("late".to_owned()), ..run() };
        let bytes = new.check().unwrap();
        assert_eq!(new.kept_at(DateTime::UNIX_EPOCH, &Uuid7Ids).bytes(), bytes);
    }

    #[test]
    fn different_runs_have_different_digests() {
        let digest = run().digest();
        let started_at = Some(DateTime::UNIX_EPOCH);
        assert_eq!(NewToolRun { started_at, ..run() }.digest(), digest);
        assert_ne!(NewToolRun { is_success: false, ..run() }.digest(), digest);
        assert_ne!(NewToolRun { execution_time_ms: None, ..run() }.digest(), digest);
        assert_ne!(NewToolRun { result: Value::Null, ..run() }.digest(), digest);
        let (parameters, result) = (run().result, run().parameters);
        assert_ne!(NewToolRun { parameters, result, ..run() }.digest(), digest);
    }

    #[test]
    fn sums_count_only_durations_that_are_known() {
        let mut sums = ToolSums::default();
        let failed = NewToolRun { is_success: false, execution_time_ms: None, ..run() };
        for new in [run(), failed] {
            sums.add(&new.kept_at(DateTime::UNIX_EPOCH, &Uuid7Ids));
        }
        let expected =
            ToolSums { runs: 2, failed: 1, timed: 1, execution_time_ms: 250, longest_ms: 250 };
        assert_eq!(sums, expected);
    }
}
