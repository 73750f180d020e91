//! What crosses the wire.

pub mod codec;
mod guard;
pub mod shape;
