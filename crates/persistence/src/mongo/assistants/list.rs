//! Lists of assistants. The database selects by rights and fields, and this process by text.

use bson::{Bson, Document, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use mongodb::Cursor;
use mongodb::action::{Action as _, Find};
use mongodb::options::Hint;
use records::{AssistantId, Scope, Visibility};

use super::document::{assistant_key, assistant_record};
use crate::mongo::MongoStore;
use crate::mongo::collections::assistant_index;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::hinted::hinted;
use crate::mongo::engine::paging::beyond;
use crate::mongo::engine::scope::listed_records;
use crate::store::{AssistantCursor, AssistantFilter, AssistantPage, AssistantTags, Direction};

impl MongoStore {
    pub(super) async fn assistants_page(
        &self,
        scope: &Scope,
        filter: &AssistantFilter,
        limit: usize,
        after: Option<&AssistantCursor>,
    ) -> Result<AssistantPage, Failure> {
        let mut found = self.find_assistants(scope, filter, after).await?;
        let mut page = AssistantPage::default();
        while let Some(raw) = found.try_next().await? {
            if !page.add(assistant_record(&raw)?, filter, limit) {
                break;
            }
        }
        Ok(page)
    }

    pub(super) async fn assistant_tags(
        &self,
        scope: &Scope,
        filter: &AssistantFilter,
    ) -> Result<AssistantTags, Failure> {
        let mut found = self.find_assistants(scope, filter, None).await?;
        let mut tags = AssistantTags::default();
        while let Some(raw) = found.try_next().await? {
            if !tags.add(&assistant_record(&raw)?, filter) {
                break;
            }
        }
        Ok(tags)
    }

    /// Finds the assistants whose fields a filter admits, in the order of the list.
    async fn find_assistants(
        &self,
        scope: &Scope,
        filter: &AssistantFilter,
        after: Option<&AssistantCursor>,
    ) -> Result<Cursor<RawDocumentBuf>, Failure> {
        // A caller who names ids knows them.
        let is_by_id = !filter.ids.is_empty();
        let open: &[_] =
            if is_by_id { &[Visibility::App, Visibility::Link] } else { &[Visibility::App] };
        let mut query = listed_records(scope, open);
        query.extend(field_filter(scope, filter));
        let (index, sort) = if is_by_id {
            (Hint::Keys(doc! { "_id": 1 }), doc! { "_id": 1 })
        } else {
            (assistant_index("as_app_sort"), doc! { "sort": 1, "_id.assistant_id": 1 })
        };
        if let Some(after) = after {
            query.insert("$and", after_place(scope, filter, after));
        }
        hinted(index, |hint| async {
            let find = self.inner.assistants.find(query.clone()).sort(sort.clone());
            Ok(find.optional(hint, Find::hint).await?)
        })
        .await
    }
}

/// Returns the conditions for the assistants after a position.
fn after_place(scope: &Scope, filter: &AssistantFilter, after: &AssistantCursor) -> Vec<Document> {
    let AssistantCursor { sort, assistant_id } = after;
    if !filter.ids.is_empty() {
        return vec![doc! { "_id": { "$gt": assistant_key(&scope.app_id, assistant_id) } }];
    }
    let place = [("sort", (*sort).into()), ("_id.assistant_id", assistant_id.as_str().into())];
    beyond(Direction::Ascending, place).to_vec()
}

/// Returns the conditions for the fields of assistants.
fn field_filter(scope: &Scope, filter: &AssistantFilter) -> Document {
    let AssistantFilter { ids, user_id, tags, kinds, connector, .. } = filter;
    let mut fields = Document::new();
    if !ids.is_empty() {
        let key = |id: &AssistantId| Bson::from(assistant_key(&scope.app_id, id));
        fields.insert("_id", doc! { "$in": ids.iter().map(key).collect::<Vec<_>>() });
    }
    for (field, texts) in [("tags", tags), ("type", kinds)] {
        if !texts.is_empty() {
            fields.insert(field, doc! { "$in": texts });
        }
    }
    fields.extend(user_id.iter().map(|it| ("user_id".to_owned(), it.as_str().into())));
    fields.extend(connector.iter().map(|it| ("connector".to_owned(), it.as_str().into())));
    for (field, wanted) in [
        ("mentionable", filter.mentionable),
        ("automated", filter.automated),
        ("built_in", filter.built_in),
    ] {
        fields.extend(wanted.map(|wanted| (field.to_owned(), Bson::Boolean(wanted))));
    }
    fields
}
