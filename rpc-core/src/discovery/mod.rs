//! The heart of discovery: a local cache of each service's instances, kept fresh by events and on a period.
//!
//! ```text
//!  registry --watch: a list after each change--> follow --equal? nothing--> Directory <--wait-free read-- calls
//!           <-lookup: at first, every 30 s ----         --new? publish --->           --Change--> subscribers
//! ```
//!
//! A call never waits for the registry once the first list is there. If the registry fails, the last list stays in use and
//! its age can be asked for.

mod change;
mod directory;
mod follow;

pub use change::{Change, Changes, Instances, Source};
pub(crate) use directory::{Directory, Publish};
pub(crate) use follow::Refresh;
