//! From an endpoint to a connection, and from a method to its number there.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use tokio::sync::OnceCell;
use tokio::time::Instant;
use xxhash_rust::xxh3::xxh3_64;

use super::channel::MethodShape;
use super::pool::{ConnectError, Peer};
use crate::ServiceInstance;
use crate::error::{Code, Executed, RpcError};
use crate::method::ServiceDescriptor;
use crate::protocol::message::Description;
use crate::protocol::shape;
use crate::report::Step;
use crate::transport::connection::Connection;
use crate::transport::outgoing::{Outgoing, Refusal};
use crate::transport::pending::Settled;

/// How long a server may take to describe a method. Not the deadline of the call that asks first: others wait for the same answer.
const DESCRIBE_WITHIN: Duration = Duration::from_millis(500);
/// What is kept of a difference, in bytes: every call that meets it repeats it, and a hostile server describes types of megabytes.
const LONGEST_DIFFERENCE: usize = 4_096;

/// An endpoint's way to its connection.
#[derive(Debug)]
pub(super) struct Link {
    target: Arc<Target>,
    peer: Arc<Peer>,
    route: ArcSwapOption<Route>,
}

/// Which instance a link leads to.
#[derive(Debug)]
pub(super) struct Target {
    /// What tells the instance from all others, for calls that keep in mind where they have been: a hash of its id and its address, which it has
    /// again when it leaves the list and comes back.
    pub(super) link: u64,
    /// The instance's id.
    pub(super) instance: String,
}

/// A connection, and where a service's methods are on it.
#[derive(Debug)]
pub(super) struct Route {
    target: Arc<Target>,
    pub(super) connection: Arc<Connection>,
    methods: Box<[Place]>,
}

/// How a call gets to an instance.
#[derive(Debug)]
pub(super) enum Way {
    /// Over a connection that is open.
    Over(Arc<Route>),
    /// It has to connect first.
    Connect(Arc<Link>),
}

/// Where a method is in a server's table.
#[derive(Debug)]
enum Place {
    At(u32),
    NoService,
    NoMethod,
    /// It is there, but with other types; what differs is asked for once.
    OtherTypes {
        number: u32,
        difference: OnceCell<String>,
    },
}

/// Why an instance is passed over: it cannot have seen the request.
#[derive(Debug, Clone)]
pub(super) struct Cause {
    pub(super) code: Code,
    pub(super) text: String,
}

impl Cause {
    fn new(code: Code, text: impl ToString) -> Self {
        Self { code, text: text.to_string() }
    }
}

impl From<ConnectError> for Cause {
    fn from(error: ConnectError) -> Self {
        Self::new(Code::Unavailable, error)
    }
}

impl From<Refusal> for Cause {
    fn from(refusal: Refusal) -> Self {
        let code = match refusal {
            Refusal::Full(_) => Code::Overloaded,
            Refusal::TooLarge { .. } => Code::TooLarge,
            Refusal::NoRoom | Refusal::Leaving | Refusal::Lost => Code::Unavailable,
        };
        Self::new(code, refusal)
    }
}

impl Link {
    pub(super) fn new(instance: &ServiceInstance, peer: Arc<Peer>) -> Self {
        let ServiceInstance { id, address, .. } = instance;
        let link = xxh3_64(format!("{}:{id}:{address}", id.len()).as_bytes());
        let target = Target { link, instance: id.clone() };
        Self { target: Arc::new(target), peer, route: ArcSwapOption::empty() }
    }

    pub(super) fn target(&self) -> &Target {
        &self.target
    }

    /// The way that a call of this method may take here now, if it may.
    pub(super) fn way(self: &Arc<Self>, ordinal: usize) -> Option<Way> {
        match self.open_route() {
            Some(route) => {
                let admits = route.methods[ordinal].may_fit() && route.connection.admits().is_ok();
                admits.then_some(Way::Over(route))
            }
            // None yet, leaving or lost: whether a new connection is worth a try is the peer's to say.
            None => self.peer.failing().is_none().then(|| Way::Connect(Arc::clone(self))),
        }
    }

    /// Why a call of this method may not be sent here now.
    pub(super) fn objection(&self, ordinal: usize) -> Option<Cause> {
        match self.open_route() {
            Some(route) => {
                route.methods[ordinal].objection().or_else(|| route.connection.admits().err().map(Cause::from))
            }
            None => self.peer.failing().map(Cause::from),
        }
    }

    /// Whether there is a connection that has not ended.
    pub(super) fn is_open(&self) -> bool {
        self.open_route().is_some()
    }

    /// The route over the open connection, if there is one.
    pub(super) fn open_route(&self) -> Option<Arc<Route>> {
        self.route.load_full().filter(|route| !route.connection.is_spent())
    }

    /// Connects, if need be. Cancel safe.
    pub(super) async fn connect(
        &self,
        service: &ServiceDescriptor,
        shapes: &[MethodShape],
    ) -> Result<Arc<Route>, Cause> {
        let connection = self.peer.connection().await?;
        if let Some(route) = self.open_route()
            && Arc::ptr_eq(&route.connection, &connection)
        {
            return Ok(route);
        }
        let route = Arc::new(Route::new(Arc::clone(&self.target), connection, service, shapes));
        self.route.store(Some(Arc::clone(&route)));
        Ok(route)
    }
}

/// The steps of a report.
impl Target {
    pub(super) fn answered(&self, run: u32) -> Step {
        Step { run, instance: self.instance.clone(), executed: Executed::Yes, code: None, error: None }
    }

    pub(super) fn failed(&self, run: u32, error: &RpcError) -> Step {
        let (executed, code) = (error.executed(), Some(error.code()));
        Step { executed, code, error: Some(error.to_string()), ..self.answered(run) }
    }

    pub(super) fn passed_over(&self, run: u32, cause: Cause) -> Step {
        let Cause { code, text } = cause;
        Step { executed: Executed::No, code: Some(code), error: Some(text), ..self.answered(run) }
    }
}

impl Way {
    pub(super) fn target(&self) -> &Target {
        match self {
            Self::Over(route) => &route.target,
            Self::Connect(link) => &link.target,
        }
    }
}

impl Route {
    fn new(
        target: Arc<Target>,
        connection: Arc<Connection>,
        service: &ServiceDescriptor,
        shapes: &[MethodShape],
    ) -> Self {
        let table = connection.welcome().methods.iter().zip(0..);
        let offered: HashMap<_, _> = table
            .filter(|(entry, _)| entry.service == service.name())
            .map(|(entry, number)| (entry.method.as_str(), (entry, number)))
            .collect();
        let place = |(method, ours): (&crate::Method, &MethodShape)| match offered.get(method.name()) {
            None if offered.is_empty() => Place::NoService,
            None => Place::NoMethod,
            Some((theirs, number)) if ours.fits((theirs.arguments, theirs.outcome)) => Place::At(*number),
            Some((_, number)) => Place::OtherTypes { number: *number, difference: OnceCell::new() },
        };
        let methods = service.methods().iter().zip(shapes).map(place).collect();
        Self { target, connection, methods }
    }

    /// The number of a method in the server's table, if a request can name it.
    pub(super) fn number(&self, ordinal: usize) -> Option<u32> {
        match &self.methods[ordinal] {
            Place::At(number) => Some(*number),
            Place::NoService | Place::NoMethod | Place::OtherTypes { .. } => None,
        }
    }

    /// Why a method has no [`number`](Self::number). Asks the server what differs, if types do. Cancel safe.
    pub(super) async fn why_not(&self, ordinal: usize, ours: &MethodShape) -> Cause {
        let place = &self.methods[ordinal];
        if let Place::OtherTypes { number, difference } = place
            && let Err(refusal) = difference.get_or_try_init(|| self.ask_for_difference(*number, ours)).await
        {
            return refusal.into();
        }
        place.objection().unwrap_or_else(|| Cause::new(Code::SchemaMismatch, "its types differ"))
    }

    /// In words what differs, or why that is not known; an error if the question could not be asked.
    async fn ask_for_difference(&self, method: u32, ours: &MethodShape) -> Result<String, Refusal> {
        let question = self.connection.call(Outgoing::Describe { method }, Instant::now() + DESCRIBE_WITHIN);
        let why = match question.await? {
            Settled::Description(Ok(theirs)) => return Ok(difference(ours, &theirs)),
            Settled::Description(Err(status)) => status.message().to_owned(),
            Settled::Response(..) => "the server answered with something else".to_owned(),
            Settled::Expired => format!("no answer within {DESCRIBE_WITHIN:?}"),
            Settled::Lost(_) => "the connection ended".to_owned(),
        };
        Ok(format!("what differs could not be learned ({why})"))
    }
}

fn difference(ours: &MethodShape, theirs: &Description) -> String {
    let parts = [("arguments", &ours.arguments, &theirs.arguments), ("result", &ours.outcome, &theirs.outcome)];
    let differing = parts.into_iter().filter(|(_, ours, theirs)| ours != theirs);
    let told: Vec<_> =
        differing.map(|(part, ours, theirs)| format!("{part}: {}", shape::difference(ours, theirs))).collect();
    if told.is_empty() {
        return "the fingerprints only, the server describes the same types".to_owned();
    }
    let mut text = told.join("; ");
    text.truncate(text.floor_char_boundary(LONGEST_DIFFERENCE));
    text
}

impl Place {
    /// Whether a call may be tried: what differs is asked for by the first call that comes here.
    fn may_fit(&self) -> bool {
        match self {
            Self::At(_) => true,
            Self::NoService | Self::NoMethod => false,
            Self::OtherTypes { difference, .. } => difference.get().is_none(),
        }
    }

    fn objection(&self) -> Option<Cause> {
        match self {
            Self::At(_) => None,
            Self::NoService => Some(Cause::new(Code::ServiceNotFound, "it does not have the service")),
            Self::NoMethod => Some(Cause::new(Code::MethodNotFound, "it does not have the method")),
            Self::OtherTypes { difference, .. } => {
                let difference = difference.get()?;
                Some(Cause::new(Code::SchemaMismatch, format!("its types differ: {difference}")))
            }
        }
    }
}
