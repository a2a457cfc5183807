use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// Who listens to chats, and what they are sent.
#[derive(Debug)]
pub(crate) struct LiveMetrics {
    subscribers: Family<TransportLabels, Gauge>,
    events: Family<TransportLabels, Counter>,
}

/// How somebody listens.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Transport {
    Sse,
    WebSocket,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TransportLabels {
    transport: &'static str,
}

impl From<Transport> for TransportLabels {
    fn from(transport: Transport) -> Self {
        let transport = match transport {
            Transport::Sse => "sse",
            Transport::WebSocket => "websocket",
        };
        Self { transport }
    }
}

impl LiveMetrics {
    pub(super) fn new(registry: &mut Registry) -> Self {
        let metrics = Self { subscribers: Family::default(), events: Family::default() };
        let help = "Who listens to chats at the moment";
        registry.register("reprise_live_subscribers", help, metrics.subscribers.clone());
        let help = "Events of chats that were sent to who listens";
        registry.register("reprise_live_events", help, metrics.events.clone());
        for transport in [Transport::Sse, Transport::WebSocket] {
            // So that there are series before anybody listens.
            metrics.listening(transport);
        }
        metrics
    }

    /// Counts somebody as long as what is returned lives.
    pub(crate) fn listening(&self, transport: Transport) -> Listening {
        let labels = transport.into();
        let subscribers = self.subscribers.get_or_create(&labels).clone();
        let events = self.events.get_or_create(&labels).clone();
        subscribers.inc();
        Listening { subscribers, events }
    }
}

/// Somebody who listens.
#[derive(Debug)]
pub(crate) struct Listening {
    subscribers: Gauge,
    events: Counter,
}

impl Listening {
    /// Counts an event that they are sent.
    pub(crate) fn told(&self) {
        self.events.inc();
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.subscribers.dec();
    }
}
