use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use chrono::{DateTime, Utc};

use crate::config::LimitsConfig;
use crate::problem::Problem;
use crate::wire::Time;

/// The parameters of a query string, by name; each may be given once.
#[derive(Debug)]
pub(crate) struct Params(BTreeMap<String, String>);

impl Params {
    /// Refuses names that are given twice, and values that are not valid UTF-8.
    pub(super) fn new(pairs: Vec<(String, String)>) -> Result<Self, Problem> {
        let mut params = BTreeMap::new();
        for (name, value) in pairs {
            // The decoder replaces invalid UTF-8 with this character.
            if value.contains(char::REPLACEMENT_CHARACTER) {
                return Err(Problem::invalid_parameter(&name, "is not valid UTF-8"));
            }
            match params.entry(name) {
                Entry::Occupied(twice) => {
                    return Err(Problem::invalid_parameter(twice.key(), "is given twice"));
                }
                Entry::Vacant(vacant) => vacant.insert(value),
            };
        }
        Ok(Self(params))
    }

    /// Keeps the first value of each name, as it is.
    pub(super) fn first_of(pairs: Vec<(String, String)>) -> Self {
        Self(pairs.into_iter().rev().collect())
    }

    /// Takes a parameter, and parses it.
    pub(crate) fn take<T>(&mut self, name: &str) -> Result<Option<T>, Problem>
    where
        T: FromStr<Err: Display>,
    {
        self.take_with(name, str::parse)
    }

    /// Takes the times where a span begins and ends. One that ends before it begins is refused: it would have nothing.
    pub(crate) fn take_span(
        &mut self,
        from: &str,
        to: &str,
    ) -> Result<[Option<DateTime<Utc>>; 2], Problem> {
        let ends = [self.take::<Time>(from)?, self.take::<Time>(to)?];
        let [begin, end] = ends.map(|time| time.map(|time| time.0));
        if begin.zip(end).is_some_and(|(begin, end)| begin > end) {
            return Err(Problem::invalid_parameter(from, format!("must not be after `{to}`")));
        }
        Ok([begin, end])
    }

    /// Takes a number within a range.
    pub(crate) fn take_in<T>(
        &mut self,
        name: &str,
        range: RangeInclusive<T>,
    ) -> Result<Option<T>, Problem>
    where
        T: FromStr + PartialOrd + Display,
    {
        self.take_with(name, |text| {
            let number = text.parse().ok().filter(|number| range.contains(number));
            number.ok_or_else(|| {
                let (low, high) = (range.start(), range.end());
                format!("must be an integer from {low} to {high}")
            })
        })
    }

    /// Takes `limit`, the number of entries of a list to return.
    pub(crate) fn take_limit(&mut self, limits: &LimitsConfig) -> Result<usize, Problem> {
        let limit = self.take_in("limit", 1..=limits.list_max)?;
        Ok(limit.unwrap_or(limits.list_default))
    }

    /// Takes a parameter, and parses it with `read`.
    pub(crate) fn take_with<T, E: Display>(
        &mut self,
        name: &str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, Problem> {
        let Some(text) = self.0.remove(name) else {
            return Ok(None);
        };
        match read(&text) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(Problem::invalid_parameter(name, error.to_string())),
        }
    }

    /// Refuses parameters that were not taken.
    pub(super) fn finish(self) -> Result<(), Problem> {
        match self.0.first_key_value() {
            None => Ok(()),
            Some((name, _)) => {
                Err(Problem::invalid_parameter(name, "is not a parameter of this route"))
            }
        }
    }
}
