//! The index of the search: what is in the database after kills, races, erasures and purges, and what searches read.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bson::{Document, RawDocumentBuf, doc};
use chrono::{DateTime, TimeDelta, Utc};
use futures::TryStreamExt as _;
use persistence::mongo::Interruption;
use persistence::{
    ChatSessions, Erasures, Forks, HitPage, HitPosition, MessageSearch, Messages, Purges, Search,
    StoreError,
};
use records::{
    Actor, Author, Caller, ChatId, Clock as _, MessageBody, MessageEdit, NewChatSession, NewFork,
    NewMessage, Permission, Scope, SearchQuery, SystemClock, UserId, Visibility, WorkflowName,
    search_rank,
};

use super::database::Database;
use super::purges::{holding, scope};

fn search_for(words: &str) -> MessageSearch {
    MessageSearch::of(SearchQuery::parse(words).unwrap())
}

async fn chat_of(database: &Database, owner: &str, visibility: Visibility) -> ChatId {
    let user_id = UserId::parse(owner).ok();
    let workflow_name = WorkflowName::parse("Generator").unwrap();
    let new = NewChatSession { user_id, visibility, ..NewChatSession::of(workflow_name) };
    database.create_chat(&scope(), new).await.unwrap().chat_id
}

fn by(person: &str, text: impl Into<String>) -> NewMessage {
    let user_id = UserId::parse(person).unwrap();
    let author = Some(Author { user_id, display_name: None });
    NewMessage { author, ..MessageBody::new("user", None, text.into()).into() }
}

async fn say(database: &Database, chat_id: &ChatId, texts: impl IntoIterator<Item = String>) {
    let messages = texts.into_iter().map(|text| by("somebody", text)).collect();
    database.append(&scope(), chat_id, messages).await.unwrap();
}

async fn index(database: &Database, chats: &[ChatId]) {
    let mut chats = chats.to_vec();
    while !chats.is_empty() {
        chats = database.index_chats(&chats).await.unwrap();
    }
}

async fn page(database: &Database, words: &str, after: Option<&HitPosition>) -> HitPage {
    database.search_messages(&scope(), &search_for(words), 100, after).await.unwrap()
}

async fn found(database: &Database, words: &str) -> BTreeSet<(ChatId, u64)> {
    let (mut found, mut after) = (BTreeSet::new(), None);
    loop {
        let page = page(database, words, after.as_ref()).await;
        found.extend(page.hits.into_iter().map(|hit| (hit.chat_id, hit.sequence)));
        after = page.next;
        if after.is_none() {
            return found;
        }
    }
}

async fn set(database: &Database, collection: &str, filter: Document, fields: Document) {
    let collection = database.raw.collection::<RawDocumentBuf>(collection);
    let updated = collection.update_many(filter, doc! { "$set": fields }).await.unwrap();
    assert!(updated.matched_count > 0);
}

#[tokio::test]
async fn a_process_that_was_killed_before_it_moved_the_mark_leaves_nothing_double() {
    let database = Database::create().await;
    let chat = chat_of(&database, "bob", Visibility::Private).await;
    say(&database, &chat, (0..300).map(|n| format!("needle {n}"))).await;
    index(&database, std::slice::from_ref(&chat)).await;
    let before = database.all("search_entries").await;
    assert_eq!(before.len(), 300);
    set(&database, "search_marks", doc! {}, doc! { "next_sequence": 7_i64 }).await;
    index(&database, std::slice::from_ref(&chat)).await;
    assert_eq!(database.all("search_entries").await, before);
    assert_eq!(found(&database, "needle").await.len(), 300);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_may_be_killed_at_any_time() {
    let database = Arc::new(Database::create().await);
    let mut chats = Vec::new();
    for _ in 0..4 {
        chats.push(chat_of(&database, "bob", Visibility::Private).await);
    }
    for round in 0..12_u64 {
        for chat in &chats {
            say(&database, chat, (0..8).map(|n| format!("needle {round} {n}"))).await;
            let edit = MessageEdit { content: Some("thread".into()), ..MessageEdit::default() };
            database.update_message(&scope(), chat, round * 8 + 3, edit).await.unwrap();
        }
        let another = Arc::clone(&database);
        let ids = chats.clone();
        let indexing = tokio::spawn(async move { another.index_chats(&ids).await });
        tokio::time::sleep(Duration::from_millis(fastrand::u64(0..12))).await;
        indexing.abort();
    }
    index(&database, &chats).await;
    assert_eq!(found(&database, "needle").await.len(), 4 * 12 * 7);
    assert_eq!(found(&database, "thread").await.len(), 4 * 12);
    assert_eq!(database.all("search_entries").await.len(), 4 * 12 * 8);
}

#[tokio::test]
async fn an_entry_is_never_replaced_by_an_earlier_text() {
    let database = Database::create().await;
    let chat = chat_of(&database, "bob", Visibility::Private).await;
    say(&database, &chat, ["needle".to_owned(), "hay".to_owned()]).await;
    index(&database, std::slice::from_ref(&chat)).await;
    // As another process leaves it that has read the message after a later edit.
    let first = doc! { "_id.sequence": 0_i64 };
    let later = doc! { "words": [], "revision": 5_i64 };
    set(&database, "search_entries", first, later).await;
    set(&database, "search_marks", doc! {}, doc! { "next_sequence": 0_i64 }).await;
    let before = database.all("search_entries").await;
    index(&database, std::slice::from_ref(&chat)).await;
    assert_eq!(database.all("search_entries").await, before);
}

#[tokio::test]
async fn an_erasure_takes_the_words_of_a_person_from_the_index() {
    let database = Database::create_unsealed().await;
    let ada = UserId::parse("ada").unwrap();
    let own = chat_of(&database, "ada", Visibility::App).await;
    let other = chat_of(&database, "bob", Visibility::App).await;
    let mut chats = vec![own.clone(), other.clone()];
    for chat in [&own, &other] {
        let said = (0..60).map(|n| by("ada", format!("xyzzytoken {n}"))).collect();
        database.append(&scope(), chat, said).await.unwrap();
        database.seal(&scope().app_id, chat, Interruption::Never).await.unwrap();
        say(&database, chat, ["plugh".to_owned()]).await;
        let fork = NewFork { user_id: UserId::parse("bob").ok(), ..NewFork::default() };
        chats.push(database.fork_chat(&scope(), chat, fork).await.unwrap().chat_id);
    }
    index(&database, &chats).await;
    assert_eq!(found(&database, "xyzzytoken").await.len(), 240);
    let actor = Actor::command_line();
    let begun = database.begin_erasure(&actor, &scope().app_id, &ada).await.unwrap();
    loop {
        let app_id = &scope().app_id;
        let erasure = database.continue_erasure(app_id, begun.pseudonym, 2).await.unwrap();
        if erasure.unwrap().finished_at.is_some() {
            break;
        }
    }
    // Nothing was indexed meanwhile but by the erasure itself.
    assert_eq!(holding(&database, "xyzzytoken").await, std::collections::BTreeMap::new());
    assert_eq!(found(&database, "xyzzytoken").await, BTreeSet::new());
    assert_eq!(found(&database, "plugh").await.len(), 2, "what others said stays, also in forks");
}

#[tokio::test]
async fn a_purge_leaves_nothing_in_the_index() {
    let database = Database::create().await;
    let chat = chat_of(&database, "bob", Visibility::Private).await;
    say(&database, &chat, (0..50).map(|n| format!("needle {n}"))).await;
    index(&database, std::slice::from_ref(&chat)).await;
    let late = database.all("search_entries").await;
    database.purge_chat(&Actor::command_line(), &scope(), &chat, None).await.unwrap();
    for collection in ["search_entries", "search_marks"] {
        assert!(database.all(collection).await.is_empty(), "{collection}");
    }
    // A rebuild removes what a process has stored after the purge.
    let entries = database.raw.collection::<RawDocumentBuf>("search_entries");
    entries.insert_many(late).await.unwrap();
    database.store.rebuild_search(&scope().app_id, &|_| {}).await.unwrap();
    assert!(database.all("search_entries").await.is_empty());
}

#[tokio::test]
async fn a_rebuild_writes_the_index_anew() {
    let database = Database::create().await;
    let mut chats = Vec::new();
    for n in 0..5 {
        let chat = chat_of(&database, "bob", Visibility::Private).await;
        say(&database, &chat, (0..30).map(|at| format!("needle{} {at}", n % 2))).await;
        chats.push(chat);
    }
    index(&database, &chats).await;
    let before = database.all("search_entries").await;
    set(&database, "search_entries", doc! {}, doc! { "words": ["wrong"] }).await;
    let entries = database.raw.collection::<RawDocumentBuf>("search_entries");
    entries.delete_many(doc! { "_id.sequence": 3_i64 }).await.unwrap();
    let app_id = &scope().app_id;
    assert_eq!(database.store.count_searched_chats(app_id).await.unwrap(), 5);
    database.store.rebuild_search(app_id, &|_| {}).await.unwrap();
    assert_eq!(database.all("search_entries").await, before);
}

#[tokio::test]
async fn a_search_that_looks_at_too_much_says_so_and_goes_on() {
    let database = Database::create().await;
    let chat = chat_of(&database, "bob", Visibility::Private).await;
    say(&database, &chat, ["needle hay".to_owned()]).await;
    for _ in 0..3 {
        say(&database, &chat, (0..900).map(|n| format!("needle {n}"))).await;
    }
    index(&database, std::slice::from_ref(&chat)).await;
    // The index has two frequent words for messages that have one of them now.
    let newer = doc! { "_id.sequence": { "$gt": 100_i64 } };
    set(&database, "search_entries", newer, doc! { "words": ["needle", "hay"] }).await;
    let first = page(&database, "needle hay", None).await;
    assert!(first.is_partial && first.hits.is_empty() && first.next.is_some());
    assert_eq!(found(&database, "needle hay").await, BTreeSet::from([(chat, 0)]));
}

#[tokio::test]
async fn the_oldest_message_with_all_words_is_found_behind_thousands_with_one_of_them() {
    let database = Database::create().await;
    let chat = chat_of(&database, "bob", Visibility::Private).await;
    say(&database, &chat, ["needle hay".to_owned()]).await;
    for _ in 0..5 {
        let texts = (0..900).map(|n| format!("{} {n}", ["needle", "hay"][n % 2]));
        say(&database, &chat, texts).await;
    }
    index(&database, std::slice::from_ref(&chat)).await;
    assert_eq!(found(&database, "needle hay").await, BTreeSet::from([(chat, 0)]));
}

#[tokio::test]
async fn messages_of_one_rank_are_all_found() {
    const SAME: usize = 250;
    let database = Database::create().await;
    let older = chat_of(&database, "bob", Visibility::Private).await;
    say(&database, &older, ["an older needle".to_owned()]).await;
    let source = chat_of(&database, "bob", Visibility::Private).await;
    say(&database, &source, ["needle".to_owned()]).await;
    // Forks have the times of their source, so the ids alone make the difference.
    let rank = |chat_id: &ChatId| search_rank(SystemClock.now(), chat_id, 0) & 0x1f_ffff;
    let ids = || (0..).map(|n| ChatId::parse(format!("chat_{n}")).unwrap());
    let same = rank(&ids().next().unwrap());
    let mut all = vec![older, source.clone()];
    for id in ids().filter(|id| rank(id) == same).take(SAME) {
        let fork = NewFork { chat_id: Some(id.clone()), ..NewFork::default() };
        database.fork_chat(&scope(), &source, fork).await.unwrap();
        all.push(id);
    }
    index(&database, &all).await;
    let expected = all.into_iter().map(|chat_id| (chat_id, 0)).collect();
    assert_eq!(found(&database, "needle").await, expected);
}

#[tokio::test]
async fn a_person_finds_their_messages_among_those_of_many_others() {
    let database = Database::create().await;
    let own = chat_of(&database, "ada", Visibility::Private).await;
    say(&database, &own, ["the needle of ada".to_owned()]).await;
    let other = chat_of(&database, "bob", Visibility::Private).await;
    for _ in 0..3 {
        say(&database, &other, (0..900).map(|n| format!("needle {n}"))).await;
    }
    index(&database, &[own.clone(), other]).await;
    let user_id = UserId::parse("ada").unwrap();
    let ada = Caller::User { user_id, team_id: None, may_run: false };
    let ada = Scope::new(scope().app_id, ada, Permission::Read);
    let found = database.search_messages(&ada, &search_for("needle"), 10, None).await.unwrap();
    let places = found.hits.iter().map(|hit| &hit.chat_id).collect::<Vec<_>>();
    assert_eq!((places, found.is_partial), (vec![&own], false));
}

#[tokio::test]
async fn a_page_of_a_frequent_word_reads_little() {
    let database = Database::create().await;
    let chat = chat_of(&database, "bob", Visibility::Private).await;
    for _ in 0..5 {
        let texts = (0..900).map(|n| format!("needle needles{} {n}", n % 7));
        say(&database, &chat, texts).await;
    }
    index(&database, std::slice::from_ref(&chat)).await;
    for words in ["needle", "needles*", "needle needles3", "needle nee*", "needle 17"] {
        database.raw.run_command(doc! { "profile": 2 }).await.unwrap();
        let search = search_for(words);
        let page = database.search_messages(&scope(), &search, 5, None).await.unwrap();
        database.raw.run_command(doc! { "profile": 0 }).await.unwrap();
        assert_eq!(page.hits.len(), 5, "{words}");
        let profile = database.raw.collection::<RawDocumentBuf>("system.profile");
        let of_entries = doc! { "ns": format!("{}.search_entries", database.raw.name()) };
        let operations = profile.find(of_entries).await.unwrap();
        let operations: Vec<RawDocumentBuf> = operations.try_collect().await.unwrap();
        profile.drop().await.unwrap();
        let mut keys = 0;
        for operation in &operations {
            assert!(operation.get("hasSortStage").unwrap().is_none(), "{words}: {operation:?}");
            keys += operation.get_i32("keysExamined").unwrap();
        }
        // Counts of up to 1,000 entries of each word, and a page of entries.
        assert!(!operations.is_empty() && keys < 3_000, "{words}: {keys} keys");
    }
}

/// What is behind, after an upgrade for example, may take much longer to index than a call may take.
#[tokio::test]
async fn more_than_a_call_can_index_is_indexed_in_several_calls() {
    const CHATS: usize = 24;
    const MESSAGES: usize = 1_000;
    let database =
        Database::create_with(|options| options.deadline = Duration::from_millis(1_200)).await;
    for chat in 0..CHATS {
        let chat_id = chat_of(&database, "somebody", Visibility::App).await;
        for part in 0..MESSAGES / 200 {
            let number = |it: usize| chat * MESSAGES + part * 200 + it;
            let texts = (0..200).map(|it| format!("all of the words in number{}", number(it)));
            say(&database, &chat_id, texts).await;
        }
    }
    let (app_id, mut after) = (scope().app_id, None);
    // On a slow machine even one chat may take longer; what it has indexed stays, so a service calls again.
    for _ in 0..1_000 {
        match database.catch_up_index(&app_id, after.as_ref(), 128).await {
            Ok(None) => break,
            Ok(further) => after = further,
            Err(StoreError::OutcomeUnknown { .. } | StoreError::Unavailable { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
    for number in [0, CHATS * MESSAGES / 2, CHATS * MESSAGES - 1] {
        assert_eq!(found(&database, &format!("number{number}")).await.len(), 1, "{number}");
    }
}

#[tokio::test]
async fn one_process_at_a_time_leads_the_index() {
    let database = Database::create().await;
    let lead =
        async |process: &str, indexed_to| database.lead_index(process, indexed_to).await.unwrap();
    assert!(lead("one", None).await);
    assert!(!lead("two", Some(SystemClock.now())).await);
    assert!(lead("one", None).await, "it stays the leader");
    let leads_until = |time: DateTime<Utc>| {
        let time = bson::DateTime::from_chrono(time);
        let progress = database.raw.collection::<RawDocumentBuf>("search_progress");
        let set = doc! { "$set": { "leads_until": time } };
        async move { progress.update_one(doc! { "_id": "*" }, set).await.unwrap() }
    };
    leads_until(SystemClock.now() - TimeDelta::seconds(1)).await;
    let indexed_to = DateTime::from_timestamp_millis(1_759_399_204_000).unwrap();
    assert!(lead("two", Some(indexed_to)).await, "the lease of the other one is over");
    assert!(!lead("one", Some(SystemClock.now())).await);
    // What another app is told comes from the leader alone; and what the leader knows never goes back.
    assert!(lead("two", Some(indexed_to - TimeDelta::minutes(1))).await);
    let page = database.search_messages(&scope(), &search_for("word"), 1, None).await.unwrap();
    assert_eq!(page.indexed_to, Some(indexed_to));
}
