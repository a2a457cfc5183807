use bson::{Document, doc};
use records::{Caller, ChatId, Scope};

use crate::mongo::documents::{NEWEST_VERSION, counter};

/// Returns the filter for a chat within a scope, with which every write to a session begins.
///
/// It does not match a document of a newer schema, or a chat whose current lease differs from the
/// caller's.
pub(crate) fn writable_chat(scope: &Scope, chat_id: &ChatId) -> Document {
    let mut filter = visible_chat(scope, chat_id);
    filter.insert("schema_version", doc! { "$lte": NEWEST_VERSION });
    if let Some(token) = scope.fencing_token {
        filter.insert("lease.fencing_token", counter(token));
    }
    filter
}

/// Returns the filter to read a chat within a scope.
pub(crate) fn visible_chat(scope: &Scope, chat_id: &ChatId) -> Document {
    let mut filter = doc! { "_id": chat_id.as_str() };
    filter.extend(visible_chats(scope));
    filter
}

/// Returns the filter for all chats within a scope.
pub(crate) fn visible_chats(scope: &Scope) -> Document {
    let mut filter = doc! { "app_id": scope.app_id.as_str() };
    if let Caller::User { user_id, team_id } = &scope.caller {
        let mut open = vec![doc! { "visibility": "app" }, doc! { "user_id": user_id.as_str() }];
        if let Some(team_id) = team_id {
            open.push(doc! { "visibility": "team", "team_id": team_id.as_str() });
        }
        filter.insert("$or", open);
    }
    filter
}
