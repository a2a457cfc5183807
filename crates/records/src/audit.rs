//! The audit log: who managed or administered what, and what support read, without saying the names of persons.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, Utc};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::{AppId, AuditEntryId, ChatId, UserId};

/// An entry of the audit log. It never changes, and it contains no free text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    /// The id of the entry.
    pub entry_id: AuditEntryId,
    /// When the action happened.
    pub at: DateTime<Utc>,
    /// The app; `None` for an action that concerns several apps, or none.
    pub app_id: Option<AppId>,
    /// The chat, if the action concerns one.
    pub chat_id: Option<ChatId>,
    /// The action.
    pub action: AuditAction,
    /// The role in which the actor acted.
    pub role: ActorRole,
    /// The actor, if it is a person.
    pub actor: Option<Pseudonym>,
    /// The other person whom the action concerns, if there is one.
    pub subject: Option<Pseudonym>,
    /// The network from which the actor acted, if the action came over the network.
    pub network: Option<Network>,
    /// The request that made the action, if there was one.
    pub request_id: Option<RequestId>,
}

/// Makes an enum whose values have names in the store and on the command line.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident, $what:literal { $($(#[$value_doc:meta])* $value:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$value_doc])* $value,)+
        }

        impl $name {
            /// Every value.
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$value),+];

            /// Returns the name in the store and on the command line.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $text,)+
                }
            }
        }

        impl FromStr for $name {
            type Err = AuditError;

            fn from_str(text: &str) -> Result<Self, AuditError> {
                let found = Self::ALL.into_iter().find(|value| value.as_str() == text);
                found.ok_or_else(|| {
                    let known = Self::ALL.map(Self::as_str).join(", ");
                    AuditError(format!(concat!($what, " must be one of {}"), known))
                })
            }
        }
    };
}

named! {
    /// What an entry of the audit log records.
    AuditAction, "the action" {
        /// The list of apps was read.
        ListApps = "list_apps",
        /// An app of the registry was read.
        GetApp = "get_app",
        /// An app was registered.
        RegisterApp = "register_app",
        /// An app was disabled.
        DisableApp = "disable_app",
        /// An app was enabled.
        EnableApp = "enable_app",
        /// The settings of an app were changed.
        UpdateApp = "update_app",
        /// A chat was completed.
        CompleteChat = "complete_chat",
        /// A chat was failed.
        FailChat = "fail_chat",
        /// A chat that had ended was reopened.
        ReopenChat = "reopen_chat",
        /// The title, the metadata or the rights of a chat were changed.
        UpdateChat = "update_chat",
        /// A chat was archived.
        ArchiveChat = "archive_chat",
        /// A chat that was archived was made active again.
        ActivateChat = "activate_chat",
        /// A chat was deleted.
        DeleteChat = "delete_chat",
        /// A chat that was deleted was restored.
        UndeleteChat = "undelete_chat",
        /// A chat was purged.
        PurgeChat = "purge_chat",
        /// A chat was put under hold.
        HoldChat = "hold_chat",
        /// The hold of a chat was lifted.
        LiftHold = "lift_hold",
        /// The chats under hold were listed.
        ListHolds = "list_holds",
        /// The erasure of a person was begun.
        EraseUser = "erase_user",
        /// What is stored about a person was exported.
        ExportUser = "export_user",
        /// Chats of an app were exported.
        ExportChats = "export_chats",
        /// Chats were imported into an app.
        ImportChats = "import_chats",
        /// An erasure was read.
        GetErasure = "get_erasure",
        /// A purge of the chats that are due was started by an operator.
        PurgeChats = "purge_chats",
        /// The lease of a chat was taken from the worker that held it.
        RevokeLease = "revoke_lease",
        /// A user was made a member of a chat, or the role of a member was changed.
        PutMember = "put_member",
        /// A member was removed from a chat.
        RemoveMember = "remove_member",
        /// A participant was removed from a chat by another user.
        RemoveParticipant = "remove_participant",
        /// The calls of a chat, and what they cost, were read.
        ListCalls = "list_calls",
        /// An assistant was stored, in place of another or not.
        PutAssistant = "put_assistant",
        /// Fields of an assistant were changed.
        UpdateAssistant = "update_assistant",
        /// An assistant was deleted.
        DeleteAssistant = "delete_assistant",
        /// Assistants of a list were deleted.
        DeleteAssistants = "delete_assistants",
        /// Support read assistants.
        ReadAssistants = "read_assistants",
        /// Support read documents.
        ReadDocuments = "read_documents",
        /// A call was deleted from a chat.
        DeleteCall = "delete_call",
        /// Support listed the chats of an app.
        ListChats = "list_chats",
        /// Support read a chat.
        ReadChat = "read_chat",
        /// Support was admitted to a chat to say something.
        SayInChat = "say_in_chat",
        /// An access key was created for a program or a person.
        CreateKey = "create_key",
        /// The access keys, or the sessions of browsers, were listed.
        ListKeys = "list_keys",
        /// An access key, or the session of a browser, was revoked.
        RevokeKey = "revoke_key",
        /// A token, or the tokens of a user, were revoked.
        RevokeTokens = "revoke_tokens",
        /// A revocation was lifted.
        LiftRevocation = "lift_revocation",
        /// The revocations were listed.
        ListRevocations = "list_revocations",
        /// A rebuild of the stats was started.
        RebuildStats = "rebuild_stats",
        /// A rebuild of the search index of an app was started.
        RebuildSearch = "rebuild_search",
        /// The end of an upgrade of the database was started.
        FinishUpgrade = "finish_upgrade",
        /// A sweep of the chats with expired leases was started by an operator.
        SweepLeases = "sweep_leases",
        /// The audit log was read.
        ReadAuditLog = "read_audit_log",
    }
}

named! {
    /// The role in which an actor acts.
    ActorRole, "the role" {
        /// A program that acts for an app, or any caller of a service without authentication.
        Service = "service",
        /// A person who manages the registry of apps.
        Operator = "operator",
        /// A person who helps the users of an app.
        Support = "support",
        /// A user of an app.
        User = "user",
        /// A command on a machine that can reach the database.
        CommandLine = "command_line",
    }
}

/// A text is not a value of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AuditError(String);

/// The caller of an action that is audited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    /// The role.
    pub role: ActorRole,
    /// The person; `None` for a program.
    pub person: Option<UserId>,
    /// The origin of the request.
    pub origin: Origin,
}

impl Actor {
    /// Creates the actor of a command on this machine.
    pub fn command_line() -> Self {
        Self { role: ActorRole::CommandLine, person: None, origin: Origin::default() }
    }
}

/// Where a call comes from. It decides nothing; the audit log records it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin {
    /// The network of the caller, if the call came over the network.
    pub network: Option<Network>,
    /// The request, if there is one.
    pub request_id: Option<RequestId>,
}

/// The network that contains an address: the first 24 bits of an IPv4 address, the first 48 bits of an IPv6 address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Network(IpAddr);

impl Network {
    const V4_BITS: u32 = 24;
    const V6_BITS: u32 = 48;

    /// Returns the network of an address. An IPv4 address that is written as IPv6 is an IPv4 address.
    pub fn containing(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => {
                Ipv4Addr::from_bits(address.to_bits() & !(u32::MAX >> Self::V4_BITS)).into()
            }
            IpAddr::V6(address) => {
                Ipv6Addr::from_bits(address.to_bits() & !(u128::MAX >> Self::V6_BITS)).into()
            }
        })
    }

    fn bits(self) -> u32 {
        if self.0.is_ipv4() { Self::V4_BITS } else { Self::V6_BITS }
    }
}

/// Writes the address and its length: `192.0.2.0/24`, `2001:db8:1::/48`.
impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.0, self.bits())
    }
}

impl FromStr for Network {
    type Err = AuditError;

    fn from_str(text: &str) -> Result<Self, AuditError> {
        let address = text.split_once('/').and_then(|(address, _)| address.parse().ok());
        let network = address.map(Self::containing).filter(|network| network.to_string() == text);
        network.ok_or_else(|| AuditError("a network must be IPv4 with /24 or IPv6 with /48".into()))
    }
}

/// The id of a request that is a random number: a UUID, or 32 hexadecimal digits, perhaps after `req_`.
///
/// Other ids that a client chooses could name a person, so the audit log does not hold them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestId(String);

impl RequestId {
    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RequestId {
    type Err = AuditError;

    fn from_str(text: &str) -> Result<Self, AuditError> {
        let number = text.strip_prefix("req_").unwrap_or(text);
        match uuid::Uuid::try_parse(number) {
            Ok(_) if matches!(number.len(), 32 | 36) => Ok(Self(text.to_owned())),
            _ => Err(AuditError("a request id must be a UUID, perhaps after req_".into())),
        }
    }
}

/// What stands for a person in the audit log of an app. Only the key of the person tells who it is.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pseudonym([u8; 32]);

/// Writes 64 hexadecimal digits.
impl fmt::Display for Pseudonym {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for Pseudonym {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Pseudonym {
    type Err = AuditError;

    fn from_str(text: &str) -> Result<Self, AuditError> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes)
            .map_err(|_| AuditError("a pseudonym must be 64 hexadecimal digits".into()))?;
        Ok(Self(bytes))
    }
}

/// The secret that ties the pseudonym of a person in an app to the person. Without it the
/// pseudonym is anonymous.
#[derive(Clone, PartialEq, Eq)]
pub struct PseudonymKey([u8; Self::BYTES]);

impl PseudonymKey {
    /// The length of a key.
    pub const BYTES: usize = 32;

    /// Makes a key from random bytes.
    pub fn new(bytes: [u8; Self::BYTES]) -> Self {
        Self(bytes)
    }

    /// Returns the bytes, for the store.
    pub fn as_bytes(&self) -> &[u8; Self::BYTES] {
        &self.0
    }

    /// Returns the pseudonym of the person whose key this is: an HMAC-SHA-256 of the user id.
    pub fn pseudonym(&self, user_id: &UserId) -> Pseudonym {
        // HMAC itself pads a short key with zeros; a key of a whole block cannot have the wrong length.
        let mut block = [0; 64];
        block[..Self::BYTES].copy_from_slice(&self.0);
        let mut hmac = Hmac::<Sha256>::new(&block.into());
        hmac.update(user_id.as_str().as_bytes());
        Pseudonym(hmac.finalize().into_bytes().into())
    }
}

/// Shows no secret.
impl fmt::Debug for PseudonymKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PseudonymKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_cut_to_its_network() {
        for (address, network) in [
            ("192.0.2.255", "192.0.2.0/24"),
            ("::ffff:192.0.2.7", "192.0.2.0/24"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"),
            ("::1", "::/48"),
        ] {
            let cut = Network::containing(address.parse().unwrap());
            assert_eq!(cut.to_string(), network);
            assert_eq!(network.parse(), Ok(cut));
        }
        for bad in ["192.0.2.1/24", "192.0.2.0/16", "192.0.2.0", "2001:db8::/64", "x/24", ""] {
            assert!(bad.parse::<Network>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_request_id_holds_no_words() {
        let minted = "req_0198d4b2c0de7000800000000000abcd";
        let uuid = "0198d4b2-c0de-7000-8000-00000000abcd";
        for good in [minted, &minted[4..], uuid] {
            assert_eq!(good.parse::<RequestId>().unwrap().as_str(), good);
        }
        for bad in ["alice-smith", "", "req_", "req_alice", &format!("{{{uuid}}}")] {
            assert!(bad.parse::<RequestId>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_pseudonym_is_the_hmac_sha_256_of_the_user_under_its_key() {
        // From `printf alice | openssl dgst -sha256 -mac HMAC -macopt hexkey:0101…01`.
        let expected = "b9ac4ee7242bea2f07e6764f068b5e8f8cef7fe3941c3a961212ee79cde09ce7";
        let alice = UserId::parse("alice").unwrap();
        let pseudonym = PseudonymKey::new([1; 32]).pseudonym(&alice);
        assert_eq!(pseudonym.to_string(), expected);
        assert_eq!(expected.parse(), Ok(pseudonym));
        assert_ne!(PseudonymKey::new([2; 32]).pseudonym(&alice), pseudonym);
        assert_ne!(PseudonymKey::new([1; 32]).pseudonym(&UserId::parse("bob").unwrap()), pseudonym);
        for bad in ["", "alice", &expected[2..], &expected.replacen(&expected[..2], "+1", 1)] {
            assert!(bad.parse::<Pseudonym>().is_err(), "{bad}");
        }
        assert!(!format!("{:?}", PseudonymKey::new([1; 32])).contains('1'));
    }

    #[test]
    fn actions_and_roles_have_names() {
        for action in AuditAction::ALL {
            assert_eq!(action.as_str().parse(), Ok(action));
        }
        for role in ActorRole::ALL {
            assert_eq!(role.as_str().parse(), Ok(role));
        }
        let error = "drop".parse::<AuditAction>().unwrap_err();
        assert!(error.to_string().contains("list_apps, get_app"), "{error}");
    }
}
