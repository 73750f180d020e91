//! The contract of fault strategies: what happens when a call fails.

use std::fmt::Debug;

use crate::extension::extension;

/// Goes around a call and decides what its failure means for the caller.
///
/// # Examples
///
/// ```
/// use rpc_core::fault::FaultStrategy;
///
/// #[derive(Debug)]
/// struct LetItFail;
///
/// impl FaultStrategy for LetItFail {
///     fn passes_through(&self) -> bool {
///         true
///     }
/// }
/// ```
pub trait FaultStrategy: Debug + Send + Sync + 'static {
    /// Whether this strategy adds nothing to a call, so that calls need not go through it.
    fn passes_through(&self) -> bool {
        false
    }
}

extension!(dyn FaultStrategy, "fault strategy", "rpc_fault");
