//! The chunks of a stream: order and repetition do not change the messages that are assembled from them.

use resume::Options;
use resume::assembly::{Assembly, Stream};
use resume::dialect::{Dialect as _, UiMessage};
use serde_json::Value;

use super::Target;
use crate::{fixtures, input, transcript};

pub(super) const TARGET: Target = Target { name: "assemblies", check, seeds };

/// The first byte chooses the protocol; the first line is an order in which chunks arrive first; the rest is the list of chunks.
fn check(bytes: &[u8]) {
    let (stream, rest) = input::byte(bytes);
    let (order, rest) = input::line(rest);
    let Some(Value::Array(chunks)) = input::json(rest) else { return };
    let stream = if stream % 2 == 0 { Stream::UiMessage } else { Stream::Acp };
    let whole = assembled(stream, &chunks, &[]);
    assert_eq!(assembled(stream, &chunks, order), whole, "order and repetition change nothing");
    // Parts that are complete in one chunk are the agent's own; what is stored of them renders validly.
    let parsed = UiMessage.parse(Vec::new(), whole);
    if let Some(log) = transcript::stored(parsed.messages) {
        transcript::check_rendering(&UiMessage, log, &Options::default());
    }
}

fn assembled(stream: Stream, chunks: &[Value], order: &[u8]) -> Vec<Value> {
    let mut assembly = Assembly::new(stream, "s");
    let early = order.iter().map(|number| usize::from(*number));
    for at in early.filter(|at| *at < chunks.len()).chain(0..chunks.len()) {
        // An invalid chunk is skipped.
        let _ = assembly.push(at as u64, chunks[at].clone());
    }
    assert_eq!(assembly.position(), chunks.len() as u64);
    assembly.messages()
}

fn seeds() -> Vec<Vec<u8>> {
    let chunks = fixtures::lines("fixtures/streams/ui-message.jsonl");
    let updates = fixtures::written("acp").into_iter().map(|line| {
        let whole: Value = serde_json::from_slice(&line).unwrap();
        whole["messages"].to_string().into_bytes()
    });
    let mut seeds = fixtures::prefixed(b"\0\x03\x01\n", chunks);
    seeds.extend(fixtures::prefixed(b"\x01\x02\x02\n", updates.collect()));
    seeds
}
