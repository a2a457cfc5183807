use async_trait::async_trait;
use bson::{Bson, DateTime, RawDocument, doc};
use chrono::Utc;
use records::{
    AppId, Caller, ChatId, Credential, Grant, NewTicket, Permission, Scope, TeamId, Ticket,
    TicketDigest, TokenId, UserId,
};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::TICKETS;
use crate::mongo::documents::stored::{FieldError, read_record};
use crate::mongo::documents::word::StoredName;
use crate::mongo::documents::{NEWEST_VERSION, SCHEMA_VERSION, encode};
use crate::mongo::engine::inserts::insert_or_get;
use crate::store::Tickets;

/// What an unused ticket has as `redeemed_by` if it is narrowed. Earlier releases, which would grant every permission of
/// the caller, do not redeem it.
const NARROWED: &str = "unused";

#[async_trait]
impl Tickets for MongoStore {
    async fn create_ticket(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        ticket: NewTicket,
    ) -> Result<chrono::DateTime<Utc>, StoreError> {
        self.observe(Call::CreateTicket, Some(chat_id), async {
            let expires_at = self.inner.clock.now() + ticket.valid_for;
            let document = encode(&TicketDocument::new(scope, chat_id, &ticket, expires_at))?;
            let (scope, chat_id, id) = (scope.clone(), chat_id.clone(), ticket.digest.to_string());
            self.write(|call| async move {
                call.attempt(|_| async {
                    call.known_chat(&scope, &chat_id).await?;
                    let tickets = &call.inner.tickets;
                    // An existing ticket was stored by an earlier attempt.
                    let find = || async { Ok(tickets.find_one(doc! { "_id": &id }).await?) };
                    insert_or_get(tickets, &document, find).await.map(|_| ())
                })
                .await
            })
            .await?;
            Ok(expires_at)
        })
        .await
    }

    async fn redeem_ticket(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
        digest: TicketDigest,
    ) -> Result<Option<Ticket>, StoreError> {
        self.observe(Call::RedeemTicket, Some(chat_id), async {
            // The mark shows a retry what an earlier attempt has redeemed.
            let mark = self.inner.ids.mint("redemption_");
            let unused = doc! {
                "_id": digest.to_string(),
                "app_id": app_id.as_str(),
                "chat_id": chat_id.as_str(),
                "expires_at": { "$gt": DateTime::from_chrono(self.inner.clock.now()) },
                "redeemed_by": { "$in": [Bson::Null, Bson::from(NARROWED), Bson::from(&mark)] },
                "schema_version": { "$lte": NEWEST_VERSION },
            };
            let change = doc! { "$set": { "redeemed_by": &mark } };
            self.write(|call| async move {
                call.attempt(|_| async {
                    let tickets = &call.inner.tickets;
                    let redeeming =
                        tickets.find_one_and_update(unused.clone(), change.clone()).await?;
                    Ok(redeeming.map(|raw| ticket_record(&raw)).transpose()?)
                })
                .await
            })
            .await
        })
        .await
    }
}

/// A stored ticket that admits a client to a chat.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct TicketDocument {
    /// The digest of the ticket.
    #[serde(rename = "_id")]
    id: String,
    app_id: AppId,
    chat_id: ChatId,
    role: Role,
    user_id: Option<UserId>,
    team_id: Option<TeamId>,
    /// What the ticket is narrowed to; null for every permission of the caller.
    permissions: Option<Vec<StoredName<Permission>>>,
    caller_expires_at: Option<DateTime>,
    token_id: Option<TokenId>,
    token_subject: Option<UserId>,
    token_issued_at: Option<DateTime>,
    token_key: Option<String>,
    expires_at: DateTime,
    redeemed_by: Option<String>,
    schema_version: i64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    Service,
    Support,
    User,
}

impl TicketDocument {
    /// Creates the document of a new ticket.
    pub(crate) fn new(
        scope: &Scope,
        chat_id: &ChatId,
        ticket: &NewTicket,
        expires_at: chrono::DateTime<Utc>,
    ) -> Self {
        let (role, user_id, team_id) = match scope.caller.clone() {
            Caller::Service => (Role::Service, None, None),
            Caller::Support { user_id } => (Role::Support, Some(user_id), None),
            Caller::User { user_id, team_id, may_run: _ } => (Role::User, Some(user_id), team_id),
        };
        let permissions = ticket.grant.permissions();
        let Credential { token_id, subject, issued_at, key_digest } = ticket.credential.clone();
        Self {
            id: ticket.digest.to_string(),
            app_id: scope.app_id.clone(),
            chat_id: chat_id.clone(),
            role,
            user_id,
            team_id,
            permissions: permissions.map(|them| them.iter().copied().map(StoredName).collect()),
            caller_expires_at: ticket.caller_expires_at.map(DateTime::from_chrono),
            token_id,
            token_subject: subject,
            token_issued_at: issued_at.map(DateTime::from_chrono),
            token_key: key_digest,
            expires_at: DateTime::from_chrono(expires_at),
            redeemed_by: permissions.map(|_| NARROWED.to_owned()),
            schema_version: SCHEMA_VERSION,
        }
    }
}

impl TryFrom<TicketDocument> for Ticket {
    type Error = FieldError;

    fn try_from(document: TicketDocument) -> Result<Self, FieldError> {
        let person = document.user_id.ok_or_else(|| FieldError::new("user_id"));
        let caller = match document.role {
            Role::Service => Caller::Service,
            Role::Support => Caller::Support { user_id: person? },
            // A stream only reads and says; whether the app lets its users run workflows is not asked.
            Role::User => {
                Caller::User { user_id: person?, team_id: document.team_id, may_run: false }
            }
        };
        let permissions: Option<Vec<_>> =
            document.permissions.map(|them| them.into_iter().map(|it| it.0).collect());
        let grant = Grant::of(permissions.as_deref());
        let grant = grant.ok_or_else(|| FieldError::new("permissions"))?;
        let caller_expires_at = document.caller_expires_at.map(DateTime::to_chrono);
        let credential = Credential {
            token_id: document.token_id,
            subject: document.token_subject,
            issued_at: document.token_issued_at.map(DateTime::to_chrono),
            key_digest: document.token_key,
        };
        Ok(Self { caller, grant, caller_expires_at, credential })
    }
}

/// Reads a ticket.
pub(crate) fn ticket_record(raw: &RawDocument) -> Result<Ticket, StoreError> {
    read_record::<TicketDocument, _>(TICKETS, raw)
}
