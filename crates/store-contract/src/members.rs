//! The members of a chat.

use std::sync::Arc;

use futures::future::join_all;
use records::{Member, MemberRole, NewChatSession, Permission, UserId, Visibility};

use super::fixture::{TestChat, assert_refused, new_chat};
use persistence::{Outcome, Store, StoreError};

fn member(user: &str, role: MemberRole) -> Member {
    Member { user_id: UserId::parse(user).unwrap(), role }
}

pub async fn members_are_added_changed_and_removed(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    assert_eq!(chat.members().await.unwrap(), []);
    for (user, role, outcome) in [
        ("bob", MemberRole::Member, Outcome::Stored),
        ("$where.a", MemberRole::Reader, Outcome::Stored),
        ("bob", MemberRole::Member, Outcome::Duplicate),
        ("bob", MemberRole::Reader, Outcome::Stored),
    ] {
        assert_eq!(chat.put_member(user, role).await.unwrap(), outcome, "{user} {role:?}");
    }
    let both = [member("bob", MemberRole::Reader), member("$where.a", MemberRole::Reader)];
    assert_eq!(chat.members().await.unwrap(), both);
    for _ in 0..2 {
        chat.remove_member("bob").await.unwrap();
        assert_eq!(chat.members().await.unwrap(), both[1..]);
    }
    let before = chat.get().await.unwrap().unwrap();
    chat.remove_member("$where.a").await.unwrap();
    assert_eq!(chat.members().await.unwrap(), []);
    assert_eq!(chat.get().await.unwrap().unwrap(), before);
}

pub async fn a_chat_has_a_bounded_number_of_members(store: Arc<dyn Store>) {
    let chat = open_chat(&store).await;
    let users: Vec<_> = (0..300).map(|n| format!("user-{n}")).collect();
    let put = |user: &String| {
        let (chat, user) = (chat.clone(), user.clone());
        async move { chat.put_member(&user, MemberRole::Member).await }
    };
    let mut added = 0;
    for some in users.chunks(50) {
        for answer in join_all(some.iter().map(put)).await {
            match answer {
                Ok(outcome) => {
                    assert_eq!(outcome, Outcome::Stored);
                    added += 1;
                }
                Err(error) => {
                    assert!(matches!(error, StoreError::TooManyMembers(_)), "{error:?}");
                }
            }
        }
    }
    assert_eq!((added, chat.members().await.unwrap().len()), (Member::MAX, Member::MAX));
    // A user who joins a full chat may only read.
    let late = chat.seen_by("late", None);
    late.join("late").await.unwrap();
    late.members().await.unwrap();
    let say = StoreError::Forbidden { chat_id: chat.id.clone(), permission: Permission::Say };
    assert_refused(late.needing(Permission::Say).members().await, &say);
    // A member's role can still change.
    assert_eq!(chat.put_member("user-7", MemberRole::Reader).await.unwrap(), Outcome::Stored);
}

pub async fn joining_an_open_chat_makes_a_user_a_member(store: Arc<dyn Store>) {
    for visibility in Visibility::ALL {
        let new = NewChatSession { user_id: UserId::parse("owner").ok(), visibility, ..new_chat() };
        let chat = TestChat::create_from(&store, new).await;
        chat.put_member("reader", MemberRole::Reader).await.unwrap();
        let joins = async |user: &str| chat.seen_by(user, None).join(user).await.is_ok();
        let is_open = visibility.is_open();
        for user in ["bob", "bob", "carol"] {
            assert_eq!(joins(user).await, is_open, "{visibility:?}");
        }
        assert!(joins("owner").await && joins("reader").await);
        let mut all = vec![member("reader", MemberRole::Reader)];
        if is_open {
            all.extend(["bob", "carol"].map(|user| member(user, MemberRole::Member)));
        }
        assert_eq!(chat.members().await.unwrap(), all, "{visibility:?}");
        chat.seen_by("reader", None).leave("reader").await.unwrap();
        // A service adds whom it names, whatever the visibility.
        chat.join("dave").await.unwrap();
        let users: Vec<_> =
            chat.members().await.unwrap().into_iter().map(|it| it.user_id).collect();
        assert!(!users.contains(&UserId::parse("reader").unwrap()));
        assert!(users.contains(&UserId::parse("dave").unwrap()));
        let dave = chat.seen_by("dave", None).needing(Permission::Say);
        dave.members().await.unwrap();
    }
}

async fn open_chat(store: &Arc<dyn Store>) -> TestChat {
    TestChat::create_from(store, NewChatSession { visibility: Visibility::Link, ..new_chat() })
        .await
}
