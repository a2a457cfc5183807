//! Webhooks: the receiver of the settings is told when a chat has completed or failed.
//!
//! The form is that of Standard Webhooks. The store keeps each event until the receiver has taken it, so that it is sent at
//! least once, by any process.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, HeaderValue, Request, Uri};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use futures::stream::{self, StreamExt as _};
use hmac::{Hmac, KeyInit as _, Mac as _};
use persistence::{Store, StoreError};
use records::{ChatStatus, Clock as _, SystemClock, WebhookEvent};
use serde_json::json;
use sha2::Sha256;
use tokio::time::sleep;
use tracing::Instrument as _;

use crate::config::{ConfigError, WebhooksConfig};
use crate::outgoing::{OutgoingClient, OutgoingUrl};
use crate::traces;
use crate::wire::Time;

/// How many events are claimed at a time, and how many of them are sent at the same time.
const BATCH_SIZE: usize = 16;
const SENT_AT_ONCE: usize = 8;
/// How long a claim lasts: longer than all requests of a batch.
const CLAIMED_FOR: Duration = Duration::from_secs(10);
/// The longest time between two attempts.
const LONGEST_WAIT: Duration = Duration::from_hours(1);

const ID: HeaderName = HeaderName::from_static("webhook-id");
const TIMESTAMP: HeaderName = HeaderName::from_static("webhook-timestamp");
const SIGNATURE: HeaderName = HeaderName::from_static("webhook-signature");

/// Sends events to the receiver.
pub struct WebhookSender {
    store: Arc<dyn Store>,
    client: OutgoingClient,
    url: OutgoingUrl,
    key: SigningKey,
    first_wait: Duration,
}

impl fmt::Debug for WebhookSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookSender").field("url", &self.url).finish_non_exhaustive()
    }
}

impl WebhookSender {
    /// Creates the sender; `None` if the settings name no receiver.
    pub fn new(
        config: &WebhooksConfig,
        store: Arc<dyn Store>,
    ) -> Result<Option<Self>, ConfigError> {
        let Some((url, key)) = Self::receiver(config)? else { return Ok(None) };
        let first_wait = Duration::from_millis(config.retry_ms);
        Ok(Some(Self { store, client: OutgoingClient::new(), url, key, first_wait }))
    }

    /// Refuses settings that cannot be used.
    pub(crate) fn check(config: &WebhooksConfig) -> Result<(), ConfigError> {
        Self::receiver(config).map(drop)
    }

    fn receiver(config: &WebhooksConfig) -> Result<Option<(OutgoingUrl, SigningKey)>, ConfigError> {
        let Some(url) = &config.url else { return Ok(None) };
        let wrong = |name, rule: &str| ConfigError::Unusable { name, rule: rule.to_owned() };
        let url = OutgoingUrl::parse(url).map_err(|rule| wrong("webhooks.url", rule))?;
        let secret = config.secret.as_ref().map(secrecy::ExposeSecret::expose_secret);
        let key = secret.and_then(SigningKey::parse);
        let rule = "it must be whsec_ and 24 to 64 random bytes in base64";
        let key = key.ok_or_else(|| wrong("webhooks.secret", rule))?;
        Ok(Some((url, key)))
    }

    /// Sends events as long as the future is not dropped.
    pub async fn run(self) {
        loop {
            match self.send_due().await {
                Ok(BATCH_SIZE) => continue,
                Ok(_) => {}
                Err(error) => tracing::debug!(%error, "failed to read the events of webhooks"),
            }
            sleep(Duration::from_millis(fastrand::u64(400..600))).await;
        }
    }

    /// Sends the events that are due, and returns how many there were.
    async fn send_due(&self) -> Result<usize, StoreError> {
        let events = self.store.claim_webhook_events(BATCH_SIZE, CLAIMED_FOR).await?;
        let count = events.len();
        stream::iter(events).for_each_concurrent(SENT_AT_ONCE, |event| self.handle(event)).await;
        Ok(count)
    }

    /// Sends an event, and removes it if the receiver has taken it.
    async fn handle(&self, event: WebhookEvent) {
        let done = match self.send(&event).await {
            Ok(()) => self.store.settle_webhook_event(&event).await,
            Err(cause) => {
                let WebhookEvent { event_id, chat_id, attempts, .. } = &event;
                tracing::warn!(event_id, %chat_id, attempts, cause, "a webhook was not taken; it is sent again");
                self.store.postpone_webhook_event(&event, self.wait_after(*attempts)).await
            }
        };
        if let Err(error) = done {
            // The event is due again when its claim has ended.
            tracing::debug!(%error, "failed to note the outcome of a webhook");
        }
    }

    /// Returns how long to wait after so many attempts: about twice as long as before.
    fn wait_after(&self, attempts: u64) -> Duration {
        let doublings = u32::try_from(attempts.saturating_sub(1)).unwrap_or(u32::MAX).min(30);
        let wait = self.first_wait.saturating_mul(1 << doublings).min(LONGEST_WAIT);
        // The events of one outage are not all sent again at the same moment.
        wait.mul_f64(0.8 + 0.4 * fastrand::f64())
    }

    async fn send(&self, event: &WebhookEvent) -> Result<(), String> {
        let body = body(event);
        let request = self.key.signed(
            self.url.uri().clone(),
            &event.event_id,
            SystemClock.now().timestamp(),
            body,
        );
        let mut request = request.map_err(|error| error.to_string())?;
        let host = self.url.uri().host().unwrap_or_default();
        let span = traces::outgoing("POST", host, request.headers_mut());
        let delivered = self.client.deliver(request).instrument(span);
        match delivered.await.map_err(|error| error.to_string())? {
            status if status.is_success() => Ok(()),
            status => Err(format!("the receiver responded with status {status}")),
        }
    }
}

/// Returns what the receiver is sent: the same bytes in each attempt.
fn body(event: &WebhookEvent) -> Vec<u8> {
    let kind = match event.status {
        ChatStatus::Completed => "chat.completed",
        _ => "chat.failed",
    };
    let body = json!({
        "type": kind,
        "timestamp": Time::from(event.ended_at),
        "data": {
            "app_id": event.app_id,
            "chat_id": event.chat_id,
            "workflow_name": event.workflow_name,
            "status": event.status.number(),
            "status_name": event.status.as_str(),
            "duration_sec": event.duration_sec,
            "last_sequence": event.last_sequence,
        },
    });
    body.to_string().into_bytes()
}

/// The key that signs what is sent.
struct SigningKey(Vec<u8>);

impl SigningKey {
    fn parse(secret: &str) -> Option<Self> {
        let bytes = BASE64.decode(secret.strip_prefix("whsec_")?).ok()?;
        (24..=64).contains(&bytes.len()).then_some(Self(bytes))
    }

    /// Signs `{id}.{timestamp}.{body}`, so that neither an old request nor another body passes for this one.
    fn signature(&self, id: &str, timestamp: i64, body: &[u8]) -> Option<String> {
        let mut hmac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        hmac.update(format!("{id}.{timestamp}.").as_bytes());
        hmac.update(body);
        Some(format!("v1,{}", BASE64.encode(hmac.finalize().into_bytes())))
    }

    fn signed(
        &self,
        url: Uri,
        id: &str,
        timestamp: i64,
        body: Vec<u8>,
    ) -> Result<Request<Vec<u8>>, axum::http::Error> {
        let signature = self.signature(id, timestamp, &body).unwrap_or_default();
        Request::post(url)
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .header(ID, id)
            .header(TIMESTAMP, timestamp)
            .header(SIGNATURE, signature)
            .body(body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example that the libraries of Standard Webhooks test with.
    #[test]
    fn the_signature_is_that_of_standard_webhooks() {
        let key = SigningKey::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let signature = key.signature(
            "msg_p5jXN8AQM9LWM0D4loKWxJek",
            1_614_265_330,
            br#"{"test": 2432232314}"#,
        );
        let expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
        assert_eq!(signature.as_deref(), Some(expected));
    }

    #[test]
    fn other_secrets_are_refused() {
        for secret in
            ["", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_c2hvcnQ=", "whsec_?"]
        {
            assert!(SigningKey::parse(secret).is_none(), "{secret}");
        }
    }
}
