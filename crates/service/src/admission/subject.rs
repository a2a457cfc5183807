use std::net::IpAddr;

use records::{AppId, Scope, UserId};

use crate::auth::Identity;

/// The caller for whom a request is counted.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    /// A person.
    User(UserId),
    /// The services of an app; `None` for requests whose path names no app.
    Service(Option<AppId>),
    /// A caller that no header identifies: its address, if known.
    Address(Option<IpAddr>),
}

impl Subject {
    /// Returns the caller of a scope.
    pub(crate) fn of(scope: &Scope) -> Self {
        match scope.caller.person() {
            Some(person) => Self::User(person.clone()),
            None => Self::Service(Some(scope.app_id.clone())),
        }
    }

    pub(crate) fn new(
        identity: Option<&Identity>,
        app_id: Option<&AppId>,
        address: Option<IpAddr>,
    ) -> Self {
        match identity.map(Identity::person) {
            Some(Some(person)) => Self::User(person.clone()),
            Some(None) => Self::Service(app_id.cloned()),
            None => Self::Address(address),
        }
    }
}
