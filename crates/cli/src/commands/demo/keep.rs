//! Fills the database with chats to look at.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use anyhow::Context as _;
use chrono::{DateTime, TimeDelta, Utc};
use persistence::mongo::MongoStore;
use persistence::{
    Billing, Calls as _, ChatSessions as _, Contexts as _, InputRequests as _, Store as _,
    ToolRuns as _, Turns as _,
};
use records::{
    CallId, ChatId, ChatStatus, Clock, InputKind, InputRequestId, MessageBody, MicroDollars, Model,
    NewChatSession, NewInputRequest, NewProviderCall, NewToolRun, NewTurn, Question, Scope,
    StackFrame, StackId, Step, StepKind, StepStatus, SystemClock, ToolRunId, TurnId, TurnMessage,
    TurnOutcome, UserId, WorkflowName,
};
use serde_json::{Value, json};

use super::scope;
use super::stories::{STORIES, Story, USERS};
use crate::backend::Backend;
use crate::progress;
use crate::settings::Settings;

/// How many chats there are, and over how many hours they are spread.
const CHATS: u32 = 96;
const HOURS: i64 = 7 * 24;

/// How a chat of the demo ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Completed,
    /// The tool fails, and the workflow gives up.
    Failed,
    /// The tool fails, and the chat can be resumed.
    Broken,
    /// A person is asked.
    Asked,
    /// The chat is at work.
    Running,
}

impl End {
    /// Of twenty chats in a row: most are completed, and the newest are at work.
    fn of(number: u32) -> Self {
        match (number % 20, CHATS - number) {
            (_, 1..=3) => Self::Running,
            (3 | 11, _) => Self::Failed,
            (7, _) => Self::Broken,
            (5 | 14 | 18, _) => Self::Asked,
            _ => Self::Completed,
        }
    }
}

/// The clock of the store while the chats are written: it shows the time at which each of them happens.
#[derive(Debug)]
struct StoryClock(AtomicI64);

impl StoryClock {
    fn set(&self, time: DateTime<Utc>) {
        self.0.store(time.timestamp_millis(), Ordering::Relaxed);
    }
}

impl Clock for StoryClock {
    fn now(&self) -> DateTime<Utc> {
        let millis = self.0.load(Ordering::Relaxed);
        DateTime::from_timestamp_millis(millis).unwrap_or_else(|| SystemClock.now())
    }
}

/// Writes the chats that are missing. Safe to repeat.
pub(super) async fn fill(settings: &Settings) -> anyhow::Result<()> {
    let now = SystemClock.now();
    let clock = Arc::new(StoryClock(AtomicI64::new(now.timestamp_millis())));
    let bar = progress::bar("chats")?;
    bar.set_length(u64::from(CHATS));
    let write = async |store: &MongoStore| {
        store.ping().await?;
        let scope = scope()?;
        for number in 0..CHATS {
            // The last one has just begun.
            let ago = TimeDelta::minutes(HOURS * 60 * i64::from(CHATS - number) / i64::from(CHATS));
            let ago = if CHATS - number <= 3 { TimeDelta::minutes(4) } else { ago };
            let chat = Chat::new(store, &scope, &clock, number, now - ago)?;
            chat.write().await.with_context(|| format!("cannot write the chat {}", chat.id))?;
            bar.inc(1);
        }
        Ok(())
    };
    let filled = Backend::with_store_and_clock(settings, clock.clone(), write).await;
    bar.finish_and_clear();
    filled
}

/// A chat to write.
struct Chat<'a> {
    store: &'a MongoStore,
    scope: &'a Scope,
    clock: &'a StoryClock,
    story: &'static Story,
    end: End,
    user: &'static str,
    /// How much this chat is slower and dearer than others, in percent.
    weight: u64,
    begins: DateTime<Utc>,
    id: ChatId,
}

impl<'a> Chat<'a> {
    fn new(
        store: &'a MongoStore,
        scope: &'a Scope,
        clock: &'a StoryClock,
        number: u32,
        begins: DateTime<Utc>,
    ) -> anyhow::Result<Self> {
        let mut random = fastrand::Rng::with_seed(u64::from(number));
        Ok(Self {
            store,
            scope,
            clock,
            story: &STORIES[random.usize(..STORIES.len())],
            end: End::of(number),
            user: USERS[random.usize(..USERS.len())],
            weight: random.u64(40..260),
            begins,
            id: ChatId::parse(format!("demo-{number:03}"))?,
        })
    }

    async fn write(&self) -> anyhow::Result<()> {
        let Self { store, scope, id, story, .. } = self;
        if store.get_chat(scope, id).await?.is_some_and(|chat| chat.last_sequence > 0) {
            // It was written before, and a user may have continued it since.
            return Ok(());
        }
        self.at(0);
        let new = NewChatSession {
            chat_id: Some(id.clone()),
            user_id: Some(UserId::parse(self.user)?),
            title: Some(story.title.to_owned()),
            metadata: object(json!({ "channel": if self.weight > 150 { "phone" } else { "web" } })),
            ..NewChatSession::of(WorkflowName::parse(story.workflow)?)
        };
        store.create_chat(scope, new).await?;
        self.at(9);
        let calls = vec![self.call("call-1", 0, 0)?, self.call("call-2", 1, 5)?];
        store.record_calls(scope, id, calls, Billing::Free).await?;
        let context = object(json!({ "stage": "found", "customer": self.user }));
        store.merge_context_snapshot(scope, id, context).await?;
        store.append_turn(scope, id, self.first_turn()?).await?;
        self.at(60);
        match self.end {
            End::Running => return Ok(()),
            End::Asked => return self.ask().await,
            End::Completed | End::Failed | End::Broken => {}
        }
        let is_done = self.end == End::Completed;
        let calls = vec![self.call("call-3", 1, 63)?];
        store.record_calls(scope, id, calls, Billing::Free).await?;
        self.at(75);
        store.record_tool_runs(scope, id, vec![self.tool_run(is_done)?]).await?;
        store.append_turn(scope, id, self.second_turn(is_done)?).await?;
        let (status, reason) = match self.end {
            End::Completed => (ChatStatus::Completed, None),
            End::Failed => (ChatStatus::Failed, Some(story.error)),
            _ => return Ok(()),
        };
        store.set_status(scope, id, status, reason).await?;
        Ok(())
    }

    /// Sets the clock to a number of seconds after the beginning.
    fn at(&self, seconds: i64) {
        self.clock.set(self.time(seconds));
    }

    fn time(&self, seconds: i64) -> DateTime<Utc> {
        self.begins + TimeDelta::seconds(seconds)
    }

    fn first_turn(&self) -> anyhow::Result<NewTurn> {
        let Story { asked, agents: [leader, user_of_tool], result, found, .. } = self.story;
        let messages = vec![
            said("user", self.user, asked, None),
            self.tool_call(user_of_tool, "tool-1", "call-2"),
            self.tool_result("tool-1", result),
            said("assistant", leader, found, Some("call-1")),
        ];
        turn("request-1", TurnOutcome::Completed, messages, Vec::new())
    }

    fn second_turn(&self, is_done: bool) -> anyhow::Result<NewTurn> {
        let Story { then, agents: [leader, user_of_tool], done, error, .. } = self.story;
        let mut messages = vec![
            said("user", self.user, then, None),
            self.tool_call(user_of_tool, "tool-2", "call-3"),
        ];
        if is_done {
            messages.push(self.tool_result("tool-2", r#"{"ok": true}"#));
            messages.push(said("assistant", leader, done, None));
            return turn("request-2", TurnOutcome::Completed, messages, Vec::new());
        }
        let outer = StackFrame::root(StackId::parse("plan")?);
        let inner = outer.call(StackId::parse("act")?);
        let step = |kind, status, frame: &StackFrame, agent: &str| Step {
            status,
            assistant_id: Some(agent.to_owned()),
            ..Step::new(kind, frame.clone())
        };
        let failed = Step {
            input: serde_json::from_str(self.story.arguments)?,
            error: Some((*error).to_owned()),
            ..step(StepKind::Tool, StepStatus::Failed, &inner, user_of_tool)
        };
        let steps = vec![
            step(StepKind::Input, StepStatus::Completed, &outer, leader),
            step(StepKind::Delegate, StepStatus::Completed, &outer, leader),
            step(StepKind::Llm, StepStatus::Completed, &inner, user_of_tool),
            failed,
        ];
        turn("request-2", TurnOutcome::Failed, messages, steps)
    }

    async fn ask(&self) -> anyhow::Result<()> {
        let Story { question, agents: [leader, _], .. } = self.story;
        let question = Question {
            prompt: (*question).to_owned(),
            agent: Some((*leader).to_owned()),
            kind: InputKind::Confirm,
            options: Vec::new(),
            tool_call: None,
            metadata: object(json!({})),
        };
        let new = NewInputRequest {
            request_id: Some(InputRequestId::parse("ask-1")?),
            question,
            expires_in_sec: None,
        };
        self.store.request_input(self.scope, &self.id, new).await?;
        Ok(())
    }

    fn call(&self, id: &str, agent: usize, second: i64) -> anyhow::Result<NewProviderCall> {
        let (provider, model) = self.story.model;
        let model = Model { provider: Some(provider.to_owned()), model: Some(model.to_owned()) };
        Ok(NewProviderCall {
            call_id: Some(CallId::parse(id)?),
            agent: Some(self.story.agents[agent].to_owned()),
            requested: model,
            prompt_tokens: 11 * self.weight,
            completion_tokens: 3 * self.weight,
            cost: MicroDollars::new(self.story.cost_micros * self.weight / 100)?,
            duration_ms: 17 * self.weight,
            called_at: Some(self.time(second)),
            ..NewProviderCall::default()
        })
    }

    fn tool_run(&self, is_done: bool) -> anyhow::Result<NewToolRun> {
        Ok(NewToolRun {
            run_id: Some(ToolRunId::parse("run-2")?),
            tool_name: self.story.tool.to_owned(),
            agent: Some(self.story.agents[1].to_owned()),
            tool_call_id: Some("tool-2".to_owned()),
            parameters: serde_json::from_str(self.story.arguments)?,
            result: if is_done { json!({ "ok": true }) } else { Value::Null },
            is_success: is_done,
            error: (!is_done).then(|| self.story.error.to_owned()),
            execution_time_ms: Some(8 * self.weight),
            started_at: Some(self.time(66)),
            ..NewToolRun::default()
        })
    }

    fn tool_call(&self, agent: &str, id: &str, call_id: &str) -> MessageBody {
        let mut body = MessageBody::new("assistant", Some(agent), Value::Null);
        let function = json!({ "name": self.story.tool, "arguments": self.story.arguments });
        let call = json!([{ "id": id, "type": "function", "function": function }]);
        body.extra.insert("tool_calls".to_owned(), call);
        body.extra.insert(MessageBody::PRODUCED_BY.to_owned(), call_id.into());
        body
    }

    fn tool_result(&self, id: &str, result: &str) -> MessageBody {
        let mut body = MessageBody::new("tool", Some(self.story.tool), result);
        body.extra.insert("tool_call_id".to_owned(), id.into());
        body
    }
}

fn said(role: &str, name: &str, text: &str, call_id: Option<&str>) -> MessageBody {
    let mut body = MessageBody::new(role, Some(name), text);
    if let Some(call_id) = call_id {
        body.extra.insert(MessageBody::PRODUCED_BY.to_owned(), call_id.into());
    }
    body
}

fn turn(
    id: &str,
    outcome: TurnOutcome,
    messages: Vec<MessageBody>,
    steps: Vec<Step>,
) -> anyhow::Result<NewTurn> {
    let messages = messages.into_iter().map(|body| TurnMessage { body, author: None });
    Ok(NewTurn {
        request_id: TurnId::parse(id)?,
        outcome,
        messages: messages.collect(),
        steps,
        connector: None,
        mode: None,
    })
}

fn object(value: Value) -> records::JsonObject {
    match value {
        Value::Object(object) => object,
        _ => records::JsonObject::new(),
    }
}
