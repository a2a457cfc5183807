use std::fmt;

/// Something stored that does not fit the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DataFault {
    /// The chat that the stored document belongs to, or the document of an app.
    pub record: String,
    /// The collection with the document.
    pub collection: &'static str,
    /// What is wrong.
    pub kind: FaultKind,
    /// What was found, in words.
    pub detail: String,
}

/// What is wrong with a stored document.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FaultKind {
    /// The document cannot be read.
    Unreadable,
    /// It belongs to a chat, a stream or a document that is not stored.
    Orphan,
    /// An import has not stored all of the chat.
    UnfinishedImport,
    /// It names another app than its chat.
    OtherApp,
    /// The counters of the session and the number of messages do not fit.
    Counters,
    /// Messages that the counters promise are not stored, or stored twice.
    Segments,
    /// Two messages have one id.
    DoubleEventId,
    /// The chat shares messages of a chat that is not stored, or that does not have them.
    Lineage,
    /// A version of a message that no reader would take.
    Overlay,
    /// A blob that is referred to is not stored.
    Blob,
    /// The session and the questions of the chat do not agree.
    InputRequest,
    /// The session and the turns of the chat do not agree.
    Turns,
    /// A field that lists are found by is not what it is made of.
    Derived,
    /// The parts of a document are missing, or are not its content.
    Content,
    /// A message, or the chain of its chat, is not what was signed.
    Integrity,
}

impl FaultKind {
    /// Every kind.
    pub const ALL: [Self; 15] = [
        Self::Unreadable,
        Self::Orphan,
        Self::UnfinishedImport,
        Self::OtherApp,
        Self::Counters,
        Self::Segments,
        Self::DoubleEventId,
        Self::Lineage,
        Self::Overlay,
        Self::Blob,
        Self::InputRequest,
        Self::Turns,
        Self::Derived,
        Self::Content,
        Self::Integrity,
    ];

    /// Returns the kind as a stable word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "unreadable",
            Self::Orphan => "orphan",
            Self::UnfinishedImport => "unfinished-import",
            Self::OtherApp => "other-app",
            Self::Counters => "counters",
            Self::Segments => "segments",
            Self::DoubleEventId => "double-event-id",
            Self::Lineage => "lineage",
            Self::Overlay => "overlay",
            Self::Blob => "blob",
            Self::InputRequest => "input-request",
            Self::Turns => "turns",
            Self::Derived => "derived",
            Self::Content => "content",
            Self::Integrity => "integrity",
        }
    }
}

impl fmt::Display for DataFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { record, collection, kind, detail } = self;
        write!(f, "{record}, {collection}: {} ({})", detail, kind.as_str())
    }
}
