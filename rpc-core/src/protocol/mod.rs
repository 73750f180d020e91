//! What travels between client and server; `PROTOCOL.md` says it for readers of any language.
//!
//! ```text
//!  0       4   5   6   7   8               16      20
//!  +-------+---+---+---+---+---------------+-------+- - - - -
//!  | magic | v | k | f | c |      id       |length | payload
//!  +-------+---+---+---+---+---------------+-------+- - - - -
//!   F1"RPC"  |   |   |   codec (1 bincode, 2 json)
//!            |   |   flags, by kind
//!            |   kind
//!            version (1)
//! ```
//!
//! All integers are little-endian. [`frame`] knows the header, [`hello`] and [`message`] know the payloads,
//! [`wire`] reads and writes the fields they are made of. [`codec`] turns values into bodies and back by way of [`guard`] (bincode) or [`json`],
//! and [`shape`] tells in words how a type looks in a bincode body.

pub(crate) mod codec;
pub(crate) mod frame;
mod guard;
pub(crate) mod hello;
mod json;
pub(crate) mod message;
#[cfg(test)]
mod page;
pub(crate) mod shape;
mod wire;

pub(crate) use wire::Malformed;
