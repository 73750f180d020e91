//! Whether the server at the other end is alive.

use std::time::Duration;

use tokio::time::Instant;

use super::TICK;

/// Silence after which a connection with waiting calls is pinged.
const QUIET_BUSY: Duration = Duration::from_secs(1);
/// Every connection is pinged at least this often, so that the server knows that the client is alive.
const PING_EVERY: Duration = Duration::from_secs(10);
/// A pinged peer that gives no sign for this long is dead.
pub(super) const PONG_WITHIN: Duration = Duration::from_secs(1);

/// When to ping, and how long to wait for the pong. That time begins when the ping is out: a large request may be on its way before it, longer
/// than any patience, and a peer that goes on taking bytes is alive.
#[derive(Debug)]
pub(super) struct Liveness {
    ping_at: Instant,
    /// A ping that nothing was read after yet.
    pinged: Option<Pinged>,
    /// Since when calls have been waiting.
    busy_since: Option<Instant>,
    last_read: Instant,
    checked: Instant,
}

#[derive(Debug)]
struct Pinged {
    at: Instant,
    /// Where the ping ends in the output, and what of the output was accepted when last seen.
    end: u64,
    accepted: u64,
    /// When the output was last seen to move, or the ping to be out.
    moved: Instant,
}

/// What is to be done about the peer.
#[derive(Debug)]
pub(super) enum Verdict {
    /// Nothing.
    Alive,
    /// A ping is due.
    WantsPing,
    /// It did not answer the ping.
    Dead,
}

impl Liveness {
    /// A connection that was just opened, or is to be looked at as if it were.
    pub(super) fn new(now: Instant) -> Self {
        Self { ping_at: now + PING_EVERY, pinged: None, busy_since: None, last_read: now, checked: now }
    }

    /// When to look again; at `earliest` if that is sooner.
    pub(super) fn next(&self, earliest: Option<Instant>) -> Instant {
        let quiet_at = self.busy_since.map(|since| self.last_read.max(since) + QUIET_BUSY);
        let next = match &self.pinged {
            Some(ping) if ping.accepted < ping.end => self.checked + TICK,
            Some(ping) => ping.moved + PONG_WITHIN,
            None => quiet_at.map_or(self.ping_at, |at| at.min(self.ping_at)),
        };
        earliest.map_or(next, |earliest| earliest.min(next))
    }

    /// Notes that a ping was queued that ends there in the output.
    pub(super) fn pinged(&mut self, now: Instant, end: u64) {
        self.ping_at = now + PING_EVERY;
        self.pinged = Some(Pinged { at: now, end, accepted: 0, moved: now });
    }

    /// Looks at when something was last read, at how much of the output was accepted, and at whether calls wait.
    pub(super) fn check(&mut self, now: Instant, last_read: Instant, accepted: u64, is_busy: bool) -> Verdict {
        (self.checked, self.last_read) = (now, last_read);
        self.busy_since = if is_busy { self.busy_since.or(Some(now)) } else { None };
        self.pinged.take_if(|ping| last_read >= ping.at);
        let is_quiet = self.busy_since.is_some_and(|since| now >= last_read.max(since) + QUIET_BUSY);
        match &mut self.pinged {
            Some(ping) => {
                if accepted > ping.accepted && ping.accepted < ping.end {
                    (ping.accepted, ping.moved) = (accepted, now);
                }
                if now >= ping.moved + PONG_WITHIN { Verdict::Dead } else { Verdict::Alive }
            }
            None if is_quiet || now >= self.ping_at => Verdict::WantsPing,
            None => Verdict::Alive,
        }
    }
}
