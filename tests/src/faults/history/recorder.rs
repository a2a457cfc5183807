use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Clock, FinalState, History, Moment, Operation, Record};

/// The folder of a history.
#[derive(Clone, Debug)]
pub struct Archive(PathBuf);

const FINAL_STATE: &str = "final.json";

impl Archive {
    /// Keeps a history in `folder`, which is made if it is missing.
    pub fn in_folder(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder)?;
        Ok(Self(folder.to_owned()))
    }

    /// Its path.
    pub fn folder(&self) -> &Path {
        &self.0
    }

    /// Opens the file of a client that has none yet.
    pub fn recorder(&self, client: u32, clock: Clock) -> Result<Recorder> {
        let file = File::create_new(self.0.join(format!("client-{client:03}.jsonl")))?;
        Ok(Recorder { client, clock, lines: BufWriter::new(file) })
    }

    /// Adds the final state.
    pub fn finish(&self, state: &FinalState) -> Result<()> {
        let mut file = BufWriter::new(File::create(self.0.join(FINAL_STATE))?);
        write_line(&mut file, state)?;
        Ok(file.flush()?)
    }

    /// Reads the history of all clients.
    pub fn read(&self) -> Result<History> {
        let mut records: Vec<Record> = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "jsonl") {
                records.extend(read_lines(&path)?);
            }
        }
        records.sort_by_key(|record| (record.t0, record.client));
        let state = read_lines(&self.0.join(FINAL_STATE))?.pop();
        let final_state = state.context("the history has no final state")?;
        Ok(History { records, final_state })
    }
}

fn read_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>> {
    let file = File::open(path).with_context(|| path.display().to_string())?;
    let lines = BufReader::new(file).lines();
    let lines = lines.map(|line| Ok(serde_json::from_str(&line?)?));
    lines.collect::<Result<_>>().with_context(|| path.display().to_string())
}

fn write_line(file: &mut BufWriter<File>, value: &impl Serialize) -> Result<()> {
    serde_json::to_writer(&mut *file, value)?;
    Ok(file.write_all(b"\n")?)
}

/// Records the operations of one client.
#[derive(Debug)]
pub struct Recorder {
    client: u32,
    clock: Clock,
    lines: BufWriter<File>,
}

impl Recorder {
    /// The number of the client.
    pub fn client(&self) -> u32 {
        self.client
    }

    /// The current time.
    pub fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Records an operation that was begun at `t0` and has just ended.
    pub fn record(&mut self, t0: Moment, operation: Operation) -> Result<()> {
        self.record_until(t0, self.clock.now(), operation)
    }

    /// Records an operation that lasted from `t0` to `t1`.
    pub fn record_until(&mut self, t0: Moment, t1: Moment, operation: Operation) -> Result<()> {
        write_line(&mut self.lines, &Record { client: self.client, t0, t1, operation })
    }

    /// Flushes all records to the file.
    pub fn finish(mut self) -> Result<()> {
        Ok(self.lines.flush()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::faults::history::{NemesisRecord, Outcome, Refusal};

    #[test]
    fn what_two_clients_record_is_read_back_in_the_order_of_its_beginning() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let archive = Archive::in_folder(folder.path())?;
        let clock = Clock::start();
        let refusal = Refusal { code: "timeout".to_owned(), status: None, retry_after: None };
        let written =
            Operation::WriteContext { chat: "a".to_owned(), version: 3, outcome: Outcome::Ok(()) };
        let unknown =
            Operation::ReadContext { chat: "a".to_owned(), outcome: Outcome::Info(refusal) };
        let struck = Operation::Nemesis(NemesisRecord { kind: "kill".to_owned(), fired: 1 });
        let (mut one, mut other) = (archive.recorder(1, clock)?, archive.recorder(2, clock)?);
        other.record(Moment(20), unknown.clone())?;
        one.record(Moment(10), written.clone())?;
        one.record(Moment(30), struck.clone())?;
        one.finish()?;
        other.finish()?;
        archive.finish(&FinalState::default())?;

        let records = archive.read()?.records;
        let operations: Vec<_> = records.into_iter().map(|record| record.operation).collect();
        assert_eq!(operations, [written, unknown, struck]);
        Ok(())
    }
}
