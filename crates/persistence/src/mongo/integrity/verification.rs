//! Compares messages with what was signed.

use bson::doc;
use mongodb::options::ReadConcern;
use records::{AppId, ChatId, Scope};
use tokio::time::Instant;

use super::messages::{Comparison, ShownMessage};
use super::signing::{FoundChain, newest_of};
use crate::StoreError;
use crate::integrity::{
    Chain, Inclusion, InclusionPath, IntegrityKeys, MessageProof, Verdict, statement,
};
use crate::mongo::MongoStore;
use crate::mongo::collection_names::CHAT_SESSIONS;
use crate::mongo::consistency::{DataCheck, DataFault, FaultKind};
use crate::mongo::documents::LIFECYCLE;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::read_at::ReadAt;
use crate::mongo::engine::scope::chat_filter;
use crate::mongo::purges::is_purged;
use crate::mongo::stats::MAX_STEP;
use crate::mongo::transcript::reader::SessionView;

/// The most sequences that a fault names.
const NAMED: usize = 20;

/// What was found of the messages of a chat.
#[derive(Debug, Default)]
struct Verification {
    signed: u64,
    unsigned: u64,
    broken: Vec<u64>,
    /// The messages that no service has appended.
    forged: Vec<u64>,
    /// What is wrong with the chain.
    chain: Option<String>,
}

impl MongoStore {
    /// Compares the messages of the chats of one app, or of all, with what was signed of them.
    ///
    /// It finds what was changed in the database without a service, and counts what is not signed yet. Without a key it does
    /// nothing.
    pub async fn verify_integrity(
        &self,
        app_id: Option<&AppId>,
        checkpoints: &[String],
        tell: &mut (dyn FnMut(DataCheck<'_>) + Send),
    ) -> Result<(), StoreError> {
        let Some(keys) = self.inner.integrity.clone() else { return Ok(()) };
        let mut after: Option<String> = None;
        loop {
            let some = self.read(|| self.some_chats_after(app_id, after.as_deref())).await?;
            for (app_id, chat_id) in &some {
                let verify = || self.verify_chat(&keys, app_id, chat_id);
                let found = match self.read_until(Instant::now() + MAX_STEP, verify).await {
                    // The other chats are compared all the same.
                    Err(error) if error.is_not_understood() => {
                        let detail = format!("its messages cannot be compared: {error}");
                        tell_fault(tell, chat_id.to_string(), detail);
                        continue;
                    }
                    found => found?,
                };
                for detail in found.faults() {
                    tell_fault(tell, chat_id.to_string(), detail);
                }
                let Verification { signed, unsigned, .. } = found;
                tell(DataCheck::Verified { signed, unsigned });
            }
            match some.last() {
                Some((_, last)) => after = Some(last.to_string()),
                None => break,
            }
        }
        self.compare_checkpoints(&keys, app_id, checkpoints, tell).await
    }

    async fn some_chats_after(
        &self,
        app_id: Option<&AppId>,
        after: Option<&str>,
    ) -> Result<Vec<(AppId, ChatId)>, Failure> {
        let mut filter = doc! { "_id": { "$gt": after.unwrap_or_default() } };
        filter.extend(app_id.map(|app_id| ("app_id".to_owned(), app_id.as_str().into())));
        let find = self.inner.chat_sessions.find(filter).sort(doc! { "_id": 1 }).limit(1_000);
        let find = find.projection(doc! { "app_id": 1 }).hint(by_id());
        let found = ReadAt::Latest.all(find).await?;
        let ids = found.iter().filter_map(|raw| {
            let app_id = AppId::parse(raw.get_str("app_id").ok()?).ok()?;
            Some((app_id, ChatId::parse(raw.get_str("_id").ok()?).ok()?))
        });
        Ok(ids.collect())
    }

    /// Compares all messages of a chat, as they are at one moment.
    async fn verify_chat(
        &self,
        keys: &IntegrityKeys,
        app_id: &AppId,
        chat_id: &ChatId,
    ) -> Result<Verification, Failure> {
        let mut snapshot = self.snapshot_session().await?;
        let mut found = Verification::default();
        let mut projection = SessionView::projection();
        projection.insert(LIFECYCLE, 1);
        let find =
            self.inner.chat_sessions.find_one(chat_filter(app_id, chat_id)).projection(projection);
        let find = find.read_concern(ReadConcern::snapshot()).session(&mut snapshot);
        let Some(raw) = find.await? else { return Ok(found) };
        if is_purged(&raw) {
            let left = raw.get_array("messages").map_or(0, |it| it.into_iter().count());
            // A purge empties the chat in the update that marks it.
            if left > 0 {
                let detail = format!("it is marked as purged, and has {left} messages");
                found.chain = Some(detail);
            }
            return Ok(found);
        }
        let session = SessionView::read(chat_id, &raw)?;
        let last = session.tail.last_sequence;
        let mut at = ReadAt::Snapshot(&mut snapshot);
        let signed = match self.chain_of(&mut at, keys, app_id, chat_id).await? {
            FoundChain::None => None,
            FoundChain::Broken(detail) => {
                found.chain = Some(detail.to_owned());
                return Ok(found);
            }
            FoundChain::Signed(signed) => Some(signed),
        };
        let messages = signed.as_ref().map_or(0, |signed| signed.checkpoint.messages);
        let mut appends = self.appends_after(signed.as_deref()).await?;
        let take = |shown: ShownMessage| {
            found.unsigned += u64::from(appends.accept(keys, app_id, &shown));
            Ok(())
        };
        self.each_shown(&mut at, app_id, &session, messages.min(last)..last, take).await?;
        found.forged = appends.forged;
        let Some(signed) = signed else { return Ok(found) };
        let Some(all) = self.all_commitments(&mut at, &signed, app_id, chat_id).await? else {
            found.chain = Some("the blocks of its chain are not what was signed".to_owned());
            return Ok(found);
        };
        if last < messages {
            found.chain = Some(format!("{messages} messages were signed, and it has {last}"));
        }
        let newest = newest_of(&all);
        let take = |shown: ShownMessage| {
            let commitment = newest.get(&shown.sequence()).map(|place| &all[*place]);
            match commitment.map(|it| shown.compare(keys, (app_id, chat_id), it)) {
                Some(Comparison::Same) => found.signed += 1,
                Some(Comparison::Changed) => found.unsigned += 1,
                None | Some(Comparison::Broken) => found.broken.push(shown.sequence()),
            }
            Ok(())
        };
        self.each_shown(&mut at, app_id, &session, 0..messages.min(last), take).await?;
        Ok(found)
    }

    /// Compares the chains with checkpoints that were exported earlier.
    async fn compare_checkpoints(
        &self,
        keys: &IntegrityKeys,
        app_id: Option<&AppId>,
        checkpoints: &[String],
        tell: &mut (dyn FnMut(DataCheck<'_>) + Send),
    ) -> Result<(), StoreError> {
        for exported in checkpoints {
            let Some(exported) = crate::Checkpoint::verified(keys, exported) else {
                let detail = "no known key has signed this exported checkpoint".to_owned();
                tell_fault(tell, exported.chars().take(40).collect(), detail);
                continue;
            };
            if app_id.is_some_and(|app_id| *app_id != exported.app_id) {
                continue;
            }
            let compare = || self.continues(keys, &exported);
            let detail = match self.read_until(Instant::now() + MAX_STEP, compare).await {
                Err(error) if error.is_not_understood() => Some(error.to_string()),
                detail => detail?,
            };
            if let Some(detail) = detail {
                tell_fault(tell, exported.chat_id.to_string(), detail);
            }
        }
        Ok(())
    }

    /// Returns how a chat does not continue what an exported checkpoint says of it; `None` if it does.
    async fn continues(
        &self,
        keys: &IntegrityKeys,
        exported: &crate::Checkpoint,
    ) -> Result<Option<String>, Failure> {
        let (app_id, chat_id) = (&exported.app_id, &exported.chat_id);
        let projection = doc! { LIFECYCLE: 1 };
        let found = self
            .inner
            .chat_sessions
            .find_one(chat_filter(app_id, chat_id))
            .projection(projection)
            .await?;
        if found.as_ref().is_some_and(|raw| is_purged(raw)) {
            return Ok(None);
        }
        let mut snapshot = self.snapshot_session().await?;
        let mut at = ReadAt::Snapshot(&mut snapshot);
        let said = || {
            let (count, time) = (exported.commitments, exported.signed_at);
            format!("an exported checkpoint of {time} has {count} commitments")
        };
        let FoundChain::Signed(signed) = self.chain_of(&mut at, keys, app_id, chat_id).await?
        else {
            return Ok(Some(format!("{}, and the chat has no signed chain", said())));
        };
        let Some(all) = self.all_commitments(&mut at, &signed, app_id, chat_id).await? else {
            // The chat itself is reported.
            return Ok(None);
        };
        let count = usize::try_from(exported.commitments).unwrap_or(usize::MAX);
        let Some(first) = all.get(..count) else {
            let has = all.len();
            return Ok(Some(format!("{}, and the chain has only {has}", said())));
        };
        let mut chain = Chain::begin(app_id, chat_id);
        for commitment in first {
            chain.push(*commitment);
        }
        let is_same = chain.root() == exported.root;
        Ok((!is_same).then(|| format!("{}, and the chain began with others", said())))
    }

    /// Proves a message to a caller who may read it.
    pub(super) async fn prove(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        sequence: u64,
    ) -> Result<MessageProof, Failure> {
        let app_id = &scope.app_id;
        let missing = || StoreError::MessageNotFound { chat_id: chat_id.clone(), sequence };
        let mut at = ReadAt::Latest;
        let unsigned =
            MessageProof { verdict: Verdict::Unsigned, checkpoint: None, inclusion: None };
        let keys = self.inner.integrity.as_ref();
        // Before the message: it is then at least as new as the commitments.
        let chain = match keys {
            Some(keys) => self.chain_of(&mut at, keys, app_id, chat_id).await?,
            None => FoundChain::None,
        };
        let raw = self.session_within(scope, chat_id, SessionView::projection()).await?;
        let session = SessionView::read(chat_id, &raw)?;
        if sequence >= session.tail.last_sequence {
            return Err(missing().into());
        }
        let mut shown = None;
        let one = sequence..sequence.saturating_add(1);
        let take = |message| {
            shown = Some(message);
            Ok(())
        };
        self.each_shown(&mut at, app_id, &session, one, take).await?;
        let shown = shown.ok_or_else(missing)?;
        let (Some(keys), FoundChain::Signed(signed)) = (keys, &chain) else {
            let is_broken = matches!(chain, FoundChain::Broken(_));
            let verdict = if is_broken { Verdict::Broken } else { Verdict::Unsigned };
            return Ok(MessageProof { verdict, ..unsigned });
        };
        let checkpoint = Some(signed.checkpoint.clone());
        let all = self.all_commitments(&mut at, signed, app_id, chat_id).await?;
        let Some(all) = all else {
            return Ok(MessageProof { verdict: Verdict::Broken, checkpoint, inclusion: None });
        };
        let newest = newest_of(&all).get(&sequence).copied();
        let compared =
            newest.map(|place| (place, shown.compare(keys, (app_id, chat_id), &all[place])));
        let (verdict, place) = match compared {
            Some((place, Comparison::Same)) => (Verdict::Signed, Some(place)),
            Some((_, Comparison::Changed)) => (Verdict::Unsigned, None),
            None if sequence >= signed.checkpoint.messages => {
                let mut appends = self.appends_after(Some(signed)).await?;
                let is_accepted = appends.accept(keys, app_id, &shown);
                (if is_accepted { Verdict::Unsigned } else { Verdict::Broken }, None)
            }
            None | Some((_, Comparison::Broken)) => (Verdict::Broken, None),
        };
        let inclusion = place.and_then(|place| {
            let path = InclusionPath::of(&Chain::begin(app_id, chat_id), &all, place)?;
            let commitment = &all[place];
            let salt =
                commitment.salt().filter(|_| !commitment.is_forgotten(keys, (app_id, chat_id)));
            Some(Inclusion {
                statement: statement(&shown.stored.message),
                salt: salt.map(hex::encode).unwrap_or_default(),
                changes: commitment.changes,
                index: path.index,
                block_size: path.block_size,
                path: path.path.iter().map(hex::encode).collect(),
                before: hex::encode(path.before),
                after: path.after.iter().map(hex::encode).collect(),
            })
        });
        Ok(MessageProof { verdict, checkpoint, inclusion })
    }

    /// Returns the newest checkpoints of the chats of an app, to be kept elsewhere: at most `limit`, after a chat.
    pub async fn checkpoints(
        &self,
        app_id: &AppId,
        after: Option<&ChatId>,
        limit: usize,
    ) -> Result<Vec<crate::Checkpoint>, StoreError> {
        let Some(keys) = &self.inner.integrity else { return Ok(Vec::new()) };
        self.read(|| async {
            let after = after.map_or("", ChatId::as_str);
            let filter = doc! { "app_id": app_id.as_str(), "_id": { "$gt": after } };
            let find = self.inner.integrity_chains.find(filter).sort(doc! { "_id": 1 });
            let find = find
                .projection(doc! { "signed": 1 })
                .limit(i64::try_from(limit).unwrap_or(i64::MAX));
            let found = ReadAt::Latest.all(find).await?;
            let signed = found
                .iter()
                .filter_map(|raw| crate::Checkpoint::verified(keys, raw.get_str("signed").ok()?));
            Ok(signed.collect())
        })
        .await
    }
}

impl Verification {
    fn faults(&self) -> Vec<String> {
        let mut faults: Vec<String> = self.chain.iter().cloned().collect();
        let kinds = [
            ("not what was signed, and changed by no service", &self.broken),
            ("not signed, and appended by no service", &self.forged),
        ];
        for (kind, sequences) in kinds.into_iter().filter(|(_, found)| !found.is_empty()) {
            faults.push(format!("{kind}: message {}", some_of(sequences)));
        }
        faults
    }
}

fn some_of(sequences: &[u64]) -> String {
    let named = sequences.iter().take(NAMED).map(ToString::to_string);
    let named = named.collect::<Vec<_>>().join(", ");
    match sequences.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

fn tell_fault(tell: &mut (dyn FnMut(DataCheck<'_>) + Send), record: String, detail: String) {
    let kind = FaultKind::Integrity;
    tell(DataCheck::Fault(&DataFault { record, collection: CHAT_SESSIONS, kind, detail }));
}

fn by_id() -> mongodb::options::Hint {
    mongodb::options::Hint::Keys(doc! { "_id": 1 })
}
