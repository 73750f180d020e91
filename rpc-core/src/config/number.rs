//! Numbers, with what is allowed said in words.

use std::fmt;
use std::time::Duration;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::options::LONGEST_TIMEOUT;

/// What a time is given as.
pub(super) const MILLIS: &str = "a number of milliseconds, 1 or more";

/// A time that is written in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Millis(pub(crate) Duration);

impl Millis {
    /// In whole milliseconds; longer times than count are the longest that does.
    pub(super) fn rounded_up(self) -> Self {
        Self(Duration::from_millis(self.whole()))
    }

    fn whole(self) -> u64 {
        let nanos = self.0.min(LONGEST_TIMEOUT).as_nanos();
        u64::try_from(nanos.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }

    /// As written.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let millis = text.parse().ok().filter(|millis| *millis > 0)?;
        Some(Self(Duration::from_millis(millis)))
    }
}

impl Serialize for Millis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.whole())
    }
}

impl<'de> Deserialize<'de> for Millis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let millis = deserializer.deserialize_u64(Number { least: 1, most: u64::MAX, what: MILLIS })?;
        Ok(Self(Duration::from_millis(millis)))
    }
}

/// A number among the settings of a plugin, within bounds. Any other is refused with the bounds, as in `expected a number from 0 to 10`.
///
/// # Examples
///
/// ```
/// use rpc_core::{Bounded, Settings};
///
/// #[derive(serde::Deserialize)]
/// #[serde(deny_unknown_fields)]
/// struct Config {
///     retries: Bounded<0, 10>,
/// }
///
/// let settings = Settings::from_table(&std::collections::HashMap::from([("retries", 3)]))?;
/// assert_eq!(settings.parse::<Config>()?.retries.get(), 3);
/// # Ok::<(), rpc_core::BoxError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Bounded<const LEAST: u64, const MOST: u64 = { u64::MAX }>(u64);

impl<const LEAST: u64, const MOST: u64> Bounded<LEAST, MOST> {
    /// This number, such as a default.
    ///
    /// # Panics
    ///
    /// When it is out of bounds.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        assert!(LEAST <= number && number <= MOST, "the number is out of bounds");
        Self(number)
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl<'de, const LEAST: u64, const MOST: u64> Deserialize<'de> for Bounded<LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let what = match MOST {
            u64::MAX => format!("a number, {LEAST} or more"),
            _ => format!("a number from {LEAST} to {MOST}"),
        };
        deserializer.deserialize_u64(Number { least: LEAST, most: MOST, what: &what }).map(Self)
    }
}

/// A number of which there must be one at least.
pub(super) fn positive<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    number(deserializer, 1, "a number from 1 to 4294967295")
}

/// A number.
pub(super) fn any<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    number(deserializer, 0, "a number from 0 to 4294967295")
}

fn number<'de, D: Deserializer<'de>>(deserializer: D, least: u64, what: &str) -> Result<u32, D::Error> {
    let number = deserializer.deserialize_u64(Number { least, most: u32::MAX.into(), what })?;
    u32::try_from(number).map_err(D::Error::custom)
}

/// Takes a number within bounds.
struct Number<'a> {
    least: u64,
    most: u64,
    what: &'a str,
}

impl Visitor<'_> for Number<'_> {
    type Value = u64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<u64, E> {
        if (self.least..=self.most).contains(&number) {
            Ok(number)
        } else {
            Err(E::invalid_value(Unexpected::Unsigned(number), &self))
        }
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<u64, E> {
        match u64::try_from(number) {
            Ok(number) => self.visit_u64(number),
            Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
        }
    }
}
