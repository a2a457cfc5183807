//! Runs the whole benchmark at its smallest size: checks that it runs and reports, not any speed.

#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::fs;
use std::process::{Command, Output};

use serde_json::Value;

fn bench(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bench")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

const SCENARIOS: [&str; 25] = [
    "append",
    "append-growth",
    "append-hot",
    "append-many",
    "append-members",
    "append-indexes",
    "append-in-turn",
    "append-batch",
    "resume",
    "resume-plan",
    "turn",
    "tail",
    "list",
    "lists-million",
    "purge",
    "http-append",
    "http-resume",
    "calls-hot",
    "stats",
    "live-latency",
    "live-fanout",
    "live-processes",
    "streams",
    "join",
    "search",
];

#[test]
fn every_scenario_runs_and_is_reported_in_every_form() {
    let folder = tempfile::tempdir().unwrap();
    let (json, markdown) = (folder.path().join("run.json"), folder.path().join("run.md"));
    let files = ["--json", json.to_str().unwrap(), "--markdown", markdown.to_str().unwrap()];
    let output = bench(&[&["--quick"], &files[..]].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));

    let report: Value = serde_json::from_slice(&fs::read(json).unwrap()).unwrap();
    let scenarios = report["scenarios"].as_array().unwrap();
    let names: Vec<_> = scenarios.iter().map(|scenario| scenario["name"].as_str()).collect();
    assert_eq!(names, SCENARIOS.map(Some));
    let (table, markdown) = (text(&output.stdout), fs::read_to_string(markdown).unwrap());
    for comparison in scenarios.iter().flat_map(|it| it["comparisons"].as_array().unwrap()) {
        for number in ["/ours/p50_ms", "/floor/per_second", "/ratio/min"] {
            let number = comparison.pointer(number).and_then(Value::as_f64);
            assert!(number.is_some_and(|number| number > 0.0), "{comparison}");
        }
        for side in ["/ours/name", "/floor/name"] {
            let name = comparison.pointer(side).and_then(Value::as_str).unwrap();
            assert!(table.contains(name) && markdown.contains(name), "{name}");
        }
    }
}

#[test]
fn the_help_names_every_scenario_and_what_it_is_compared_with() {
    let help = text(&bench(&["--help"]).stdout);
    for scenario in SCENARIOS {
        let line = help.lines().find(|line| line.trim().starts_with(&format!("- {scenario}:")));
        assert!(line.is_some(), "{scenario} is not in\n{help}");
    }
}

#[test]
fn a_scenario_that_is_not_there_is_a_usage_error() {
    let output = bench(&["append-twice"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("append-many"), "{}", text(&output.stderr));
}
