//! Listing chat sessions: order, filters and pages.

use std::sync::Arc;

use chrono::TimeDelta;
use records::{ChatId, ChatSession, ChatStatus, NewChatSession, Scope, UserId};

use super::fixture::{
    TestChat, a_moment_passes, list_in_pages, new_chat, race, some_scope, workflow,
};
use persistence::{ChatFilter, Cursor, Store};

pub async fn chats_are_listed_newest_first(store: Arc<dyn Store>) {
    let scope = some_scope();
    let mut chats = create_over_time(5, &scope, &store).await;
    chats.reverse();
    assert_eq!(list(&store, &scope, ChatFilter::default()).await, chats);
}

pub async fn chats_created_at_the_same_time_are_listed_by_id(store: Arc<dyn Store>) {
    let scope = some_scope();
    let mut chats = create_at_once(40, &scope, &store).await;
    chats.sort_by_key(|chat| std::cmp::Reverse((chat.created_at, chat.chat_id.clone())));
    assert_eq!(list(&store, &scope, ChatFilter::default()).await, chats);
}

pub async fn an_app_without_chats_has_an_empty_list(store: Arc<dyn Store>) {
    TestChat::create(&store).await;
    assert_eq!(list(&store, &some_scope(), ChatFilter::default()).await, []);
}

pub async fn filters_select_the_matching_chats_alone_and_combined(store: Arc<dyn Store>) {
    let scope = some_scope();
    let mut chats = Vec::new();
    for workflow_name in ["a_b", "a"] {
        for user in [None, Some("ada"), Some("Ada")] {
            for status in [ChatStatus::Running, ChatStatus::Failed] {
                let new = NewChatSession {
                    workflow_name: workflow(workflow_name),
                    user_id: user.map(|user| UserId::parse(user).unwrap()),
                    ..new_chat()
                };
                let chat = TestChat::create_in(&scope, &store, new).await;
                chats.push(chat.set_status(status, None).await.unwrap());
                a_moment_passes().await;
            }
        }
    }
    chats.reverse();
    let by_workflow = ChatFilter { workflow_name: Some(workflow("a")), ..ChatFilter::default() };
    let by_user =
        ChatFilter { user_id: Some(UserId::parse("ada").unwrap()), ..ChatFilter::default() };
    let by_status = ChatFilter { status: Some(ChatStatus::Failed), ..ChatFilter::default() };
    let by_time = ChatFilter {
        created_from: Some(chats[8].created_at),
        created_before: Some(chats[1].created_at),
        ..ChatFilter::default()
    };
    let by_all = ChatFilter {
        workflow_name: by_workflow.workflow_name.clone(),
        user_id: by_user.user_id.clone(),
        status: by_status.status,
        ..by_time.clone()
    };
    let cases = [
        (by_workflow, vec![0, 1, 2, 3, 4, 5]),
        (by_user, vec![2, 3, 8, 9]),
        (by_status, vec![0, 2, 4, 6, 8, 10]),
        (by_time, vec![2, 3, 4, 5, 6, 7, 8]),
        (by_all, vec![2]),
    ];
    for (filter, expected) in cases {
        let expected: Vec<_> = expected.into_iter().map(|n| chats[n].clone()).collect();
        let listed = list(&store, &scope, filter.clone()).await;
        assert_eq!(listed, expected, "{filter:?}");
    }
}

pub async fn a_status_filter_follows_status_changes(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let running = ChatFilter { status: Some(ChatStatus::Running), ..ChatFilter::default() };
    assert_eq!(list(&store, &chat.scope, running.clone()).await.len(), 1);
    chat.set_status(ChatStatus::Paused, None).await.unwrap();
    assert_eq!(list(&store, &chat.scope, running).await, []);
}

pub async fn pages_are_complete_and_do_not_overlap(store: Arc<dyn Store>) {
    let scope = some_scope();
    create_at_once(40, &scope, &store).await;
    let whole = list(&store, &scope, ChatFilter::default()).await;
    assert_eq!(whole.len(), 40);
    for limit in [1, 7, 20, 39] {
        let paged = list_in_pages(&store, &scope, limit, None).await;
        assert_eq!(paged, whole, "{limit} at a time");
    }
}

pub async fn a_page_that_holds_the_last_chat_has_no_next(store: Arc<dyn Store>) {
    let scope = some_scope();
    create_at_once(4, &scope, &store).await;
    let filter = ChatFilter::default();
    for (limit, has_next) in [(3, true), (4, false), (5, false)] {
        let page = store.list_chats(&scope, &filter, limit, None).await.unwrap();
        assert_eq!(page.next.is_some(), has_next, "limit {limit}");
        assert_eq!(page.chats.len(), limit.min(4));
    }
}

pub async fn chats_created_while_paging_cause_no_gap_and_no_repeat(store: Arc<dyn Store>) {
    let scope = some_scope();
    create_over_time(6, &scope, &store).await;
    let whole = list(&store, &scope, ChatFilter::default()).await;
    let filter = ChatFilter::default();
    let first = store.list_chats(&scope, &filter, 2, None).await.unwrap();
    create_at_once(5, &scope, &store).await;
    let rest = list_in_pages(&store, &scope, 2, first.next).await;
    assert_eq!([first.chats, rest].concat(), whole);
}

pub async fn a_cursor_needs_no_chat_at_its_position(store: Arc<dyn Store>) {
    let scope = some_scope();
    let chats = create_over_time(3, &scope, &store).await;
    let just_after_the_second = Cursor {
        created_at: chats[1].created_at + TimeDelta::milliseconds(1),
        chat_id: ChatId::parse("0").unwrap(),
    };
    let listed = list_in_pages(&store, &scope, 10, Some(just_after_the_second)).await;
    assert_eq!(listed, [chats[1].clone(), chats[0].clone()]);
}

/// Lists all chats that match the filter, in one page.
async fn list(store: &Arc<dyn Store>, scope: &Scope, filter: ChatFilter) -> Vec<ChatSession> {
    let page = store.list_chats(scope, &filter, 100, None).await.unwrap();
    assert_eq!(page.next, None);
    page.chats
}

/// Creates chats with different creation times, and returns them oldest first.
async fn create_over_time(count: usize, scope: &Scope, store: &Arc<dyn Store>) -> Vec<ChatSession> {
    let mut chats = Vec::new();
    for _ in 0..count {
        chats.push(store.create_chat(scope, new_chat()).await.unwrap());
        a_moment_passes().await;
    }
    chats
}

/// Creates chats, many of which have the same creation time.
async fn create_at_once(count: usize, scope: &Scope, store: &Arc<dyn Store>) -> Vec<ChatSession> {
    let creators = (0..count).map(|_| {
        let (scope, store) = (scope.clone(), Arc::clone(store));
        async move { store.create_chat(&scope, new_chat()).await.unwrap() }
    });
    race(creators).await
}
