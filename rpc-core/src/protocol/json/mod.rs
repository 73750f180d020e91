//! JSON between two guards, for people and scripts.
//!
//! serde_json defines the text of every number and string, and parses; what is written around them is ours, and what a type asks of
//! the parser passes through ours. For serde_json alone would overflow the stack on an option or newtype within itself, which needs no
//! byte for a level, and would write values that arrive as others.
//!
//! # Limits
//!
//! * Nesting: as in bincode's guard, options, newtypes, containers and enums each count one level, in what is ignored too. An enum
//!   around unnamed or named fields is two, as its text is. Within `untagged`, `flatten` and the like they are not counted: serde
//!   reads that again from memory.
//! * Elements: each has a byte or more, so that the frame's length bounds them. The memory that they take may be far more than that: `{}`
//!   is a whole struct of optional fields.
//! * Allocation: nothing in JSON claims a length.
//!
//! # Refused when written
//!
//! What a reader would take for another value: a float that is no number (JSON writes it as `null`), `Some` of what is `null` itself
//! (it arrives as `None`). And a map with keys that are neither text, numbers, nor booleans.

mod decode;
mod depth;
mod encode;
#[cfg(test)]
mod refusals;

pub(in crate::protocol) use decode::Text;
pub(in crate::protocol) use encode::encode;

/// The deepest nesting of a value, both ways. It is what serde_json allows of arrays and objects; with the array of the arguments a body
/// has one level more.
const MAX_DEPTH: usize = 127;
