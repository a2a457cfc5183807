use std::marker::PhantomData;

use super::instrument::Instrument;
use super::reading::Labels;

/// A label, as the type of its values.
pub(crate) trait Label: Copy + std::fmt::Debug + 'static {
    const KEY: &'static str;
    const ALL: &'static [Self];

    fn name(self) -> &'static str;

    /// Returns the index in [`Self::ALL`].
    fn index(self) -> usize;
}

/// Declares a label: its key, and the name of each of its values. The type is `pub(crate)` unless
/// declared `pub`.
macro_rules! label {
    ($(#[$meta:meta])* $label:ident: $($rest:tt)+) => {
        label! { $(#[$meta])* pub(crate) $label: $($rest)+ }
    };
    (
        $(#[$meta:meta])*
        $visibility:vis $label:ident: $key:literal { $($value:ident = $name:literal,)+ }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $visibility enum $label {
            $($value,)+
        }

        impl $crate::metrics::label::Label for $label {
            const KEY: &'static str = $key;
            const ALL: &'static [Self] = &[$(Self::$value,)+];

            fn name(self) -> &'static str {
                match self {
                    $(Self::$value => $name,)+
                }
            }

            fn index(self) -> usize {
                self as usize
            }
        }
    };
}
pub(super) use label;

/// An instrument for each value of a label.
#[derive(Debug)]
pub(crate) struct By<L, T> {
    instruments: Vec<T>,
    label: PhantomData<L>,
}

impl<L: Label, T> By<L, T> {
    pub(super) fn new(instrument: impl Fn() -> T) -> Self {
        let instruments = L::ALL.iter().map(|_| instrument()).collect();
        Self { instruments, label: PhantomData }
    }

    pub(crate) fn of(&self, label: L) -> &T {
        &self.instruments[label.index()]
    }
}

impl<L: Label, T: Default> Default for By<L, T> {
    fn default() -> Self {
        Self::new(T::default)
    }
}

impl<L: Label, T: Instrument> Instrument for By<L, T> {
    type Reading = T::Reading;

    fn read(&self, labels: &Labels, readings: &mut Vec<(Labels, Self::Reading)>) {
        for &label in L::ALL {
            let mut labels = labels.clone();
            labels.push((L::KEY, label.name()));
            self.of(label).read(&labels, readings);
        }
    }
}
