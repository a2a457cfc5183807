//! Everything from which a chat is resumed, in one read.

use std::sync::Arc;

use futures::TryStreamExt as _;
use records::{
    ChatStatus, InputRequestId, JsonObject, Message, MessageBody, MessageEdit, NewArtifact,
    NewInputAnswer, NewInputRequest, NewTurn, Question, ResumeState, StackFrame, StackId, Step,
    StepKind, TurnId, TurnMessage, TurnOutcome,
};
use serde_json::json;

use super::fixture::{TestChat, assert_dense, assert_refused, message, numbered, object, race};
use persistence::{ResumePointFilter, Store, StoreError, one_by_one};

pub async fn resuming_reads_all_records_of_a_chat(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let fresh = resume(&chat).await.unwrap();
    assert_eq!(fresh.1, []);
    assert_eq!((fresh.0.chat, fresh.0.artifact), (chat.session().await, None));
    chat.append(numbered(0..3)).await.unwrap();
    chat.append_filler().await;
    for n in [1_usize, 5_000] {
        let data = object(json!({"a.b": {"$set": "x".repeat(n)}}));
        chat.replace_context(data.clone()).await.unwrap();
        let artifact = NewArtifact { payload: json!(data), ..NewArtifact::default() };
        chat.update_artifact(artifact).await.unwrap();
        store.append_turn(&chat.scope, &chat.id, turn(n)).await.unwrap();
        ask(&chat, &format!("q{n}")).await;
        chat.append([message(json!({ "n": n }))]).await.unwrap();
        let (state, messages) = resume(&chat).await.unwrap();
        let request_id = chat.session().await.last_turn.map(|turn| turn.request_id);
        let of_turn = ResumePointFilter { request_id, stack_id: None };
        let points = store.list_resume_points(&chat.scope, &chat.id, &of_turn, 100, None);
        let mut points = points.await.unwrap().points;
        points.reverse();
        let mut pending = Vec::new();
        for id in &state.chat.pending_inputs {
            pending.push(store.get_input_request(&chat.scope, &chat.id, id).await.unwrap());
        }
        let whole = chat.whole().await;
        let expected = ResumeState {
            chat: whole.session,
            context: whole.context,
            artifact: whole.artifact,
            pending_inputs: pending,
            resume_points: points,
        };
        assert_eq!((state, messages), (expected, whole.messages));
    }
}

pub async fn a_chat_outside_the_scope_is_not_resumed(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    for elsewhere in [chat.seen_from(super::fixture::some_scope()), TestChat::unknown(&store)] {
        let unknown = StoreError::ChatNotFound(elsewhere.id.clone());
        assert_refused(resume(&elsewhere).await, &unknown);
    }
}

/// The records that one call reads are consistent, even while others write.
pub async fn resuming_reads_one_consistent_state(store: Arc<dyn Store>) {
    const ROUNDS: usize = 25;
    let chat = TestChat::create(&store).await;
    let writing = {
        let chat = chat.clone();
        async move {
            for n in 0..ROUNDS {
                // The turn, then the snapshot that counts it, then a question and its answer.
                chat.store.append_turn(&chat.scope, &chat.id, turn(n)).await.unwrap();
                let data = JsonObject::from_iter([("turns".to_owned(), json!(n + 1))]);
                chat.replace_context(data).await.unwrap();
                let id = format!("q{n}");
                ask(&chat, &id).await;
                let id = InputRequestId::parse(id).unwrap();
                let answer = NewInputAnswer::of("so");
                let answered = chat.store.answer_input_request(&chat.scope, &chat.id, &id, answer);
                answered.await.unwrap();
            }
        }
    };
    let reading = {
        let chat = chat.clone();
        async move {
            loop {
                let (state, messages) = resume(&chat).await.unwrap();
                assert_consistent(&state, &messages);
                if state.chat.last_sequence == 3 * ROUNDS as u64 {
                    break;
                }
            }
        }
    };
    let writing: std::pin::Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(writing);
    race([writing, Box::pin(reading)]).await;
}

fn assert_consistent(state: &ResumeState, messages: &[Message]) {
    let ResumeState { chat, context, pending_inputs, resume_points, .. } = state;
    assert_dense(messages);
    assert_eq!(messages.len() as u64, chat.last_sequence);
    assert_eq!(pending_inputs.len(), chat.pending_inputs.len());
    assert_eq!(chat.status == ChatStatus::Paused, !pending_inputs.is_empty());
    let turns = chat.last_turn.as_ref().map_or(0, |turn| turn.turn);
    assert_eq!(resume_points.len() as u64, turns.min(1));
    let counted = context.data.get("turns").map_or(0, |turns| turns.as_u64().unwrap());
    assert!(counted == turns || counted + 1 == turns, "{counted} of {turns}");
    assert!(context.sequence <= chat.last_sequence);
}

/// The messages are read later than the rest, and may be read again.
pub async fn a_resumed_transcript_is_that_of_one_moment(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append_filler().await;
    chat.append(numbered(0..3)).await.unwrap();
    let before = chat.history().await.unwrap();
    let mut resumed = store.resume_state(&chat.scope, &chat.id).await.unwrap();
    for sequence in [0, before.len() as u64 - 1] {
        let edit = MessageEdit { content: Some("edited".into()), ..MessageEdit::default() };
        store.update_message(&chat.scope, &chat.id, sequence, edit).await.unwrap();
        store.delete_message(&chat.scope, &chat.id, 1).await.unwrap();
        chat.append_filler().await;
        let read: Vec<_> = one_by_one(resumed.messages.pages()).try_collect().await.unwrap();
        assert!(read == before, "the messages have changed");
    }
    assert!(resume(&chat).await.unwrap().1 == chat.history().await.unwrap());
}

fn turn(n: usize) -> NewTurn {
    let said = |text: &str| TurnMessage {
        body: MessageBody::new("assistant", Some("a"), text),
        author: None,
    };
    let stack_id = StackId::parse(format!("stk_{n}")).unwrap();
    NewTurn {
        request_id: TurnId::parse(format!("r{n}")).unwrap(),
        outcome: TurnOutcome::Interrupted,
        messages: vec![said("one"), said("two")],
        steps: vec![Step::new(StepKind::Llm, StackFrame::root(stack_id))],
        connector: None,
        mode: None,
    }
}

async fn ask(chat: &TestChat, id: &str) {
    let (request_id, question) = (Some(InputRequestId::parse(id).unwrap()), Question::of("Why?"));
    let new = NewInputRequest { request_id, question, expires_in_sec: None };
    chat.store.request_input(&chat.scope, &chat.id, new).await.unwrap();
}

async fn resume(chat: &TestChat) -> Result<(ResumeState, Vec<Message>), StoreError> {
    let mut resumed = chat.store.resume_state(&chat.scope, &chat.id).await?;
    Ok((resumed.state, one_by_one(resumed.messages.pages()).try_collect().await?))
}
