use bson::{DateTime, RawBsonRef};
use chrono::Utc;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A time, stored as a BSON date.
///
/// The driver's own date type converts through text when it is read, and also accepts documents such as
/// `{ "$date": … }`. This type reads the date from the raw value, which is faster and stricter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Time(pub(crate) chrono::DateTime<Utc>);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        DateTime::from_chrono(self.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Time {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let date = RawBsonRef::deserialize(deserializer)?.as_datetime();
        date.map(|date| Self(date.to_chrono())).ok_or_else(|| D::Error::custom("not a date"))
    }
}
