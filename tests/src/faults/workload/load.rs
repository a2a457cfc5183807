use crate::client::Way;

/// The size of the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Its name in reports.
    pub name: &'static str,
    /// Services that share the work.
    pub services: usize,
    /// Chats that are written to.
    pub chats: usize,
    /// Clients that append.
    pub appenders: usize,
    /// Clients that read pages.
    pub readers: usize,
    /// Clients that write documents.
    pub documents: usize,
    /// Subscribers of each chat, by transport; one of them keeps reconnecting.
    pub subscribers: &'static [Way],
}

/// One subscriber of each kind.
const BOTH: &[Way] = &[Way::Events, Way::Frames];

impl Load {
    /// Six appenders share three chats.
    pub const ONE_SERVICE: Self = Self {
        name: "L1",
        services: 1,
        chats: 3,
        appenders: 6,
        readers: 2,
        documents: 0,
        subscribers: BOTH,
    };
    /// The same without sockets: for proxies that pass on plain requests only.
    pub const EVENTS: Self = Self { subscribers: &[Way::Events, Way::Events], ..Self::ONE_SERVICE };
    /// The same through two services.
    pub const TWO_SERVICES: Self = Self { name: "L2", services: 2, ..Self::ONE_SERVICE };
    /// Six writers of documents, beside two appenders, through two services.
    pub const DOCUMENTS: Self =
        Self { name: "L4", appenders: 2, documents: 6, ..Self::TWO_SERVICES };
    /// Six appenders have fifty chats.
    pub const MANY_CHATS: Self = Self { name: "L3", chats: 50, ..Self::ONE_SERVICE };
}
