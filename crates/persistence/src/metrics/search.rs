use super::family::Family;
use super::instrument::Counter;

/// The index of the search.
#[derive(Debug, Default)]
pub(crate) struct SearchMetrics {
    messages: Counter,
}

impl SearchMetrics {
    /// Counts messages whose entries are written.
    pub(crate) fn indexed(&self, messages: usize) {
        self.messages.add(messages);
    }

    pub(super) fn families(&self) -> Vec<Family> {
        vec![Family::counter(
            "reprise_search_indexed_messages_total",
            "Messages that were written to the search index, again after each edit.",
            &self.messages,
        )]
    }
}
