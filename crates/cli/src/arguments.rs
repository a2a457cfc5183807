use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::commands::{apps, check, demo, history, resume_sweep, serve, stats, upgrade, wallets};
use crate::settings::{Settings, SettingsError};

/// Keeps the conversations of multi-agent workflows in MongoDB and brings them back.
#[derive(Debug, Parser)]
#[command(
    name = "reprise",
    version,
    after_help = "Without --mongo-uri a private mongod is started, with its data in the user's \
                  data directory.\nSettings come from the defaults, then --config, then \
                  REPRISE__SECTION__KEY variables, then flags."
)]
pub(crate) struct Arguments {
    /// A TOML file with settings; deploy/config.default.toml lists them all.
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,

    /// The MongoDB replica set to use, instead of a private mongod.
    #[arg(long, global = true, value_name = "URI")]
    mongo_uri: Option<String>,

    /// Where the private mongod keeps its data.
    #[arg(long, global = true, value_name = "DIR", conflicts_with = "mongo_uri")]
    data_dir: Option<PathBuf>,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Serve the HTTP API.
    Serve(serve::Arguments),
    /// Show on one screen how a killed workflow is resumed.
    Demo(demo::Arguments),
    /// Check settings, connection and database, and say what to do about each fault.
    Check(check::Arguments),
    /// Print the messages of a chat, one JSON object a line.
    History(history::Arguments),
    /// Interrupt the running chats whose lease has run out.
    ResumeSweep(resume_sweep::Arguments),
    /// Show what workflows do and cost, and prove it.
    Stats(stats::Arguments),
    /// Keep the registry of apps.
    Apps(apps::Arguments),
    /// Show whether an upgrade is finished, or finish it.
    Upgrade(upgrade::Arguments),
    /// Prove what wallets hold.
    Wallets(wallets::Arguments),
}

impl Arguments {
    /// Returns the settings: defaults, file, environment, flags.
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
