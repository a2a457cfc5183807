//! Wallets and apps, under the names that `MozaiksAI`'s database gives their fields.

use bson::{Document, doc};

use super::View;
use crate::mongo::collection_names::{APPS, WALLETS};

pub(super) fn views() -> [View; 2] {
    [
        View { name: "mozaiks.Wallets", source: WALLETS, pipeline: vec![wallet()] },
        View { name: "mozaiks.apps", source: APPS, pipeline: vec![app()] },
    ]
}

fn wallet() -> Document {
    doc! { "$project": {
        "AppId": "$_id.app_id",
        "UserId": "$_id.user_id",
        "Balance": "$balance",
        "CreatedAt": "$created_at",
        "UpdatedAt": "$last_updated_at",
    } }
}

fn app() -> Document {
    doc! { "$project": { "status": 1, "created_at": 1, "last_updated_at": 1 } }
}
