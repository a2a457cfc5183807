use async_trait::async_trait;
use bson::{Bson, DateTime, doc};
use chrono::Utc;
use records::{AppId, ChatId, NewTicket, Scope, Ticket, TicketDigest};

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::documents::{NEWEST_VERSION, TicketDocument, encode, ticket_record};
use crate::mongo::engine::inserts::insert_or_get;
use crate::store::Tickets;

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
                "redeemed_by": { "$in": [Bson::Null, Bson::from(&mark)] },
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
