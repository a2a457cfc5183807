//! Tickets for chats.

use std::sync::Arc;
use std::time::Duration;

use chrono::DateTime;
use records::{
    AppId, Caller, Credential, Grant, MessageBody, NewChatSession, NewTicket, Permission, Scope,
    TeamId, Ticket, TicketDigest, TokenId, UserId, Visibility,
};

use super::fixture::{TestChat, a_moment_passes, assert_refused, new_chat, race};
use persistence::{Store, StoreError};

fn ticket(text: &str) -> NewTicket {
    let digest = TicketDigest::of(text);
    let (caller_expires_at, credential) = Default::default();
    let (valid_for, grant) = (Duration::from_secs(30), Grant::Everything);
    NewTicket { digest, valid_for, grant, caller_expires_at, credential }
}

/// Makes a ticket that no other test uses.
fn some_ticket(chat: &TestChat) -> NewTicket {
    ticket(chat.id.as_str())
}

fn user() -> Caller {
    let (user_id, team_id) = (UserId::parse("alice").unwrap(), TeamId::parse("red").unwrap());
    Caller::User { user_id, team_id: Some(team_id), may_run: false }
}

pub async fn a_ticket_admits_its_caller_once(store: Arc<dyn Store>) {
    let open = NewChatSession { visibility: Visibility::Link, ..new_chat() };
    let chat = TestChat::create_from(&store, open).await;
    let app_id = &chat.scope.app_id;
    for (name, caller, grant) in [
        ("a", Caller::Service, Grant::Everything),
        ("b", user(), Grant::Everything),
        ("c", user(), Grant::ReadAndSay),
        ("d", Caller::Service, Grant::Read),
    ] {
        let scope = Scope::new(app_id.clone(), caller.clone(), Permission::Read);
        let caller_expires_at = DateTime::from_timestamp(4_000_000_000, 0);
        let credential = Credential {
            token_id: Some(TokenId::parse("token_1").unwrap()),
            subject: Some(UserId::parse("a_program").unwrap()),
            issued_at: DateTime::from_timestamp(1_700_000_000, 0),
            key_digest: Some("a digest".to_owned()),
        };
        let text = format!("{}{name}", chat.id);
        let of_token = credential.clone();
        let new = NewTicket { grant, caller_expires_at, credential: of_token, ..ticket(&text) };
        let digest = new.digest;
        store.create_ticket(&scope, &chat.id, new).await.unwrap();
        let redeemed = store.redeem_ticket(app_id, &chat.id, digest).await.unwrap();
        assert_eq!(redeemed, Some(Ticket { caller, grant, caller_expires_at, credential }));
        assert_eq!(store.redeem_ticket(app_id, &chat.id, digest).await.unwrap(), None);
    }
}

pub async fn a_ticket_is_for_one_chat_of_one_app(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let other = TestChat::create_in(&chat.scope, &store, super::fixture::new_chat()).await;
    let (app_id, new) = (&chat.scope.app_id, some_ticket(&chat));
    let digest = new.digest;
    store.create_ticket(&chat.scope, &chat.id, new).await.unwrap();
    let foreign = AppId::parse("another_app").unwrap();
    assert_eq!(store.redeem_ticket(app_id, &other.id, digest).await.unwrap(), None);
    assert_eq!(store.redeem_ticket(&foreign, &chat.id, digest).await.unwrap(), None);
    let forged = TicketDigest::of("forged");
    assert_eq!(store.redeem_ticket(app_id, &chat.id, forged).await.unwrap(), None);
    // None of these attempts used the ticket up.
    assert!(store.redeem_ticket(app_id, &chat.id, digest).await.unwrap().is_some());
}

pub async fn a_narrowed_caller_has_no_other_permission(store: Arc<dyn Store>) {
    let new = NewChatSession { visibility: Visibility::Link, ..new_chat() };
    let chat = TestChat::create_from(&store, new).await;
    let support = Caller::Support { user_id: UserId::parse("sue").unwrap() };
    for caller in [Caller::Service, support, user()] {
        let app_id = chat.scope.app_id.clone();
        let scope = |permission, grant| Scope {
            grant,
            ..Scope::new(app_id.clone(), caller.clone(), permission)
        };
        let in_scope = |permission, grant| chat.seen_from(scope(permission, grant));
        let reader = in_scope(Permission::Read, Grant::Read);
        reader.history().await.unwrap();
        // A caller that only reads does not become a member.
        drop(reader.join("alice").await);
        let members = store.list_members(&chat.scope, &chat.id).await.unwrap();
        assert_eq!(members, [], "{caller:?}");
        let body = || MessageBody::new("user", Some("user"), "hello");
        for grant in [Grant::Read, Grant::ReadAndSay] {
            let denied = if grant == Grant::Read { Permission::Say } else { Permission::Manage };
            let narrowed = in_scope(denied, grant);
            let refused = StoreError::Forbidden { chat_id: chat.id.clone(), permission: denied };
            assert_refused(narrowed.append([body().into()]).await, &refused);
        }
        if caller == user() {
            in_scope(Permission::Read, Grant::ReadAndSay).join("alice").await.unwrap();
        }
        in_scope(Permission::Say, Grant::ReadAndSay).append([body().into()]).await.unwrap();
    }
    assert_eq!(chat.history().await.unwrap().len(), 3);
}

pub async fn a_ticket_expires(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let new = NewTicket { valid_for: Duration::from_millis(1), ..some_ticket(&chat) };
    let digest = new.digest;
    store.create_ticket(&chat.scope, &chat.id, new).await.unwrap();
    a_moment_passes().await;
    let redeemed = store.redeem_ticket(&chat.scope.app_id, &chat.id, digest).await.unwrap();
    assert_eq!(redeemed, None);
}

pub async fn one_of_the_racing_callers_with_one_ticket_is_admitted(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let new = some_ticket(&chat);
    let digest = new.digest;
    store.create_ticket(&chat.scope, &chat.id, new).await.unwrap();
    let rivals = (0..16).map(|_| {
        let chat = chat.clone();
        async move {
            chat.store.redeem_ticket(&chat.scope.app_id, &chat.id, digest).await.unwrap().is_some()
        }
    });
    let let_in = race(rivals).await.into_iter().filter(|is_let_in| *is_let_in).count();
    assert_eq!(let_in, 1);
}

pub async fn no_ticket_is_issued_for_an_invisible_chat(store: Arc<dyn Store>) {
    let unknown = TestChat::unknown(&store);
    let refused = store.create_ticket(&unknown.scope, &unknown.id, some_ticket(&unknown)).await;
    assert_refused(refused, &StoreError::ChatNotFound(unknown.id.clone()));
}
