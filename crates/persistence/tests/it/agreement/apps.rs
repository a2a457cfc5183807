use persistence::Store;
use proptest::prelude::*;
use proptest::sample::select;
use records::{
    Actor, AppId, AppStatus, FieldChange, MetadataKeys, RetentionChange, SettingsChange, Visibility,
};

use super::operation::print;

/// A call about an app.
#[derive(Debug, Clone)]
pub(crate) enum AppCall {
    Register,
    Get,
    /// Lists all apps, and the apps after this one.
    List {
        limit: usize,
    },
    SetStatus(AppStatus),
    Update(SettingsChange),
}

impl AppCall {
    pub(crate) async fn execute(self, store: &dyn Store, app_id: &AppId) -> String {
        match self {
            Self::Register => print(store.register_app(&Actor::command_line(), app_id).await),
            Self::Get => print(store.get_app(app_id).await),
            Self::List { limit } => print((
                store.list_apps(limit, None).await,
                store.list_apps(limit, Some(app_id)).await,
            )),
            Self::SetStatus(status) => {
                print(store.set_app_status(&Actor::command_line(), app_id, status).await)
            }
            Self::Update(change) => {
                print(store.update_app(&Actor::command_line(), app_id, change).await)
            }
        }
    }
}

pub(crate) fn app_call() -> impl Strategy<Value = AppCall> {
    prop_oneof![
        2 => Just(AppCall::Register),
        1 => Just(AppCall::Get),
        1 => select(vec![1, 2, usize::MAX]).prop_map(|limit| AppCall::List { limit }),
        3 => select(AppStatus::ALL.as_slice()).prop_map(AppCall::SetStatus),
        3 => settings_change().prop_map(AppCall::Update),
    ]
}

fn settings_change() -> impl Strategy<Value = SettingsChange> {
    let parts = (
        field_change(select(Visibility::ALL.as_slice())),
        field_change(any::<bool>()),
        field_change(any::<bool>()),
    );
    let keys = select(vec![vec![], vec!["a"], vec!["b", "a"]]).prop_map(|keys: Vec<&str>| {
        MetadataKeys::parse(keys.into_iter().map(str::to_owned).collect()).unwrap()
    });
    let parts = (parts, field_change(0..3_u32), field_change(keys));
    parts.prop_map(|((default_visibility, support_access, users_may_run), days, keys)| {
        SettingsChange {
            retention: RetentionChange { failed_days: days, ..RetentionChange::default() },
            default_visibility,
            support_access,
            users_may_run,
            metadata_keys: keys,
        }
    })
}

pub(super) fn field_change<T: std::fmt::Debug + Clone>(
    values: impl Strategy<Value = T>,
) -> impl Strategy<Value = FieldChange<T>> {
    prop_oneof![
        Just(FieldChange::Keep),
        Just(FieldChange::Clear),
        values.prop_map(FieldChange::Set),
    ]
}
