use async_trait::async_trait;
use bson::{Bson, DateTime, doc};
use chrono::Utc;
use records::{AppId, ChatId, NewTicket, Scope, Ticket, TicketDigest};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::{SCHEMA_VERSION, encode, ticket_document, ticket_record};
use crate::mongo::engine::failure::is_duplicate_key;
use crate::store::Tickets;

#[async_trait]
impl Tickets for MongoStore {
    async fn create_ticket(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        ticket: NewTicket,
    ) -> Result<chrono::DateTime<Utc>, StoreError> {
        let expires_at = self.inner.clock.now() + ticket.valid_for;
        let document = encode(&ticket_document(scope, chat_id, &ticket, expires_at))?;
        let id = ticket.digest.to_string();
        self.write(|_| async {
            let chat = self.get_chat_within(scope, chat_id).await?;
            chat.ok_or_else(|| StoreError::ChatNotFound(chat_id.clone()))?;
            loop {
                match self.inner.tickets.insert_one(document.clone()).await {
                    Ok(_) => return Ok(()),
                    Err(error) if is_duplicate_key(&error) => {}
                    Err(error) => return Err(error.into()),
                }
                // An earlier attempt's. None: it is not durable yet, or was rolled back.
                if self.inner.tickets.find_one(doc! { "_id": &id }).await?.is_some() {
                    return Ok(());
                }
            }
        })
        .await?;
        Ok(expires_at)
    }

    async fn redeem_ticket(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
        digest: TicketDigest,
    ) -> Result<Option<Ticket>, StoreError> {
        // An attempt knows by its mark what an earlier one has redeemed.
        let mark = self.inner.ids.mint("redemption_");
        let unused = doc! {
            "_id": digest.to_string(),
            "app_id": app_id.as_str(),
            "chat_id": chat_id.as_str(),
            "expires_at": { "$gt": DateTime::from_chrono(self.inner.clock.now()) },
            "redeemed_by": { "$in": [Bson::Null, Bson::from(&mark)] },
            "schema_version": { "$lte": SCHEMA_VERSION },
        };
        let change = doc! { "$set": { "redeemed_by": &mark } };
        self.write(|_| async {
            let redeeming =
                self.inner.tickets.find_one_and_update(unused.clone(), change.clone()).await?;
            Ok(redeeming.map(|raw| ticket_record(&raw)).transpose()?)
        })
        .await
    }
}
