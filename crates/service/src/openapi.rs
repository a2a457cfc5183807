//! The OpenAPI document that `GET /openapi.json` returns.

mod complete;
pub(crate) use crate::wire::values::{self, any_of, merged};

use std::collections::btree_map::Entry;

use axum::body::Bytes;
use axum::http::Method;
use serde_json::{Value, json};
use utoipa::OpenApi;
use utoipa::openapi::path::{HttpMethod, Operation, PathItem};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme};
use utoipa::openapi::tag::TagBuilder;
use utoipa::openapi::{OpenApi as Description, RefOr, Schema};

use complete::complete;

use crate::operations::Section;
use crate::problem::ProblemResponse;

/// The parts of the OpenAPI document that belong to no single operation.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Reprise",
        contact(name = "The operators of this service"),
        description = "Stores the conversations of multi-agent workflows and resumes them.\n\n\
            Every error is a problem document (RFC 9457); its `type` is the address of a page about it, and \
            its `code` never changes.",
    ),
    // Only parameters have the other ones.
    components(schemas(ProblemResponse, values::ChatStatuses, values::Lifecycles, values::StoredDialect, values::Unsettled)),
)]
struct Api;

/// The description of the API, while it is collected.
pub(crate) struct Document(Description);

impl Document {
    pub(crate) fn new() -> Self {
        let mut description = Api::openapi();
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("JWT")
            .description(Some("Required unless the service runs with `auth.mode = \"none\"`"))
            .build();
        let components = description.components.get_or_insert_default();
        components.add_security_scheme("bearer_token", SecurityScheme::Http(scheme));
        description.security =
            Some(vec![SecurityRequirement::new("bearer_token", [] as [&str; 0])]);
        Self(description)
    }

    /// The description of an adapter.
    pub(crate) fn titled(title: &str) -> Self {
        let mut document = Self::new();
        title.clone_into(&mut document.0.info.title);
        document
    }

    /// Adds sections with their operations.
    pub(crate) fn sections<'a>(&mut self, sections: impl IntoIterator<Item = &'a Section>) {
        for Section { tag, about, rows } in sections {
            self.section(tag, about);
            for row in rows {
                let (operation, schemas) = row.describe(tag);
                self.operation(row.path, &row.method, operation, schemas);
            }
        }
    }

    /// Adds a section of the API.
    fn section(&mut self, tag: &str, about: &str) {
        let tag = TagBuilder::new().name(tag).description(Some(about)).build();
        self.0.tags.get_or_insert_default().push(tag);
    }

    /// Adds an operation.
    ///
    /// In a debug build, panics if two schemas have the same name: one would silently replace the other.
    fn operation(
        &mut self,
        path: &str,
        method: &Method,
        operation: Operation,
        schemas: Vec<(String, RefOr<Schema>)>,
    ) {
        let method = match *method {
            Method::POST => HttpMethod::Post,
            Method::PUT => HttpMethod::Put,
            Method::PATCH => HttpMethod::Patch,
            Method::DELETE => HttpMethod::Delete,
            _ => HttpMethod::Get,
        };
        let item = PathItem::new(method, operation);
        // OpenAPI has no word for a parameter that may hold slashes.
        self.0.paths.paths.entry(path.replace("{*", "{")).or_default().merge_operations(item);
        let known = self.0.components.get_or_insert_default();
        for (name, schema) in schemas {
            match known.schemas.entry(name) {
                Entry::Vacant(free) => drop(free.insert(schema)),
                Entry::Occupied(earlier) => debug_assert!(
                    *earlier.get() == schema,
                    "two schemas are called {}; see #[schema(as)]",
                    earlier.key()
                ),
            }
        }
    }

    /// Returns the text of the document.
    pub(crate) fn to_json(&self) -> Bytes {
        serde_json::to_vec(&complete(&self.0)).map(Bytes::from).unwrap_or_default()
    }

    /// Returns the text of the document with errors of another schema than problems.
    pub(crate) fn with_errors_as(&self, schema: fn() -> Value) -> Bytes {
        let mut document = json!(complete(&self.0));
        let operations = document["paths"].as_object_mut().into_iter().flatten();
        let operations =
            operations.flat_map(|(_, item)| item.as_object_mut().into_iter().flatten());
        for (_, operation) in operations {
            let responses = operation["responses"].as_object_mut().into_iter().flatten();
            for (_, response) in responses {
                let content = response.get_mut("content").and_then(Value::as_object_mut);
                let Some(content) = content else { continue };
                if content.remove("application/problem+json").is_some() {
                    content.insert("application/json".to_owned(), json!({"schema": schema()}));
                }
            }
        }
        Bytes::from(document.to_string())
    }
}
