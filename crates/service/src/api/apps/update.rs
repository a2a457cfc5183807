use axum::extract::State;
use operation::operation;
use records::{FieldChange, MetadataKeys, Retention, RetentionChange, SettingsChange, Visibility};
use serde::{Deserialize, Deserializer, de};
use utoipa::ToSchema;

use crate::extract::{Json, Keyed, OperatedApp, Query, given};
use crate::openapi::values;
use crate::problem::Problem;
use crate::state::AppState;
use crate::wire::AppResponse;

/// A change of an app.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AppChange, example = json!({
    "settings": {"default_visibility": "link", "support_access": null}
}))]
pub(crate) struct UpdateAppRequest {
    settings: SettingsRequest,
}

impl Keyed for UpdateAppRequest {}

/// Changes of settings. A missing setting stays unchanged; with null, the setting of the service applies.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AppSettingsChange)]
struct SettingsRequest {
    /// The visibility of a new chat that states none: `private`, `team`, `link` or `app`.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<values::Visibility>)]
    default_visibility: FieldChange<Visibility>,
    /// Whether users may run the workflows of their own chats.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<bool>)]
    users_may_run: FieldChange<bool>,
    /// Whether tokens with the role `support` are admitted to chats.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<bool>)]
    support_access: FieldChange<bool>,
    /// Days that a completed chat is kept after its last activity; 0 is for ever.
    #[serde(default, deserialize_with = "days")]
    #[schema(value_type = Option<u32>, maximum = 36_500)]
    completed_days: FieldChange<u32>,
    /// Days that a failed chat is kept after its last activity; 0 is for ever.
    #[serde(default, deserialize_with = "days")]
    #[schema(value_type = Option<u32>, maximum = 36_500)]
    failed_days: FieldChange<u32>,
    /// Days that a running or paused chat is kept after its last activity; 0 is for ever.
    #[serde(default, deserialize_with = "days")]
    #[schema(value_type = Option<u32>, maximum = 36_500)]
    abandoned_days: FieldChange<u32>,
    /// Days that a deleted chat is kept after its deletion; 0 is for ever.
    #[serde(default, deserialize_with = "days")]
    #[schema(value_type = Option<u32>, maximum = 36_500)]
    deleted_days: FieldChange<u32>,
    /// Days that a run of a tool is kept after it was recorded; 0 is for ever.
    #[serde(default, deserialize_with = "days")]
    #[schema(value_type = Option<u32>, maximum = 36_500)]
    tool_run_days: FieldChange<u32>,
    /// Days without activity after which an active chat is archived; 0 is never.
    #[serde(default, deserialize_with = "days")]
    #[schema(value_type = Option<u32>, maximum = 36_500)]
    archive_after_days: FieldChange<u32>,
    /// The keys of the metadata by which chats are listed; null removes them.
    #[serde(default, deserialize_with = "metadata_keys")]
    #[schema(value_type = Option<values::MetadataKeys>)]
    metadata_keys: FieldChange<MetadataKeys>,
}

/// Reads a number of days.
fn days<'de, D: Deserializer<'de>>(deserializer: D) -> Result<FieldChange<u32>, D::Error> {
    let days: FieldChange<u32> = given(deserializer)?;
    if days.value().is_some_and(|days| *days > Retention::MAX_DAYS) {
        let limit = format!("must be at most {}", Retention::MAX_DAYS);
        return Err(de::Error::custom(limit));
    }
    Ok(days)
}

/// Reads the keys of the metadata.
fn metadata_keys<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<FieldChange<MetadataKeys>, D::Error> {
    let keys: FieldChange<Vec<String>> = given(deserializer)?;
    Ok(match keys {
        FieldChange::Keep => FieldChange::Keep,
        FieldChange::Clear => FieldChange::Clear,
        FieldChange::Set(keys) => {
            let keys =
                MetadataKeys::parse(keys).map_err(|invalid| de::Error::custom(invalid.detail));
            FieldChange::Set(keys?)
        }
    })
}

impl From<SettingsRequest> for SettingsChange {
    fn from(request: SettingsRequest) -> Self {
        Self {
            default_visibility: request.default_visibility,
            support_access: request.support_access,
            users_may_run: request.users_may_run,
            retention: RetentionChange {
                completed_days: request.completed_days,
                failed_days: request.failed_days,
                abandoned_days: request.abandoned_days,
                deleted_days: request.deleted_days,
                tool_run_days: request.tool_run_days,
                archive_after_days: request.archive_after_days,
            },
            metadata_keys: request.metadata_keys,
        }
    }
}

/// Changes the settings of an app.
///
/// Other service processes apply the change within `apps.cache_ms`. Idempotent.
#[operation(answers = "The app, changed", problems = [APP_NOT_FOUND])]
pub(crate) async fn update_app(
    State(state): State<AppState>,
    OperatedApp { app_id, actor }: OperatedApp,
    Query(()): Query<()>,
    Json(request): Json<UpdateAppRequest>,
) -> Result<Json<AppResponse>, Problem> {
    let app = state.store.update_app(&actor, &app_id, request.settings.into()).await?;
    state.registry.forget(&app_id);
    Ok(Json(app.into()))
}
