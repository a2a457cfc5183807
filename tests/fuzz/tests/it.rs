//! Every target on its seeds, on the inputs that once failed, and on mutations of both.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fs;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use fastrand::Rng;
use fuzz::mutation::mutated;
use fuzz::{TARGETS, Target};

/// How long a target is fed with mutations, beyond the fewest.
const MAX_TIME: Duration = Duration::from_secs(1);
/// The fewest and the most mutations of a target.
const MUTATIONS: Range<usize> = 50..2_000;

/// Declares a test for each target.
macro_rules! targets {
    ($($name:ident)+) => {
        const NAMES: &[&str] = &[$(stringify!($name)),+];

        $(#[test]
        fn $name() {
            run(&fuzz::target(stringify!($name)).unwrap());
        })+
    };
}

targets! {
    json dialects renderings assemblies jsonl imports search config bodies queries cursors headers contexts streams events sockets
    tokens keys checkpoints
}

#[test]
fn every_target_has_a_test() {
    let names = TARGETS.iter().map(|target| target.name);
    assert!(names.eq(NAMES.iter().copied()));
}

fn run(target: &Target) {
    let mut inputs = (target.seeds)();
    assert!(!inputs.is_empty());
    for (number, seed) in inputs.iter().enumerate() {
        check(target, seed, &format!("seed {number}"));
    }
    for (name, input) in regressions(target) {
        check(target, &input, &name);
        inputs.push(input);
    }
    let mut rng = Rng::with_seed(1);
    let started = Instant::now();
    for number in 0..MUTATIONS.end {
        if number >= MUTATIONS.start && started.elapsed() > MAX_TIME {
            break;
        }
        let (input, other) = (rng.usize(..inputs.len()), rng.usize(..inputs.len()));
        let input = mutated(&inputs[input], &inputs[other], &mut rng);
        check(target, &input, &format!("mutation {number}"));
    }
}

fn check(target: &Target, input: &[u8], what: &str) {
    let result = catch_unwind(AssertUnwindSafe(|| (target.check)(input)));
    assert!(result.is_ok(), "{}, {what}: {}", target.name, input.escape_ascii());
}

/// Returns the inputs of a target that once failed, with their names.
fn regressions(target: &Target) -> Vec<(String, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions").join(target.name);
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let paths: BTreeSet<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    let read = |path: &PathBuf| (path.display().to_string(), fs::read(path).unwrap());
    paths.iter().map(read).collect()
}
