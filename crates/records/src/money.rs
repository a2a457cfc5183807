use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// An amount of money in millionths of a US dollar, never negative.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct MicroDollars(u64);

/// The reason why a value is not an amount of money.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be {0}")]
pub struct MoneyError(&'static str);

const DECIMAL_RULE: &str =
    "a decimal number of US dollars from 0 to 1000000 with at most 6 digits after the point";
const MICROS_RULE: &str = "a whole number of micro-dollars from 0 to 1000000000000";

impl MicroDollars {
    /// The largest cost of one call: a million dollars. The sum of nine million such calls fits into
    /// 63 bits.
    pub const MAX: Self = Self(1_000_000_000_000);

    /// Checks a number of micro-dollars.
    pub fn new(micros: u64) -> Result<Self, MoneyError> {
        let amount = Self(micros);
        if amount <= Self::MAX { Ok(amount) } else { Err(MoneyError(MICROS_RULE)) }
    }

    /// Creates an amount from a sum, to which the limit for one call does not apply.
    #[must_use]
    pub fn from_sum(micros: u64) -> Self {
        Self(micros)
    }

    /// Returns the number of micro-dollars.
    #[must_use]
    pub fn micros(self) -> u64 {
        self.0
    }
}

impl FromStr for MicroDollars {
    type Err = MoneyError;

    /// Parses dollars, such as `0.001234`.
    ///
    /// A seventh digit after the point is refused, even a zero: a caller who counts in smaller units must
    /// notice that at once, not from a wrong sum.
    fn from_str(text: &str) -> Result<Self, MoneyError> {
        let (dollars, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |digits: &str, max_digits: usize| {
            (1..=max_digits).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit())
        };
        if !is_number(dollars, 7) || !is_number(decimals, 6) {
            return Err(MoneyError(DECIMAL_RULE));
        }
        let micros = format!("{dollars}{decimals:0<6}").parse().ok();
        let amount = micros.and_then(|micros| Self::new(micros).ok());
        amount.ok_or(MoneyError(DECIMAL_RULE))
    }
}

impl fmt::Display for MicroDollars {
    /// Writes dollars with six digits after the point, such as `0.001234`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dollars_are_parsed_exactly() {
        let micros = |text: &str| text.parse().map(MicroDollars::micros);
        for (text, expected) in
            [("0", 0), ("0.001234", 1_234), ("12.5", 12_500_000), ("1000000", 1_000_000_000_000)]
        {
            assert_eq!(micros(text), Ok(expected), "{text}");
        }
        let bad =
            ["", ".", "1.", ".5", "-1", "+1", "1e3", "1,5", "0.0000001", "1000000.000001", " 1"];
        for text in bad {
            assert!(micros(text).is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn a_written_amount_parses_to_itself(micros in 0..=MicroDollars::MAX.micros()) {
            let amount = MicroDollars::new(micros).unwrap();
            prop_assert_eq!(amount.to_string().parse(), Ok(amount));
        }
    }
}
