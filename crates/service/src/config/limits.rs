use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ConfigError;
use crate::paced_stream::Pace;

/// Limits and timeouts.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LimitsConfig {
    /// The largest request body, in bytes.
    pub body_bytes: usize,
    /// The memory for what is parsed and read on behalf of callers, in bytes.
    pub memory_bytes: usize,
    /// The part of it that one caller may hold: a person, or the services of an app.
    pub memory_bytes_per_subject: usize,
    /// How long a request waits for memory.
    pub memory_wait_ms: u64,
    /// How long a request may take, its body included; for a history, each read of it.
    pub request_timeout_ms: u64,
    /// The most requests per second of a person; 0 for no limit, as for the two after it.
    pub requests_per_sec_per_user: u32,
    /// The most requests per second to an app.
    pub requests_per_sec_per_app: u32,
    /// The most requests per second from an address.
    pub requests_per_sec_per_address: u32,
    /// The most chats that a person creates or forks per minute; 0 for no limit, as for the two after it.
    pub new_chats_per_min_per_user: u32,
    /// The most chats that are created or forked in an app per minute.
    pub new_chats_per_min_per_app: u32,
    /// The most questions that are asked in an app per minute.
    pub questions_per_min_per_app: u32,
    /// The most requests per minute from an address whose token or ticket is not accepted; 0 for no limit.
    pub failed_attempts_per_min_per_address: u32,
    /// The most live streams of a person in this process.
    pub streams_per_user: usize,
    /// The most live streams of an app in this process.
    pub streams_per_app: usize,
    /// The most open connections; further clients wait to be accepted.
    pub connections: usize,
    /// The most open connections of one address; further ones are closed at once.
    pub connections_per_address: usize,
    /// How long a client may take to send the head of a request.
    pub header_timeout_ms: u64,
    /// How long a connection is kept open between two requests.
    pub idle_timeout_ms: u64,
    /// How long a client may keep the service waiting before the bytes that it has accepted are counted.
    pub write_timeout_ms: u64,
    /// The bytes that a client must accept for each second in which it keeps the service waiting; at 0, any.
    pub min_bytes_per_sec: u64,
    /// The most live subscribers of this process.
    pub subscribers: usize,
    /// The most live subscribers of one chat in this process.
    pub subscribers_per_chat: usize,
    /// How often a comment is sent on an idle event stream, and a ping on a WebSocket.
    pub keep_alive_ms: u64,
    /// How long a person is shown as present after the last renewal by their service process.
    pub presence_expiry_ms: u64,
    /// How often the rights of live streams are checked, and how soon a revoked token is refused, from 1 to 60,000.
    pub recheck_ms: u64,
    /// The sustained limit of frames per second from a WebSocket client.
    pub frames_per_sec: u32,
    /// The most frames that a WebSocket client may send in a burst.
    pub frames_burst: u32,
    /// How long a shutdown waits for the requests in flight.
    pub shutdown_grace_ms: u64,
    /// The default size of a page of chat sessions and other records.
    pub list_default: usize,
    /// The largest page of chat sessions and other records.
    pub list_max: usize,
    /// The default size of a page of messages.
    pub messages_default: usize,
    /// The largest page of messages.
    pub messages_max: usize,
    /// How many versions of the context snapshot are retained for a chat, the current one included.
    pub context_history: u64,
    /// The most bytes of replaced snapshots that are retained for a chat; the newest few may come on top.
    pub context_history_bytes: u64,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            body_bytes: 16 << 20,
            memory_bytes: 512 << 20,
            memory_bytes_per_subject: 128 << 20,
            memory_wait_ms: 2_000,
            request_timeout_ms: 10_000,
            requests_per_sec_per_user: 100,
            requests_per_sec_per_app: 20_000,
            requests_per_sec_per_address: 20_000,
            new_chats_per_min_per_user: 3_000,
            new_chats_per_min_per_app: 300_000,
            questions_per_min_per_app: 300_000,
            failed_attempts_per_min_per_address: 60,
            streams_per_user: 64,
            streams_per_app: 6_000,
            connections: 10_000,
            connections_per_address: 5_000,
            header_timeout_ms: 10_000,
            idle_timeout_ms: 75_000,
            write_timeout_ms: 30_000,
            min_bytes_per_sec: 8 << 10,
            subscribers: 8_000,
            subscribers_per_chat: 4_000,
            keep_alive_ms: 15_000,
            presence_expiry_ms: 45_000,
            recheck_ms: 30_000,
            frames_per_sec: 20,
            frames_burst: 40,
            shutdown_grace_ms: 15_000,
            list_default: 20,
            list_max: 100,
            messages_default: 100,
            messages_max: 1_000,
            context_history: persistence::ContextVersionPage::KEPT,
            context_history_bytes: persistence::ContextVersionPage::KEPT_BYTES,
        }
    }
}

impl LimitsConfig {
    pub(crate) fn request_timeout(&self) -> Duration {
        Duration::from_millis(self.request_timeout_ms)
    }

    pub(crate) fn memory_wait(&self) -> Duration {
        Duration::from_millis(self.memory_wait_ms)
    }

    pub(crate) fn header_timeout(&self) -> Duration {
        Duration::from_millis(self.header_timeout_ms)
    }

    pub(crate) fn idle_timeout(&self) -> Duration {
        Duration::from_millis(self.idle_timeout_ms)
    }

    pub(crate) fn pace(&self) -> Pace {
        let min_bytes = self.write_timeout_ms.saturating_mul(self.min_bytes_per_sec) / 1_000;
        Pace { period: Duration::from_millis(self.write_timeout_ms), min_bytes: min_bytes.max(1) }
    }

    pub(crate) fn keep_alive(&self) -> Duration {
        Duration::from_millis(self.keep_alive_ms)
    }

    pub(crate) fn presence_expiry(&self) -> Duration {
        Duration::from_millis(self.presence_expiry_ms)
    }

    pub(crate) fn recheck(&self) -> Duration {
        Duration::from_millis(self.recheck_ms)
    }

    pub(crate) fn shutdown_grace(&self) -> Duration {
        Duration::from_millis(self.shutdown_grace_ms)
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        const MAX_RECHECK_MS: u64 = 60_000;
        let positive = [
            ("body_bytes", self.body_bytes as u64),
            ("memory_wait_ms", self.memory_wait_ms),
            ("request_timeout_ms", self.request_timeout_ms),
            ("connections", self.connections as u64),
            ("connections_per_address", self.connections_per_address as u64),
            ("streams_per_user", self.streams_per_user as u64),
            ("streams_per_app", self.streams_per_app as u64),
            ("header_timeout_ms", self.header_timeout_ms),
            ("idle_timeout_ms", self.idle_timeout_ms),
            ("write_timeout_ms", self.write_timeout_ms),
            ("subscribers", self.subscribers as u64),
            ("subscribers_per_chat", self.subscribers_per_chat as u64),
            ("keep_alive_ms", self.keep_alive_ms),
            ("presence_expiry_ms", self.presence_expiry_ms),
            ("recheck_ms", self.recheck_ms),
            ("frames_per_sec", self.frames_per_sec.into()),
            ("frames_burst", self.frames_burst.into()),
            ("list_default", self.list_default as u64),
            ("messages_default", self.messages_default as u64),
            ("context_history", self.context_history),
        ];
        if let Some((name, _)) = positive.iter().find(|(_, value)| *value == 0) {
            return Err(ConfigError::Zero { name });
        }
        if self.recheck_ms > MAX_RECHECK_MS {
            return Err(ConfigError::Recheck { recheck_ms: self.recheck_ms });
        }
        if self.memory_bytes_per_subject > self.memory_bytes {
            return Err(ConfigError::ShareAboveMemory);
        }
        if self.memory_bytes_per_subject / 3 < self.body_bytes {
            return Err(ConfigError::ShareBelowBody);
        }
        if self.list_default > self.list_max {
            return Err(ConfigError::DefaultAboveMax { name: "list" });
        }
        if self.messages_default > self.messages_max {
            return Err(ConfigError::DefaultAboveMax { name: "messages" });
        }
        Ok(())
    }
}
