use bson::{DateTime, Document, RawDocument, doc};
use records::{App, AppStatus};

use crate::StoreError;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{APPS, SCHEMA_VERSION};

/// Returns the document of an app.
pub(crate) fn app_document(app: &App) -> Document {
    doc! {
        "_id": app.app_id.as_str(),
        "status": app.status.as_str(),
        "created_at": DateTime::from_chrono(app.created_at),
        "last_updated_at": DateTime::from_chrono(app.last_updated_at),
        "schema_version": SCHEMA_VERSION,
    }
}

/// Reads the document of an app.
pub(crate) fn app_record(raw: &RawDocument) -> Result<App, StoreError> {
    let id = raw.get_str("_id").unwrap_or("(unreadable)");
    let fields = Fields::open(APPS, id, raw)?;
    Ok(App {
        app_id: fields.parsed("_id")?,
        status: fields.field("status")?.one_of(AppStatus::ALL, |status| status.as_str())?,
        created_at: fields.time("created_at")?,
        last_updated_at: fields.time("last_updated_at")?,
    })
}
