use anyhow::{Context as _, Result, ensure};
use async_trait::async_trait;
use futures::future::try_join_all;
use futures::{TryStreamExt as _, try_join};
use persistence::{
    Artifacts as _, ChatSessions as _, Contexts as _, Messages as _, Resumption as _,
};
use resume::Options;
use resume::dialect::{Ag2, Dialect as _};
use resume::plan::{self, PlanScan};
use resume::replay::{FirstPass, Form, Rendering};

use super::Chat;
use crate::measure::Read;

/// Loads the data from which an orchestrator resumes, or a part of it.
#[derive(Debug)]
pub(crate) struct Resume {
    pub(crate) chat: Chat,
    /// The number of messages in the chat.
    pub(crate) messages: usize,
    pub(crate) parts: &'static [Part],
    pub(crate) order: Order,
}

/// The order in which the parts are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// In sequence.
    InTurn,
    /// In parallel.
    AtOnce,
}

/// One call of a resume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The session.
    Session,
    /// The session and its last artifact, as `GET meta` returns them.
    Meta,
    /// All messages, in the format from which AG2 resumes.
    History,
    /// The context snapshot.
    Context,
    /// The last artifact.
    Artifact,
    /// Everything from one snapshot, with the plan.
    Plan,
}

impl Part {
    /// The parts that the library loads, in this order.
    pub(crate) const LIBRARY: [Self; 4] =
        [Self::Session, Self::History, Self::Context, Self::Artifact];
    /// The single call of a plan.
    pub(crate) const PLAN: [Self; 1] = [Self::Plan];
    /// The requests of an orchestrator to the service, in this order.
    pub(crate) const SERVICE: [Self; 4] =
        [Self::Meta, Self::History, Self::Context, Self::Artifact];
}

impl Chat {
    async fn load(&self, part: Part, messages: usize) -> Result<()> {
        let Self { store, scope, id } = self;
        match part {
            Part::Session => {
                let chat = store.get_chat(scope, id).await?;
                chat.context("the session is missing")?;
            }
            Part::Meta => {
                let chat = store.get_chat(scope, id);
                let artifact = store.get_last_artifact(scope, id);
                let (chat, artifact) = try_join!(chat, artifact)?;
                chat.zip(artifact).context("the session or its artifact is missing")?;
            }
            Part::History => {
                let history = store.history(scope, id).try_collect().await?;
                let rendered = Ag2.render(history, &Options::default());
                let count = rendered.messages.len();
                ensure!(count == messages, "{count} messages were rendered");
            }
            Part::Context => {
                let context = store.load_context_snapshot(scope, id).await?;
                ensure!(!context.data.is_empty(), "the context snapshot is missing");
            }
            Part::Plan => {
                let mut resumed = store.resume_state(scope, id).await?;
                let mut plan = PlanScan::new(&resumed.state.chat);
                let form = Form { dialect: &Ag2, newest: None, options: Options::default() };
                let mut pass = FirstPass::new(form, usize::MAX);
                let mut pages = resumed.messages.pages();
                while let Some(page) = pages.try_next().await? {
                    page.messages.iter().for_each(|message| plan.observe(message));
                    pass.observe(page.messages, page.bytes);
                }
                drop(pages);
                let state = resumed.state;
                let plan = plan::plan(&state, plan, "user");
                let count = match pass.finish() {
                    Rendering::Whole { rendered, .. } => rendered.messages.len(),
                    Rendering::Replayed(_) => 0,
                };
                ensure!(count == messages, "{count} messages were rendered");
                ensure!(plan.action != plan::Action::NothingToDo, "there is nothing to do");
                ensure!(state.artifact.is_some(), "the artifact is missing");
                ensure!(!state.context.data.is_empty(), "the context snapshot is missing");
            }
            Part::Artifact => {
                let artifact = store.get_last_artifact(scope, id).await?;
                artifact.context("the artifact is missing")?;
            }
        }
        Ok(())
    }
}

#[async_trait]
impl Read for Resume {
    async fn read(&self) -> Result<()> {
        let loads = self.parts.iter().map(|part| self.chat.load(*part, self.messages));
        match self.order {
            Order::InTurn => {
                for load in loads {
                    load.await?;
                }
            }
            Order::AtOnce => {
                try_join_all(loads).await?;
            }
        }
        Ok(())
    }
}
