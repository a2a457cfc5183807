use bson::RawDocument;
use records::{Member, MemberRole, UserId};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::mongo::collection_names::CHAT_SESSIONS;
use crate::mongo::documents::stored::read_document;
use crate::mongo::documents::word::StoredName;

/// A member in the document of its chat.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct MemberDocument {
    user_id: UserId,
    role: StoredName<MemberRole>,
}

/// The part of a session document with the members; the field is missing if there are none.
#[derive(Debug, Deserialize)]
struct MembersDocument {
    #[serde(default)]
    members: Vec<MemberDocument>,
}

impl From<&Member> for MemberDocument {
    fn from(member: &Member) -> Self {
        Self { user_id: member.user_id.clone(), role: StoredName(member.role) }
    }
}

/// Reads the members of a chat.
pub(crate) fn member_records(raw: &RawDocument) -> Result<Vec<Member>, StoreError> {
    let document: MembersDocument = read_document(CHAT_SESSIONS, raw)?;
    let member =
        |MemberDocument { user_id, role }: MemberDocument| Member { user_id, role: role.0 };
    Ok(document.members.into_iter().map(member).collect())
}
