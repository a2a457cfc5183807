use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

/// The refreshes of the keys that tokens are verified with.
#[derive(Debug, Clone)]
pub(crate) struct KeyMetrics {
    succeeded: Counter,
    failed: Counter,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    outcome: &'static str,
}

impl KeyMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let refreshes = Family::<OutcomeLabels, Counter>::default();
        let help = "Refreshes of the keys of tokens, from auth.jwks_url or a changed auth.key_file";
        registry.register("reprise_auth_key_refreshes", help, refreshes.clone());
        let counter = |outcome| refreshes.get_or_create(&OutcomeLabels { outcome }).clone();
        Self { succeeded: counter("ok"), failed: counter("failed") }
    }

    /// Counts a refresh, and logs a failure. The keys from before stay valid then.
    pub(crate) fn refreshed(&self, result: &Result<(), String>) {
        match result {
            Ok(()) => self.succeeded.inc(),
            Err(error) => {
                tracing::error!(
                    error,
                    "failed to refresh the keys of tokens; the old keys are kept"
                );
                self.failed.inc()
            }
        };
    }
}
