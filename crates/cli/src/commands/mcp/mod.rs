//! A server of the Model Context Protocol (MCP): the tools with which a model reads chats, and answers questions.

mod api;
mod http;
mod tools;

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context as _;
use records::AppId;
use rmcp::ServiceExt as _;
use rmcp::transport::stdio;

use api::Api;
use tools::Tools;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  reprise mcp acme_corp\n  \
                        reprise mcp acme_corp --url https://reprise.example.com --token-file ~/.reprise-token --write\n  \
                        reprise mcp acme_corp --http 127.0.0.1:8090\n\n\
                        Standard output carries the protocol only; everything else is on standard error.")]
pub(crate) struct Arguments {
    /// The app whose chats the tools read.
    app: String,
    /// The address of the service: https, or http on this machine.
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8080")]
    url: String,
    /// A file with the token for the service: the tools have its rights. It is read for each request.
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Offer the tools that write, too: answers to questions, and notes.
    #[arg(long)]
    write: bool,
    /// Serve HTTP at this address, under /mcp, instead of standard input and output: each request has the rights of its own
    /// token.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "token_file")]
    http: Option<SocketAddr>,
}

/// Serves the protocol until standard input ends, or the process is told to stop.
pub(crate) async fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let app_id = AppId::parse(&arguments.app)?;
    let api = Api::new(&arguments.url, app_id, arguments.token_file.clone())?;
    let tools = Tools::new(api, arguments.write);
    if let Some(address) = arguments.http {
        return http::serve(address, tools).await;
    }
    let running = tools.serve(stdio()).await.context("the client did not begin the session")?;
    running.waiting().await.context("the session broke off")?;
    Ok(())
}
