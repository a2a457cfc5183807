//! Transcripts of other systems: what can be stored of them renders validly, and in its own dialect always the same.

use records::IdSpace;
use resume::dialect::{self, Dialect, Parsed, TranscriptPosition};
use resume::ingest::{self, Check};
use resume::{Options, UnsettledPolicy};
use serde_json::Value;

use super::Target;
use crate::{fixtures, input, transcript};

pub(super) const TARGET: Target = Target { name: "dialects", check, seeds };

/// The first byte chooses the dialect, the second one another dialect, the third the policy; the rest is the transcript.
fn check(bytes: &[u8]) {
    let (own, rest) = input::byte(bytes);
    let (other, rest) = input::byte(rest);
    let (policy, rest) = input::byte(rest);
    let (own, other) = (input::dialect(own), input::dialect(other));
    let Some((system, mut messages)) = input::transcript(rest) else { return };
    own.prepare(&mut messages);
    let lenient = ingest::check(own, &messages, Check::Lenient);
    let strict = ingest::check(own, &messages, Check::Strict);
    assert!(strict.noted.is_empty());
    assert_eq!(strict.refused.len(), lenient.refused.len() + lenient.noted.len());
    let mut parsed = own.parse(system.clone(), messages.clone());
    assert_eq!(own.parse(system.clone(), messages.clone()), parsed, "parsing is deterministic");
    check_positions(&parsed, &system, &messages);
    ingest::assign_step_ids(&mut parsed);
    ingest::assign_event_ids("seed", &IdSpace::default(), &mut parsed.messages);
    assert!(parsed.messages.iter().all(|message| message.event_id.is_some()));
    let Some(log) = transcript::stored(parsed.messages) else { return };
    transcript::check_rendering(own, log.clone(), &Options::default());
    let unsettled = [
        None,
        Some(UnsettledPolicy::Settle),
        Some(UnsettledPolicy::Trim),
        Some(UnsettledPolicy::Reject),
    ];
    let options = Options { unsettled: unsettled[policy % 4], ..Options::default() };
    let rendered = other.render(log, &options);
    let broken = transcript::violations(other, &rendered.messages);
    assert_eq!(broken, [], "{own:?} to {other:?}: {:?}", rendered.messages);
}

fn check_positions(parsed: &Parsed, system: &[Value], messages: &[Value]) {
    assert_eq!(parsed.messages.len(), parsed.positions.len());
    let is_within = |position: &TranscriptPosition| match *position {
        TranscriptPosition::System(index) => index < system.len(),
        TranscriptPosition::Message(index) => index < messages.len(),
    };
    assert!(parsed.positions.iter().all(is_within));
    assert!(parsed.dropped.iter().all(|dropped| dropped.index < messages.len()));
}

fn seeds() -> Vec<Vec<u8>> {
    let numbered = (0_u8..).zip(dialect::all());
    let of = |(number, dialect): (u8, &'static dyn Dialect)| {
        let mut seeds = fixtures::prefixed(&[number, number, 0], fixtures::written(dialect.name()));
        for transcript in fixtures::transcripts() {
            let messages: Vec<Value> = serde_json::from_slice(&transcript).unwrap();
            let Some(log) = transcript::log(&messages) else { continue };
            let rendered = dialect.render(log, &Options::default());
            let whole =
                serde_json::json!({"system": rendered.system, "messages": rendered.messages});
            seeds.push([&[number, number + 3, 1][..], whole.to_string().as_bytes()].concat());
        }
        seeds
    };
    numbered.flat_map(of).collect()
}
