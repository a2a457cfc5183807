use persistence::{ResumePointCursor, ResumePointFilter, Store};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use records::{
    ChatId, MessageBody, NewTurn, Scope, StackFrame, StackId, Step, StepKind, StepStatus, TurnId,
    TurnMessage, TurnOutcome,
};

use super::operation::print;

/// A call about turns, with its arguments.
#[derive(Debug, Clone)]
pub(crate) enum TurnCall {
    Append(NewTurn),
    List(ResumePointFilter, usize, Option<ResumePointCursor>),
    Delete(Option<TurnId>),
}

impl TurnCall {
    pub(crate) async fn execute(
        self,
        store: &dyn Store,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> String {
        match self {
            Self::Append(turn) => print(store.append_turn(scope, chat_id, turn).await),
            Self::List(filter, limit, cursor) => print((
                store.list_resume_points(scope, chat_id, &filter, limit, cursor).await,
                store.last_resume_point(scope, chat_id).await,
            )),
            Self::Delete(request_id) => {
                print(store.delete_resume_points(scope, chat_id, request_id.as_ref()).await)
            }
        }
    }
}

pub(crate) fn turn_call() -> impl Strategy<Value = TurnCall> {
    let filter = (option::of(id()), option::of(stack()))
        .prop_map(|(request_id, stack_id)| ResumePointFilter { request_id, stack_id });
    let cursor =
        (0..6_u64, 0..4_u32).prop_map(|(turn, sequence)| ResumePointCursor { turn, sequence });
    let list = (filter, 1..5_usize, option::of(cursor));
    prop_oneof![
        8 => new_turn().prop_map(TurnCall::Append),
        1 => list.prop_map(|(filter, limit, cursor)| TurnCall::List(filter, limit, cursor)),
        1 => option::of(id()).prop_map(TurnCall::Delete),
    ]
}

fn id() -> impl Strategy<Value = TurnId> {
    (0..4_u32).prop_map(|n| TurnId::parse(format!("r{n}")).unwrap())
}

fn stack() -> impl Strategy<Value = StackId> {
    (0..2_u32).prop_map(|n| StackId::parse(format!("s{n}")).unwrap())
}

fn new_turn() -> impl Strategy<Value = NewTurn> {
    let size = prop_oneof![4 => 0..3_usize, 1 => 30..40_usize];
    let messages = size.prop_map(|size| {
        let body = MessageBody::new("assistant", Some("a"), "said");
        vec![TurnMessage { body, author: None }; size]
    });
    let steps = prop::collection::vec(step(), 0..3);
    let words = (option::of(Just("c".to_owned())), option::of(Just("task".to_owned())));
    (id(), select(TurnOutcome::ALL.as_slice()), messages, steps, words).prop_map(
        |(request_id, outcome, messages, steps, (connector, mode))| NewTurn {
            request_id,
            outcome,
            messages,
            steps,
            connector,
            mode,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    (select(StepKind::ALL.as_slice()), select(StepStatus::ALL.as_slice()), stack()).prop_map(
        |(kind, status, stack_id)| Step { status, ..Step::new(kind, StackFrame::root(stack_id)) },
    )
}
