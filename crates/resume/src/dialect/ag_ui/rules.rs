use crate::dialect::pipeline::rules::{CallFields, DialectRules, OwnFields};

/// AG-UI, a protocol between agents and user interfaces.
pub(super) const AG_UI: DialectRules = DialectRules {
    call_fields: CallFields::Under("ag_ui"),
    own_fields: OwnFields::all_of("ag-ui"),
    ..DialectRules::ANY
};
