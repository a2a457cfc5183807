//! Listing chat sessions: order, filters and pages.

use std::sync::Arc;

use chrono::TimeDelta;
use records::{
    AssistantId, Caller, ChatId, ChatSession, ChatStatus, FieldChange, Lifecycle, MemberRole,
    MessageBody, MetadataFilter, NewChatSession, NewFork, NewInputRequest, NewTurn, Permission,
    Question, Scope, SessionChange, TeamId, TitlePart, TurnId, TurnMessage, TurnOutcome, UserId,
    Visibility, title_key,
};

use super::fixture::{
    TestChat, a_moment_passes, list_all, list_in_pages, new_chat, race, some_scope, workflow,
};
use super::metadata_lists::{declare, metadata};
use persistence::{
    ChatCount, ChatFilter, ChatOrder, Direction, ListCursor, Position, Store, StoreError,
};

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
    let by_status = ChatFilter { statuses: vec![ChatStatus::Failed], ..ChatFilter::default() };
    let by_time = ChatFilter {
        created_from: Some(chats[8].created_at),
        created_before: Some(chats[1].created_at),
        ..ChatFilter::default()
    };
    let by_all = ChatFilter {
        workflow_name: by_workflow.workflow_name.clone(),
        user_id: by_user.user_id.clone(),
        statuses: by_status.statuses.clone(),
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
    let running = ChatFilter { statuses: vec![ChatStatus::Running], ..ChatFilter::default() };
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
    let just_after_the_second = ListCursor {
        position: Position::Created(chats[1].created_at + TimeDelta::milliseconds(1)),
        chat_id: ChatId::parse("0").unwrap(),
    };
    let listed = list_in_pages(&store, &scope, 10, Some(just_after_the_second)).await;
    assert_eq!(listed, [chats[1].clone(), chats[0].clone()]);
}

fn by_activity() -> ChatFilter {
    ChatFilter { order: ChatOrder::Active, ..ChatFilter::default() }
}

pub async fn a_message_moves_its_chat_to_the_front_of_the_list_by_activity(store: Arc<dyn Store>) {
    let scope = some_scope();
    let chats = create_over_time(4, &scope, &store).await;
    for index in [2, 0] {
        a_moment_passes().await;
        say(&store, &scope, &chats[index]).await;
    }
    let moved = list(&store, &scope, by_activity()).await;
    let ids: Vec<_> = moved.iter().map(|chat| &chat.chat_id).collect();
    assert_eq!(ids, [0, 2, 3, 1].map(|index| &chats[index].chat_id));
    let created = list(&store, &scope, ChatFilter::default()).await;
    let ids: Vec<_> = created.iter().map(|chat| &chat.chat_id).collect();
    assert_eq!(ids, [3, 2, 1, 0].map(|index| &chats[index].chat_id));
}

pub async fn a_change_of_a_chat_is_no_activity(store: Arc<dyn Store>) {
    let scope = some_scope();
    let chats = create_over_time(2, &scope, &store).await;
    a_moment_passes().await;
    store.set_status(&scope, &chats[0].chat_id, ChatStatus::Paused, None).await.unwrap();
    let listed = list(&store, &scope, by_activity()).await;
    let ids: Vec<_> = listed.iter().map(|chat| &chat.chat_id).collect();
    assert_eq!(ids, [&chats[1].chat_id, &chats[0].chat_id]);
}

pub async fn pages_by_activity_are_complete_and_each_is_ordered(store: Arc<dyn Store>) {
    let scope = some_scope();
    let chats = create_at_once(30, &scope, &store).await;
    for chat in chats.iter().step_by(3) {
        say(&store, &scope, chat).await;
    }
    let filter = by_activity();
    let key = |chat: &ChatSession| (chat.last_active_at(), chat.chat_id.clone());
    let mut whole = list(&store, &scope, filter.clone()).await;
    assert!(whole.is_sorted_by(|one, next| key(one) > key(next)));
    whole.sort_by_key(|chat| chat.chat_id.clone());
    for limit in [1, 7, 20, 29] {
        let mut paged = list_all(&store, &scope, &filter, limit, None).await;
        paged.sort_by_key(|chat| chat.chat_id.clone());
        assert_eq!(paged, whole, "{limit} at a time");
    }
}

pub async fn lists_have_every_order_in_both_directions(store: Arc<dyn Store>) {
    let scope = some_scope();
    let titles =
        [None, Some("b"), Some("A picnic"), Some("a picnic"), Some("Ä"), Some(" "), Some("B")];
    for index in 0..titles.len() * 3 {
        let title = titles[index % titles.len()].map(str::to_owned);
        let new = NewChatSession { title, sort: [0, -3, 7][index / titles.len()], ..new_chat() };
        let chat = TestChat::create_in(&scope, &store, new).await;
        if index % 4 == 1 {
            chat.change(SessionChange {
                title: FieldChange::Set("Changed".to_owned()),
                sort: Some(5),
                ..SessionChange::default()
            })
            .await
            .unwrap();
        }
        if index % 4 == 3 {
            chat.change(SessionChange {
                title: FieldChange::Clear,
                sort: Some(0),
                ..SessionChange::default()
            })
            .await
            .unwrap();
        }
    }
    for order in ChatOrder::ALL {
        let filter = |direction| ChatFilter { order, direction, ..ChatFilter::default() };
        let ascending = list(&store, &scope, filter(Some(Direction::Ascending))).await;
        let position = |chat: &ChatSession| match order {
            ChatOrder::Created | ChatOrder::Active => (Some(chat.last_active_at()), None, 0),
            ChatOrder::Title => (None, Some(title_key(chat.title.as_deref())), 0),
            ChatOrder::Sort => (None, None, chat.sort),
        };
        assert!(ascending.is_sorted_by_key(|chat| (position(chat), chat.chat_id.clone())));
        let mut descending = list(&store, &scope, filter(Some(Direction::Descending))).await;
        let default = list(&store, &scope, filter(None)).await;
        match order.direction() {
            Direction::Ascending => assert_eq!(default, ascending),
            Direction::Descending => assert_eq!(default, descending),
        }
        descending.reverse();
        assert_eq!(ascending, descending, "{order:?}");
        for (direction, limit) in
            [(Direction::Ascending, 1), (Direction::Ascending, 4), (Direction::Descending, 4)]
        {
            let mut pages = list_all(&store, &scope, &filter(Some(direction)), limit, None).await;
            if direction == Direction::Descending {
                pages.reverse();
            }
            if order == ChatOrder::Active {
                // Its pages are in the order of the minutes.
                pages.sort_by_key(|chat| (chat.last_active_at(), chat.chat_id.clone()));
            }
            assert_eq!(pages, ascending, "{order:?} {direction:?} {limit}");
        }
    }
}

pub async fn lists_that_no_index_serves_are_refused(store: Arc<dyn Store>) {
    let scope = some_scope();
    let created_at =
        TestChat::create_in(&scope, &store, new_chat()).await.session().await.created_at;
    let user = |name: &str| UserId::parse(name).ok();
    let ada = person(&scope, "ada");
    let none = ChatFilter::default;
    let helper = AssistantId::parse("helper").ok();
    let failed = Some(TurnOutcome::Failed);
    let picnic = TitlePart::parse("picnic").ok();
    let by_title = || ChatFilter { order: ChatOrder::Title, ..ChatFilter::default() };
    for (caller, filter, refused) in [
        (&scope, ChatFilter { user_id: user("ada"), ..by_activity() }, None),
        (&scope, ChatFilter { statuses: vec![ChatStatus::Failed], ..by_activity() }, None),
        (&scope, ChatFilter { workflow_name: Some(workflow("a")), ..by_activity() }, None),
        (&scope, ChatFilter { active_from: Some(created_at), ..none() }, Some("/active_from")),
        (&scope, ChatFilter { active_before: Some(created_at), ..none() }, Some("/active_before")),
        (
            &scope,
            ChatFilter { created_from: Some(created_at), ..by_activity() },
            Some("/created_from"),
        ),
        (&scope, ChatFilter { assistant_id: helper.clone(), ..none() }, Some("/assistant_id")),
        (&scope, ChatFilter { needs_input: true, ..none() }, Some("/needs_input")),
        (
            &scope,
            ChatFilter {
                assistant_id: helper.clone(),
                workflow_name: Some(workflow("a")),
                ..by_activity()
            },
            Some("/workflow_name"),
        ),
        (&scope, ChatFilter { member: user("ada"), needs_input: true, ..by_activity() }, None),
        (&ada, ChatFilter { user_id: user("ada"), ..by_activity() }, None),
        (&ada, ChatFilter { user_id: user("bob"), ..by_activity() }, None),
        (&ada, ChatFilter { member: user("ada"), ..none() }, None),
        (&ada, ChatFilter { member: user("bob"), ..none() }, Some("/member")),
        (&scope, ChatFilter { title_contains: picnic.clone(), ..by_activity() }, None),
        (
            &scope,
            ChatFilter {
                title_contains: picnic.clone(),
                workflow_name: Some(workflow("a")),
                ..by_activity()
            },
            Some("/workflow_name"),
        ),
        (
            &scope,
            ChatFilter { workflow_name: Some(workflow("a")), ..by_title() },
            Some("/workflow_name"),
        ),
        (
            &scope,
            ChatFilter { created_from: Some(created_at), ..by_title() },
            Some("/created_from"),
        ),
        (
            &scope,
            ChatFilter { title_contains: picnic.clone(), ..by_title() },
            Some("/title_contains"),
        ),
        (&ada, ChatFilter { title_contains: picnic, ..by_title() }, None),
        (&ada, ChatFilter { of_app: true, ..by_title() }, Some("/order_by")),
        (
            &ada.needing(Permission::Manage).finding_deleted(),
            ChatFilter { of_app: true, lifecycles: vec![Lifecycle::Deleted], ..none() },
            Some("/lifecycle"),
        ),
        (&ada, ChatFilter { needs_input: true, ..by_activity() }, None),
        (&ada, ChatFilter { forked_from: ChatId::parse("chat").ok(), ..none() }, None),
        (
            &ada,
            ChatFilter { forked_from: ChatId::parse("chat").ok(), user_id: user("ada"), ..none() },
            Some("/user_id"),
        ),
        (&ada, ChatFilter { needs_input: true, ..none() }, Some("/needs_input")),
        (&ada, ChatFilter { needs_input: true, user_id: user("ada"), ..by_activity() }, None),
        (&ada, ChatFilter { of_app: true, member: user("ada"), ..by_activity() }, Some("/member")),
        (
            &ada,
            ChatFilter { assistant_id: helper, last_turn_outcome: failed, ..by_activity() },
            None,
        ),
    ] {
        let refusal = refused_filter(&store, caller, &filter).await;
        assert_eq!(refusal.as_deref(), refused, "{filter:?}");
    }
    let chat_id = ChatId::parse("chat").unwrap();
    let cursor = ListCursor { position: Position::Created(created_at), chat_id };
    let refusal = store.list_chats(&scope, &by_activity(), 10, Some(&cursor)).await.unwrap_err();
    assert!(matches!(refusal, StoreError::Invalid(_)), "{refusal:?}");
}

/// Returns the filter for which a list is refused.
pub(crate) async fn refused_filter(
    store: &Arc<dyn Store>,
    caller: &Scope,
    filter: &ChatFilter,
) -> Option<String> {
    match store.list_chats(caller, filter, 10, None).await {
        Ok(_) => None,
        Err(StoreError::Invalid(invalid)) => Some(invalid.location.to_string()),
        Err(error) => panic!("{error:?}"),
    }
}

pub(crate) fn person(scope: &Scope, name: &str) -> Scope {
    let (user_id, team_id) = (UserId::parse(name).unwrap(), TeamId::parse("red").ok());
    let person = Caller::User { user_id, team_id, may_run: false };
    Scope::new(scope.app_id.clone(), person, Permission::Read)
}

/// Creates chats that differ in everything that lists select by.
async fn create_different(scope: &Scope, store: &Arc<dyn Store>) -> Vec<TestChat> {
    let mut chats = Vec::new();
    for index in 0..24 {
        let new = NewChatSession {
            workflow_name: workflow(["a", "b"][index % 2]),
            user_id: [None, UserId::parse("ada").ok(), UserId::parse("bob").ok()][index % 3]
                .clone(),
            team_id: [TeamId::parse("red").ok(), None][index / 2 % 2].clone(),
            assistant_id: [None, AssistantId::parse("helper").ok()][index / 3 % 2].clone(),
            visibility: Visibility::ALL[index % 4],
            title: [None, Some("A picnic".to_owned()), Some("Budget".to_owned())][index / 2 % 3]
                .clone(),
            sort: [5, 0, -5][index / 4 % 3],
            metadata: metadata("customer", ["acme", "other"][index / 3 % 2]),
            ..new_chat()
        };
        let chat = TestChat::create_in(scope, store, new).await;
        if index % 5 < 2 {
            chat.put_member("ada", MemberRole::Reader).await.unwrap();
        }
        if index % 4 > 0 {
            let outcome = TurnOutcome::ALL[index % 3];
            let turn = NewTurn {
                request_id: TurnId::parse("turn").unwrap(),
                outcome,
                messages: vec![said("so")],
                steps: Vec::new(),
                connector: None,
                mode: None,
            };
            store.append_turn(scope, &chat.id, turn).await.unwrap();
        }
        if index % 3 == 1 {
            let question = Question::of("Why?");
            let new = NewInputRequest { request_id: None, question, expires_in_sec: None };
            store.request_input(scope, &chat.id, new).await.unwrap();
        }
        if index % 7 == 3 {
            chat.set_status(ChatStatus::Completed, None).await.unwrap();
        }
        if index % 6 == 5 {
            chat.change(SessionChange::to_lifecycle(Lifecycle::Archived)).await.unwrap();
        }
        chats.push(chat);
    }
    for owner in ["ada", "bob", "ada"] {
        let fork = NewFork { user_id: UserId::parse(owner).ok(), ..NewFork::default() };
        let fork = chats[1].fork(fork).await.unwrap();
        chats.push(fork.fork(NewFork::default()).await.unwrap());
        chats.push(fork);
    }
    chats
}

pub async fn every_served_list_has_the_chats_that_its_filters_name(store: Arc<dyn Store>) {
    let scope = some_scope();
    declare(&store, &scope.app_id, &["customer"]).await;
    let chats = create_different(&scope, &store).await;
    let mut with_ada = Vec::new();
    for chat in &chats {
        if chat.members().await.unwrap().iter().any(|member| member.user_id.as_str() == "ada") {
            with_ada.push(chat.id.clone());
        }
    }
    let ada = UserId::parse("ada").ok();
    let some = chats[9].session().await.created_at;
    let source = &chats[1].id;
    let filters: [&dyn Fn(&mut ChatFilter); 16] = [
        &|filter| filter.workflow_name = Some(workflow("a")),
        &|filter| filter.user_id.clone_from(&ada),
        &|filter| filter.member.clone_from(&ada),
        &|filter| filter.team_id = TeamId::parse("red").ok(),
        &|filter| filter.assistant_id = AssistantId::parse("helper").ok(),
        &|filter| filter.title_contains = TitlePart::parse("PICN").ok(),
        &|filter| filter.metadata = MetadataFilter::parse("customer:acme").ok(),
        &|filter| filter.needs_input = true,
        &|filter| filter.last_turn_outcome = Some(TurnOutcome::Interrupted),
        &|filter| filter.forked_from = Some(source.clone()),
        &|filter| filter.statuses = vec![ChatStatus::Running, ChatStatus::Completed],
        &|filter| filter.lifecycles = vec![Lifecycle::Archived],
        &|filter| filter.created_from = Some(some),
        &|filter| filter.created_before = Some(some),
        &|filter| filter.active_from = Some(some),
        &|filter| filter.of_app = true,
    ];
    let mut served = 0;
    for order in ChatOrder::ALL {
        for caller in [&scope, &person(&scope, "ada")] {
            let of_caller = ChatFilter { order, ..ChatFilter::default() };
            let of_app = ChatFilter { of_app: true, ..of_caller.clone() };
            let own = list(&store, caller, of_caller.clone()).await;
            let of_app = match store.list_chats(caller, &of_app, 100, None).await {
                Ok(page) => page.chats,
                Err(_) => Vec::new(),
            };
            for first in &filters {
                for second in &filters {
                    let mut filter = of_caller.clone();
                    first(&mut filter);
                    second(&mut filter);
                    let is_expected = |chat: &&ChatSession| {
                        filter.admits(chat)
                            && (filter.member.is_none() || with_ada.contains(&chat.chat_id))
                    };
                    let whole = if filter.of_app { &of_app } else { &own };
                    let expected = whole.iter().filter(is_expected).map(|chat| &chat.chat_id);
                    let expected: Vec<_> = expected.collect();
                    let found = match store.list_chats(caller, &filter, 100, None).await {
                        Ok(page) => page.chats,
                        Err(StoreError::Invalid(_)) => continue,
                        Err(error) => panic!("{error:?}"),
                    };
                    let found: Vec<_> = found.iter().map(|chat| &chat.chat_id).collect();
                    assert_eq!(found, expected, "{filter:?}");
                    let count = store.count_chats(caller, &filter).await.unwrap();
                    assert_eq!(count, ChatCount::Exactly(found.len()), "{filter:?}");
                    served += usize::from(!found.is_empty());
                }
            }
        }
    }
    assert!(served > 250, "only {served} lists were served");
}

pub async fn chats_are_found_by_a_part_of_their_title(store: Arc<dyn Store>) {
    let scope = some_scope();
    let mut ids = Vec::new();
    for title in [
        None,
        Some("no"),
        Some("A Picnic {$ne: 1}"),
        Some("ÜBER 日本語"),
        Some("picnics"),
        Some("Η ΟΔΟΣ"),
        Some("η οδος Σ"),
    ] {
        let new = NewChatSession { title: title.map(str::to_owned), ..new_chat() };
        ids.push(TestChat::create_in(&scope, &store, new).await.id);
        a_moment_passes().await;
    }
    let found = async |part: &str| {
        let title_contains = Some(TitlePart::parse(part).unwrap());
        let chats = list(&store, &scope, ChatFilter { title_contains, ..Default::default() }).await;
        let number = |chat: ChatSession| ids.iter().position(|id| *id == chat.chat_id).unwrap();
        chats.into_iter().map(number).collect::<Vec<_>>()
    };
    for (part, expected) in [
        ("PICNIC", vec![4, 2]),
        ("icnics", vec![4]),
        ("picnic s", vec![]),
        ("{$NE: 1}", vec![2]),
        (".*.*", vec![]),
        ("über 日", vec![3]),
        ("日本語", vec![3]),
        ("noo", vec![]),
        ("nic\0", vec![]),
        ("οδος", vec![6, 5]),
        ("ΔΟΣ", vec![6, 5]),
        ("δοσ σ", vec![6]),
    ] {
        assert_eq!(found(part).await, expected, "{part}");
    }
    let chat = TestChat { store: Arc::clone(&store), scope: scope.clone(), id: ids[4].clone() };
    let title = |title| SessionChange { title, ..SessionChange::default() };
    chat.change(title(FieldChange::Set("Budget".to_owned()))).await.unwrap();
    assert_eq!((found("picnic").await, found("budget").await), (vec![2], vec![4]));
    chat.change(title(FieldChange::Clear)).await.unwrap();
    assert_eq!(found("budget").await, Vec::<usize>::new());
    let fork = NewFork { title: Some("Budget again".to_owned()), ..NewFork::default() };
    let fork = chat.fork(fork).await.unwrap();
    let title_contains = TitlePart::parse("GAIN").ok();
    let filter = ChatFilter { title_contains, ..ChatFilter::default() };
    assert_eq!(list(&store, &scope, filter).await, [fork.session().await]);
}

fn said(text: &str) -> TurnMessage {
    TurnMessage { body: MessageBody::new("assistant", None, text), author: None }
}

async fn say(store: &Arc<dyn Store>, scope: &Scope, chat: &ChatSession) {
    let message = MessageBody::new("user", Some("user"), "hello").into();
    store.append(scope, &chat.chat_id, vec![message]).await.unwrap();
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
