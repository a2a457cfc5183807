//! What a service refuses in its settings: `reprise serve` and `reprise check` read this one list.

use anyhow::{Error, ensure};

use crate::logging;
use crate::settings::{Mongo, Settings};
use crate::traces::Exporter;

/// The databases that every server has for itself.
const OF_SERVER: [&str; 3] = ["admin", "config", "local"];
/// The longest name of a database, in bytes.
const MAX_DATABASE_BYTES: usize = 63;

impl Settings {
    /// Returns every reason for which a service refuses these settings.
    pub(crate) fn objections(&self) -> Vec<Error> {
        let of_service = self.service().objections(self.server.listen);
        let of_process = [
            at_least_one("mongo.deadline_ms", self.mongo.deadline_ms),
            at_least_one("mongo.max_pool_size", self.mongo.max_pool_size.into()),
            self.mongo.check_database(),
            Exporter::check(&self.traces),
            logging::filter(&self.log).map(drop),
        ];
        let of_process = of_process.into_iter().filter_map(Result::err);
        of_service.into_iter().map(Error::from).chain(of_process).collect()
    }

    /// Returns the first of the [`objections`](Self::objections).
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        self.objections().into_iter().next().map_or(Ok(()), Err)
    }
}

impl Mongo {
    fn check_database(&self) -> anyhow::Result<()> {
        let name = &self.database;
        // The server takes names that differ only in their case for the same.
        let is_of_server = OF_SERVER.contains(&name.to_ascii_lowercase().as_str());
        ensure!(
            !is_of_server,
            "mongo.database is {name:?}, which the server keeps for itself and where it has no transactions: choose another \
             name, such as \"reprise\""
        );
        let is_refused = |c: char| matches!(c, '/' | '\\' | '.' | ' ' | '"' | '$' | '\0');
        let is_usable = !name.is_empty() && name.len() <= MAX_DATABASE_BYTES;
        ensure!(
            is_usable && !name.contains(is_refused),
            "mongo.database is {name:?}: it must have 1 to {MAX_DATABASE_BYTES} bytes, without blanks and none of / \\ . \" $"
        );
        Ok(())
    }
}

fn at_least_one(setting: &str, value: u64) -> anyhow::Result<()> {
    ensure!(value > 0, "{setting} must be at least 1");
    Ok(())
}
