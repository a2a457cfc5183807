use async_trait::async_trait;
use bson::{DateTime, RawDocument, RawDocumentBuf, doc};
use futures::TryStreamExt;
use mongodb::options::ReturnDocument;
use records::{App, AppId, AppStatus};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::collections::APPS;
use crate::mongo::documents::stored::read_record;
use crate::mongo::documents::word::StoredName;
use crate::mongo::documents::{NEWEST_VERSION, SCHEMA_VERSION, encode};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::inserts::insert_or_get;
use crate::mongo::engine::paging::limit_and_one;
use crate::store::{AppPage, Apps};

#[async_trait]
impl Apps for MongoStore {
    async fn register_app(&self, app_id: &AppId) -> Result<App, StoreError> {
        self.observe(Call::RegisterApp, None, async {
            let now = self.inner.clock.now();
            let app = App {
                app_id: app_id.clone(),
                status: AppStatus::Enabled,
                created_at: now,
                last_updated_at: now,
            };
            let document = encode(&AppDocument::from(&app))?;
            self.write(|call| async move {
                call.attempt(|_| async {
                    call.read_format_once().await?;
                    let find = || call.app(&app.app_id);
                    let found = insert_or_get(&call.inner.apps, &document, find).await?;
                    Ok(found.unwrap_or_else(|| app.clone()))
                })
                .await
            })
            .await
        })
        .await
    }

    async fn get_app(&self, app_id: &AppId) -> Result<Option<App>, StoreError> {
        self.observe(Call::GetApp, None, self.read(|| async { self.app(app_id).await })).await
    }

    async fn list_apps(&self, limit: usize, after: Option<&AppId>) -> Result<AppPage, StoreError> {
        self.observe(Call::ListApps, None, async {
            let after = after.map_or("", AppId::as_str);
            let found: Vec<RawDocumentBuf> = self
                .read(|| async {
                    let find = self.inner.apps.find(doc! { "_id": { "$gt": after } });
                    let cursor = find.sort(doc! { "_id": 1 }).limit(limit_and_one(limit)).await?;
                    Ok(cursor.try_collect().await?)
                })
                .await?;
            let apps = found.iter().map(|raw| app_record(raw));
            Ok(AppPage::cut(apps.collect::<Result<_, _>>()?, limit))
        })
        .await
    }

    async fn set_app_status(&self, app_id: &AppId, status: AppStatus) -> Result<App, StoreError> {
        self.observe(Call::SetAppStatus, None, async {
            let filter = doc! {
                "_id": app_id.as_str(),
                "status": { "$ne": status.as_str() },
                "schema_version": { "$lte": NEWEST_VERSION },
            };
            let change = doc! { "$set": {
                "status": status.as_str(),
                "last_updated_at": DateTime::from_chrono(self.inner.clock.now()),
            } };
            let app_id = app_id.clone();
            self.write(|call| async move {
                call.attempt(|_| async {
                    let updating =
                        call.inner.apps.find_one_and_update(filter.clone(), change.clone());
                    if let Some(raw) = updating.return_document(ReturnDocument::After).await? {
                        return Ok(app_record(&raw)?);
                    }
                    // The app already has the status, perhaps from an earlier attempt, or is not
                    // registered.
                    let app = call.app(&app_id).await?;
                    app.ok_or_else(|| StoreError::AppNotFound(app_id.clone()).into())
                })
                .await
            })
            .await
        })
        .await
    }
}

impl MongoStore {
    async fn app(&self, app_id: &AppId) -> Result<Option<App>, Failure> {
        let raw = self.inner.apps.find_one(doc! { "_id": app_id.as_str() }).await?;
        Ok(raw.map(|raw| app_record(&raw)).transpose()?)
    }
}

/// A stored app.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AppDocument {
    #[serde(rename = "_id")]
    app_id: AppId,
    status: StoredName<AppStatus>,
    created_at: DateTime,
    last_updated_at: DateTime,
    schema_version: i64,
}

impl From<&App> for AppDocument {
    fn from(app: &App) -> Self {
        Self {
            app_id: app.app_id.clone(),
            status: StoredName(app.status),
            created_at: DateTime::from_chrono(app.created_at),
            last_updated_at: DateTime::from_chrono(app.last_updated_at),
            schema_version: SCHEMA_VERSION,
        }
    }
}

impl From<AppDocument> for App {
    fn from(document: AppDocument) -> Self {
        Self {
            app_id: document.app_id,
            status: document.status.0,
            created_at: document.created_at.to_chrono(),
            last_updated_at: document.last_updated_at.to_chrono(),
        }
    }
}

/// Reads an app.
pub(crate) fn app_record(raw: &RawDocument) -> Result<App, StoreError> {
    read_record::<AppDocument, _>(APPS, raw)
}
