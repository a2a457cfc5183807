//! Turns that are recorded while they run.

use std::sync::Arc;

use futures::TryStreamExt as _;
use persistence::memory::MemoryStore;
use persistence::turn::{TurnBuffer, TurnError, TurnRecorder};
use persistence::{Outcome, ResumePointFilter, Store, StoreError};
use proptest::prelude::*;
use records::{
    AppId, ChatId, JsonObject, MessageBody, NewChatSession, ResumePoint, Scope, StackFrame,
    StackId, Step, StepKind, StepStatus, TurnId, TurnMessage, TurnOutcome, WorkflowName,
};
use serde_json::{Value, json};
use tokio::time::{Duration, sleep};

use crate::waiting::until;

/// A chat whose turns are recorded.
struct Chat {
    store: Arc<dyn Store>,
    scope: Scope,
    id: ChatId,
}

impl Chat {
    async fn create() -> Self {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let scope = Scope::service(AppId::parse("acme_corp").unwrap());
        let new = NewChatSession::of(WorkflowName::parse("Generator").unwrap());
        let id = store.create_chat(&scope, new).await.unwrap().chat_id;
        Self { store, scope, id }
    }

    fn record(&self, request_id: &str) -> TurnRecorder {
        let request_id = TurnId::parse(request_id).unwrap();
        TurnRecorder::begin(
            Arc::clone(&self.store),
            self.scope.clone(),
            self.id.clone(),
            request_id,
        )
    }

    async fn contents(&self) -> Vec<Value> {
        let messages = self.store.history(&self.scope, &self.id);
        messages.map_ok(|message| message.body.content).try_collect().await.unwrap()
    }

    async fn points(&self) -> Vec<ResumePoint> {
        let everything = ResumePointFilter::default();
        let page = self.store.list_resume_points(&self.scope, &self.id, &everything, 100, None);
        let mut points = page.await.unwrap().points;
        points.reverse();
        points
    }

    async fn last_outcome(&self) -> Option<TurnOutcome> {
        let chat = self.store.get_chat(&self.scope, &self.id).await.unwrap().unwrap();
        chat.last_turn.map(|turn| turn.outcome)
    }

    async fn until_written(&self) {
        until("the turn", async || self.last_outcome().await.is_some()).await;
    }
}

fn said(content: impl Into<Value>) -> TurnMessage {
    TurnMessage { body: MessageBody::new("assistant", Some("analyzer"), content), author: None }
}

fn frame() -> StackFrame {
    StackFrame::root(StackId::parse("stk_001").unwrap())
}

fn object(value: Value) -> JsonObject {
    let Value::Object(object) = value else { panic!("{value} is not an object") };
    object
}

#[tokio::test]
async fn a_turn_is_written_once_at_its_end() {
    let chat = Chat::create().await;
    let turn = chat.record("r1");
    turn.set_connector("deepseek.v3").unwrap();
    turn.add(None, said("What is the weather?")).unwrap();
    turn.add(Some("m1"), said("It ")).unwrap();
    let step = turn.begin_step(Step::new(StepKind::Llm, frame())).unwrap();
    turn.append("m1", "content", "is ").unwrap();
    turn.add(None, said("meanwhile")).unwrap();
    turn.append("m1", "content", "sunny.").unwrap();
    assert_eq!(turn.complete("m1").unwrap(), "It is sunny.");
    turn.complete_step(step, Some(object(json!({"content": "It is sunny."})))).unwrap();
    assert_eq!(chat.contents().await, Vec::<Value>::new());

    let written = turn.finish(TurnOutcome::Completed).await.unwrap();
    assert_eq!(written.outcome, Outcome::Stored);
    assert_eq!(chat.contents().await, ["What is the weather?", "It is sunny.", "meanwhile"]);
    assert_eq!(chat.points().await, []);
    assert_eq!(turn.add(None, said("late")), Err(TurnError::Ended));
    // The turn has ended, so another outcome changes nothing.
    let again = turn.finish(TurnOutcome::Failed).await.unwrap();
    assert_eq!(again.outcome, Outcome::Duplicate);
    drop(turn);
    sleep(Duration::from_millis(20)).await;
    assert_eq!(chat.contents().await.len(), 3);
}

#[tokio::test]
async fn a_dropped_recorder_writes_its_turn_as_interrupted() {
    let chat = Chat::create().await;
    let turn = chat.record("r1");
    turn.add(None, said("a")).unwrap();
    let child = turn.clone();
    drop(turn);
    child.add(None, said("b")).unwrap();
    child.begin_step(Step::new(StepKind::Tool, frame())).unwrap();
    assert_eq!(chat.last_outcome().await, None, "a clone still records");
    drop(child);
    chat.until_written().await;
    assert_eq!(chat.last_outcome().await, Some(TurnOutcome::Interrupted));
    assert_eq!(chat.contents().await, ["a", "b"]);
    assert_eq!(chat.points().await[0].step.status, StepStatus::Interrupted);
    // A recorder without any content writes nothing.
    drop(chat.record("r2"));
    sleep(Duration::from_millis(20)).await;
    assert_eq!(chat.points().await.len(), 1);
}

#[tokio::test]
async fn a_panic_and_a_cancelled_task_write_their_turns() {
    for is_panic in [true, false] {
        let chat = Chat::create().await;
        let turn = chat.record("r1");
        turn.add(None, said("a")).unwrap();
        let task = tokio::spawn(async move {
            turn.begin_step(Step::new(StepKind::Llm, frame())).unwrap();
            assert!(!is_panic, "the task panics");
            sleep(Duration::from_mins(1)).await;
            drop(turn);
        });
        if is_panic {
            assert!(task.await.unwrap_err().is_panic());
        } else {
            tokio::task::yield_now().await;
            task.abort();
        }
        chat.until_written().await;
        assert_eq!(chat.last_outcome().await, Some(TurnOutcome::Interrupted));
        assert_eq!(chat.contents().await, ["a"]);
    }
}

#[tokio::test]
async fn a_cancelled_caller_does_not_stop_the_write() {
    let chat = Chat::create().await;
    let turn = chat.record("r1");
    turn.add(None, said("a")).unwrap();
    {
        let mut finishing = Box::pin(turn.finish(TurnOutcome::Completed));
        assert!(futures::poll!(&mut finishing).is_pending());
    }
    drop(turn);
    chat.until_written().await;
    assert_eq!(chat.last_outcome().await, Some(TurnOutcome::Completed));
    assert_eq!(chat.contents().await.len(), 1);
}

#[tokio::test]
async fn an_empty_turn_is_refused() {
    let chat = Chat::create().await;
    let refused = chat.record("r1").finish(TurnOutcome::Completed).await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
}

#[tokio::test]
async fn a_step_has_the_space_at_its_beginning() {
    let chat = Chat::create().await;
    let turn = chat.record("r1");
    turn.set_space("a", json!(1)).unwrap();
    let first = turn.begin_step(Step::new(StepKind::HookCreate, frame())).unwrap();
    turn.set_space("b.$", json!({"c": null})).unwrap();
    turn.begin_step(Step::new(StepKind::Delegate, frame())).unwrap();
    turn.set_space("a", Value::Null).unwrap();
    turn.fail_step(first, "no", Some(object(json!({"partly": true})))).unwrap();
    assert_eq!(turn.fail_step(first, "no", None), Err(TurnError::NoSuchStep(first)));
    assert_eq!(turn.space().unwrap(), object(json!({"b.$": {"c": null}})));
    turn.finish(TurnOutcome::Failed).await.unwrap();
    let points = chat.points().await;
    let spaces: Vec<_> = points.iter().map(|point| point.step.space_snapshot.clone()).collect();
    assert_eq!(spaces, [object(json!({"a": 1})), object(json!({"a": 1, "b.$": {"c": null}}))]);
    assert_eq!(points[0].step.error.as_deref(), Some("no"));
    assert_eq!(points[0].step.output, Some(object(json!({"partly": true}))));
    assert!(points.iter().all(|point| point.step.status == StepStatus::Failed));
}

#[test]
fn events_and_stream_keys_are_not_recorded() {
    let mut turn = TurnBuffer::default();
    let mut event = said("stream_start");
    event.body.extra.insert("event_type".to_owned(), json!("event"));
    turn.add(Some("e"), event);
    assert_eq!(turn.append("e", "content", "x"), Ok(()), "deltas of an event are ignored");
    let unknown = TurnError::UnknownMessage("f".to_owned());
    assert_eq!(turn.append("f", "content", "x"), Err(unknown));
    turn.add(Some("m"), said("first"));
    turn.add(None, said("second"));
    turn.add(Some("m"), said("instead"));
    let turn = turn.finish(TurnId::parse("r").unwrap(), TurnOutcome::Completed);
    let contents: Vec<_> = turn.messages.iter().map(|message| &message.body.content).collect();
    assert_eq!(contents, ["instead", "second"]);
}

#[test]
fn deltas_change_the_value_at_their_path_or_are_refused() {
    let mut turn = TurnBuffer::default();
    turn.add(Some("m"), said(json!([{"type": "text", "text": "a"}])));
    for (path, text) in [
        ("content.0.text", "b"),
        ("content.1.text", "c"),
        ("metadata.note", "d"),
        ("reasoning_content", "e"),
        ("reasoning_content", "f"),
    ] {
        turn.append("m", path, text).unwrap();
    }
    turn.replace("m", "content.1.type", json!("text")).unwrap();
    let (key, path) = ("m".to_owned(), |path: &str| path.to_owned());
    for wrong in
        ["content.3.text", "content.x", "content.0.text.x", "metadata", "role", "sequence", ""]
    {
        let refused = TurnError::NoSuchPath { key: key.clone(), path: path(wrong) };
        assert_eq!(turn.append("m", wrong, "x"), Err(refused), "{wrong}");
    }
    let not_text = TurnError::NotText { key: key.clone(), path: path("content.0") };
    assert_eq!(turn.append("m", "content.0", "x"), Err(not_text));
    turn.complete("m").unwrap();
    assert_eq!(turn.append("m", "content.0.text", "x"), Err(TurnError::CompleteMessage(key)));
    let turn = turn.finish(TurnId::parse("r").unwrap(), TurnOutcome::Completed);
    let body = &turn.messages[0].body;
    let expected = json!([{"type": "text", "text": "ab"}, {"type": "text", "text": "c"}]);
    assert_eq!(body.content, expected);
    assert_eq!(body.metadata, Some(object(json!({"note": "d"}))));
    assert_eq!(body.extra["reasoning_content"], "ef");
}

proptest! {
    #[test]
    fn a_text_in_any_pieces_is_reassembled(pieces in prop::collection::vec(".{0,8}", 0..20)) {
        let mut turn = TurnBuffer::default();
        turn.add(Some("m"), said(Value::Null));
        turn.append("m", "content", "").unwrap();
        for piece in &pieces {
            turn.append("m", "content", piece).unwrap();
        }
        prop_assert_eq!(turn.complete("m").unwrap(), Value::from(pieces.concat()));
    }
}
