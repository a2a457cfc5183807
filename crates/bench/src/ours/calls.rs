use std::ops::Range;

use anyhow::{Result, ensure};
use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use indicatif::ProgressBar;
use persistence::mongo::MongoStore;
use persistence::{Billing, Calls as _, ChatSessions as _, Outcome, Stats as _};
use records::{
    AppId, Limits, MicroDollars, Model, NewChatSession, NewProviderCall, Scope, UserId,
    WorkflowName,
};

use super::Chat;
use super::chat::APP;
use crate::measure::{Read, Write};
use crate::messages::Message;

/// `Calls::record_calls`, one call at a time, each writer for a chat of its own.
#[derive(Debug)]
pub(crate) struct RecordCall {
    chats: Vec<Chat>,
}

/// `Stats::workflow_stats` and the newest chats: everything that the page of a workflow shows.
#[derive(Debug)]
pub(crate) struct ReadStats {
    store: MongoStore,
    app_id: AppId,
    workflow_name: WorkflowName,
    calls: u64,
}

/// Chats that share the calls of a workflow.
const CHATS: usize = 100;
const AT_ONCE: usize = 16;

impl RecordCall {
    /// Chats of one workflow, without an owner.
    pub(crate) async fn of_one_workflow(store: &MongoStore, chats: usize) -> Result<Self> {
        Self::new(store, (0..chats).map(|_| "hot".to_owned()), None).await
    }

    /// Chats of one workflow that one user owns.
    pub(crate) async fn of_one_user(store: &MongoStore, chats: usize) -> Result<Self> {
        let owner = UserId::parse("owner")?;
        Self::new(store, (0..chats).map(|_| "owned".to_owned()), Some(&owner)).await
    }

    /// Chats of different workflows, one each.
    pub(crate) async fn of_many_workflows(store: &MongoStore, chats: usize) -> Result<Self> {
        Self::new(store, (0..chats).map(|n| format!("workflow-{n}")), None).await
    }

    async fn new(
        store: &MongoStore,
        workflows: impl Iterator<Item = String>,
        owner: Option<&UserId>,
    ) -> Result<Self> {
        let mut chats = Vec::new();
        for workflow in workflows {
            chats.push(chat_of(store, &WorkflowName::parse(workflow)?, owner).await?);
        }
        Ok(Self { chats })
    }
}

#[async_trait]
impl Write for RecordCall {
    type Input = (Chat, NewProviderCall);

    fn prepare(&self, writer: usize, _messages: &[Message]) -> Result<Self::Input> {
        Ok((self.chats[writer % self.chats.len()].clone(), call(writer)?))
    }

    async fn write(&self, (chat, call): Self::Input) -> Result<()> {
        let recorded =
            chat.store.record_calls(&chat.scope, &chat.id, vec![call], Billing::Free).await?;
        let is_new = recorded.calls.iter().all(|recorded| recorded.outcome == Outcome::Stored);
        ensure!(is_new, "a call was already recorded");
        Ok(())
    }
}

impl ReadStats {
    /// Records the given number of calls of a workflow.
    pub(crate) async fn fill(
        store: &MongoStore,
        workflow: &str,
        calls: usize,
        progress: &ProgressBar,
    ) -> Result<Self> {
        let workflow_name = WorkflowName::parse(workflow)?;
        let mut chats = Vec::new();
        for _ in 0..CHATS {
            chats.push(chat_of(store, &workflow_name, None).await?);
        }
        let begins = (0..calls).step_by(Limits::BATCH_CALLS).enumerate();
        let recording = stream::iter(begins).map(|(batch, begin)| {
            let (chat, end) = (&chats[batch % CHATS], calls.min(begin + Limits::BATCH_CALLS));
            async move {
                let calls = (begin..end).map(call).collect::<Result<_>>()?;
                chat.store.record_calls(&chat.scope, &chat.id, calls, Billing::Free).await?;
                progress.inc((end - begin) as u64);
                anyhow::Ok(())
            }
        });
        recording.buffer_unordered(AT_ONCE).try_collect::<()>().await?;
        let (store, app_id) = (store.clone(), AppId::parse(APP)?);
        Ok(Self { store, app_id, workflow_name, calls: calls as u64 })
    }
}

#[async_trait]
impl Read for ReadStats {
    async fn read(&self) -> Result<()> {
        let (stats, page) = tokio::try_join!(
            self.store.workflow_stats(&self.app_id, &self.workflow_name),
            self.store.list_chat_stats(&self.app_id, &self.workflow_name, CHATS, None),
        )?;
        let (calls, chats) = (stats.total.usage().calls, page.chats.len());
        ensure!(
            calls == self.calls && chats == CHATS,
            "the stats have {calls} calls and {chats} chats"
        );
        Ok(())
    }
}

async fn chat_of(
    store: &MongoStore,
    workflow_name: &WorkflowName,
    owner: Option<&UserId>,
) -> Result<Chat> {
    let scope = Scope::service(AppId::parse(APP)?);
    let new =
        NewChatSession { user_id: owner.cloned(), ..NewChatSession::of(workflow_name.clone()) };
    let session = store.create_chat(&scope, new).await?;
    Ok(Chat { store: store.clone(), scope, id: session.chat_id })
}

/// A call of one of a few agents and models, at a time within two days; different for each number.
fn call(number: usize) -> Result<NewProviderCall> {
    let within = |range: Range<u64>, stride: u64| {
        range.start + (number as u64).wrapping_mul(stride) % (range.end - range.start)
    };
    let prompt_tokens = within(100..20_000, 7_919);
    let minutes = i64::try_from(within(0..2_880, 1_009))?;
    Ok(NewProviderCall {
        agent: Some(format!("agent-{}", number % 8)),
        requested: Model {
            provider: Some("acme".to_owned()),
            model: Some(format!("model-{}", number % 5)),
        },
        prompt_tokens,
        completion_tokens: within(10..2_000, 104_729),
        cost: MicroDollars::new(prompt_tokens * 3)?,
        duration_ms: within(200..30_000, 15_485_863),
        called_at: Some(DateTime::<Utc>::UNIX_EPOCH + TimeDelta::minutes(minutes)),
        ..NewProviderCall::default()
    })
}
