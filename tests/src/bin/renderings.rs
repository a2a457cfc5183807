//! Renders every available transcript in every dialect, for the target libraries.
//!
//! Writes to `--out` a file for each dialect, one transcript a line: `{"source", "messages", "system"}`,
//! and one file with assembled streams. Prints a table of what was left out and changed; every
//! rendering has passed the validator of its dialect.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clap::Parser;
use records::{EventId, Message, MessageBody};
use resume::Options;
use resume::assembly::{Assembly, Stream};
use resume::dialect::{self, Dialect};
use resume::ingest::speaker_from_role;
use serde_json::{Value, json};
use tests::transcript::{self, Conversation, stored_message};

#[derive(Debug, Parser)]
struct Arguments {
    /// The directory to write to.
    #[arg(long)]
    out: PathBuf,
}

/// The sources of transcripts, and the field that holds their messages.
const REAL: [(&str, &str); 3] = [
    ("ag2-captain.jsonl", "history"),
    ("magentic-one.jsonl", "history"),
    ("openai-airline.jsonl", "messages"),
];

#[expect(clippy::print_stdout, reason = "the table is what it is run for")]
fn main() -> Result<()> {
    let Arguments { out } = Arguments::parse();
    fs::create_dir_all(&out)?;
    let transcripts = transcripts()?;
    println!("| dialect | transcripts | messages | rendered | left out | changed |");
    println!("|---|---|---|---|---|---|");
    for dialect in dialect::all() {
        let mut count = Count::default();
        let mut file = BufWriter::new(File::create(out.join(format!("{}.jsonl", dialect.name())))?);
        for (source, messages) in &transcripts {
            writeln!(file, "{}", count.render(dialect, source, messages)?)?;
        }
        file.flush()?;
        println!("{}", count.row(dialect.name()));
    }
    assemble(&out)
}

/// Assembles streams of the AI SDK: writes the chunks and the message of each to `assembled.jsonl`.
fn assemble(out: &Path) -> Result<()> {
    let mut file = BufWriter::new(File::create(out.join("assembled.jsonl"))?);
    for chunks in transcript::streams("ui-message.jsonl")? {
        let mut assembly = Assembly::new(Stream::UiMessage, "stream");
        for (position, chunk) in (0..).zip(chunks.as_array().into_iter().flatten()) {
            assembly.push(position, chunk.clone())?;
        }
        let messages = assembly.messages();
        writeln!(file, "{}", json!({"chunks": chunks, "message": messages.first()}))?;
    }
    Ok(file.flush()?)
}

/// Reads the transcripts of the project, and logs of real runs if they are available.
fn transcripts() -> Result<Vec<(String, Vec<Message>)>> {
    let mut found = Vec::new();
    for name in ["group-chat.jsonl", "tool-calls.jsonl", "every-part.jsonl", "refused.jsonl"] {
        found.push((name.to_owned(), stored(transcript::fixture(name)?)?));
    }
    for (name, field) in REAL {
        let runs = transcript::real_runs(name, field)?.unwrap_or_default();
        for (number, run) in runs.into_iter().enumerate() {
            found.push((format!("{name}:{}", number + 1), stored(run)?));
        }
    }
    Ok(found)
}

/// Returns messages as the store's log has them.
fn stored(conversation: Conversation) -> Result<Vec<Message>> {
    // The strict format is read as fields of the log.
    let parsed = dialect::Ag2.parse(Vec::new(), conversation);
    ensure!(parsed.dropped.is_empty(), "a message cannot be read: {:?}", parsed.dropped);
    let numbered = parsed.messages.into_iter().enumerate();
    numbered.map(|(sequence, message)| at(sequence, message.body)).collect()
}

fn at(sequence: usize, mut body: MessageBody) -> Result<Message> {
    speaker_from_role(&mut body);
    let event_id = EventId::parse(format!("evt_{sequence}"))?;
    Ok(stored_message(sequence as u64, event_id, body))
}

/// The results of all transcripts in one dialect.
#[derive(Debug, Default)]
struct Count {
    transcripts: usize,
    messages: usize,
    rendered: usize,
    dropped: BTreeMap<&'static str, usize>,
    repaired: BTreeMap<&'static str, usize>,
}

impl Count {
    /// Renders a transcript, and validates the rendering.
    fn render(
        &mut self,
        dialect: &dyn Dialect,
        source: &str,
        messages: &[Message],
    ) -> Result<Value> {
        let rendered = dialect.render(messages.to_vec(), &Options::default());
        let found = dialect::validate(dialect, &rendered.messages);
        ensure!(found.is_ok(), "{source} in {} breaks rules: {found:?}", dialect.name());
        self.transcripts += 1;
        self.messages += messages.len();
        self.rendered += rendered.messages.len();
        for dropped in &rendered.dropped {
            *self.dropped.entry(dropped.reason.slug()).or_default() += 1;
        }
        for repaired in &rendered.repaired {
            *self.repaired.entry(repaired.repair.slug()).or_default() += 1;
        }
        let (messages, system) = (rendered.messages, rendered.system);
        Ok(json!({"source": source, "messages": messages, "system": system}))
    }

    /// Returns the row of the table.
    fn row(&self, dialect: &str) -> String {
        let Self { transcripts, messages, rendered, dropped, repaired } = self;
        let (dropped, repaired) = (listed(dropped), listed(repaired));
        format!(
            "| `{dialect}` | {transcripts} | {messages} | {rendered} | {dropped} | {repaired} |"
        )
    }
}

fn listed(counts: &BTreeMap<&'static str, usize>) -> String {
    let counts: Vec<_> = counts.iter().map(|(what, count)| format!("`{what}` {count}")).collect();
    counts.join(", ")
}
