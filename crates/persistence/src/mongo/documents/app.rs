use bson::{DateTime, RawDocument};
use records::{App, AppId, AppStatus};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::mongo::collections::APPS;
use crate::mongo::documents::SCHEMA_VERSION;
use crate::mongo::documents::stored::read_record;
use crate::mongo::documents::word::StoredName;

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
