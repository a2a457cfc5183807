//! Changing the status of a chat: running, paused, completed, failed.

use std::sync::Arc;

use records::ChatStatus::{self, Completed, Failed, Paused, Running};

use super::fixture::{TestChat, a_moment_passes, assert_refused, message, race};
use persistence::{Store, StoreError};

pub async fn only_allowed_status_changes_are_applied(store: Arc<dyn Store>) {
    let legal = [
        (Running, Paused),
        (Running, Completed),
        (Running, Failed),
        (Paused, Running),
        (Paused, Completed),
        (Paused, Failed),
        (Completed, Running),
        (Failed, Running),
    ];
    let pairs = ChatStatus::ALL.into_iter().flat_map(|from| ChatStatus::ALL.map(|to| (from, to)));
    for (from, to) in pairs.filter(|(from, to)| from != to) {
        let chat = chat_in(from, &store).await;
        let before = chat.session().await;
        a_moment_passes().await;
        let moved = chat.set_status(to, None).await;
        let after = chat.session().await;
        if legal.contains(&(from, to)) {
            assert_eq!(moved.unwrap(), after, "{from} to {to}");
            assert_eq!(after.status, to, "from {from}");
            assert!(after.last_updated_at > before.last_updated_at);
        } else {
            let chat_id = chat.id.clone();
            let expected = StoreError::IllegalTransition { chat_id, from, to };
            assert_refused(moved, &expected);
            assert_eq!(after, before, "{from} to {to}");
        }
    }
}

pub async fn setting_the_current_status_changes_nothing(store: Arc<dyn Store>) {
    for status in ChatStatus::ALL {
        let chat = chat_in(status, &store).await;
        let before = chat.session().await;
        a_moment_passes().await;
        let answer = chat.set_status(status, Some("again")).await.unwrap();
        assert_eq!(answer, before);
        assert_eq!(chat.session().await, before);
    }
}

pub async fn ending_a_chat_records_the_seconds_since_its_creation(store: Arc<dyn Store>) {
    for end in [Completed, Failed] {
        let chat = TestChat::create(&store).await;
        a_moment_passes().await;
        let ended = chat.set_status(end, None).await.unwrap();
        let seconds = (ended.last_updated_at - ended.created_at).as_seconds_f64();
        assert!(seconds > 0.0);
        assert_eq!(ended.duration_sec.to_bits(), seconds.to_bits());
        let completed_at = (end == Completed).then_some(ended.last_updated_at);
        assert_eq!(ended.completed_at, completed_at);
        assert_eq!(chat.session().await, ended);
    }
}

/// The duration of a reopened chat counts from its creation, not from its reopening.
pub async fn reopening_clears_the_end_and_a_later_end_counts_from_the_creation(
    store: Arc<dyn Store>,
) {
    for end in [Completed, Failed] {
        let chat = chat_in(end, &store).await;
        let first_end = chat.session().await;
        let reopened = chat.set_status(Running, None).await.unwrap();
        assert_eq!(reopened.completed_at, None);
        assert_eq!(reopened.duration_sec.to_bits(), 0.0_f64.to_bits());
        a_moment_passes().await;
        let second_end = chat.set_status(Completed, None).await.unwrap();
        assert!(second_end.duration_sec > first_end.duration_sec);
        assert_eq!(second_end.created_at, first_end.created_at);
    }
}

pub async fn the_reason_of_a_pause_or_failure_is_kept_until_the_next_move(store: Arc<dyn Store>) {
    for status in [Paused, Failed] {
        let chat = TestChat::create(&store).await;
        let moved = chat.set_status(status, Some("no funds: $5.00")).await;
        let reason = moved.unwrap().status_reason;
        assert_eq!(reason.as_deref(), Some("no funds: $5.00"));
        assert_eq!(chat.session().await.status_reason, reason);
        let resumed = chat.set_status(Running, None).await.unwrap();
        assert_eq!(resumed.status_reason, None);
    }
}

pub async fn completing_and_reopening_keep_no_reason(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    for status in [Completed, Running] {
        let moved = chat.set_status(status, Some("because")).await.unwrap();
        assert_eq!(moved.status_reason, None, "{status}");
    }
}

pub async fn racing_completions_get_the_same_answer(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let racers = (0..8).map(|_| {
        let chat = chat.clone();
        async move { chat.set_status(Completed, None).await.unwrap() }
    });
    let answers = race(racers).await;
    assert_eq!(answers, vec![chat.session().await; 8]);
}

pub async fn completed_or_failed_wins_when_both_race(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let racers = (0..8).map(|n| {
        let chat = chat.clone();
        let end = if n % 2 == 0 { Completed } else { Failed };
        async move { (end, chat.set_status(end, None).await) }
    });
    let answers = race(racers).await;
    let session = chat.session().await;
    for (to, answer) in answers {
        if to == session.status {
            assert_eq!(answer.unwrap(), session);
        } else {
            let (chat_id, from) = (chat.id.clone(), session.status);
            let expected = StoreError::IllegalTransition { chat_id, from, to };
            assert_refused(answer, &expected);
        }
    }
}

pub async fn a_status_change_keeps_all_other_fields(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append([message("kept")]).await.unwrap();
    let before = chat.whole().await;
    chat.set_status(Completed, None).await.unwrap();
    let mut after = chat.whole().await;
    after.session = before.session.clone();
    assert_eq!(after, before);
}

async fn chat_in(status: ChatStatus, store: &Arc<dyn Store>) -> TestChat {
    let chat = TestChat::create(store).await;
    chat.set_status(status, None).await.unwrap();
    chat
}
