//! bincode between two guards.
//!
//! bincode defines the bytes of every primitive; the guards drive it. Decoding holds to limits that bincode does not know
//! ([`MAX_DEPTH`], [`SPARE_ELEMENTS`]), encoding refuses what bincode would corrupt (fields left out) or cannot carry.
//!
//! # Limits
//!
//! * Nesting: options, newtypes, containers and enums each count one level; a stack that overflows aborts the process.
//! * Elements: all sequences and maps of a body together, so that elements without bytes cannot keep a thread busy.
//! * Allocation: strings and bytes are borrowed from the body before they are copied, and the capacity of a container is
//!   never hinted beyond the bytes that are left.

mod access;
mod decode;
mod encode;
mod input;

pub(in crate::protocol) use decode::Guard;
pub(in crate::protocol) use encode::{encode, encode_bytes, encode_length};

/// The deepest nesting of a value, both ways.
const MAX_DEPTH: usize = 128;

/// Elements that a body may hold beyond its number of bytes: room for elements that need none.
const SPARE_ELEMENTS: usize = 4_096;

/// The one configuration of bincode: little endian, variable integers.
type Config = bincode::config::Configuration;
