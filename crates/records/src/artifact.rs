use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::clock::whole_milliseconds;
use crate::json::{self, Limits};
use crate::{Invalid, SizeLimit};

/// The latest content of the user's artifact panel, and the data to show it again.
#[derive(Debug, Clone, PartialEq)]
pub struct Artifact {
    /// The tool that shows the artifact.
    pub ui_tool_id: Option<String>,
    /// The event that produced the artifact.
    pub event_id: Option<String>,
    /// Where the artifact is shown, such as `artifact` or `inline`.
    pub display: Option<String>,
    /// The workflow that produced the artifact.
    pub workflow_name: Option<String>,
    /// The data that the tool shows.
    pub payload: Value,
    /// When the artifact was produced.
    pub updated_at: DateTime<Utc>,
}

/// An artifact to store.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NewArtifact {
    /// The tool that shows the artifact.
    pub ui_tool_id: Option<String>,
    /// The event that produced the artifact.
    pub event_id: Option<String>,
    /// Where the artifact is shown.
    pub display: Option<String>,
    /// The workflow that produced the artifact.
    pub workflow_name: Option<String>,
    /// The data that the tool shows, at most [`Limits::ARTIFACT_BYTES`].
    pub payload: Value,
    /// When the artifact was produced, truncated to milliseconds; the time of the write if it is missing.
    pub updated_at: Option<DateTime<Utc>>,
}

impl NewArtifact {
    /// Checks every field, and returns the size of the payload encoded as BSON, in bytes.
    pub fn check(&self) -> Result<usize, Invalid> {
        const MAX_CHARS: usize = 256;
        let texts = [
            ("/ui_tool_id", &self.ui_tool_id),
            ("/event_id", &self.event_id),
            ("/display", &self.display),
            ("/workflow_name", &self.workflow_name),
        ];
        for (pointer, text) in texts {
            if text.as_deref().is_some_and(|text| text.chars().count() > MAX_CHARS) {
                let limit = format!("must be at most {MAX_CHARS} characters");
                return Err(Invalid::value(pointer, limit));
            }
        }
        let bytes = json::measure(&self.payload).map_err(|e| e.below("/payload"))?;
        if bytes > Limits::ARTIFACT_BYTES {
            let detail = format!("is {bytes} bytes; the limit is {} bytes", Limits::ARTIFACT_BYTES);
            return Err(Invalid::too_large(SizeLimit::Artifact, "/payload", detail));
        }
        Ok(bytes)
    }

    /// Returns the artifact to store at the time `now`.
    #[must_use]
    pub fn kept_at(self, now: DateTime<Utc>) -> Artifact {
        Artifact {
            ui_tool_id: self.ui_tool_id,
            event_id: self.event_id,
            display: self.display,
            workflow_name: self.workflow_name,
            payload: self.payload,
            updated_at: self.updated_at.map_or(now, whole_milliseconds),
        }
    }
}
