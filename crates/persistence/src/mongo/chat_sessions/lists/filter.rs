use bson::{Bson, DateTime, Document, doc};
use records::{
    AssistantId, ChatId, ChatStatus, Lifecycle, Scope, TeamId, TurnOutcome, UserId, WorkflowName,
    minute_of,
};

use crate::mongo::collections::{
    ACTIVE_MINUTE, FIRST_PENDING_INPUT, FORKED_FROM, IS_LISTED, LAST_TURN_OUTCOME, MEMBERS_PATH,
};
use crate::mongo::documents::{Attribute, LIFECYCLE};
use crate::mongo::engine::scope::listed_chats;
use crate::rules::lists::ListRange;
use crate::store::ChatFilter;

/// Returns the filter for the chats of a list that are in a range of an index.
///
/// It names each value of lifecycle and status. The server then merges small scans, each in the order of the list, and reads
/// no chat that the list leaves out.
pub(super) fn list_filter(scope: &Scope, filter: &ChatFilter, range: ListRange) -> Document {
    let mut query = listed_chats(scope, range);
    // Every user of the app finds them.
    if filter.of_app {
        query.insert(IS_LISTED, true);
    }
    query.insert(LIFECYCLE, lifecycle_condition(scope, filter));
    let statuses = match filter.statuses.as_slice() {
        [] => ChatStatus::ALL.as_slice(),
        some => some,
    };
    let statuses: Vec<i32> = statuses.iter().map(|status| status.number()).collect();
    query.insert("status", doc! { "$in": statuses });
    if let Some(metadata) = filter.metadata.as_ref().filter(|_| range == ListRange::Metadata) {
        query.extend(Attribute::of(metadata).condition());
    }
    // In conditions of their own, because the range may set the same field.
    let named = [
        ("workflow_name", filter.workflow_name.as_ref().map(WorkflowName::as_str)),
        ("user_id", filter.user_id.as_ref().map(UserId::as_str)),
        (MEMBERS_PATH, filter.member.as_ref().map(UserId::as_str)),
        ("team_id", filter.team_id.as_ref().map(TeamId::as_str)),
        ("assistant_id", filter.assistant_id.as_ref().map(AssistantId::as_str)),
        (LAST_TURN_OUTCOME, filter.last_turn_outcome.map(TurnOutcome::as_str)),
        (FORKED_FROM, filter.forked_from.as_ref().map(ChatId::as_str)),
    ];
    let named = named.into_iter().filter_map(|(field, value)| Some(doc! { field: value? }));
    let mut conditions: Vec<Document> = named.collect();
    if filter.needs_input {
        conditions.push(doc! { FIRST_PENDING_INPUT: { "$exists": true } });
    }
    let from = |at| doc! { "$gte": DateTime::from_chrono(at) };
    let before = |at| doc! { "$lt": DateTime::from_chrono(at) };
    let times = [
        ("created_at", filter.created_from.map(from)),
        ("created_at", filter.created_before.map(before)),
        (ACTIVE_MINUTE, filter.active_from.map(minute_of).map(from)),
        (ACTIVE_MINUTE, filter.active_before.map(minute_of).map(before)),
    ];
    let times = times.into_iter().filter_map(|(field, time)| Some(doc! { field: time? }));
    conditions.extend(times);
    if !conditions.is_empty() {
        query.insert("$and", conditions);
    }
    query
}

/// Returns the condition that a list has for the lifecycle: the values that are stored for those that it shows.
fn lifecycle_condition(scope: &Scope, filter: &ChatFilter) -> Document {
    // An active chat has no lifecycle.
    let stored = shown_lifecycles(scope, filter).map(|lifecycle| match lifecycle {
        Lifecycle::Active => Bson::Null,
        other => other.number().into(),
    });
    doc! { "$in": stored.collect::<Vec<_>>() }
}

/// Returns the lifecycles of the chats that a list shows.
pub(super) fn shown_lifecycles(
    scope: &Scope,
    filter: &ChatFilter,
) -> impl Iterator<Item = Lifecycle> {
    let is_shown = |it: &Lifecycle| scope.finds(*it) && filter.has_lifecycle(*it);
    Lifecycle::ALL.into_iter().filter(is_shown)
}
