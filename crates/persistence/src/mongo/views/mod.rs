//! Read-only views that show the database as `MozaiksAI`'s readers know it: whole chats, whatever is sealed.
//!
//! A view is a pipeline that the server runs when the view is read. It stores nothing, so it is always current, and no call of
//! the store reads it. Deleted chats and the texts of deleted messages are not in it.

mod chat_sessions;
mod registries;
mod workflow_stats;

use bson::{Document, doc};
use futures::TryStreamExt as _;
use mongodb::results::CollectionType;

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::engine::failure::Failure;

/// The name of the view of chats, from which that of their messages reads.
const CHAT_SESSIONS_VIEW: &str = "mozaiks.chat_sessions";

/// A view, as it is defined.
#[derive(Debug)]
struct View {
    name: &'static str,
    /// The collection or view that it reads.
    source: &'static str,
    pipeline: Vec<Document>,
}

/// A view, and how it is found in the database.
#[derive(Debug, Clone)]
pub struct ViewReport {
    /// The name of the view.
    pub name: &'static str,
    /// The collection or view that it reads.
    pub source: &'static str,
    /// Its state.
    pub state: ViewState,
}

/// How a view is found in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ViewState {
    /// It does not exist.
    Missing,
    /// It exists as this release defines it.
    Current,
    /// It exists with another definition.
    Outdated,
    /// A collection has its name.
    Taken,
}

impl ViewState {
    /// Returns the state as one word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::Current => "current",
            Self::Outdated => "outdated",
            Self::Taken => "taken",
        }
    }
}

/// Returns every view, each after the one that it reads.
fn views() -> Vec<View> {
    let mut views = chat_sessions::views();
    views.push(workflow_stats::view());
    views.extend(registries::views());
    views
}

impl MongoStore {
    /// Returns the state of each view, and changes none.
    pub async fn inspect_views(&self) -> Result<Vec<ViewReport>, StoreError> {
        self.read(|| async {
            let found = self.found_views().await?;
            Ok(views().iter().map(|view| view.report(&found)).collect())
        })
        .await
    }

    /// Creates the views that are missing, and replaces those with another definition. Returns the states that they had.
    ///
    /// A view is dropped before it is replaced, so a reader may find it missing for a moment. A collection that has the name
    /// of a view stays, and its view is not created.
    pub async fn create_views(&self) -> Result<Vec<ViewReport>, StoreError> {
        let before = self.inspect_views().await?;
        for view in views() {
            self.read(|| self.create_view(&view)).await?;
        }
        Ok(before)
    }

    /// Drops the views, also those with another definition. Returns the states that they had.
    pub async fn drop_views(&self) -> Result<Vec<ViewReport>, StoreError> {
        let before = self.inspect_views().await?;
        for view in views().iter().rev() {
            self.read(|| self.drop_view(view)).await?;
        }
        Ok(before)
    }

    /// Looks at the view first, so that an attempt after one that was applied changes nothing.
    async fn create_view(&self, view: &View) -> Result<(), Failure> {
        match view.report(&self.found_views().await?).state {
            ViewState::Current | ViewState::Taken => return Ok(()),
            ViewState::Outdated => self.drop_view(view).await?,
            ViewState::Missing => {}
        }
        let create = doc! {
            "create": view.name,
            "viewOn": view.source,
            "pipeline": view.pipeline.clone(),
            "writeConcern": { "w": "majority" },
        };
        self.inner.database.run_command(create).await?;
        Ok(())
    }

    async fn drop_view(&self, view: &View) -> Result<(), Failure> {
        let state = view.report(&self.found_views().await?).state;
        if matches!(state, ViewState::Current | ViewState::Outdated) {
            let drop = doc! { "drop": view.name, "writeConcern": { "w": "majority" } };
            self.inner.database.run_command(drop).await?;
        }
        Ok(())
    }

    /// Lists the collections and views that have the names of views.
    async fn found_views(&self) -> Result<Vec<FoundView>, Failure> {
        let names: Vec<_> = views().iter().map(|view| view.name).collect();
        let list = self.inner.database.list_collections().filter(doc! { "name": { "$in": names } });
        let found: Vec<_> = list.await?.try_collect().await?;
        let found = found.into_iter().map(|found| FoundView {
            name: found.name,
            is_view: matches!(found.collection_type, CollectionType::View),
            source: found.options.view_on.unwrap_or_default(),
            pipeline: found.options.pipeline.unwrap_or_default(),
        });
        Ok(found.collect())
    }
}

/// What the database has under the name of a view.
struct FoundView {
    name: String,
    is_view: bool,
    source: String,
    pipeline: Vec<Document>,
}

impl View {
    fn report(&self, found: &[FoundView]) -> ViewReport {
        let state = match found.iter().find(|found| found.name == self.name) {
            None => ViewState::Missing,
            Some(found) if !found.is_view => ViewState::Taken,
            Some(found) if found.source == self.source && found.pipeline == self.pipeline => {
                ViewState::Current
            }
            Some(_) => ViewState::Outdated,
        };
        ViewReport { name: self.name, source: self.source, state }
    }
}
