//! What is asked of a stack: the size of the payload, and how many calls at a time.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context as _, bail, ensure};
use serde::{Deserialize, Serialize};

use crate::payload::SMALLEST;

const KIB: usize = 1_024;

/// A cell of the report, written as `64 KiB 512x4`: payloads of 64 KiB, 512 calls in flight, made by 4 clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Cell {
    /// The bytes of a payload.
    pub(crate) size: usize,
    /// Calls in flight, of all clients together.
    pub(crate) in_flight: usize,
    /// Clients, each with a connection of its own.
    pub(crate) clients: usize,
}

impl Cell {
    /// All cells of a report.
    pub(crate) const ALL: [Self; 9] = [
        Self::new(16, 1, 1),
        Self::new(16, 64, 1),
        Self::new(16, 512, 4),
        Self::new(KIB, 1, 1),
        Self::new(KIB, 64, 1),
        Self::new(KIB, 512, 4),
        Self::new(64 * KIB, 1, 1),
        Self::new(64 * KIB, 64, 1),
        Self::new(64 * KIB, 512, 4),
    ];

    /// Those of a quick run.
    pub(crate) const QUICK: [Self; 3] = [Self::new(16, 1, 1), Self::SMALL, Self::new(64 * KIB, 64, 1)];

    /// Small calls, many at a time, on one connection.
    pub(crate) const SMALL: Self = Self::new(16, 64, 1);

    const fn new(size: usize, in_flight: usize, clients: usize) -> Self {
        Self { size, in_flight, clients }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (size, unit) = if self.size.is_multiple_of(KIB) { (self.size / KIB, "KiB") } else { (self.size, "B") };
        write!(f, "{size} {unit} {}x{}", self.in_flight, self.clients)
    }
}

impl FromStr for Cell {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let wrong = || format!("`{text}` is no cell; write payload, calls in flight and clients, as in `64 KiB 512x4`");
        let [size, unit, shape] = text.split(' ').collect::<Vec<_>>()[..] else { bail!(wrong()) };
        let unit = match unit {
            "B" => 1,
            "KiB" => KIB,
            _ => bail!(wrong()),
        };
        let (in_flight, clients) = shape.split_once('x').with_context(wrong)?;
        let number = |text: &str| text.parse::<usize>().with_context(wrong);
        let size = number(size)?.checked_mul(unit).with_context(wrong)?;
        let cell = Self { size, in_flight: number(in_flight)?, clients: number(clients)? };
        ensure!(cell.size >= SMALLEST, "`{text}` has a payload below {SMALLEST} bytes, which could not be checked");
        ensure!(cell.clients > 0, "`{text}` has no client; give it one or more");
        ensure!(
            cell.in_flight >= cell.clients && cell.in_flight.is_multiple_of(cell.clients),
            "`{text}` does not give each client the same number of calls; write a multiple of the clients"
        );
        Ok(cell)
    }
}

impl TryFrom<String> for Cell {
    type Error = anyhow::Error;

    fn try_from(text: String) -> anyhow::Result<Self> {
        text.parse()
    }
}

impl From<Cell> for String {
    fn from(cell: Cell) -> Self {
        cell.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_read_as_it_is_written() {
        for cell in Cell::ALL {
            assert_eq!(cell.to_string().parse::<Cell>().unwrap(), cell);
        }
        assert_eq!(Cell::ALL[8].to_string(), "64 KiB 512x4");
    }

    #[test]
    fn what_cannot_be_measured_is_no_cell() {
        for text in ["", "16 B", "16 B 1", "16 MiB 1x1", "x B 1x1", "8 B 1x1", "16 B 0x0", "16 B 1x2", "16 B 3x2"] {
            text.parse::<Cell>().unwrap_err();
        }
    }
}
