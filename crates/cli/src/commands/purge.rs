use std::process::ExitCode;

use anyhow::Context as _;
use indicatif::ProgressBar;
use persistence::mongo::MongoStore;
use persistence::{AuditLog as _, DueChat, Purges as _, purge_due};
use records::{Actor, AppId, AuditAction, ChatId, Clock as _, Due, Scope, SystemClock};
use serde_json::json;

use crate::backend::Backend;
use crate::output::Output;
use crate::progress;
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "A running service purges what is due by itself, about four times an hour. Retention is set in the table \
                        [apps] of the configuration, and for one app by `reprise apps set`. A chat under hold is never \
                        purged. Examples:\n  reprise purge --dry-run\n  reprise purge --app acme_corp\n  \
                        reprise purge --app acme_corp --chat chat_abc123"
)]
pub(crate) struct Arguments {
    /// Only the chats of this app.
    #[arg(long, value_name = "APP")]
    app: Option<AppId>,
    /// This chat, whether it is due or not.
    #[arg(long, value_name = "CHAT", requires = "app")]
    chat: Option<ChatId>,
    /// List and count what is due; purge nothing.
    #[arg(long, conflicts_with = "chat")]
    dry_run: bool,
    #[command(flatten)]
    output: Output,
}

/// The chats in one list of a dry run.
const PAGE: usize = 1_000;

/// Purges the chats whose retention is over, or one chat.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let count = Backend::with_store(settings, async |store| match &arguments.chat {
        Some(chat_id) => purge_one(arguments, store, chat_id).await,
        None => purge_all(arguments, settings, store).await,
    });
    let count = count.await.context("cannot purge")?;
    let verb = if arguments.dry_run { "due" } else { "purged" };
    arguments.output.print(|| json!({ verb: count }), || format!("{count} chats {verb}"))?;
    Ok(ExitCode::SUCCESS)
}

async fn purge_one(
    arguments: &Arguments,
    store: &MongoStore,
    chat_id: &ChatId,
) -> anyhow::Result<u64> {
    let app_id = arguments.app.clone().context("--chat needs --app")?;
    let scope = Scope::service(app_id);
    store.purge_chat(&Actor::command_line(), &scope, chat_id, None).await?;
    Ok(1)
}

async fn purge_all(
    arguments: &Arguments,
    settings: &Settings,
    store: &MongoStore,
) -> anyhow::Result<u64> {
    let (actor, now) = (Actor::command_line(), SystemClock.now());
    if !arguments.dry_run {
        let action = AuditAction::PurgeChats;
        store.record_action(&actor, arguments.app.as_ref(), None, action).await?;
        while store.finish_purges(PAGE).await? > 0 {}
    }
    let bar = progress::bar("chats")?;
    let mut count = 0;
    for app_id in apps(arguments, store).await? {
        let retention =
            service::retention_of(store, settings.service().apps.settings, &app_id).await?;
        for due in Due::ALL {
            let Some(before) = retention.cutoff(due, now) else { continue };
            let counted = store.count_due(&app_id, due, before).await?;
            bar.inc_length(counted);
            if arguments.dry_run {
                for chat in store.list_due(&app_id, due, before, PAGE).await? {
                    print(arguments.output, &bar, &DueChat { chat, due })?;
                }
                count += counted;
            }
        }
        if !arguments.dry_run {
            let mut failed = None;
            let mut note = |due: DueChat| {
                bar.inc(1);
                failed = failed.take().or(print(arguments.output, &bar, &due).err());
            };
            count += purge_due(store, &actor, &app_id, &retention, now, &mut note).await?;
            failed.map_or(Ok(()), Err)?;
        }
    }
    bar.finish_and_clear();
    Ok(count)
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

fn print(output: Output, bar: &ProgressBar, due: &DueChat) -> anyhow::Result<()> {
    let DueChat { chat, due } = due;
    let since = due.since(chat).unwrap_or(chat.last_updated_at).to_rfc3339();
    let (app_id, chat_id, due) = (&chat.app_id, &chat.chat_id, due.as_str());
    let object = || json!({ "app_id": app_id, "chat_id": chat_id, "due": due, "since": since });
    bar.suspend(|| output.print(object, || format!("{app_id}  {chat_id}  {due:<9}  {since}")))
}
