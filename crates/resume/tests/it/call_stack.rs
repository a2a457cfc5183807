//! Paths from the outermost call to one.

use proptest::prelude::*;
use records::{StackFrame, StackId};
use resume::call_stack::{CallStackError, path};

fn id(text: &str) -> StackId {
    StackId::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn frame(stack_id: &str, parent: Option<&str>) -> StackFrame {
    StackFrame { stack_id: id(stack_id), parent_id: parent.map(id), depth: 0 }
}

#[test]
fn a_path_leads_from_the_outermost_call() {
    let frames =
        [frame("c", Some("b")), frame("a", None), frame("b", Some("a")), frame("b", Some("a"))];
    assert_eq!(path(&frames, &id("c")).unwrap(), ["a", "b", "c"].map(id));
    assert_eq!(path(&frames, &id("a")).unwrap(), [id("a")]);
    assert_eq!(path(&frames, &id("x")), Err(CallStackError::Unknown(id("x"))));
}

#[test]
fn a_path_without_an_end_is_an_error() {
    let frames = [
        frame("a", Some("b")),
        frame("b", Some("a")),
        frame("c", Some("a")),
        frame("d", Some("d")),
    ];
    for start in ["a", "b", "c", "d"] {
        assert_eq!(path(&frames, &id(start)), Err(CallStackError::Cycle(id(start))));
    }
    let missing = CallStackError::MissingParent { stack_id: id("b"), parent_id: id("a") };
    assert_eq!(path(&[frame("b", Some("a")), frame("c", Some("b"))], &id("c")), Err(missing));
}

proptest! {
    /// Whatever is said of calls, a path is found or refused, and one that is found is one.
    #[test]
    fn a_path_is_found_or_refused(parents in prop::collection::vec(prop::option::of(0..12_usize), 1..10)) {
        let name = |n: usize| format!("s{n}");
        let frames: Vec<_> = parents.iter().enumerate()
            .map(|(n, parent)| frame(&name(n), parent.map(name).as_deref())).collect();
        for start in 0..parents.len() {
            if let Ok(path) = path(&frames, &id(&name(start))) {
                prop_assert_eq!(path.last(), Some(&id(&name(start))));
                let parent = |stack: &StackId| {
                    frames.iter().find(|frame| frame.stack_id == *stack).unwrap().parent_id.clone()
                };
                prop_assert_eq!(parent(&path[0]), None);
                for pair in path.windows(2) {
                    prop_assert_eq!(parent(&pair[1]), Some(pair[0].clone()));
                }
            }
        }
    }
}
