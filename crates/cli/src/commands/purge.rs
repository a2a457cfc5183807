use std::process::ExitCode;

use anyhow::Context as _;
use chrono::{DateTime, Utc};
use indicatif::ProgressBar;
use persistence::mongo::MongoStore;
use persistence::{
    AuditLog as _, ChatSessions as _, DueChat, Purges as _, Retained, StoreError, apply_retention,
    count_due_tool_runs,
};
use records::{Actor, AppId, AuditAction, ChatId, Clock as _, Due, Retention, Scope, SystemClock};
use serde_json::json;

use crate::backend::{Backend, expect_app};
use crate::output::Output;
use crate::progress;
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "A running service purges, archives and removes what is due by itself, about four times an hour. Retention \
                        is set in the table [apps] of the configuration, and for one app by `reprise apps set`. A chat \
                        under hold is never purged or archived, and keeps its runs of tools. Examples:\n  \
                        reprise purge --dry-run\n  reprise purge --app acme_corp\n  \
                        reprise purge --app acme_corp --chat chat_abc123"
)]
pub(crate) struct Arguments {
    /// Only the chats of this app.
    #[arg(long, value_name = "APP")]
    app: Option<AppId>,
    /// This chat, whether it is due or not.
    #[arg(long, value_name = "CHAT", requires = "app")]
    chat: Option<ChatId>,
    /// List the chats that are due, count them and the runs of tools that are; purge nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: Output,
}

/// The chats in one list of a dry run.
const PAGE: usize = 1_000;

/// What was done, or would be, in numbers.
#[derive(Debug, Default)]
struct Counts {
    purged: u64,
    archived: u64,
    tool_runs: u64,
}

/// Does what retention says: purges and archives chats, and removes runs of tools. Or purges one chat.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let counts = Backend::with_store(settings, async |store| match &arguments.chat {
        Some(chat_id) => purge_one(arguments, store, chat_id).await,
        None => purge_all(arguments, settings, store).await,
    });
    let Counts { purged, archived, tool_runs } = counts.await.context("cannot purge")?;
    let is_dry_run = arguments.dry_run;
    let object = || {
        if is_dry_run {
            json!({ "due": purged, "to_archive": archived, "tool_runs_due": tool_runs })
        } else {
            json!({ "purged": purged, "archived": archived, "tool_runs_removed": tool_runs })
        }
    };
    let text = || match &arguments.chat {
        Some(_) if is_dry_run => format!("{purged} chats to be purged"),
        Some(_) => format!("{purged} chats purged"),
        None if is_dry_run => format!(
            "{purged} chats due\n{archived} chats to be archived\n{tool_runs} runs of tools due"
        ),
        None => format!(
            "{purged} chats purged\n{archived} chats archived\n{tool_runs} runs of tools removed"
        ),
    };
    arguments.output.print(object, text)?;
    Ok(ExitCode::SUCCESS)
}

async fn purge_one(
    arguments: &Arguments,
    store: &MongoStore,
    chat_id: &ChatId,
) -> anyhow::Result<Counts> {
    let app_id = arguments.app.clone().context("--chat needs --app")?;
    let scope = Scope::service(app_id);
    if arguments.dry_run {
        let chat = store.get_chat(&scope.finding_deleted(), chat_id).await?;
        let chat = chat.ok_or_else(|| StoreError::ChatNotFound(chat_id.clone()))?;
        if chat.hold.is_some() {
            return Err(StoreError::ChatHeld(chat.chat_id).into());
        }
        return Ok(Counts { purged: 1, ..Counts::default() });
    }
    let is_purged = store.purge_chat(&Actor::command_line(), &scope, chat_id, None).await?;
    Ok(Counts { purged: is_purged.into(), ..Counts::default() })
}

async fn purge_all(
    arguments: &Arguments,
    settings: &Settings,
    store: &MongoStore,
) -> anyhow::Result<Counts> {
    expect_app(store, arguments.app.as_ref()).await?;
    let (actor, now) = (Actor::command_line(), SystemClock.now());
    if !arguments.dry_run {
        let action = AuditAction::PurgeChats;
        store.record_action(&actor, arguments.app.as_ref(), None, action).await?;
        while store.finish_purges(PAGE).await? > 0 {}
    }
    let bar = progress::bar("chats")?;
    let mut counts = Counts::default();
    for app_id in apps(arguments, store).await? {
        let retention =
            service::retention_of(store, settings.service().apps.settings, &app_id).await?;
        let round = Round { output: arguments.output, store, app_id, retention, now, bar: &bar };
        let done =
            if arguments.dry_run { round.count().await? } else { round.purge(&actor).await? };
        counts.purged += done.purged;
        counts.archived += done.archived;
        counts.tool_runs += done.tool_runs;
    }
    bar.finish_and_clear();
    Ok(counts)
}

/// What is due in one app.
struct Round<'a> {
    output: Output,
    store: &'a MongoStore,
    app_id: AppId,
    retention: Retention,
    now: DateTime<Utc>,
    bar: &'a ProgressBar,
}

impl Round<'_> {
    /// Lists and counts what is due.
    async fn count(&self) -> anyhow::Result<Counts> {
        let Self { store, app_id, retention, now, .. } = self;
        let mut counts = Counts::default();
        let reasons = retention.cutoffs(*now);
        for (index, &(due, before)) in reasons.iter().enumerate() {
            let count = self.announce(&reasons[..=index]).await?;
            match due {
                Due::Inactive => counts.archived += count,
                _ => counts.purged += count,
            }
            let others = &reasons[..index];
            for chat in store.list_due(app_id, due, before, others, PAGE).await? {
                self.print(&DueChat { chat, due })?;
            }
        }
        counts.tool_runs = count_due_tool_runs(*store, app_id, retention, *now).await?;
        Ok(counts)
    }

    /// Purges and archives the chats that are due, and removes the runs of tools that are.
    async fn purge(&self, actor: &Actor) -> anyhow::Result<Counts> {
        let Self { store, app_id, retention, now, .. } = self;
        let reasons = retention.cutoffs(*now);
        for index in 0..reasons.len() {
            self.announce(&reasons[..=index]).await?;
        }
        let mut failed = None;
        let mut note = |due: DueChat| {
            self.bar.inc(1);
            failed = failed.take().or(self.print(&due).err());
        };
        let done = apply_retention(*store, actor, app_id, retention, *now, &mut note).await?;
        failed.map_or(Ok(()), Err)?;
        let Retained { purged, archived, tool_runs } = done;
        Ok(Counts { purged, archived, tool_runs })
    }

    /// Counts the chats that are due for the last of these reasons, and adds them to the progress bar.
    ///
    /// A chat that is due for an earlier reason is left out, because the purge handles it once.
    async fn announce(&self, reasons: &[(Due, DateTime<Utc>)]) -> anyhow::Result<u64> {
        let Some((&(due, before), earlier)) = reasons.split_last() else { return Ok(0) };
        let count = self.store.count_due(&self.app_id, due, before, earlier).await?;
        self.bar.inc_length(count);
        Ok(count)
    }

    fn print(&self, due: &DueChat) -> anyhow::Result<()> {
        let DueChat { chat, due } = due;
        let since = due.since(chat).unwrap_or(chat.last_updated_at).to_rfc3339();
        let (app_id, chat_id, due) = (&chat.app_id, &chat.chat_id, due.as_str());
        let object = || json!({ "app_id": app_id, "chat_id": chat_id, "due": due, "since": since });
        let text = || format!("{app_id}  {chat_id}  {due:<9}  {since}");
        self.bar.suspend(|| self.output.print(object, text))
    }
}

/// Returns the apps whose chats are purged.
async fn apps(arguments: &Arguments, store: &MongoStore) -> anyhow::Result<Vec<AppId>> {
    if let Some(app_id) = &arguments.app {
        return Ok(vec![app_id.clone()]);
    }
    let mut apps = Vec::new();
    while let Some(app_id) = store.next_app_with_chats(apps.last()).await? {
        apps.push(app_id);
    }
    Ok(apps)
}
