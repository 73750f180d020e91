//! The signals that ask a process to end.

use std::io;

/// SIGTERM and SIGINT, elsewhere than on Unix Ctrl-C: once this is made they end the process no longer, but wait here until they are looked
/// for. Made before the server is started, it lets none come at a bad time.
///
/// They do not get back their old effect when this is dropped.
#[derive(Debug)]
pub struct Signals {
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(windows)]
    interrupt: tokio::signal::windows::CtrlC,
}

#[cfg(unix)]
impl Signals {
    /// Takes the signals over, for the whole process.
    ///
    /// # Errors
    ///
    /// When the system refuses it.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub fn new() -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next one. Cancel safe.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(windows)]
impl Signals {
    /// Takes the signals over, for the whole process.
    ///
    /// # Errors
    ///
    /// When the system refuses it.
    ///
    /// # Panics
    ///
    /// Outside of a Tokio runtime.
    pub fn new() -> io::Result<Self> {
        Ok(Self { interrupt: tokio::signal::windows::ctrl_c()? })
    }

    /// Waits for the next one. Cancel safe.
    pub async fn next(&mut self) {
        self.interrupt.recv().await;
    }
}
