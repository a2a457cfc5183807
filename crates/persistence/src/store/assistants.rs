use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use records::{
    Assistant, AssistantChange, AssistantId, LocaleTexts, NewAssistant, Reach, Scope, UserId,
};

use super::Written;
use crate::StoreError;

/// Stores the assistants of an app.
///
/// The rights are those of chats: the owner reads and manages an assistant, its team reads it if its visibility is
/// [`Team`](records::Visibility::Team), and every user of the app if it is open. For a caller who may not read it an assistant
/// does not exist: [`AssistantNotFound`](StoreError::AssistantNotFound). A write by one who may only read it is
/// [`AssistantForbidden`](StoreError::AssistantForbidden). The entity tag of `if_match` of the scope is
/// [`Assistant::entity_tag`]; a write of an assistant that has another by then is
/// [`AssistantChanged`](StoreError::AssistantChanged).
///
/// A chat may name an assistant that does not exist. Every change writes an entry of the [audit log](super::AuditLog).
#[async_trait]
pub trait Assistants: Send + Sync {
    /// Stores an assistant in place of the one that has the id, if there is one.
    ///
    /// Safe to repeat: an assistant that is like this already stays as it is. If the id belongs to an assistant that the caller
    /// may not read, it is [`AssistantTaken`](StoreError::AssistantTaken).
    async fn put_assistant(
        &self,
        scope: &Scope,
        assistant_id: &AssistantId,
        new: NewAssistant,
    ) -> Result<Written<Assistant>, StoreError>;

    /// Changes an assistant. Safe to repeat, as a change after which nothing differs changes nothing.
    async fn change_assistant(
        &self,
        scope: &Scope,
        assistant_id: &AssistantId,
        change: AssistantChange,
    ) -> Result<Assistant, StoreError>;

    /// Returns an assistant; `None` if there is none that the caller may read.
    async fn get_assistant(
        &self,
        scope: &Scope,
        assistant_id: &AssistantId,
    ) -> Result<Option<Assistant>, StoreError>;

    /// Deletes an assistant. Returns whether this call has deleted one; without one, nothing changes.
    async fn delete_assistant(
        &self,
        scope: &Scope,
        assistant_id: &AssistantId,
    ) -> Result<bool, StoreError>;

    /// Lists assistants by `sort` and then by id: those in which the caller has the permission of the scope, and which they
    /// find; see [`Reach::lists_record`](records::Reach::lists_record). A caller who names ids knows them; such a list is
    /// ordered by id.
    ///
    /// A page ends before `limit` if its assistants are large, or if [`AssistantPage::EXAMINED`] were examined for it.
    async fn list_assistants(
        &self,
        scope: &Scope,
        filter: &AssistantFilter,
        limit: usize,
        after: Option<&AssistantCursor>,
    ) -> Result<AssistantPage, StoreError>;

    /// Counts the tags of the same assistants, of at most [`AssistantPage::EXAMINED`] of them.
    async fn list_assistant_tags(
        &self,
        scope: &Scope,
        filter: &AssistantFilter,
    ) -> Result<AssistantTags, StoreError>;

    /// Deletes up to `limit` assistants in the order of the list, as many as one page has. The permission of the scope must be
    /// the one to manage them.
    ///
    /// One that another call changes meanwhile stays. Safe to repeat.
    async fn delete_assistants(
        &self,
        scope: &Scope,
        filter: &AssistantFilter,
        limit: usize,
    ) -> Result<DeletedAssistants, StoreError>;
}

/// Which assistants to list. What is empty or `None` admits every assistant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AssistantFilter {
    /// Only these assistants.
    pub ids: Vec<AssistantId>,
    /// Only assistants that belong to this person.
    pub user_id: Option<UserId>,
    /// Only assistants with one of these tags.
    pub tags: Vec<String>,
    /// Only assistants of one of these kinds.
    pub kinds: Vec<String>,
    /// Only assistants with this connector.
    pub connector: Option<String>,
    /// Only assistants that may be mentioned, or only others.
    pub mentionable: Option<bool>,
    /// Only assistants that run without a person, or only others.
    pub automated: Option<bool>,
    /// Only assistants that come with the app, or only others.
    pub built_in: Option<bool>,
    /// Only assistants whose name or description, in any language, has these characters in a row, in any case.
    pub text: Option<String>,
}

impl AssistantFilter {
    /// Returns whether an assistant is in the list of a caller who has this reach.
    pub(crate) fn is_listed(&self, reach: Reach<'_>, assistant: &Assistant) -> bool {
        let is_found = if self.ids.is_empty() {
            reach.lists_record(assistant)
        } else {
            reach.includes_record(assistant)
        };
        is_found && self.admits_fields(assistant)
    }

    /// Returns the place of an assistant in the list.
    pub(crate) fn place(&self, assistant: &Assistant) -> AssistantCursor {
        let sort = if self.ids.is_empty() { assistant.content.sort } else { 0 };
        AssistantCursor { sort, assistant_id: assistant.assistant_id.clone() }
    }

    /// Returns whether all but the text admits an assistant.
    fn admits_fields(&self, assistant: &Assistant) -> bool {
        let (content, id) = (&assistant.content, &assistant.assistant_id);
        (self.ids.is_empty() || self.ids.contains(id))
            && (self.user_id.is_none() || self.user_id == assistant.user_id)
            && (self.tags.is_empty() || self.tags.iter().any(|tag| content.tags.contains(tag)))
            && (self.kinds.is_empty() || self.kinds.contains(&content.kind))
            && (self.connector.is_none() || self.connector == content.connector)
            && self.mentionable.is_none_or(|wanted| wanted == content.mentionable)
            && self.automated.is_none_or(|wanted| wanted == content.automated)
            && self.built_in.is_none_or(|wanted| wanted == content.built_in)
    }

    /// Returns whether the text admits an assistant.
    fn admits_text(&self, assistant: &Assistant) -> bool {
        let Some(text) = self.text.as_ref().map(|text| text.to_lowercase()) else { return true };
        let content = &assistant.content;
        let description = content.description.as_deref().unwrap_or_default();
        let fields = [("name", content.name.as_str()), ("description", description)];
        let has_text = |field: &str| field.to_lowercase().contains(&text);
        let is_said_by = |texts: LocaleTexts<'_>| {
            let says = |(name, base): &(&str, &str)| {
                texts.changes(name, base)
                    && has_text(&texts.field(name, base, &mut LocaleTexts::room()))
            };
            fields.iter().any(says)
        };
        fields.iter().any(|(_, base)| has_text(base)) || content.all_texts().any(is_said_by)
    }
}

/// A position in a list of assistants: right after this one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AssistantCursor {
    /// The `sort` of the assistant; 0 in a list by id.
    pub sort: i32,
    /// The id of the assistant.
    pub assistant_id: AssistantId,
}

/// A page of assistants.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AssistantPage {
    /// The assistants.
    pub assistants: Vec<Assistant>,
    /// The position of the next page, if there may be a next page.
    pub next: Option<AssistantCursor>,
    bytes: usize,
    examined: usize,
    last: Option<AssistantCursor>,
}

impl AssistantPage {
    /// The bytes after which a page ends. It may have one assistant of any size.
    pub const BYTES: usize = 4 << 20;
    /// The most assistants that are examined for a page.
    pub const EXAMINED: usize = 10_000;

    /// Adds the next of the assistants whose fields the filter admits, if it has the text, or ends the page before it. Returns
    /// whether the page goes on.
    pub(crate) fn add(
        &mut self,
        assistant: Assistant,
        filter: &AssistantFilter,
        limit: usize,
    ) -> bool {
        if self.examined == Self::EXAMINED {
            self.next = self.last.take();
            return false;
        }
        let is_admitted = filter.admits_text(&assistant);
        let bytes = self.bytes + if is_admitted { assistant.content.bytes() } else { 0 };
        let is_full = self.assistants.len() >= limit || bytes > Self::BYTES;
        if is_admitted && is_full && !self.assistants.is_empty() {
            self.next = self.last.take();
            return false;
        }
        self.examined += 1;
        self.last = Some(filter.place(&assistant));
        if is_admitted {
            self.bytes = bytes;
            self.assistants.push(assistant);
        }
        true
    }
}

/// The tags of assistants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AssistantTags {
    /// How many assistants have each tag.
    pub tags: BTreeMap<String, u64>,
    /// Whether there may be more tags: as many assistants were examined, or tags found, as may be.
    pub is_truncated: bool,
    examined: usize,
}

impl AssistantTags {
    /// The most tags.
    pub const MAX: usize = 1_000;

    /// Counts the tags of the next of the assistants whose fields the filter admits, if it has the text. Returns whether the
    /// count goes on.
    pub(crate) fn add(&mut self, assistant: &Assistant, filter: &AssistantFilter) -> bool {
        if self.examined == AssistantPage::EXAMINED {
            self.is_truncated = true;
            return false;
        }
        self.examined += 1;
        if filter.admits_text(assistant) {
            let tags: BTreeSet<&String> = assistant.content.tags.iter().collect();
            for tag in tags {
                if self.tags.len() < Self::MAX || self.tags.contains_key(tag) {
                    *self.tags.entry(tag.clone()).or_default() += 1;
                } else {
                    self.is_truncated = true;
                }
            }
        }
        true
    }
}

/// What a deletion by a filter has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeletedAssistants {
    /// How many assistants it has deleted.
    pub deleted: u64,
    /// Whether there may be more.
    pub has_more: bool,
}
