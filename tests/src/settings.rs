//! The settings with which a service is started.

use std::fmt::Display;
use std::path::Path;

use tokio::process::Command;

use crate::database::Database;

/// Settings of a service, by their names in `deploy/config.default.toml`.
#[derive(Clone, Debug)]
pub struct Settings(Vec<(String, String)>);

impl Settings {
    /// A service that listens on a free port and keeps its chats in `database`.
    pub fn of(database: &Database) -> Self {
        Self::at(database.uri(), database.name())
    }

    /// A service that listens on a free port, with a server that may not run yet.
    pub fn at(uri: &str, database: &str) -> Self {
        Self::on_a_free_port().with("mongo.uri", uri).with("mongo.database", database)
    }

    /// A service that listens on a free port and starts a private mongod.
    pub fn embedded(data_dir: &Path) -> Self {
        Self::on_a_free_port().with("mongod.data_dir", data_dir.display())
    }

    fn on_a_free_port() -> Self {
        // A busy machine is slow; that is no finding of a test.
        let filter = "warn,persistence::mongo::engine::observation=error";
        Self(Vec::new()).with("server.listen", "127.0.0.1:0").with("log.filter", filter)
    }

    /// Adds a setting, such as `mongo.deadline_ms`.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Display) -> Self {
        let variable = format!("REPRISE__{}", key.to_uppercase().replace('.', "__"));
        self.0.push((variable, value.to_string()));
        self
    }

    /// Adds a variable of the environment that is no setting, such as `MONGOD`.
    #[must_use]
    pub fn with_variable(mut self, name: &str, value: impl Display) -> Self {
        self.0.push((name.to_owned(), value.to_string()));
        self
    }

    /// Passes them to a process.
    pub fn apply(&self, command: &mut Command) {
        command.envs(self.0.iter().map(|(name, value)| (name, value)));
    }
}
