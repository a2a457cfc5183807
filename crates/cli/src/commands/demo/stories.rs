//! What the chats of the demo are about.

/// A kind of chat: what people ask for, and what the agents do about it.
pub(super) struct Story {
    pub(super) workflow: &'static str,
    pub(super) title: &'static str,
    /// The user's request, and what they say next.
    pub(super) asked: &'static str,
    pub(super) then: &'static str,
    /// The agent that leads, and the one that uses the tool.
    pub(super) agents: [&'static str; 2],
    pub(super) tool: &'static str,
    pub(super) arguments: &'static str,
    pub(super) result: &'static str,
    /// What the leading agent answers, before and after the tool was used for what was said next.
    pub(super) found: &'static str,
    pub(super) done: &'static str,
    /// What the tool says when it fails, and why the chat then ends.
    pub(super) error: &'static str,
    /// What a person is asked before the tool is used.
    pub(super) question: &'static str,
    /// Provider and model of the leading agent, and the price of its answers.
    pub(super) model: (&'static str, &'static str),
    pub(super) cost_micros: u64,
}

pub(super) const STORIES: [Story; 4] = [
    Story {
        workflow: "Rebooking",
        title: "Rebooking to Oslo",
        asked: "My flight to **Oslo** is cancelled. Which ones are left for tomorrow?",
        then: "Take LH 860, please. My booking is QX7L2P.",
        agents: ["planner", "booker"],
        tool: "rebook",
        arguments: r#"{"booking": "QX7L2P", "flight": "LH 860"}"#,
        result: r#"{"seats": 11, "fare": 214}"#,
        found: "| flight | leaves | seats |\n|---|---|---|\n| SK 1474 | 09:10 | 4 |\n| LH 860 | 17:30 | 11 |\n\n\
                SK 1474 is the earliest, LH 860 has the most seats.",
        done: "You are on **LH 860** tomorrow at 17:30, seat 14C. The difference in fare is waived.",
        error: "HTTP 502 from the booking system: upstream timed out",
        question: "The change costs 214 euros. Go ahead?",
        model: ("anthropic", "claude-sonnet-4-5"),
        cost_micros: 9_400,
    },
    Story {
        workflow: "Refunds",
        title: "Refund of order 88-1042",
        asked: "The lamp of order 88-1042 arrived broken. I would like my money back.",
        then: "Yes, to the card that I paid with.",
        agents: ["clerk", "auditor"],
        tool: "refund",
        arguments: r#"{"order": "88-1042", "amount": "79.90"}"#,
        result: r#"{"order": "88-1042", "paid": "79.90", "delivered": true}"#,
        found: "I am sorry about the lamp. The order was paid by card, **79.90 euros**. Shall I pay it back to the same card?",
        done: "Done: 79.90 euros are on their way to your card. It takes two to five days.",
        error: "the payment provider refused: the card is expired (code 54)",
        question: "Refund 79.90 euros for order 88-1042?",
        model: ("openai", "gpt-5-mini"),
        cost_micros: 1_100,
    },
    Story {
        workflow: "Market research",
        title: "Heat pumps in the Nordics",
        asked: "Compare the three largest makers of heat pumps in the Nordics, with sources.",
        then: "Good. Now add the market shares of the last two years.",
        agents: ["researcher", "writer"],
        tool: "web_search",
        arguments: r#"{"query": "heat pump market share Nordics", "pages": 5}"#,
        result: r#"{"pages": 5, "tables": 2}"#,
        found: "1. **Fjellvarm** sells mostly to builders.\n2. **Nordpump** leads in single houses.\n3. **Kaldr** is new, and the cheapest.\n\n\
                Sources: three annual reports, one study of the association.",
        done: "Nordpump fell from 34 % to 31 %, Fjellvarm stayed at 27 %, Kaldr rose from 6 % to 11 %.",
        error: "the search was refused: 429 too many requests, three times in a row",
        question: "The study costs 480 euros. Buy it?",
        model: ("anthropic", "claude-opus-4-5"),
        cost_micros: 61_000,
    },
    Story {
        workflow: "Help desk",
        title: "VPN does not connect",
        asked: "Since this morning my VPN says `certificate expired`.",
        then: "It is the laptop with the sticker LT-2219.",
        agents: ["helper", "device_manager"],
        tool: "renew_certificate",
        arguments: r#"{"device": "LT-2219"}"#,
        result: r#"{"device": "LT-2219", "certificate": "expired"}"#,
        found: "The certificates of some laptops ran out last night. Which device is it?",
        done: "The certificate of LT-2219 is renewed. Please restart the VPN.",
        error: "device LT-2219 is not enrolled, so no certificate can be issued",
        question: "Renew the certificate of LT-2219?",
        model: ("google", "gemini-2.5-flash"),
        cost_micros: 240,
    },
];

pub(super) const USERS: [&str; 7] = ["alice", "bob", "chen", "dana", "emeka", "fatima", "giulia"];
