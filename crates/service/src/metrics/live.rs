use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// The live subscribers, and the events they are sent.
#[derive(Debug)]
pub(crate) struct LiveMetrics {
    subscribers: Family<TransportLabels, Gauge>,
    events: Family<TransportLabels, Counter>,
}

/// The transport of a subscriber.
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
        let help = "Live subscribers of chats at the moment";
        registry.register("reprise_live_subscribers", help, metrics.subscribers.clone());
        let help = "Events of chats that were sent to live subscribers";
        registry.register("reprise_live_events", help, metrics.events.clone());
        for transport in [Transport::Sse, Transport::WebSocket] {
            // Creates the series, so that they exist before the first subscriber.
            metrics.subscriber(transport);
        }
        metrics
    }

    /// Counts a subscriber while the returned value is held.
    pub(crate) fn subscriber(&self, transport: Transport) -> SubscriberMetrics {
        let labels = transport.into();
        let subscribers = self.subscribers.get_or_create(&labels).clone();
        let events = self.events.get_or_create(&labels).clone();
        subscribers.inc();
        SubscriberMetrics { subscribers, events }
    }
}

/// The metrics of one subscriber.
#[derive(Debug)]
pub(crate) struct SubscriberMetrics {
    subscribers: Gauge,
    events: Counter,
}

impl SubscriberMetrics {
    /// Counts an event that the subscriber is sent.
    pub(crate) fn event_sent(&self) {
        self.events.inc();
    }
}

impl Drop for SubscriberMetrics {
    fn drop(&mut self) {
        self.subscribers.dec();
    }
}
