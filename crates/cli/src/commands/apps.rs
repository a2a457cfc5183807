use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use persistence::mongo::MongoStore;
use persistence::{Apps as _, AuditLog as _};
use records::{
    Actor, App, AppId, AppStatus, AuditAction, FieldChange, Invalid, MetadataKeys, OwnRetention,
    OwnSettings, Retention, RetentionChange, SettingsChange, Visibility,
};

use crate::backend::Backend;
use crate::output::Output;
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
#[command(after_help = "A running service notices a change within apps.cache_ms. Examples:\n  \
                        reprise apps register acme_corp\n  reprise apps disable acme_corp\n  \
                        reprise apps set acme_corp --users-may-run true --support-access default\n  \
                        reprise apps set acme_corp --completed-days 90 --deleted-days 7\n  \
                        reprise apps set acme_corp --metadata-keys customer region")]
pub(crate) struct Arguments {
    #[command(flatten)]
    output: Output,
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
    /// Change settings of an app; others stay unchanged.
    Set {
        app: AppId,
        #[command(flatten)]
        changes: Changes,
    },
}

/// With `default`, the setting of the service applies.
#[derive(Debug, Clone, clap::Args)]
#[group(required = true, multiple = true)]
struct Changes {
    /// The visibility of a new chat that states none.
    #[arg(long, value_name = "VISIBILITY", value_parser = visibility())]
    default_visibility: Option<FieldChange<Visibility>>,
    /// Whether users may run the workflows of their own chats.
    #[arg(long, value_name = "BOOL", value_parser = bool_or_default())]
    users_may_run: Option<FieldChange<bool>>,
    /// Whether tokens with the role `support` are admitted to chats.
    #[arg(long, value_name = "BOOL", value_parser = bool_or_default())]
    support_access: Option<FieldChange<bool>>,
    /// Days that a completed chat is kept after its last activity; 0 is for ever.
    #[arg(long, value_name = "DAYS", value_parser = days_or_default)]
    completed_days: Option<FieldChange<u32>>,
    /// Days that a failed chat is kept after its last activity; 0 is for ever.
    #[arg(long, value_name = "DAYS", value_parser = days_or_default)]
    failed_days: Option<FieldChange<u32>>,
    /// Days that a running or paused chat is kept after its last activity; 0 is for ever.
    #[arg(long, value_name = "DAYS", value_parser = days_or_default)]
    abandoned_days: Option<FieldChange<u32>>,
    /// Days that a deleted chat is kept after its deletion; 0 is for ever.
    #[arg(long, value_name = "DAYS", value_parser = days_or_default)]
    deleted_days: Option<FieldChange<u32>>,
    /// Days that a run of a tool is kept after it was recorded; 0 is for ever.
    #[arg(long, value_name = "DAYS", value_parser = days_or_default)]
    tool_run_days: Option<FieldChange<u32>>,
    /// Days without activity after which an active chat is archived; 0 is never.
    #[arg(long, value_name = "DAYS", value_parser = days_or_default)]
    archive_after_days: Option<FieldChange<u32>>,
    /// The keys of the metadata by which chats are listed, at most 8; `default` alone for none.
    #[arg(long, value_name = "KEY", num_args = 1..)]
    metadata_keys: Option<Vec<String>>,
}

/// The value that removes a setting.
const DEFAULT: &str = "default";

fn visibility() -> impl TypedValueParser<Value = FieldChange<Visibility>> {
    let names = Visibility::ALL.map(Visibility::as_str).into_iter().chain([DEFAULT]);
    PossibleValuesParser::new(names).map(|name| {
        let found = Visibility::ALL.into_iter().find(|it| it.as_str() == name);
        found.map_or(FieldChange::Clear, FieldChange::Set)
    })
}

fn bool_or_default() -> impl TypedValueParser<Value = FieldChange<bool>> {
    PossibleValuesParser::new(["true", "false", DEFAULT])
        .map(|name| name.parse().map_or(FieldChange::Clear, FieldChange::Set))
}

fn days_or_default(text: &str) -> Result<FieldChange<u32>, String> {
    if text == DEFAULT {
        return Ok(FieldChange::Clear);
    }
    let days = text.parse().ok().filter(|days| *days <= Retention::MAX_DAYS);
    let rule = || format!("must be {DEFAULT} or a number from 0 to {}", Retention::MAX_DAYS);
    days.map(FieldChange::Set).ok_or_else(rule)
}

impl TryFrom<Changes> for SettingsChange {
    type Error = Invalid;

    fn try_from(changes: Changes) -> Result<Self, Invalid> {
        let metadata_keys = match changes.metadata_keys {
            None => FieldChange::Keep,
            Some(keys) if keys == [DEFAULT] => FieldChange::Clear,
            Some(keys) => FieldChange::Set(MetadataKeys::parse(keys)?),
        };
        Ok(Self {
            metadata_keys,
            default_visibility: changes.default_visibility.unwrap_or_default(),
            support_access: changes.support_access.unwrap_or_default(),
            users_may_run: changes.users_may_run.unwrap_or_default(),
            retention: RetentionChange {
                completed_days: changes.completed_days.unwrap_or_default(),
                failed_days: changes.failed_days.unwrap_or_default(),
                abandoned_days: changes.abandoned_days.unwrap_or_default(),
                deleted_days: changes.deleted_days.unwrap_or_default(),
                tool_run_days: changes.tool_run_days.unwrap_or_default(),
                archive_after_days: changes.archive_after_days.unwrap_or_default(),
            },
        })
    }
}

/// Apps in one page.
const PAGE: usize = 1_000;

/// Runs a command on the registry of apps.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<()> {
    Backend::with_store(settings, async |store| execute(arguments, store).await).await
}

async fn execute(arguments: &Arguments, store: &MongoStore) -> anyhow::Result<()> {
    let Arguments { output, verb } = arguments;
    let app = match verb {
        Verb::List => return list(*output, store).await,
        Verb::Register { app } => store.register_app(&Actor::command_line(), app).await?,
        Verb::Disable { app } => {
            store.set_app_status(&Actor::command_line(), app, AppStatus::Disabled).await?
        }
        Verb::Enable { app } => {
            store.set_app_status(&Actor::command_line(), app, AppStatus::Enabled).await?
        }
        Verb::Set { app, changes } => {
            store.update_app(&Actor::command_line(), app, changes.clone().try_into()?).await?
        }
    };
    print(*output, app)
}

async fn list(output: Output, store: &MongoStore) -> anyhow::Result<()> {
    store.record_registry_read(&Actor::command_line(), None, AuditAction::ListApps).await?;
    let mut after = None;
    loop {
        let page = store.list_apps(PAGE, after.as_ref()).await?;
        for app in page.apps {
            print(output, app)?;
        }
        after = page.next;
        if after.is_none() {
            return Ok(());
        }
    }
}

fn print(output: Output, app: App) -> anyhow::Result<()> {
    let settings = described(&app.settings);
    let text = format!("{:<8}  {}{settings}", app.status.as_str(), app.app_id);
    output.print(|| service::responses::app(app), || text)
}

/// Returns the settings that an app has of its own, such as `  users_may_run=true`.
fn described(settings: &OwnSettings) -> String {
    let OwnSettings { default_visibility, support_access, users_may_run, .. } = settings;
    let OwnSettings { retention, metadata_keys, .. } = settings;
    let OwnRetention {
        completed_days,
        failed_days,
        abandoned_days,
        deleted_days,
        tool_run_days,
        archive_after_days,
    } = retention;
    let keys = Some(metadata_keys.as_slice()).filter(|keys| !keys.is_empty());
    let settings = [
        ("default_visibility", default_visibility.map(|it| it.as_str().to_owned())),
        ("support_access", support_access.map(|it| it.to_string())),
        ("users_may_run", users_may_run.map(|it| it.to_string())),
        ("completed_days", completed_days.map(|it| it.to_string())),
        ("failed_days", failed_days.map(|it| it.to_string())),
        ("abandoned_days", abandoned_days.map(|it| it.to_string())),
        ("deleted_days", deleted_days.map(|it| it.to_string())),
        ("tool_run_days", tool_run_days.map(|it| it.to_string())),
        ("archive_after_days", archive_after_days.map(|it| it.to_string())),
        ("metadata_keys", keys.map(|keys| keys.join(","))),
    ];
    let set = settings.into_iter().filter_map(|(name, value)| Some(format!("  {name}={}", value?)));
    set.collect()
}
