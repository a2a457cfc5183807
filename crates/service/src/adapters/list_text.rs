use axum::body::Bytes;
use serde::Serialize;

/// The text of lists within an object, written piece by piece.
pub(super) struct ListText {
    text: Vec<u8>,
    is_first: bool,
}

impl ListText {
    /// Begins after a text that ends with the opening bracket of a list.
    pub(super) fn after(text: Vec<u8>) -> Self {
        Self { text, is_first: true }
    }

    /// Writes items.
    pub(super) fn write(
        &mut self,
        items: impl IntoIterator<Item: Serialize>,
    ) -> serde_json::Result<()> {
        for item in items {
            if !std::mem::take(&mut self.is_first) {
                self.text.push(b',');
            }
            serde_json::to_writer(&mut self.text, &item)?;
        }
        Ok(())
    }

    /// Ends a list with this text, which may begin another one.
    pub(super) fn end(&mut self, text: &str) {
        self.is_first = true;
        self.text.extend_from_slice(text.as_bytes());
    }

    /// Takes the text so far.
    pub(super) fn take(&mut self) -> Bytes {
        std::mem::take(&mut self.text).into()
    }
}
