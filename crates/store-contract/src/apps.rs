//! The registry of apps.

use std::sync::Arc;

use records::{Actor, AppId, AppStatus};

use super::fixture::{a_moment_passes, assert_refused, race, some_scope};
use persistence::{Store, StoreError};

pub async fn a_registered_app_is_enabled(store: Arc<dyn Store>) {
    let app_id = some_scope().app_id;
    assert_eq!(store.get_app(&app_id).await.unwrap(), None);
    let app = store.register_app(&Actor::command_line(), &app_id).await.unwrap();
    assert_eq!((&app.app_id, app.status), (&app_id, AppStatus::Enabled));
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
