use bson::{Document, doc};
use records::{Caller, ChatId, Grant, MemberRole, Permission, Reach, Relations, Scope};

use crate::mongo::documents::{LIFECYCLE, NEWEST_VERSION, counter};

/// Returns the filter for a chat within a scope, with which every write to a session begins.
///
/// It does not match a document of a newer schema, or a chat whose current lease differs from the
/// caller's.
pub(crate) fn writable_chat(scope: &Scope, chat_id: &ChatId) -> Document {
    let mut filter = permitted_chat(scope, chat_id);
    filter.insert("schema_version", doc! { "$lte": NEWEST_VERSION });
    if let Some(token) = scope.fencing_token {
        filter.insert("lease.fencing_token", counter(token));
    }
    filter
}

/// Returns the filter for a chat in which the caller has the permission of the scope.
pub(crate) fn permitted_chat(scope: &Scope, chat_id: &ChatId) -> Document {
    let mut filter = doc! { "_id": chat_id.as_str() };
    filter.extend(permitted_chats(scope));
    filter
}

/// Returns the filter for all chats in which the caller has the permission of the scope.
///
/// The lifecycle is part of it, so the filter of a write decides whether the chat was deleted before.
pub(crate) fn permitted_chats(scope: &Scope) -> Document {
    let mut filter = doc! { "app_id": scope.app_id.as_str() };
    // An active chat has no lifecycle.
    let hidden = doc! { "$gte": scope.first_hidden().number() };
    filter.insert(LIFECYCLE, doc! { "$not": hidden });
    let any = match scope.reach(scope.permission) {
        Reach::Every => return filter,
        Reach::None => Vec::new(),
        Reach::Related(related) => {
            let visitors = related.visitors.then(|| doc! { "visibility": "app" });
            related_chats(&related).into_iter().chain(visitors).collect()
        }
    };
    // An empty `$or` is an error; `$nor` of everything matches nothing.
    let (operator, filters) = if any.is_empty() { ("$nor", vec![doc! {}]) } else { ("$or", any) };
    filter.insert(operator, filters);
    filter
}

/// Returns the filters for the chats in a person's list, as far as they have the permission of the scope: those that are
/// theirs, that they are a member of, and that their team shares. Others list every chat of the app.
///
/// Each is one range of an index, in the order of the list. For one query with `$or` the server would not always choose
/// these indexes.
pub(crate) fn listed_chats(scope: &Scope) -> Vec<Document> {
    let app = doc! { "app_id": scope.app_id.as_str() };
    let related = match scope.reach(scope.permission) {
        Reach::Every => return vec![app],
        Reach::None => return Vec::new(),
        Reach::Related(related) => related,
    };
    let within_app = |filter| app.clone().into_iter().chain(filter).collect();
    related_chats(&related).into_iter().map(within_app).collect()
}

/// Returns the filter for the chats that every user of the app finds.
pub(crate) fn chats_of_app(scope: &Scope) -> Document {
    doc! { "app_id": scope.app_id.as_str(), "is_listed": true }
}

/// Returns a filter for each relation of a person to a chat.
fn related_chats(related: &Relations<'_>) -> Vec<Document> {
    let user_id = related.user_id.as_str();
    let owner = related.owner.then(|| doc! { "user_id": user_id });
    let member = match related.members {
        [] => None,
        roles if roles.len() == MemberRole::ALL.len() => Some(doc! { "members.user_id": user_id }),
        roles => {
            let roles: Vec<_> = roles.iter().map(|role| role.as_str()).collect();
            let one = doc! { "user_id": user_id, "role": { "$in": roles } };
            Some(doc! { "members": { "$elemMatch": one } })
        }
    };
    let team = related.team.map(|team| doc! { "visibility": "team", "team_id": team.as_str() });
    [owner, member, team].into_iter().flatten().collect()
}

/// Returns whether the caller may have the permission of the scope in some chats and not in others.
pub(crate) fn depends_on_chat(scope: &Scope) -> bool {
    scope.permission != Permission::Read
        && (scope.caller != Caller::Service || scope.grant != Grant::Everything)
}
