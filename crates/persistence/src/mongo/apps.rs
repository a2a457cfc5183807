use async_trait::async_trait;
use bson::{Bson, DateTime, Document, RawDocument, RawDocumentBuf, doc};
use futures::TryStreamExt;
use mongodb::options::ReturnDocument;
use records::{
    Actor, App, AppId, AppStatus, AuditAction, FieldChange, MetadataKeys, OwnRetention,
    OwnSettings, RetentionChange, SettingsChange, Visibility,
};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::APPS;
use crate::mongo::documents::stored::{read_document, read_record};
use crate::mongo::documents::word::StoredName;
use crate::mongo::documents::{DeclaredKey, DeclaredKeys, NEWEST_VERSION, SCHEMA_VERSION, encode};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::format::Shape;
use crate::mongo::engine::paging::limit_and_one;
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::rules::audit::{Audited, registry_action};
use crate::store::{AppPage, Apps};

#[async_trait]
impl Apps for MongoStore {
    async fn register_app(&self, actor: &Actor, app_id: &AppId) -> Result<App, StoreError> {
        self.observe(Call::RegisterApp, None, async {
            let now = self.inner.clock.now();
            let app = App {
                app_id: app_id.clone(),
                status: AppStatus::Enabled,
                settings: OwnSettings::default(),
                created_at: now,
                last_updated_at: now,
            };
            let audited = Audited::of_registry(actor, Some(app_id), AuditAction::RegisterApp);
            self.write(|call| async move {
                let round = |tx| call.register_app_round(tx, &app, &audited);
                call.transact_without_chat(round).await
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

    async fn set_app_status(
        &self,
        actor: &Actor,
        app_id: &AppId,
        status: AppStatus,
    ) -> Result<App, StoreError> {
        self.observe(Call::SetAppStatus, None, async {
            let audited = Audited::of_registry(actor, Some(app_id), registry_action(status));
            let (app_id, now) = (app_id.clone(), DateTime::from_chrono(self.inner.clock.now()));
            self.write(|call| async move {
                let round = |tx| call.set_app_status_round(tx, &app_id, status, now, &audited);
                call.transact_without_chat(round).await
            })
            .await
        })
        .await
    }

    async fn update_app(
        &self,
        actor: &Actor,
        app_id: &AppId,
        change: SettingsChange,
    ) -> Result<App, StoreError> {
        self.observe(Call::UpdateApp, None, async {
            let audited = Audited::of_registry(actor, Some(app_id), AuditAction::UpdateApp);
            let (app_id, now) = (app_id.clone(), DateTime::from_chrono(self.inner.clock.now()));
            self.write(|call| async move {
                let round = |tx| call.update_app_round(tx, &app_id, &change, now, &audited);
                call.transact_without_chat(round).await
            })
            .await
        })
        .await
    }
}

impl MongoStore {
    async fn register_app_round(
        &self,
        tx: Transaction<'_>,
        app: &App,
        audited: &Audited,
    ) -> Result<Round<App>, Failure> {
        self.read_format_once().await?;
        // The app may have been registered by an earlier attempt.
        if let Some(found) = self.app(&app.app_id).await? {
            return Ok(Round::Done(found));
        }
        let document = encode(&AppDocument::new(app))?;
        let entry = self.audit_document(audited).await?;
        tx.begin().await?;
        let insert = self.inner.apps.insert_one(document);
        insert.session(&mut *tx.session().await?).await?;
        self.insert_audit_document(&tx, &entry).await?;
        Ok(Round::Done(app.clone()))
    }

    async fn set_app_status_round(
        &self,
        tx: Transaction<'_>,
        app_id: &AppId,
        status: AppStatus,
        now: DateTime,
        audited: &Audited,
    ) -> Result<Round<App>, Failure> {
        let app = self.app(app_id).await?;
        let app = app.ok_or_else(|| StoreError::AppNotFound(app_id.clone()))?;
        // An earlier attempt may have set the status.
        if app.status == status {
            return Ok(Round::Done(app));
        }
        let filter = doc! {
            "_id": app_id.as_str(),
            "status": { "$ne": status.as_str() },
            "schema_version": { "$lte": NEWEST_VERSION },
        };
        let change = doc! { "$set": { "status": status.as_str(), "last_updated_at": now } };
        self.change_app(tx, filter, change, audited).await
    }

    async fn update_app_round(
        &self,
        tx: Transaction<'_>,
        app_id: &AppId,
        change: &SettingsChange,
        now: DateTime,
        audited: &Audited,
    ) -> Result<Round<App>, Failure> {
        let document = self.app_document(app_id).await?;
        let document = document.ok_or_else(|| StoreError::AppNotFound(app_id.clone()))?;
        let declared = document.declared_keys();
        let app = App::from(document);
        let settings = app.settings.clone().changed_by(change.clone());
        // An earlier attempt may have changed the settings.
        if settings == app.settings {
            return Ok(Round::Done(app));
        }
        let has_new_keys = settings.metadata_keys != app.settings.metadata_keys;
        let SettingsUpdate { different, mut set, mut unset } = settings_update(change);
        let mut filter = doc! {
            "_id": app_id.as_str(),
            "schema_version": { "$lte": NEWEST_VERSION },
        };
        if has_new_keys {
            self.require(Shape::MetadataLists).await?;
            // No other change of the keys came between, so none has the same version.
            filter.insert(METADATA_KEYS_VERSION, declared.stored_version());
            set_keys(&declared.changed_to(&settings.metadata_keys), &mut set, &mut unset);
        } else {
            filter.insert("$or", different);
        }
        set.insert("last_updated_at", now);
        let mut update = doc! { "$set": set };
        if !unset.is_empty() {
            update.insert("$unset", unset);
        }
        self.change_app(tx, filter, update, audited).await
    }

    /// Changes an app, with an entry of the audit log. Another round follows if the app is not as the filter says.
    async fn change_app(
        &self,
        tx: Transaction<'_>,
        filter: Document,
        change: Document,
        audited: &Audited,
    ) -> Result<Round<App>, Failure> {
        let entry = self.audit_document(audited).await?;
        tx.begin().await?;
        let update = self.inner.apps.find_one_and_update(filter, change);
        let update = update.return_document(ReturnDocument::After);
        let updated = update.session(&mut *tx.session().await?).await?;
        let Some(raw) = updated else { return Ok(Round::Again) };
        self.insert_audit_document(&tx, &entry).await?;
        Ok(Round::Done(app_record(&raw)?))
    }

    async fn app(&self, app_id: &AppId) -> Result<Option<App>, Failure> {
        Ok(self.app_document(app_id).await?.map(App::from))
    }

    pub(crate) async fn app_document(
        &self,
        app_id: &AppId,
    ) -> Result<Option<AppDocument>, Failure> {
        let raw = self.inner.apps.find_one(doc! { "_id": app_id.as_str() }).await?;
        Ok(raw.map(|raw| read_document(APPS, &raw)).transpose()?)
    }
}

/// Adds changed keys of the metadata to an update of an app.
fn set_keys(declared: &DeclaredKeys, set: &mut Document, unset: &mut Document) {
    set.insert(METADATA_KEYS_VERSION, declared.version);
    let keys: Vec<_> = declared.keys.iter().map(DeclaredKey::document).collect();
    if keys.is_empty() {
        unset.insert(METADATA_KEYS, "");
    } else {
        set.insert(METADATA_KEYS, keys);
    }
}

/// The parts of an update of settings.
#[derive(Debug, Default)]
struct SettingsUpdate {
    /// The filters of the settings that the update changes, of which one must match.
    different: Vec<Document>,
    set: Document,
    unset: Document,
}

fn settings_update(change: &SettingsChange) -> SettingsUpdate {
    let SettingsChange { default_visibility, support_access, users_may_run, .. } = *change;
    let RetentionChange {
        completed_days,
        failed_days,
        abandoned_days,
        deleted_days,
        tool_run_days,
        archive_after_days,
    } = change.retention;
    let mut update = SettingsUpdate::default();
    update.add("settings.default_visibility", default_visibility, |it| it.as_str().into());
    update.add("settings.support_access", support_access, Bson::Boolean);
    update.add("settings.users_may_run", users_may_run, Bson::Boolean);
    for (path, days) in [
        ("settings.completed_days", completed_days),
        ("settings.failed_days", failed_days),
        ("settings.abandoned_days", abandoned_days),
        ("settings.deleted_days", deleted_days),
        ("settings.tool_run_days", tool_run_days),
        ("settings.archive_after_days", archive_after_days),
    ] {
        update.add(path, days, |days| i64::from(days).into());
    }
    update
}

impl SettingsUpdate {
    fn add<T>(
        &mut self,
        path: &'static str,
        change: FieldChange<T>,
        stored: impl FnOnce(T) -> Bson,
    ) {
        match change {
            FieldChange::Keep => {}
            FieldChange::Clear => {
                self.different.push(doc! { path: { "$ne": null } });
                self.unset.insert(path, "");
            }
            FieldChange::Set(value) => {
                let value = stored(value);
                self.different.push(doc! { path: { "$ne": value.clone() } });
                self.set.insert(path, value);
            }
        }
    }
}

/// The field of an app with the keys of the metadata that it has declared, and that with their version.
const METADATA_KEYS: &str = "settings.metadata_keys";
pub(crate) const METADATA_KEYS_VERSION: &str = "metadata_keys_version";

/// A stored app.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AppDocument {
    #[serde(rename = "_id")]
    pub(crate) app_id: AppId,
    status: StoredName<AppStatus>,
    created_at: DateTime,
    last_updated_at: DateTime,
    schema_version: i64,
    /// Apps of older releases, and apps whose settings were never changed, have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    settings: Option<SettingsDocument>,
    /// Grows with every change of the keys. Absent until the app first declares some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata_keys_version: Option<i64>,
}

/// The settings of a stored app.
#[derive(Debug, Default, Serialize, Deserialize)]
struct SettingsDocument {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default_visibility: Option<Visibility>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    support_access: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    users_may_run: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    completed_days: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    failed_days: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    abandoned_days: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    deleted_days: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_run_days: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    archive_after_days: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata_keys: Option<Vec<DeclaredKey>>,
}

impl From<SettingsDocument> for OwnSettings {
    fn from(document: SettingsDocument) -> Self {
        let SettingsDocument {
            completed_days,
            failed_days,
            abandoned_days,
            deleted_days,
            tool_run_days,
            archive_after_days,
            ..
        } = document;
        let SettingsDocument { default_visibility, support_access, users_may_run, .. } = document;
        let retention = OwnRetention {
            completed_days,
            failed_days,
            abandoned_days,
            deleted_days,
            tool_run_days,
            archive_after_days,
        };
        let keys = document.metadata_keys.unwrap_or_default().into_iter().map(|it| it.key);
        let metadata_keys = MetadataKeys::from_stored(keys.collect());
        Self { default_visibility, support_access, users_may_run, retention, metadata_keys }
    }
}

impl AppDocument {
    pub(crate) fn declared_keys(&self) -> DeclaredKeys {
        let keys = self.settings.as_ref().and_then(|settings| settings.metadata_keys.clone());
        DeclaredKeys {
            version: self.metadata_keys_version.unwrap_or_default(),
            keys: keys.unwrap_or_default(),
        }
    }

    /// Describes an app that is registered now, which has no settings of its own.
    fn new(app: &App) -> Self {
        Self {
            settings: None,
            metadata_keys_version: None,
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
            settings: document.settings.unwrap_or_default().into(),
            created_at: document.created_at.to_chrono(),
            last_updated_at: document.last_updated_at.to_chrono(),
        }
    }
}

/// Reads an app.
pub(crate) fn app_record(raw: &RawDocument) -> Result<App, StoreError> {
    read_record::<AppDocument, _>(APPS, raw)
}
