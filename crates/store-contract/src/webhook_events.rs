//! The outbox of webhooks. The events of other tests may be in it.

use std::sync::Arc;
use std::time::Duration;

use records::ChatStatus::{Completed, Failed, Paused, Running};
use records::WebhookEvent;

use super::fixture::{TestChat, message, race};
use persistence::Store;

const LONG: Duration = Duration::from_hours(1);

async fn claim(store: &Arc<dyn Store>, chat: &TestChat, lasting: Duration) -> Vec<WebhookEvent> {
    let claimed = store.claim_webhook_events(1_000, lasting).await.unwrap();
    claimed.into_iter().filter(|event| event.chat_id == chat.id).collect()
}

pub async fn an_ended_chat_leaves_one_event(store: Arc<dyn Store>) {
    for status in [Completed, Failed] {
        let chat = TestChat::create(&store).await;
        chat.append([message("Hi")]).await.unwrap();
        let ended = chat.set_status(status, Some("why")).await.unwrap();
        chat.set_status(status, Some("again")).await.unwrap();
        let events = claim(&store, &chat, LONG).await;
        let [event] = events.as_slice() else { panic!("{events:?}") };
        let expected = WebhookEvent {
            event_id: event.event_id.clone(),
            app_id: ended.app_id,
            chat_id: ended.chat_id,
            workflow_name: ended.workflow_name,
            status,
            ended_at: ended.last_updated_at,
            duration_sec: ended.duration_sec,
            last_sequence: 1,
            attempts: 1,
        };
        assert_eq!(*event, expected);
        assert_eq!(claim(&store, &chat, LONG).await, [], "it is claimed");
    }
}

pub async fn a_chat_that_goes_on_leaves_no_event(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.set_status(Paused, None).await.unwrap();
    chat.set_status(Running, None).await.unwrap();
    assert_eq!(claim(&store, &chat, LONG).await, []);
}

pub async fn a_chat_that_ends_twice_leaves_two_events(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    for status in [Completed, Running, Failed] {
        chat.set_status(status, None).await.unwrap();
    }
    let events = claim(&store, &chat, LONG).await;
    assert_eq!(events.iter().map(|event| event.status).collect::<Vec<_>>(), [Completed, Failed]);
    assert_ne!(events[0].event_id, events[1].event_id);
}

pub async fn an_event_is_due_again_until_it_is_settled(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.set_status(Completed, None).await.unwrap();
    let first = claim(&store, &chat, Duration::ZERO).await.remove(0);
    let second = claim(&store, &chat, LONG).await.remove(0);
    assert_eq!((first.attempts, second.attempts), (1, 2));
    assert_eq!(first.event_id, second.event_id);
    store.postpone_webhook_event(&second, Duration::ZERO).await.unwrap();
    let third = claim(&store, &chat, Duration::ZERO).await.remove(0);
    store.postpone_webhook_event(&third, LONG).await.unwrap();
    assert_eq!(claim(&store, &chat, LONG).await, [], "it was postponed");
    for _ in 0..2 {
        store.settle_webhook_event(&third).await.unwrap();
    }
    store.postpone_webhook_event(&third, Duration::ZERO).await.unwrap();
    assert_eq!(claim(&store, &chat, LONG).await, [], "it was settled");
}

pub async fn racing_claims_share_the_events(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    for _ in 0..5 {
        chat.set_status(Completed, None).await.unwrap();
        chat.set_status(Running, None).await.unwrap();
    }
    let claims = (0..4).map(|_| {
        let (store, chat) = (Arc::clone(&store), chat.clone());
        async move { claim(&store, &chat, LONG).await }
    });
    let claimed = race(claims).await;
    let mut ids: Vec<_> = claimed.iter().flatten().map(|event| event.event_id.clone()).collect();
    ids.sort();
    ids.dedup();
    assert_eq!((ids.len(), claimed.iter().flatten().count()), (5, 5));
}
