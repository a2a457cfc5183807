//! One server for all tests of a process.

use tokio::sync::OnceCell;

use crate::{Error, LocalMongod, Options, environment};

static SHARED: OnceCell<Shared> = OnceCell::const_new();

struct Shared {
    uri: String,
    /// Ends with the process, because a static is never dropped but its pipe is closed.
    _server: Option<LocalMongod>,
}

/// Returns the URI of a server that all tests of this process share.
///
/// This is the server in `MONGODB_URI` if that is set. Otherwise the first call starts a temporary
/// one with test commands, which ends with the process.
///
/// ```no_run
/// # async fn example() -> anyhow::Result<()> {
/// let client = mongodb::Client::with_uri_str(local_mongod::shared_for_tests().await?).await?;
/// # Ok(())
/// # }
/// ```
pub async fn shared_for_tests() -> Result<&'static str, Error> {
    let shared = SHARED.get_or_try_init(start).await?;
    Ok(&shared.uri)
}

async fn start() -> Result<Shared, Error> {
    if let Some(uri) = environment::uri() {
        return Ok(Shared { uri, _server: None });
    }
    let server = LocalMongod::start(Options::for_tests()).await?;
    Ok(Shared { uri: server.uri().to_owned(), _server: Some(server) })
}
