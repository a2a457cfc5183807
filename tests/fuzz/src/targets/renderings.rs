//! Stored messages of any kind: every dialect renders them validly, and parses its rendering back.

use resume::{Options, UnsettledPolicy, window};
use serde_json::Value;

use super::Target;
use crate::{fixtures, input, transcript};

pub(super) const TARGET: Target = Target { name: "renderings", check, seeds };

/// The policies whose renderings are valid.
const POLICIES: [Option<UnsettledPolicy>; 5] = [
    None,
    Some(UnsettledPolicy::Remove),
    Some(UnsettledPolicy::Settle),
    Some(UnsettledPolicy::Trim),
    Some(UnsettledPolicy::Reject),
];

/// The first byte chooses the dialect, the second one the policy and the viewpoint, the third the size of the window; the rest
/// is a list of messages with the fields of stored ones.
fn check(bytes: &[u8]) {
    let (dialect, rest) = input::byte(bytes);
    let (options, rest) = input::byte(rest);
    let (size, rest) = input::byte(rest);
    let Some(Value::Array(messages)) = input::json(rest) else { return };
    let Some(log) = transcript::log(&messages) else { return };
    let dialect = input::dialect(dialect);
    let unsettled = POLICIES[options % POLICIES.len()];
    let viewpoint = (options >= 128).then(|| "planner".to_owned());
    let options = Options { unsettled, viewpoint: viewpoint.clone(), ..Options::default() };
    let rendered = dialect.render(log.clone(), &options);
    let broken = transcript::violations(dialect, &rendered.messages);
    assert_eq!(broken, [], "{dialect:?}: {:?}", rendered.messages);
    if unsettled.is_none() && viewpoint.is_none() {
        transcript::check_rendering(dialect, log.clone(), &options);
    }
    let kept = window::newest_indices(&log, size);
    assert!(kept.len() <= size && kept.is_sorted());
    let window = window::newest(log.clone(), size);
    assert!(kept.iter().map(|at| &log[*at]).eq(&window), "a window is the messages it names");
    let rendered = dialect.render(window, &options);
    assert_eq!(transcript::violations(dialect, &rendered.messages), [], "{dialect:?}, in a window");
}

fn seeds() -> Vec<Vec<u8>> {
    let transcripts = fixtures::transcripts();
    let of = |dialect: u8| {
        let options = [dialect, dialect % 5, 200 - dialect];
        fixtures::prefixed(&options, transcripts.clone())
    };
    (0..20).flat_map(of).collect()
}
