//! Lists: one page of a list as a response, and the parameters that ask for it.

use std::borrow::Cow;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use persistence::{
    AssistantCursor, CallCursor, HitPosition, InputCursor, ListCursor, ParticipantCursor,
    PendingCursor, Position, ResumePointCursor, ToolRunCursor, UserStatsCursor,
};
use records::{AppId, ChatId, DocumentPath};
use serde::Serialize;
use utoipa::__dev::ComposeSchema;
use utoipa::openapi::path::{Parameter, ParameterBuilder, ParameterIn};
use utoipa::openapi::schema::SchemaType;
use utoipa::openapi::{ArrayBuilder, ObjectBuilder, Ref, RefOr, Required, Schema, Type};
use utoipa::{IntoParams, PartialSchema as _, ToSchema};

use crate::config::LimitsConfig;
use crate::extract::{FromParams, Json, Params, declared};
use crate::operation::{Description, Output};
use crate::problem::Problem;

/// A page of a list.
#[derive(Debug, Serialize)]
pub(crate) struct Page<T> {
    data: Vec<T>,
    next_cursor: Option<String>,
}

/// The derived schema would repeat that of the entries in each list.
impl<T: ToSchema> ComposeSchema for Page<T> {
    fn compose(_: Vec<RefOr<Schema>>) -> RefOr<Schema> {
        let cursor = ObjectBuilder::new()
            .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
            .description(Some("The cursor of the next page; null on the last page."));
        ObjectBuilder::new()
            .description(Some("A page of a list."))
            .property("data", ArrayBuilder::new().items(Ref::from_schema_name(T::name())))
            .property("next_cursor", cursor)
            .required("data")
            .required("next_cursor")
            .into()
    }
}

impl<T: ToSchema> ToSchema for Page<T> {
    /// The name of the entries is added to it, as in `Page_Message`.
    fn name() -> Cow<'static, str> {
        "Page".into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((T::name().into(), T::schema()));
        T::schemas(schemas);
    }
}

impl<T> Page<T> {
    /// A page of these records, after which the list continues at `next`.
    pub(super) fn new<C: Cursor>(
        records: impl IntoIterator<Item: Into<T>>,
        next: Option<&C>,
    ) -> Self {
        let data = records.into_iter().map(Into::into).collect();
        Self { data, next_cursor: next.map(Cursor::encode) }
    }

    /// A list that is never divided.
    pub(super) fn whole(records: impl IntoIterator<Item: Into<T>>) -> Self {
        Self::new(records, None::<&u64>)
    }
}

impl<T: Serialize> IntoResponse for Page<T> {
    fn into_response(self) -> Response {
        Json(self).into_response()
    }
}

impl<T: ToSchema> Output for Page<T> {
    fn describe(description: &mut Description) {
        description.reference::<T>();
        description.answers_as(StatusCode::OK, &format!("Page_{}", T::name()), Self::schema());
    }
}

/// The page of a list to return.
#[derive(Debug)]
pub(crate) struct PageQuery<C> {
    pub(super) limit: usize,
    pub(super) cursor: Option<C>,
}

impl<C: Cursor> FromParams for PageQuery<C> {
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem> {
        let limit = params.take_limit(limits)?;
        Ok(Self { limit, cursor: take_cursor(params)? })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// Takes `cursor`.
pub(super) fn take_cursor<C: Cursor>(params: &mut Params) -> Result<Option<C>, Problem> {
    params.take_with("cursor", read)
}

fn read<C: Cursor>(text: &str) -> Result<C, &'static str> {
    // Other texts may decode to the same values, such as `+12` for `12`.
    let issued = C::decode(text).filter(|cursor| cursor.encode() == text);
    issued.ok_or("must be a next_cursor of an earlier response")
}

impl<C> IntoParams for PageQuery<C> {
    fn into_params(_: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let limit = ObjectBuilder::new().schema_type(Type::Integer).minimum(Some(1)).build();
        let most =
            "The most entries of a page: 20 by default, at most 100; fewer if they are large.";
        let cursor = ObjectBuilder::new().schema_type(Type::String).build();
        let parameters = [
            ("limit", limit, most),
            (
                "cursor",
                cursor,
                "The `next_cursor` of the previous page, asked for with the same filters.",
            ),
        ];
        parameters
            .map(|(name, schema, description)| {
                ParameterBuilder::new()
                    .name(name)
                    .parameter_in(ParameterIn::Query)
                    .required(Required::False)
                    .description(Some(description))
                    .schema(Some(schema))
                    .build()
            })
            .into()
    }
}

/// The position after a record of a list, as opaque text.
pub(crate) trait Cursor: Sized {
    fn encode(&self) -> String;

    /// Decodes what [`encode`](Self::encode) wrote, and perhaps other texts.
    fn decode(text: &str) -> Option<Self>;
}

impl Cursor for u64 {
    fn encode(&self) -> String {
        self.to_string()
    }

    fn decode(text: &str) -> Option<Self> {
        text.parse().ok().filter(|number| i64::try_from(*number).is_ok())
    }
}

impl Cursor for AppId {
    fn encode(&self) -> String {
        self.to_string()
    }

    fn decode(text: &str) -> Option<Self> {
        Self::parse(text).ok()
    }
}

/// Implements [`Cursor`] for ids that may hold any character.
macro_rules! by_any_id {
    ($($id:ty),+) => {$(
        impl Cursor for $id {
            fn encode(&self) -> String {
                URL_SAFE_NO_PAD.encode(self.as_str())
            }

            fn decode(text: &str) -> Option<Self> {
                Self::parse(String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?).ok()
            }
        }
    )+};
}

by_any_id!(ChatId, DocumentPath);

impl Cursor for ResumePointCursor {
    fn encode(&self) -> String {
        encode_pair(self.turn, self.sequence)
    }

    fn decode(text: &str) -> Option<Self> {
        let (turn, sequence) = decode_pair(text)?;
        Some(Self { turn: turn.parse().ok()?, sequence: sequence.parse().ok()? })
    }
}

/// Implements [`Cursor`] for the time and the id of a record.
macro_rules! by_time_and_id {
    ($($cursor:ty { $at:ident, $id:ident }),+) => {$(
        impl Cursor for $cursor {
            fn encode(&self) -> String {
                encode_pair(self.$at.timestamp_millis(), &self.$id)
            }

            fn decode(text: &str) -> Option<Self> {
                let (at, id) = decode_pair(text)?;
                Some(Self { $at: time(&at)?, $id: id.try_into().ok()? })
            }
        }
    )+};
}

impl Cursor for ListCursor {
    fn encode(&self) -> String {
        match &self.position {
            Position::Created(at) => encode_pair(at.timestamp_millis(), &self.chat_id),
            Position::Active(at) => {
                encode_pair(format_args!("{BY_ACTIVITY}{}", at.timestamp_millis()), &self.chat_id)
            }
            // The key may hold any character, so its length is needed to part it from the id.
            Position::Title(key) => encode_pair(
                format_args!("{BY_TITLE}{}", key.len()),
                format_args!("{key}{}", self.chat_id),
            ),
            Position::Sort(sort) => encode_pair(format_args!("{BY_SORT}{sort}"), &self.chat_id),
        }
    }

    fn decode(text: &str) -> Option<Self> {
        let (position, chat_id) = decode_pair(text)?;
        if let Some(length) = position.strip_prefix(BY_TITLE) {
            let (key, chat_id) = chat_id.split_at_checked(length.parse().ok()?)?;
            let position = Position::Title(key.to_owned());
            return Some(Self { position, chat_id: chat_id.to_owned().try_into().ok()? });
        }
        let position = if let Some(at) = position.strip_prefix(BY_ACTIVITY) {
            Position::Active(time(at)?)
        } else if let Some(sort) = position.strip_prefix(BY_SORT) {
            Position::Sort(sort.parse().ok()?)
        } else {
            Position::Created(time(&position)?)
        };
        Some(Self { position, chat_id: chat_id.try_into().ok()? })
    }
}

impl Cursor for PendingCursor {
    fn encode(&self) -> String {
        let Self { created_at, chat_id, request_id } = self;
        // The ids may hold any character, so the length of the first one is needed to part them.
        let ids = format_args!("{} {chat_id}{request_id}", chat_id.as_str().len());
        encode_pair(created_at.timestamp_millis(), ids)
    }

    fn decode(text: &str) -> Option<Self> {
        let (at, rest) = decode_pair(text)?;
        let (length, ids) = rest.split_once(' ')?;
        let (chat_id, request_id) = ids.split_at_checked(length.parse().ok()?)?;
        let chat_id = chat_id.to_owned().try_into().ok()?;
        let request_id = request_id.to_owned().try_into().ok()?;
        Some(Self { created_at: time(&at)?, chat_id, request_id })
    }
}

impl Cursor for HitPosition {
    fn encode(&self) -> String {
        let Self { rank, chat_id, sequence } = self;
        encode_pair(rank, format_args!("{sequence} {chat_id}"))
    }

    fn decode(text: &str) -> Option<Self> {
        let (rank, rest) = decode_pair(text)?;
        let (sequence, chat_id) = rest.split_once(' ')?;
        let sequence = sequence.parse().ok().filter(|it| i64::try_from(*it).is_ok())?;
        Some(Self {
            rank: rank.parse().ok()?,
            chat_id: chat_id.to_owned().try_into().ok()?,
            sequence,
        })
    }
}

impl Cursor for UserStatsCursor {
    fn encode(&self) -> String {
        encode_pair(self.number, &self.user_id)
    }

    fn decode(text: &str) -> Option<Self> {
        let (number, user_id) = decode_pair(text)?;
        let number = number.parse().ok().filter(|it| i64::try_from(*it).is_ok())?;
        Some(Self { number, user_id: user_id.try_into().ok()? })
    }
}

impl Cursor for AssistantCursor {
    fn encode(&self) -> String {
        encode_pair(self.sort, &self.assistant_id)
    }

    fn decode(text: &str) -> Option<Self> {
        let (sort, assistant_id) = decode_pair(text)?;
        Some(Self { sort: sort.parse().ok()?, assistant_id: assistant_id.try_into().ok()? })
    }
}

/// Begin the positions in lists by last activity, title and sort.
const BY_ACTIVITY: char = 'a';
const BY_TITLE: char = 't';
const BY_SORT: char = 's';

by_time_and_id! {
    persistence::Cursor { created_at, chat_id },
    CallCursor { called_at, call_id },
    InputCursor { created_at, request_id },
    ParticipantCursor { joined_at, user_id },
    ToolRunCursor { started_at, run_id }
}

fn time(millis: &str) -> Option<DateTime<Utc>> {
    DateTime::from_timestamp_millis(millis.parse().ok()?)
}

fn encode_pair(first: impl std::fmt::Display, second: impl std::fmt::Display) -> String {
    URL_SAFE_NO_PAD.encode(format!("{first} {second}"))
}

fn decode_pair(text: &str) -> Option<(String, String)> {
    let plain = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
    let (first, second) = plain.split_once(' ')?;
    Some((first.to_owned(), second.to_owned()))
}

#[cfg(test)]
mod tests {
    use records::{AssistantId, CallId, ChatId, InputRequestId, UserId};

    use super::*;

    #[test]
    fn a_cursor_comes_back_as_it_was() {
        let at = DateTime::from_timestamp_millis(1_759_399_200_123).unwrap();
        let chat_id = ChatId::parse("chat_abc123").unwrap();
        let title = Position::Title("12 a t\0\u{10FFFF}".to_owned());
        for position in [Position::Created(at), Position::Active(at), title, Position::Sort(-5)] {
            let cursor = ListCursor { position, chat_id: chat_id.clone() };
            assert_eq!(read(&cursor.encode()), Ok(cursor));
        }
        let request_id = InputRequestId::parse("q 1").unwrap();
        let cursor = HitPosition { rank: -7, chat_id: chat_id.clone(), sequence: 8 };
        assert_eq!(read(&cursor.encode()), Ok(cursor));
        let cursor = PendingCursor { created_at: at, chat_id, request_id };
        assert_eq!(read(&cursor.encode()), Ok(cursor));
        let call_id = CallId::parse("a call with spaces").unwrap();
        let cursor = CallCursor { called_at: at, call_id };
        assert_eq!(read(&cursor.encode()), Ok(cursor));
        let assistant_id = AssistantId::parse("an assistant").unwrap();
        let cursor = AssistantCursor { sort: i32::MIN, assistant_id };
        assert_eq!(read(&cursor.encode()), Ok(cursor));
        let user_id = UserId::parse("Zoë von Ü.").unwrap();
        let cursor = UserStatsCursor { number: 12, user_id };
        assert_eq!(read(&cursor.encode()), Ok(cursor));
        let cursor = ResumePointCursor { turn: u64::MAX, sequence: 0 };
        assert_eq!(read(&cursor.encode()), Ok(cursor));
        assert_eq!(read(&12_u64.encode()), Ok(12_u64));
    }

    #[test]
    fn what_was_not_issued_is_refused() {
        let encoded = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let operator = encoded(r#"12 {"$ne":null}"#);
        for text in ["", "x", "{}", "MTIz", &encoded("+12 chat"), &operator] {
            assert!(read::<persistence::Cursor>(text).is_err(), "{text}");
        }
        for text in ["", "x", &encoded("+1 2"), &encoded("1 2 3")] {
            assert!(read::<ResumePointCursor>(text).is_err(), "{text}");
        }
        for text in ["", "-1", "+1", "01", "18446744073709551615"] {
            assert!(read::<u64>(text).is_err(), "{text}");
        }
    }
}
