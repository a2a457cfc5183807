use bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use chrono::{DateTime as Time, Utc};
use records::{
    AppId, ChatId, ChatStatus, Counter, Measure, Model, Rollup, RollupKey, Subject, UserId,
    WorkflowName,
};

use crate::StoreError;
use crate::mongo::collection_names::WORKFLOW_STATS;
use crate::mongo::documents::field::Field;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{SCHEMA_VERSION, USER_USAGE_VERSION, encode};
use crate::mongo::engine::failure::Failure;
use crate::store::ChatStats;

/// Returns the id of a document of a rollup.
///
/// Each name is the value of a separate field, and never a field name or path, so different rollups always
/// have different ids. A rollup may have several documents, one for each `stripe`, so that the writers of a
/// busy workflow do not all wait for one document. The rollup is their sum.
pub(crate) fn rollup_id(
    app_id: &AppId,
    workflow_name: &WorkflowName,
    key: &RollupKey,
    stripe: u32,
) -> Document {
    let (kind, name) = subject_key(&key.subject);
    // A chat needs no stripes: it has few writers, and lists of chats need one document for each.
    let stripe = if kind == CHAT { 0 } else { stripe };
    doc! {
        "app_id": app_id.as_str(),
        "workflow_name": workflow_name.as_str(),
        "kind": kind,
        "name": name,
        "hour": key.hour.map(DateTime::from_chrono),
        "stripe": i64::from(stripe),
    }
}

/// The stored names of the kinds of subject.
pub(crate) const WORKFLOW: &str = "workflow";
pub(crate) const AGENT: &str = "agent";
pub(crate) const MODEL: &str = "model";
pub(crate) const CHAT: &str = "chat";
pub(crate) const USER: &str = "user";

/// The field with the user of a rollup: of a user, or of a chat whose calls count for its owner.
pub(crate) const COUNTED_USER: &str = "user_id";

/// The field of the histograms. Its paths continue with the measure and the number of the bucket.
const HISTOGRAMS: &str = "histograms";

/// What the rollup of a chat says of the chat from its first update on.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ChatStart<'a> {
    /// When the chat was created.
    pub(crate) at: Time<Utc>,
    /// The user for whom the calls of the chat count.
    pub(crate) user_id: Option<&'a UserId>,
}

/// Returns the update that adds a change to a rollup. `start` is for the rollup of a chat.
pub(crate) fn rollup_update(
    subject: &Subject,
    change: &Rollup,
    now: Time<Utc>,
    start: Option<ChatStart<'_>>,
) -> Document {
    let mut sums = Document::new();
    for counter in Counter::ALL {
        let number = change.get(counter);
        if number != 0 {
            sums.insert(counter.name(), number);
        }
    }
    for measure in Measure::ALL {
        for (bucket, count) in change.histogram(measure).counts() {
            sums.insert(format!("{HISTOGRAMS}.{}.{bucket}", measure.name()), count);
        }
    }
    let user_id = match subject {
        Subject::User(user_id) => Some(user_id),
        Subject::Chat(_) => start.and_then(|start| start.user_id),
        Subject::Workflow | Subject::Agent(_) | Subject::Model(_) => None,
    };
    let version = if user_id.is_some() { USER_USAGE_VERSION } else { SCHEMA_VERSION };
    let mut first = doc! { "schema_version": version };
    if let Some(user_id) = user_id {
        first.insert(COUNTED_USER, user_id.as_str());
    }
    if let Some(ChatStart { at, .. }) = start {
        first.insert("started_at", DateTime::from_chrono(at));
    }
    doc! {
        "$inc": sums,
        "$max": { "last_updated_at": DateTime::from_chrono(now) },
        "$setOnInsert": first,
    }
}

/// Returns the kind of a subject, and its name, as they are stored.
pub(crate) fn subject_key(subject: &Subject) -> (&'static str, Bson) {
    match subject {
        Subject::Workflow => (WORKFLOW, Bson::Null),
        Subject::Agent(agent) => (AGENT, agent.as_deref().into()),
        Subject::Model(Model { provider, model }) => {
            let name = doc! { "provider": provider.as_deref(), "model": model.as_deref() };
            (MODEL, name.into())
        }
        Subject::Chat(chat_id) => (CHAT, chat_id.as_str().into()),
        Subject::User(user_id) => (USER, user_id.as_str().into()),
    }
}

/// Reads a subject from its kind, and from its name in a document.
pub(crate) fn subject_record(
    kind: &str,
    within: &Fields<'_>,
    name: Field<'_>,
) -> Result<Subject, StoreError> {
    Ok(match kind {
        WORKFLOW => Subject::Workflow,
        AGENT => Subject::Agent(name.optional_string()?),
        MODEL => {
            let model = within.inside(name.document()?);
            Subject::Model(Model {
                provider: model.field("provider")?.optional_string()?,
                model: model.field("model")?.optional_string()?,
            })
        }
        CHAT => Subject::Chat(name.parsed()?),
        USER => Subject::User(name.parsed()?),
        _ => return Err(within.corrupt("kind", None)),
    })
}

/// One stored document of a rollup. The caller adds up the documents with the same key.
#[derive(Debug)]
pub(crate) struct StoredRollup<'a> {
    pub(crate) workflow_name: WorkflowName,
    pub(crate) key: RollupKey,
    pub(crate) last_updated_at: Option<Time<Utc>>,
    /// The creation time of the chat, for the rollup of a chat.
    pub(crate) started_at: Option<Time<Utc>>,
    /// The user for whom the calls count, for the rollup of a chat or of a user.
    pub(crate) user_id: Option<UserId>,
    fields: Fields<'a>,
}

impl<'a> StoredRollup<'a> {
    pub(crate) fn read(raw: &'a RawDocumentBuf) -> Result<Self, StoreError> {
        let fields = open(raw)?;
        let id = fields.inside(fields.document("_id")?);
        let subject = subject_record(id.field("kind")?.text()?, &id, id.field("name")?)?;
        Ok(Self {
            workflow_name: id.parsed("workflow_name")?,
            key: RollupKey { subject, hour: id.field("hour")?.optional_time()? },
            last_updated_at: fields.field("last_updated_at")?.optional_time()?,
            started_at: fields.field("started_at")?.optional_time()?,
            user_id: fields.field(COUNTED_USER)?.optional_parsed()?,
            fields,
        })
    }

    /// Returns the sums of this document.
    pub(crate) fn sums(&self) -> Result<Rollup, StoreError> {
        let mut rollup = Rollup::default();
        self.add_to(&mut rollup)?;
        Ok(rollup)
    }

    /// Adds the sums of this document to a rollup.
    pub(crate) fn add_to(&self, rollup: &mut Rollup) -> Result<(), StoreError> {
        add_sums(&self.fields, rollup)
    }
}

/// Reads the stats of a chat from its rollup.
pub(crate) fn chat_stats(raw: &RawDocumentBuf) -> Result<ChatStats, StoreError> {
    let fields = open(raw)?;
    let id = fields.inside(fields.document("_id")?);
    let mut rollup = Rollup::default();
    add_sums(&fields, &mut rollup)?;
    let status =
        ChatStatus::ALL.into_iter().find(|status| rollup.get(Counter::for_status(*status)) > 0);
    let duration_ms = rollup.count(Counter::ChatDurationMs);
    Ok(ChatStats {
        chat_id: id.parsed::<ChatId>("name")?,
        started_at: fields.time("started_at")?,
        status,
        duration_ms: status.is_some_and(ChatStatus::is_ended).then_some(duration_ms),
        usage: rollup.usage(),
    })
}

/// Reads the sums of one document of a rollup.
pub(crate) fn rollup_sums(raw: &RawDocumentBuf) -> Result<Rollup, StoreError> {
    let mut rollup = Rollup::default();
    add_sums(&open(raw)?, &mut rollup)?;
    Ok(rollup)
}

fn open(raw: &RawDocumentBuf) -> Result<Fields<'_>, StoreError> {
    Fields::open(WORKFLOW_STATS, "(a rollup)", raw)
}

/// Adds the stored sums to a rollup. A sum that nothing was ever added to is missing and counts as 0.
fn add_sums(fields: &Fields<'_>, rollup: &mut Rollup) -> Result<(), StoreError> {
    let found = fields.collect()?;
    for counter in Counter::ALL {
        let number: Option<i64> = found.field(counter.name()).optional_number()?;
        rollup.add(counter, number.unwrap_or(0));
    }
    let Some(histograms) = found.field(HISTOGRAMS).optional_document()? else {
        return Ok(());
    };
    let histograms = fields.inside(histograms);
    for measure in Measure::ALL {
        let Some(buckets) = histograms.optional_document(measure.name())? else { continue };
        let histogram = rollup.histogram_mut(measure);
        for count in fields.inside(buckets).each() {
            let count = count?;
            let bucket = count.name().parse();
            let bucket = bucket.map_err(|e| fields.corrupt(HISTOGRAMS, Some(Box::new(e))))?;
            histogram.add_to_bucket(bucket, count.integer()?);
        }
    }
    Ok(())
}

/// Encodes the statement that adds to a rollup.
pub(crate) fn rollup_statement(id: Document, update: Document) -> Result<RawDocumentBuf, Failure> {
    encode(&doc! { "q": { "_id": id }, "u": update, "upsert": true })
}
