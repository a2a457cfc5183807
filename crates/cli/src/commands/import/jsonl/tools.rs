use std::collections::HashSet;

use records::{ChatId, Limits, NewToolRun, ToolRunId};
use transfer::jsonl::{ReadToolLine, read_tool_line};

use super::super::sink::{BATCH_BYTES, Stop};
use super::super::source::{Source, next_line};
use super::session::Importer;

impl Importer<'_> {
    /// Imports the runs of the tools of a chat.
    pub(super) async fn import_tools(
        &mut self,
        chat_id: &ChatId,
        source: &Source,
    ) -> Result<(), Stop> {
        let (mut lines, file) = (source.open(&self.report.bar)?, source.name());
        let known = self.sink.known_tool_runs(chat_id).await?;
        let (mut batch, mut batch_bytes) = (Vec::new(), 0);
        while let Some(line) = next_line(&mut lines, &file, self.report)? {
            let read = self.read(&line, &source.at(line.number), |text| {
                let read = read_tool_line(text, line.number, chat_id)?;
                Ok((read.notes.iter().map(ToString::to_string).collect(), read))
            })?;
            let Some(ReadToolLine { run, bytes, .. }) = read else { continue };
            if batch.len() == Limits::BATCH_TOOL_RUNS || batch_bytes + bytes > BATCH_BYTES {
                self.record(chat_id, std::mem::take(&mut batch), &known).await?;
                batch_bytes = 0;
            }
            batch_bytes += bytes;
            batch.push(run);
        }
        self.record(chat_id, batch, &known).await
    }

    async fn record(
        &mut self,
        chat_id: &ChatId,
        runs: Vec<NewToolRun>,
        known: &HashSet<ToolRunId>,
    ) -> Result<(), Stop> {
        let all = runs.len();
        let repeated = self.sink.record_tool_runs(chat_id, runs, known).await?;
        let count = |number| u64::try_from(number).unwrap_or_default();
        self.report.counts.tool_runs_known += count(repeated);
        self.report.counts.tool_runs_stored += count(all - repeated);
        Ok(())
    }
}
