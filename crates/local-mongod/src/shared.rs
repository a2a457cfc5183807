//! Servers that the tests of a process share, one after the other.

use std::sync::Arc;

use tokio::sync::Mutex;

use crate::{Error, LocalMongod, Options, environment};

/// How often a server is handed out before the next one is started.
///
/// Each test fills a database of its own, and each collection and index is a file. The work of a server that
/// evicts pages and closes files grows with the files that it has open, and so does what its tests wait for.
const HANDED_OUT: usize = 48;

static CURRENT: Mutex<Option<Current>> = Mutex::const_new(None);

struct Current {
    server: SharedMongod,
    handed_out: usize,
}

/// A server that several tests of this process use. A temporary one ends when the last of them has dropped it.
#[derive(Clone, Debug)]
pub struct SharedMongod {
    uri: Arc<str>,
    server: Option<Arc<LocalMongod>>,
}

impl SharedMongod {
    /// The URI of the server.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Whether the server ends with its tests, and all databases with it. Those of another server must be dropped.
    pub fn is_temporary(&self) -> bool {
        self.server.is_some()
    }

    async fn start() -> Result<Self, Error> {
        if let Some(uri) = environment::uri() {
            return Ok(Self { uri: uri.into(), server: None });
        }
        let server = LocalMongod::start(Options::for_tests()).await?;
        Ok(Self { uri: server.uri().into(), server: Some(Arc::new(server)) })
    }
}

/// Returns a server that this process's tests share, for one test and its databases.
///
/// This is the server in `MONGODB_URI` if that is set. Otherwise it is a temporary one with test commands, and
/// some tests later it is another one, because a server with many databases is slow. The last one ends with the
/// process.
///
/// ```no_run
/// # async fn example() -> anyhow::Result<()> {
/// let server = local_mongod::shared_for_tests().await?;
/// let client = mongodb::Client::with_uri_str(server.uri()).await?;
/// # Ok(())
/// # }
/// ```
pub async fn shared_for_tests() -> Result<SharedMongod, Error> {
    let mut current = CURRENT.lock().await;
    if let Some(current) = &mut *current
        && current.handed_out < HANDED_OUT
    {
        current.handed_out += 1;
        return Ok(current.server.clone());
    }
    let server = SharedMongod::start().await?;
    *current = Some(Current { server: server.clone(), handed_out: 1 });
    Ok(server)
}
