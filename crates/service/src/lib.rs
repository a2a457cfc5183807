#![doc = include_str!("../README.md")]

mod config;
pub use config::{
    AdaptersConfig, Algorithm, AppSettings, AppsConfig, AuthConfig, AuthMode, ChatsgConfig, Config,
    ConfigError, DiscobotConfig, ErasureConfig, HecateConfig, IntegrityConfig, LimitsConfig,
    MetricsConfig, MozaiksConfig, SearchConfig, ServerConfig, SignInConfig, TlsConfig,
    WalletsConfig, WebhooksConfig, YaoConfig, hidden, listen_address, without_secrets,
};

mod config_check;

mod operations;
mod router;
pub use integrity::integrity_keys;
pub use router::{Upkeep, router, router_and_upkeep};

mod receipts;
pub use receipts::ReceiptSigner;

mod search_index;

mod starting;
pub use starting::Starting;

mod webhooks;
pub use webhooks::WebhookSender;

mod sweeps;
pub use sweeps::{
    continue_erasures, expire_input_requests, finish_purges, index_metadata,
    interrupt_abandoned_chats, purge_due_chats, remove_deleted_texts, remove_ended_streams,
    retention_of,
};

mod adapters;
pub use adapters::AdapterListener;

mod head_timer;
mod paced_stream;
mod serve;
pub use serve::{serve, serve_all};

mod export;
pub use export::{ExportError, Exported, export};

pub mod history;
pub mod responses;

mod admission;
pub use admission::Peer;
mod api;
mod dashboard;
mod openapi;
mod operation;
mod outgoing;
pub use outgoing::{OutgoingClient, OutgoingError, OutgoingUrl};

mod auth;
pub use auth::{MintError, NewToken};
mod extract;
mod metrics;
mod problem;
mod registry;
mod request_id;
mod state;
mod wire;

mod certificate_validity;
mod integrity;
mod joining;
mod layers;
mod live;
mod submission;
mod tls;
mod traces;
mod unset_values;
mod websocket;
