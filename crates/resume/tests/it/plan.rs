//! The plan to continue a chat.

use std::ops::{Deref, DerefMut};
use std::str::FromStr;

use chrono::{DateTime, Utc};
use proptest::prelude::*;
use proptest::sample::select;
use records::{
    ChatSession, ChatStatus, ContextSnapshot, InputKind, InputRequest, InputRequestId, JsonObject,
    LastTurn, Message, NewChatSession, Question, ResumePoint, ResumeState, StackFrame, StackId,
    Step, StepKind, StepStatus, TurnId, TurnOutcome,
};
use resume::plan::{Action, Plan, PlanScan, TerminationCheck, plan};
use resume::{DropReason, Dropped};
use serde_json::{Value, json};

use crate::transcript::log;

fn id<T: FromStr>(text: &str) -> T {
    let Ok(id) = text.parse() else { panic!("{text} is no id") };
    id
}

/// What is read of a chat to resume it.
#[derive(Clone)]
struct Chat {
    state: ResumeState,
    messages: Vec<Message>,
}

impl Deref for Chat {
    type Target = ResumeState;

    fn deref(&self) -> &ResumeState {
        &self.state
    }
}

impl DerefMut for Chat {
    fn deref_mut(&mut self) -> &mut ResumeState {
        &mut self.state
    }
}

fn state(messages: &[Value]) -> Chat {
    let messages: Vec<Message> = log(messages);
    let new = NewChatSession::of(id("Generator"));
    let created_at = DateTime::<Utc>::UNIX_EPOCH;
    let chat = ChatSession {
        last_sequence: messages.len() as u64,
        ..ChatSession::start(id("acme"), id("c1"), new, created_at)
    };
    let state = ResumeState {
        chat,
        context: ContextSnapshot::default(),
        artifact: None,
        pending_inputs: Vec::new(),
        resume_points: Vec::new(),
    };
    Chat { state, messages }
}

fn ended(mut state: Chat, request_id: &str, outcome: TurnOutcome) -> Chat {
    state.chat.last_turn = Some(LastTurn { request_id: id(request_id), outcome, turn: 1 });
    state
}

fn with_point(mut state: Chat, request_id: &str, sequence: u32, status: StepStatus) -> Chat {
    let frame = StackFrame::root(id("stk_001"));
    let frame = if sequence > 2 { frame.call(id("stk_002")) } else { frame };
    let stack_path =
        if sequence > 2 { vec![id("stk_001"), id("stk_002")] } else { vec![id("stk_001")] };
    let step = Step {
        status,
        assistant_id: Some(format!("assistant {sequence}")),
        space_snapshot: JsonObject::from_iter([("step".to_owned(), json!(sequence))]),
        ..Step::new(StepKind::Llm, frame)
    };
    let turn = u64::from(!matches!(request_id, "old" | "r0"));
    let (chat_id, request_id) = (state.chat.chat_id.clone(), id::<TurnId>(request_id));
    let created_at = state.chat.created_at;
    state.resume_points.push(ResumePoint {
        chat_id,
        request_id,
        turn,
        sequence,
        step,
        stack_path,
        created_at,
    });
    state
}

fn planned(Chat { state, messages }: &Chat) -> Plan {
    let mut scan = PlanScan::new(&state.chat);
    for message in messages {
        scan.observe(message);
    }
    plan(state, scan, "user")
}

fn says(role: &str, name: &str, content: &str) -> Value {
    json!({"role": role, "name": name, "content": content})
}

fn calls(id: &str) -> Value {
    let function = json!({"name": "search", "arguments": "{}"});
    json!({"role": "assistant", "name": "scout", "content": null,
           "tool_calls": [{"id": id, "type": "function", "function": function}]})
}

fn answers(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": "found"})
}

#[test]
fn the_last_step_of_the_last_turn_is_run_again() {
    let messages = [says("user", "ada", "hello")];
    let open = |status| {
        let state = ended(state(&messages), "r1", TurnOutcome::Interrupted);
        let state = with_point(state, "r0", 9, StepStatus::Failed);
        let state = with_point(state, "r1", 2, StepStatus::Interrupted);
        planned(&with_point(state, "r1", 5, status))
    };
    for (status, action) in
        [(StepStatus::Failed, Action::Retry), (StepStatus::Interrupted, Action::Continue)]
    {
        let plan = open(status);
        assert_eq!(plan.action, action);
        let step = plan.step.unwrap();
        assert_eq!(step.point.sequence, 5);
        assert_eq!(step.stack_path.unwrap(), [id::<StackId>("stk_001"), id("stk_002")]);
        assert_eq!(plan.space["step"], 5);
        assert_eq!(plan.next_speaker.as_deref(), Some("assistant 5"));
    }
}

#[test]
fn a_newer_turn_makes_older_steps_obsolete() {
    let mut said = says("assistant", "scout", "hi");
    said["request_id"] = json!("r2");
    let done =
        with_point(state(&[says("user", "ada", "hello"), said]), "r0", 5, StepStatus::Failed);
    let plan_after = |outcome| planned(&ended(done.clone(), "r2", outcome));
    assert_eq!(plan_after(TurnOutcome::Completed).action, Action::NothingToDo);
    assert_eq!(plan_after(TurnOutcome::Interrupted).action, Action::Continue);
    assert_eq!(plan_after(TurnOutcome::Failed).action, Action::Retry);
    for outcome in TurnOutcome::ALL {
        assert_eq!(plan_after(outcome).step, None);
        assert!(plan_after(outcome).space.is_empty());
    }
}

#[test]
fn a_message_after_a_turn_overrides_the_turn() {
    let mut answered = says("assistant", "scout", "hi");
    answered["request_id"] = json!("r1");
    let after = |more: &[Value], outcome| {
        let messages = [&[says("user", "ada", "hello"), answered.clone()], more].concat();
        let state = ended(state(&messages), "r1", outcome);
        planned(&with_point(state, "r1", 1, StepStatus::Failed))
    };
    assert_eq!(after(&[], TurnOutcome::Completed).action, Action::NothingToDo, "a completed turn");
    assert_eq!(after(&[], TurnOutcome::Failed).action, Action::Retry);
    let asked = [says("user", "ada", "and now?")];
    assert_eq!(after(&asked, TurnOutcome::Completed).action, Action::Start);
    assert_eq!(after(&asked, TurnOutcome::Failed).action, Action::Start);
    let worked = [calls("c1"), answers("c1")];
    let plan = after(&worked, TurnOutcome::Completed);
    assert_eq!((plan.action, plan.next_speaker.as_deref()), (Action::Continue, Some("scout")));
}

#[test]
fn an_abandoned_call_does_not_affect_the_plan() {
    let ask = says("user", "ada", "hello");
    let left = [ask.clone(), calls("c1"), says("user", "ada", "never mind")];
    let plan = planned(&state(&left));
    assert_eq!((plan.action, plan.pending_calls.len()), (Action::Start, 1));
    let mut done = says("assistant", "scout", "fine");
    done["request_id"] = json!("r1");
    let plan = planned(&ended(state(&[ask, calls("c1"), done]), "r1", TurnOutcome::Completed));
    assert_eq!((plan.action, plan.pending_calls.len()), (Action::NothingToDo, 1));
}

#[test]
fn a_chat_without_turns_continues_after_its_last_message() {
    let ask = says("user", "ada", "hello");
    for (messages, action, speaker) in [
        (vec![], Action::Start, None),
        (vec![ask.clone()], Action::Start, None),
        (vec![says("assistant", "scout", "hi"), ask.clone()], Action::Start, Some("scout")),
        (vec![ask.clone(), calls("c1")], Action::Continue, Some("scout")),
        (vec![ask.clone(), calls("c1"), answers("c1")], Action::Continue, Some("scout")),
        (vec![ask.clone(), says("assistant", "scout", "hi")], Action::Continue, None),
        (vec![ask, calls("c1"), says("user", "ada", "well?")], Action::Start, Some("scout")),
    ] {
        let plan = planned(&state(&messages));
        assert_eq!((plan.action, plan.next_speaker.as_deref()), (action, speaker), "{messages:?}");
    }
}

#[test]
fn a_deleted_message_is_ignored() {
    let mut deleted = says("user", "bob", "never mind");
    deleted["deleted_at"] = json!("2025-08-15T00:00:00Z");
    let ask = says("user", "ada", "hello");
    let plan = planned(&state(&[ask.clone(), calls("c1"), deleted.clone()]));
    assert_eq!((plan.action, plan.next_speaker.as_deref()), (Action::Continue, Some("scout")));
    let mut silent = says("assistant", "bob", "hi");
    silent["deleted_at"] = deleted["deleted_at"].clone();
    let plan = planned(&state(&[says("assistant", "scout", "hi"), silent, ask]));
    assert_eq!(plan.next_speaker.as_deref(), Some("scout"));
}

#[test]
fn a_custom_call_is_pending_with_its_name_and_its_input() {
    let call = json!({"id": "a", "type": "custom", "custom": {"name": "grep", "input": "x+"}});
    let message = json!({"role": "assistant", "name": "scout", "tool_calls": [call]});
    let open = [says("user", "ada", "hello"), message];
    let plan = planned(&state(&open));
    let calls = plan.pending_calls.iter().map(|call| (&*call.name, &call.arguments));
    assert_eq!(calls.collect::<Vec<_>>(), [("grep", &json!("x+"))]);
    assert_eq!((plan.action, plan.next_speaker.as_deref()), (Action::Continue, Some("scout")));
    assert_eq!(planned(&state(&[&open[..], &[answers("a")]].concat())).pending_calls, []);
}

#[test]
fn a_call_is_pending_until_it_is_answered() {
    let pending = |messages: &[Value]| {
        let calls = planned(&state(messages)).pending_calls;
        calls.iter().map(|call| (call.sequence, call.call_id.clone().unwrap())).collect::<Vec<_>>()
    };
    let c = |sequence, id: &str| (sequence, id.to_owned());
    assert_eq!(pending(&[calls("a"), calls("b"), answers("a")]), [c(1, "b")]);
    assert_eq!(pending(&[answers("a"), calls("a")]), [c(1, "a")], "an answer comes after its call");
    assert_eq!(pending(&[calls("a"), answers("a"), calls("a")]), [c(2, "a")]);
    assert_eq!(pending(&[calls("a"), calls("a")]), [c(1, "a")], "of one id the later one");
    let mut twins = calls("a");
    let list = twins["tool_calls"].as_array_mut().unwrap();
    let mut other = list[0].clone();
    other["function"]["name"] = json!("other");
    list.extend([list[0].clone(), other]);
    assert_eq!(pending(&[twins.clone(), answers("a")]), [c(0, "a")], "two calls share an id");
    assert_eq!(pending(&[twins, answers("a"), answers("a")]), []);
    let several = json!({"role": "tool", "content": null, "tool_responses": [
        {"tool_call_id": "a", "content": "x"}, {"tool_call_id": "b", "content": "y"},
    ]});
    assert_eq!(pending(&[calls("a"), calls("b"), calls("c"), several]), [c(2, "c")]);
}

#[test]
fn an_input_request_precedes_steps_but_not_completion() {
    let mut state = ended(state(&[says("user", "ada", "hello")]), "r1", TurnOutcome::Failed);
    state = with_point(state, "r1", 1, StepStatus::Failed);
    let question = Question { kind: InputKind::Text, ..Question::of("Why?") };
    state.state.pending_inputs.push(InputRequest {
        chat_id: state.state.chat.chat_id.clone(),
        request_id: id::<InputRequestId>("q1"),
        question,
        created_at: state.state.chat.created_at,
        expires_at: None,
        closing: None,
    });
    let plan = planned(&state);
    assert_eq!((plan.action, plan.next_speaker.as_deref()), (Action::AwaitInput, Some("ada")));
    assert_eq!(plan.step, None);
    state.chat.status = ChatStatus::Completed;
    let plan = planned(&state);
    assert_eq!((plan.action, plan.next_speaker), (Action::NothingToDo, None));
}

#[test]
fn a_terminating_message_is_found() {
    let ends = |content: Value, text: &str| {
        let message = json!({"role": "assistant", "name": "scout", "content": content});
        let tool = json!({"role": "tool", "tool_call_id": "x", "content": "TERMINATE"});
        let messages: Vec<Message> = log(&[says("user", "ada", "TERMINATE"), message, tool]);
        let dropped = Dropped { index: 2, sequence: Some(2), reason: DropReason::MissingCallId };
        let mut check = TerminationCheck::new(text);
        for message in &messages {
            check.observe(message);
        }
        check.last_rendered(&[dropped])
    };
    for content in [json!("TERMINATE"), json!("Done. TERMINATE\n"), json!([{"text": "TERMINATE"}])]
    {
        assert_eq!(ends(content.clone(), "TERMINATE").unwrap().sequence, 1);
        assert_eq!(ends(content, ""), None);
    }
    for content in
        [json!("I will TERMINATE it"), json!(""), Value::Null, json!([]), json!({"a": 1})]
    {
        assert_eq!(ends(content.clone(), "TERMINATE"), None, "{content}");
    }
}

proptest! {
    /// Every chat has a plan, which is deterministic and consistent.
    #[test]
    fn a_plan_is_consistent(
        kinds in prop::collection::vec(0..5_usize, 0..12),
        turn in prop::option::of((0..3_u32, select(TurnOutcome::ALL.as_slice()))),
        points in prop::collection::vec((0..3_u32, 1..6_u32, any::<bool>()), 0..4),
    ) {
        let messages: Vec<_> = kinds.iter().enumerate().map(|(n, kind)| match kind {
            0 => says("user", "ada", "hello"),
            1 => says("assistant", "scout", "hi"),
            2 => calls(&format!("c{}", n % 3)),
            3 => answers(&format!("c{}", n % 3)),
            _ => says("system", "s", "be good"),
        }).collect();
        let mut state = with_point(state(&messages), "old", 1, StepStatus::Failed);
        for (request, sequence, has_failed) in points {
            let status = if has_failed { StepStatus::Failed } else { StepStatus::Interrupted };
            state = with_point(state, &format!("r{request}"), sequence, status);
        }
        if let Some((request, outcome)) = turn {
            state = ended(state, &format!("r{request}"), outcome);
        }
        let plan = planned(&state);
        prop_assert_eq!(&plan, &planned(&state));
        if let Some(step) = &plan.step {
            prop_assert_eq!(Some(&step.point.request_id), state.chat.last_turn.as_ref().map(|turn| &turn.request_id));
            prop_assert!(matches!(plan.action, Action::Retry | Action::Continue));
            prop_assert_eq!(&plan.space, &step.point.step.space_snapshot);
        }
    }
}
