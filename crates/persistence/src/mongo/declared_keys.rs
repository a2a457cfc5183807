//! The keys of the metadata that apps have declared, as the calls that write and list chats read them.

use bson::{RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use mongodb::action::{Action as _, Find};
use mongodb::options::Hint;
use records::AppId;

use crate::mongo::MongoStore;
use crate::mongo::apps::{AppDocument, METADATA_KEYS_VERSION};
use crate::mongo::collection_names::APPS;
use crate::mongo::documents::DeclaredKeys;
use crate::mongo::documents::stored::read_document;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::hinted::hinted;

impl MongoStore {
    /// Returns the keys of the metadata that an app has declared.
    pub(crate) async fn declared_keys(&self, app_id: &AppId) -> Result<DeclaredKeys, Failure> {
        let document = self.app_document(app_id).await?;
        Ok(document.map(|document| document.declared_keys()).unwrap_or_default())
    }

    /// Returns the apps that have ever declared keys of the metadata.
    pub(crate) async fn apps_with_metadata_keys(
        &self,
    ) -> Result<Vec<(AppId, DeclaredKeys)>, Failure> {
        let declared = doc! { METADATA_KEYS_VERSION: { "$exists": true } };
        let index = Hint::Keys(doc! { METADATA_KEYS_VERSION: 1 });
        let found = hinted(index, |hint| async {
            let find = self.inner.apps.find(declared.clone()).optional(hint, Find::hint);
            Ok(find.await?.try_collect::<Vec<RawDocumentBuf>>().await?)
        });
        let keys = |raw: &RawDocumentBuf| {
            let document: AppDocument = read_document(APPS, raw)?;
            Ok((document.app_id.clone(), document.declared_keys()))
        };
        found.await?.iter().map(keys).collect()
    }
}
