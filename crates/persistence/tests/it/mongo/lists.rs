//! How much lists read from the database, compared to what they return.

use std::collections::BTreeSet;

use bson::{Bson, Document, RawDocumentBuf, doc};
use chrono::{DateTime, TimeDelta, Utc};
use futures::TryStreamExt;
use persistence::{
    Apps, Billing, Calls, ChatCount, ChatFilter, ChatOrder, ChatSessions, ContextHistory, Contexts,
    Direction, Forks, InputRequests, ListCursor, Members, MessageRange, Messages, Participants,
    ResumePointFilter, Stats, StoreError, Turns, Wallets,
};
use records::{
    Actor, AssistantId, Caller, ChatId, ChatStatus, EntryId, JsonObject, Lifecycle, MemberRole,
    MessageBody, NewChatSession, NewFork, NewInputRequest, NewProviderCall, NewTurn,
    NewWalletEntry, Permission, Question, Scope, SessionChange, StackFrame, StackId, Step,
    StepKind, TeamId, TitlePart, TurnId, TurnMessage, TurnOutcome, UserId, Visibility,
    WorkflowName, title_trigrams,
};

use super::database::Database;
use super::faults::scope;

/// What a list read and returned.
struct Cost {
    name: &'static str,
    examined: i64,
    returned: i64,
}

impl Cost {
    fn is_too_much(&self) -> bool {
        self.examined > 2 * self.returned
    }
}

/// Runs one list under the profiler. A list must return something, or its cost means nothing.
async fn cost(database: &Database, name: &'static str, list: impl Future<Output = usize>) -> Cost {
    database.raw.run_command(doc! { "profile": 2 }).await.unwrap();
    let length = list.await;
    database.raw.run_command(doc! { "profile": 0 }).await.unwrap();
    assert!(length > 0, "{name} returned nothing");
    let profile = database.raw.collection::<RawDocumentBuf>("system.profile");
    let ours = doc! { "docsExamined": { "$exists": true } };
    let operations: Vec<RawDocumentBuf> =
        profile.find(ours).await.unwrap().try_collect().await.unwrap();
    profile.drop().await.unwrap();
    assert!(!operations.is_empty(), "{name} was not profiled");
    let sum =
        |field: &str| operations.iter().map(|operation| number(operation, field)).sum::<i64>();
    Cost { name, examined: sum("docsExamined"), returned: sum("nreturned") }
}

fn number(operation: &RawDocumentBuf, field: &str) -> i64 {
    let Ok(Some(value)) = operation.get(field) else { return 0 };
    value.as_i64().or_else(|| value.as_i32().map(i64::from)).unwrap_or_default()
}

fn user(name: &str) -> UserId {
    UserId::parse(name).unwrap()
}

/// Creates two apps with many chats, and everything that can be listed in both.
async fn fill(database: &Database) -> ChatId {
    let other = Scope { app_id: "other_corp".parse().unwrap(), ..scope() };
    let mut chats = Vec::new();
    for index in 0..60 {
        let new = NewChatSession {
            user_id: Some(user(if index % 10 == 0 { "ann" } else { "bob" })),
            visibility: if index % 12 == 0 { Visibility::App } else { Visibility::Private },
            ..NewChatSession::of(WorkflowName::parse(format!("flow-{}", index % 3)).unwrap())
        };
        database.create_chat(&other, new.clone()).await.unwrap();
        let chat_id = database.create_chat(&scope(), new).await.unwrap().chat_id;
        let status = ChatStatus::ALL[index % 4];
        database.set_status(&scope(), &chat_id, status, None).await.unwrap();
        chats.push(chat_id);
    }
    let scope = &scope();
    for chat_id in &chats[..2] {
        database.set_status(scope, chat_id, ChatStatus::Running, None).await.unwrap();
        let calls = vec![NewProviderCall::default(); 30];
        database.record_calls(scope, chat_id, calls, Billing::Free).await.unwrap();
        let body = MessageBody::new("user", Some("user"), "hello");
        database.append(scope, chat_id, vec![body.into(); 100]).await.unwrap();
        let step = Step::new(StepKind::Llm, StackFrame::root(StackId::parse("stk").unwrap()));
        for number in 0..5 {
            let data: JsonObject = [("n".to_owned(), number.into())].into_iter().collect();
            database.update_context_snapshot(scope, chat_id, data).await.unwrap();
            let new = NewInputRequest {
                request_id: None,
                question: Question::of("Why?"),
                expires_in_sec: None,
            };
            database.request_input(scope, chat_id, new).await.unwrap();
            let name = format!("person-{number}");
            database.join_chat(scope, chat_id, &user(&name), None).await.unwrap();
            let turn = NewTurn {
                request_id: TurnId::parse(format!("turn-{number}")).unwrap(),
                outcome: TurnOutcome::Failed,
                messages: Vec::new(),
                steps: vec![step.clone()],
                connector: None,
                mode: None,
            };
            database.append_turn(scope, chat_id, turn).await.unwrap();
        }
    }
    for owner in ["ann", "bob"] {
        database.ensure_wallet(scope, &user(owner), 1_000).await.unwrap();
        for number in 0..100 {
            let entry_id = EntryId::parse(format!("entry-{number}")).unwrap();
            let debit = NewWalletEntry { entry_id, amount: 1, reason: None };
            database.debit(scope, &user(owner), debit).await.unwrap();
        }
    }
    for app in [&scope.app_id, &other.app_id] {
        database.register_app(&Actor::command_line(), app).await.unwrap();
    }
    chats.swap_remove(0)
}

#[tokio::test]
async fn lists_read_at_most_twice_what_they_return() {
    let database = Database::create().await;
    let chat_id = fill(&database).await;
    let mut costs = chat_lists(&database).await;
    costs.extend(lists_of_a_chat(&database, &chat_id).await);
    costs.extend(other_lists(&database).await);
    for cost in costs {
        let Cost { name, examined, returned } = &cost;
        assert!(!cost.is_too_much(), "{name}: {examined} read, {returned} returned");
    }
}

/// Archives or deletes most chats.
async fn put_most_aside(database: &Database) {
    let page = database.list_chats(&scope(), &ChatFilter::default(), 100, None).await.unwrap();
    for (index, chat) in page.chats.iter().enumerate() {
        let lifecycle = match index % 7 {
            0 => continue,
            1..4 => Lifecycle::Deleted,
            _ => Lifecycle::Archived,
        };
        let change = SessionChange::to_lifecycle(lifecycle);
        database.change_chat(&scope(), &chat.chat_id, change).await.unwrap();
    }
}

#[tokio::test]
async fn lists_by_activity_read_no_chats_of_another_lifecycle() {
    let database = Database::create().await;
    fill(&database).await;
    put_most_aside(&database).await;
    let caller = Caller::User { user_id: user("bob"), team_id: None, may_run: false };
    let person = Scope::new(scope().app_id, caller, Permission::Read);
    let (service, deleted) = (scope(), scope().finding_deleted());
    let all = ChatFilter { order: ChatOrder::Active, ..ChatFilter::default() };
    let of_bob = ChatFilter { user_id: Some(user("bob")), ..all.clone() };
    for (name, scope, filter, lifecycle) in [
        ("active", &service, &all, Some(Lifecycle::Active)),
        ("archived", &service, &all, Some(Lifecycle::Archived)),
        ("deleted", &deleted, &all, Some(Lifecycle::Deleted)),
        ("active and archived", &service, &all, None),
        ("active of a user", &service, &of_bob, Some(Lifecycle::Active)),
        ("active of a person", &person, &all, Some(Lifecycle::Active)),
        ("all of a person", &person, &all, None),
    ] {
        let lifecycles = Vec::from_iter(lifecycle);
        let filter = ChatFilter { lifecycles, ..filter.clone() };
        for limit in [2, 50] {
            let list = database.list_chats(scope, &filter, limit, None);
            let cost = cost(&database, name, async { list.await.unwrap().chats.len() }).await;
            let Cost { examined, returned, .. } = &cost;
            assert!(!cost.is_too_much(), "{name}: {examined} read, {returned} returned");
        }
    }
}

/// Every list of at most two filters that is served, by a service and by a person.
#[tokio::test]
async fn every_served_list_reads_at_most_twice_what_it_returns() {
    let database = Database::create().await;
    fill_with_different_chats(&database).await;
    let service = scope();
    let team_id = TeamId::parse("red").ok();
    let caller = Caller::User { user_id: user("ann"), team_id: team_id.clone(), may_run: false };
    let person = Scope::new(scope().app_id, caller, Permission::Read);
    let middle = database.list_chats(&service, &ChatFilter::default(), 100, None).await.unwrap();
    let middle = Some(middle.chats[50].created_at);
    let source = ChatId::parse("source").unwrap();
    let filters: [&dyn Fn(&mut ChatFilter); 14] = [
        &|_| {},
        &|filter| filter.of_app = true,
        &|filter| filter.workflow_name = WorkflowName::parse("flow-1").ok(),
        &|filter| filter.user_id = Some(user("ann")),
        &|filter| filter.member = Some(user("ann")),
        &|filter| filter.team_id.clone_from(&team_id),
        &|filter| filter.assistant_id = AssistantId::parse("helper").ok(),
        &|filter| filter.needs_input = true,
        &|filter| filter.last_turn_outcome = Some(TurnOutcome::Failed),
        &|filter| filter.forked_from = Some(source.clone()),
        &|filter| filter.statuses = vec![ChatStatus::Paused],
        &|filter| filter.lifecycles = vec![Lifecycle::Archived],
        &|filter| filter.created_before = middle,
        &|filter| filter.active_from = middle,
    ];
    let mut served = 0;
    for order in ChatOrder::ALL {
        for caller in [&service, &person] {
            for (index, first) in filters.iter().enumerate() {
                for second in &filters[index..] {
                    let lifecycles = vec![Lifecycle::Active];
                    let mut filter = ChatFilter { order, lifecycles, ..ChatFilter::default() };
                    first(&mut filter);
                    second(&mut filter);
                    // The forks that a person may see are compared with those of others.
                    if filter.forked_from.is_some() && caller.caller != Caller::Service {
                        continue;
                    }
                    if served % 2 == 0 {
                        filter.direction = Some(Direction::Ascending);
                    }
                    served += usize::from(is_served_well(&database, caller, &filter).await);
                }
            }
        }
    }
    assert!(served > 120, "only {served} lists have chats");
}

#[tokio::test]
async fn a_long_list_is_counted_in_the_index_up_to_a_bound() {
    let database = Database::create().await;
    let new = NewChatSession::of(WorkflowName::parse("flow").unwrap());
    let chat_id = database.create_chat(&scope(), new).await.unwrap().chat_id;
    let change = |number, copy: &mut Document| {
        copy.insert("_id", format!("chat-{number}"));
    };
    let all = ChatFilter::default();
    database.copy_session(&chat_id, 1..10_000, change).await;
    let count = database.count_chats(&scope(), &all).await.unwrap();
    assert_eq!(count, ChatCount::Exactly(10_000));
    database.copy_session(&chat_id, 10_000..10_002, change).await;
    let counting = async {
        let count = database.count_chats(&scope(), &all).await.unwrap();
        assert_eq!(count, ChatCount::AtLeast(10_000));
        1
    };
    assert_eq!(cost(&database, "count", counting).await.examined, 0);
}

/// No list collects the ids of joined chats, so their number has no limit.
#[tokio::test]
async fn any_number_of_joined_chats_is_listed_and_each_page_reads_what_it_returns() {
    let database = Database::create().await;
    let new = NewChatSession::of(WorkflowName::parse("flow").unwrap());
    let chat_id = database.create_chat(&scope(), new).await.unwrap().chat_id;
    let role = MemberRole::Member;
    database.put_member(&scope(), &chat_id, &user("ann"), role).await.unwrap();
    let change = |number, copy: &mut Document| {
        copy.insert("_id", format!("chat-{number}"));
        copy.insert("title_key", format!("title {}", number % 700));
        copy.insert("title", format!("title {}", number % 700));
    };
    database.copy_session(&chat_id, 1..2_500, change).await;
    let caller = Caller::User { user_id: user("ann"), team_id: None, may_run: false };
    let person = Scope::new(scope().app_id, caller, Permission::Read);
    for order in [ChatOrder::Created, ChatOrder::Title] {
        let filter = ChatFilter { member: Some(user("ann")), order, ..ChatFilter::default() };
        let mut found = std::collections::BTreeSet::new();
        let mut after = None;
        loop {
            let list = database.list_chats(&person, &filter, 500, after.as_ref());
            let mut page = None;
            let cost = cost(&database, "joined chats", async {
                let listed = list.await.unwrap();
                let length = listed.chats.len();
                page = Some(listed);
                length
            });
            let cost = cost.await;
            assert!(!cost.is_too_much(), "{} read, {} returned", cost.examined, cost.returned);
            let page = page.unwrap();
            found.extend(page.chats.into_iter().map(|chat| chat.chat_id));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(found.len(), 2_500, "{order:?}");
    }
}

/// The titles of an app have common words. A search for one of them reads few chats that it does not return, and a search for
/// words that do not stand side by side ends after a bounded number of titles.
#[tokio::test]
async fn a_search_in_titles_reads_those_with_the_rarest_trigram_and_no_more_than_a_bound() {
    let database = Database::create().await;
    let title = Some("about a picnic".to_owned());
    let new = NewChatSession { title, ..NewChatSession::of(WorkflowName::parse("flow").unwrap()) };
    let chat_id = database.create_chat(&scope(), new).await.unwrap().chat_id;
    let title = "about a budget";
    let change = |number, copy: &mut Document| {
        copy.insert("_id", format!("a-{number:05}"));
        copy.insert("title", title);
        copy.insert("title_trigrams", Bson::from_iter(title_trigrams(title)));
    };
    database.copy_session(&chat_id, 0..5_000, change).await;
    let search = async |part: &str, after: Option<&ListCursor>| {
        let title_contains = TitlePart::parse(part).ok();
        let filter = ChatFilter { title_contains, ..ChatFilter::default() };
        let page = database.list_chats(&scope(), &filter, 10, after).await.unwrap();
        (page.chats.len(), page.next, database.count_chats(&scope(), &filter).await.unwrap())
    };
    let rare = async {
        let (found, next, count) = search("about a pic", None).await;
        assert_eq!((found, next, count), (1, None, ChatCount::Exactly(1)));
        found
    };
    // One to compare the title, one to return it, one to count it.
    assert_eq!(cost(&database, "a rare part", rare).await.examined, 3);
    let (found, next, count) = search("about", None).await;
    assert_eq!((found, next.is_some(), count), (10, true, ChatCount::Exactly(5_001)));
    let (mut pages, mut after) = (0, None);
    loop {
        let (found, next, _) = search("about about", after.as_ref()).await;
        assert_eq!(found, 0);
        pages += 1;
        after = next;
        if after.is_none() {
            break;
        }
    }
    assert!(pages <= 3, "{pages}");
}

/// A search by activity sorts the few titles with a rare trigram in memory, and goes through all titles for a common one.
#[tokio::test]
async fn a_search_in_titles_by_activity_reads_no_more_than_a_bound() {
    let database = Database::create().await;
    let minute = |number: i64| DateTime::<Utc>::UNIX_EPOCH + TimeDelta::minutes(number);
    let new = NewChatSession::of(WorkflowName::parse("flow").unwrap());
    let chat_id = database.create_chat(&scope(), new).await.unwrap().chat_id;
    let change = |number, copy: &mut Document| {
        let title = if number % 300 == 7 { "about a picnic" } else { "about a budget about" };
        // The newest chats were active first.
        let active = bson::DateTime::from_chrono(minute(10_000 - number));
        copy.insert("_id", format!("a-{number:05}"));
        copy.insert("created_at", bson::DateTime::from_chrono(minute(number)));
        copy.insert("last_message_at", active);
        copy.insert("active_minute", active);
        copy.insert("title", title);
        copy.insert("title_trigrams", Bson::from_iter(title_trigrams(title)));
    };
    database.copy_session(&chat_id, 0..3_000, change).await;
    let search = async |part: &str, direction, limit| {
        let title_contains = TitlePart::parse(part).ok();
        let order = ChatOrder::Active;
        let filter = ChatFilter { title_contains, order, direction, ..ChatFilter::default() };
        let (mut found, mut pages, mut after) = (Vec::new(), 0, None);
        loop {
            let page = database.list_chats(&scope(), &filter, limit, after.as_ref()).await.unwrap();
            found.extend(page.chats.into_iter().map(|chat| chat.chat_id.as_str().to_owned()));
            pages += 1;
            after = page.next;
            if after.is_none() {
                return (found, pages);
            }
        }
    };
    let picnics: Vec<String> = (0..10).map(|number| format!("a-{:05}", number * 300 + 7)).collect();
    let rare = async {
        assert_eq!(search("PICNIC", None, 10).await, (picnics.clone(), 1));
        10
    };
    // Each title to compare it, and each chat to return it.
    assert_eq!(cost(&database, "a rare part", rare).await.examined, 20);
    assert_eq!(search("picnic", None, 3).await, (picnics.clone(), 4));
    let reversed: Vec<String> = picnics.into_iter().rev().collect();
    assert_eq!(search("picnic", Some(Direction::Ascending), 3).await, (reversed, 4));
    let (found, pages) = search("about", None, 100).await;
    assert_eq!((found.len(), pages), (3_000, 30));
    assert!(found.is_sorted());
    let (found, pages) = search("about about", None, 100).await;
    assert_eq!((found.len(), pages), (0, 2));
    // Many titles have the part, and few of their chats are of the time: the others are not read.
    let filter = ChatFilter {
        title_contains: TitlePart::parse("about").ok(),
        active_from: Some(minute(9_996)),
        active_before: Some(minute(10_001)),
        order: ChatOrder::Active,
        ..ChatFilter::default()
    };
    let scope = scope();
    let list = database.list_chats(&scope, &filter, 100, None);
    let listing = async {
        let found = list.await.unwrap().chats.len();
        assert_eq!(found, 5);
        found
    };
    assert_eq!(cost(&database, "of a time", listing).await.examined, 10);
}

/// A search remembers how many titles have a trigram, and finds all of them when there are many more.
#[tokio::test]
async fn a_search_in_titles_finds_all_when_it_remembers_few() {
    let database = Database::create().await;
    let title = Some("about a picnic".to_owned());
    let new = NewChatSession { title, ..NewChatSession::of(WorkflowName::parse("flow").unwrap()) };
    let chat_id = database.create_chat(&scope(), new).await.unwrap().chat_id;
    let search = async |order| {
        let title_contains = TitlePart::parse("picnic").ok();
        let filter = ChatFilter { title_contains, order, ..ChatFilter::default() };
        let (mut found, mut after) = (BTreeSet::new(), None);
        loop {
            let page = database.list_chats(&scope(), &filter, 500, after.as_ref()).await.unwrap();
            found.extend(page.chats.into_iter().map(|chat| chat.chat_id));
            after = page.next;
            if after.is_none() {
                let count = database.count_chats(&scope(), &filter).await.unwrap();
                return (found.len(), count);
            }
        }
    };
    assert_eq!(search(ChatOrder::Active).await, (1, ChatCount::Exactly(1)));
    let change = |number, copy: &mut Document| {
        let active = DateTime::<Utc>::UNIX_EPOCH + TimeDelta::minutes(number * 7 % 2_500);
        copy.insert("_id", format!("a-{number:05}"));
        copy.insert("active_minute", bson::DateTime::from_chrono(active));
    };
    database.copy_session(&chat_id, 0..2_500, change).await;
    for order in [ChatOrder::Active, ChatOrder::Created] {
        assert_eq!(search(order).await, (2_501, ChatCount::Exactly(2_501)), "{order:?}");
    }
}

/// Checks what two pages of a list read; returns whether there were any.
async fn is_served_well(database: &Database, caller: &Scope, filter: &ChatFilter) -> bool {
    let first = match database.list_chats(caller, filter, 3, None).await {
        Ok(page) if page.chats.is_empty() => return false,
        Ok(page) => page,
        Err(StoreError::Invalid(_)) => return false,
        Err(error) => panic!("{error:?}"),
    };
    for after in [None, first.next.as_ref()] {
        let page =
            async { database.list_chats(caller, filter, 3, after).await.unwrap().chats.len() };
        let cost = cost(database, "a list", page).await;
        let Cost { examined, returned, .. } = &cost;
        assert!(!cost.is_too_much(), "{examined} read, {returned} returned: {filter:?}");
    }
    true
}

/// Creates chats of which few match two filters.
async fn fill_with_different_chats(database: &Database) {
    let scope = &scope();
    let new = NewChatSession {
        chat_id: ChatId::parse("source").ok(),
        ..NewChatSession::of(WorkflowName::parse("flow-0").unwrap())
    };
    let source = database.create_chat(scope, new).await.unwrap().chat_id;
    for owner in ["ann", "bob"].repeat(6) {
        let fork = NewFork { user_id: Some(user(owner)), ..NewFork::default() };
        database.fork_chat(scope, &source, fork).await.unwrap();
    }
    for index in 0..120 {
        let new = NewChatSession {
            user_id: Some(user(if index % 4 == 0 { "ann" } else { "bob" })),
            team_id: TeamId::parse(["red", "blue"][index % 2]).ok(),
            assistant_id: (index % 5 == 0).then(|| AssistantId::parse("helper").unwrap()),
            visibility: Visibility::ALL[index % 3 + usize::from(index % 7 == 0)],
            title: (index % 5 > 0).then(|| format!("Title {}", index % 8)),
            sort: i32::try_from(index % 10).unwrap() - 5,
            ..NewChatSession::of(WorkflowName::parse(format!("flow-{}", index % 3)).unwrap())
        };
        let chat_id = &database.create_chat(scope, new).await.unwrap().chat_id;
        if index % 6 == 1 {
            let role = MemberRole::Member;
            database.put_member(scope, chat_id, &user("ann"), role).await.unwrap();
        }
        if index % 3 == 0 {
            let outcome = TurnOutcome::ALL[index % 4 % 3];
            let turn = NewTurn {
                request_id: TurnId::parse("turn").unwrap(),
                outcome,
                messages: vec![TurnMessage {
                    body: MessageBody::new("assistant", None, "so"),
                    author: None,
                }],
                steps: Vec::new(),
                connector: None,
                mode: None,
            };
            database.append_turn(scope, chat_id, turn).await.unwrap();
        }
        if index % 4 == 0 {
            let question = Question::of("Why?");
            let new = NewInputRequest { request_id: None, question, expires_in_sec: None };
            database.request_input(scope, chat_id, new).await.unwrap();
        }
        if index % 5 == 2 {
            database.set_status(scope, chat_id, ChatStatus::Paused, None).await.unwrap();
        }
        let lifecycle = match index % 9 {
            0..5 => continue,
            5 => Lifecycle::Deleted,
            _ => Lifecycle::Archived,
        };
        let change = SessionChange::to_lifecycle(lifecycle);
        database.change_chat(scope, chat_id, change).await.unwrap();
    }
}

async fn chat_lists(database: &Database) -> Vec<Cost> {
    let service = scope();
    let caller = Caller::User { user_id: user("ann"), team_id: None, may_run: false };
    let person = Scope::new(scope().app_id, caller, Permission::Read);
    let none = ChatFilter::default;
    let workflow_name = Some(WorkflowName::parse("flow-0").unwrap());
    let of_app = ChatFilter { of_app: true, ..none() };
    let by_user = ChatFilter { user_id: Some(user("ann")), ..none() };
    let by_workflow = ChatFilter { workflow_name: workflow_name.clone(), ..none() };
    let by_status = ChatFilter { statuses: vec![ChatStatus::Paused], ..none() };
    let by_time = ChatFilter { created_from: Some(DateTime::<Utc>::UNIX_EPOCH), ..none() };
    let by_all =
        ChatFilter { workflow_name, statuses: vec![ChatStatus::Completed], ..by_user.clone() };
    let by_activity = ChatFilter { order: ChatOrder::Active, ..none() };
    let of_user = ChatFilter { order: ChatOrder::Active, ..by_user.clone() };
    let active = ChatFilter { lifecycles: vec![Lifecycle::Active], ..by_activity.clone() };
    let open = ChatFilter { order: ChatOrder::Active, ..of_app.clone() };
    let list = async |scope: &Scope, filter: &ChatFilter, limit: usize| {
        database.list_chats(scope, filter, limit, None).await.unwrap().chats.len()
    };
    let mut costs = Vec::new();
    for (name, scope, filter, limit) in [
        ("chats", &service, &none(), 20),
        ("chats by workflow", &service, &by_workflow, 10),
        ("chats by user", &service, &by_user, 4),
        ("chats by status", &service, &by_status, 10),
        ("chats by time", &service, &by_time, 20),
        ("chats by all filters", &service, &by_all, 1),
        ("chats of a person", &person, &none(), 20),
        ("first chats of a person", &person, &none(), 2),
        ("chats of a person by user", &person, &by_user, 4),
        ("chats of the app", &person, &of_app, 4),
        ("chats by activity", &service, &by_activity, 3),
        ("active chats by activity", &service, &active, 20),
        ("chats of a user by activity", &service, &of_user, 3),
        ("chats of a person by activity", &person, &by_activity, 20),
        ("first chats of a person by activity", &person, &by_activity, 2),
        ("own chats of a person by activity", &person, &of_user, 3),
        ("chats of the app by activity", &person, &open, 3),
    ] {
        costs.push(cost(database, name, list(scope, filter, limit)).await);
        if filter.order == ChatOrder::Active && limit < 4 {
            // All chats were created in a minute or two: the next page continues one.
            let next = database.list_chats(scope, filter, 1, None).await.unwrap().next;
            let page = database.list_chats(scope, filter, limit, next.as_ref());
            costs.push(cost(database, name, async { page.await.unwrap().chats.len() }).await);
        }
    }
    costs
}

async fn lists_of_a_chat(database: &Database, chat_id: &ChatId) -> [Cost; 7] {
    let scope = &scope();
    let calls = database.list_calls(scope, chat_id, 10, None);
    let inputs = database.list_input_requests(scope, chat_id, 3, None);
    let people = database.list_participants(scope, chat_id, 3, None);
    let filter = ResumePointFilter::default();
    let points = database.list_resume_points(scope, chat_id, &filter, 3, None);
    let contexts = database.list_context_versions(scope, chat_id, 3, None);
    let oldest = MessageRange::Oldest { after: None, before: None, limit: 5 };
    let oldest = database.messages(scope, chat_id, oldest);
    let newest = MessageRange::Newest { before: None, limit: 5 };
    let newest = database.messages(scope, chat_id, newest);
    [
        cost(database, "calls", async { calls.await.unwrap().calls.len() }).await,
        cost(database, "inputs", async { inputs.await.unwrap().requests.len() }).await,
        cost(database, "people", async { people.await.unwrap().participants.len() }).await,
        cost(database, "points", async { points.await.unwrap().points.len() }).await,
        cost(database, "contexts", async { contexts.await.unwrap().versions.len() }).await,
        cost(database, "oldest", async { oldest.await.unwrap().messages.len() }).await,
        cost(database, "newest", async { newest.await.unwrap().messages.len() }).await,
    ]
}

async fn other_lists(database: &Database) -> [Cost; 9] {
    let (scope, ann, app_id) = (&scope(), &user("ann"), &scope().app_id);
    let flow = &WorkflowName::parse("flow-0").unwrap();
    let wallets = database.list_wallets(scope, 1, None);
    let entries = database.list_wallet_entries(scope, ann, 50, None);
    let chats = database.list_chat_stats(app_id, flow, 5, None);
    let ever = || DateTime::<Utc>::UNIX_EPOCH..DateTime::<Utc>::MAX_UTC;
    let hours = database.hourly_stats(app_id, None, ever());
    let hours_of_one = database.hourly_stats(app_id, Some(flow), ever());
    let workflow = database.workflow_stats(app_id, flow);
    [
        cost(database, "wallets", async { wallets.await.unwrap().wallets.len() }).await,
        cost(database, "entries", async { entries.await.unwrap().entries.len() }).await,
        cost(database, "chat stats", async { chats.await.unwrap().chats.len() }).await,
        cost(database, "hours", async { hours.await.unwrap().len() }).await,
        cost(database, "hours of one", async { hours_of_one.await.unwrap().len() }).await,
        cost(database, "workflow", async { workflow.await.unwrap().models.len() }).await,
        cost(database, "summaries", async { database.app_stats(app_id).await.unwrap().len() })
            .await,
        cost(database, "apps", async { database.list_apps(1, None).await.unwrap().apps.len() })
            .await,
        cost(database, "apps with stats", async {
            database.list_apps_with_stats(9, None).await.unwrap().apps.len()
        })
        .await,
    ]
}
