//! Whether the server at the other end is alive.

use std::time::Duration;

use tokio::time::Instant;

/// Silence after which a connection with waiting calls is pinged.
const QUIET_BUSY: Duration = Duration::from_secs(1);
/// Every connection is pinged at least this often, so that the server knows that the client is alive.
const PING_EVERY: Duration = Duration::from_secs(10);
/// A pinged peer that sends nothing for this long is dead.
pub(super) const PONG_WITHIN: Duration = Duration::from_secs(1);

/// When to ping, and how long to wait for a sign of life.
pub(super) struct Liveness {
    ping_at: Instant,
    /// When a ping was sent that nothing has followed yet.
    pinged: Option<Instant>,
}

/// What is to be done about the peer.
pub(super) enum Verdict {
    /// Nothing.
    Alive,
    /// A ping is due, and taken as sent.
    WantsPing,
    /// It did not answer the ping.
    Dead,
}

impl Liveness {
    /// A connection that was just opened.
    pub(super) fn new(opened: Instant) -> Self {
        Self { ping_at: opened + PING_EVERY, pinged: None }
    }

    /// Forgets what was sent: the connection is leaving, and no ping may follow.
    pub(super) fn pause(&mut self, now: Instant) {
        *self = Self::new(now);
    }

    /// When to look again if nothing else calls for it.
    pub(super) fn next(&self) -> Instant {
        self.pinged.map_or(self.ping_at, |at| at + PONG_WITHIN)
    }

    /// Looks at when something was last read, and since when calls wait.
    pub(super) fn check(&mut self, now: Instant, last_read: Instant, busy_since: Option<Instant>) -> Verdict {
        if self.pinged.is_some_and(|at| last_read >= at) {
            self.pinged = None;
        }
        let is_quiet = busy_since.is_some_and(|since| now >= last_read.max(since) + QUIET_BUSY);
        match self.pinged {
            Some(at) if now >= at + PONG_WITHIN => Verdict::Dead,
            None if is_quiet || now >= self.ping_at => {
                self.ping_at = now + PING_EVERY;
                self.pinged = Some(now);
                Verdict::WantsPing
            }
            _ => Verdict::Alive,
        }
    }
}
