use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::commands::{
    acp, apps, audit, check, completions, config, demo, erase, export, history, holds, import,
    keys, man, mcp, purge, resume_sweep, search, serve, stats, tokens, upgrade, views, wallets,
};
use crate::settings::{Settings, SettingsError};

/// Store the conversations of multi-agent workflows in MongoDB, and resume them.
#[derive(Debug, Parser)]
#[command(
    name = "reprise",
    version,
    after_help = "Without --mongo-uri a private mongod is started, with its data in the user's \
                  data directory.\nSettings come from the defaults, then --config, then \
                  REPRISE__SECTION__KEY variables, then flags."
)]
pub(crate) struct Arguments {
    /// A TOML file with settings; `reprise config --defaults` prints them all.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,

    /// The MongoDB replica set to use, instead of a private mongod.
    #[arg(long, global = true, value_name = "URI")]
    mongo_uri: Option<String>,

    /// The data directory of the private mongod.
    #[arg(long, global = true, value_name = "DIR", conflicts_with = "mongo_uri")]
    data_dir: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the HTTP API.
    Serve(serve::Arguments),
    /// Kill a writer half way and show how its workflow is resumed.
    Demo(demo::Arguments),
    /// Check settings, connection and database; print what to do about each fault.
    Check(check::Arguments),
    /// Print the settings as they are in force, or the file with the defaults.
    Config(config::Arguments),
    /// Print the messages of a chat, one JSON object a line.
    History(history::Arguments),
    /// Serve a client of the Agent Client Protocol on standard input and output.
    Acp(acp::Arguments),
    /// Serve tools of the Model Context Protocol, with which a model reads chats and answers questions.
    Mcp(mcp::Arguments),
    /// Print all that is stored about a person in an app, or write chats or checkpoints.
    Export(export::Arguments),
    /// Import chats from files of a format.
    Import(import::Arguments),
    /// Erase a person from an app: their chats, and what they said in chats of others.
    Erase(erase::Arguments),
    /// Remove for good what was said in the chats whose retention is over.
    Purge(purge::Arguments),
    /// Keep chats from being purged, such as for a dispute.
    Holds(holds::Arguments),
    /// Pause the running chats whose lease has expired.
    ResumeSweep(resume_sweep::Arguments),
    /// Rebuild the index of the search in what was said.
    Search(search::Arguments),
    /// Show, verify and rebuild what workflows do and cost.
    Stats(stats::Arguments),
    /// Manage the registry of apps.
    Apps(apps::Arguments),
    /// Create, list and revoke API keys.
    Keys(keys::Arguments),
    /// Make tokens, revoke them, and list the revoked ones.
    Tokens(tokens::Arguments),
    /// Print who managed what, and what support read.
    Audit(audit::Arguments),
    /// Show whether an upgrade is finished, or finish it.
    Upgrade(upgrade::Arguments),
    /// Create or drop read-only views for those who look into the database.
    Views(views::Arguments),
    /// Verify the balances of wallets.
    Wallets(wallets::Arguments),
    /// Print what a shell needs to complete commands.
    Completions(completions::Arguments),
    /// Write the manual pages of all commands.
    Man(man::Arguments),
}

impl Arguments {
    /// Returns the settings from defaults, file, environment and flags, in this order.
    pub(crate) fn settings(&self) -> Result<Settings, SettingsError> {
        let mut settings = Settings::load(self.config.as_deref())?;
        if let Some(uri) = &self.mongo_uri {
            settings.mongo.uri = Some(uri.as_str().into());
        }
        if let Some(data_dir) = &self.data_dir {
            settings.mongo.uri = None;
            settings.mongod.data_dir = Some(data_dir.clone());
        }
        if let Command::Serve(serve) = &self.command
            && let Some(listen) = serve.listen
        {
            settings.server.listen = listen;
        }
        Ok(settings)
    }
}
