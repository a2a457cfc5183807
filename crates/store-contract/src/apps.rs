//! The registry of apps.

use std::sync::Arc;

use records::{
    Actor, AppId, AppStatus, FieldChange, MetadataKeys, OwnRetention, OwnSettings, RetentionChange,
    SettingsChange, Visibility,
};

use super::fixture::{a_moment_passes, assert_refused, race, some_scope};
use persistence::{Store, StoreError};

pub async fn a_registered_app_is_enabled(store: Arc<dyn Store>) {
    let app_id = some_scope().app_id;
    assert_eq!(store.get_app(&app_id).await.unwrap(), None);
    let app = store.register_app(&Actor::command_line(), &app_id).await.unwrap();
    assert_eq!((&app.app_id, app.status), (&app_id, AppStatus::Enabled));
    assert_eq!(app.settings, OwnSettings::default());
    assert_eq!(app.created_at, app.last_updated_at);
    assert_eq!(store.get_app(&app_id).await.unwrap(), Some(app));
}

pub async fn an_app_is_disabled_and_enabled_again(store: Arc<dyn Store>) {
    let app_id = some_scope().app_id;
    let registered = store.register_app(&Actor::command_line(), &app_id).await.unwrap();
    for status in [AppStatus::Disabled, AppStatus::Enabled] {
        a_moment_passes().await;
        let app = store.set_app_status(&Actor::command_line(), &app_id, status).await.unwrap();
        assert_eq!((app.status, app.created_at), (status, registered.created_at));
        assert!(app.last_updated_at > registered.last_updated_at);
        assert_eq!(store.get_app(&app_id).await.unwrap(), Some(app));
    }
}

pub async fn setting_the_current_app_status_changes_nothing(store: Arc<dyn Store>) {
    let app_id = some_scope().app_id;
    store.register_app(&Actor::command_line(), &app_id).await.unwrap();
    let disabled =
        store.set_app_status(&Actor::command_line(), &app_id, AppStatus::Disabled).await.unwrap();
    a_moment_passes().await;
    let again =
        store.set_app_status(&Actor::command_line(), &app_id, AppStatus::Disabled).await.unwrap();
    assert_eq!(again, disabled);
    assert_eq!(
        store.register_app(&Actor::command_line(), &app_id).await.unwrap(),
        disabled,
        "it stays disabled"
    );
}

pub async fn an_unregistered_app_cannot_be_disabled(store: Arc<dyn Store>) {
    let app_id = some_scope().app_id;
    let disabling =
        store.set_app_status(&Actor::command_line(), &app_id, AppStatus::Disabled).await;
    assert_refused(disabling, &StoreError::AppNotFound(app_id.clone()));
    assert_eq!(store.get_app(&app_id).await.unwrap(), None);
}

pub async fn settings_of_an_app_are_changed_one_by_one_and_reset(store: Arc<dyn Store>) {
    use FieldChange::{Clear, Keep, Set};
    let (app_id, operator) = (some_scope().app_id, Actor::command_line());
    let registered = store.register_app(&operator, &app_id).await.unwrap();
    let unchanged = SettingsChange::default();
    let mut expected = OwnSettings::default();
    for visibility in Visibility::ALL {
        a_moment_passes().await;
        let change = SettingsChange { default_visibility: Set(visibility), ..unchanged.clone() };
        let app = store.update_app(&operator, &app_id, change).await.unwrap();
        expected.default_visibility = Some(visibility);
        assert_eq!((&app.settings, app.status), (&expected, registered.status));
        assert!(app.last_updated_at > registered.last_updated_at);
        assert_eq!(store.get_app(&app_id).await.unwrap(), Some(app));
    }
    let change = SettingsChange {
        default_visibility: Keep,
        support_access: Set(true),
        users_may_run: Set(false),
        retention: RetentionChange { failed_days: Set(7), ..RetentionChange::default() },
        metadata_keys: Set(keys(&["region", "customer"])),
    };
    let app = store.update_app(&operator, &app_id, change).await.unwrap();
    expected = OwnSettings { support_access: Some(true), users_may_run: Some(false), ..expected };
    expected.retention.failed_days = Some(7);
    expected.metadata_keys = keys(&["customer", "region"]);
    assert_eq!(app.settings, expected);
    // The status and the settings are independent.
    let disabled = store.set_app_status(&operator, &app_id, AppStatus::Disabled).await.unwrap();
    assert_eq!(disabled.settings, expected);
    let change = SettingsChange {
        default_visibility: Clear,
        support_access: Keep,
        users_may_run: Set(true),
        retention: RetentionChange {
            failed_days: Clear,
            deleted_days: Set(0),
            ..RetentionChange::default()
        },
        metadata_keys: Set(keys(&["$where", "a.b", "region"])),
    };
    let app = store.update_app(&operator, &app_id, change).await.unwrap();
    expected = OwnSettings { default_visibility: None, users_may_run: Some(true), ..expected };
    expected.retention = OwnRetention { deleted_days: Some(0), ..OwnRetention::default() };
    expected.metadata_keys = keys(&["$where", "a.b", "region"]);
    assert_eq!((app.settings, app.status), (expected, AppStatus::Disabled));
    let change = SettingsChange {
        support_access: Clear,
        users_may_run: Clear,
        retention: RetentionChange { deleted_days: Clear, ..RetentionChange::default() },
        metadata_keys: Clear,
        ..SettingsChange::default()
    };
    let app = store.update_app(&operator, &app_id, change).await.unwrap();
    assert_eq!(app.settings, OwnSettings::default());
    assert_eq!(store.list_apps(1, None).await.unwrap().apps, [app]);
}

fn keys(keys: &[&str]) -> MetadataKeys {
    MetadataKeys::parse(keys.iter().map(|key| (*key).to_owned()).collect()).unwrap()
}

pub async fn giving_an_app_the_settings_that_it_has_changes_nothing(store: Arc<dyn Store>) {
    let (app_id, operator) = (some_scope().app_id, Actor::command_line());
    let registered = store.register_app(&operator, &app_id).await.unwrap();
    a_moment_passes().await;
    let set = SettingsChange { users_may_run: FieldChange::Set(true), ..SettingsChange::default() };
    let reset = SettingsChange { users_may_run: FieldChange::Clear, ..SettingsChange::default() };
    for change in [SettingsChange::default(), reset] {
        assert_eq!(store.update_app(&operator, &app_id, change).await.unwrap(), registered);
    }
    let updated = store.update_app(&operator, &app_id, set.clone()).await.unwrap();
    a_moment_passes().await;
    for change in [set, SettingsChange::default()] {
        assert_eq!(store.update_app(&operator, &app_id, change).await.unwrap(), updated);
    }
    assert_eq!(store.register_app(&operator, &app_id).await.unwrap(), updated);
}

pub async fn an_unregistered_app_has_no_settings(store: Arc<dyn Store>) {
    let app_id = some_scope().app_id;
    let change =
        SettingsChange { users_may_run: FieldChange::Set(true), ..SettingsChange::default() };
    let updating = store.update_app(&Actor::command_line(), &app_id, change).await;
    assert_refused(updating, &StoreError::AppNotFound(app_id.clone()));
    assert_eq!(store.get_app(&app_id).await.unwrap(), None);
}

pub async fn racing_changes_of_settings_lose_nothing(store: Arc<dyn Store>) {
    let app_id = some_scope().app_id;
    store.register_app(&Actor::command_line(), &app_id).await.unwrap();
    let unchanged = SettingsChange::default();
    let changes = [
        SettingsChange {
            default_visibility: FieldChange::Set(Visibility::Link),
            ..unchanged.clone()
        },
        SettingsChange { support_access: FieldChange::Set(true), ..unchanged.clone() },
        SettingsChange { users_may_run: FieldChange::Set(false), ..unchanged.clone() },
        SettingsChange { metadata_keys: FieldChange::Set(keys(&["customer"])), ..unchanged },
    ];
    let rivals = (0..12).map(|number| {
        let (store, app_id) = (Arc::clone(&store), app_id.clone());
        let change = changes[number % changes.len()].clone();
        async move { store.update_app(&Actor::command_line(), &app_id, change).await.unwrap() }
    });
    race(rivals).await;
    let expected = changes.into_iter().fold(OwnSettings::default(), OwnSettings::changed_by);
    assert_eq!(store.get_app(&app_id).await.unwrap().unwrap().settings, expected);
}

pub async fn racing_registrations_get_the_same_answer(store: Arc<dyn Store>) {
    let app_id = some_scope().app_id;
    let rivals = (0..16).map(|_| {
        let (store, app_id) = (Arc::clone(&store), app_id.clone());
        async move { store.register_app(&Actor::command_line(), &app_id).await.unwrap() }
    });
    let answers = race(rivals).await;
    assert!(answers.iter().all(|app| *app == answers[0]), "{answers:?}");
}

pub async fn apps_are_listed_by_id_page_by_page(store: Arc<dyn Store>) {
    let mut ids: Vec<AppId> =
        ["b", "a_b", "a", "B", "_", "0"].map(|id| AppId::parse(id).unwrap()).into();
    for id in &ids {
        store.register_app(&Actor::command_line(), id).await.unwrap();
    }
    ids.sort();
    for limit in [1, 4, 6, 7] {
        let (mut listed, mut after) = (Vec::new(), None);
        loop {
            let page = store.list_apps(limit, after.as_ref()).await.unwrap();
            assert!((1..=limit).contains(&page.apps.len()));
            listed.extend(page.apps.into_iter().map(|app| app.app_id));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(listed, ids, "{limit} at a time");
    }
}
