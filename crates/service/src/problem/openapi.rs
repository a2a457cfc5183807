//! Problems in the OpenAPI document.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use utoipa::openapi::{Content, Ref, RefOr, Response, ResponseBuilder};

use super::ProblemKind;

/// Describes the responses with kinds of problem, by their status.
pub(crate) fn problem_responses(
    kinds: BTreeSet<ProblemKind>,
) -> impl Iterator<Item = (String, Response)> {
    let mut by_status: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for kind in kinds {
        by_status.entry(kind.status).or_default().push(kind);
    }
    by_status.into_iter().map(|(status, kinds)| (status.as_str().to_owned(), response(&kinds)))
}

fn response(kinds: &[ProblemKind]) -> Response {
    let codes: Vec<_> = kinds.iter().map(|kind| format!("`{}`", kind.code)).collect();
    let mut content = Content::new(Some(Ref::from_schema_name("Problem")));
    content.examples.extend(kinds.iter().map(|kind| {
        let location = format!("#/components/examples/{}", kind.code);
        (kind.code.to_owned(), RefOr::Ref(Ref::new(location)))
    }));
    ResponseBuilder::new()
        .description(codes.join(", "))
        .content("application/problem+json", content)
        .build()
}

/// Returns an example of each problem that is used, by its code.
pub(crate) fn examples(is_used: impl Fn(&str) -> bool) -> Value {
    let used = ProblemKind::ALL.iter().copied().filter(|kind| is_used(kind.code));
    used.map(|kind| (kind.code.to_owned(), example(kind))).collect()
}

fn example(kind: ProblemKind) -> Value {
    let problem = json!({
        "type": kind.uri(),
        "code": kind.code,
        "title": kind.title,
        "status": kind.status.as_u16(),
        "detail": "what was wrong with this request, and what to do",
        "http_request_id": "req_0199a3c2f0f47a3e8f1d2c3b4a596877",
    });
    json!({"value": problem})
}
