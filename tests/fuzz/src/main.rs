//! Runs one target with libFuzzer: `fuzz --target=NAME [--seeds=FOLDER] [an option or a corpus of libFuzzer]...`.
//!
//! libFuzzer ignores options with two dashes. The seeds of the target are written to the folder.

#![no_main]

use std::path::PathBuf;
use std::sync::OnceLock;

use fuzz::Target;
use libfuzzer_sys::fuzz_target;

static TARGET: OnceLock<Target> = OnceLock::new();

fuzz_target!(
    init: start(),
    |bytes: &[u8]| {
        if let Some(target) = TARGET.get() {
            (target.check)(bytes);
        }
    }
);

fn start() {
    let mut name = String::new();
    let mut seeds = None;
    for argument in std::env::args() {
        if let Some(value) = argument.strip_prefix("--target=") {
            value.clone_into(&mut name);
        } else if let Some(folder) = argument.strip_prefix("--seeds=") {
            seeds = Some(PathBuf::from(folder));
        }
    }
    let Some(target) = fuzz::target(&name) else { panic!("there is no target {name:?}") };
    if let Some(folder) = seeds {
        for (number, seed) in (target.seeds)().into_iter().enumerate() {
            if let Err(error) = std::fs::write(folder.join(format!("seed-{number:04}")), seed) {
                panic!("{}: {error}", folder.display());
            }
        }
    }
    TARGET.get_or_init(|| target);
}
