//! How much a turn stores and a resume reads, for deeply nested steps.

use bson::{Document, RawDocumentBuf, doc};
use persistence::{ChatSessions, Resumption, StoreError, Turns};
use records::{
    AppId, ChatId, JsonObject, NewChatSession, NewTurn, ResumePoint, Scope, StackFrame, StackId,
    Step, StepKind, TurnId, TurnOutcome, WorkflowName,
};

use super::database::Database;

fn scope() -> Scope {
    Scope::service(AppId::parse("acme_corp").unwrap())
}

async fn chat(database: &Database) -> ChatId {
    let new = NewChatSession::of(WorkflowName::parse("Generator").unwrap());
    database.create_chat(&scope(), new).await.unwrap().chat_id
}

/// Returns a call id of the largest length.
fn long_id(index: usize) -> StackId {
    StackId::parse(format!("{index:0>128}")).unwrap()
}

/// Returns a failed turn with the largest number of steps, each nested in the one before.
fn nested(request_id: &str) -> NewTurn {
    let mut frame = StackFrame::root(long_id(0));
    let mut steps = vec![Step::new(StepKind::Delegate, frame.clone())];
    for index in 1..NewTurn::MAX_STEPS {
        frame = frame.call(long_id(index));
        steps.push(Step::new(StepKind::Delegate, frame.clone()));
    }
    NewTurn {
        request_id: TurnId::parse(request_id).unwrap(),
        outcome: TurnOutcome::Failed,
        messages: Vec::new(),
        steps,
        connector: None,
        mode: None,
    }
}

/// Returns the size of the steps of a turn as request JSON.
fn given_bytes(turn: &NewTurn) -> usize {
    let step = |step: &Step| {
        let fields = [
            ("type", step.kind.as_str().into()),
            ("status", step.status.as_str().into()),
            ("stack_id", step.frame.stack_id.as_str().into()),
            ("stack_parent_id", step.frame.parent_id.as_ref().map(StackId::as_str).into()),
            ("stack_depth", step.frame.depth.into()),
        ];
        let fields = fields.map(|(name, value)| (name.to_owned(), value));
        serde_json::to_string(&JsonObject::from_iter(fields)).unwrap().len() + 1
    };
    turn.steps.iter().map(step).sum()
}

async fn stored_bytes(database: &Database) -> usize {
    let points = database.all("resume_points").await;
    points.iter().map(|point| point.as_bytes().len()).sum()
}

#[tokio::test]
async fn the_stored_size_of_a_turn_is_linear_in_its_input() {
    let database = Database::create().await;
    let chat_id = chat(&database).await;
    let turn = nested("deep");
    let given = given_bytes(&turn);
    database.append_turn(&scope(), &chat_id, turn).await.unwrap();
    let stored = stored_bytes(&database).await;
    assert!(stored < 4 * given, "{stored} bytes are stored of {given} bytes given");
    // The size in memory is linear as well.
    let state = database.resume_state(&scope(), &chat_id).await.unwrap().state;
    let named: usize = state.resume_points.iter().map(|point| point.stack_path.len()).sum();
    assert!(named <= 2 * NewTurn::MAX_STEPS, "{named} calls are in the paths");
    let last: &ResumePoint = state.resume_points.last().unwrap();
    assert_eq!(last.stack_path.len(), NewTurn::MAX_STEPS);
}

/// Replaces the resume points by those of older releases, which stored the whole path in each of them.
async fn store_whole_paths(database: &Database) {
    let points = database.raw.collection::<RawDocumentBuf>("resume_points");
    let mut path: Vec<String> = Vec::new();
    let mut whole = Vec::new();
    for raw in database.all("resume_points").await {
        let mut point = Document::try_from(&*raw).unwrap();
        path.push(point.get_str("stack_id").unwrap().to_owned());
        point.insert("stack_path", path.clone());
        whole.push(RawDocumentBuf::try_from(&point).unwrap());
    }
    points.delete_many(doc! {}).await.unwrap();
    points.insert_many(whole).await.unwrap();
}

#[tokio::test]
async fn a_resume_reads_resume_points_with_whole_paths_within_its_bound() {
    let database = Database::create().await;
    let chat_id = chat(&database).await;
    database.append_turn(&scope(), &chat_id, nested("deep")).await.unwrap();
    let written = database.resume_state(&scope(), &chat_id).await.unwrap().state.resume_points;
    store_whole_paths(&database).await;
    assert!(stored_bytes(&database).await > 64 << 20);
    let read = database.resume_state(&scope(), &chat_id).await.unwrap().state.resume_points;
    let steps = |points: &[ResumePoint]| {
        points.iter().map(|point| (point.sequence, point.step.clone())).collect::<Vec<_>>()
    };
    assert_eq!(steps(&read), steps(&written));
    assert_eq!(read.last(), written.last());
    let path_bytes = |point: &ResumePoint| {
        point.stack_path.iter().map(|stack_id| stack_id.as_str().len()).sum::<usize>()
    };
    assert!(read.iter().map(path_bytes).sum::<usize>() < 16 << 20);
}

#[tokio::test]
async fn resume_points_too_large_for_a_resume_are_refused() {
    let database = Database::create().await;
    let chat_id = chat(&database).await;
    database.append_turn(&scope(), &chat_id, nested("deep")).await.unwrap();
    let large = doc! { "$set": { "error": "x".repeat(6 << 20) } };
    let points = database.raw.collection::<RawDocumentBuf>("resume_points");
    let some = doc! { "_id.sequence": { "$lte": 6 } };
    assert_eq!(points.update_many(some, large).await.unwrap().modified_count, 6);
    let refused = database.resume_state(&scope(), &chat_id).await;
    let Err(StoreError::Invalid(invalid)) = refused else { panic!("{refused:?}") };
    assert_eq!(invalid.location, "/resume_points".into());
}
