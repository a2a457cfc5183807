//! What every format must keep of its own messages.

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;
use records::NewMessage;
use resume::dialect::{self, Dialect, Rendered};
use serde_json::Value;

use crate::transcript::{rendered_in, violations};

/// Stores messages of one dialect, all of them, and renders them in another.
pub(crate) fn stored_in(to: &dyn Dialect, from: &dyn Dialect, messages: &[Value]) -> Rendered {
    let parsed = from.parse(Vec::new(), messages.to_vec());
    assert_eq!(parsed.dropped, []);
    rendered_in(to, parsed.messages)
}

/// Checks that valid messages come back as they were.
pub(crate) fn assert_kept(dialect: &dyn Dialect, messages: &[Value]) {
    assert_eq!(dialect::validate(dialect, messages), Ok(()));
    let rendered = stored_in(dialect, dialect, messages);
    assert_eq!(rendered, Rendered { messages: messages.to_vec(), ..Rendered::default() });
}

/// Checks that messages with faults, once parsed, render validly everywhere, and in their own dialect always the same.
pub(crate) fn check_faulty(
    dialect: &dyn Dialect,
    parsed: &[NewMessage],
) -> Result<(), TestCaseError> {
    for to in dialect::all() {
        let rendered = rendered_in(to, parsed.to_vec());
        prop_assert_eq!(violations(to, &rendered.messages), [], "{:?}", to);
    }
    let messages = rendered_in(dialect, parsed.to_vec()).messages;
    let again = stored_in(dialect, dialect, &messages);
    prop_assert_eq!(again, Rendered { messages, ..Rendered::default() });
    Ok(())
}
