//! Which records of a batch are new, and which repeat one that is stored.

use std::collections::HashMap;
use std::hash::Hash;

use crate::store::Outcome;

/// A record that a caller may send again under the same id.
pub(crate) trait Repeatable {
    /// The id of the record.
    type Id: Eq + Hash;

    /// Returns the id.
    fn id(&self) -> &Self::Id;

    /// Returns whether this record says the same as an earlier one with the same id.
    fn repeats(&self, earlier: &Self) -> bool;
}

/// A batch, compared with what is stored.
#[derive(Debug)]
pub(crate) struct Compared<'new, 'any, R> {
    /// The records to store.
    pub(crate) fresh: Vec<&'new R>,
    /// For each record of the batch, the one that is stored then, and whether this batch stores it.
    pub(crate) answers: Vec<(&'any R, Outcome)>,
}

/// Finds a record that has the id of an earlier one of the batch and says something else. Returns the indexes of both.
pub(crate) fn contradiction<R: Repeatable>(batch: &[R]) -> Option<(usize, usize)> {
    let mut first_of: HashMap<&R::Id, usize> = HashMap::new();
    batch.iter().enumerate().find_map(|(index, record)| {
        let first = *first_of.entry(record.id()).or_insert(index);
        (!record.repeats(&batch[first])).then_some((first, index))
    })
}

/// Compares a batch with the stored records that have one of its ids. The error is the index of a record that says something
/// else than the stored one.
pub(crate) fn compare<'new: 'any, 'any, R: Repeatable>(
    batch: &'new [R],
    stored: &'any [R],
) -> Result<Compared<'new, 'any, R>, usize> {
    let mut known: HashMap<&R::Id, &'any R> = stored.iter().map(|it| (it.id(), it)).collect();
    let mut compared = Compared { fresh: Vec::new(), answers: Vec::with_capacity(batch.len()) };
    for (index, record) in batch.iter().enumerate() {
        match known.get(record.id()) {
            Some(earlier) if !record.repeats(earlier) => return Err(index),
            Some(earlier) => compared.answers.push((*earlier, Outcome::Duplicate)),
            None => {
                known.insert(record.id(), record);
                compared.fresh.push(record);
                compared.answers.push((record, Outcome::Stored));
            }
        }
    }
    Ok(compared)
}
