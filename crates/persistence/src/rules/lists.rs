//! Which lists of chat sessions an index serves: one read of it gives a page, however many chats there are.

use records::{Invalid, Reach, Scope};

use crate::store::{ChatFilter, ChatOrder, ListCursor};

/// What a list may be asked for, in words for people.
const SERVED: &str = "lists can be ordered by created, with any of workflow_name, user_id, status, created_from and \
                      created_before; or by active, alone or with user_id, which is one's own for a user";

/// Refuses a list that no index serves in its order, and a cursor of a list in another order.
pub(crate) fn check_list(
    scope: &Scope,
    filter: &ChatFilter,
    after: Option<&ListCursor>,
) -> Result<(), Invalid> {
    if after.is_some_and(|cursor| cursor.position.order() != filter.order) {
        return Err(Invalid::value("/cursor", "belongs to a list in another order"));
    }
    match unserved(scope, filter) {
        None => Ok(()),
        Some(field) => {
            Err(Invalid::value(field, format!("cannot be combined with this order_by: {SERVED}")))
        }
    }
}

/// Returns whether the list holds nothing but the person's own chats.
pub(crate) fn is_of_owner(scope: &Scope, filter: &ChatFilter) -> bool {
    match scope.reach(scope.permission) {
        Reach::Related(related) => {
            related.owner && filter.user_id.as_ref() == Some(related.user_id) && !filter.of_app
        }
        Reach::Every | Reach::None => false,
    }
}

/// Returns a filter that no index of the order serves.
fn unserved(scope: &Scope, filter: &ChatFilter) -> Option<&'static str> {
    if filter.order == ChatOrder::Created {
        return None;
    }
    let finds_user = !filter.of_app
        && (is_of_owner(scope, filter) || scope.reach(scope.permission) == Reach::Every);
    [
        ("/workflow_name", filter.workflow_name.is_some()),
        ("/user_id", filter.user_id.is_some() && !finds_user),
        ("/status", filter.status.is_some()),
        ("/created_from", filter.created_from.is_some()),
        ("/created_before", filter.created_before.is_some()),
    ]
    .into_iter()
    .find_map(|(field, is_unserved)| is_unserved.then_some(field))
}
