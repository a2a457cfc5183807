//! A checked batch of tool runs to record, and the plan of which runs are new.

use chrono::{DateTime, Utc};
use records::json::Digest;
use records::{ChatId, Ids, Invalid, Item, Limits, NewToolRun, SizeLimit, ToolRun, ToolRunId};

use crate::StoreError;
use crate::rules::repeats::{Compared, Repeatable, compare, contradiction};
use crate::store::RecordedToolRun;

/// Runs to record, within the limits, each with an id.
#[derive(Debug)]
pub(crate) struct ToolRunBatch {
    runs: Vec<DigestedRun>,
}

/// A run, with the digest of the caller's input.
#[derive(Debug, Clone)]
pub(crate) struct DigestedRun {
    pub(crate) run: ToolRun,
    pub(crate) digest: Digest,
    /// Whether the caller said when the run began.
    pub(crate) has_start: bool,
}

impl Repeatable for DigestedRun {
    type Id = ToolRunId;

    fn id(&self) -> &ToolRunId {
        &self.run.run_id
    }

    fn repeats(&self, earlier: &Self) -> bool {
        let is_same_start = !self.has_start || self.run.started_at == earlier.run.started_at;
        self.digest == earlier.digest && is_same_start
    }
}

impl ToolRunBatch {
    /// Checks runs against the limits, and completes them to the records that are stored at `now`.
    pub(crate) fn check(
        runs: Vec<NewToolRun>,
        now: DateTime<Utc>,
        ids: &dyn Ids,
    ) -> Result<Self, Invalid> {
        if runs.is_empty() {
            return Err(Invalid::value("/runs", "must hold at least one run"));
        }
        if runs.len() > Limits::BATCH_TOOL_RUNS {
            let limit = format!("must hold at most {} runs", Limits::BATCH_TOOL_RUNS);
            return Err(Invalid::too_large(SizeLimit::Batch, "/runs", limit));
        }
        let mut bytes = 0;
        let mut checked = Vec::with_capacity(runs.len());
        for (index, new) in runs.into_iter().enumerate() {
            bytes += new.check().map_err(|e| e.below(Item::ToolRun(index)))?;
            let (digest, has_start) = (new.digest(), new.started_at.is_some());
            checked.push(DigestedRun { run: new.kept_at(now, ids), digest, has_start });
        }
        if bytes > Limits::BATCH_BYTES {
            let limit = format!("are {bytes} bytes; the limit is {} bytes", Limits::BATCH_BYTES);
            return Err(Invalid::too_large(SizeLimit::Batch, "/runs", limit));
        }
        if let Some((first, index)) = contradiction(&checked) {
            let detail = format!("repeats the id of run {first} of the batch with another body");
            return Err(Invalid::value("/run_id", detail).below(Item::ToolRun(index)));
        }
        Ok(Self { runs: checked })
    }

    /// Returns the ids of the runs.
    pub(crate) fn run_ids(&self) -> impl Iterator<Item = &ToolRunId> {
        self.runs.iter().map(Repeatable::id)
    }

    /// Splits the batch into the runs to record and the answer for all runs. A known run with another body refuses the whole
    /// batch.
    pub(crate) fn plan(
        &self,
        chat_id: &ChatId,
        known: &[DigestedRun],
    ) -> Result<(Vec<&DigestedRun>, Vec<RecordedToolRun>), StoreError> {
        let compared = compare(&self.runs, known).map_err(|index| {
            let run_id = self.runs[index].run.run_id.clone();
            StoreError::ToolRunConflict { chat_id: chat_id.clone(), run_id, index }
        });
        let Compared { fresh, answers } = compared?;
        let answers = answers
            .into_iter()
            .map(|(kept, outcome)| RecordedToolRun { run: kept.run.clone(), outcome });
        Ok((fresh, answers.collect()))
    }
}
