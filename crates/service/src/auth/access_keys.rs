use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use moka::sync::Cache;
use persistence::Store;
use records::{
    AccessKey, AccessKeyId, AccessKeyKind, AccessKeySecret, Clock as _, Credential, Grant,
    SystemClock, TokenId,
};

use super::{Apps, Identity, Refusal, Role, unauthenticated};
use crate::problem::Problem;

/// The most keys that are cached.
const MAX_KEYS: u64 = 10_000;
/// How often a process notes that a key is in use.
const USE_NOTED: Duration = Duration::from_mins(1);

const NOT_VALID: Refusal = "the API key is not valid, has expired, or was revoked";

/// The keys that Reprise has issued, from a cache in front of the store.
#[derive(Debug)]
pub(crate) struct AccessKeys {
    store: Arc<dyn Store>,
    /// `None` for a key that does not exist.
    known: Cache<AccessKeyId, Option<Arc<AccessKey>>>,
    /// The keys whose use was noted within the last minute.
    noted: Cache<AccessKeyId, ()>,
}

impl AccessKeys {
    /// Reads each key again after `recheck`, which is how long a revoked key is still accepted at most.
    pub(super) fn new(store: Arc<dyn Store>, recheck: Duration) -> Self {
        let known = Cache::builder().max_capacity(MAX_KEYS).time_to_live(recheck).build();
        let noted = Cache::builder().max_capacity(MAX_KEYS).time_to_live(USE_NOTED).build();
        Self { store, known, noted }
    }

    /// Returns the identity of the bearer of a key of this kind.
    pub(super) async fn verify(
        &self,
        secret: &AccessKeySecret,
        kind: AccessKeyKind,
    ) -> Result<Identity, Problem> {
        let id = secret.id();
        let key = self.find(&id).await?.filter(|key| {
            // A comparison that takes as long as it needs tells nothing: the digest of a guess cannot be chosen.
            key.digest == secret.digest() && key.kind == kind
        });
        let key = key.ok_or_else(|| unauthenticated(NOT_VALID))?;
        if !key.is_valid(now()) {
            return Err(unauthenticated(NOT_VALID).of_known_caller());
        }
        self.note_use(&id);
        let apps = key.apps.clone().map_or(Apps::All, Apps::These);
        let role = Role::from(key.bearer.clone());
        let credential = Credential {
            token_id: TokenId::parse(id.as_str()).ok(),
            subject: key.bearer.person().cloned(),
            issued_at: Some(key.created_at),
            key_digest: None,
        };
        Ok(Identity {
            role,
            expires_at: key.expires_at,
            apps,
            credentials: vec![credential],
            revoked_in: Vec::new(),
            grant: Grant::Everything,
            origin: None,
        })
    }

    /// Removes a key from the cache, after this process has changed it.
    pub(super) fn forget(&self, id: &AccessKeyId) {
        self.known.invalidate(id);
    }

    async fn find(&self, id: &AccessKeyId) -> Result<Option<Arc<AccessKey>>, Problem> {
        if let Some(known) = self.known.get(id) {
            return Ok(known);
        }
        let key = self.store.find_access_key(id).await?.map(Arc::new);
        self.known.insert(id.clone(), key.clone());
        Ok(key)
    }

    /// Writes the time of the use, without keeping the request waiting.
    fn note_use(&self, id: &AccessKeyId) {
        if self.noted.get(id).is_some() {
            return;
        }
        self.noted.insert(id.clone(), ());
        let (store, id) = (Arc::clone(&self.store), id.clone());
        tokio::spawn(async move {
            if let Err(error) = store.use_access_key(&id).await {
                tracing::debug!(%error, key_id = %id, "the use of an access key was not noted");
            }
        });
    }
}

fn now() -> DateTime<Utc> {
    SystemClock.now()
}
