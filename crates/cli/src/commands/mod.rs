//! One file for each command.

pub(crate) mod acp;
pub(crate) mod apps;
pub(crate) mod audit;
pub(crate) mod check;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod demo;
pub(crate) mod erase;
pub(crate) mod export;
pub(crate) mod history;
pub(crate) mod holds;
pub(crate) mod import;
pub(crate) mod keys;
pub(crate) mod man;
pub(crate) mod mcp;
pub(crate) mod purge;
pub(crate) mod resume_sweep;
pub(crate) mod search;
pub(crate) mod serve;
pub(crate) mod stats;
pub(crate) mod tokens;
pub(crate) mod upgrade;
pub(crate) mod views;
pub(crate) mod wallets;

use std::process::ExitCode;

use crate::arguments::Command;
use crate::settings::Settings;

/// Runs a command.
pub(crate) async fn run(command: Command, settings: Settings) -> anyhow::Result<ExitCode> {
    match command {
        Command::Serve(_) => serve::run(&settings, |_| Ok(())).await.map(|()| ExitCode::SUCCESS),
        Command::Demo(arguments) => demo::run(&arguments, &settings).await,
        Command::Check(arguments) => check::run(&arguments, &settings).await,
        Command::Config(arguments) => {
            config::run(&arguments, &settings).map(|()| ExitCode::SUCCESS)
        }
        Command::History(arguments) => {
            history::run(&arguments, &settings).await.map(|()| ExitCode::SUCCESS)
        }
        Command::Acp(arguments) => {
            acp::run(&arguments, &settings).await.map(|()| ExitCode::SUCCESS)
        }
        Command::Mcp(arguments) => mcp::run(&arguments).await.map(|()| ExitCode::SUCCESS),
        Command::Apps(arguments) => {
            apps::run(&arguments, &settings).await.map(|()| ExitCode::SUCCESS)
        }
        Command::Keys(arguments) => {
            keys::run(arguments, &settings).await.map(|()| ExitCode::SUCCESS)
        }
        Command::Audit(arguments) => {
            audit::run(&arguments, &settings).await.map(|()| ExitCode::SUCCESS)
        }
        Command::Export(arguments) => export::run(&arguments, &settings).await,
        Command::Import(arguments) => import::run(&arguments, &settings).await,
        Command::Erase(arguments) => erase::run(&arguments, &settings).await,
        Command::Purge(arguments) => purge::run(&arguments, &settings).await,
        Command::Holds(arguments) => {
            holds::run(&arguments, &settings).await.map(|()| ExitCode::SUCCESS)
        }
        Command::ResumeSweep(arguments) => {
            resume_sweep::run(&arguments, &settings).await.map(|()| ExitCode::SUCCESS)
        }
        Command::Search(arguments) => {
            search::run(&arguments, &settings).await.map(|()| ExitCode::SUCCESS)
        }
        Command::Stats(arguments) => stats::run(&arguments, &settings).await,
        Command::Tokens(arguments) => {
            tokens::run(&arguments, &settings).await.map(|()| ExitCode::SUCCESS)
        }
        Command::Upgrade(arguments) => upgrade::run(&arguments, &settings).await,
        Command::Views(arguments) => views::run(&arguments, &settings).await,
        Command::Completions(arguments) => {
            completions::run(&arguments)?;
            Ok(ExitCode::SUCCESS)
        }
        Command::Man(arguments) => man::run(&arguments).map(|()| ExitCode::SUCCESS),
        Command::Wallets(arguments) => wallets::run(&arguments, &settings).await,
    }
}
