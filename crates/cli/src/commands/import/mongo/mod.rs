mod importer;

use std::convert::Infallible;
use std::env;
use std::process::ExitCode;

use anyhow::Context as _;
use futures::TryStreamExt as _;
use persistence::mongo::{ForeignCollection, Instead, MongoStore};
use records::{AppId, WorkflowName};
use secrecy::SecretString;
use transfer::collections::{LAYOUTS, Layout};

use self::importer::Importer;
use super::clock::ImportClock;
use super::report::Report;
use super::run_on_store;
use crate::output::Output;
use crate::progress;
use crate::settings::Settings;

/// The variable with the connection string, which lists of processes do not show.
const FROM: &str = "REPRISE_IMPORT_FROM";

/// How many names of collections or databases an error lists.
const MOST_NAMES: usize = 20;

#[derive(Debug, clap::Args)]
#[command(after_help = "Layouts:\n  \
                  mozaiks        chat sessions of MozaiksAI (MozaiksAI.chat_sessions)\n  \
                  langchain      MongoDBChatMessageHistory of LangChain (chat_history.message_store)\n  \
                  openai-agents  MongoDBSession of the OpenAI Agents SDK (agents.agent_messages)\n\n\
                  A connection string in the variable REPRISE_IMPORT_FROM is shown in no list of processes.\n\n\
                  The collection is only read. It can be broken off and repeated, also when the chats have grown: what is \
                  stored is not stored again. Examples:\n  \
                  reprise import mongo mozaiks --from mongodb://old.example.com/\n  \
                  reprise import mongo langchain --from mongodb://old.example.com/ --app acme_corp --dry-run")]
pub(crate) struct Arguments {
    /// How the other system keeps its chats.
    #[arg(value_parser = read_layout)]
    layout: &'static Layout,
    /// The connection string of the other system's MongoDB [default: the variable named below]
    #[arg(long, value_name = "URI", value_parser = read_secret)]
    from: Option<SecretString>,
    /// Its database, if it is not the usual one.
    #[arg(long, value_name = "DATABASE")]
    from_database: Option<String>,
    /// Its collection, if it is not the usual one.
    #[arg(long, value_name = "COLLECTION")]
    from_collection: Option<String>,
    /// The app of all chats. Without it, each chat belongs to the app that it names.
    #[arg(long, value_name = "APP")]
    app: Option<AppId>,
    /// The workflow of the chats that name none.
    #[arg(long, value_name = "WORKFLOW", default_value = "Chat")]
    workflow: WorkflowName,
    /// Read and check everything; store nothing.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    output: Output,
}

fn read_layout(name: &str) -> Result<&'static Layout, String> {
    let found = LAYOUTS.into_iter().find(|layout| layout.name == name);
    found.ok_or_else(|| format!("supported: {}", LAYOUTS.map(|layout| layout.name).join(", ")))
}

#[expect(clippy::unnecessary_wraps, reason = "the form of a parser of arguments")]
fn read_secret(text: &str) -> Result<SecretString, Infallible> {
    Ok(text.into())
}

#[expect(clippy::disallowed_methods, reason = "the other system is no setting of this one")]
fn from_environment() -> Option<SecretString> {
    Some(env::var(FROM).ok()?.into())
}

/// Imports the chats of a collection of another system.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let report = Report::new(progress::bar("documents")?);
    let report = run_on_store(settings, report, async |store, clock, report| {
        import(arguments, store, clock, report).await
    });
    report.await?.finish(arguments.output, arguments.dry_run)
}

/// Says that a collection does not exist, and what there is instead.
fn missing(database: &str, collection: &str, instead: &Instead) -> String {
    match instead {
        Instead::Collections(others) => format!(
            "the database {database} has no collection {collection}: name another one with --from-collection; it has {}",
            listed(others)
        ),
        Instead::Databases(others) if others.is_empty() => {
            format!("the server has no database {database}, or this user may not see it")
        }
        Instead::Databases(others) => format!(
            "the server has no database {database}: name another one with --from-database; it has {}",
            listed(others)
        ),
    }
}

fn listed(names: &[String]) -> String {
    let (shown, more) = names.split_at(names.len().min(MOST_NAMES));
    let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
    format!("{}{more}", shown.join(", "))
}

async fn import(
    arguments: &Arguments,
    store: &MongoStore,
    clock: &ImportClock,
    report: &mut Report,
) -> anyhow::Result<()> {
    let Layout { place: (database, collection), order, .. } = arguments.layout;
    let database = arguments.from_database.as_deref().unwrap_or(database);
    let collection = arguments.from_collection.as_deref().unwrap_or(collection);
    let from = arguments.from.clone().or_else(from_environment);
    let from = from.with_context(|| format!("name the server with --from, or in {FROM}"))?;
    let source = ForeignCollection::connect(from, database, collection).await?;
    let count = source.count().await?;
    if count == 0
        && let Some(instead) = source.instead().await
    {
        anyhow::bail!("{}", missing(database, collection, &instead));
    }
    report.bar.set_length(count);
    let mut documents = std::pin::pin!(source.documents(order).await?);
    let mut importer = Importer::new(arguments, store, clock, report);
    while let Some(document) = documents.try_next().await? {
        let id = document.get("_id").map_or_else(String::new, |id| match id.as_str() {
            Some(id) => id.to_owned(),
            None => id.to_string(),
        });
        importer.add(arguments.layout.read(document, &arguments.workflow), &id).await?;
    }
    importer.end_chat().await
}
