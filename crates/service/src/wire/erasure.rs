use std::collections::BTreeMap;

use records::{ChatId, Erasure};
use serde::Serialize;
use utoipa::ToSchema;

use super::Time;
use crate::openapi::values;
use crate::receipts::ReceiptSigner;

/// The erasure of a person from an app. It names the person by the pseudonym alone.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Erasure)]
pub(crate) struct ErasureResponse {
    #[schema(example = "acme_corp")]
    app_id: String,
    /// What stands for the person in the audit log; `erased_` and the pseudonym stands for their user id.
    #[schema(value_type = values::Pseudonym)]
    pseudonym: String,
    begun_at: Time,
    /// When nothing of the person was found any more; null while the erasure is under way.
    finished_at: Option<Time>,
    /// How many chats were searched. Each is searched twice.
    searched: u64,
    /// How many records were erased or anonymised, by kind.
    erased: BTreeMap<String, u64>,
    /// The chats that were left as they are, because they are under hold or are shown by a fork that is.
    #[schema(value_type = Vec<values::ChatId>)]
    held: Vec<ChatId>,
    /// Where overwritten text stays for a while, and what ends that.
    remains: &'static str,
    /// Once it is finished, this object without `signed`, as a JSON Web Signature (RFC 7515, in compact form, by Ed25519).
    /// Stays null if the service has no key for receipts: the receipt is unsigned.
    #[serde(skip_serializing_if = "Signed::is_payload")]
    #[schema(value_type = Option<String>, required)]
    signed: Signed,
}

/// The signature of a receipt, where it has one.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Signed {
    /// The receipt is what is signed: in there, null would mean that it is unsigned.
    Payload,
    Answer(Option<String>),
}

impl Signed {
    fn is_payload(&self) -> bool {
        matches!(self, Self::Payload)
    }
}

/// What an erasure cannot reach.
const REMAINS: &str = "The journal, the oplog, old data files and backups keep overwritten text until they are reused, rolled \
    over, resynchronised or deleted; see docs/operations/data.md.";

impl ErasureResponse {
    pub(crate) fn new(erasure: Erasure, signer: &ReceiptSigner) -> Self {
        let is_finished = erasure.finished_at.is_some();
        let mut response = Self {
            app_id: erasure.app_id.to_string(),
            pseudonym: erasure.pseudonym.to_string(),
            begun_at: erasure.begun_at.into(),
            finished_at: erasure.finished_at.map(Into::into),
            searched: erasure.searched,
            erased: erasure.erased,
            held: erasure.held,
            remains: REMAINS,
            signed: Signed::Payload,
        };
        let signature = is_finished.then(|| signer.sign(&response)).flatten();
        response.signed = Signed::Answer(signature);
        response
    }
}
