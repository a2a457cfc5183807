use std::collections::HashSet;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use anyhow::Context as _;
use records::{ChatId, Limits, NewToolRun, ToolRunId};
use transfer::jsonl::{ReadToolLine, read_tool_line};
use transfer::lines::Lines;

use super::super::sink::{BATCH_BYTES, Stop};
use super::session::Importer;

impl Importer<'_> {
    /// Imports the runs of the tools of a chat.
    pub(super) async fn import_tools(
        &mut self,
        chat_id: &ChatId,
        path: &Path,
        place: &str,
    ) -> Result<(), Stop> {
        let file = File::open(path).context("cannot be opened")?;
        let mut lines = Lines::new(BufReader::with_capacity(1 << 18, file));
        let known = self.sink.known_tool_runs(chat_id).await?;
        let (mut batch, mut batch_bytes, mut bytes) = (Vec::new(), 0, 0);
        while let Some(line) = lines.next_line().context("cannot be read")? {
            let number = line.number;
            let read = self.read(&line, place, |text| {
                let read = read_tool_line(text, number, chat_id)?;
                Ok((read.notes.iter().map(ToString::to_string).collect(), read))
            })?;
            self.report.bar.inc(lines.bytes() - bytes);
            bytes = lines.bytes();
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
