use records::{
    AccessKeyKind, ActorRole, AppStatus, AuditAction, ChatStatus, EntryKind, InputKind, Lifecycle,
    MemberRole, Permission, StepKind, StepStatus, StreamFormat, StreamState, TurnOutcome,
    Visibility,
};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A value of an enum, stored as its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredName<T>(pub(crate) T);

/// An enum whose values have stored names.
pub(crate) trait StoredEnum: Copy + 'static {
    /// Every value.
    const VALUES: &'static [Self];

    /// Returns the stored name.
    fn name(self) -> &'static str;
}

/// Implements [`StoredEnum`] for enums with `ALL` and `as_str`.
macro_rules! named {
    ($($name:ident),*) => {$(
        impl StoredEnum for $name {
            const VALUES: &'static [Self] = &$name::ALL;

            fn name(self) -> &'static str {
                self.as_str()
            }
        }
    )*};
}

named!(
    AccessKeyKind,
    ActorRole,
    AppStatus,
    AuditAction,
    EntryKind,
    InputKind,
    MemberRole,
    Permission,
    StepKind,
    StepStatus,
    StreamFormat,
    StreamState,
    TurnOutcome
);

impl StoredEnum for Visibility {
    const VALUES: &'static [Self] = &[Self::Private, Self::Team, Self::Link];

    /// Chats that are open to every user who knows the id have always been stored as `app`. A chat that is listed as
    /// well says so in a field of its own, so that processes of older releases read it.
    fn name(self) -> &'static str {
        match self {
            Self::Link | Self::App => "app",
            Self::Private | Self::Team => self.as_str(),
        }
    }
}

impl<T: StoredEnum> Serialize for StoredName<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

impl<'de, T: StoredEnum> Deserialize<'de> for StoredName<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = <&str>::deserialize(deserializer)?;
        let value = T::VALUES.iter().find(|value| value.name() == word);
        value.map(|value| Self(*value)).ok_or_else(|| D::Error::custom("unknown value"))
    }
}

/// A value of an enum, stored as its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StoredNumber<T>(pub(crate) T);

/// An enum whose values have stored numbers.
pub(crate) trait NumberedEnum: Copy {
    /// Returns the stored number.
    fn to_number(self) -> i32;

    /// Returns the value with a stored number.
    fn of_number(number: i32) -> Option<Self>;
}

/// Implements [`NumberedEnum`] for enums with `number` and `from_number`.
macro_rules! numbered {
    ($($name:ident),*) => {$(
        impl NumberedEnum for $name {
            fn to_number(self) -> i32 {
                self.number()
            }

            fn of_number(number: i32) -> Option<Self> {
                Self::from_number(number)
            }
        }
    )*};
}

numbered!(ChatStatus, Lifecycle);

impl<T: NumberedEnum> Serialize for StoredNumber<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_i32(self.0.to_number())
    }
}

impl<'de, T: NumberedEnum> Deserialize<'de> for StoredNumber<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = T::of_number(i32::deserialize(deserializer)?);
        value.map(Self).ok_or_else(|| D::Error::custom("unknown number"))
    }
}
