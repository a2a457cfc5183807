use std::io::Write as _;
use std::process::ExitCode;

use persistence::mongo::{IndexState, MongoStore};
use persistence::{ChatSessions, Contexts, Store, StoreError};
use records::{AppId, ChatId, JsonObject, NewChatSession, Scope, WorkflowName};
use serde_json::Value;

use crate::backend::Backend;
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
#[command(after_help = "Exits with 1 if anything is wrong. Example:\n  reprise check --config \
                        /etc/reprise.toml")]
pub(crate) struct Arguments {}

/// The result of a check: what is right, or the fault with advice.
type Finding = Result<String, String>;

/// Checks everything that a server needs, and prints one line for each check.
pub(crate) async fn run(settings: &Settings) -> anyhow::Result<ExitCode> {
    let mut report = Report { faults: 0 };
    report.line("configuration", configuration(settings))?;
    for warning in settings.service().warnings() {
        writeln!(std::io::stdout(), "WARN   {:<14} {warning}", "configuration")?;
    }
    match Backend::join(settings).await {
        Err(error) => report.line("connection", Err(format!("{error:#}")))?,
        Ok(backend) => {
            report.store(&backend).await?;
            backend.close().await;
        }
    }
    Ok(if report.faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

struct Report {
    faults: usize,
}

impl Report {
    fn line(&mut self, what: &str, finding: Finding) -> std::io::Result<()> {
        let (mark, text) = match finding {
            Ok(text) => ("ok   ", text),
            Err(text) => {
                self.faults += 1;
                ("FAULT", text)
            }
        };
        writeln!(std::io::stdout(), "{mark}  {what:<14} {text}")
    }

    async fn store(&mut self, backend: &Backend) -> std::io::Result<()> {
        let server = match backend.store.describe_server().await {
            Ok(server) => server,
            Err(error) => {
                let advice = "is it running, and is mongo.uri right?";
                let cause = anyhow::Error::from(error);
                return self.line("connection", Err(format!("{cause:#}; {advice}")));
            }
        };
        self.line("connection", Ok(backend.place.clone()))?;
        self.line("server", version(&server))?;
        self.line("replica set", replica_set(&server))?;
        self.line("indexes", indexes(&backend.store).await)?;
        self.line("write concern", durable_write(&backend.store).await)
    }
}

fn configuration(settings: &Settings) -> Finding {
    let config = settings.service();
    let listen = settings.server.listen;
    config.check(listen).map_err(|error| format!("{:#}", anyhow::Error::from(error)))?;
    Ok(format!("would listen on {listen}"))
}

fn version(server: &Value) -> Finding {
    let version = server["version"].as_str().unwrap_or("unknown");
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major.is_some_and(|major| major >= 6) {
        return Ok(format!("MongoDB {version}"));
    }
    Err(format!("MongoDB {version}: 6.0 or newer is needed, upgrade the server"))
}

fn replica_set(server: &Value) -> Finding {
    let Some(name) = server["set_name"].as_str() else {
        return Err("not a replica set: start mongod with --replSet, then run rs.initiate()".into());
    };
    if !server["is_primary"].as_bool().unwrap_or(false) {
        return Err(format!("{name} has no primary that can be reached: check its members"));
    }
    let members = &server["members"];
    let plural = if *members == 1 { "" } else { "s" };
    Ok(format!("{name}, {members} member{plural}"))
}

async fn indexes(store: &MongoStore) -> Finding {
    let reports = store.ensure_indexes().await.map_err(|error| {
        let cause = anyhow::Error::from(error);
        format!("{cause:#}; does the user have the right to create indexes?")
    })?;
    let in_the_way: Vec<String> = reports
        .iter()
        .filter(|report| report.state == IndexState::Conflicting)
        .map(|report| format!("{}.{}", report.collection, report.name))
        .collect();
    if in_the_way.is_empty() {
        return Ok(format!("all {} exist", reports.len()));
    }
    Err(format!("conflicting indexes prevent {}: drop them", in_the_way.join(", ")))
}

/// Creates a chat as a server would, with majority and journal; always the same one.
async fn durable_write(store: &MongoStore) -> Finding {
    let attempt = async {
        store.ping().await?;
        let scope = Scope::service(AppId::parse("reprise_check")?);
        let chat_id = ChatId::parse("reprise_check")?;
        let new = NewChatSession::of(WorkflowName::parse("reprise check")?);
        let new = NewChatSession { chat_id: Some(chat_id.clone()), ..new };
        match store.create_chat(&scope, new).await {
            Ok(_) | Err(StoreError::ChatExists(_)) => {}
            Err(error) => return Err(error.into()),
        }
        store.update_context_snapshot(&scope, &chat_id, JsonObject::new()).await?;
        anyhow::Ok(())
    };
    match attempt.await {
        Ok(()) => Ok("majority and journal, written to the chat reprise_check".into()),
        Err(error) => Err(format!("{error:#}; can a majority of the members be reached?")),
    }
}
