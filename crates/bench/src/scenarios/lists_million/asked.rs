use std::collections::{BTreeSet, HashSet};

use anyhow::Result;
use chrono::{DateTime, TimeDelta, Utc};
use persistence::{ChatFilter, ChatOrder, ServedFilters, served_filters};
use records::{
    AppId, AssistantId, Caller, ChatId, ChatStatus, Lifecycle, MetadataFilter, Permission, Scope,
    TeamId, TitlePart, TurnOutcome, UserId, WorkflowName,
};

use crate::floor::CUSTOMER;
use crate::ours::APP;
use crate::population::{assistant, customer, team_of, user, workflow};

/// The time of the population.
pub(super) const NOW: TimeDelta = TimeDelta::days(20_800);

/// The user who asks: one with some hundred chats.
const USER: u32 = 40;
/// A list that a caller asks for. Not all of them are served.
#[derive(Debug, Clone)]
pub(super) struct AskedList {
    pub(super) scope: Scope,
    pub(super) filter: ChatFilter,
    /// Whether nothing narrows the list that an index selects.
    pub(super) is_plain: bool,
    caller: &'static str,
    filters: Vec<&'static str>,
}

impl AskedList {
    /// Returns whether chats are compared one by one, of which a page may read many.
    pub(super) fn is_compared(&self) -> bool {
        self.filter.title_contains.is_some()
            || self.filter.metadata.is_some()
                && (self.caller != "service" || self.filters.len() > 1)
    }

    /// Describes the list.
    pub(super) fn words(&self) -> String {
        let mut words = format!("{}, {}", self.caller, self.filter.order.as_str());
        for filter in &self.filters {
            words += " ";
            words += filter;
        }
        if !self.filter.statuses.is_empty() {
            words += " paused archived since";
        }
        words
    }
}

/// The lists that callers may ask for.
pub(super) struct AskedLists {
    pub(super) lists: Vec<AskedList>,
    /// The filters of the table that this scenario does not know.
    pub(super) unknown_filters: BTreeSet<&'static str>,
}

impl AskedLists {
    /// Every combination of the filters of each row of the table of served lists with at most so many that narrow it, for each
    /// caller, with and without a status, a lifecycle and a time.
    pub(super) fn of(title_part: &TitlePart, most_narrowing: usize) -> Result<Self> {
        let (mut lists, mut unknown_filters) = (Vec::new(), BTreeSet::new());
        let mut seen = HashSet::new();
        for row in served_filters() {
            let most = row.selected_by.len() + most_narrowing;
            for names in combinations(&row).filter(|names| names.len() <= most) {
                let filter = match filter(&names, row.order, title_part)? {
                    Ok(filter) => filter,
                    Err(unknown) => {
                        unknown_filters.insert(unknown);
                        continue;
                    }
                };
                if seen.insert((row.order.as_str(), names.clone())) {
                    let is_plain = names == sorted(row.selected_by.clone());
                    lists.extend(asked_by_all(&filter, &names, is_plain)?);
                }
            }
        }
        Ok(Self { lists, unknown_filters })
    }
}

/// Returns every combination of the filters of a row.
fn combinations(row: &ServedFilters) -> impl Iterator<Item = Vec<&'static str>> {
    let names = row.selected_by.iter().chain(&row.narrowed_by).copied();
    let names: Vec<_> = names.collect::<BTreeSet<_>>().into_iter().collect();
    (0..1_u32 << names.len()).map(move |subset| {
        let chosen = names.iter().enumerate().filter(|(at, _)| subset >> at & 1 == 1);
        chosen.map(|(_, name)| *name).collect()
    })
}

fn sorted(mut names: Vec<&'static str>) -> Vec<&'static str> {
    names.sort_unstable();
    names
}

/// Returns a list as each caller asks for it.
fn asked_by_all(
    filter: &ChatFilter,
    names: &[&'static str],
    is_plain: bool,
) -> Result<Vec<AskedList>> {
    let mut lists = Vec::new();
    for (caller, scope, of_app) in callers()? {
        let filter = ChatFilter { of_app, ..filter.clone() };
        let filters = names.to_vec();
        let plain = AskedList { scope, filter, is_plain, caller, filters };
        let mut restricted = AskedList { is_plain: false, ..plain.clone() };
        restrict(&mut restricted.filter);
        lists.extend([plain, restricted]);
    }
    Ok(lists)
}

/// Returns who asks: a service, a person, and a person who asks for the open chats of the app.
fn callers() -> Result<[(&'static str, Scope, bool); 3]> {
    let app_id = AppId::parse(APP)?;
    let (user_id, team_id) = (UserId::parse(user(USER))?, Some(TeamId::parse(team_of(USER))?));
    let person = Caller::User { user_id, team_id, may_run: false };
    let person = Scope::new(app_id.clone(), person, Permission::Read);
    let service = Scope::service(app_id);
    Ok([("service", service, false), ("person", person.clone(), false), ("app", person, true)])
}

/// Returns the filter with these names, or the first name that is not known here.
fn filter(
    names: &[&'static str],
    order: ChatOrder,
    title_part: &TitlePart,
) -> Result<Result<ChatFilter, &'static str>> {
    let mut filter = ChatFilter { order, ..ChatFilter::default() };
    for name in names {
        match *name {
            "workflow_name" => filter.workflow_name = Some(WorkflowName::parse(workflow(1))?),
            "user_id" => filter.user_id = Some(UserId::parse(user(USER))?),
            "member" => filter.member = Some(UserId::parse(user(USER))?),
            "team_id" => filter.team_id = Some(TeamId::parse(team_of(USER))?),
            "assistant_id" => filter.assistant_id = Some(AssistantId::parse(assistant(1))?),
            "title_contains" => filter.title_contains = Some(title_part.clone()),
            "metadata" => {
                let (key, text) = (CUSTOMER.to_owned(), customer(1));
                filter.metadata = Some(MetadataFilter { key, text });
            }
            "needs_input" => filter.needs_input = true,
            "last_turn_outcome" => filter.last_turn_outcome = Some(TurnOutcome::Completed),
            // A source has few forks, whatever the size of the app.
            "forked_from" => filter.forked_from = Some(ChatId::parse("unknown")?),
            unknown => return Ok(Err(unknown)),
        }
    }
    Ok(Ok(filter))
}

/// Restricts a list by what every list takes.
fn restrict(filter: &mut ChatFilter) {
    filter.statuses = vec![ChatStatus::Paused];
    filter.lifecycles = vec![Lifecycle::Archived];
    let half_a_year_ago = Some(now() - TimeDelta::days(180));
    match filter.order.as_str() {
        "created" => filter.created_from = half_a_year_ago,
        "active" => filter.active_from = half_a_year_ago,
        _ => {}
    }
}

pub(super) fn now() -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + NOW
}
