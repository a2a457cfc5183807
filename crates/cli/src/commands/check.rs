use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use chrono::{DateTime, SecondsFormat, Utc};
use persistence::mongo::{
    DataCheck, FormatStatus, IndexReport, IndexState, MissingFeature, MongoStore,
};
use records::AppId;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::backend::{self, Backend, data_dir, expect_app};
use crate::output::Output;
use crate::progress;
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "It leaves nothing in the database. Without --mongo-uri it uses the private mongod of a \
                  running service, or starts one for the check. Exits with 1 if anything is wrong. \
                  Examples:\n  reprise check --config /etc/reprise.toml\n  \
                  reprise check --create-indexes\n  reprise check --deep --app acme_corp"
)]
pub(crate) struct Arguments {
    /// Create the missing indexes, as a service does when it starts.
    #[arg(long)]
    create_indexes: bool,
    /// Read every chat and every document of an app, and check that all that is stored of them fits together. Services may run
    /// meanwhile.
    #[arg(long)]
    deep: bool,
    /// With --deep: only the chats and documents of this app.
    #[arg(long, value_name = "APP", requires = "deep")]
    app: Option<AppId>,
    /// With --deep: checkpoints that `reprise export checkpoints` has printed earlier. The chats must continue them.
    #[arg(long, value_name = "FILE", requires = "deep")]
    checkpoints: Option<PathBuf>,
    #[command(flatten)]
    output: Output,
}

/// The result of a check: what is right, or what is not, with advice.
#[derive(Debug)]
enum Finding {
    Ok(String),
    /// A service would work, but this needs attention.
    Warning(String),
    /// A service would not start, or would not be ready.
    Fault(String),
}
use Finding::{Fault, Warning};

/// How long a program at the address of the service may take to respond.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// Checks everything that a server needs, and prints one line for each check.
pub(crate) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<ExitCode> {
    let mut report = Report { faults: 0, output: arguments.output };
    for finding in configuration(settings) {
        report.add("configuration", finding)?;
    }
    for warning in settings.service().warnings() {
        report.add("configuration", Warning(warning.to_owned()))?;
    }
    report.add("address", address(settings.server.listen, "server.listen").await)?;
    for of in settings.service().adapter_listeners() {
        let setting = format!("adapters.{}.listen", of.name());
        report.add("address", address(of.address(), &setting).await)?;
    }
    if let Some(certificate) = settings.service().certificate() {
        report.add("certificate", valid_until(certificate))?;
    }
    if settings.service().has_issuers() {
        report.add("issuers", issuers(settings).await)?;
    }
    report.store(arguments, settings).await?;
    Ok(if report.faults == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

struct Report {
    faults: usize,
    output: Output,
}

impl Report {
    fn add(&mut self, what: &str, finding: Finding) -> anyhow::Result<()> {
        let (mark, result, text) = match finding {
            Finding::Ok(text) => ("ok   ", "ok", text),
            Warning(text) => ("WARN ", "warning", text),
            Fault(text) => {
                self.faults += 1;
                ("FAULT", "fault", text)
            }
        };
        let object = || json!({ "check": what, "result": result, "detail": text });
        self.output.print(object, || format!("{mark}  {what:<14} {text}"))
    }

    async fn store(&mut self, arguments: &Arguments, settings: &Settings) -> anyhow::Result<()> {
        let trial = match Trial::prepare(settings) {
            Ok(trial) => trial,
            Err(error) => return self.add("connection", Fault(format!("{error:#}"))),
        };
        match Backend::join(trial.as_ref().map_or(settings, |trial| &trial.settings)).await {
            Err(error) => self.add("connection", Fault(format!("{error:#}")))?,
            Ok(backend) => {
                let mut place = backend::place(settings)?;
                if trial.is_some() {
                    place = format!("a private mongod can run, data will be in {place}");
                }
                // What is created in a trial would be gone after it.
                let creates = arguments.create_indexes && trial.is_none();
                let mut reported = self.database(creates, &backend.store, place).await;
                if arguments.deep && trial.is_none() && reported.is_ok() {
                    reported = self.data(arguments.app.as_ref(), &backend.store).await;
                    if reported.is_ok() && settings.integrity.key_file.is_some() {
                        reported = self.integrity(arguments, &backend.store).await;
                    }
                }
                backend.close().await;
                reported?;
            }
        }
        Ok(())
    }

    /// Checks all chats and all documents of apps, and prints a line for each fault.
    async fn data(&mut self, app_id: Option<&AppId>, store: &MongoStore) -> anyhow::Result<()> {
        if let Err(error) = expect_app(store, app_id).await {
            return self.add("data", Fault(format!("{error:#}")));
        }
        let bar = progress::bar("chats")?;
        bar.set_length(store.estimate_chats().await?);
        let (mut chats, mut messages, mut documents) = (0_u64, 0_u64, 0_u64);
        let (faults_before, mut printed) = (self.faults, Ok(()));
        let mut tell = |check: DataCheck<'_>| match check {
            DataCheck::Read { chats: more, messages: with } => {
                chats += more;
                messages += with;
                bar.inc(more);
            }
            DataCheck::ReadDocuments { documents: more, .. } => documents += more,
            DataCheck::Verified { .. } => {}
            DataCheck::Fault(fault) => {
                let added = bar.suspend(|| self.add("data", Fault(fault.to_string())));
                if printed.is_ok() {
                    printed = added;
                }
            }
        };
        let mut checked = store.check_chats(app_id, &mut tell).await;
        if checked.is_ok() {
            checked = store.check_documents(app_id, &mut tell).await;
        }
        bar.finish_and_clear();
        checked.context("cannot check the data")?;
        printed?;
        if self.faults > faults_before {
            return Ok(());
        }
        let text = format!(
            "all that is stored of {chats} chats with {messages} messages, and of {documents} documents, fits together"
        );
        self.add("data", Finding::Ok(text))
    }

    /// Compares all messages with what was signed of them.
    async fn integrity(&mut self, arguments: &Arguments, store: &MongoStore) -> anyhow::Result<()> {
        let exported = match &arguments.checkpoints {
            Some(path) => std::fs::read_to_string(path)
                .with_context(|| format!("cannot read {}", path.display()))?,
            None => String::new(),
        };
        let lines = exported.lines().map(str::trim).filter(|line| !line.is_empty());
        let checkpoints: Vec<String> = lines.map(str::to_owned).collect();
        let bar = progress::bar("chats")?;
        bar.set_length(store.estimate_chats().await?);
        let (mut signed, mut unsigned) = (0_u64, 0_u64);
        let (faults_before, mut printed) = (self.faults, Ok(()));
        let mut tell = |check: DataCheck<'_>| match check {
            DataCheck::Verified { signed: more, unsigned: with } => {
                signed += more;
                unsigned += with;
                bar.inc(1);
            }
            DataCheck::Fault(fault) => {
                let added = bar.suspend(|| self.add("integrity", Fault(fault.to_string())));
                if printed.is_ok() {
                    printed = added;
                }
            }
            DataCheck::Read { .. } | DataCheck::ReadDocuments { .. } => {}
        };
        let checked = store.verify_integrity(arguments.app.as_ref(), &checkpoints, &mut tell).await;
        bar.finish_and_clear();
        checked.context("cannot verify what was signed")?;
        printed?;
        let counts =
            format!("{signed} messages are what was signed, {unsigned} are not signed yet");
        if self.faults > faults_before {
            return self.add("integrity", Warning(counts));
        }
        self.add("integrity", Finding::Ok(counts))
    }

    async fn database(
        &mut self,
        creates_indexes: bool,
        store: &MongoStore,
        place: String,
    ) -> anyhow::Result<()> {
        let server = match store.describe_server().await {
            Ok(server) => server,
            Err(error) => {
                let cause = anyhow::Error::from(error);
                return self.add("connection", Fault(format!("{cause:#}")));
            }
        };
        self.add("connection", Finding::Ok(place))?;
        self.add("server", version(&server))?;
        self.add("replica set", replica_set(&server))?;
        // A server outside a replica set lacks them all. What helps is said above.
        if server["set_name"].is_string() {
            for finding in features(store).await {
                self.add("features", finding)?;
            }
        }
        self.add("rights", rights(store).await)?;
        self.add("format", format(store).await)?;
        self.add("indexes", indexes(creates_indexes, store).await)?;
        self.add("write concern", majority(store).await)
    }
}

/// A place for the private mongod of a service that has never run: the check leaves nothing there.
struct Trial {
    settings: Settings,
    _directory: TempDir,
}

impl Trial {
    /// Returns `None` if there is a server or a data directory to check.
    fn prepare(settings: &Settings) -> anyhow::Result<Option<Self>> {
        if settings.mongo.uri.is_some() {
            return Ok(None);
        }
        let planned = data_dir(settings)?;
        let is_new = match planned.read_dir() {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) => error.kind() == ErrorKind::NotFound,
        };
        if !is_new {
            return Ok(None);
        }
        // In the directory below which the data will be, so that its rights and its disk are checked too.
        let existing = planned.ancestors().find(|path| path.is_dir()).unwrap_or(Path::new("."));
        let directory = TempDir::with_prefix_in(".reprise-check-", existing).map_err(|error| {
            anyhow::anyhow!(
                "cannot keep data in {}: {error}; set mongod.data_dir or mongo.uri",
                planned.display()
            )
        })?;
        let mut settings = settings.clone();
        settings.mongod.data_dir = Some(directory.path().join("data"));
        Ok(Some(Self { settings, _directory: directory }))
    }
}

/// Tells everything for which a service would refuse the settings.
fn configuration(settings: &Settings) -> Vec<Finding> {
    let objections = settings.objections();
    if objections.is_empty() {
        return vec![Finding::Ok("every setting can be used".to_owned())];
    }
    objections.iter().map(|error| Fault(format!("{error:#}"))).collect()
}

fn valid_until(certificate: Result<DateTime<Utc>, String>) -> Finding {
    match certificate {
        Ok(until) => {
            Finding::Ok(format!("valid until {}", until.to_rfc3339_opts(SecondsFormat::Secs, true)))
        }
        Err(objection) => Warning(objection),
    }
}

/// Listens for a moment on the address of a setting.
async fn address(listen: SocketAddr, setting: &str) -> Finding {
    match TcpListener::bind(listen).await {
        Ok(_) => Finding::Ok(format!("would listen on {listen}")),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            let is_ours = timeout(PROBE_TIMEOUT, is_reprise(listen)).await;
            if matches!(is_ours, Ok(Ok(true))) {
                return Warning(format!("a running service of Reprise listens on {listen}"));
            }
            let advice = format!("stop that program, or choose another address with {setting}");
            Fault(format!("another program listens on {listen}: {advice}"))
        }
        Err(error) => Fault(format!(
            "cannot listen on {listen}: {error}; choose another address with {setting}"
        )),
    }
}

/// Asks the program that listens on an address for anything: only a service of Reprise names its version in every response.
async fn is_reprise(address: SocketAddr) -> std::io::Result<bool> {
    const MAX_RESPONSE: u64 = 4_096;
    let mut connection = TcpStream::connect(address).await?;
    let request =
        format!("GET /api/health/live HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).await?;
    let mut response = Vec::new();
    connection.take(MAX_RESPONSE).read_to_end(&mut response).await?;
    Ok(String::from_utf8_lossy(&response).contains("\r\nreprise-version: "))
}

async fn issuers(settings: &Settings) -> Finding {
    match settings.service().check_issuers().await {
        Ok(()) => Finding::Ok("the keys of tokens can be fetched".to_owned()),
        Err(error) => Fault(format!(
            "{:#}; until then every token is refused with 503",
            anyhow::Error::from(error)
        )),
    }
}

fn version(server: &Value) -> Finding {
    /// That of MongoDB 6.0.
    const WIRE_VERSION: i64 = 17;
    let wire_version = server["wire_version"].as_i64().unwrap_or_default();
    let version = match server["version"].as_str() {
        Some(version) => version,
        None if wire_version >= WIRE_VERSION => {
            let text = "MongoDB 6.0 or newer: its stable API does not say which";
            return Finding::Ok(text.to_owned());
        }
        None => "of an old release",
    };
    let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
    if major.is_some_and(|major| major >= 6) {
        return Finding::Ok(format!("MongoDB {version}"));
    }
    Fault(format!("MongoDB {version}: 6.0 or newer is needed, upgrade the server"))
}

fn replica_set(server: &Value) -> Finding {
    let Some(name) = server["set_name"].as_str() else {
        return Fault(
            "not a replica set: start mongod with --replSet, then run rs.initiate()".into(),
        );
    };
    if !server["is_primary"].as_bool().unwrap_or(false) {
        return Fault(format!("{name} has no primary that can be reached: check its members"));
    }
    let members = &server["members"];
    let plural = if *members == 1 { "" } else { "s" };
    Finding::Ok(format!("{name}, {members} member{plural}"))
}

/// Tells what the server lacks, each in one sentence.
async fn features(store: &MongoStore) -> Vec<Finding> {
    let missing = match store.missing_features().await {
        Ok(missing) => missing,
        Err(error) => return vec![Fault(format!("{:#}", anyhow::Error::from(error)))],
    };
    if missing.is_empty() {
        let text = "the server has retryable writes, transactions and change streams";
        return vec![Finding::Ok(text.to_owned())];
    }
    let finding = |missing| match missing {
        MissingFeature::RetryableWrites(reason) => Fault(format!(
            "the server has no retryable writes, without which none is safe: {reason}"
        )),
        MissingFeature::Transactions(reason) => {
            Fault(format!("the server has no transactions, which turns and edits need: {reason}"))
        }
        MissingFeature::ChangeStreams(reason) => Warning(format!(
            "the server has no change streams, so live views ask it again and again: {reason}"
        )),
    };
    missing.into_iter().map(finding).collect()
}

async fn rights(store: &MongoStore) -> Finding {
    match store.missing_rights().await {
        Ok(None) => Finding::Ok("the stable API does not say what the user may do".to_owned()),
        Ok(Some(missing)) if missing.is_empty() => {
            Finding::Ok("the user may do everything that a service does".to_owned())
        }
        Ok(Some(missing)) => Fault(format!(
            "the user lacks the actions {}: give it the role readWrite on the database",
            missing.join(", ")
        )),
        Err(error) => Fault(format!("{:#}", anyhow::Error::from(error))),
    }
}

async fn format(store: &MongoStore) -> Finding {
    match store.inspect_format().await {
        Ok(None) => Finding::Ok("the database is new".to_owned()),
        Ok(Some(FormatStatus { stored, newest, .. })) if stored > newest => Fault(format!(
            "the database is at format {stored}, and this release knows formats up to {newest}: \
             upgrade this program"
        )),
        Ok(Some(FormatStatus { stored, newest, pending })) if stored < newest => Warning(format!(
            "the database is at format {stored} of {newest}: {} are refused until `reprise upgrade \
             --finish` is run",
            pending.join(", ")
        )),
        Ok(Some(FormatStatus { stored, .. })) => Finding::Ok(format!("format {stored}")),
        Err(error) => Fault(format!("{:#}", anyhow::Error::from(error))),
    }
}

async fn indexes(creates: bool, store: &MongoStore) -> Finding {
    let reports = if creates { store.build_indexes().await } else { store.inspect_indexes().await };
    let reports = match reports {
        Ok(reports) => reports,
        Err(error) => return Fault(format!("{:#}", anyhow::Error::from(error))),
    };
    let missing = named(&reports, IndexState::Missing);
    let (all, count) = (reports.len(), missing.len());
    let conflicting = named(&reports, IndexState::Conflicting);
    if !conflicting.is_empty() {
        let names = conflicting.join(", ");
        return Fault(format!("conflicting indexes prevent {names}: drop them"));
    }
    let advice = "a service creates them when it starts; to do it now, add --create-indexes";
    match count {
        0 => Finding::Ok(format!("all {all} exist")),
        count if count == all => Warning(format!("none of the {all} exists yet: {advice}")),
        count => Warning(format!("{count} of {all} are missing: {}; {advice}", missing.join(", "))),
    }
}

/// Returns the names of the indexes that are in a state, such as `apps.by_status`.
fn named(reports: &[IndexReport], state: IndexState) -> Vec<String> {
    let found = reports.iter().filter(|report| report.state == state);
    found.map(|report| format!("{}.{}", report.collection, report.name)).collect()
}

async fn majority(store: &MongoStore) -> Finding {
    match store.confirm_majority().await {
        Ok(()) => Finding::Ok("a majority of the members confirms writes".to_owned()),
        Err(error) => Fault(format!(
            "{:#}; can a majority of the members be reached?",
            anyhow::Error::from(error)
        )),
    }
}
