//! Operations on few chats, users, ids and texts, so that repeats, conflicts and refusals are as
//! likely as successes.

use persistence::{ChatFilter, ChatOrder, Direction, MessageRange};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use records::{
    AssistantId, CallId, Caller, ChatStatus, DisplayName, EventId, FieldChange, JsonObject,
    Lifecycle, MemberRole, MessageBody, MessageEdit, MetadataFilter, MicroDollars, NewArtifact,
    NewChatSession, NewFork, NewMessage, NewProviderCall, Permission, SessionChange, TeamId,
    TurnOutcome, UserId, Visibility, WorkflowName,
};
use serde_json::{Value, json};
use store_contract::arbitrary::{json_object, json_value};

use super::apps::{app_call, field_change};
use super::input_requests::input_call;
use super::leases::{lease_call, token};
use super::lockstep::moment;
use super::operation::{Call, Operation, users, workflows};
use super::tool_runs::tool_run_call;
use super::turns::turn_call;
use super::wallets::wallet_call;

/// Generates up to eighty operations. The first creates the chat that most of them use.
pub(crate) fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let first = new_chat().prop_map(|new| Operation {
        app: 0,
        caller: Caller::Service,
        permission: Permission::Run,
        fencing_token: None,
        finds_deleted: false,
        chat: 0,
        call: Call::Create(new),
    });
    (first, prop::collection::vec(operation(), 0..80))
        .prop_map(|(first, rest)| [vec![first], rest].concat())
}

fn operation() -> impl Strategy<Value = Operation> {
    let app = prop_oneof![30 => Just(0_usize), 1 => Just(1)];
    let chat = prop_oneof![12 => Just(0_usize), 2 => Just(1), 1 => Just(2)];
    let fencing_token = prop_oneof![6 => Just(None), 1 => token().prop_map(Some)];
    let permission = select(Permission::ALL.to_vec());
    // Deleted chats are found often, or most operations would find nothing after a deletion.
    let finds_deleted = prop_oneof![4 => Just(false), 1 => Just(true)];
    let scope = (caller(), permission, fencing_token, finds_deleted);
    (app, scope, chat, call()).prop_map(|(app, scope, chat, call)| {
        let (caller, permission, fencing_token, finds_deleted) = scope;
        Operation { app, caller, permission, fencing_token, finds_deleted, chat, call }
    })
}

fn call() -> impl Strategy<Value = Call> {
    let status = prop_oneof![
        4 => Just(ChatStatus::Running),
        2 => Just(ChatStatus::Paused),
        1 => Just(ChatStatus::Completed),
        1 => Just(ChatStatus::Failed),
    ];
    let reason = option::of(Just("because".to_owned()));
    prop_oneof![
        2 => call_to_create(),
        3 => (0..3_usize, fork()).prop_map(|(into, fork)| Call::Fork(into, fork)),
        8 => messages().prop_map(Call::Append),
        4 => messages().prop_map(Call::PersistInitial),
        3 => (status, reason).prop_map(|(status, reason)| Call::SetStatus(status, reason)),
        4 => session_change().prop_map(Call::Change),
        1 => prop_oneof![1 => Just(Call::Purge), 1 => user().prop_map(Call::Erase)],
        3 => (sequence(), edit()).prop_map(|(sequence, edit)| Call::UpdateMessage(sequence, edit)),
        2 => sequence().prop_map(Call::DeleteMessage),
        2 => json_object().prop_map(Call::ReplaceContext),
        2 => json_object().prop_map(Call::MergeContext),
        1 => (0..9_u64).prop_map(Call::ContextVersion),
        2 => artifact().prop_map(Call::UpdateArtifact),
        1 => Just(Call::ClearArtifact),
        5 => prop::collection::vec(provider_call(), 1..4).prop_map(Call::RecordCalls),
        3 => (messages(), provider_call())
            .prop_map(|(messages, call)| Call::Exchange(messages, call)),
        1 => call_id().prop_map(Call::Uncall),
        4 => (user(), option::of(display_name()))
            .prop_map(|(user_id, name)| Call::Join(user_id, name)),
        2 => (user(), select(MemberRole::ALL.to_vec()))
            .prop_map(|(user_id, role)| Call::PutMember(user_id, role)),
        1 => user().prop_map(Call::RemoveMember),
        1 => user().prop_map(Call::Leave),
        1 => workflow().prop_map(Call::Stats),
        10 => (user(), wallet_call()).prop_map(|(user_id, call)| Call::Wallet(user_id, call)),
        10 => input_call().prop_map(Call::Input),
        8 => lease_call().prop_map(Call::Lease),
        8 => turn_call().prop_map(Call::Turn),
        4 => tool_run_call().prop_map(Call::ToolRuns),
        3 => app_call().prop_map(Call::App),
        2 => (filter(), 1..4_usize).prop_map(|(filter, limit)| Call::List { filter, limit }),
        4 => range().prop_map(Call::Messages),
        1 => sequence().prop_map(Call::GetMessage),
        1 => select(vec![Call::Get, Call::History, Call::LoadContext, Call::ContextVersions, Call::GetArtifact]),
    ]
}

fn call_to_create() -> impl Strategy<Value = Call> {
    prop_oneof![
        4 => new_chat().prop_map(Call::Create),
        1 => new_chat().prop_map(Call::CreateAnother),
    ]
}

fn display_name() -> impl Strategy<Value = DisplayName> {
    select(vec!["Ada", "$b"]).prop_map(|name| DisplayName::parse(name).unwrap())
}

fn caller() -> impl Strategy<Value = Caller> {
    prop_oneof![
        12 => Just(Caller::Service),
        4 => (user(), option::of(team()), any::<bool>())
            .prop_map(|(user_id, team_id, may_run)| Caller::User { user_id, team_id, may_run }),
        1 => user().prop_map(|user_id| Caller::Support { user_id }),
    ]
}

fn new_chat() -> impl Strategy<Value = NewChatSession> {
    let title = option::of(Just("A title".to_owned()));
    let visibility = select(Visibility::ALL.to_vec());
    let words = (workflow(), option::of(user()), option::of(team()), title);
    let cache_seed = option::of(any::<u32>());
    let rest = (visibility, cache_seed, metadata(), option::of(assistant()));
    (words, rest).prop_map(|(words, rest)| {
        let (visibility, cache_seed, metadata, assistant_id) = rest;
        let (workflow_name, user_id, team_id, title) = words;
        NewChatSession {
            chat_id: None,
            workflow_name,
            user_id,
            team_id,
            visibility,
            cache_seed,
            title,
            metadata,
            assistant_id,
            sort: 0,
            system_prompt: None,
        }
    })
}

fn session_change() -> impl Strategy<Value = SessionChange> {
    let lifecycle = prop_oneof![
        4 => Just(Lifecycle::Active),
        2 => Just(Lifecycle::Archived),
        1 => Just(Lifecycle::Deleted),
    ];
    let title = field_change(select(vec!["A title".to_owned(), "Another".to_owned()]));
    let visibility = option::of(select(Visibility::ALL.to_vec()));
    let (sort, metadata) = (option::of(-1..2_i32), option::of(metadata()));
    let rest = (sort, metadata, option::of(lifecycle));
    (title, visibility, field_change(team()), rest).prop_map(
        |(title, visibility, team_id, rest)| {
            let (sort, metadata, lifecycle) = rest;
            let assistant_id = FieldChange::Keep;
            let system_prompt = title.clone();
            SessionChange {
                title,
                metadata,
                visibility,
                team_id,
                assistant_id,
                sort,
                system_prompt,
                lifecycle,
            }
        },
    )
}

/// Generates metadata, mostly with values by which chats are listed.
fn metadata() -> impl Strategy<Value = JsonObject> {
    let listed =
        select(vec![("a", json!(1)), ("a", json!("1")), ("b", json!("x")), ("b", json!([]))]);
    let listed = listed.prop_map(|(key, value)| JsonObject::from_iter([(key.to_owned(), value)]));
    prop_oneof![1 => json_object(), 2 => listed]
}

fn fork() -> impl Strategy<Value = NewFork> {
    (option::of(sequence()), option::of(user()), metadata()).prop_map(
        |(sequence, user_id, metadata)| NewFork {
            sequence,
            user_id,
            metadata,
            ..NewFork::default()
        },
    )
}

/// Generates a few messages, some of them repeats, and sometimes enough messages to be sealed.
fn messages() -> impl Strategy<Value = Vec<NewMessage>> {
    let many = (20..70_usize, content()).prop_map(|(count, content)| {
        vec![MessageBody::new("assistant", None, content).into(); count]
    });
    prop_oneof![
        30 => prop::collection::vec(message(), 1..5),
        8 => many,
        1 => Just(Vec::new()),
    ]
}

fn message() -> impl Strategy<Value = NewMessage> {
    prop_oneof![
        // A repeated id mostly has the same body.
        4 => (0..6_u32).prop_map(|n| named(n, MessageBody::new("user", Some("Ada"), n))),
        1 => (0..6_u32, body()).prop_map(|(n, body)| named(n, body)),
        4 => body().prop_map(NewMessage::from),
    ]
}

fn named(number: u32, body: MessageBody) -> NewMessage {
    NewMessage { event_id: EventId::parse(format!("e{number}")).ok(), ..body.into() }
}

fn body() -> impl Strategy<Value = MessageBody> {
    let plain = (content(), select(vec!["user", "assistant"]))
        .prop_map(|(content, role)| MessageBody::new(role, None, content));
    prop_oneof![15 => plain, 5 => full_body(), 1 => refused_body()]
}

fn full_body() -> impl Strategy<Value = MessageBody> {
    let name = option::of(select(vec!["Ada", ""]));
    let fields = (name, content(), option::of(json_object()), json_value());
    fields.prop_map(|(name, content, metadata, tool_calls)| MessageBody {
        metadata,
        timestamp: Some("2026".to_owned()),
        extra: [("tool_calls".to_owned(), tool_calls)].into_iter().collect(),
        ..MessageBody::new("tool", name, content)
    })
}

fn refused_body() -> impl Strategy<Value = MessageBody> {
    select(vec![
        MessageBody::new("", None, "no role"),
        MessageBody::new("user", Some("\n"), "a bad name"),
        MessageBody::new("user", None, json!([u64::MAX])),
    ])
}

fn content() -> impl Strategy<Value = Value> {
    let texts = ["a", "b", "a\0"].map(Value::from);
    prop_oneof![3 => select(texts.to_vec()), 1 => json_value()]
}

fn edit() -> impl Strategy<Value = MessageEdit> {
    let name = option::of(Just("Bob".to_owned()));
    let content = prop_oneof![9 => content(), 1 => Just(json!({"a\0": 1}))];
    (option::of(content), name, option::of(json_object())).prop_map(|(content, name, metadata)| {
        MessageEdit { content, name, metadata, ..MessageEdit::default() }
    })
}

fn artifact() -> impl Strategy<Value = NewArtifact> {
    let text = || option::of(select(vec!["chart".to_owned(), "x".repeat(300)]));
    let display = option::of(Just("inline".to_owned()));
    let updated_at = option::of((0..60_u64).prop_map(moment));
    (text(), display, json_value(), updated_at).prop_map(
        |(ui_tool_id, display, payload, updated_at)| NewArtifact {
            ui_tool_id,
            display,
            payload,
            updated_at,
            ..NewArtifact::default()
        },
    )
}

/// Most lists have few filters, because most combinations of many are refused.
fn filter() -> impl Strategy<Value = ChatFilter> {
    fn rarely<S: Strategy>(value: S) -> impl Strategy<Value = Option<S::Value>> {
        option::weighted(0.15, value)
    }
    let time = || rarely((0..60_u64).prop_map(moment));
    let lifecycles = proptest::collection::vec(select(Lifecycle::ALL.as_slice()), 0..3);
    let order = select(ChatOrder::ALL.as_slice());
    let list = (any::<u8>(), lifecycles, order);
    let people = (rarely(user()), rarely(user()), rarely(team()));
    let kinds = (rarely(workflow()), rarely(assistant()));
    let statuses = rarely(proptest::collection::vec(select(ChatStatus::ALL.as_slice()), 1..3));
    let metadata = rarely(select(vec!["a:1", "b:x"]));
    let kinds = (kinds, metadata.prop_map(|it| MetadataFilter::parse(it?).ok()));
    let states = (statuses, any::<u8>(), rarely(select(TurnOutcome::ALL.as_slice())));
    let times = (time(), time(), time(), time());
    (list, people, kinds, states, times).prop_map(|(list, people, kinds, states, times)| {
        ChatFilter {
            of_app: list.0 < 40,
            lifecycles: list.1,
            order: list.2,
            direction: [None, Some(Direction::Ascending)][usize::from(list.0 % 2)],
            user_id: people.0,
            member: people.1,
            team_id: people.2,
            workflow_name: kinds.0.0,
            assistant_id: kinds.0.1,
            title_contains: None,
            metadata: kinds.1,
            statuses: states.0.unwrap_or_default(),
            needs_input: states.1 < 40,
            last_turn_outcome: states.2,
            forked_from: None,
            created_from: times.0,
            created_before: times.1,
            active_from: times.2,
            active_before: times.3,
        }
    })
}

fn assistant() -> impl Strategy<Value = AssistantId> {
    Just(AssistantId::parse("helper").unwrap())
}

fn range() -> impl Strategy<Value = MessageRange> {
    let limit = || prop_oneof![1..5_usize, 1..100_usize, Just(usize::MAX)];
    let bound = || option::of(sequence());
    prop_oneof![
        (bound(), bound(), limit()).prop_map(|(after, before, limit)| MessageRange::Oldest {
            after,
            before,
            limit
        }),
        (bound(), limit()).prop_map(|(before, limit)| MessageRange::Newest { before, limit }),
    ]
}

fn sequence() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..4_u64, 6 => 0..150_u64, 1 => Just(u64::MAX)]
}

/// Generates a call that may have been recorded before, sometimes with another body under the same id.
fn provider_call() -> impl Strategy<Value = NewProviderCall> {
    let id = option::of(call_id());
    let agent = option::of(select(vec!["planner".to_owned(), "a.$b".to_owned()]));
    let moment = option::of((0..4_u64).prop_map(|hour| moment(hour * 3 * 3_000)));
    (id, agent, moment, select(vec![0, 1, 40, 1_000_000])).prop_map(
        |(call_id, agent, called_at, size)| NewProviderCall {
            call_id,
            agent,
            prompt_tokens: size,
            cost: MicroDollars::new(size).unwrap(),
            duration_ms: size,
            called_at,
            ..NewProviderCall::default()
        },
    )
}

fn call_id() -> impl Strategy<Value = CallId> {
    (0..5_u32).prop_map(|n| CallId::parse(format!("call_{n}")).unwrap())
}

fn workflow() -> impl Strategy<Value = WorkflowName> {
    select(workflows().to_vec())
}

fn user() -> impl Strategy<Value = UserId> {
    select(users().to_vec())
}

fn team() -> impl Strategy<Value = TeamId> {
    select(["red", "blue"].map(|name| TeamId::parse(name).unwrap()).to_vec())
}
