use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use chrono::{DateTime, SecondsFormat, Utc};
use records::{AppId, ChatId};
use serde_json::{Value, json};

use super::chain::Chain;
use super::{Hash, IntegrityKeys};

/// The header of every signed checkpoint. The type keeps libraries from taking one for a token.
const HEADER: &str = r#"{"alg":"EdDSA","typ":"reprise-checkpoint"}"#;

/// The signed state of the chain of a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The app of the chat.
    pub app_id: AppId,
    /// The chat.
    pub chat_id: ChatId,
    /// How many commitments the chain has.
    pub commitments: u64,
    /// How many messages the chat had: all of them are committed to.
    pub messages: u64,
    /// The revision of the chat up to which changes of messages are committed to.
    pub revision: i64,
    /// The first message from which on every one has a tag; `None` if none has one.
    pub(crate) tagged_from: Option<u64>,
    /// The hash over the whole chain.
    pub(crate) root: Hash,
    /// The hash over its full blocks.
    pub(crate) closed: Hash,
    /// When it was signed.
    pub signed_at: DateTime<Utc>,
    /// All of it as a JSON Web Signature (RFC 7515).
    pub signed: String,
}

/// What of a chat a checkpoint covers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Covered {
    pub(crate) messages: u64,
    pub(crate) revision: i64,
    pub(crate) tagged_from: Option<u64>,
}

impl Checkpoint {
    /// Signs the state of a chain.
    pub(crate) fn sign(
        keys: &IntegrityKeys,
        (app_id, chat_id): (&AppId, &ChatId),
        chain: &Chain,
        covered: Covered,
        signed_at: DateTime<Utc>,
    ) -> Self {
        let Covered { messages, revision, tagged_from } = covered;
        let payload = json!({
            "app_id": app_id.as_str(),
            "chat_id": chat_id.as_str(),
            "commitments": chain.length(),
            "messages": messages,
            "revision": revision,
            "tagged_from": tagged_from,
            "root": hex::encode(chain.root()),
            "closed": hex::encode(chain.closed()),
            "signed_at": signed_at.to_rfc3339_opts(SecondsFormat::Millis, true),
        });
        let encoded = [HEADER.to_owned(), payload.to_string()].map(|part| encode(&part));
        let message = encoded.join(".");
        let signature = BASE64_URL_SAFE_NO_PAD.encode(keys.sign(message.as_bytes()));
        Self {
            app_id: app_id.clone(),
            chat_id: chat_id.clone(),
            commitments: chain.length(),
            messages,
            revision,
            tagged_from,
            root: chain.root(),
            closed: *chain.closed(),
            signed_at,
            signed: format!("{message}.{signature}"),
        }
    }

    /// Reads a signed checkpoint; `None` if none of the keys has signed it.
    #[must_use]
    pub fn verified(keys: &IntegrityKeys, signed: &str) -> Option<Self> {
        let (message, signature) = signed.rsplit_once('.')?;
        let (header, payload) = message.split_once('.')?;
        let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).ok()?;
        if header != encode(HEADER) || !keys.is_signed(message.as_bytes(), &signature) {
            return None;
        }
        let payload = BASE64_URL_SAFE_NO_PAD.decode(payload).ok()?;
        let payload: Value = serde_json::from_slice(&payload).ok()?;
        let text = |name: &str| payload[name].as_str();
        let hash = |name: &str| Hash::try_from(hex::decode(text(name)?).ok()?).ok();
        Some(Self {
            app_id: AppId::parse(text("app_id")?).ok()?,
            chat_id: ChatId::parse(text("chat_id")?).ok()?,
            commitments: payload["commitments"].as_u64()?,
            messages: payload["messages"].as_u64()?,
            revision: payload["revision"].as_i64()?,
            // Missing in the checkpoints of earlier releases.
            tagged_from: payload["tagged_from"].as_u64(),
            root: hash("root")?,
            closed: hash("closed")?,
            signed_at: DateTime::parse_from_rfc3339(text("signed_at")?).ok()?.to_utc(),
            signed: signed.to_owned(),
        })
    }

    /// Returns the hash over the whole chain, in hexadecimal digits.
    #[must_use]
    pub fn root_hex(&self) -> String {
        hex::encode(self.root)
    }
}

fn encode(part: &str) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(part)
}
