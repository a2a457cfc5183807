//! Finds entries, and makes hits of those whose messages the caller may read and that have the words now.

use std::collections::HashMap;

use bson::{RawDocumentBuf, doc};
use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use mongodb::options::Hint;
use records::{ChatId, Message, Scope};

use super::sources::Entries;
use crate::mongo::MongoStore;
use crate::mongo::documents::open_chat_session;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::format::Shape;
use crate::mongo::engine::read_at::ReadAt;
use crate::mongo::engine::scope::permitted_chats;
use crate::mongo::transcript::reader::{Direction, Page, SessionView};
use crate::rules::search::shown_part;
use crate::store::{Hit, HitPage, HitPosition, MessageSearch};

/// How many entries are read at a time.
const PAGE: usize = 200;

/// How many candidates are looked at a time, and how many of their messages are read at once: each may be large.
const CANDIDATES_AT_ONCE: usize = 10;
const MESSAGES_AT_ONCE: usize = 4;

/// What is left of a call.
struct Budget {
    candidates: usize,
    examined: usize,
}

impl MongoStore {
    pub(super) async fn find_hits(
        &self,
        scope: &Scope,
        search: &MessageSearch,
        limit: usize,
        after: Option<&HitPosition>,
    ) -> Result<HitPage, Failure> {
        self.require(Shape::MessageSearch).await?;
        let indexed_to = self.indexed_to(&scope.app_id).await?;
        let source = self.source(scope, search, after).await?;
        let mut budget = Budget {
            candidates: MessageSearch::MAX_CANDIDATES,
            examined: MessageSearch::MAX_EXAMINED,
        };
        let (mut hits, mut at) = (Vec::<Hit>::new(), after.cloned());
        let is_partial = source.is_cut;
        loop {
            let most = PAGE.min(budget.examined);
            let Entries { rows, has_more } = self.entries(&source, at.as_ref(), most).await?;
            budget.examined = budget.examined.saturating_sub(rows.len());
            let mut rows = rows.into_iter();
            while hits.len() < limit && budget.candidates > 0 {
                let (mut group, most) = (Vec::new(), budget.candidates.min(CANDIDATES_AT_ONCE));
                for row in rows.by_ref() {
                    let position = row.position();
                    at = Some(position.clone());
                    let has = |range: &records::WordRange| row.words.iter().any(|it| range.has(it));
                    if source.others.iter().all(has) {
                        group.push(position);
                    }
                    if group.len() == most {
                        break;
                    }
                }
                if group.is_empty() {
                    break;
                }
                budget.candidates -= group.len();
                hits.extend(self.hits_at(scope, search, group).await?);
            }
            let is_unread = has_more || rows.len() > 0;
            if hits.len() >= limit {
                let is_full = is_unread || hits.len() > limit;
                hits.truncate(limit);
                let last = hits.last().map(Hit::position);
                let next = last.filter(|_| is_full);
                return Ok(HitPage { hits, next, is_partial, indexed_to });
            }
            if !is_unread {
                // A chat with very many messages is searched in parts.
                let next = source.floor;
                return Ok(HitPage { hits, next, is_partial, indexed_to });
            }
            if budget.candidates == 0 || budget.examined == 0 {
                return Ok(HitPage { hits, next: at, is_partial: true, indexed_to });
            }
        }
    }

    /// Makes hits of those messages that are hits now, in the same order.
    async fn hits_at(
        &self,
        scope: &Scope,
        search: &MessageSearch,
        positions: Vec<HitPosition>,
    ) -> Result<Vec<Hit>, Failure> {
        let mut ids: Vec<&str> = positions.iter().map(|at| at.chat_id.as_str()).collect();
        ids.sort_unstable();
        ids.dedup();
        let mut permitted = doc! { "_id": { "$in": ids } };
        permitted.extend(permitted_chats(scope));
        let mut fields = SessionView::projection();
        fields.insert("title", 1);
        let find = self.inner.chat_sessions.find(permitted).projection(fields);
        let find = find.hint(Hint::Keys(doc! { "_id": 1 }));
        let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
        let mut sessions: HashMap<ChatId, (SessionView<'_>, Option<String>)> = HashMap::new();
        for raw in &found {
            let fields = open_chat_session(raw)?;
            let chat_id: ChatId = fields.parsed("_id")?;
            let title = fields.field("title")?.optional_string()?;
            let session = SessionView::read(&chat_id, raw)?;
            sessions.insert(chat_id, (session, title));
        }
        let hits = positions.into_iter().map(|at| {
            let session = sessions.get(&at.chat_id);
            async move {
                let Some((session, title)) = session else { return Ok(None) };
                let message = self.message_at(scope, session, at.sequence).await?;
                let Some(message) = message else { return Ok(None) };
                let Some(snippet) = shown_part(&search.query, &message) else { return Ok(None) };
                Ok::<_, Failure>(Some(Hit::of(at.chat_id, title.clone(), message, snippet)))
            }
        });
        let hits = stream::iter(hits).buffered(MESSAGES_AT_ONCE);
        hits.try_filter_map(async |hit| Ok(hit)).try_collect().await
    }

    async fn message_at(
        &self,
        scope: &Scope,
        session: &SessionView<'_>,
        sequence: u64,
    ) -> Result<Option<Message>, Failure> {
        let span = sequence..sequence.saturating_add(1).min(session.tail.last_sequence);
        let (mut at, direction) = (ReadAt::Latest, Direction::NewestFirst);
        let page = self.read_span(&mut at, scope, session, span, direction, Page::new(0)).await?;
        Ok(page.into_messages().pop())
    }
}
