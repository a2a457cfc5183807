//! The fixtures of the project, as seeds.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The largest seed: a larger one slows the fuzzer more than it helps.
const MAX_SEED: usize = 16 << 10;

/// Returns a path below the workspace root.
pub(crate) fn path(below: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(below)
}

/// Returns the content of a file.
pub(crate) fn file(below: &str) -> Vec<u8> {
    fs::read(path(below)).unwrap_or_else(|error| panic!("{below}: {error}"))
}

/// Returns the lines of a file that are no larger than a seed.
pub(crate) fn lines(below: &str) -> Vec<Vec<u8>> {
    let text = file(below);
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
    lines.filter(|line| line.len() <= MAX_SEED).map(<[u8]>::to_vec).collect()
}

/// Returns the stored messages of the transcripts, one list for each.
pub(crate) fn transcripts() -> Vec<Vec<u8>> {
    let names = ["every-part", "group-chat", "refused", "tool-calls"];
    let list = |name: &str| {
        let lines = lines(&format!("fixtures/transcripts/{name}.jsonl"));
        let messages: Vec<Value> =
            lines.iter().map(|line| serde_json::from_slice(line).unwrap()).collect();
        Value::from(messages).to_string().into_bytes()
    };
    names.into_iter().map(list).collect()
}

/// Returns transcripts in a dialect, if there are any.
pub(crate) fn written(dialect: &str) -> Vec<Vec<u8>> {
    let below = format!("fixtures/written/{dialect}.jsonl");
    if path(&below).exists() { lines(&below) } else { Vec::new() }
}

/// Puts bytes before each seed.
pub(crate) fn prefixed(prefix: &[u8], seeds: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    seeds.into_iter().map(|seed| [prefix, &seed].concat()).collect()
}
