use std::sync::Arc;

use axum::extract::FromRef;
use persistence::{Billing, Store, StoreError};
use records::{ChatId, Scope};

use crate::admission::{FailedAttempts, MemoryBudget, Rates, TrustedProxies};
use crate::auth::Authenticator;
use crate::config::{AdaptersConfig, LimitsConfig};
use crate::live::Hub;
use crate::metrics::Metrics;
use crate::problem::Problem;
use crate::receipts::ReceiptSigner;
use crate::registry::AppRegistry;
use crate::search_index::SearchIndex;

/// The shared state of handlers and extractors.
#[derive(Debug, Clone)]
pub(crate) struct AppState {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) authenticator: Arc<Authenticator>,
    pub(crate) registry: Arc<AppRegistry>,
    pub(crate) limits: Arc<LimitsConfig>,
    pub(crate) memory: Arc<MemoryBudget>,
    pub(crate) rates: Arc<Rates>,
    pub(crate) failed_attempts: Arc<FailedAttempts>,
    pub(crate) proxies: Arc<TrustedProxies>,
    /// Whether recorded calls are debited from a wallet.
    pub(crate) billing: Billing,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) hub: Arc<Hub>,
    pub(crate) receipts: Arc<ReceiptSigner>,
    pub(crate) adapters: Arc<AdaptersConfig>,
    pub(crate) search: Arc<SearchIndex>,
}

impl AppState {
    /// Refuses a chat that the caller may not create now: its id is that of a listener of another app, or a quota is used up.
    pub(crate) fn check_new_chat(
        &self,
        scope: &Scope,
        chat_id: Option<&ChatId>,
    ) -> Result<(), Problem> {
        let holder = chat_id.and_then(|chat_id| self.adapters.app_of_session(chat_id));
        if let (Some(chat_id), Some(holder)) = (chat_id, holder)
            && *holder != scope.app_id
        {
            return Err(StoreError::ChatExists(chat_id.clone()).into());
        }
        self.rates.check_new_chat(scope)
    }
}

impl FromRef<AppState> for Arc<SearchIndex> {
    fn from_ref(state: &AppState) -> Self {
        Self::clone(&state.search)
    }
}

impl FromRef<AppState> for Arc<Hub> {
    fn from_ref(state: &AppState) -> Self {
        Self::clone(&state.hub)
    }
}

impl FromRef<AppState> for Arc<LimitsConfig> {
    fn from_ref(state: &AppState) -> Self {
        Self::clone(&state.limits)
    }
}

impl FromRef<AppState> for Arc<Metrics> {
    fn from_ref(state: &AppState) -> Self {
        Self::clone(&state.metrics)
    }
}

impl FromRef<AppState> for Arc<Rates> {
    fn from_ref(state: &AppState) -> Self {
        Self::clone(&state.rates)
    }
}

impl FromRef<AppState> for Arc<dyn Store> {
    fn from_ref(state: &AppState) -> Self {
        Self::clone(&state.store)
    }
}

impl FromRef<AppState> for Billing {
    fn from_ref(state: &AppState) -> Self {
        state.billing
    }
}

impl FromRef<AppState> for Arc<AdaptersConfig> {
    fn from_ref(state: &AppState) -> Self {
        Self::clone(&state.adapters)
    }
}

impl FromRef<AppState> for Arc<ReceiptSigner> {
    fn from_ref(state: &AppState) -> Self {
        Self::clone(&state.receipts)
    }
}
