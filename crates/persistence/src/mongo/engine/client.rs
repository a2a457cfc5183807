use std::time::Duration;

use mongodb::options::{
    Acknowledgment, ClientOptions, ReadConcern, ReadPreference, ServerApi, ServerApiVersion,
    WriteConcern,
};
use mongodb::otel::OpentelemetryOptions;
use secrecy::{ExposeSecret as _, SecretString};

use crate::BoxError;
use crate::integrity::IntegrityKeys;
use crate::mongo::engine::driver_error::DriverError;
use crate::mongo::{QueueBounds, SealingBounds};
use crate::store::ContextVersionPage;

/// How to connect to MongoDB, and the limits of the store.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct MongoOptions {
    /// The connection string. Its timeouts, concerns and read preference are overridden. A secret, because it
    /// may contain a password.
    pub uri: SecretString,
    /// The name of the database.
    pub database: String,
    /// How long a call may take, including retries.
    pub deadline: Duration,
    /// A call that takes at least this long is logged as a warning.
    pub slow_call: Duration,
    /// The largest number of connections.
    pub max_pool_size: u32,
    /// Reports the driver's commands as spans of OpenTelemetry, without what they contain.
    pub command_spans: bool,
    /// Declares version 1 of the server's stable API, and has the server refuse whatever is not part of it (`apiStrict`).
    pub stable_api: bool,
    /// The name of this client in the server's log.
    pub app_name: String,
    /// When messages are moved from the session document to segments.
    pub sealing: SealingBounds,
    /// How many appends may wait.
    pub queue: QueueBounds,
    /// How many context snapshots of a chat are kept, including the newest one; at least 1.
    pub context_history: u64,
    /// The most bytes of replaced snapshots that are kept for a chat. They are counted when snapshots
    /// are moved out of the session, so the newest few may come on top.
    pub context_history_bytes: u64,
    /// How long a verification reads from one snapshot before it takes a new one. This must be much
    /// shorter than the server keeps a snapshot.
    pub proof_snapshot: Duration,
    /// How long an entry of the audit log is kept; `None` for ever. Entries keep the expiry with which they were written.
    pub audit_keep: Option<Duration>,
    /// Whether the end of each chat leaves an event for the receiver of webhooks.
    pub webhook_events: bool,
    /// Signs what is stored of messages, and tags their changes; nothing is signed without.
    pub integrity: Option<IntegrityKeys>,
}

impl MongoOptions {
    /// Returns the default options for this server and database.
    pub fn new(uri: impl Into<SecretString>, database: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            database: database.into(),
            deadline: Duration::from_secs(8),
            slow_call: Duration::from_secs(1),
            max_pool_size: 64,
            command_spans: false,
            stable_api: false,
            app_name: "reprise".to_owned(),
            sealing: SealingBounds::default(),
            queue: QueueBounds::default(),
            context_history: ContextVersionPage::KEPT,
            context_history_bytes: ContextVersionPage::KEPT_BYTES,
            proof_snapshot: Duration::from_secs(20),
            audit_keep: Some(Duration::from_hours(400 * 24)),
            webhook_events: false,
            integrity: None,
        }
    }
}

/// The connection string or an option cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The user or the password in the connection string cannot be read.
    #[error("the user and the password in the connection string must be percent-encoded")]
    Credentials,
    /// The driver refuses the connection string or an option.
    #[error("the connection string or an option cannot be used")]
    Refused(#[source] BoxError),
}

impl From<mongodb::error::Error> for ConnectError {
    fn from(error: mongodb::error::Error) -> Self {
        Self::Refused(DriverError::from(error).into())
    }
}

/// The timeout of server selection.
///
/// It is shorter than the deadline of a call. A call without a server then ends with the driver's
/// error, which proves that nothing was sent, and not with an unknown outcome.
const SELECTION_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns how many write calls may use the database at the same time: half of the connections.
///
/// A command that changes a document waits on the server while a transaction has that document locked, and
/// its connection waits with it. If such commands took all connections, the transaction could not get one
/// for its next command, and all would wait until the server ends the transaction.
pub(crate) fn write_slots(max_pool_size: u32) -> usize {
    (max_pool_size as usize / 2).max(1)
}

/// Returns how many appends may be sent outside the shared commands at the same time: a quarter of the
/// connections.
pub(crate) fn append_slots(max_pool_size: u32) -> usize {
    (max_pool_size as usize / 4).max(1)
}

/// Parses a connection string. An error contains no part of the credentials.
///
/// The driver may quote what it cannot read, which is a part of the password if that is not encoded. So an error is
/// that of the same string with other credentials.
async fn parse(uri: &str) -> Result<ClientOptions, ConnectError> {
    if let Ok(driver) = ClientOptions::parse(uri).await {
        return Ok(driver);
    }
    ClientOptions::parse(without_credentials(uri)).await?;
    Err(ConnectError::Credentials)
}

/// Replaces everything up to the last `@`: an unencoded password may contain any character.
fn without_credentials(uri: &str) -> String {
    let Some((before, place)) = uri.rsplit_once('@') else { return uri.to_owned() };
    let is_scheme = |scheme: &&str| before.starts_with(&format!("{scheme}://"));
    let scheme = ["mongodb", "mongodb+srv"].into_iter().find(is_scheme).unwrap_or("unknown");
    format!("{scheme}://user:password@{place}")
}

/// Builds the driver's options.
///
/// Reads go to the primary as well, because appends decide by what they have read. Writes use
/// majority and journal, so that an acknowledged write survives. There is no `wtimeout`, because it
/// would turn waiting into an unknown outcome. The timeouts are short enough that a hung primary is
/// noticed within two seconds. The driver has no socket timeout, so the deadline of a call is the
/// only bound above these.
pub(crate) async fn options(options: &MongoOptions) -> Result<ClientOptions, ConnectError> {
    let mut driver = parse(options.uri.expose_secret()).await?;
    driver.app_name = Some(options.app_name.clone());
    driver.connect_timeout = Some(Duration::from_millis(1_500));
    driver.heartbeat_freq = Some(Duration::from_millis(500));
    driver.server_selection_timeout = Some(SELECTION_TIMEOUT.min(options.deadline * 5 / 8));
    driver.max_pool_size = Some(options.max_pool_size);
    // The driver also reads variables of the environment. One turns its spans on, another adds the text of commands. What is set
    // here overrides both.
    let mut spans = OpentelemetryOptions::builder().build();
    spans.enabled = Some(options.command_spans);
    spans.query_text_max_length = Some(0);
    driver.tracing = Some(spans);
    if options.stable_api {
        let strict = ServerApi::builder().version(ServerApiVersion::V1).strict(true).build();
        driver.server_api = Some(strict);
    }
    driver.retry_reads = Some(true);
    driver.retry_writes = Some(true);
    driver.selection_criteria = Some(ReadPreference::Primary.into());
    driver.read_concern = Some(ReadConcern::majority());
    driver.write_concern =
        Some(WriteConcern::builder().w(Acknowledgment::Majority).journal(true).build());
    Ok(driver)
}
