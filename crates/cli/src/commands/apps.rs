use std::io::Write as _;

use clap::Subcommand;
use persistence::mongo::MongoStore;
use persistence::{Apps as _, AuditLog as _};
use records::{Actor, App, AppId, AppStatus, AuditAction};

use crate::backend::Backend;
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
#[command(after_help = "A running service notices a change within apps.cache_ms. Examples:\n  \
                        reprise apps register acme_corp\n  reprise apps disable acme_corp")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List the registered apps, one on each line.
    List,
    /// Register an app as enabled.
    Register { app: AppId },
    /// Refuse every call to an app; its data is kept.
    Disable { app: AppId },
    /// Accept calls to an app again.
    Enable { app: AppId },
}

/// Apps in one page.
const PAGE: usize = 1_000;

/// Runs a command on the registry of apps.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<()> {
    let backend = Backend::join(settings).await?;
    let done = execute(&arguments.verb, &backend.store).await;
    backend.close().await;
    done
}

async fn execute(verb: &Verb, store: &MongoStore) -> anyhow::Result<()> {
    let app = match verb {
        Verb::List => return list(store).await,
        Verb::Register { app } => store.register_app(&Actor::command_line(), app).await?,
        Verb::Disable { app } => {
            store.set_app_status(&Actor::command_line(), app, AppStatus::Disabled).await?
        }
        Verb::Enable { app } => {
            store.set_app_status(&Actor::command_line(), app, AppStatus::Enabled).await?
        }
    };
    print(&app)
}

async fn list(store: &MongoStore) -> anyhow::Result<()> {
    store.record_registry_read(&Actor::command_line(), None, AuditAction::ListApps).await?;
    let mut after = None;
    loop {
        let page = store.list_apps(PAGE, after.as_ref()).await?;
        for app in &page.apps {
            print(app)?;
        }
        after = page.next;
        if after.is_none() {
            return Ok(());
        }
    }
}

fn print(app: &App) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "{:<8}  {}", app.status.as_str(), app.app_id)?)
}
