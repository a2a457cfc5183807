use bson::{Document, RawDocumentBuf, doc};
use records::{
    AppId, Caller, ChatId, Grant, MemberRole, Permission, Reach, Relations, Scope, Visibility,
};

use crate::mongo::collections::MEMBERS_PATH;
use crate::mongo::documents::word::StoredEnum;
use crate::mongo::documents::{LIFECYCLE, NEWEST_VERSION, counter};
use crate::rules::lists::ListRange;

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

/// Returns the filter for a chat whatever a caller may do: for the store's own work, and for that of operators.
pub(crate) fn chat_filter(app_id: &AppId, chat_id: &ChatId) -> Document {
    doc! { "_id": chat_id.as_str(), "app_id": app_id.as_str() }
}

/// Returns the ids of the chats that were found.
pub(crate) fn chat_ids(found: &[RawDocumentBuf]) -> impl Iterator<Item = ChatId> {
    found.iter().filter_map(|raw| ChatId::parse(raw.get_str("_id").ok()?).ok())
}

/// Returns the filter for the chats that show sealed messages of some chats: these themselves, and their forks.
pub(crate) fn chats_showing(app_id: &AppId, chats: &[&str]) -> Document {
    doc! {
        "app_id": app_id.as_str(),
        "$or": [{ "_id": { "$in": chats } }, { "bases.chat_id": { "$in": chats } }],
    }
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
    require_one_of(&mut filter, "app_id", any);
    filter
}

/// Returns the filter for the chats of a range of a list: those of the app, as far as the caller's relation to them makes the
/// range. What the caller's filter makes of it is added to it.
///
/// The list of a person consists of several ranges. For one query with `$or` the server would not always choose their
/// indexes.
pub(crate) fn listed_chats(scope: &Scope, range: ListRange) -> Document {
    let mut chats = doc! { "app_id": scope.app_id.as_str() };
    let relation = match (range, scope.reach(scope.permission)) {
        (ListRange::Team, Reach::Every) => {
            let all = Visibility::ALL.map(StoredEnum::name);
            Some(doc! { "visibility": { "$in": all.as_slice() } })
        }
        (ListRange::User | ListRange::WaitingUser, Reach::Related(related)) => {
            owned_chats(&related)
        }
        (ListRange::Member | ListRange::WaitingMember, Reach::Related(related)) => {
            joined_chats(&related)
        }
        (ListRange::Team | ListRange::WaitingTeam, Reach::Related(related)) => team_chats(&related),
        (ListRange::Forks, Reach::Related(related)) => {
            require_one_of(&mut chats, "app_id", related_chats(&related));
            None
        }
        _ => None,
    };
    chats.extend(relation.unwrap_or_default());
    chats
}

/// Returns the filter for the assistants, or the documents of no chat, that the caller finds and in which they have the permission
/// of the scope. `open` are the visibilities by which every user of the app finds one.
pub(crate) fn listed_records(scope: &Scope, open: &[Visibility]) -> Document {
    let mut filter = doc! { "_id.app_id": scope.app_id.as_str() };
    let any = match scope.reach(scope.permission) {
        Reach::Every => return filter,
        Reach::None => Vec::new(),
        Reach::Related(related) => {
            let open: Vec<&str> = open.iter().map(|visibility| visibility.as_str()).collect();
            let visitors = related.visitors.then(|| doc! { "visibility": { "$in": open } });
            let relations = [owned_chats(&related), team_chats(&related), visitors];
            relations.into_iter().flatten().collect()
        }
    };
    require_one_of(&mut filter, "_id.app_id", any);
    filter
}

/// Adds the condition that one of some filters matches. `app` is the field with the app.
///
/// What is added to the filter afterwards must not replace `$or` or the app.
fn require_one_of(filter: &mut Document, app: &str, filters: Vec<Document>) {
    // An empty `$or` is an error. No app has an empty id.
    if filters.is_empty() {
        filter.insert(app, "");
    } else {
        filter.insert("$or", filters);
    }
}

/// Returns a filter for each relation of a person to a chat.
fn related_chats(related: &Relations<'_>) -> Vec<Document> {
    let relations = [owned_chats(related), joined_chats(related), team_chats(related)];
    relations.into_iter().flatten().collect()
}

fn owned_chats(related: &Relations<'_>) -> Option<Document> {
    related.owner.then(|| doc! { "user_id": related.user_id.as_str() })
}

fn joined_chats(related: &Relations<'_>) -> Option<Document> {
    let user_id = related.user_id.as_str();
    match related.members {
        [] => None,
        roles if roles.len() == MemberRole::ALL.len() => Some(doc! { MEMBERS_PATH: user_id }),
        roles => {
            let roles: Vec<_> = roles.iter().map(|role| role.as_str()).collect();
            let one = doc! { "user_id": user_id, "role": { "$in": roles } };
            // The path by itself lets the server read lists in the order of their index.
            Some(doc! { MEMBERS_PATH: user_id, "members": { "$elemMatch": one } })
        }
    }
}

fn team_chats(related: &Relations<'_>) -> Option<Document> {
    related.team.map(|team| doc! { "visibility": "team", "team_id": team.as_str() })
}

/// Returns whether the caller may have the permission of the scope in some chats and not in others.
pub(crate) fn depends_on_chat(scope: &Scope) -> bool {
    scope.permission != Permission::Read
        && (scope.caller != Caller::Service || scope.grant != Grant::Everything)
}
