//! Which lists of chat sessions an index serves: one read of it gives a page, however many chats there are.

use records::{Invalid, Lifecycle, Reach, Relations, Scope, UserId as PersonId};

use crate::store::{ChatFilter, ChatOrder, ListCursor};

/// A list that an index serves: the chats of a range of it, in the order of the index.
///
/// `status` and `lifecycle` stand before the order in each of the indexes, and what narrows the list behind it. So every page
/// is read in order, and chats of another status, lifecycle or narrowing are not read.
#[derive(Debug)]
pub(crate) struct ServedList {
    pub(crate) range: ListRange,
    pub(crate) order: ChatOrder,
    /// The name of the index.
    pub(crate) index: &'static str,
    /// The filters that restrict the range further.
    narrowed_by: &'static [ListFilter],
}

/// The chats that a range of an index holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListRange {
    /// The chats that wait for an answer.
    Waiting,
    /// Those of them that a person owns.
    WaitingUser,
    /// Those that a user is a member of.
    WaitingMember,
    /// Those that the team of a person shares.
    WaitingTeam,
    /// The chats of an owner.
    User,
    /// The chats that a user is a member of.
    Member,
    /// The chats of a team; for a person those that the team shares.
    Team,
    /// The chats that every user of the app finds.
    Listed,
    /// The chats whose title has a part.
    Title,
    /// The chats whose metadata have a value.
    Metadata,
    Assistant,
    LastTurn,
    /// The forks of a chat.
    Forks,
    Workflow,
    /// All chats of the app.
    App,
}

/// A filter of a list. `status` and `lifecycle` are not among them: every list has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListFilter {
    WorkflowName,
    UserId,
    Member,
    TeamId,
    AssistantId,
    TitleContains,
    Metadata,
    NeedsInput,
    LastTurnOutcome,
    ForkedFrom,
    CreatedFrom,
    CreatedBefore,
    ActiveFrom,
    ActiveBefore,
}

use ChatOrder::{Active, Created, Sort, Title};
use ListFilter::{
    ActiveBefore, ActiveFrom, AssistantId, CreatedBefore, CreatedFrom, ForkedFrom, LastTurnOutcome,
    Member, Metadata, NeedsInput, TeamId, TitleContains, UserId, WorkflowName,
};

/// What narrows the lists of one person's chats, which are few.
const OF_PERSON: &[ListFilter] = &[WorkflowName, UserId, TeamId, AssistantId, LastTurnOutcome];

/// The same with titles, which are compared with the chats, not in the index.
const OF_PERSON_TITLED: &[ListFilter] =
    &[WorkflowName, UserId, TeamId, AssistantId, LastTurnOutcome, TitleContains];

/// The same with metadata, which are compared in the same way.
const OF_PERSON_COMPARED: &[ListFilter] =
    &[WorkflowName, UserId, TeamId, AssistantId, LastTurnOutcome, TitleContains, Metadata];

/// What narrows the lists of chats that wait for an answer, which are few as well.
const WAITING: &[ListFilter] = &[WorkflowName, UserId, TeamId, AssistantId];

/// What narrows the lists of chats whose last turn ended in one way.
const OF_OUTCOME: &[ListFilter] = &[WorkflowName, AssistantId];

/// Every list that is served. Of two that serve a list, the first one is read.
pub(crate) static SERVED: &[ServedList] = &[
    ServedList::of(ListRange::WaitingMember, Active, "cs_list_waiting_member_active", WAITING),
    ServedList::of(ListRange::Waiting, Active, "cs_list_waiting_active", WAITING),
    ServedList::of(ListRange::WaitingUser, Active, "cs_list_waiting_active", WAITING),
    ServedList::of(ListRange::WaitingTeam, Active, "cs_list_waiting_active", WAITING),
    ServedList::of(ListRange::User, Created, "cs_list_user_created", OF_PERSON_COMPARED),
    ServedList::of(ListRange::User, Active, "cs_list_user_active", OF_PERSON_COMPARED),
    ServedList::of(ListRange::User, Title, "cs_list_user_title_key", OF_PERSON_COMPARED),
    ServedList::of(ListRange::User, Sort, "cs_list_user_sort", OF_PERSON_COMPARED),
    ServedList::of(ListRange::Member, Created, "cs_list_member_created", OF_PERSON_COMPARED),
    ServedList::of(ListRange::Member, Active, "cs_list_member_active", OF_PERSON_COMPARED),
    ServedList::of(ListRange::Member, Title, "cs_list_member_title_key", OF_PERSON_COMPARED),
    ServedList::of(ListRange::Member, Sort, "cs_list_member_sort", OF_PERSON_COMPARED),
    ServedList::of(ListRange::Team, Created, "cs_list_team_created", OF_PERSON_COMPARED),
    ServedList::of(ListRange::Team, Active, "cs_list_team_active", OF_PERSON_COMPARED),
    ServedList::of(ListRange::Team, Title, "cs_list_team_title_key", OF_PERSON_COMPARED),
    ServedList::of(ListRange::Team, Sort, "cs_list_team_sort", OF_PERSON_COMPARED),
    ServedList::of(ListRange::Listed, Created, "cs_list_listed_created", OF_PERSON),
    ServedList::of(ListRange::Listed, Active, "cs_list_listed_active", OF_PERSON),
    ServedList::of(ListRange::Title, Created, "cs_list_title", OF_PERSON_TITLED),
    ServedList::of(ListRange::Title, Active, "cs_list_title", &[]),
    ServedList::of(ListRange::Metadata, Created, "cs_list_attrs_created", &[]),
    ServedList::of(ListRange::Assistant, Active, "cs_list_assistant_active", &[]),
    ServedList::of(ListRange::LastTurn, Active, "cs_list_turn_outcome_active", OF_OUTCOME),
    ServedList::of(ListRange::Forks, Created, "cs_list_forked_created", &[]),
    ServedList::of(ListRange::Workflow, Created, "cs_list_workflow_created", &[]),
    ServedList::of(ListRange::Workflow, Active, "cs_list_workflow_active", &[]),
    ServedList::of(ListRange::App, Created, "cs_list_created", &[]),
    ServedList::of(ListRange::App, Active, "cs_list_active", &[]),
    ServedList::of(ListRange::App, Title, "cs_list_title_key", &[]),
    ServedList::of(ListRange::App, Sort, "cs_list_sort", &[]),
];

impl ServedList {
    const fn of(
        range: ListRange,
        order: ChatOrder,
        index: &'static str,
        narrowed_by: &'static [ListFilter],
    ) -> Self {
        Self { range, order, index, narrowed_by }
    }

    /// Returns whether the chats of the range are compared with the filter one by one, because the index has not all of it.
    pub(crate) fn compares(&self, filter: &ChatFilter) -> bool {
        TitleContains.is_in(filter)
            || Metadata.is_in(filter) && !self.range.selected_by().contains(&Metadata)
    }

    /// Returns a filter that the index does not serve.
    fn unserved(&self, filter: &ChatFilter) -> Option<ListFilter> {
        let is_served = |it: &ListFilter| {
            self.range.selected_by().contains(it)
                || self.narrowed_by.contains(it)
                || times_of(self.order).contains(it)
        };
        ListFilter::ALL.into_iter().find(|it| it.is_in(filter) && !is_served(it))
    }
}

impl ListRange {
    /// Returns the filters that together select the range.
    fn selected_by(self) -> &'static [ListFilter] {
        match self {
            Self::Waiting | Self::WaitingUser | Self::WaitingTeam => &[NeedsInput],
            Self::WaitingMember => &[NeedsInput, Member],
            Self::User => &[UserId],
            Self::Member => &[Member],
            Self::Team => &[TeamId],
            Self::Title => &[TitleContains],
            Self::Metadata => &[Metadata],
            Self::Assistant => &[AssistantId],
            Self::LastTurn => &[LastTurnOutcome],
            Self::Forks => &[ForkedFrom],
            Self::Workflow => &[WorkflowName],
            Self::Listed | Self::App => &[],
        }
    }

    /// Returns the parameters that select the range.
    fn words(self) -> Vec<&'static str> {
        match self {
            Self::Listed => vec!["scope=app"],
            range => range.selected_by().iter().map(|filter| filter.name()).collect(),
        }
    }
}

impl ListFilter {
    const ALL: [Self; 14] = [
        WorkflowName,
        UserId,
        Member,
        TeamId,
        AssistantId,
        TitleContains,
        Metadata,
        NeedsInput,
        LastTurnOutcome,
        ForkedFrom,
        CreatedFrom,
        CreatedBefore,
        ActiveFrom,
        ActiveBefore,
    ];

    /// Returns where the filter stands in a request.
    fn location(self) -> &'static str {
        match self {
            WorkflowName => "/workflow_name",
            UserId => "/user_id",
            Member => "/member",
            TeamId => "/team_id",
            AssistantId => "/assistant_id",
            TitleContains => "/title_contains",
            Metadata => "/metadata",
            NeedsInput => "/needs_input",
            LastTurnOutcome => "/last_turn_outcome",
            ForkedFrom => "/forked_from",
            CreatedFrom => "/created_from",
            CreatedBefore => "/created_before",
            ActiveFrom => "/active_from",
            ActiveBefore => "/active_before",
        }
    }

    fn name(self) -> &'static str {
        self.location().trim_start_matches('/')
    }

    fn is_in(self, filter: &ChatFilter) -> bool {
        match self {
            WorkflowName => filter.workflow_name.is_some(),
            UserId => filter.user_id.is_some(),
            Member => filter.member.is_some(),
            TeamId => filter.team_id.is_some(),
            AssistantId => filter.assistant_id.is_some(),
            TitleContains => filter.title_contains.is_some(),
            Metadata => filter.metadata.is_some(),
            NeedsInput => filter.needs_input,
            LastTurnOutcome => filter.last_turn_outcome.is_some(),
            ForkedFrom => filter.forked_from.is_some(),
            CreatedFrom => filter.created_from.is_some(),
            CreatedBefore => filter.created_before.is_some(),
            ActiveFrom => filter.active_from.is_some(),
            ActiveBefore => filter.active_before.is_some(),
        }
    }
}

/// A row of the table of served lists, for programs that try all of them.
#[derive(Debug, Clone)]
pub struct ServedFilters {
    /// The order of the list.
    pub order: ChatOrder,
    /// The filters that together select the list, by their names in requests.
    pub selected_by: Vec<&'static str>,
    /// The filters of which any may narrow it.
    pub narrowed_by: Vec<&'static str>,
}

/// Returns the table of served lists.
pub fn served_filters() -> impl Iterator<Item = ServedFilters> {
    let names_of = |filters: &[ListFilter]| filters.iter().map(|it| it.name()).collect();
    SERVED.iter().map(move |list| ServedFilters {
        order: list.order,
        selected_by: names_of(list.range.selected_by()),
        narrowed_by: names_of(list.narrowed_by),
    })
}

/// Returns the filters that are ranges of the order itself.
fn times_of(order: ChatOrder) -> &'static [ListFilter] {
    match order {
        Created => &[CreatedFrom, CreatedBefore],
        Active => &[ActiveFrom, ActiveBefore],
        Title | Sort => &[],
    }
}

/// Returns the served lists that together hold the chats of a list; refuses a list that no index serves in its order, and a
/// cursor of a list in another order.
pub(crate) fn serving_lists(
    scope: &Scope,
    filter: &ChatFilter,
    after: Option<&ListCursor>,
) -> Result<Vec<&'static ServedList>, Invalid> {
    if after.is_some_and(|cursor| cursor.position.order() != filter.order) {
        return Err(Invalid::value("/cursor", "belongs to a list in another order"));
    }
    let reach = scope.reach(scope.permission);
    if filter.of_app && filter.lifecycles.contains(&Lifecycle::Deleted) && reach != Reach::Every {
        return Err(Invalid::value("/lifecycle", "deleted cannot be combined with scope=app"));
    }
    let lists = match reach {
        _ if filter.of_app => {
            let is_search = filter.title_contains.is_some();
            let range = if is_search { ListRange::Title } else { ListRange::Listed };
            of_ranges(&[range], filter.order)?
        }
        Reach::None => Vec::new(),
        Reach::Every => {
            let in_order = SERVED.iter().filter(|list| list.order == filter.order);
            let selected = in_order.filter(|list| {
                let by = list.range.selected_by();
                by.iter().all(|it| it.is_in(filter)) && list.range != ListRange::Listed
            });
            let selected: Vec<_> = selected.collect();
            let served = selected.iter().find(|list| list.unserved(filter).is_none());
            served.or(selected.first()).into_iter().copied().collect()
        }
        // A chat has few forks, so each is compared with what the person may see.
        Reach::Related(_) if filter.forked_from.is_some() => {
            of_ranges(&[ListRange::Forks], filter.order)?
        }
        Reach::Related(related) => of_ranges(&ranges_of_person(&related, filter)?, filter.order)?,
    };
    match lists.iter().find_map(|list| list.unserved(filter)) {
        None => Ok(lists),
        Some(unserved) => Err(Invalid::value(unserved.location(), refusal(filter.order))),
    }
}

/// Returns the list of all chats among which a filter selects, in its order.
pub(crate) fn unselected_list(filter: &ChatFilter) -> Option<&'static ServedList> {
    let range = if filter.of_app { ListRange::Listed } else { ListRange::App };
    SERVED.iter().find(|list| list.range == range && list.order == filter.order)
}

/// Returns the list that serves each range. A list is read from all of them together.
fn of_ranges(ranges: &[ListRange], order: ChatOrder) -> Result<Vec<&'static ServedList>, Invalid> {
    let list_of = |range: &ListRange| {
        let list = SERVED.iter().find(|list| list.range == *range && list.order == order);
        list.ok_or_else(|| Invalid::value("/order_by", refusal(order)))
    };
    ranges.iter().map(list_of).collect()
}

/// Returns the ranges that hold the chats of a person's list.
fn ranges_of_person(
    related: &Relations<'_>,
    filter: &ChatFilter,
) -> Result<Vec<ListRange>, Invalid> {
    let is_own = |id: &PersonId| id == related.user_id;
    let (user_id, team_id) = (filter.user_id.as_ref(), filter.team_id.as_ref());
    let is_member = !related.members.is_empty();
    let [of_user, of_member, of_team] = if filter.needs_input && filter.order == Active {
        [ListRange::WaitingUser, ListRange::WaitingMember, ListRange::WaitingTeam]
    } else {
        [ListRange::User, ListRange::Member, ListRange::Team]
    };
    if let Some(member) = &filter.member {
        if !is_own(member) {
            return Err(Invalid::value("/member", "must be the caller's own user id"));
        }
        return Ok(is_member.then_some(of_member).into_iter().collect());
    }
    if related.owner && user_id.is_some_and(is_own) {
        return Ok(vec![of_user]);
    }
    let is_of_team = related.team.is_some() && team_id.is_none_or(|it| Some(it) == related.team);
    let ranges = [
        (related.owner && user_id.is_none()).then_some(of_user),
        is_member.then_some(of_member),
        is_of_team.then_some(of_team),
    ];
    Ok(ranges.into_iter().flatten().collect())
}

/// Describes the lists that are served in an order, those together that the same filters narrow.
fn refusal(order: ChatOrder) -> String {
    let mut groups: Vec<(&[ListFilter], Vec<String>)> = Vec::new();
    for list in SERVED.iter().filter(|list| list.order == order) {
        let words = match list.range {
            ListRange::App => "no filter".to_owned(),
            range => range.words().join(" with "),
        };
        match groups.iter_mut().find(|(narrowed_by, _)| *narrowed_by == list.narrowed_by) {
            // A list of a person may have the words of another one.
            Some((_, lists)) if lists.contains(&words) => {}
            Some((_, lists)) => lists.push(words),
            None => groups.push((list.narrowed_by, vec![words])),
        }
    }
    let groups = groups.into_iter().map(|(narrowed_by, lists)| match narrowed_by {
        [] => lists.join(", "),
        some => format!("{} (also {})", lists.join(", "), names(some, "")),
    });
    let groups = groups.collect::<Vec<_>>().join("; ");
    let each = match times_of(order) {
        [] => "status, lifecycle".to_owned(),
        times => format!("status, lifecycle, {}", names(times, "")),
    };
    let by = order.as_str();
    format!("has no such list by {by}; served are, with {each}: {groups}")
}

fn names(filters: &[ListFilter], quote: &str) -> String {
    let names = filters.iter().map(|filter| format!("{quote}{}{quote}", filter.name()));
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_not_cut_off_in_a_problem() {
        for order in ChatOrder::ALL {
            assert!(refusal(order).chars().count() <= 500, "{}", refusal(order));
        }
    }

    #[test]
    fn the_documentation_has_the_table_of_served_lists() {
        let api = include_str!("../../../../docs/api/chats.md");
        let mut rows: Vec<String> = Vec::new();
        for list in SERVED {
            let same_range = |other: &&ServedList| {
                other.range == list.range && other.narrowed_by == list.narrowed_by
            };
            let orders = SERVED.iter().filter(same_range);
            let orders = orders.map(|other| format!("`{}`", other.order.as_str()));
            let orders = orders.collect::<Vec<_>>().join(", ");
            let own = list.range.selected_by();
            let also = list.narrowed_by.iter().copied().filter(|it| !own.contains(it));
            let also: Vec<ListFilter> = also.collect();
            let words = match list.range {
                ListRange::App => "none".to_owned(),
                range => format!("`{}`", range.words().join("` and `")),
            };
            let row = format!("| {words} | {orders} | {} |", names(&also, "`"));
            if !rows.contains(&row) {
                rows.push(row);
            }
        }
        let rows = rows.join("\n");
        assert!(api.contains(&rows), "docs/api/chats.md must have these rows:\n{rows}");
    }
}
