//! Records outside the caller's scope do not exist for the caller.

use std::sync::Arc;

use records::{
    Caller, ChatStatus, Lifecycle, MemberRole, MessageBody, MessageEdit, NewArtifact,
    NewChatSession, NewFork, NewMessage, NewToolRun, Permission, Scope, SessionChange, TeamId,
    UserId, Visibility,
};
use serde_json::{Value, json};

use super::fixture::{
    TestChat, assert_refused, event, event_id, list_in_pages, message, new_chat, new_content,
    object, some_scope,
};
use super::tool_runs;
use persistence::{ChatFilter, MessageRange, Store, StoreError, ToolRunFilter};

pub async fn no_call_finds_an_unknown_chat(store: Arc<dyn Store>) {
    assert_hidden(&TestChat::unknown(&store)).await;
}

pub async fn no_call_finds_a_chat_of_another_app(store: Arc<dyn Store>) {
    let chat = full_chat(&store, Visibility::App, None, None).await;
    let before = chat.whole().await;
    let stranger = chat.seen_from(some_scope());
    assert_hidden(&stranger).await;
    assert_hidden(&stranger.seen_by("owner", Some("team"))).await;
    assert_eq!(chat.whole().await, before);
    chat.set_status(ChatStatus::Completed, None).await.unwrap();
    assert_hidden(&stranger).await;
}

/// What a call answers to a caller who needs a permission for it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Answer {
    Permitted,
    Forbidden,
    /// As for an id that was never used.
    NotFound,
}

/// Returns the answer for a user by their relation to the chat. Written out, so that it shares nothing with the stores.
fn expected(relation: &str, visibility: Visibility, needed: Permission, may_run: bool) -> Answer {
    use Permission::{Manage, Read, Run, Say};
    let is_open = matches!(visibility, Visibility::Link | Visibility::App);
    let permissions: &[Permission] = match relation {
        "owner" if may_run => &[Read, Say, Manage, Run],
        "owner" => &[Read, Say, Manage],
        "member" => &[Read, Say],
        "mate" if visibility == Visibility::Team => &[Read, Say],
        "reader" => &[Read],
        _ if is_open => &[Read],
        _ => &[],
    };
    match permissions {
        [] => Answer::NotFound,
        _ if permissions.contains(&needed) => Answer::Permitted,
        _ => Answer::Forbidden,
    }
}

pub async fn a_users_relation_to_a_chat_decides_what_they_may_do(store: Arc<dyn Store>) {
    for visibility in Visibility::ALL {
        let chat = full_chat(&store, visibility, Some("owner"), Some("team")).await;
        chat.put_member("member", MemberRole::Member).await.unwrap();
        chat.put_member("reader", MemberRole::Reader).await.unwrap();
        for relation in ["owner", "member", "reader", "mate", "stranger"] {
            for needed in Permission::ALL {
                for may_run in [false, true] {
                    let team = if relation == "mate" { "team" } else { "others" };
                    let mut seen = chat.seen_by(relation, Some(team)).needing(needed);
                    if let Caller::User { may_run: setting, .. } = &mut seen.scope.caller {
                        *setting = may_run;
                    }
                    let answer = match seen.members().await {
                        Ok(members) => {
                            assert_eq!(members.len(), 2);
                            Answer::Permitted
                        }
                        Err(StoreError::Forbidden { permission, chat_id }) => {
                            assert_eq!((permission, &chat_id), (needed, &chat.id));
                            Answer::Forbidden
                        }
                        Err(StoreError::ChatNotFound(chat_id)) => {
                            assert_eq!(chat_id, chat.id);
                            Answer::NotFound
                        }
                        Err(error) => panic!("{error:?}"),
                    };
                    let cell = format!("{relation} {visibility:?} {needed:?} {may_run}");
                    assert_eq!(answer, expected(relation, visibility, needed, may_run), "{cell}");
                }
            }
        }
    }
}

pub async fn support_reads_says_and_manages_in_every_chat(store: Arc<dyn Store>) {
    let chat = full_chat(&store, Visibility::Private, Some("owner"), None).await;
    let caller = Caller::Support { user_id: UserId::parse("helper").unwrap() };
    let support = chat.seen_from(Scope { caller, ..chat.scope.clone() });
    for needed in Permission::ALL {
        let may = matches!(needed, Permission::Read | Permission::Say | Permission::Manage);
        assert_eq!(support.needing(needed).members().await.is_ok(), may, "{needed:?}");
    }
    let elsewhere =
        support.seen_from(Scope { app_id: some_scope().app_id, ..support.scope.clone() });
    assert_hidden(&elsewhere.needing(Permission::Read)).await;
}

pub async fn every_call_without_the_permission_is_refused_and_changes_nothing(
    store: Arc<dyn Store>,
) {
    for visibility in Visibility::ALL {
        let chat = full_chat(&store, visibility, Some("owner"), None).await;
        chat.put_member("reader", MemberRole::Reader).await.unwrap();
        let before = chat.whole().await;
        for needed in [Permission::Say, Permission::Run, Permission::Manage, Permission::Bill] {
            let reader = chat.seen_by("reader", None).needing(needed);
            let forbidden = StoreError::Forbidden { chat_id: chat.id.clone(), permission: needed };
            for (call, answer) in every_call(&reader).await {
                assert!(answer.is_err(), "{call}");
                // Only what may be said is appended as saying something.
                let is_run = matches!(
                    &answer,
                    Err(StoreError::Forbidden { permission: Permission::Run, .. })
                );
                assert!(
                    is_run || format!("{answer:?}") == format!("{:?}", Err::<(), _>(&forbidden)),
                    "{call}: {answer:?}"
                );
            }
            let stranger = chat.seen_by("stranger", None).needing(needed);
            if !visibility.is_open() {
                assert_hidden(&stranger).await;
            }
        }
        assert_eq!(chat.whole().await, before, "{visibility:?}");
        assert_eq!(chat.members().await.unwrap().len(), 1);
    }
}

pub async fn who_says_something_says_it_as_a_user(store: Arc<dyn Store>) {
    let chat = full_chat(&store, Visibility::Private, Some("owner"), None).await;
    let owner = chat.seen_by("owner", None).needing(Permission::Say);
    let run = StoreError::Forbidden { chat_id: chat.id.clone(), permission: Permission::Run };
    let before = chat.whole().await;
    for role in ["assistant", "system", "tool", "User", ""] {
        let spoken = [message("fine"), MessageBody::new(role, None, "not theirs").into()];
        assert_refused(owner.append(spoken).await, &run);
    }
    assert_eq!(chat.whole().await, before);
    owner.append([message("mine")]).await.unwrap();
}

pub async fn who_says_something_makes_no_calls_and_gives_no_results(store: Arc<dyn Store>) {
    let chat = full_chat(&store, Visibility::Private, Some("owner"), None).await;
    let owner = chat.seen_by("owner", None).needing(Permission::Say);
    let run = StoreError::Forbidden { chat_id: chat.id.clone(), permission: Permission::Run };
    let call = json!({"name": "pay", "arguments": "{}"});
    let acts = [
        json!({"tool_calls": [{"id": "c", "type": "function", "function": call}]}),
        json!({"function_call": call}),
        json!({"tool_call_id": "c"}),
        json!({"tool_responses": [{"tool_call_id": "c", "role": "tool", "content": "done"}]}),
        json!({"provider": {"google-adk": {"actions": {"stateDelta": {"role": "admin"}}}}}),
    ];
    let says =
        json!({"tool_calls": [], "function_call": null, "provider": {"ui-message": {"id": "1"}}});
    let of = |extra: &Value| NewMessage {
        body: MessageBody {
            extra: extra.as_object().cloned().unwrap(),
            ..MessageBody::new("user", None, "please")
        },
        ..message("")
    };
    let said = owner.append([of(&says)]).await.unwrap().last_sequence - 1;
    let approval =
        json!([{"type": "mcp_approval_response", "approval_request_id": "a", "approve": true}]);
    assert_refused(owner.append([message(approval.clone())]).await, &run);
    assert_refused(owner.update_message(said, new_content(approval)).await, &run);
    let before = chat.whole().await;
    for extra in &acts {
        assert_refused(owner.append([message("fine"), of(extra)]).await, &run);
        let edit = MessageEdit::from(of(extra).body);
        assert_refused(owner.update_message(said, edit).await, &run);
    }
    assert_eq!(chat.whole().await, before);
    chat.append(acts.iter().map(of).collect::<Vec<_>>()).await.unwrap();
}

pub async fn who_says_something_edits_and_deletes_only_their_own(store: Arc<dyn Store>) {
    let chat = full_chat(&store, Visibility::Private, Some("owner"), None).await;
    chat.put_member("member", MemberRole::Member).await.unwrap();
    let [owner, member] =
        ["owner", "member"].map(|user| chat.seen_by(user, None).needing(Permission::Say));
    owner.append([message("hers")]).await.unwrap();
    chat.append_filler().await;
    member.append([message("his")]).await.unwrap();
    let run = StoreError::Forbidden { chat_id: chat.id.clone(), permission: Permission::Run };
    let before = chat.whole().await;
    let count = chat.get().await.unwrap().unwrap().last_sequence;
    for (caller, others) in [(&owner, [0, count - 1]), (&member, [0, 1])] {
        for sequence in others {
            assert_refused(caller.update_message(sequence, new_content("x")).await, &run);
            assert_refused(caller.delete_message(sequence).await, &run);
        }
    }
    assert_eq!(chat.whole().await, before);
    owner.update_message(1, new_content("better")).await.unwrap();
    owner.delete_message(1).await.unwrap();
    member.delete_message(count - 1).await.unwrap();
}

pub async fn a_list_shows_what_is_a_persons_own_or_shared_with_them(store: Arc<dyn Store>) {
    let scope = some_scope();
    let mut chats = Vec::new();
    for visibility in Visibility::ALL {
        for owner in [None, Some("owner"), Some("mate")] {
            for team in [None, Some("team"), Some("others")] {
                for member in [None, Some("owner"), Some("stranger")] {
                    let new = owned(visibility, owner, team);
                    let chat = TestChat::create_in(&scope, &store, new).await;
                    if let Some(member) = member {
                        chat.put_member(member, MemberRole::Reader).await.unwrap();
                    }
                    chats.push((chat, visibility, owner, team, member));
                }
            }
        }
    }
    for (user, user_team) in [("owner", None), ("mate", Some("team")), ("stranger", Some("others"))]
    {
        let mut own = Vec::new();
        for (chat, visibility, owner, team, member) in &chats {
            let is_shared = *visibility == Visibility::Team && team.is_some() && *team == user_team;
            if *owner == Some(user) || *member == Some(user) || is_shared {
                own.push(chat.get().await.unwrap().unwrap());
            }
        }
        own.sort_by_key(|chat| std::cmp::Reverse((chat.created_at, chat.chat_id.clone())));
        let caller = chats[0].0.seen_by(user, user_team).scope;
        let shown = list_in_pages(&store, &caller, 4, None).await;
        assert!(shown.len() > 9 && shown.len() < chats.len());
        assert_eq!(shown, own, "{user} {user_team:?}");
        let of_app = ChatFilter { of_app: true, ..ChatFilter::default() };
        let found = store.list_chats(&caller, &of_app, 100, None).await.unwrap().chats;
        assert!(found.iter().all(|chat| chat.visibility == Visibility::App));
        assert_eq!(found.len(), chats.len() / 4);
    }
}

/// Asserts that the chat does not exist in its scope.
pub(super) async fn assert_hidden(chat: &TestChat) {
    assert_eq!(chat.get().await.unwrap(), None);
    assert_eq!(listed(chat).await, 0);
    let not_found = StoreError::ChatNotFound(chat.id.clone());
    let conflicting = chat.append([event("e", "another text")]).await;
    assert_refused(conflicting, &not_found);
    for (call, answer) in every_call(chat).await {
        assert!(answer.is_err(), "{call}");
        assert_refused(answer, &not_found);
    }
}

async fn listed(chat: &TestChat) -> usize {
    let filter = ChatFilter::default();
    let page = chat.store.list_chats(&chat.scope, &filter, 100, None).await;
    page.unwrap().chats.iter().filter(|listed| listed.chat_id == chat.id).count()
}

fn archived() -> SessionChange {
    SessionChange::to_lifecycle(Lifecycle::Archived)
}

/// Makes every call on a chat, except getting and listing it. Calls that cannot be undone come last.
async fn every_call(chat: &TestChat) -> Vec<(&'static str, Result<(), StoreError>)> {
    let range = MessageRange::all();
    let data = || object(json!({"by": "another"}));
    let all_runs = ToolRunFilter::default();
    vec![
        ("messages", chat.messages(range).await.map(drop)),
        ("history", chat.history().await.map(drop)),
        ("filtered_messages", chat.filtered_messages(range).await.map(drop)),
        ("get_message", chat.get_message(0).await.map(drop)),
        ("find_messages", chat.find_messages(&[event_id("e")]).await.map(drop)),
        ("load_context_snapshot", chat.load_context().await.map(drop)),
        ("get_last_artifact", chat.get_artifact().await.map(drop)),
        ("list_context_versions", chat.context_versions().await.map(drop)),
        ("get_context_version", chat.context_version(1).await.map(drop)),
        ("append", chat.append([message("from outside")]).await.map(drop)),
        ("append, repeated", chat.append([event("e", "secret")]).await.map(drop)),
        ("persist_initial_messages", chat.persist_initial([message("x")]).await.map(drop)),
        ("update_message", chat.update_message(0, new_content("x")).await.map(drop)),
        ("delete_message", chat.delete_message(0).await.map(drop)),
        ("delete_messages", chat.delete_messages(&[event_id("e")]).await.map(drop)),
        ("update_context_snapshot", chat.replace_context(data()).await.map(drop)),
        ("merge_context_snapshot", chat.merge_context(data()).await.map(drop)),
        ("update_last_artifact", chat.update_artifact(NewArtifact::default()).await.map(drop)),
        ("clear_last_artifact", chat.clear_artifact().await),
        ("record_tool_runs", tool_runs::record(chat, vec![tool_run()]).await.map(drop)),
        ("list_tool_runs", tool_runs::list(chat, &all_runs, 10, None).await.map(drop)),
        ("chat_tool_stats", tool_runs::chat_stats(chat, &all_runs.began).await.map(drop)),
        ("list_participants", chat.participants().await.map(drop)),
        ("presence", chat.store.presence(&chat.scope, &chat.id).await.map(drop)),
        ("put_member", chat.put_member("user", MemberRole::Member).await.map(drop)),
        ("remove_member", chat.remove_member("reader").await),
        ("list_members", chat.members().await.map(drop)),
        ("join_chat", chat.join("user").await.map(drop)),
        ("leave_chat", chat.leave("user").await),
        ("fork_chat", chat.fork(NewFork::default()).await.map(drop)),
        ("change_chat", chat.change(archived()).await.map(drop)),
        ("set_status", chat.set_status(ChatStatus::Completed, None).await.map(drop)),
    ]
}

/// Creates a chat with some of every record.
pub(super) async fn full_chat(
    store: &Arc<dyn Store>,
    visibility: Visibility,
    owner: Option<&str>,
    team: Option<&str>,
) -> TestChat {
    let chat = TestChat::create_from(store, owned(visibility, owner, team)).await;
    chat.append([event("e", "secret")]).await.unwrap();
    chat.replace_context(object(json!({"a": "secret"}))).await.unwrap();
    chat.update_artifact(NewArtifact::default()).await.unwrap();
    chat
}

fn tool_run() -> NewToolRun {
    NewToolRun { tool_name: "search".to_owned(), ..NewToolRun::default() }
}

fn owned(visibility: Visibility, owner: Option<&str>, team: Option<&str>) -> NewChatSession {
    NewChatSession {
        user_id: owner.map(|user| UserId::parse(user).unwrap()),
        team_id: team.map(|team| TeamId::parse(team).unwrap()),
        visibility,
        ..new_chat()
    }
}
