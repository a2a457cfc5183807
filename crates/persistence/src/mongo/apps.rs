use async_trait::async_trait;
use bson::{DateTime, RawDocumentBuf, doc};
use futures::TryStreamExt;
use mongodb::options::ReturnDocument;
use records::{App, AppId, AppStatus};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::{SCHEMA_VERSION, app_document, app_record, encode};
use crate::mongo::engine::failure::{Failure, is_duplicate_key};
use crate::mongo::engine::paging::limit_and_one;
use crate::store::{AppPage, Apps};

#[async_trait]
impl Apps for MongoStore {
    async fn register_app(&self, app_id: &AppId) -> Result<App, StoreError> {
        let now = self.inner.clock.now();
        let app = App {
            app_id: app_id.clone(),
            status: AppStatus::Enabled,
            created_at: now,
            last_updated_at: now,
        };
        let document = encode(&app_document(&app))?;
        self.write(|_| async {
            loop {
                match self.inner.apps.insert_one(document.clone()).await {
                    Ok(_) => return Ok(app.clone()),
                    Err(error) if is_duplicate_key(&error) => {}
                    Err(error) => return Err(error.into()),
                }
                // None: what is in the way is not durable yet, or was rolled back.
                if let Some(app) = self.app(app_id).await? {
                    return Ok(app);
                }
            }
        })
        .await
    }

    async fn get_app(&self, app_id: &AppId) -> Result<Option<App>, StoreError> {
        self.read(|| async { self.app(app_id).await }).await
    }

    async fn list_apps(&self, limit: usize, after: Option<&AppId>) -> Result<AppPage, StoreError> {
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
    }

    async fn set_app_status(&self, app_id: &AppId, status: AppStatus) -> Result<App, StoreError> {
        let filter = doc! {
            "_id": app_id.as_str(),
            "status": { "$ne": status.as_str() },
            "schema_version": { "$lte": SCHEMA_VERSION },
        };
        let change = doc! { "$set": {
            "status": status.as_str(),
            "last_updated_at": DateTime::from_chrono(self.inner.clock.now()),
        } };
        self.write(|_| async {
            let updating = self.inner.apps.find_one_and_update(filter.clone(), change.clone());
            if let Some(raw) = updating.return_document(ReturnDocument::After).await? {
                return Ok(app_record(&raw)?);
            }
            // It is so already, perhaps by an earlier attempt, or it is not registered.
            let app = self.app(app_id).await?;
            app.ok_or_else(|| StoreError::AppNotFound(app_id.clone()).into())
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
