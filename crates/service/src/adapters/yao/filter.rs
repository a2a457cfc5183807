use chrono::{DateTime, Utc};
use persistence::{ChatFilter, ChatOrder, Direction};
use records::{ChatSession, Lifecycle};

use super::wire::assistant_of;
use crate::extract::Params;
use crate::problem::Problem;
use crate::wire::Time;

/// Which sessions are listed, and in which order.
#[derive(Debug)]
pub(super) struct SessionFilter {
    order: ChatOrder,
    direction: Direction,
    lifecycles: Vec<Lifecycle>,
    assistant_id: Option<String>,
    /// In lower case.
    keywords: Option<String>,
    chat_id_prefix: Option<String>,
    time: TimeField,
    from: Option<DateTime<Utc>>,
    until: Option<DateTime<Utc>>,
}

/// The time to which a range refers.
#[derive(Debug, Clone, Copy, PartialEq)]
enum TimeField {
    Created,
    LastMessage,
}

impl SessionFilter {
    /// Reads the parameters of a list. Malformed times are ignored, as the original does.
    pub(super) fn from_params(params: &mut Params) -> Result<Self, Problem> {
        let mut text = |name: &str| -> Result<Option<String>, Problem> {
            let trimmed = params.take_with(name, |text| Ok::<_, String>(text.trim().to_owned()))?;
            Ok(trimmed.filter(|text| !text.is_empty()))
        };
        let time =
            |text: Option<String>| text.and_then(|it| it.parse::<Time>().ok()).map(|it| it.0);
        Ok(Self {
            order: read_order(text("order_by")?.as_deref())?,
            direction: match text("order")?.as_deref() {
                Some("asc") => Direction::Ascending,
                _ => Direction::Descending,
            },
            lifecycles: read_status(text("status")?.as_deref())?,
            assistant_id: text("assistant_id")?,
            keywords: text("keywords")?.map(|keywords| keywords.to_lowercase()),
            chat_id_prefix: text("chat_id_prefix")?,
            time: read_time_field(text("time_field")?.as_deref())?,
            from: time(text("start_time")?),
            until: time(text("end_time")?),
        })
    }

    /// Returns the list of the store that holds these sessions, in their order.
    pub(super) fn of_store(&self) -> ChatFilter {
        let lifecycles = self.lifecycles.clone();
        ChatFilter {
            order: self.order,
            direction: Some(self.direction),
            lifecycles,
            ..ChatFilter::default()
        }
    }

    /// Returns whether that list holds these sessions only.
    pub(super) fn is_whole_list(&self) -> bool {
        let texts = [&self.assistant_id, &self.keywords, &self.chat_id_prefix];
        texts.iter().all(|it| it.is_none()) && self.from.is_none() && self.until.is_none()
    }

    /// Returns whether a chat of that list is one of these sessions.
    pub(super) fn admits(&self, chat: &ChatSession) -> bool {
        let has_keywords = |keywords: &String| {
            chat.title.as_ref().is_some_and(|title| title.to_lowercase().contains(keywords))
        };
        self.assistant_id.as_deref().is_none_or(|id| id == assistant_of(chat))
            && self.keywords.as_ref().is_none_or(has_keywords)
            && self.chat_id_prefix.as_ref().is_none_or(|it| chat.chat_id.as_str().starts_with(it))
            && self.is_in_time(chat)
    }

    /// A chat in which nothing was said has no time of its last message: no range of them has it.
    fn is_in_time(&self, chat: &ChatSession) -> bool {
        if self.from.is_none() && self.until.is_none() {
            return true;
        }
        let at = match self.time {
            TimeField::Created => Some(chat.created_at),
            TimeField::LastMessage => chat.last_message_at,
        };
        at.is_some_and(|at| {
            self.from.is_none_or(|from| from <= at) && self.until.is_none_or(|until| at <= until)
        })
    }
}

fn read_order(field: Option<&str>) -> Result<ChatOrder, Problem> {
    match field {
        None | Some("last_message_at") => Ok(ChatOrder::Active),
        Some("created_at") => Ok(ChatOrder::Created),
        Some("title") => Ok(ChatOrder::Title),
        Some("sort") => Ok(ChatOrder::Sort),
        Some(_) => {
            let rule = "must be last_message_at, created_at, title or sort";
            Err(Problem::invalid_parameter("order_by", rule))
        }
    }
}

fn read_status(status: Option<&str>) -> Result<Vec<Lifecycle>, Problem> {
    match status {
        None => Ok(vec![Lifecycle::Active, Lifecycle::Archived]),
        Some("active") => Ok(vec![Lifecycle::Active]),
        Some("archived") => Ok(vec![Lifecycle::Archived]),
        Some(_) => Err(Problem::invalid_parameter("status", "must be active or archived")),
    }
}

fn read_time_field(field: Option<&str>) -> Result<TimeField, Problem> {
    match field {
        None | Some("last_message_at") => Ok(TimeField::LastMessage),
        Some("created_at") => Ok(TimeField::Created),
        Some(_) => {
            let rule = "must be created_at or last_message_at";
            Err(Problem::invalid_parameter("time_field", rule))
        }
    }
}
