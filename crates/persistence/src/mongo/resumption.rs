use std::sync::Arc;

use async_trait::async_trait;
use bson::{Document, RawDocumentBuf, doc};
use futures::try_join;
use mongodb::ClientSession;
use mongodb::options::ReadConcern;
use records::{ChatId, ChatSession, InputRequest, ResumePoint, ResumeState, Scope};

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::blobs::MAX_BLOB_READ_ATTEMPTS;
use crate::mongo::documents::{
    BlobKind, chat_session_record, counter, input_key, input_record, open_chat_session,
    point_record, turn_points_filter,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::paging::below;
use crate::mongo::engine::read_at::ReadAt;
use crate::mongo::engine::scope::permitted_chat;
use crate::mongo::transcript::reader::{HistoryReader, Moment};
use crate::store::{
    HistoryPages, MessageSource, ResumeSnapshot, Resumption, resume_points_too_large,
};

/// The largest total size, in bytes, of the resume points that a resume reads with their paths, and separately of
/// those that it reads without.
///
/// The resume points of any turn are smaller: its steps are limited to 8 MiB, and its ids and paths take less.
const MAX_POINT_BYTES: usize = 16 << 20;

#[async_trait]
impl Resumption for MongoStore {
    async fn resume_state(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<ResumeSnapshot, StoreError> {
        self.observe(Call::ResumeState, Some(chat_id), async {
            let attempt = || async {
                for _ in 0..MAX_BLOB_READ_ATTEMPTS {
                    if let Some(snapshot) = self.read_state_snapshot(scope, chat_id).await? {
                        return Ok(snapshot);
                    }
                }
                Err(Self::missing_blob_error(chat_id, BlobKind::Context))
            };
            self.read(attempt).await
        })
        .await
    }
}

/// The messages of a chat at the moment at which its session was read.
#[derive(Debug)]
struct SessionSnapshot {
    reader: HistoryReader,
    raw: RawDocumentBuf,
}

impl MessageSource for SessionSnapshot {
    fn pages(&mut self) -> HistoryPages<'_> {
        self.reader.clone().into_pages(&self.raw)
    }
}

impl MongoStore {
    /// Reads the whole state from one database snapshot. Returns `None` if a blob of it was deleted since.
    ///
    /// Blobs are read outside of the snapshot, because the content of a blob never changes.
    async fn read_state_snapshot(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<ResumeSnapshot>, Failure> {
        let mut session = self.snapshot_session().await?;
        let find = self.inner.chat_sessions.find_one(permitted_chat(scope, chat_id));
        // The session holds the snapshot time. The read concern is set for each query, because the client's own
        // concern would apply otherwise.
        let raw = find.read_concern(ReadConcern::snapshot()).session(&mut session).await?;
        let Some(raw) = raw else { return Err(self.refused_chat(scope, chat_id).await?) };
        let chat = chat_session_record(&raw)?;
        let fields = open_chat_session(&raw)?;
        let at_that_moment = async {
            let pending = self.pending_at(scope, &chat, &mut session).await?;
            let points = self.points_at(scope, &chat, &mut session).await?;
            Ok((pending, points))
        };
        let (context, artifact, (pending_inputs, resume_points)) = try_join!(
            self.context_in(scope, chat_id, &fields),
            self.artifact_in(scope, chat_id, &fields),
            at_that_moment,
        )?;
        let (Some(context), Some(artifact)) = (context, artifact) else { return Ok(None) };
        let moment = Arc::new(Moment::new(session, &raw)?);
        let reader = HistoryReader::new(self, scope, chat_id, Some(moment));
        Ok(Some(ResumeSnapshot {
            state: ResumeState { chat, context, artifact, pending_inputs, resume_points },
            messages: Box::new(SessionSnapshot { reader, raw }),
        }))
    }

    /// Reads the resume points of the last turn, from the last one to the first.
    ///
    /// The resume points of a turn that this release wrote always fit into [`MAX_POINT_BYTES`]. Those of an older
    /// release may not, because each of them has its whole path. The rest is then read without paths. The last resume
    /// point, from which a resume starts, is always read with its path.
    async fn points_at(
        &self,
        scope: &Scope,
        chat: &ChatSession,
        session: &mut ClientSession,
    ) -> Result<Vec<ResumePoint>, Failure> {
        let Some(turn) = &chat.last_turn else { return Ok(Vec::new()) };
        let mut filter = turn_points_filter(scope, &chat.chat_id, &turn.request_id);
        let mut points = Vec::new();
        let is_all = self.add_points(&filter, Document::new(), &mut points, session).await?;
        if let Some(first) = points.last().filter(|_| !is_all) {
            let turn = ("turn", counter(first.turn).into());
            let earlier = below(turn, ("_id.sequence", first.sequence.into()));
            filter.insert("$and", earlier.to_vec());
            let without_paths = doc! { "stack_path": 0 };
            if !self.add_points(&filter, without_paths, &mut points, session).await? {
                return Err(resume_points_too_large().into());
            }
        }
        points.reverse();
        Ok(points)
    }

    /// Adds resume points, from the last one to the first, up to [`MAX_POINT_BYTES`]. Returns whether all were added.
    async fn add_points(
        &self,
        filter: &Document,
        projection: Document,
        points: &mut Vec<ResumePoint>,
        session: &mut ClientSession,
    ) -> Result<bool, Failure> {
        let find = self.inner.resume_points.find(filter.clone()).projection(projection);
        let find = find.sort(doc! { "turn": -1, "_id.sequence": -1 });
        let find = find.read_concern(ReadConcern::snapshot());
        let mut found = find.session(&mut *session).await?;
        let mut bytes = 0;
        while let Some(raw) = found.next(session).await {
            let raw = raw?;
            bytes += raw.as_bytes().len();
            if bytes > MAX_POINT_BYTES {
                return Ok(false);
            }
            points.push(point_record(&raw)?);
        }
        Ok(true)
    }

    /// Reads the pending input requests of the chat, in the order of its list of them.
    async fn pending_at(
        &self,
        scope: &Scope,
        chat: &ChatSession,
        session: &mut ClientSession,
    ) -> Result<Vec<InputRequest>, Failure> {
        if chat.pending_inputs.is_empty() {
            return Ok(Vec::new());
        }
        let ids = chat.pending_inputs.iter().map(|id| input_key(&chat.chat_id, id));
        let ids: Vec<Document> = ids.collect();
        let pending = doc! { "_id": { "$in": ids }, "app_id": scope.app_id.as_str() };
        let now = self.inner.clock.now();
        let find = self.inner.input_requests.find(pending).sort(doc! { "_id": 1 });
        let found = ReadAt::Snapshot(session).all(find).await?;
        let requests = found.iter().map(|raw| Ok(input_record(raw)?.kept.request.at(now)));
        let mut requests = requests.collect::<Result<Vec<_>, StoreError>>()?;
        let place = |request: &InputRequest| {
            chat.pending_inputs.iter().position(|pending| *pending == request.request_id)
        };
        requests.sort_by_key(place);
        Ok(requests)
    }
}
