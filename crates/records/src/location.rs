use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};

/// The place of a value in an input. Its text is a JSON pointer (RFC 6901).
///
/// An item is kept apart from the path, because a service may have its records elsewhere in a request than in the
/// arguments of the store call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Location {
    /// The item of a list that has the value; `None` for a value elsewhere in the input.
    pub item: Option<Item>,
    /// The path from the item, or else from the root of the input.
    pub path: Vec<Segment>,
}

/// An item of a list of records, by its index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Item {
    /// An item of `messages`.
    Message(usize),
    /// An item of `calls`.
    Call(usize),
    /// An item of `steps`.
    Step(usize),
    /// An item of `runs`.
    ToolRun(usize),
}

/// A step of a path into JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Segment {
    /// A key of an object.
    Key(Cow<'static, str>),
    /// An index of an array.
    Index(usize),
}

impl Location {
    /// Returns the location in an input of which this input is the part at `outer`.
    #[must_use]
    pub fn below(self, outer: impl Into<Self>) -> Self {
        let Self { item, mut path } = outer.into();
        path.extend(self.item.into_iter().flat_map(Item::segments));
        path.extend(self.path);
        Self { item, path }
    }
}

impl Item {
    fn segments(self) -> [Segment; 2] {
        let (list, index) = match self {
            Self::Message(index) => ("messages", index),
            Self::Call(index) => ("calls", index),
            Self::Step(index) => ("steps", index),
            Self::ToolRun(index) => ("runs", index),
        };
        [Segment::key(list), Segment::Index(index)]
    }
}

impl Segment {
    /// Creates the step to the value of a key.
    pub fn key(key: impl Into<Cow<'static, str>>) -> Self {
        Self::Key(key.into())
    }
}

impl From<&'static str> for Location {
    /// Reads a JSON pointer to a field. It has no indices, and no keys with `/` or `~`.
    fn from(pointer: &'static str) -> Self {
        pointer.split('/').skip(1).map(Segment::key).collect()
    }
}

impl From<Item> for Location {
    fn from(item: Item) -> Self {
        Self { item: Some(item), path: Vec::new() }
    }
}

impl From<Segment> for Location {
    fn from(segment: Segment) -> Self {
        Self::from_iter([segment])
    }
}

impl FromIterator<Segment> for Location {
    fn from_iter<I: IntoIterator<Item = Segment>>(path: I) -> Self {
        Self { item: None, path: Vec::from_iter(path) }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let item = self.item.map(Item::segments);
        for segment in item.iter().flatten().chain(&self.path) {
            match segment {
                Segment::Key(key) => write!(f, "/{}", key.replace('~', "~0").replace('/', "~1"))?,
                Segment::Index(index) => write!(f, "/{index}")?,
            }
        }
        Ok(())
    }
}

impl Serialize for Location {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_of_a_location_is_a_json_pointer() {
        let within = |location: Location| location.below(Item::Message(2)).to_string();
        assert_eq!(Location::default().to_string(), "");
        assert_eq!(Location::from("/tool_call/arguments").to_string(), "/tool_call/arguments");
        assert_eq!(within("/event_id".into()), "/messages/2/event_id");
        assert_eq!(within(Segment::key("a/b~").into()), "/messages/2/a~1b~0");
        let step = Location::from(Segment::Index(0)).below("/options").below(Item::Step(1));
        assert_eq!(step.below("/turn").to_string(), "/turn/steps/1/options/0");
    }
}
