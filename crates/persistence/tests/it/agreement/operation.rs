use std::fmt::Debug;
use std::ops::Range;

use chrono::{DateTime, Utc};
use futures::TryStreamExt as _;
use persistence::{
    Billing, ChatFilter, HourlyUsage, MessageRange, Page, ResumePointFilter, Store, StoreError,
    UsageBy, UsageFilter, UsageOrder, UserUsage,
};
use records::{
    Actor, AppId, CallId, Caller, ChatId, ChatStatus, DisplayName, Erasure, Ids as _, JsonObject,
    MemberRole, MessageEdit, NewArtifact, NewChatSession, NewFork, NewMessage, NewProviderCall,
    Permission, Scope, SessionChange, Subject, Usage, UserId, Uuid7Ids, WorkflowName,
};

use super::apps::AppCall;
use super::input_requests::InputCall;
use super::leases::LeaseCall;
use super::tool_runs::ToolRunCall;
use super::turns::TurnCall;
use super::wallets::WalletCall;

/// A call, its caller and its chat.
#[derive(Debug, Clone)]
pub(crate) struct Operation {
    pub(crate) app: usize,
    pub(crate) caller: Caller,
    pub(crate) permission: Permission,
    pub(crate) fencing_token: Option<u64>,
    pub(crate) finds_deleted: bool,
    pub(crate) chat: usize,
    pub(crate) call: Call,
}

/// A store call with its arguments.
#[derive(Debug, Clone)]
pub(crate) enum Call {
    /// Creates the chat of the operation.
    Create(NewChatSession),
    /// Creates another chat with a minted id.
    CreateAnother(NewChatSession),
    /// Forks the chat into another numbered chat.
    Fork(usize, NewFork),
    Get,
    List {
        filter: ChatFilter,
        limit: usize,
    },
    SetStatus(ChatStatus, Option<String>),
    Change(SessionChange),
    Purge,
    Erase(UserId),
    Append(Vec<NewMessage>),
    PersistInitial(Vec<NewMessage>),
    Messages(MessageRange),
    History,
    GetMessage(u64),
    UpdateMessage(u64, MessageEdit),
    DeleteMessage(u64),
    ReplaceContext(JsonObject),
    MergeContext(JsonObject),
    LoadContext,
    ContextVersions,
    ContextVersion(u64),
    UpdateArtifact(NewArtifact),
    GetArtifact,
    ClearArtifact,
    RecordCalls(Vec<NewProviderCall>),
    Exchange(Vec<NewMessage>, NewProviderCall),
    Uncall(CallId),
    ListCalls,
    ChatUsage,
    PutMember(UserId, MemberRole),
    RemoveMember(UserId),
    ListMembers,
    Join(UserId, Option<DisplayName>),
    Leave(UserId),
    ListParticipants,
    Stats(WorkflowName),
    Input(InputCall),
    Lease(LeaseCall),
    ToolRuns(ToolRunCall),
    Turn(TurnCall),
    Wallet(UserId, WalletCall),
    App(AppCall),
}

/// The apps and chats that the numbers of an [`Operation`] select.
#[derive(Debug)]
pub(crate) struct Playground {
    apps: [AppId; 2],
    chats: [ChatId; 3],
}

impl Playground {
    pub(crate) fn new() -> Self {
        Self {
            apps: [(); 2].map(|()| AppId::parse(Uuid7Ids.mint("app_")).unwrap()),
            chats: [(); 3].map(|()| ChatId::mint(&Uuid7Ids)),
        }
    }

    /// Returns the operations that read everything.
    pub(crate) fn read_everything(&self) -> Vec<Operation> {
        let [one, other] = workflows();
        let of_a_chat = [
            Call::Get,
            Call::History,
            Call::LoadContext,
            Call::ContextVersions,
            Call::GetArtifact,
            Call::ListCalls,
            Call::ChatUsage,
            Call::ToolRuns(ToolRunCall::List),
            Call::Input(InputCall::List),
            Call::ListMembers,
            Call::ListParticipants,
            Call::Turn(TurnCall::List(ResumePointFilter::default(), 100, None)),
        ];
        let of_an_app = [
            Call::List { filter: ChatFilter::default(), limit: 10 },
            Call::Stats(one),
            Call::Stats(other),
            Call::App(AppCall::List { limit: 10 }),
        ];
        let of_wallets = users().into_iter().flat_map(|user_id| {
            WalletCall::read_everything().map(|call| Call::Wallet(user_id.clone(), call))
        });
        let of_an_app: Vec<Call> = of_an_app.into_iter().chain(of_wallets).collect();
        let looking = |app, chat, call: &Call| Operation {
            app,
            caller: Caller::Service,
            permission: Permission::Read,
            fencing_token: None,
            finds_deleted: true,
            chat,
            call: call.clone(),
        };
        let mut operations = Vec::new();
        for app in 0..self.apps.len() {
            operations.extend(of_an_app.iter().map(|call| looking(app, 0, call)));
            for chat in 0..self.chats.len() {
                operations.extend(of_a_chat.iter().map(|call| looking(app, chat, call)));
            }
        }
        operations
    }
}

impl Operation {
    /// Calls of the first chat are billed.
    fn billing(&self) -> Billing {
        if self.chat == 0 { Billing::Wallet } else { Billing::Free }
    }

    /// Makes the call, and returns the debug text of the answer.
    pub(crate) async fn execute(&self, playground: &Playground, store: &dyn Store) -> String {
        let scope = &Scope {
            caller: self.caller.clone(),
            permission: self.permission,
            fencing_token: self.fencing_token,
            finds_deleted: self.finds_deleted,
            ..Scope::service(playground.apps[self.app].clone())
        };
        let chat = &playground.chats[self.chat];
        match self.call.clone() {
            Call::Create(new) => {
                let chat_id = Some(chat.clone());
                let new = NewChatSession { chat_id, ..new };
                print(store.create_chat(scope, new).await)
            }
            Call::CreateAnother(new) => print(store.create_chat(scope, new).await),
            Call::Fork(into, fork) => {
                let fork = NewFork { chat_id: Some(playground.chats[into].clone()), ..fork };
                print(store.fork_chat(scope, chat, fork).await)
            }
            Call::Get => print(store.get_chat(scope, chat).await),
            Call::List { filter, limit } => print(list(store, scope, &filter, limit).await),
            Call::SetStatus(next, reason) => {
                print(store.set_status(scope, chat, next, reason.as_deref()).await)
            }
            Call::Change(change) => print(store.change_chat(scope, chat, change).await),
            Call::Purge => print(store.purge_chat(&Actor::command_line(), scope, chat, None).await),
            Call::Erase(user_id) => print(erase(store, &scope.app_id, &user_id).await),
            Call::Append(messages) => print(store.append(scope, chat, messages).await),
            Call::PersistInitial(messages) => {
                print(store.persist_initial_messages(scope, chat, messages).await)
            }
            Call::Messages(range) => print(store.messages(scope, chat, range).await),
            Call::History => print(store.history(scope, chat).try_collect::<Vec<_>>().await),
            Call::GetMessage(sequence) => print(store.get_message(scope, chat, sequence).await),
            Call::UpdateMessage(sequence, edit) => {
                print(store.update_message(scope, chat, sequence, edit).await)
            }
            Call::DeleteMessage(sequence) => {
                print(store.delete_message(scope, chat, sequence).await)
            }
            Call::ReplaceContext(data) => {
                print(store.update_context_snapshot(scope, chat, data).await)
            }
            Call::MergeContext(patch) => {
                print(store.merge_context_snapshot(scope, chat, patch).await)
            }
            Call::LoadContext => print(store.load_context_snapshot(scope, chat).await),
            Call::ContextVersions => {
                let first = store.list_context_versions(scope, chat, 3, None).await;
                let next = first.as_ref().ok().and_then(|page| page.next);
                print((first, store.list_context_versions(scope, chat, 100, next).await))
            }
            Call::ContextVersion(version) => {
                print(store.get_context_version(scope, chat, version).await)
            }
            Call::UpdateArtifact(artifact) => {
                print(store.update_last_artifact(scope, chat, artifact).await)
            }
            Call::GetArtifact => print(store.get_last_artifact(scope, chat).await),
            Call::ClearArtifact => print(store.clear_last_artifact(scope, chat).await),
            Call::RecordCalls(calls) => {
                print(store.record_calls(scope, chat, calls, self.billing()).await)
            }
            Call::Exchange(messages, call) => {
                print(store.append_exchange(scope, chat, messages, call, self.billing()).await)
            }
            Call::Uncall(call_id) => print(store.delete_call(scope, chat, &call_id).await),
            Call::ListCalls => print(store.list_calls(scope, chat, 100, None).await),
            Call::ChatUsage => print(store.chat_usage(scope, chat).await),
            Call::PutMember(user_id, role) => {
                print(store.put_member(scope, chat, &user_id, role).await)
            }
            Call::RemoveMember(user_id) => print(store.remove_member(scope, chat, &user_id).await),
            Call::ListMembers => print(store.list_members(scope, chat).await),
            Call::Join(user_id, name) => {
                print(store.join_chat(scope, chat, &user_id, name.as_ref()).await)
            }
            Call::Leave(user_id) => print(store.leave_chat(scope, chat, &user_id).await),
            Call::ListParticipants => print(store.list_participants(scope, chat, 100, None).await),
            Call::Stats(workflow_name) => {
                let (app_id, ever) =
                    (&scope.app_id, DateTime::UNIX_EPOCH..DateTime::<Utc>::MAX_UTC);
                print((
                    store.workflow_stats(app_id, &workflow_name).await,
                    store.list_chat_stats(app_id, &workflow_name, 100, None).await,
                    store.app_stats(app_id).await,
                    store.hourly_stats(app_id, None, ever.clone()).await,
                    shares_of(store, app_id, &ever).await,
                    users_of(store, app_id, ever).await,
                ))
            }
            Call::Input(call) => call.execute(store, scope, chat).await,
            Call::Lease(call) => call.execute(store, &playground.apps, scope, chat).await,
            Call::ToolRuns(call) => call.execute(store, scope, chat).await,
            Call::Turn(call) => call.execute(store, scope, chat).await,
            Call::Wallet(user_id, call) => call.execute(store, scope, &user_id).await,
            Call::App(call) => call.execute(store, &scope.app_id).await,
        }
    }
}

/// Returns the usage of all agents and models, and that of all users, too, by hour. The order of equals differs between
/// stores.
async fn shares_of(
    store: &dyn Store,
    app_id: &AppId,
    range: &Range<DateTime<Utc>>,
) -> Result<(Vec<(Subject, Usage)>, Vec<HourlyUsage>), StoreError> {
    let mut shares = Vec::new();
    for by in [UsageBy::Agent, UsageBy::Model] {
        for range in [None, Some(range.clone())] {
            let filter = UsageFilter { range, ..UsageFilter::default() };
            shares.extend(store.usage_by(app_id, by, &filter, 1_000).await?.shares);
        }
    }
    shares.sort_by(|(one, _), (other, _)| one.cmp(other));
    let subjects = shares.iter().map(|(subject, _)| subject.clone());
    let subjects: Vec<_> = subjects.chain(users().map(Subject::User)).collect();
    let hours = store.hourly_usage(app_id, &subjects, range.clone()).await?;
    Ok((shares, hours))
}

/// Lists the usage of all users. The pseudonyms of erased persons differ between stores, so these are listed without names.
async fn users_of(
    store: &dyn Store,
    app_id: &AppId,
    range: Range<DateTime<Utc>>,
) -> Result<String, StoreError> {
    let mut listed = Vec::new();
    for range in [None, Some(range.clone())] {
        let filter = UsageFilter { range, order: UsageOrder::Tokens };
        let mut after = None;
        loop {
            let page = store.list_user_stats(app_id, &filter, 2, after.as_ref()).await?;
            listed.push(page.users);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
    }
    let is_erased = |user: &UserUsage| user.user_id.as_str().starts_with(Erasure::PREFIX);
    let (erased, others): (Vec<_>, Vec<_>) = listed.into_iter().flatten().partition(is_erased);
    let mut erased: Vec<_> = erased.iter().map(|user| format!("{:?}", user.usage)).collect();
    erased.sort();
    let mut of_each = Vec::new();
    for user_id in users() {
        let hours = store.hourly_user_stats(app_id, &user_id, range.clone()).await?;
        of_each.push((store.user_stats(app_id, &user_id).await?, hours));
    }
    Ok(format!("{others:?} {erased:?} {of_each:?}"))
}

/// Lists all pages.
async fn list(
    store: &dyn Store,
    scope: &Scope,
    filter: &ChatFilter,
    limit: usize,
) -> Result<Vec<Page>, StoreError> {
    const ENDLESS: usize = 1_000;
    let mut pages: Vec<Page> = Vec::new();
    while store.index_metadata(100).await? > 0 {}
    while pages.len() < ENDLESS {
        let after = pages.last().and_then(|page| page.next.as_ref());
        let page = store.list_chats(scope, filter, limit, after).await?;
        let is_last = page.next.is_none();
        pages.push(page);
        if is_last {
            return Ok(pages);
        }
    }
    panic!("the pages do not end");
}

/// The workflows of the chats.
pub(crate) fn workflows() -> [WorkflowName; 2] {
    ["a", "a_b"].map(|name| WorkflowName::parse(name).unwrap())
}

/// The users of the chats and wallets.
pub(crate) fn users() -> [UserId; 2] {
    ["ada", "bob"].map(|name| UserId::parse(name).unwrap())
}

/// Erases a person, and returns the chats that were left. What else a receipt says depends on the steps of a store.
async fn erase(
    store: &dyn Store,
    app_id: &AppId,
    user_id: &UserId,
) -> Result<Vec<ChatId>, StoreError> {
    let begun = store.begin_erasure(&Actor::command_line(), app_id, user_id).await?;
    loop {
        let erasure = store.continue_erasure(app_id, begun.pseudonym, 2).await?;
        if let Some(Erasure { held, finished_at: Some(_), .. }) = erasure {
            return Ok(held);
        }
    }
}

/// Returns the debug text of an answer. Each store has pseudonyms of its own for erased persons.
pub(crate) fn print(answer: impl Debug) -> String {
    let text = format!("{answer:?}");
    let mut parts = text.split(Erasure::PREFIX);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |told, part| {
        let digits = part.bytes().take_while(u8::is_ascii_hexdigit).count();
        told + Erasure::PREFIX + &part[digits..]
    })
}
