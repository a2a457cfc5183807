use std::time::Duration;

use async_stream::try_stream;
use axum::body::Bytes;
use futures::stream::Stream;
use persistence::{HistoryPage, MessageSource, offload};
use records::Message;
use resume::replay::{FirstPass, Form, Rendering};

use super::source::next_page;
use super::{Format, HistoryError, Layout, Source, Writer};

/// A chat of at most this size is read once, held in memory and rendered. A larger one is read twice, so that
/// memory does not grow with the chat.
const MAX_HELD_BYTES: usize = 1 << 20;

/// The approximate size of an item of the report, in bytes.
const ITEM_BYTES: usize = 256;

/// Returns a chat in a dialect, as text.
///
/// Returns once everything is known that the first message depends on. For a dialect that looks ahead, and for
/// a window of the newest messages, that requires reading the whole chat; a chat that is too large to hold in
/// memory is then read a second time (see [`resume::replay`]). The stream reads while it is polled, and stops
/// when it is dropped. If it ends without an error, the text is complete. After an error it is not.
///
/// The store may take `read_timeout` for the next messages. Tool calls that must be rejected are an error:
/// [`HistoryError::Unsettled`].
pub async fn read(
    mut source: Source,
    form: Form,
    format: Format,
    read_timeout: Duration,
) -> Result<impl Stream<Item = Result<Bytes, HistoryError>> + Send + use<>, HistoryError> {
    let layout = Layout::history(format, &source.chat_id, form.dialect.name());
    let pass = FirstPass::new(form, MAX_HELD_BYTES);
    let rendering = if pass.is_needed() {
        let mut reading = Reading { pass, observer: () };
        let mut pages = source.pages();
        while let Some(page) = next_page(&mut pages, read_timeout).await? {
            reading = reading.observe(page).await;
        }
        reading.finish().await?.0
    } else {
        pass.skip()
    };
    Ok(write(Box::new(source), rendering, Writer::new(layout), read_timeout))
}

/// Something that must see every message before the first one is rendered.
pub(crate) trait Observer: Send + 'static {
    /// Sees the next message.
    fn observe(&mut self, message: &Message);
}

impl Observer for () {
    fn observe(&mut self, _: &Message) {}
}

/// The first pass over a chat, and what else must see the messages.
pub(crate) struct Reading<O> {
    pub(crate) pass: FirstPass,
    pub(crate) observer: O,
}

impl<O: Observer> Reading<O> {
    /// Takes the next page.
    pub(crate) async fn observe(mut self, page: HistoryPage) -> Self {
        let HistoryPage { messages, bytes } = page;
        let observing = offload(bytes, move || {
            for message in &messages {
                self.observer.observe(message);
            }
            self.pass.observe(messages, bytes);
            self
        });
        observing.await
    }

    /// Ends the pass, and renders a chat that was held.
    pub(crate) async fn finish(self) -> Result<(Rendering, O), HistoryError> {
        let Self { pass, observer } = self;
        let rendering = offload(pass.held_bytes(), move || pass.finish()).await;
        let rejected = rendering.rejected();
        if rejected.is_empty() {
            Ok((rendering, observer))
        } else {
            Err(HistoryError::Unsettled(rejected.to_vec()))
        }
    }
}

/// Writes a rendering, while its chat is read again if that is needed.
///
/// Large pieces are written away from the threads that serve requests.
pub(crate) fn write(
    mut source: Box<dyn MessageSource>,
    rendering: Rendering,
    mut writer: Writer,
    read_timeout: Duration,
) -> impl Stream<Item = Result<Bytes, HistoryError>> + Send + use<> {
    try_stream! {
        let rendered;
        let end;
        match rendering {
            Rendering::Whole { rendered: mut whole, bytes, last_sequence } => {
                let mut messages = std::mem::take(&mut whole.messages).into_iter();
                while !messages.as_slice().is_empty() {
                    let writing = offload(bytes, move || {
                        while !writer.is_full() && let Some(message) = messages.next() {
                            writer.message(&message)?;
                        }
                        Ok::<_, HistoryError>((writer, messages))
                    });
                    (writer, messages) = writing.await?;
                    if let Some(chunk) = writer.take_full() {
                        yield chunk;
                    }
                }
                (rendered, end) = (whole, last_sequence);
            }
            Rendering::Replayed(mut replay) => {
                let mut pages = source.pages();
                let mut last_sequence = 0;
                while !replay.is_complete() {
                    let Some(page) = next_page(&mut pages, read_timeout).await? else { break };
                    let HistoryPage { messages, bytes } = page;
                    let writing = offload(bytes, move || {
                        for message in messages {
                            if replay.is_complete() {
                                break;
                            }
                            last_sequence = message.sequence + 1;
                            for value in replay.push(message) {
                                writer.message(&value)?;
                            }
                        }
                        Ok::<_, HistoryError>((writer, replay, last_sequence))
                    });
                    (writer, replay, last_sequence) = writing.await?;
                    if let Some(chunk) = writer.take_full() {
                        yield chunk;
                    }
                }
                (rendered, end) = (replay.finish(), last_sequence);
            }
        }
        let items = rendered.messages.len() + rendered.dropped.len() + rendered.repaired.len();
        let writing = offload(items * ITEM_BYTES, move || writer.finish(rendered, end));
        yield writing.await?;
    }
}
