use persistence::Store;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use records::{
    BoundToolCall, ChatId, EventId, InputKind, InputRequestId, NewInputAnswer, NewInputRequest,
    Question, Scope,
};
use serde_json::{Value, json};

use super::operation::print;

/// A call about input requests, with its arguments.
#[derive(Debug, Clone)]
pub(crate) enum InputCall {
    Ask(NewInputRequest),
    Answer(InputRequestId, NewInputAnswer),
    Cancel(InputRequestId, Option<String>),
    Get(InputRequestId),
    /// Lists all requests, and reads the chat's head.
    List,
    Find(InputRequestId),
    /// The requests of all apps, so the returned number is not compared.
    Expire,
}

impl InputCall {
    pub(crate) async fn execute(
        self,
        store: &dyn Store,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> String {
        match self {
            Self::Ask(new) => print(store.request_input(scope, chat_id, new).await),
            Self::Answer(id, answer) => {
                print(store.answer_input_request(scope, chat_id, &id, answer).await)
            }
            Self::Cancel(id, reason) => {
                print(store.cancel_input_request(scope, chat_id, &id, reason.as_deref()).await)
            }
            Self::Get(id) => print(store.get_input_request(scope, chat_id, &id).await),
            Self::List => print((
                store.list_input_requests(scope, chat_id, 100, None).await,
                store.list_input_requests(scope, chat_id, 2, None).await,
                store.confirmed_head(scope, chat_id).await,
            )),
            Self::Find(id) => {
                let mut found = store.find_input_requests(scope, &id).await.unwrap();
                found.sort_by(|a, b| a.chat_id.cmp(&b.chat_id));
                print(found)
            }
            Self::Expire => print(store.expire_input_requests(usize::MAX).await.is_ok()),
        }
    }
}

pub(crate) fn input_call() -> impl Strategy<Value = InputCall> {
    let reason = option::of(Just("because".to_owned()));
    prop_oneof![
        6 => new_request().prop_map(InputCall::Ask),
        6 => (id(), answer()).prop_map(|(id, answer)| InputCall::Answer(id, answer)),
        2 => (id(), reason).prop_map(|(id, reason)| InputCall::Cancel(id, reason)),
        1 => id().prop_map(InputCall::Get),
        2 => Just(InputCall::List),
        1 => id().prop_map(InputCall::Find),
        2 => Just(InputCall::Expire),
    ]
}

fn id() -> impl Strategy<Value = InputRequestId> {
    (0..4_u32).prop_map(|n| InputRequestId::parse(format!("q{n}")).unwrap())
}

fn new_request() -> impl Strategy<Value = NewInputRequest> {
    let options = vec!["a".to_owned(), "b".to_owned()];
    let choice = Question { kind: InputKind::Choice, options, ..Question::of("Which?") };
    let bound = Question { tool_call: Some(call()), ..Question::of("May I?") };
    let questions = vec![Question::of("Why?"), choice, bound, Question::of(" ")];
    let named = prop_oneof![
        // A repeated id mostly has the same question.
        8 => (0..4_u32).prop_map(|n| (Some(n), Question::of(n.to_string()))),
        3 => (option::of(0..4_u32), select(questions)),
    ];
    (named, option::of(select(vec![0, 1, 10]))).prop_map(|((n, question), expires_in_sec)| {
        let request_id = n.map(|n| InputRequestId::parse(format!("q{n}")).unwrap());
        NewInputRequest { request_id, question, expires_in_sec }
    })
}

fn answer() -> impl Strategy<Value = NewInputAnswer> {
    let content = select(vec![json!("a"), json!("c"), Value::Null, json!({"$a": 1})]);
    let event_id = option::of((0..6_u32).prop_map(|n| EventId::parse(format!("e{n}")).unwrap()));
    let tool_call = prop_oneof![9 => Just(None), 2 => Just(Some(call().reference()))];
    let name = option::of(select(vec!["Ada".to_owned(), "\n".to_owned()]));
    (content, event_id, tool_call, name).prop_map(|(content, event_id, tool_call, name)| {
        NewInputAnswer { event_id, name, author: None, content, tool_call }
    })
}

fn call() -> BoundToolCall {
    BoundToolCall { id: "c1".to_owned(), name: "rm".to_owned(), arguments: json!({"a": 1}) }
}
