use crate::dialect::pipeline::rules::{CallFields, DialectRules, OwnFields};

/// AG-UI, a protocol between agents and user interfaces.
pub(super) const AG_UI: DialectRules = DialectRules {
    call_fields: CallFields::Under("ag_ui"),
    // Reasoning is a message of its own, wherever it comes.
    own_fields: OwnFields { may_be_all: true, may_interrupt: true, ..OwnFields::all_of("ag-ui") },
    // Pages show it; a model that was stopped while it thought has said nothing else.
    reasoning_alone: true,
    ..DialectRules::ANY
};
