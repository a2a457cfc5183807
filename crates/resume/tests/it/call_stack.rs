//! Paths through a call stack.

use std::collections::HashMap;

use chrono::DateTime;
use proptest::prelude::*;
use proptest::sample::select;
use records::{
    ChatId, NewTurn, OpenStep, ResumePoint, StackFrame, StackId, Step, StepKind, StepStatus,
    TurnId, TurnOutcome,
};
use resume::call_stack::{CallStackError, Calls, path_of};

fn id(text: &str) -> StackId {
    StackId::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn frame(stack_id: &str, parent: Option<&str>) -> StackFrame {
    StackFrame { stack_id: id(stack_id), parent_id: parent.map(id), depth: 0 }
}

/// Returns the path to a call; of what is said of one several times the last counts.
fn path(frames: &[StackFrame], stack_id: &StackId) -> Result<Vec<StackId>, CallStackError> {
    let mut calls = Calls::default();
    frames.iter().rev().for_each(|frame| calls.add_frame(frame));
    calls.path(stack_id)
}

#[test]
fn a_path_begins_with_the_outermost_call() {
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
    /// For any frames, a path is found or refused, and a found path is valid.
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

/// How resume points were written and read before their paths were cut. What is written now must be read
/// in the same way by such a release, and what it wrote by this one.
mod whole_paths {
    use super::*;

    /// Gives each open step the whole path to it.
    pub(super) fn write(turn: &NewTurn) -> Vec<OpenStep> {
        let frames = turn.steps.iter().map(|step| &step.frame);
        let parents: HashMap<_, _> =
            frames.map(|frame| (&frame.stack_id, frame.parent_id.as_ref())).collect();
        let open = turn.clone().take_open_steps().into_iter();
        let with_path = open.map(|open| {
            let up = |call: &&StackId| parents.get(*call).copied().flatten();
            let path = std::iter::successors(Some(&open.step.frame.stack_id), up);
            let mut stack_path: Vec<_> = path.cloned().collect();
            stack_path.reverse();
            OpenStep { stack_path, ..open }
        });
        with_path.collect()
    }

    pub(super) fn path_of(
        point: &ResumePoint,
        others: &[ResumePoint],
    ) -> Result<Vec<StackId>, CallStackError> {
        if is_whole(point) {
            return Ok(point.stack_path.clone());
        }
        path(&frames(others), &point.step.frame.stack_id)
    }

    pub(super) fn frames(points: &[ResumePoint]) -> Vec<StackFrame> {
        let mut frames = Vec::new();
        for point in points {
            let outermost = point.stack_path.first().filter(|_| is_whole(point));
            frames.extend(outermost.map(|stack_id| StackFrame::root(stack_id.clone())));
            frames.extend(point.stack_path.windows(2).map(|pair| StackFrame {
                stack_id: pair[1].clone(),
                parent_id: Some(pair[0].clone()),
                depth: 0,
            }));
            frames.push(point.step.frame.clone());
        }
        frames
    }

    fn is_whole(point: &ResumePoint) -> bool {
        point.stack_path.len() == point.step.frame.depth as usize + 1
    }
}

fn points(open: Vec<OpenStep>) -> Vec<ResumePoint> {
    let point = |OpenStep { sequence, step, stack_path }| ResumePoint {
        chat_id: ChatId::parse("chat_1").unwrap_or_else(|error| panic!("{error}")),
        request_id: TurnId::parse("r1").unwrap_or_else(|error| panic!("{error}")),
        turn: 1,
        sequence,
        step,
        stack_path,
        created_at: DateTime::UNIX_EPOCH,
    };
    open.into_iter().map(point).collect()
}

fn paths(points: &[ResumePoint], calls: usize) -> Vec<Result<Vec<StackId>, CallStackError>> {
    let mut known = Calls::default();
    points.iter().rev().for_each(|point| known.add(point));
    (0..calls).map(|n| known.path(&id(&format!("s{n}")))).collect()
}

/// How many calls turns are made of; of those from 10 on no step tells.
const CALLS: usize = 12;

/// Turns that failed, without cycles; some steps are said to be less or more deep than they are.
fn failed_turn() -> impl Strategy<Value = NewTurn> {
    let parents = prop::collection::vec(prop::option::weighted(0.8, 0..CALLS), 10);
    let status = select(StepStatus::ALL.as_slice());
    let steps =
        prop::collection::vec((0..10_usize, status, prop::option::weighted(0.2, 1..6_u32)), 1..16);
    let turn = (parents, steps).prop_map(|(parents, steps)| {
        let frame = |call: usize, said_depth: Option<u32>| {
            let parent = parents[call];
            let up = |call: &usize| parents.get(*call).copied().flatten();
            let path = std::iter::successors(parent, up).take(CALLS);
            let depth = (1..).zip(path).last().map_or(0, |(depth, _)| depth);
            let depth = said_depth.filter(|_| parent.is_some()).unwrap_or(depth);
            let parent_id = parent.map(|parent| id(&format!("s{parent}")));
            StackFrame { stack_id: id(&format!("s{call}")), parent_id, depth }
        };
        let step =
            |(call, status, depth)| Step { status, ..Step::new(StepKind::Llm, frame(call, depth)) };
        NewTurn {
            request_id: TurnId::parse("r1").unwrap_or_else(|error| panic!("{error}")),
            outcome: TurnOutcome::Failed,
            messages: Vec::new(),
            steps: steps.into_iter().map(step).collect(),
            connector: None,
            mode: None,
        }
    });
    turn.prop_filter("has a cycle or nothing to resume from", |turn| turn.check().is_ok())
}

proptest! {
    /// Whatever a turn says of its calls, cutting their paths loses nothing, for this release or the one before.
    #[test]
    fn cut_paths_tell_what_whole_ones_do(turn in failed_turn()) {
        let whole = points(whole_paths::write(&turn));
        let cut = points(turn.clone().take_open_steps());
        let named: usize = cut.iter().map(|point| point.stack_path.len()).sum();
        prop_assert!(named <= 3 * CALLS + 2 * cut.len(), "{} calls are named", named);
        let (last_whole, last_cut) = (whole.last().unwrap(), cut.last().unwrap());
        prop_assert_eq!(&last_whole.stack_path, &last_cut.stack_path);

        let expected = whole_paths::path_of(last_whole, &whole);
        prop_assert_eq!(&path_of(last_whole, &whole), &expected);
        prop_assert_eq!(&path_of(last_cut, &cut), &expected);
        prop_assert_eq!(&whole_paths::path_of(last_cut, &cut), &expected);
        let frames = |points: &[ResumePoint]| {
            let frames = whole_paths::frames(points);
            (0..CALLS).map(|n| path(&frames, &id(&format!("s{n}")))).collect::<Vec<_>>()
        };
        let expected = frames(&whole);
        prop_assert_eq!(&frames(&cut), &expected);
        prop_assert_eq!(&paths(&whole, CALLS), &expected);
        prop_assert_eq!(&paths(&cut, CALLS), &expected);
    }
}
