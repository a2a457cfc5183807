use std::collections::{BTreeMap, BTreeSet};

use axum::http::{Method, StatusCode};
use records::Permission;
use serde_json::Value;
use utoipa::openapi::extensions::ExtensionsBuilder;
use utoipa::openapi::path::{
    Operation as DescribedOperation, OperationBuilder, Parameter, ParameterBuilder, ParameterIn,
};
use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::{
    Content, HeaderBuilder, ObjectBuilder, Ref, RefOr, Required, Response, ResponseBuilder,
    ResponsesBuilder, Schema, SecurityRequirement, Type,
};
use utoipa::{PartialSchema, ToSchema};

use super::Operation;
use crate::problem::{ProblemKind as P, problem_responses};

/// Schemas, by their names.
pub(crate) type Schemas = Vec<(String, RefOr<Schema>)>;

const JSON: &str = "application/json";

/// The problems of every operation that is admitted.
const ANY: [P; 12] = [
    P::UNAUTHENTICATED,
    P::FORBIDDEN_ORIGIN,
    P::INVALID_REQUEST,
    P::INTERNAL,
    P::UNSUPPORTED_SCHEMA_VERSION,
    P::CORRUPT_DOCUMENT,
    P::STORE_REFUSED,
    P::STORE_UNAVAILABLE,
    P::NOT_A_REPLICA_SET,
    P::KEYS_UNAVAILABLE,
    P::OVERLOADED,
    P::TOO_MANY_REQUESTS,
];

/// The conditions that an operation honours when it writes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Honoured {
    pub(crate) if_match: bool,
    pub(crate) if_none_match: bool,
}

/// What is known of an operation.
pub(crate) struct Description {
    id: &'static str,
    text: &'static str,
    method: Method,
    answers: &'static str,
    repeated: Option<&'static str>,
    is_admitted: bool,
    permission: Option<Permission>,
    parameters: Vec<Parameter>,
    body: Option<RequestBody>,
    responses: BTreeMap<String, Response>,
    problems: BTreeSet<P>,
    pub(super) schemas: Schemas,
    pub(super) has_deadline: bool,
    pub(super) honoured: Honoured,
}

impl Description {
    pub(super) fn new<O: Operation>(method: Method, is_admitted: bool) -> Self {
        Self {
            id: O::ID,
            text: O::TEXT,
            method,
            answers: O::ANSWERS,
            repeated: O::REPEATED,
            is_admitted,
            permission: None,
            parameters: Vec::new(),
            body: None,
            responses: BTreeMap::new(),
            problems: BTreeSet::new(),
            schemas: Vec::new(),
            has_deadline: is_admitted,
            honoured: Honoured::default(),
        }
    }

    /// Whether the operation changes nothing.
    pub(crate) fn is_read(&self) -> bool {
        self.method.is_safe()
    }

    /// The operation needs a token with this permission.
    pub(crate) fn permission(&mut self, permission: Permission) {
        self.permission = Some(permission);
    }

    pub(crate) fn parameter(&mut self, parameter: Parameter) {
        self.parameters.push(parameter);
    }

    pub(crate) fn parameters(&mut self, parameters: Vec<Parameter>) {
        self.parameters.extend(parameters);
    }

    /// The operation may return these problems, besides those that its parts have.
    pub(crate) fn problems(&mut self, kinds: &[P]) {
        self.problems.extend(kinds);
    }

    /// The operation lasts as long as its reader needs.
    pub(crate) fn no_deadline(&mut self) {
        self.has_deadline = false;
    }

    /// The operation honours `If-Match`.
    pub(crate) fn honours_if_match(&mut self) {
        self.honoured.if_match = true;
        self.problems(&[P::PRECONDITION_FAILED]);
    }

    /// The operation honours `If-None-Match` although it writes.
    pub(crate) fn honours_if_none_match(&mut self) {
        self.honoured.if_none_match = true;
        self.problems(&[P::PRECONDITION_FAILED]);
    }

    /// The operation takes a content, and remembers the key of its request.
    pub(crate) fn content_body<T: ToSchema>(
        &mut self,
        media_types: &[&'static str],
        longest_key: usize,
    ) {
        self.body_without_key::<T>(media_types, Required::True);
        let text = "Makes the request safe to repeat: it is recognised until 64 other writes have followed it.";
        self.parameter(idempotency_key(text, Some(longest_key)));
    }

    /// The operation takes a body of one of the media types.
    pub(crate) fn body<T: ToSchema>(&mut self, media_types: &[&'static str], required: Required) {
        self.body_without_key::<T>(media_types, required);
        if self.method == Method::POST {
            let text = "Makes the request safe to repeat: the id that the body would otherwise have (`chat_id`, `event_id`, \
                `call_id`, `request_id`, `entry_id` or `lease_id`), which must be missing then. The records of a list get \
                `{key}/0`, `{key}/1` and so on. A request that is safe to repeat without an id ignores it.";
            self.parameter(idempotency_key(text, None));
        }
    }

    fn body_without_key<T: ToSchema>(&mut self, media_types: &[&'static str], required: Required) {
        let schema = self.reference::<T>();
        let body = RequestBodyBuilder::new().required(Some(required));
        let body = media_types.iter().fold(body, |body, media_type| {
            body.content(*media_type, Content::new(Some(schema.clone())))
        });
        self.body = Some(body.build());
        self.problems(&[
            P::MALFORMED_JSON,
            P::BODY_TIMEOUT,
            P::BODY_TOO_LARGE,
            P::UNSUPPORTED_MEDIA_TYPE,
        ]);
    }

    /// The operation takes a body of JSON.
    pub(crate) fn json_body<T: ToSchema>(&mut self) {
        self.body::<T>(&[JSON], Required::True);
    }

    /// The operation answers with a status, and with no body.
    pub(crate) fn answers(&mut self, status: StatusCode) -> &mut Response {
        let text = self.answers;
        self.response(status, text)
    }

    /// The operation answers with a status, and with a body of JSON.
    pub(crate) fn answers_json<T: ToSchema>(&mut self, status: StatusCode) -> &mut Response {
        self.answers_content::<T>(status, JSON)
    }

    /// The operation answers with a status, and with a body of a media type. Several media types may be described.
    pub(crate) fn answers_content<T: ToSchema>(
        &mut self,
        status: StatusCode,
        media_type: &str,
    ) -> &mut Response {
        let schema = self.reference::<T>();
        let response = self.answers(status);
        response.content.insert(media_type.to_owned(), Content::new(Some(schema)).into());
        response
    }

    /// The operation answers with a status, and with a body of JSON whose schema gets a name here.
    pub(crate) fn answers_as(&mut self, status: StatusCode, name: &str, schema: RefOr<Schema>) {
        self.schemas.push((name.to_owned(), schema));
        let content = Content::new(Some(Ref::from_schema_name(name)));
        self.answers(status).content.insert(JSON.to_owned(), content.into());
    }

    /// The operation answers with 201 if it has created something, and with 200 if an earlier request has.
    pub(crate) fn answers_created(&mut self, name: &str, schema: RefOr<Schema>) {
        self.schemas.push((name.to_owned(), schema));
        self.creates(Ref::from_schema_name(name).into());
    }

    /// Like [`answers_created`](Self::answers_created); only with 201 if a repeated request creates something else.
    pub(crate) fn answers_written<T: ToSchema>(&mut self) {
        let schema = self.reference::<T>();
        self.creates(schema);
    }

    fn creates(&mut self, schema: RefOr<Schema>) {
        let content = Content::new(Some(schema));
        let first = self.answers(StatusCode::CREATED);
        first.content.insert(JSON.to_owned(), content.clone().into());
        if let Some(text) = self.repeated {
            self.response(StatusCode::OK, text).content.insert(JSON.to_owned(), content.into());
        }
    }

    /// Describes another response.
    pub(crate) fn response(&mut self, status: StatusCode, text: &str) -> &mut Response {
        let response = self.responses.entry(status.as_str().to_owned());
        response.or_insert_with(|| ResponseBuilder::new().description(text).build())
    }

    /// Adds a header to the responses that are described so far.
    pub(crate) fn response_header(&mut self, name: &str, text: &str) {
        for response in self.responses.values_mut() {
            let header = HeaderBuilder::new().description(Some(text)).build();
            response.headers.insert(name.to_owned(), header.into());
        }
    }

    /// Adds a schema with all that it refers to, and returns a reference to it.
    pub(crate) fn reference<T: ToSchema>(&mut self) -> RefOr<Schema> {
        self.schemas.push((T::name().into(), T::schema()));
        T::schemas(&mut self.schemas);
        Ref::from_schema_name(T::name()).into()
    }

    /// Returns the operation in the terms of OpenAPI.
    ///
    /// In a debug build, panics if the path has other parameters than those that the handler takes.
    pub(super) fn into_operation(mut self, tag: &str, path: &str) -> DescribedOperation {
        let place = |parameter: &Parameter| {
            let name = &parameter.name;
            path.find(&format!("{{{name}}}")).or_else(|| path.find(&format!("{{*{name}}}")))
        };
        let (mut in_path, others): (Vec<_>, Vec<_>) =
            self.parameters.drain(..).partition(|it| it.parameter_in == ParameterIn::Path);
        in_path.sort_by_key(place);
        debug_assert!(
            in_path.iter().all(|it| place(it).is_some())
                && in_path.len() == path.matches('{').count(),
            "{} does not take the parameters of {path}",
            self.id
        );
        let parameters = [in_path, others].concat();
        let kinds = self.problem_kinds();
        let mut responses = ResponsesBuilder::new().build();
        let described = self.responses.into_iter();
        responses.responses.extend(described.map(|(status, it)| (status, it.into())));
        for (status, response) in problem_responses(kinds) {
            // A readiness probe answers 503 in its own form.
            responses.responses.entry(status).or_insert(response.into());
        }
        let (summary, rest) = self.text.split_once("\n\n").unwrap_or((self.text, ""));
        let needed = match self.permission {
            Some(permission) => format!("Needs the permission `{}`.", permission.as_str()),
            None => "Needs no token.".to_owned(),
        };
        let texts = [rest, &needed].into_iter().filter(|text| !text.is_empty());
        let permission = self.permission.map(Permission::as_str);
        let security = permission.map_or_else(SecurityRequirement::default, |_| {
            SecurityRequirement::new("bearer_token", [] as [&str; 0])
        });
        let extensions =
            permission.map(|it| ExtensionsBuilder::new().add("x-permission", it).build());
        OperationBuilder::new()
            .tag(tag)
            .operation_id(Some(self.id))
            .summary(Some(summary.replace('\n', " ")))
            .description(Some(texts.collect::<Vec<_>>().join("\n\n")))
            .parameters((!parameters.is_empty()).then_some(parameters))
            .request_body(self.body)
            .responses(responses)
            .security(security)
            .extensions(extensions)
            .build()
    }

    /// Returns the problems of the operation: its own, those of its parts, and those of all operations.
    fn problem_kinds(&mut self) -> BTreeSet<P> {
        let mut kinds = std::mem::take(&mut self.problems);
        if !self.is_admitted {
            kinds.insert(P::INTERNAL);
            return kinds;
        }
        kinds.extend(ANY);
        if !self.is_read() {
            kinds.insert(P::OUTCOME_UNKNOWN);
        } else if self.has_deadline {
            kinds.insert(P::DEADLINE_EXCEEDED);
        }
        kinds
    }
}

/// Describes a parameter of the path, or a header.
pub(crate) fn parameter(
    place: ParameterIn,
    name: &str,
    text: &str,
    schema: impl Into<RefOr<Schema>>,
    example: Option<Value>,
) -> Parameter {
    let is_in_path = place == ParameterIn::Path;
    ParameterBuilder::new()
        .name(name)
        .parameter_in(place)
        .required(if is_in_path { Required::True } else { Required::False })
        .description(Some(text))
        .schema(Some(schema))
        .example(example)
        .build()
}

/// Describes an optional header of the request, which is text.
pub(crate) fn header(name: &str, text: &str, example: &str) -> Parameter {
    parameter(ParameterIn::Header, name, text, String::schema(), Some(example.into()))
}

fn idempotency_key(text: &str, max_length: Option<usize>) -> Parameter {
    let schema = ObjectBuilder::new().schema_type(Type::String).min_length(Some(1));
    let schema = schema.max_length(max_length);
    let example = "0198d4b2-7c1e-7a3b-9f55-2f6c1d0e8a41";
    parameter(ParameterIn::Header, "Idempotency-Key", text, schema, Some(example.into()))
}
