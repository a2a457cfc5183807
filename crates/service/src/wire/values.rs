//! The schemas of values that many routes share: ids, names, and words from a closed list.
//!
//! The words come from the types that read and write them, so a new one is described by itself.

use resume::dialect;
use serde_json::json;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{
    ArrayBuilder, KnownFormat, Object, ObjectBuilder, Schema, SchemaFormat, SchemaType, Type,
};
use utoipa::{PartialSchema, ToSchema};

/// Declares schemas by name. A field has such a schema with `value_type`.
macro_rules! values {
    ($(#[doc = $doc:literal] $name:ident => $schema:expr;)+) => {$(
        #[doc = $doc]
        pub(crate) enum $name {}

        impl PartialSchema for $name {
            fn schema() -> RefOr<Schema> {
                let description = $doc.trim();
                $schema.description(Some(description)).into()
            }
        }

        impl ToSchema for $name {}
    )+};
}

values! {
    /// The id of an app: 1 to 64 of `A-Z a-z 0-9 _ -`.
    AppId => text("^[A-Za-z0-9_-]+$", 64, "acme_corp");
    /// The id of a chat: 1 to 128 of `A-Z a-z 0-9 _ - . :`, beginning with a letter, a digit or `_`.
    ChatId => text("^[A-Za-z0-9_][A-Za-z0-9_.:-]*$", 128, "chat_abc123def456");
    /// An id or a name: 1 to 128 visible characters, without blanks at its ends.
    Name => text(VISIBLE, 128, "user_alice_456");
    /// The path of a document within its app: 1 to 32 names of 1 to 256 bytes without control characters, separated by `/`, at most 1,024 bytes together. No name is `.` or `..`.
    DocumentPath => text(PATH, 1024, "notes/plan.md");
    /// Any content: bytes, or JSON as it was written.
    Content => ObjectBuilder::new().schema_type(SchemaType::AnyValue).examples([json!({"step": 3})]);

    /// What stands for a person in the audit log of an app: 64 hexadecimal digits.
    Pseudonym => text("^[0-9a-f]{64}$", 64, "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9");

    /// The variables of a workflow, by name.
    Variables => ObjectBuilder::new().examples([json!({"interview_complete": true})]);

    /// The status of a chat.
    ChatStatus => words(records::ChatStatus::ALL.map(records::ChatStatus::as_str));
    /// One status of a chat or several, separated by commas.
    ChatStatuses => text("^(running|paused|completed|failed)(,(running|paused|completed|failed))*$", 128, "running,paused");
    /// Who may find and read a chat, besides its owner and its members: no other user (`private`), its team (`team`), every user of the app who knows the id (`link`), or every user of the app, who also finds it in the list (`app`).
    Visibility => words(records::Visibility::ALL.map(records::Visibility::as_str));
    /// Whether a chat is in use (`active`), put aside (`archived`), or gone for its callers (`deleted`).
    Lifecycle => words(["active", "archived", "deleted"]);
    /// `all`, or one lifecycle of a chat or several, separated by commas.
    Lifecycles => text("^(all|(active|archived|deleted)(,(active|archived|deleted))*)$", 128, "active,archived");
    /// What a caller may do with a chat: fork it (`create`), read it (`read`), say something and answer questions (`say`), write what a workflow writes (`run`), record calls (`bill`), or change the chat itself and its members (`manage`).
    ChatPermission => words(records::Permission::OF_CHATS.map(records::Permission::as_str));
    /// What a member may do: read and say (`member`), or read (`reader`).
    MemberRole => words(records::MemberRole::ALL.map(records::MemberRole::as_str));
    /// Different top-level keys of the metadata of chats, at most 8.
    MetadataKeys => ArrayBuilder::new()
        .items(ObjectBuilder::new().schema_type(Type::String).min_length(Some(1)).max_length(Some(records::MetadataKeys::MAX_KEY_CHARS)))
        .max_items(Some(records::MetadataKeys::MAX_KEYS))
        .unique_items(true)
        .examples([json!(["customer"])]);
    /// What the chunks of a stream are.
    StreamFormatName => words(records::StreamFormat::ALL.map(records::StreamFormat::as_str));
    /// Whether a stream goes on, or how it ended.
    StreamState => words(records::StreamState::ALL.map(records::StreamState::as_str));
    /// How a turn ended.
    TurnOutcome => words(records::TurnOutcome::ALL.map(records::TurnOutcome::as_str));
    /// The kind of a step.
    StepType => words(records::StepKind::ALL.map(records::StepKind::as_str));
    /// Whether a message is what was signed (`signed`), or was stored or changed by a service since (`unsigned`), or was changed in the database without a service (`broken`).
    Verdict => words(persistence::Verdict::ALL.map(persistence::Verdict::as_str));
    /// The state of a step.
    StepStatus => words(records::StepStatus::ALL.map(records::StepStatus::as_str));
    /// What counts as an answer: any content (`text`), one of the options (`choice`), or true or false (`confirm`).
    InputKind => words(records::InputKind::ALL.map(records::InputKind::as_str));
    /// The state of an input request.
    InputState => words(["pending", "answered", "cancelled", "expired", "chat_ended"]);
    /// What an orchestrator does next: run the failed or the interrupted step again (`retry`, `continue`), wait for an answer, start if no step is open, or nothing.
    Action => words(resume::plan::Action::ALL.map(resume::plan::Action::as_str));
    /// A format of messages; docs/api/messages.md describes each.
    Dialect => words(dialect::names());
    /// A format in which messages can be stored, too; docs/api/messages.md describes each.
    StoredDialect => words(dialect::parsed().map(resume::dialect::Dialect::name));
    /// What happens to a message whose tool calls do not all have results directly after it: its calls are removed, the missing results are added as errors (`settle`), the message is left out (`trim`), or the request is refused.
    Unsettled => words(resume::UnsettledPolicy::ALL.map(resume::UnsettledPolicy::as_str));
    /// Whether an app may be used.
    AppStatus => words(records::AppStatus::ALL.map(records::AppStatus::as_str));
    /// Whether the service can handle requests; `stopping` once the process was asked to stop.
    Readiness => words(["ready", "unavailable", "stopping"]);
    /// Whether the store answers, or must become a replica set first.
    StoreCheck => words(["ok", "unavailable", "starting", "not-a-replica-set"]);
    /// How live chats learn of changes by other processes; by polling if the database has no change stream.
    LiveCheck => words(["change_stream", "polling"]);
    /// What a person is in the service.
    PersonRole => words(["user", "support", "operator"]);
    /// What changed the balance of a wallet.
    EntryKind => words(records::EntryKind::ALL.map(records::EntryKind::as_str));
}

/// Implements the schema of a type as any of several others. Not one of them: what selects it is outside of the JSON,
/// so it may be valid as another, too.
macro_rules! any_of {
    ($type:ty, $name:literal, [$($part:ty),+ $(,)?]) => {
        impl utoipa::PartialSchema for $type {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                let parts = [$(<$part as utoipa::ToSchema>::name()),+];
                let parts = parts.map(utoipa::openapi::Ref::from_schema_name);
                let any = utoipa::openapi::schema::AnyOf { items: parts.map(Into::into).into(), ..Default::default() };
                utoipa::openapi::Schema::AnyOf(any).into()
            }
        }

        impl utoipa::ToSchema for $type {
            fn name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn schemas(
                schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>,
            ) {
                $(
                    schemas.push((
                        <$part as utoipa::ToSchema>::name().into_owned(),
                        <$part as utoipa::PartialSchema>::schema(),
                    ));
                    <$part as utoipa::ToSchema>::schemas(schemas);
                )+
            }
        }
    };
}
pub(crate) use any_of;

/// Returns an object with the fields of several.
pub(crate) fn merged(parts: impl IntoIterator<Item = RefOr<Schema>>) -> Object {
    let mut merged = Object::new();
    for part in parts {
        if let RefOr::T(Schema::Object(part)) = part {
            merged.properties.extend(part.properties);
            merged.required.extend(part.required);
            merged.additional_properties = part.additional_properties;
        }
    }
    merged
}

/// Begins and ends with a visible character, and has no control characters.
const PATH: &str =
    r"^(?!\.{1,2}(/|$))[^/\x00-\x1f\x7f-\x9f]+(/(?!\.{1,2}(/|$))[^/\x00-\x1f\x7f-\x9f]+)*$";
const VISIBLE: &str = r"^[^\s\x00-\x1f\x7f-\x9f]([^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f])?$";

fn text(pattern: &str, max_length: usize, example: &str) -> ObjectBuilder {
    ObjectBuilder::new()
        .schema_type(Type::String)
        .pattern(Some(pattern))
        .min_length(Some(1))
        .max_length(Some(max_length))
        .examples([json!(example)])
}

/// The schema of a number that the store can hold, in a path or a header.
pub(crate) fn number_from(min: usize) -> ObjectBuilder {
    let format = SchemaFormat::KnownFormat(KnownFormat::Int64);
    ObjectBuilder::new().schema_type(Type::Integer).format(Some(format)).minimum(Some(min))
}

/// Returns the schema of a word from a closed list.
pub(crate) fn words(words: impl IntoIterator<Item = &'static str>) -> ObjectBuilder {
    ObjectBuilder::new().schema_type(Type::String).enum_values(Some(words))
}
