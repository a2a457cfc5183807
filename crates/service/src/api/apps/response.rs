use records::App;
use serde::Serialize;
use utoipa::ToSchema;

use crate::wire::Time;

/// A registered app.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = App)]
pub(crate) struct AppResponse {
    #[schema(example = "acme_corp")]
    app_id: String,
    /// `enabled` or `disabled`.
    #[schema(example = "enabled")]
    status: &'static str,
    created_at: Time,
    last_updated_at: Time,
}

impl From<App> for AppResponse {
    fn from(app: App) -> Self {
        Self {
            app_id: app.app_id.into(),
            status: app.status.as_str(),
            created_at: app.created_at.into(),
            last_updated_at: app.last_updated_at.into(),
        }
    }
}
