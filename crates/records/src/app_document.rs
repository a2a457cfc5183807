use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};

use crate::ids::IdError;
use crate::{AppId, ChatId, Invalid, SizeLimit, TeamId, UserId, Visibility};

/// The path of a document within its app: names that are separated by `/`. All but the last are its *namespace*.
///
/// A name has 1 to [`NAME_BYTES`](Self::NAME_BYTES) bytes without control characters, and is neither `.` nor `..`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DocumentPath(String);

impl DocumentPath {
    /// The longest path, in bytes.
    pub const MAX_BYTES: usize = 1_024;
    /// The most names of a path.
    pub const MAX_NAMES: usize = 32;
    /// The longest name, in bytes.
    pub const NAME_BYTES: usize = 256;

    const RULE: &'static str = "must be 1 to 32 names, separated by /, of at most 1024 bytes together; each has 1 to 256 bytes, \
         no control characters, and is neither . nor ..";

    /// Checks the text against the rule and wraps it.
    pub fn parse(text: impl Into<String>) -> Result<Self, IdError> {
        let text = text.into();
        let is_name = |name: &str| {
            (1..=Self::NAME_BYTES).contains(&name.len())
                && name != "."
                && name != ".."
                && !name.chars().any(char::is_control)
        };
        let names = text.split('/');
        if text.len() <= Self::MAX_BYTES
            && names.clone().count() <= Self::MAX_NAMES
            && names.clone().all(is_name)
        {
            return Ok(Self(text));
        }
        Err(IdError { kind: "path", rule: Self::RULE })
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether the path is within a namespace.
    pub fn is_within(&self, namespace: &Self) -> bool {
        self.names_within(Some(namespace)).is_some()
    }

    /// Returns the namespace of the path within another, at most `depth` names below it; `None` if there is none.
    pub fn namespace_within(&self, outer: Option<&Self>, depth: usize) -> Option<Self> {
        let below = self.names_within(outer)?;
        let names = below.matches('/').count().min(depth);
        let (last, _) = below.match_indices('/').nth(names.checked_sub(1)?)?;
        let end = self.0.len() - below.len() + last;
        Some(Self(self.0.get(..end)?.to_owned()))
    }

    /// Returns the names after those of a namespace.
    fn names_within(&self, namespace: Option<&Self>) -> Option<&str> {
        let Some(namespace) = namespace else { return Some(&self.0) };
        self.0.strip_prefix(&namespace.0)?.strip_prefix('/')
    }
}

impl std::fmt::Display for DocumentPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for DocumentPath {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        Self::parse(text)
    }
}

impl TryFrom<String> for DocumentPath {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        Self::parse(text)
    }
}

impl From<DocumentPath> for String {
    fn from(path: DocumentPath) -> Self {
        path.0
    }
}

/// What is known of a document besides its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentHead {
    /// The app of the document.
    pub app_id: AppId,
    /// Where the document is found.
    pub path: DocumentPath,
    /// Who has rights in it.
    pub binding: DocumentBinding,
    /// The media type of the content.
    pub content_type: String,
    /// The size of the content, in bytes.
    pub size: u64,
    /// The id of the content. It stays while the content only grows; a replaced content has another.
    pub content_id: String,
    /// Grows with every write, from 1.
    pub version: u64,
    /// When the document was created.
    pub created_at: DateTime<Utc>,
    /// When the document was last written.
    pub last_updated_at: DateTime<Utc>,
    /// When the document ceases to exist, if it does.
    pub expires_at: Option<DateTime<Utc>>,
}

/// Who has rights in a document. It is decided when the document is created.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentBinding {
    /// The chat of the document: the rights are those in the chat, and the document goes with the chat.
    pub chat_id: Option<ChatId>,
    /// The person to whom the document belongs.
    pub user_id: Option<UserId>,
    /// Who may read it besides its owner. Of a document of a chat it is private.
    pub visibility: Visibility,
    /// The team that may read the document if its visibility is [`Visibility::Team`].
    pub team_id: Option<TeamId>,
}

/// What a write says of the binding of its document: what it becomes if the write creates the document, and otherwise what it
/// must be. What is `None` is not stated.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatedBinding {
    /// The chat.
    pub chat_id: Option<ChatId>,
    /// The owner. Without one, a person who creates a document owns it.
    pub user_id: Option<UserId>,
    /// The visibility.
    pub visibility: Option<Visibility>,
    /// The team.
    pub team_id: Option<TeamId>,
}

impl StatedBinding {
    /// Returns the binding of a document that `creator` creates.
    pub fn of_created(&self, creator: Option<&UserId>) -> DocumentBinding {
        DocumentBinding {
            chat_id: self.chat_id.clone(),
            user_id: self.user_id.as_ref().or(creator).cloned(),
            visibility: self.visibility.unwrap_or_default(),
            team_id: self.team_id.clone(),
        }
    }

    /// Refuses what contradicts the binding of a document.
    pub fn check_agrees(&self, stored: &DocumentBinding) -> Result<(), Invalid> {
        let differs = [
            ("/chat_id", self.chat_id.is_some() && self.chat_id != stored.chat_id),
            ("/user_id", self.user_id.is_some() && self.user_id != stored.user_id),
            ("/visibility", self.visibility.is_some_and(|it| it != stored.visibility)),
            ("/team_id", self.team_id.is_some() && self.team_id != stored.team_id),
        ];
        match differs.into_iter().find(|(_, differs)| *differs) {
            Some((pointer, _)) => Err(Invalid::value(
                pointer,
                "differs from that of the document, which is decided when a document is created",
            )),
            None => Ok(()),
        }
    }

    fn check(&self) -> Result<(), Invalid> {
        if self.visibility == Some(Visibility::Team) && self.team_id.is_none() {
            return Err(Invalid::value("/visibility", "must not be team without a team_id"));
        }
        if self.chat_id.is_some() && (self.visibility.is_some() || self.team_id.is_some()) {
            return Err(Invalid::value(
                "/visibility",
                "must be missing, as must team_id: the rights in a document of a chat are those in the chat",
            ));
        }
        Ok(())
    }
}

/// A content to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDocument {
    /// The binding of the document.
    pub binding: StatedBinding,
    /// The media type of the content.
    pub content_type: String,
    /// The content, or what is appended to it.
    pub content: Vec<u8>,
    /// How long the document exists from now on; `None` means for good.
    pub lifetime: Option<TimeDelta>,
}

impl NewDocument {
    /// The largest content of one write, in bytes.
    pub const MAX_BYTES: usize = 8 << 20;
    /// The longest media type, in bytes.
    pub const TYPE_BYTES: usize = 256;

    /// Checks every field.
    pub fn check(&self) -> Result<(), Invalid> {
        self.binding.check()?;
        let content_type = &self.content_type;
        let is_printable = content_type.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if !(1..=Self::TYPE_BYTES).contains(&content_type.len()) || !is_printable {
            return Err(Invalid::value(
                "/content_type",
                "must be 1 to 256 printable characters of ASCII",
            ));
        }
        SizeLimit::Document.check("", self.content.len(), Self::MAX_BYTES)
    }
}

impl DocumentHead {
    /// The largest document, in bytes.
    pub const MAX_BYTES: u64 = 1 << 30;

    /// Returns the entity tag, which changes with every write. What stands before its last `-` is the same as long as the
    /// content only grows.
    pub fn entity_tag(&self) -> String {
        format!("{}-{}", self.content_id, self.version)
    }

    /// Returns whether the document still exists.
    pub fn exists_at(&self, now: DateTime<Utc>) -> bool {
        self.expires_at.is_none_or(|expires_at| now < expires_at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> DocumentPath {
        DocumentPath::parse(text).unwrap()
    }

    #[test]
    fn a_path_has_names() {
        for good in ["a", "a/b", "ä b/$c.d", "..a", vec!["x"; 32].join("/").as_str()] {
            assert!(DocumentPath::parse(good).is_ok(), "{good:?}");
        }
        let (long, deep) = ("x".repeat(257), vec!["a"; 33].join("/"));
        let longest = vec!["x".repeat(200); 6].join("/");
        for bad in
            ["", "/", "/a", "a/", "a//b", ".", "a/..", "a/\u{0}", "a\n", &long, &deep, &longest]
        {
            assert!(DocumentPath::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_namespace_is_whole_names() {
        assert!(path("a/b").is_within(&path("a")));
        assert!(path("a/b/c").is_within(&path("a/b")));
        for (outside, namespace) in [("a", "a"), ("ab/c", "a"), ("b/a", "a")] {
            assert!(!path(outside).is_within(&path(namespace)), "{outside} {namespace}");
        }
    }

    #[test]
    fn the_namespace_of_a_path_has_at_most_so_many_names_below_another() {
        let namespace = |text: &str, outer: Option<&str>, depth| {
            let outer = outer.map(path);
            path(text).namespace_within(outer.as_ref(), depth).map(String::from)
        };
        assert_eq!(namespace("a/b/c", None, 1), Some("a".to_owned()));
        assert_eq!(namespace("a/b/c", None, 9), Some("a/b".to_owned()));
        assert_eq!(namespace("a/b/c", Some("a"), 1), Some("a/b".to_owned()));
        assert_eq!(namespace("a/b/c", Some("a/b"), 1), None);
        assert_eq!(namespace("a", None, 1), None);
        assert_eq!(namespace("a/b/c", None, 0), None);
        assert_eq!(namespace("b/c/d", Some("a"), 1), None);
    }

    #[test]
    fn errors_point_at_their_fields() {
        let new = || NewDocument {
            binding: StatedBinding::default(),
            content_type: "text/plain".to_owned(),
            content: Vec::new(),
            lifetime: None,
        };
        assert!(new().check().is_ok());
        let pointer = |new: NewDocument| new.check().unwrap_err().location.to_string();
        assert_eq!(pointer(NewDocument { content_type: String::new(), ..new() }), "/content_type");
        assert_eq!(
            pointer(NewDocument { content_type: "a\u{e4}".to_owned(), ..new() }),
            "/content_type"
        );
        assert_eq!(
            pointer(NewDocument { content: vec![0; NewDocument::MAX_BYTES + 1], ..new() }),
            ""
        );
        let team = StatedBinding { visibility: Some(Visibility::Team), ..StatedBinding::default() };
        assert_eq!(pointer(NewDocument { binding: team, ..new() }), "/visibility");
        let chat_id = ChatId::parse("chat_1").ok();
        let open = StatedBinding {
            chat_id,
            visibility: Some(Visibility::App),
            ..StatedBinding::default()
        };
        assert_eq!(pointer(NewDocument { binding: open, ..new() }), "/visibility");
    }

    #[test]
    fn a_binding_is_decided_when_a_document_is_created() {
        let (ann, bob) = (UserId::parse("ann").unwrap(), UserId::parse("bob").unwrap());
        let nothing = StatedBinding::default();
        let of_ann = nothing.of_created(Some(&ann));
        assert_eq!(of_ann.user_id, Some(ann.clone()));
        assert!(nothing.check_agrees(&of_ann).is_ok());
        let stated = StatedBinding { user_id: Some(bob.clone()), ..StatedBinding::default() };
        assert_eq!(stated.of_created(Some(&ann)).user_id, Some(bob));
        let refused = stated.check_agrees(&of_ann).unwrap_err();
        assert_eq!(refused.location.to_string(), "/user_id");
    }
}
