use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use persistence::Store as _;
use persistence::mongo::{MongoOptions, MongoStore};

use crate::floor::Floor;
use crate::messages::SharedSource;

/// The environment of a scenario: a store and a floor, each with a fresh database on one server.
#[derive(Debug)]
pub(crate) struct Stage {
    /// The URI of the server, for clients in other processes.
    pub(crate) uri: String,
    pub(crate) store: MongoStore,
    /// The database of the store, for floors that read what the store has written.
    pub(crate) store_database: String,
    pub(crate) floor: Floor,
    pub(crate) floor_database: String,
    pub(crate) source: SharedSource,
    pub(crate) rounds: usize,
    size: Size,
    sessions: Option<usize>,
    scenario: String,
}

/// The options of a run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) rounds: usize,
    pub(crate) size: Size,
    /// The number of sessions to fill in, if it was chosen.
    pub(crate) sessions: Option<usize>,
}

/// The size of the scenarios.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Size {
    /// The size that the scenario states.
    Full,
    /// The smallest size that exercises everything.
    Quick,
}

impl Stage {
    /// Sets up a stage for one scenario.
    pub(crate) async fn set_up(uri: &str, scenario: &str, plan: Plan) -> Result<Self> {
        let store_database = format!("store_{scenario}");
        let options = MongoOptions::new(uri, &store_database);
        let store = ready_store(&options).await?;
        let floor_database = format!("floor_{scenario}");
        let floor = Floor::connect(uri, &floor_database, options.max_pool_size).await?;
        Ok(Self {
            uri: uri.to_owned(),
            store,
            store_database,
            floor,
            floor_database,
            source: SharedSource::new(plan.seed),
            rounds: plan.rounds,
            size: plan.size,
            sessions: plan.sessions,
            scenario: scenario.to_owned(),
        })
    }

    /// Returns another store on the same server, whose sessions have no index but that of their ids.
    pub(crate) async fn store_without_indexes(&self) -> Result<MongoStore> {
        let database = self.bare_database();
        let store = ready_store(&MongoOptions::new(&*self.uri, &database)).await?;
        self.floor.drop_indexes(&database, "chat_sessions").await?;
        Ok(store)
    }

    fn bare_database(&self) -> String {
        format!("{}_bare", self.store_database)
    }

    /// Removes all databases.
    pub(crate) async fn strike(self) -> Result<()> {
        let bare = self.bare_database();
        self.floor.drop_databases(&[&self.store_database, &bare]).await
    }

    /// Chooses between the full size of something and the quick one.
    pub(crate) fn sized<T>(&self, full: T, quick: T) -> T {
        match self.size {
            Size::Full => full,
            Size::Quick => quick,
        }
    }

    /// The number of sessions to fill in: the chosen one, or else the full or the quick one.
    pub(crate) fn sessions(&self, full: usize, quick: usize) -> usize {
        self.sessions.unwrap_or_else(|| self.sized(full, quick))
    }

    /// A progress bar for a part of the scenario; hidden if standard error is not a terminal.
    pub(crate) fn progress(&self, part: &'static str, total: usize) -> ProgressBar {
        let template = "{prefix:<14} {msg:<10} {wide_bar} {human_pos}/{human_len} {eta}";
        let style = ProgressStyle::with_template(template);
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        ProgressBar::new(total as u64)
            .with_style(style)
            .with_prefix(self.scenario.clone())
            .with_message(part)
    }
}

/// Connects, and creates the indexes, as a service does before it says it is ready.
async fn ready_store(options: &MongoOptions) -> Result<MongoStore> {
    let store = MongoStore::connect(options).await?;
    store.ping().await?;
    Ok(store)
}
