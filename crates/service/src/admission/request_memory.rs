use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::extract::FromRequestParts;
use axum::http::Extensions;
use axum::http::request::Parts;

use super::budget::{Reservation, SubjectMemory};
use crate::problem::{Problem, ProblemKind};

/// The memory that a request holds, from the arrival of its body until its response is written.
#[derive(Debug, Clone)]
pub(crate) struct RequestMemory {
    subject: SubjectMemory,
    held: Arc<Mutex<Vec<Reservation>>>,
}

impl RequestMemory {
    pub(crate) fn new(subject: SubjectMemory) -> Self {
        Self { subject, held: Arc::default() }
    }

    /// Returns the memory of a request.
    pub(crate) fn of(extensions: &Extensions) -> Result<Self, Problem> {
        let missing = || Problem::new(ProblemKind::INTERNAL, "the route has no layer `admit`");
        extensions.get().cloned().ok_or_else(missing)
    }

    /// Reserves further memory, or refuses the request.
    pub(crate) async fn reserve(&self, bytes: usize) -> Result<(), Problem> {
        if bytes == 0 {
            return Ok(());
        }
        let reserved = self.subject.reserve(bytes).await?;
        self.held().push(reserved);
        Ok(())
    }

    /// Gives back all but this many bytes.
    pub(crate) fn shrink_to(&self, bytes: usize) {
        let mut left = bytes;
        for reservation in self.held().iter_mut() {
            reservation.shrink_to(left);
            left -= reservation.bytes().min(left);
        }
    }

    fn held(&self) -> MutexGuard<'_, Vec<Reservation>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Sync> FromRequestParts<S> for RequestMemory {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        Self::of(&parts.extensions)
    }
}

/// Reserves memory before a handler reads as much from the store, in MiB.
///
/// What the response does not need is given back once it is known; the rest once it is written.
#[derive(Debug)]
pub(crate) struct Reserve<const MIB: usize>;

impl<S: Sync, const MIB: usize> FromRequestParts<S> for Reserve<MIB> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        RequestMemory::of(&parts.extensions)?.reserve(MIB << 20).await.map(|()| Self)
    }
}
