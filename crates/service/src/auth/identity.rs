//! Who a caller is, and what its token permits.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use records::{
    Actor, ActorRole, AppId, Bearer, Caller, Clock as _, Credential, Grant, Origin, Permission,
    SystemClock, TeamId, Ticket, UserId,
};

use super::{TICKET_VALID_FOR, unauthenticated};
use crate::config::AppSettings;
use crate::problem::{Problem, ProblemKind};

/// An identified caller.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(super) role: Role,
    /// When the identity expires; `None` for never.
    pub(crate) expires_at: Option<DateTime<Utc>>,
    pub(super) apps: Apps,
    /// What can be revoked: the token, and beside it the user for whom a program has requested a ticket.
    pub(super) credentials: Vec<Credential>,
    /// The apps in which one of the credentials is revoked.
    pub(super) revoked_in: Vec<AppId>,
    /// What the caller may use of their permissions.
    pub(super) grant: Grant,
    /// Where the request comes from, if that is known.
    pub(super) origin: Option<Arc<Origin>>,
}

/// What a caller is, by its token.
#[derive(Debug, Clone)]
pub(super) enum Role {
    /// Every caller in open mode, which may do everything.
    Local,
    /// A program that acts for a whole app.
    Service,
    /// A person who monitors the service and manages the registry of apps, and has no chats.
    Operator { user_id: UserId },
    /// A person who helps the users of an app.
    Support { user_id: UserId },
    /// A person.
    User { user_id: UserId, team_id: Option<TeamId> },
}

/// The apps that a caller may use.
#[derive(Debug, Clone)]
pub(super) enum Apps {
    All,
    These(Vec<AppId>),
}

impl From<Bearer> for Role {
    fn from(bearer: Bearer) -> Self {
        match bearer {
            Bearer::Service => Self::Service,
            Bearer::Operator { user_id } => Self::Operator { user_id },
            Bearer::Support { user_id } => Self::Support { user_id },
            Bearer::User { user_id, team_id } => Self::User { user_id, team_id },
        }
    }
}

impl Identity {
    /// Returns the identity of every caller in open mode.
    pub(super) fn local() -> Self {
        Self {
            role: Role::Local,
            expires_at: None,
            apps: Apps::All,
            credentials: Vec::new(),
            revoked_in: Vec::new(),
            grant: Grant::Everything,
            origin: None,
        }
    }

    /// Returns the identity of the bearer of a ticket to a chat of an app.
    pub(super) fn from_ticket(app_id: AppId, ticket: Ticket) -> Result<Self, Problem> {
        let Ticket { caller, grant, caller_expires_at: expires_at, credential } = ticket;
        let now = SystemClock.now();
        if expires_at.is_some_and(|expires_at| expires_at <= now) {
            return Err(unauthenticated("the token with which the ticket was created has expired"));
        }
        let role = match caller {
            Caller::Service => Role::Service,
            Caller::Support { user_id } => Role::Support { user_id },
            Caller::User { user_id, team_id, may_run: _ } => Role::User { user_id, team_id },
        };
        let mut identity = Self {
            role,
            expires_at,
            apps: Apps::These(vec![app_id]),
            credentials: vec![credential],
            revoked_in: Vec::new(),
            grant,
            origin: None,
        };
        identity.add_person(now - TICKET_VALID_FOR);
        Ok(identity)
    }

    /// Adds the person if another caller's token vouches for them, as that of a program does in a ticket.
    fn add_person(&mut self, issued_at: DateTime<Utc>) {
        let subject = self.person().cloned();
        if subject.is_some() && self.credentials.iter().all(|it| it.subject != subject) {
            let issued_at = Some(issued_at);
            let credential = Credential { subject, issued_at, ..Credential::default() };
            self.credentials.push(credential);
        }
    }

    /// Returns what the token of the caller says about itself, for a ticket.
    pub(crate) fn credential(&self) -> Credential {
        self.credentials.first().cloned().unwrap_or_default()
    }

    /// Returns the same identity in a request from this origin.
    #[must_use]
    pub(crate) fn at(self, origin: Option<Arc<Origin>>) -> Self {
        Self { origin, ..self }
    }

    /// Returns where the request comes from.
    pub(crate) fn origin(&self) -> Option<Arc<Origin>> {
        self.origin.clone()
    }

    /// Returns what the caller may use of their permissions.
    pub(crate) fn grant(&self) -> Grant {
        self.grant
    }

    /// Returns the actor of an action that belongs to no chat.
    pub(crate) fn actor(&self) -> Actor {
        let role = match self.role {
            Role::Local | Role::Service => ActorRole::Service,
            Role::Operator { .. } => ActorRole::Operator,
            Role::Support { .. } => ActorRole::Support,
            Role::User { .. } => ActorRole::User,
        };
        let origin = self.origin.as_deref().cloned().unwrap_or_default();
        Actor { role, person: self.person().cloned(), origin }
    }

    /// Returns the caller of a request to the chats of an app with these settings.
    pub(crate) fn caller(&self, app: AppSettings) -> Result<Caller, Problem> {
        let refused = |detail| Err(Problem::new(ProblemKind::FORBIDDEN_ROLE, detail));
        match self.role.clone() {
            Role::Local | Role::Service => Ok(Caller::Service),
            Role::Operator { .. } => refused(
                "an operator has no access to chats and wallets; use a token with the role service, or that of a person",
            ),
            Role::Support { user_id } => {
                app.admit_support()?;
                Ok(Caller::Support { user_id })
            }
            Role::User { user_id, team_id } => {
                Ok(Caller::User { user_id, team_id, may_run: app.users_may_run })
            }
        }
    }

    /// Returns the name of the role.
    pub(crate) fn role(&self) -> &'static str {
        match self.role {
            Role::Local | Role::Service => "service",
            Role::Operator { .. } => "operator",
            Role::Support { .. } => "support",
            Role::User { .. } => "user",
        }
    }

    /// Returns the apps that the caller may use; `None` for all.
    pub(crate) fn apps(&self) -> Option<&[AppId]> {
        match &self.apps {
            Apps::All => None,
            Apps::These(apps) => Some(apps),
        }
    }

    /// Returns the person; `None` for a program.
    pub(crate) fn person(&self) -> Option<&UserId> {
        match &self.role {
            Role::Local | Role::Service => None,
            Role::Operator { user_id } | Role::Support { user_id } | Role::User { user_id, .. } => {
                Some(user_id)
            }
        }
    }

    /// Tells whether the caller is a program with a token of the role `service`.
    pub(crate) fn is_service(&self) -> bool {
        matches!(self.role, Role::Service)
    }

    /// Refuses a caller whose role does not have a permission that belongs to no chat.
    pub(crate) fn require(&self, needed: Permission) -> Result<(), Problem> {
        let (is_held, rule) = match (needed, &self.role) {
            (_, Role::Local) => return Ok(()),
            (Permission::Administer, role) => (
                matches!(role, Role::Operator { .. }),
                "the registry of apps requires a token with the role operator",
            ),
            (Permission::Observe, role) => (
                matches!(role, Role::Operator { .. } | Role::Service),
                "statistics and metrics require a token with the role service or operator",
            ),
            (_, role) => (
                matches!(role, Role::Service),
                "changing a wallet requires a token with the role service",
            ),
        };
        if is_held { Ok(()) } else { Err(Problem::new(ProblemKind::FORBIDDEN_ROLE, rule)) }
    }

    /// Refuses a caller whose token is revoked in the app.
    pub(crate) fn check_revoked_in(&self, app_id: &AppId) -> Result<(), Problem> {
        if self.revoked_in.contains(app_id) {
            return Err(unauthenticated("the token was revoked for this app"));
        }
        Ok(())
    }

    /// Tells whether the caller may use the app.
    pub(crate) fn may_use_app(&self, app_id: &AppId) -> bool {
        if self.revoked_in.contains(app_id) {
            return false;
        }
        match &self.apps {
            Apps::All => true,
            Apps::These(apps) => apps.contains(app_id),
        }
    }
}
