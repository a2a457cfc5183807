//! What an operation of the API says about itself: the types that its handler takes and returns describe the request and
//! the responses, so that the description cannot differ from what is served.

mod description;
mod outputs;

use axum::extract::State;
use axum::http::{HeaderMap, Method};
use axum::routing::{MethodFilter, MethodRouter};
use utoipa::openapi::path::Operation as DescribedOperation;

pub(crate) use description::{Description, Honoured, Schemas, header, parameter};
pub(crate) use outputs::{NoContent, Prepared};

use crate::admission::{RequestMemory, Reserve};
use crate::live::Shutdown;
use crate::problem::Problem;
use crate::request_id::RequestId;
use crate::state::AppState;

/// A handler of the API; implemented by the attribute `operation`.
pub(crate) trait Operation {
    /// The name of the handler.
    const ID: &'static str;
    /// Its documentation: a summary, and after an empty line the rest.
    const TEXT: &'static str;
    /// What the successful response contains.
    const ANSWERS: &'static str;
    /// What a repeated request is answered with, where that is 200 instead of 201.
    const REPEATED: Option<&'static str>;

    /// Adds everything else that is known of the operation.
    fn describe(description: &mut Description);

    /// Returns the handler as the route of a method.
    fn route(method: MethodFilter) -> MethodRouter<AppState>;
}

/// A part of a request that a handler takes.
pub(crate) trait Input {
    /// Describes what it reads from the request, and how it refuses one; by default nothing.
    fn describe(_description: &mut Description) {}
}

/// What a handler returns.
pub(crate) trait Output {
    /// Describes the responses.
    fn describe(description: &mut Description);
}

/// Declares inputs that read nothing which a caller has to know of.
macro_rules! undescribed {
    ($($input:ty),+ $(,)?) => {$(
        impl Input for $input {}
    )+};
}

undescribed!(HeaderMap, Method, RequestId, RequestMemory, Shutdown);

impl<T> Input for State<T> {}
impl<const MIB: usize> Input for Reserve<MIB> {}

impl<T: Output> Output for Result<T, Problem> {
    fn describe(description: &mut Description) {
        T::describe(description);
    }
}

/// An operation, where it is found, and what its route needs.
pub(crate) struct Row {
    pub(crate) path: &'static str,
    pub(crate) method: Method,
    route: fn(MethodFilter) -> MethodRouter<AppState>,
    /// Describes the operation. The descriptions take much memory, and are needed once.
    describe: fn(Method, bool) -> Description,
    is_admitted: bool,
    /// Whether the operation ends at the deadline of requests.
    pub(crate) has_deadline: bool,
    /// The conditions that the operation honours when it writes.
    pub(crate) honoured: Honoured,
}

impl Row {
    /// Creates the row of an operation that is found under a method and a path.
    pub(crate) fn of<O: Operation>(path: &'static str, method: Method, is_admitted: bool) -> Self {
        let describe = |method, is_admitted| {
            let mut description = Description::new::<O>(method, is_admitted);
            O::describe(&mut description);
            description
        };
        let description = describe(method.clone(), is_admitted);
        Self {
            path,
            method,
            route: O::route,
            describe,
            is_admitted,
            has_deadline: description.has_deadline,
            honoured: description.honoured,
        }
    }

    /// Describes the operation, and returns the schemas that it refers to.
    pub(crate) fn describe(&self, tag: &str) -> (DescribedOperation, Schemas) {
        let mut description = (self.describe)(self.method.clone(), self.is_admitted);
        let schemas = std::mem::take(&mut description.schemas);
        (description.into_operation(tag, self.path), schemas)
    }

    /// Returns the route of the operation.
    pub(crate) fn route(&self) -> MethodRouter<AppState> {
        // Every method of the table is one that a filter knows.
        let method = MethodFilter::try_from(self.method.clone()).unwrap_or(MethodFilter::GET);
        (self.route)(method)
    }
}
