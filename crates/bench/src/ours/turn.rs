use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, ensure};
use async_trait::async_trait;
use persistence::{Messages as _, Outcome, Turns as _};
use records::{
    JsonObject, MessageBody, NewMessage, NewTurn, StackFrame, StackId, Step, StepKind, StepStatus,
    TurnId, TurnMessage, TurnOutcome,
};

use super::chat::new_messages;
use super::{Chat, EventIds};
use crate::measure::Write;
use crate::messages::Message;

/// A typical turn: the user's message, five more messages and five steps.
pub(crate) const TURN_MESSAGES: usize = 6;
const STEPS: [StepKind; 5] =
    [StepKind::Input, StepKind::HookCreate, StepKind::Llm, StepKind::Tool, StepKind::HookNext];

/// `Turns::append_turn`: the whole turn at its end.
#[derive(Debug)]
pub(crate) struct AppendTurn {
    chat: Chat,
    outcome: TurnOutcome,
    next: AtomicUsize,
}

/// The same turn, with a write for each message and each step.
#[derive(Debug)]
pub(crate) struct AppendSingly {
    chat: Chat,
    next: AtomicUsize,
}

impl AppendTurn {
    /// Turns of a chat with this outcome; in a turn that broke off the last two steps are unfinished.
    pub(crate) fn to(chat: Chat, outcome: TurnOutcome) -> Self {
        Self { chat, outcome, next: AtomicUsize::new(0) }
    }
}

impl AppendSingly {
    pub(crate) fn to(chat: Chat) -> Self {
        Self { chat, next: AtomicUsize::new(0) }
    }
}

#[async_trait]
impl Write for AppendTurn {
    type Input = NewTurn;

    fn prepare(&self, _writer: usize, messages: &[Message]) -> Result<NewTurn> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let messages =
            messages.iter().map(|message| TurnMessage { body: body(message), author: None });
        let steps = STEPS.into_iter().enumerate().map(|(index, kind)| {
            let is_done = index < 3 || self.outcome == TurnOutcome::Completed;
            let status = if is_done { StepStatus::Completed } else { StepStatus::Running };
            step(kind, status)
        });
        Ok(NewTurn {
            request_id: TurnId::parse(format!("turn-{number}"))?,
            outcome: self.outcome,
            messages: messages.collect(),
            steps: steps.collect::<Result<_>>()?,
            connector: Some("deepseek.v3".to_owned()),
            mode: Some("task".to_owned()),
        })
    }

    async fn write(&self, turn: NewTurn) -> Result<()> {
        let Chat { store, scope, id } = &self.chat;
        let written = store.append_turn(scope, id, turn).await?;
        ensure!(written.outcome == Outcome::Stored, "the turn was already stored");
        Ok(())
    }
}

#[async_trait]
impl Write for AppendSingly {
    type Input = (Vec<NewMessage>, Vec<NewTurn>);

    fn prepare(&self, _writer: usize, messages: &[Message]) -> Result<Self::Input> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let steps = STEPS.into_iter().enumerate().map(|(index, kind)| {
            Ok(NewTurn {
                request_id: TurnId::parse(format!("turn-{number}-{index}"))?,
                outcome: TurnOutcome::Interrupted,
                messages: Vec::new(),
                steps: vec![step(kind, StepStatus::Running)?],
                connector: None,
                mode: None,
            })
        });
        Ok((new_messages(messages, EventIds::Given)?, steps.collect::<Result<_>>()?))
    }

    async fn write(&self, (messages, steps): Self::Input) -> Result<()> {
        let Chat { store, scope, id } = &self.chat;
        for message in messages {
            store.append(scope, id, vec![message]).await?;
        }
        for step in steps {
            store.append_turn(scope, id, step).await?;
        }
        Ok(())
    }
}

fn body(message: &Message) -> MessageBody {
    let mut body = MessageBody::new(message.role, Some(message.name), message.content.as_str());
    body.timestamp = Some(message.timestamp.clone());
    body
}

fn step(kind: StepKind, status: StepStatus) -> Result<Step> {
    let frame = StackFrame::root(StackId::parse("stk_001")?);
    let input = JsonObject::from_iter([("query".to_owned(), "what is the weather".into())]);
    let assistant_id = Some("weather_assistant".to_owned());
    Ok(Step { status, assistant_id, input: Some(input), ..Step::new(kind, frame) })
}
