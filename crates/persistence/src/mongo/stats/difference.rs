use std::fmt;

use chrono::{DateTime, Utc};
use records::{Counter, Measure, Rollup, RollupKey, Subject, UserId};

/// A rollup that differs from the sum of its records.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StatsDifference {
    /// The key of the rollup.
    pub key: RollupKey,
    /// The stored rollup.
    pub kept: Rollup,
    /// The rollup that the records give.
    pub expected: Rollup,
    /// The creation time of the chat, if the chat's rollup lacks it.
    pub missing_start: Option<DateTime<Utc>>,
    /// The users for whom the calls of the chat count, and should count, if these differ.
    pub wrong_user: Option<[Option<UserId>; 2]>,
}

impl fmt::Display for StatsDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key.subject {
            Subject::Workflow => f.write_str("all")?,
            Subject::Agent(agent) => write!(f, "agent {}", agent.as_deref().unwrap_or("-"))?,
            Subject::Model(model) => {
                write!(f, "model {}", model.model.as_deref().unwrap_or("-"))?;
            }
            Subject::Chat(chat_id) => write!(f, "{chat_id}")?,
            Subject::User(user_id) => write!(f, "user {user_id}")?,
        }
        if let Some(hour) = self.key.hour {
            write!(f, " at {}", hour.format("%Y-%m-%dT%H:%MZ"))?;
        }
        let mut separator = ": ";
        for counter in Counter::ALL {
            let (kept, expected) = (self.kept.get(counter), self.expected.get(counter));
            if kept != expected {
                write!(f, "{separator}{} is {kept}, not {expected}", counter.name())?;
                separator = "; ";
            }
        }
        for measure in Measure::ALL {
            let histograms = [&self.kept, &self.expected].map(|rollup| rollup.histogram(measure));
            if histograms[0] != histograms[1] {
                write!(f, "{separator}the histogram of {} is off", measure.name())?;
                separator = "; ";
            }
        }
        if self.missing_start.is_some() {
            write!(f, "{separator}its start is missing")?;
            separator = "; ";
        }
        if let Some(users) = &self.wrong_user {
            let [kept, expected] =
                users.each_ref().map(|it| it.as_ref().map_or("-", UserId::as_str));
            write!(f, "{separator}its user is {kept}, not {expected}")?;
        }
        Ok(())
    }
}
