use std::time::Duration;

use mongodb::options::{Acknowledgment, ClientOptions, ReadConcern, ReadPreference, WriteConcern};

use crate::mongo::{QueueBounds, SealingBounds};
use crate::store::ContextVersionPage;

/// How to reach MongoDB, and how long to wait for it.
#[derive(Debug, Clone)]
pub struct MongoOptions {
    /// The connection string. What it says about timeouts, concerns and read
    /// preference is overruled.
    pub uri: String,
    /// The database that holds everything.
    pub database: String,
    /// How long a call may take, retries included, before it gives up.
    pub deadline: Duration,
    /// A call that takes at least this long is logged as a warning.
    pub slow_call: Duration,
    /// How many connections are kept at most.
    pub max_pool_size: u32,
    /// The name by which the server's log knows this client.
    pub app_name: String,
    /// When messages are moved out of the session document.
    pub sealing: SealingBounds,
    /// How many appends wait for their turn.
    pub queue: QueueBounds,
    /// How many context snapshots are kept of a chat, the newest among them; at least 1.
    pub context_history: u64,
    /// For how long a proof reads from one snapshot, before it takes another: much less than a server
    /// keeps one.
    pub proof_snapshot: Duration,
}

impl MongoOptions {
    /// The defaults, for the server and the database named.
    pub fn new(uri: impl Into<String>, database: impl Into<String>) -> Self {
        Self {
            uri: uri.into(),
            database: database.into(),
            deadline: Duration::from_secs(8),
            slow_call: Duration::from_secs(1),
            max_pool_size: 64,
            app_name: "reprise".to_owned(),
            sealing: SealingBounds::default(),
            queue: QueueBounds::default(),
            context_history: ContextVersionPage::KEPT,
            proof_snapshot: Duration::from_secs(20),
        }
    }
}

/// Why the options cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("the connection string or an option cannot be used")]
pub struct ConnectError(#[from] mongodb::error::Error);

/// How long a server is looked for.
///
/// Shorter than the deadline of a call, which then ends with the driver's word that nothing was
/// sent, not with a doubt.
const SELECTION_TIMEOUT: Duration = Duration::from_secs(5);

/// Builds the driver's options.
///
/// The primary, for reads too: what an append decides by has been looked up there. Majority and
/// journal, so that what is acknowledged survives; no `wtimeout`, which would turn
/// waiting into doubt; and timeouts short enough that a hung primary is noticed in two seconds.
/// The driver has no socket timeout, so a call's own deadline is the only bound above these.
pub(crate) async fn options(options: &MongoOptions) -> Result<ClientOptions, ConnectError> {
    let mut driver = ClientOptions::parse(&options.uri).await?;
    driver.app_name = Some(options.app_name.clone());
    driver.connect_timeout = Some(Duration::from_millis(1_500));
    driver.heartbeat_freq = Some(Duration::from_millis(500));
    driver.server_selection_timeout = Some(SELECTION_TIMEOUT.min(options.deadline * 5 / 8));
    driver.max_pool_size = Some(options.max_pool_size);
    driver.retry_reads = Some(true);
    driver.retry_writes = Some(true);
    driver.selection_criteria = Some(ReadPreference::Primary.into());
    driver.read_concern = Some(ReadConcern::majority());
    driver.write_concern =
        Some(WriteConcern::builder().w(Acknowledgment::Majority).journal(true).build());
    Ok(driver)
}
