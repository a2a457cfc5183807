//! The driver's errors in sentences that say what to do. The driver's own text is for programmers: it has the fields
//! of its types, and repeats commands.

use mongodb::error::{CommandError, Error, ErrorKind, WriteFailure};

/// An error of the driver, in one sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct DriverError(String);

impl From<Error> for DriverError {
    fn from(error: Error) -> Self {
        Self(sentence(&error))
    }
}

impl DriverError {
    /// Makes the error of a server whose address stands elsewhere than in the settings.
    pub(crate) fn elsewhere(error: &Error, place: &str) -> Self {
        Self(sentence(error).replace(SETTING, place))
    }
}

/// The setting that the advice names.
const SETTING: &str = "mongo.uri";

/// What is wrong, and what to do about it.
type Advice = (&'static str, &'static str);

const REFUSED: Advice =
    ("the database server refuses connections", "start it, or correct the address in mongo.uri");
const UNKNOWN_NAME: Advice = (
    "the name of the database server cannot be found",
    "correct it in mongo.uri, or check the DNS of this machine",
);
const UNAUTHENTICATED: Advice = (
    "the database server does not accept the user or the password",
    "correct them in mongo.uri, or its authSource",
);
const UNAUTHORIZED: Advice = (
    "the user of mongo.uri may not do this, or mongo.uri names none",
    "name a user with the role readWrite on the database",
);
const NO_TLS: Advice = (
    "no TLS connection to the database server is possible",
    "check that it speaks TLS and that its certificate is trusted here: tls and tlsCAFile in mongo.uri",
);
const CLOSED: Advice = (
    "the database server closes the connection",
    "if it requires TLS, add tls=true to mongo.uri; otherwise see its log",
);
const NOT_MONGODB: Advice =
    ("the program at this address is no MongoDB server", "correct the address in mongo.uri");
const SILENT: Advice = (
    "the database server does not answer",
    "check that it runs, and that no firewall is between it and this machine",
);
const NOT_A_MEMBER: Advice = (
    "no server of mongo.uri is in the replica set that it names",
    "correct replicaSet in mongo.uri, or start mongod with --replSet, then run rs.initiate()",
);
const NOT_INITIATED: Advice = ("the replica set is not initiated", "run rs.initiate()");
const NOT_PRIMARY: Advice = (
    "the database server is not the primary of its replica set",
    "name its members and its replicaSet in mongo.uri, without directConnection",
);
const NO_PRIMARY: Advice =
    ("the replica set has no primary that can be reached", "check its members");

/// The words by which the texts of the driver, of TLS and of the system are recognised. The first row that fits counts.
const SIGNS: [(&str, Advice); 15] = [
    ("SCRAM failure", UNAUTHENTICATED),
    ("Authentication failed", UNAUTHENTICATED),
    ("tls handshake", NO_TLS),
    ("received corrupt message", NO_TLS),
    ("certificate", NO_TLS),
    ("failed to lookup address", UNKNOWN_NAME),
    ("Connection refused", REFUSED),
    ("Invalid wire protocol opcode", NOT_MONGODB),
    ("unexpected end of file", CLOSED),
    ("early eof", CLOSED),
    ("Connection reset", CLOSED),
    ("Broken pipe", CLOSED),
    ("timed out", SILENT),
    ("imeout connecting", SILENT),
    ("unreachable", SILENT),
];

fn sentence(error: &Error) -> String {
    const AUTHENTICATION_FAILED: i32 = 18;
    const NOT_AUTHORIZED: i32 = 13;
    const NOT_WRITABLE_PRIMARY: i32 = 10_107;
    match &*error.kind {
        ErrorKind::Authentication { .. } => advised(UNAUTHENTICATED, ""),
        ErrorKind::Command(CommandError { code: AUTHENTICATION_FAILED, .. }) => {
            advised(UNAUTHENTICATED, "")
        }
        ErrorKind::Command(CommandError { code: NOT_AUTHORIZED, .. }) => advised(UNAUTHORIZED, ""),
        ErrorKind::Command(CommandError { code: NOT_WRITABLE_PRIMARY, .. }) => {
            advised(NOT_PRIMARY, "")
        }
        ErrorKind::Command(CommandError { code, code_name, message, .. }) => {
            format!("{message} ({code_name}, {code})")
        }
        ErrorKind::Write(WriteFailure::WriteError(write)) => {
            format!("{} ({})", write.message, write.code)
        }
        ErrorKind::Write(WriteFailure::WriteConcernError(concern)) => {
            format!("{} ({}, {})", concern.message, concern.code_name, concern.code)
        }
        ErrorKind::DnsResolve { .. } => advised(UNKNOWN_NAME, ""),
        ErrorKind::InvalidTlsConfig { message, .. } => {
            format!("{message}; correct the TLS options in mongo.uri")
        }
        ErrorKind::ServerSelection { message, .. } => {
            advised(signs_in(message).unwrap_or_else(|| state_of(message)), &addresses_in(message))
        }
        ErrorKind::ConnectionPoolCleared { message, .. } => signs_in(message)
            .map_or("the connections to the database server were lost".to_owned(), |found| {
                advised(found, "")
            }),
        ErrorKind::InsertMany(_) | ErrorKind::BulkWrite(_) => {
            "a write of several documents failed".to_owned()
        }
        ErrorKind::InvalidArgument { message, .. } => message.clone(),
        kind => {
            let text = kind.to_string();
            signs_in(&text).map_or(text, |found| advised(found, ""))
        }
    }
}

fn signs_in(text: &str) -> Option<Advice> {
    SIGNS.iter().find(|(sign, _)| text.contains(sign)).map(|(_, advice)| *advice)
}

/// Returns what is wrong with servers that answer, by the driver's description of them.
fn state_of(servers: &str) -> Advice {
    let is_of_set = servers.contains("Type: ReplicaSet");
    if servers.contains("Type: RsGhost") {
        NOT_INITIATED
    } else if is_of_set && !servers.contains("Address: ") {
        // The driver has removed every server that is not in the set.
        NOT_A_MEMBER
    } else if is_of_set {
        NO_PRIMARY
    } else {
        SILENT
    }
}

/// Returns the addresses of the servers in the driver's description, such as ` (db.example.org:27017)`.
fn addresses_in(servers: &str) -> String {
    let addresses = servers.split("Address: ").skip(1).filter_map(|rest| rest.split(',').next());
    let addresses = addresses.collect::<Vec<_>>().join(", ");
    if addresses.is_empty() { addresses } else { format!(" ({addresses})") }
}

fn advised((problem, advice): Advice, addresses: &str) -> String {
    format!("{problem}{addresses}: {advice}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_that_answer_are_told_by_their_state() {
        let told = |message: &str| advised(state_of(message), &addresses_in(message));
        let ghost = "Topology: { Type: Unknown, Servers: [ { Address: a:1, Type: RsGhost, Average RTT: 2ms } ] }";
        assert_eq!(told(ghost), "the replica set is not initiated (a:1): run rs.initiate()");
        let set = "Topology: { Type: ReplicaSetNoPrimary, Set Name: rs0";
        let two = format!(
            "{set}, Servers: [ {{ Address: a:1, Type: RsSecondary }}, {{ Address: b:2, Type: RsOther }} ] }}"
        );
        let no_primary =
            "the replica set has no primary that can be reached (a:1, b:2): check its members";
        assert_eq!(told(&two), no_primary);
        assert!(told(&format!("{set} }}")).starts_with(NOT_A_MEMBER.0));
    }
}
