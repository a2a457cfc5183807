use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};

use super::{Counter, Measure, Rollup};
use crate::{ChatId, ChatSession, ChatStatus, Model, ProviderCall, Usage, UserId, truncated};

/// The key of a rollup: which chats or calls of one workflow it counts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RollupKey {
    /// The subject that they have in common.
    pub subject: Subject,
    /// The beginning of the hour in which they happened; `None` for all hours together.
    pub hour: Option<DateTime<Utc>>,
}

/// The subject that chats or calls of a workflow have in common.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    /// Only the workflow.
    Workflow,
    /// The agent that made the calls, if it is known.
    Agent(Option<String>),
    /// The model that answered.
    Model(Model),
    /// The chat.
    Chat(ChatId),
    /// The user who owns the chats. Counted are only their calls, without distributions.
    User(UserId),
}

/// A change of the status of a chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusChange {
    /// The chat.
    pub chat_id: ChatId,
    /// The old status.
    pub from: ChatStatus,
    /// The new status.
    pub to: ChatStatus,
    /// When the status changed.
    pub changed_at: DateTime<Utc>,
}

/// Computes the rollups of the chats and calls of a workflow.
///
/// The stored rollups change by the same computation: if a chat changes, its old state is subtracted and
/// its new state is added. So the stored rollups always equal the rollups computed from all records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    rollups: BTreeMap<RollupKey, Rollup>,
}

impl Tally {
    /// Adds the state of a chat `times` times; -1 subtracts it. A chat that was removed before it had ended has no status.
    pub fn chat(&mut self, chat: &ChatSession, times: i64) {
        self.start(chat.created_at, times);
        let of_chat = Subject::Chat(chat.chat_id.clone());
        if !chat.is_uncounted {
            for subject in [Subject::Workflow, of_chat.clone()] {
                self.rollup(subject, None).add(Counter::for_status(chat.status), times);
            }
        }
        if chat.status.is_ended() {
            let of_chat = self.rollup(of_chat, None);
            of_chat.add(Counter::ChatDurationMs, duration_ms(chat) * times);
        }
        self.end(chat, times);
    }

    /// Counts a chat as it is now, instead of as it was before.
    pub fn chat_change(&mut self, before: &ChatSession, now: &ChatSession) {
        self.chat(before, -1);
        self.chat(now, 1);
    }

    /// Counts the creation of a chat `times` times.
    pub fn start(&mut self, created_at: DateTime<Utc>, times: i64) {
        let hours = [None, Some(hour_of(created_at))];
        self.for_hours(hours, |rollup| rollup.add(Counter::Starts, times));
    }

    /// Counts the duration of a chat `times` times, if the chat has ended.
    pub fn end(&mut self, chat: &ChatSession, times: i64) {
        if chat.status.is_ended() {
            self.for_hours([None, Some(hour_of(chat.ended_at()))], |rollup| {
                rollup.add(Counter::ChatDurationMs, duration_ms(chat) * times);
                rollup.histogram_mut(Measure::ChatDuration).add(chat.duration_ms(), times);
            });
        }
    }

    /// Counts a change of the status of a chat.
    pub fn status_change(&mut self, change: &StatusChange) {
        let counter = Counter::for_change(change.from, change.to);
        self.for_hours([None, Some(hour_of(change.changed_at))], |rollup| rollup.add(counter, 1));
    }

    /// Counts a call `times` times; -1 subtracts it.
    pub fn call(&mut self, call: &ProviderCall, times: i64) {
        let mut usage = Usage::default();
        usage.add(call);
        let agent = Subject::Agent(call.agent.clone());
        for subject in [Subject::Workflow, agent, Subject::Model(call.used.clone())] {
            for hour in [None, Some(hour_of(call.called_at))] {
                let rollup = self.rollup(subject.clone(), hour);
                rollup.merge(&Rollup::from_usage(&usage), times);
                rollup.measure_call(call, times);
            }
        }
    }

    /// Adds the usage of calls in an hour to the rollups of the user who owns their chat, `times` times.
    pub fn user_usage(&mut self, user_id: &UserId, hour: DateTime<Utc>, usage: &Usage, times: i64) {
        for hour in [None, Some(hour)] {
            let rollup = self.rollup(Subject::User(user_id.clone()), hour);
            rollup.merge(&Rollup::from_usage(usage), times);
        }
    }

    /// Counts a call for the user who owns its chat `times` times; -1 subtracts it.
    pub fn user_call(&mut self, user_id: &UserId, call: &ProviderCall, times: i64) {
        let mut usage = Usage::default();
        usage.add(call);
        self.user_usage(user_id, hour_of(call.called_at), &usage, times);
    }

    /// Updates the measures of chats after the usage of one chat changed from `before` to `after`.
    ///
    /// The caller adds the usage itself to the rollup of the chat.
    pub fn usage(&mut self, before: &Usage, after: &Usage) {
        let rollup = self.rollup(Subject::Workflow, None);
        rollup.measure_usage(before, -1);
        rollup.measure_usage(after, 1);
    }

    /// Adds the usage of all calls of a chat to the rollup of the chat.
    pub fn chat_usage(&mut self, chat_id: &ChatId, usage: &Usage) {
        self.rollup(Subject::Chat(chat_id.clone()), None).merge(&Rollup::from_usage(usage), 1);
    }

    /// Returns all rollups that are not empty, ordered by key.
    #[must_use]
    pub fn finish(mut self) -> BTreeMap<RollupKey, Rollup> {
        self.rollups.retain(|_, rollup| !rollup.is_zero());
        self.rollups
    }

    fn for_hours(&mut self, hours: [Option<DateTime<Utc>>; 2], change: impl Fn(&mut Rollup)) {
        for hour in hours {
            change(self.rollup(Subject::Workflow, hour));
        }
    }

    fn rollup(&mut self, subject: Subject, hour: Option<DateTime<Utc>>) -> &mut Rollup {
        self.rollups.entry(RollupKey { subject, hour }).or_default()
    }
}

/// Returns the beginning of the hour of a time.
#[must_use]
pub fn hour_of(at: DateTime<Utc>) -> DateTime<Utc> {
    truncated(at, TimeDelta::hours(1))
}

fn duration_ms(chat: &ChatSession) -> i64 {
    i64::try_from(chat.duration_ms()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{NewChatSession, NewProviderCall, Uuid7Ids};

    fn chat(status: ChatStatus, duration_sec: f64) -> ChatSession {
        let created_at = DateTime::from_timestamp(7_100, 0).unwrap();
        let new = NewChatSession::of("Generator".parse().unwrap());
        let (app_id, chat_id) = ("acme_corp".parse().unwrap(), "chat_1".parse().unwrap());
        let chat = ChatSession::start(app_id, chat_id, new, created_at);
        ChatSession { status, duration_sec, ..chat }
    }

    fn key(hour: Option<i64>) -> RollupKey {
        let hour = hour.map(|hour| DateTime::from_timestamp(hour * 3_600, 0).unwrap());
        RollupKey { subject: Subject::Workflow, hour }
    }

    #[test]
    fn a_chat_counts_where_it_began_and_where_it_ended() {
        let mut tally = Tally::default();
        tally.chat(&chat(ChatStatus::Completed, 300.0), 1);
        let rollups = tally.finish();
        let get = |hour, counter| rollups[&key(hour)].get(counter);
        assert_eq!(get(None, Counter::Starts), 1);
        assert_eq!(get(None, Counter::Completed), 1);
        assert_eq!(get(Some(1), Counter::Starts), 1);
        assert_eq!(get(Some(1), Counter::ChatDurationMs), 0);
        assert_eq!(get(Some(2), Counter::ChatDurationMs), 300_000);
        assert_eq!(rollups[&key(Some(2))].histogram(Measure::ChatDuration).count(), 1);
    }

    #[test]
    fn a_reopened_chat_counts_as_if_it_had_never_ended() {
        let (running, ended) = (chat(ChatStatus::Running, 0.0), chat(ChatStatus::Failed, 2_000.0));
        let mut tally = Tally::default();
        tally.chat(&running, 1);
        let before = tally.clone().finish();
        for (was, is) in [(&running, &ended), (&ended, &running)] {
            tally.chat(was, -1);
            tally.chat(is, 1);
        }
        assert_eq!(tally.finish(), before);
    }

    #[test]
    fn a_call_counts_for_its_agent_its_model_and_its_hour() {
        let new = NewProviderCall { agent: Some("planner".into()), ..NewProviderCall::default() };
        let call = new.kept_at(DateTime::from_timestamp(3_599, 0).unwrap(), &Uuid7Ids);
        let mut tally = Tally::default();
        tally.call(&call, 1);
        let rollups = tally.finish();
        assert_eq!(rollups.len(), 6, "{rollups:?}");
        assert!(rollups.values().all(|rollup| rollup.usage().calls == 1));
        assert_eq!(rollups[&key(Some(0))].histogram(Measure::CallDuration).count(), 1);
    }

    #[test]
    fn a_call_counts_for_its_user_without_distributions() {
        let call = NewProviderCall { prompt_tokens: 7, ..NewProviderCall::default() };
        let call = call.kept_at(DateTime::from_timestamp(3_599, 0).unwrap(), &Uuid7Ids);
        let user: UserId = "alice".parse().unwrap();
        let mut tally = Tally::default();
        tally.user_call(&user, &call, 1);
        let rollups = tally.clone().finish();
        let hours: Vec<_> = rollups.keys().map(|key| key.hour.map(|at| at.timestamp())).collect();
        assert_eq!(hours, [None, Some(0)]);
        for (key, rollup) in rollups {
            assert_eq!(key.subject, Subject::User(user.clone()));
            assert_eq!(rollup, Rollup::from_usage(&rollup.usage()));
            assert_eq!(rollup.usage().tokens.total, 7);
        }
        tally.user_call(&user, &call, -1);
        assert_eq!(tally.finish(), BTreeMap::new());
    }
}
