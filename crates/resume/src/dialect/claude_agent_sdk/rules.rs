use crate::dialect::anthropic::ANTHROPIC;
use crate::dialect::pipeline::rules::{
    DialectRules, NameRule, OwnFields, ReasoningRule, TurnRules,
};

/// The Claude Agent SDK, which sends the messages of a session to Anthropic's Messages API.
pub(super) const CLAUDE_AGENT_SDK: DialectRules = DialectRules {
    // API reference, "Messages": names of tools have up to 128 characters; those of MCP are long.
    functions: NameRule { max_chars: 128, ..NameRule::WORD },
    // The SDK wrote the entries of a session, and many of them are no messages.
    own_fields: OwnFields {
        may_be_all: true,
        may_interrupt: true,
        has_call_places: true,
        ..OwnFields::all_of("claude-agent-sdk")
    },
    // The SDK sends only what its model accepts; other providers behind it sign with an empty text.
    reasoning: ReasoningRule::Kept,
    // A tool may be answered when it begins and again when it ends, and a resumed session may repeat a result.
    keeps_repeated_results: true,
    // A session may begin and end with any entry.
    turns: TurnRules::ANY,
    ..ANTHROPIC
};
