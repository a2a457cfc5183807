//! The audit log.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use records::{
    Actor, ActorRole, AppId, AppStatus, AuditAction, AuditEntry, Bearer, CallId, Caller, ChatId,
    ChatStatus, FieldChange, Lease, MemberRole, Network, NewAccessKey, NewChatSession, NewLease,
    NewProviderCall, NewRevocation, Origin, Owner, Permission, RevocationKey, RevocationTarget,
    Scope, SettingsChange, UserId, Visibility,
};

use super::access_keys;
use super::fixture::{TestChat, new_chat, race, some_scope};
use persistence::{AuditFilter, Billing, Store};

fn user(id: &str) -> UserId {
    UserId::parse(id).unwrap()
}

fn origin() -> Origin {
    Origin {
        network: Some(Network::containing("192.0.2.7".parse().unwrap())),
        request_id: "req_0198d4b2c0de7000800000000000abcd".parse().ok(),
    }
}

fn operator(id: &str) -> Actor {
    Actor { role: ActorRole::Operator, person: Some(user(id)), origin: origin() }
}

fn support(chat: &TestChat, permission: Permission) -> TestChat {
    let caller = Caller::Support { user_id: user("sue") };
    let scope = Scope::new(chat.scope.app_id.clone(), caller, permission);
    chat.seen_from(Scope { origin: Some(Arc::new(origin())), ..scope })
}

/// Creates a chat of alice, as seen by alice who manages it.
async fn chat_of_alice(store: &Arc<dyn Store>) -> TestChat {
    let new = NewChatSession {
        user_id: Some(user("alice")),
        visibility: Visibility::Private,
        ..new_chat()
    };
    let chat = TestChat::create_from(store, new).await.seen_by("alice", None);
    let scope =
        Scope { origin: Some(Arc::new(origin())), ..chat.scope.needing(Permission::Manage) };
    chat.seen_from(scope)
}

/// Returns the entries of an app, oldest first.
async fn entries(store: &Arc<dyn Store>, app_id: &AppId) -> Vec<AuditEntry> {
    let filter = AuditFilter { app_id: Some(app_id.clone()), ..AuditFilter::default() };
    let page = store.list_audit_entries(&filter, 1_000, None).await.unwrap();
    page.entries.into_iter().rev().collect()
}

/// Returns the entry that has been written since, if there is one and no other.
async fn only_new_entry(store: &Arc<dyn Store>, before: &mut Vec<AuditEntry>) -> AuditEntry {
    let page = store.list_audit_entries(&AuditFilter::default(), 1_000, None).await.unwrap();
    let new: Vec<_> = page.entries.iter().filter(|entry| !before.contains(entry)).collect();
    assert_eq!(new.len(), 1, "{new:?}");
    let entry = new[0].clone();
    *before = page.entries;
    entry
}

async fn record_call(chat: &TestChat, call_id: &str) -> CallId {
    let call_id = CallId::parse(call_id).unwrap();
    let call = NewProviderCall { call_id: Some(call_id.clone()), ..NewProviderCall::default() };
    let service = Scope::service(chat.scope.app_id.clone());
    chat.store.record_calls(&service, &chat.id, vec![call], Billing::Free).await.unwrap();
    call_id
}

async fn acquire_lease(chat: &TestChat) -> Lease {
    let lease = NewLease {
        lease_id: None,
        owner: Owner::parse("worker").unwrap(),
        ttl: std::time::Duration::from_mins(1),
    };
    let service = Scope::service(chat.scope.app_id.clone());
    chat.store.acquire_lease(&service, &chat.id, lease).await.unwrap().record
}

/// An action on a chat of alice.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Managing {
    AddMember,
    ChangeRole,
    RemoveMember,
    RemoveParticipant,
    RevokeLease,
    Complete,
    Reopen,
    Fail,
    DeleteCall,
}

impl Managing {
    /// All actions, in an order in which each can be made.
    const ALL: [(Self, AuditAction); 9] = [
        (Self::AddMember, AuditAction::PutMember),
        (Self::ChangeRole, AuditAction::PutMember),
        (Self::RemoveMember, AuditAction::RemoveMember),
        (Self::RemoveParticipant, AuditAction::RemoveParticipant),
        (Self::RevokeLease, AuditAction::RevokeLease),
        (Self::Complete, AuditAction::CompleteChat),
        (Self::Reopen, AuditAction::ReopenChat),
        (Self::Fail, AuditAction::FailChat),
        (Self::DeleteCall, AuditAction::DeleteCall),
    ];

    /// Makes what the action needs.
    async fn prepare(self, chat: &TestChat) {
        match self {
            Self::RemoveParticipant => {
                let service = Scope::service(chat.scope.app_id.clone());
                chat.seen_from(service).join("bob").await.unwrap();
            }
            Self::RevokeLease => drop(acquire_lease(chat).await),
            Self::DeleteCall => drop(record_call(chat, "call_1").await),
            _ => {}
        }
    }

    async fn make(self, chat: &TestChat) -> Result<(), persistence::StoreError> {
        let set = async |status| chat.set_status(status, None).await.map(drop);
        match self {
            Self::AddMember => chat.put_member("bob", MemberRole::Member).await.map(drop),
            Self::ChangeRole => chat.put_member("bob", MemberRole::Reader).await.map(drop),
            Self::RemoveMember => chat.remove_member("bob").await,
            Self::RemoveParticipant => chat.leave("bob").await,
            Self::RevokeLease => {
                let service = chat.seen_from(Scope::service(chat.scope.app_id.clone()));
                let seen = service.store.get_chat(&service.scope, &chat.id).await.unwrap();
                let lease = seen.and_then(|seen| seen.lease);
                let acquired_at =
                    lease.map_or(DateTime::<Utc>::UNIX_EPOCH, |lease| lease.acquired_at);
                chat.store.revoke_lease(&chat.scope, &chat.id, acquired_at).await
            }
            Self::Complete => set(ChatStatus::Completed).await,
            Self::Reopen => set(ChatStatus::Running).await,
            Self::Fail => set(ChatStatus::Failed).await,
            Self::DeleteCall => {
                let call_id = CallId::parse("call_1").unwrap();
                chat.store.delete_call(&chat.scope, &chat.id, &call_id).await
            }
        }
    }
}

pub async fn every_change_by_a_manager_writes_one_entry(store: Arc<dyn Store>) {
    let chat = chat_of_alice(&store).await;
    let app_id = &chat.scope.app_id;
    for (managing, action) in Managing::ALL {
        managing.prepare(&chat).await;
        let before = entries(&store, app_id).await;
        managing.make(&chat).await.unwrap();
        let after = entries(&store, app_id).await;
        assert_eq!(after.len(), before.len() + 1, "{managing:?}");
        let entry = after.iter().find(|entry| !before.contains(entry)).unwrap();
        let found = (entry.action, entry.role, entry.chat_id.as_ref(), entry.app_id.as_ref());
        assert_eq!(found, (action, ActorRole::User, Some(&chat.id), Some(app_id)), "{managing:?}");
        let alice = store.get_pseudonym(Some(app_id), &user("alice")).await.unwrap();
        assert!(alice.is_some() && entry.actor == alice, "{managing:?}");
        let concerns_bob = matches!(
            action,
            AuditAction::PutMember | AuditAction::RemoveMember | AuditAction::RemoveParticipant
        );
        let bob = store.get_pseudonym(Some(app_id), &user("bob")).await.unwrap();
        assert_eq!(entry.subject, bob.filter(|_| concerns_bob), "{managing:?}");
        let Origin { network, request_id } = origin();
        assert_eq!((&entry.network, &entry.request_id), (&network, &request_id), "{managing:?}");
    }
}

pub async fn an_action_that_changes_nothing_writes_no_entry(store: Arc<dyn Store>) {
    let chat = chat_of_alice(&store).await;
    let app_id = &chat.scope.app_id;
    for (managing, _) in Managing::ALL {
        managing.prepare(&chat).await;
        managing.make(&chat).await.unwrap();
        let before = entries(&store, app_id).await;
        managing.make(&chat).await.unwrap();
        assert_eq!(entries(&store, app_id).await, before, "{managing:?}");
    }
    // Leaving is no action of a manager, and a run may be paused and continued without one.
    let before = entries(&store, app_id).await;
    let service = chat.seen_from(Scope::service(app_id.clone()));
    service.set_status(ChatStatus::Running, None).await.unwrap();
    service.join("bob").await.unwrap();
    chat.seen_by("bob", None).leave("bob").await.unwrap();
    for status in [ChatStatus::Paused, ChatStatus::Running] {
        service.set_status(status, None).await.unwrap();
    }
    // The chat was failed, so continuing it reopened it, once.
    assert_eq!(entries(&store, app_id).await.len(), before.len() + 1);
}

pub async fn a_refused_action_writes_no_entry(store: Arc<dyn Store>) {
    let chat = chat_of_alice(&store).await;
    let app_id = &chat.scope.app_id;
    let token = acquire_lease(&chat).await.fencing_token;
    let fenced = chat.seen_from(chat.scope.clone().fenced(token + 1));
    let stranger = chat.seen_by("mallory", None).needing(Permission::Manage);
    let unknown = TestChat { id: TestChat::unknown(&store).id, ..chat.clone() };
    for (managing, _) in Managing::ALL {
        for refused in [&stranger, &unknown] {
            managing.make(refused).await.unwrap_err();
        }
        // Reopening a running chat changes nothing, and the other two are done without a lease.
        let unfenced = [Managing::Reopen, Managing::RemoveParticipant, Managing::RevokeLease];
        if !unfenced.contains(&managing) {
            managing.make(&fenced).await.unwrap_err();
        }
    }
    assert_eq!(entries(&store, app_id).await, []);
    // An action on an app that is not registered is refused, too.
    let disabling = store.set_app_status(&operator("olga"), app_id, AppStatus::Disabled).await;
    disabling.unwrap_err();
    store.update_app(&operator("olga"), app_id, users_may_run()).await.unwrap_err();
    assert_eq!(entries(&store, app_id).await, []);
}

fn users_may_run() -> SettingsChange {
    SettingsChange { users_may_run: FieldChange::Set(true), ..SettingsChange::default() }
}

pub async fn every_change_of_the_registry_writes_one_entry(store: Arc<dyn Store>) {
    let app_id = some_scope().app_id;
    let actor = operator("olga");
    let mut expected = vec![];
    for (action, status) in [
        (AuditAction::RegisterApp, None),
        (AuditAction::DisableApp, Some(AppStatus::Disabled)),
        (AuditAction::EnableApp, Some(AppStatus::Enabled)),
        (AuditAction::UpdateApp, None),
    ] {
        // The second call changes nothing.
        for _ in 0..2 {
            match status {
                None if action == AuditAction::UpdateApp => {
                    store.update_app(&actor, &app_id, users_may_run()).await.unwrap()
                }
                None => store.register_app(&actor, &app_id).await.unwrap(),
                Some(status) => store.set_app_status(&actor, &app_id, status).await.unwrap(),
            };
        }
        expected.push(action);
        let entries = entries(&store, &app_id).await;
        let mut actions: Vec<_> = entries.iter().map(|entry| entry.action).collect();
        actions.sort_by_key(|action| expected.iter().position(|it| it == action));
        assert_eq!(actions, expected);
        let olga = store.get_pseudonym(Some(&app_id), &user("olga")).await.unwrap();
        for entry in &entries {
            assert_eq!((entry.role, entry.actor), (ActorRole::Operator, olga));
            assert_eq!((&entry.chat_id, entry.subject), (&None, None));
        }
    }
}

pub async fn every_change_of_an_access_key_writes_one_entry(store: Arc<dyn Store>) {
    let (olga, app_id) = (operator("olga"), some_scope().app_id);
    let bearer = Bearer::User { user_id: user("alice"), team_id: None };
    let of_one_app = Some(vec![app_id.clone()]);
    let of_two_apps = Some(vec![app_id.clone(), some_scope().app_id]);
    let mut known = vec![];
    for (bearer, apps) in
        [(bearer.clone(), of_one_app), (bearer, of_two_apps), (Bearer::Service, None)]
    {
        let is_of_one_app = apps.as_ref().is_some_and(|apps| apps.len() == 1);
        let named = Some(&app_id).filter(|_| is_of_one_app);
        let person = bearer.person().cloned();
        let new = NewAccessKey { apps, ..access_keys::key(bearer) };
        // The second call changes nothing.
        for _ in 0..2 {
            store.create_access_key(Some(&olga), new.clone()).await.unwrap();
        }
        let created = only_new_entry(&store, &mut known).await;
        for _ in 0..2 {
            store.revoke_access_key(Some(&olga), &new.secret.id()).await.unwrap().unwrap();
        }
        let revoked = only_new_entry(&store, &mut known).await;
        let subject = match person {
            Some(person) => store.get_pseudonym(named, &person).await.unwrap(),
            None => None,
        };
        assert_eq!(subject.is_some(), created.subject.is_some());
        for (entry, action) in
            [(created, AuditAction::CreateKey), (revoked, AuditAction::RevokeKey)]
        {
            assert_eq!((entry.action, entry.role), (action, ActorRole::Operator));
            assert_eq!((entry.app_id.as_ref(), entry.subject), (named, subject));
            assert_eq!(entry.actor, store.get_pseudonym(named, &user("olga")).await.unwrap());
            assert_eq!(entry.network, origin().network);
        }
    }
    // A person who signs in and out does not act on others, and an unknown key is not revoked.
    let session = access_keys::key(Bearer::Service);
    store.create_access_key(None, session.clone()).await.unwrap();
    store.revoke_access_key(None, &session.secret.id()).await.unwrap().unwrap();
    let unknown = access_keys::key(Bearer::Service).secret.id();
    assert_eq!(store.revoke_access_key(Some(&olga), &unknown).await.unwrap(), None);
    let page = store.list_audit_entries(&AuditFilter::default(), 1_000, None).await.unwrap();
    assert_eq!(page.entries.len(), known.len());
}

pub async fn every_change_of_a_revocation_writes_one_entry(store: Arc<dyn Store>) {
    let (olga, app_id) = (operator("olga"), some_scope().app_id);
    let token = records::TokenId::parse("4f1c9d").unwrap();
    let mut known = vec![];
    for (target, app_id) in [
        (RevocationTarget::User(user("mallory")), Some(app_id)),
        (RevocationTarget::User(user("mallory")), None),
        (RevocationTarget::Token(token), None),
    ] {
        let is_of_user = matches!(target, RevocationTarget::User(_));
        let key = RevocationKey { target, app_id };
        let app_id = key.app_id.as_ref();
        let mut entries = vec![];
        assert!(!store.lift_revocation(&olga, &key).await.unwrap());
        // A repeated revocation may cover more than the first, so it is another action.
        for _ in 0..2 {
            let new = NewRevocation { key: key.clone(), issued_until: None, expires_at: None };
            store.revoke(&olga, new).await.unwrap();
            entries.push((only_new_entry(&store, &mut known).await, AuditAction::RevokeTokens));
        }
        for _ in 0..2 {
            assert!(store.lift_revocation(&olga, &key).await.unwrap());
        }
        entries.push((only_new_entry(&store, &mut known).await, AuditAction::LiftRevocation));
        let mallory = store.get_pseudonym(app_id, &user("mallory")).await.unwrap();
        for (entry, action) in entries {
            assert_eq!((entry.action, entry.app_id.as_ref()), (action, app_id));
            assert_eq!(entry.subject, mallory.filter(|_| is_of_user));
            assert_eq!(entry.subject.is_some(), is_of_user);
            assert_eq!(entry.actor, store.get_pseudonym(app_id, &user("olga")).await.unwrap());
        }
    }
}

pub async fn every_recorded_action_writes_one_entry(store: Arc<dyn Store>) {
    let (app_id, chat_id) = (some_scope().app_id, ChatId::parse("chat_1").unwrap());
    let mut known = vec![];
    for (app_id, chat_id, action) in [
        (None, None, AuditAction::FinishUpgrade),
        (Some(&app_id), None, AuditAction::RebuildStats),
        (Some(&app_id), Some(&chat_id), AuditAction::ReadChat),
    ] {
        for _ in 0..2 {
            let actor = Actor::command_line();
            store.record_action(&actor, app_id, chat_id, action).await.unwrap();
            let entry = only_new_entry(&store, &mut known).await;
            assert_eq!((entry.app_id.as_ref(), entry.chat_id.as_ref()), (app_id, chat_id));
            assert_eq!((entry.action, entry.role), (action, ActorRole::CommandLine));
            assert_eq!((entry.actor, entry.subject), (None, None));
        }
    }
}

pub async fn racing_actions_write_one_entry_for_each_change(store: Arc<dyn Store>) {
    let chat = chat_of_alice(&store).await;
    let app_id = chat.scope.app_id.clone();
    let put = |number: usize| {
        let chat = chat.clone();
        async move { chat.put_member(&format!("user-{}", number % 4), MemberRole::Member).await }
    };
    for answer in race((0..16).map(put)).await {
        answer.unwrap();
    }
    let put = entries(&store, &app_id).await;
    assert_eq!(put.len(), 4, "{put:?}");
    let complete = (0..8).map(|_| {
        let chat = chat.clone();
        async move { chat.set_status(ChatStatus::Completed, None).await }
    });
    for answer in race(complete).await {
        answer.unwrap();
    }
    assert_eq!(entries(&store, &app_id).await.len(), 5);
    let register = (0..8).map(|_| {
        let (store, app_id) = (Arc::clone(&store), app_id.clone());
        async move { store.register_app(&operator("olga"), &app_id).await }
    });
    for answer in race(register).await {
        answer.unwrap();
    }
    assert_eq!(entries(&store, &app_id).await.len(), 6);
    let new =
        NewAccessKey { apps: Some(vec![app_id.clone()]), ..access_keys::key(Bearer::Service) };
    store.create_access_key(None, new.clone()).await.unwrap();
    let revoke = (0..8).map(|_| {
        let (store, id) = (Arc::clone(&store), new.secret.id());
        async move { store.revoke_access_key(Some(&operator("olga")), &id).await }
    });
    for answer in race(revoke).await {
        answer.unwrap();
    }
    assert_eq!(entries(&store, &app_id).await.len(), 7);
}

pub async fn a_person_has_one_pseudonym_in_each_app(store: Arc<dyn Store>) {
    let [one, other] = [chat_of_alice(&store).await, chat_of_alice(&store).await];
    assert_eq!(store.get_pseudonym(Some(&one.scope.app_id), &user("bob")).await.unwrap(), None);
    let mut subjects = Vec::new();
    for chat in [&one, &other] {
        chat.put_member("bob", MemberRole::Member).await.unwrap();
        chat.remove_member("bob").await.unwrap();
        chat.put_member("alice", MemberRole::Reader).await.unwrap();
        let entries = entries(&store, &chat.scope.app_id).await;
        let bob = store.get_pseudonym(Some(&chat.scope.app_id), &user("bob")).await.unwrap();
        assert_eq!(entries.iter().filter(|entry| entry.subject == bob).count(), 2);
        let oneself = entries.iter().find(|entry| entry.subject != bob).unwrap();
        assert_eq!(oneself.subject, oneself.actor);
        subjects.push(bob.unwrap());
    }
    assert_ne!(subjects[0], subjects[1], "apps cannot be compared");
    let whole = store.get_pseudonym(None, &user("bob")).await.unwrap();
    assert_eq!(whole, None);
}

pub async fn a_destroyed_pseudonym_belongs_to_nobody(store: Arc<dyn Store>) {
    let [chat, other] = [chat_of_alice(&store).await, chat_of_alice(&store).await];
    for chat in [&chat, &other] {
        chat.put_member("bob", MemberRole::Member).await.unwrap();
    }
    let (app_id, bob) = (&chat.scope.app_id, user("bob"));
    let before = entries(&store, app_id).await;
    let old = store.get_pseudonym(Some(app_id), &bob).await.unwrap();
    for _ in 0..2 {
        store.destroy_pseudonym(Some(app_id), &bob).await.unwrap();
        assert_eq!(store.get_pseudonym(Some(app_id), &bob).await.unwrap(), None);
    }
    // The log itself does not change, and the pseudonyms of other persons and apps stay.
    assert_eq!(entries(&store, app_id).await, before);
    assert!(store.get_pseudonym(Some(app_id), &user("alice")).await.unwrap().is_some());
    assert!(store.get_pseudonym(Some(&other.scope.app_id), &bob).await.unwrap().is_some());
    // What the person does later has another pseudonym.
    chat.remove_member("bob").await.unwrap();
    let new = store.get_pseudonym(Some(app_id), &bob).await.unwrap();
    assert!(new.is_some() && new != old);
    let after = entries(&store, app_id).await;
    assert_eq!(after.iter().filter(|entry| entry.subject == old).count(), 1);
    assert_eq!(after.iter().filter(|entry| entry.subject == new).count(), 1);
}

pub async fn repeated_reads_within_a_minute_write_one_entry(store: Arc<dyn Store>) {
    let chat = chat_of_alice(&store).await;
    let app_id = &chat.scope.app_id;
    let reader = support(&chat, Permission::Read);
    let reads = (0..12).map(|_| {
        let reader = reader.clone();
        let read = AuditAction::ReadChat;
        async move { reader.store.record_chat_read(&reader.scope, Some(&reader.id), read).await }
    });
    for read in race(reads).await {
        read.unwrap();
    }
    let read = entries(&store, app_id).await;
    // The minute may have ended between two of the reads.
    assert!((1..=2).contains(&read.len()), "{read:?}");
    assert_eq!((read[0].action, read[0].role), (AuditAction::ReadChat, ActorRole::Support));
    assert_eq!(read[0].actor, store.get_pseudonym(Some(app_id), &user("sue")).await.unwrap());
    assert_eq!(read[0].chat_id.as_ref(), Some(&chat.id));
    // Another action, another list, and another person are others.
    let list = AuditAction::ListChats;
    store.record_chat_read(&reader.scope, None, list).await.unwrap();
    let other = Caller::Support { user_id: user("sam") };
    let other = Scope { caller: other, ..reader.scope.clone() };
    store.record_chat_read(&other, Some(&chat.id), AuditAction::ReadChat).await.unwrap();
    assert_eq!(entries(&store, app_id).await.len(), read.len() + 2);
    for _ in 0..3 {
        let (actor, get) = (operator("olga"), AuditAction::GetApp);
        store.record_registry_read(&actor, Some(app_id), get).await.unwrap();
    }
    let all = entries(&store, app_id).await.len() - read.len();
    assert!((3..=4).contains(&all), "{all}");
}

pub async fn a_read_that_is_refused_writes_no_entry(store: Arc<dyn Store>) {
    let chat = chat_of_alice(&store).await;
    let unknown = TestChat { id: TestChat::unknown(&store).id, ..support(&chat, Permission::Read) };
    let stranger = chat.seen_by("mallory", None);
    for refused in [unknown, stranger] {
        let (scope, id) = (&refused.scope, Some(&refused.id));
        store.record_chat_read(scope, id, AuditAction::ReadChat).await.unwrap_err();
    }
    assert_eq!(entries(&store, &chat.scope.app_id).await, []);
}

pub async fn audit_entries_are_listed_newest_first_page_by_page(store: Arc<dyn Store>) {
    let chat = chat_of_alice(&store).await;
    let app_id = &chat.scope.app_id;
    let second = TestChat::create_in(&Scope::service(app_id.clone()), &store, new_chat()).await;
    for number in 0..7 {
        chat.put_member(&format!("user-{number}"), MemberRole::Member).await.unwrap();
    }
    second.set_status(ChatStatus::Completed, None).await.unwrap();
    let of_app = AuditFilter { app_id: Some(app_id.clone()), ..AuditFilter::default() };
    let all = store.list_audit_entries(&of_app, 100, None).await.unwrap().entries;
    assert_eq!(all.len(), 8);
    assert!(all.is_sorted_by_key(|entry| std::cmp::Reverse((entry.at, entry.entry_id.clone()))));
    for limit in [1, 3, 8, 9] {
        let (mut listed, mut after) = (Vec::new(), None);
        loop {
            let page = store.list_audit_entries(&of_app, limit, after.as_ref()).await.unwrap();
            assert!((1..=limit).contains(&page.entries.len()));
            listed.extend(page.entries);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(listed, all, "{limit} at a time");
    }
    let person = store.get_pseudonym(Some(app_id), &user("user-3")).await.unwrap();
    let alice = store.get_pseudonym(Some(app_id), &user("alice")).await.unwrap();
    let since = all[3].at;
    for filter in [
        AuditFilter { chat_id: Some(second.id.clone()), ..of_app.clone() },
        AuditFilter { chat_id: Some(chat.id.clone()), ..AuditFilter::default() },
        AuditFilter { action: Some(AuditAction::CompleteChat), ..of_app.clone() },
        AuditFilter { action: Some(AuditAction::DisableApp), ..of_app.clone() },
        AuditFilter { person, ..of_app.clone() },
        AuditFilter { person: alice, ..AuditFilter::default() },
        AuditFilter { since: Some(since), ..of_app.clone() },
        AuditFilter { until: Some(since), ..of_app.clone() },
        AuditFilter { since: Some(since), until: Some(since), ..of_app.clone() },
    ] {
        let listed = store.list_audit_entries(&filter, 100, None).await.unwrap().entries;
        let is_of = |entry: &&AuditEntry| {
            filter.chat_id.as_ref().is_none_or(|it| entry.chat_id.as_ref() == Some(it))
                && filter.action.is_none_or(|it| entry.action == it)
                && filter
                    .person
                    .is_none_or(|it| entry.actor == Some(it) || entry.subject == Some(it))
                && filter.since.is_none_or(|it| entry.at >= it)
                && filter.until.is_none_or(|it| entry.at < it)
        };
        let expected: Vec<_> = all.iter().filter(is_of).cloned().collect();
        assert_eq!(listed, expected, "{filter:?}");
    }
}
