//! The way from a client to one service.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

use bytes::Bytes;
use tokio::time::Instant;

use super::attempt::rare_wait;
use super::builder::{BuildError, Shared};
use super::fallback::substitute;
use super::maker::Maker;
use super::policies::Policies;
use super::snapshot::{Publisher, Snapshot};
use crate::Codec;
use crate::arguments::Arguments;
use crate::body::Body;
use crate::context;
use crate::discovery::Directory;
use crate::error::{Code, Executed, RpcError};
use crate::fault::{Acts, Kind, Reply};
use crate::invocation::Invocation;
use crate::lock::lock;
use crate::method::{ServiceDescriptor, Signature};
use crate::options::CallOptions;
use crate::outcome::{self, Outcome};
use crate::protocol::codec::Encoder;
use crate::protocol::shape::ShapeError;
use crate::report::{CallReport, Observer};
use crate::server::Dispatch;

/// What the macro generates for consumers: a type that implements the service's trait over a [`Channel`].
pub trait Stub: Sized {
    /// The service.
    const SERVICE: &'static ServiceDescriptor;

    /// A stub over this channel.
    fn from_channel(channel: Channel) -> Self;
}

/// What a stub calls through. Cheap to clone.
#[derive(Clone)]
pub struct Channel {
    core: Arc<Core>,
    options: Arc<CallOptions>,
    /// What answers in place of the providers when a call is degraded.
    fallback: Option<Arc<dyn Dispatch>>,
}

/// One service as one client sees it: its policies and its instances.
pub(super) struct Core {
    pub(super) this: Weak<Core>,
    service: &'static ServiceDescriptor,
    pub(super) shapes: Box<[MethodShape]>,
    pub(super) shared: Arc<Shared>,
    pub(super) policies: Policies,
    pub(super) directory: Directory<Snapshot>,
}

/// A method's types as this side knows them.
#[derive(Debug, Default)]
pub(super) struct MethodShape {
    /// `None` if they are not compared.
    fingerprints: Option<(u64, u64)>,
    pub(super) arguments: String,
    pub(super) outcome: String,
}

impl Channel {
    pub(super) fn new(core: Arc<Core>, fallback: Option<Arc<dyn Dispatch>>) -> Self {
        Self { core, options: Arc::default(), fallback }
    }

    /// The same channel, with these options in place of its own.
    #[must_use]
    pub fn with(&self, options: CallOptions) -> Self {
        Self { core: Arc::clone(&self.core), options: Arc::new(options), fallback: self.fallback.clone() }
    }

    /// Calls the method with this ordinal. Dropping the future cancels the call, here and on the server.
    #[allow(
        clippy::manual_async_fn,
        reason = "the body would show in what the compiler says of a mistake in a service"
    )]
    pub fn call<S: Signature>(
        &self,
        ordinal: usize,
        arguments: S::Arguments,
    ) -> impl Future<Output = S::Outcome> + Send + use<'_, S> {
        async move {
            let invocation = match self.encode(ordinal, &arguments) {
                Ok((body, key)) => self.invocation(ordinal, body, key),
                Err(error) => return S::Outcome::failed(error),
            };
            drop(arguments);
            let (codec, answer) = match self.reply(&invocation).await {
                Ok(Reply(Kind::Answered { codec, answer })) => (codec, answer),
                Ok(Reply(Kind::Degraded(error))) => {
                    return S::DEFAULT.map_or_else(|| S::Outcome::failed(error), |make| make());
                }
                Err(error) => return S::Outcome::failed(error),
            };
            S::Outcome::decode(codec, &answer).unwrap_or_else(|error| {
                S::Outcome::failed(outcome::undecodable(error, invocation.service(), invocation.method().name()))
            })
        }
    }

    /// What the call comes to; the fallback's answer if it is degraded and there is one.
    async fn reply(&self, call: &Invocation) -> Result<Reply, RpcError> {
        let reply = self.core.execute(call).await?;
        match (&reply, &self.fallback) {
            (Reply(Kind::Degraded(_)), Some(fallback)) => substitute(&**fallback, call).await,
            _ => Ok(reply),
        }
    }

    /// The encoded arguments, and the hash key if the method's balancer wants one.
    fn encode<A: Arguments>(&self, ordinal: usize, arguments: &A) -> Result<(Body, Option<Bytes>), RpcError> {
        let failed = |error| {
            let message = format!("`{}`: the arguments cannot be encoded", self.core.name(ordinal));
            RpcError::with_code(Code::Codec, Executed::No, message).with_source(error)
        };
        let mut encoder = Encoder::new(self.core.shared.config.codec);
        arguments.encode(&mut encoder).map_err(failed)?;
        let no_arguments = encoder.values() == 0;
        let mut body = encoder.finish();
        if !self.core.policies.of(ordinal).uses_key {
            return Ok((body, None));
        }
        let key = match (&self.options.hash_key, self.core.service.methods()[ordinal].hash_argument()) {
            (Some(key), _) => Some(key.clone()),
            (None, Some(position)) => arguments.hash_key(position).map_err(failed)?,
            (None, None) if no_arguments => None,
            (None, None) => {
                // In one piece, which is both.
                let whole = body.into_bytes();
                body = whole.clone().into();
                (!whole.is_empty()).then_some(whole)
            }
        };
        Ok((body, key))
    }

    fn invocation(&self, ordinal: usize, body: Body, key: Option<Bytes>) -> Invocation {
        let timeout = self.options.timeout.unwrap_or(self.core.policies.of(ordinal).timeout);
        let mut call = Invocation {
            codec: self.core.shared.config.codec,
            body,
            key,
            metadata: self.options.metadata.clone(),
            own_metadata: self.options.metadata.len(),
            observer: self.options.observer.clone(),
            observed: self.options.observer.is_some() || self.core.shared.observer.is_some(),
            ..Invocation::new(self.core.service, ordinal, timeout)
        };
        if let Some((deadline, metadata)) = context::inherited() {
            call.deadline = call.deadline.min(deadline);
            call.metadata.inherit(metadata);
        }
        call
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel").field("service", &self.core.service.name()).finish_non_exhaustive()
    }
}

impl Core {
    pub(super) fn new(service: &'static ServiceDescriptor, shared: Arc<Shared>) -> Result<Arc<Self>, BuildError> {
        let shapes = (0..service.methods().len()).map(|ordinal| match shared.config.codec {
            Codec::Bincode => MethodShape::new(service, ordinal),
            // It names what it holds, so that types may differ, and be such as bincode cannot carry.
            Codec::Json => Ok(MethodShape::default()),
        });
        let shapes = shapes.collect::<Result<_, _>>()?;
        let policies = Policies::new(service, &shared.config)?;
        let publisher = Publisher { balancers: policies.balancers(), shared: Arc::clone(&shared) };
        let directory = Directory::new(service.name(), Arc::clone(&shared.discovery), Arc::new(publisher));
        Ok(Arc::new_cyclic(|this| Self { this: this.clone(), service, shapes, shared, policies, directory }))
    }

    /// Whether degraded calls can be answered: by the fallback, or because every result has a default.
    pub(super) fn check_degradable(&self, fallback: Option<&dyn Dispatch>) -> Result<(), BuildError> {
        let service = self.service.name();
        match fallback {
            Some(given) if given.service().name() != service => {
                Err(BuildError::Fallback { service, given: given.service().name() })
            }
            None => {
                let may_degrade = |ordinal| self.policies.of(ordinal).fault.may_degrade();
                let methods = self.service.methods().iter().enumerate();
                let lacking = methods.filter(|(ordinal, method)| !method.has_default() && may_degrade(*ordinal));
                let lacking: Vec<_> = lacking.map(|(_, method)| method.name()).collect();
                if lacking.is_empty() { Ok(()) } else { Err(BuildError::NoDefault { service, methods: lacking }) }
            }
            Some(_) => Ok(()),
        }
    }

    pub(super) fn service(&self) -> &'static ServiceDescriptor {
        self.service
    }

    /// `service.method`, for messages.
    pub(super) fn name(&self, ordinal: usize) -> String {
        format!("{}.{}", self.service.name(), self.service.methods()[ordinal].name())
    }

    async fn execute(&self, call: &Invocation) -> Result<Reply, RpcError> {
        let policy = self.policies.of(call.ordinal);
        let result = match (self.refuse(call), policy.acts) {
            (Some(error), _) => Err(error),
            (None, Acts::Always) => self.carry_out(&*policy.fault, call).await,
            (None, acts) => match self.run_once(call, None, Maker::Channel).await {
                Err(error) if acts == Acts::OnFailure => self.recover(&*policy.fault, call, error).await,
                result => result,
            },
        };
        if call.observed {
            self.report(call, &result);
        }
        result
    }

    /// What no instance needs to be asked for.
    fn refuse(&self, call: &Invocation) -> Option<RpcError> {
        let (length, limit) = (call.body.len(), self.shared.config.max_frame_bytes as usize);
        if length > limit {
            let message = format!(
                "`{}`: the arguments have {length} bytes, this client sends at most {limit} in a frame",
                self.name(call.ordinal)
            );
            return Some(RpcError::with_code(Code::TooLarge, Executed::No, message));
        }
        let misfit = call.metadata.misfit()?;
        let message = format!("`{}`: {misfit}", self.name(call.ordinal));
        Some(RpcError::with_code(Code::BadRequest, Executed::No, message))
    }

    fn report(&self, call: &Invocation, result: &Result<Reply, RpcError>) {
        let error = match result {
            Ok(Reply(Kind::Answered { .. })) => None,
            Ok(Reply(Kind::Degraded(error))) | Err(error) => Some(error),
        };
        let report = CallReport {
            service: call.service(),
            method: call.method().name(),
            elapsed: call.started.elapsed(),
            steps: std::mem::take(&mut lock(&call.progress).steps),
            error: error.map(RpcError::code),
            degraded: matches!(result, Ok(Reply(Kind::Degraded(_)))),
            executed: error.map_or(Executed::Yes, RpcError::executed),
        };
        for Observer(observe) in [&self.shared.observer, &call.observer].into_iter().flatten() {
            // The caller's answer is not lost with it.
            if catch_unwind(AssertUnwindSafe(|| observe(&report))).is_err() {
                tracing::error!(service = report.service, method = report.method, "an observer panicked");
            }
        }
    }

    /// Waits until the service's instances are known. The first call has them looked up, and those that come meanwhile wait for it.
    pub(super) async fn wait_for_list(&self, call: &Invocation) -> Result<(), RpcError> {
        match rare_wait(call.deadline, self.first_list()).await {
            Ok(listed) => listed,
            Err(_) => Err(self.late(call, call.deadline, Executed::No, "while the registry was asked")),
        }
    }

    /// Has the service's instances looked up, if they never were. Cancel safe.
    pub(super) async fn first_list(&self) -> Result<(), RpcError> {
        self.directory.first(self.shared.refresh).await.map_err(|source| {
            let (service, registry) = (self.service.name(), &self.shared.registry);
            let message = format!("service `{service}` cannot be looked up in registry `{registry}`");
            RpcError::with_code(Code::Unavailable, Executed::No, message).with_source(source)
        })
    }

    /// The error of a call that a deadline ended: its own, or that of an attempt.
    pub(super) fn late(&self, call: &Invocation, deadline: Instant, executed: Executed, when: &str) -> RpcError {
        let name = self.name(call.ordinal);
        let message = if deadline < call.deadline {
            format!("`{name}`: the time for one attempt passed {when}")
        } else {
            format!("`{name}`: {:?} passed {when}", call.deadline - call.started)
        };
        RpcError::with_code(Code::DeadlineExceeded, executed, message)
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core")
            .field("service", &self.service.name())
            .field("directory", &self.directory)
            .finish_non_exhaustive()
    }
}

impl MethodShape {
    fn new(service: &'static ServiceDescriptor, ordinal: usize) -> Result<Self, BuildError> {
        let method = &service.methods()[ordinal];
        let refused = |part| {
            let (service, method) = (service.name(), method.name());
            move |source: ShapeError| BuildError::Type { service, method, part, source: source.into() }
        };
        let arguments = method.arguments_shape().map_err(refused("arguments"))?;
        let outcome = method.outcome_shape().map_err(refused("result"))?;
        let fingerprints = Some((arguments.fingerprint(), outcome.fingerprint()));
        Ok(Self { fingerprints, arguments: arguments.text, outcome: outcome.text })
    }

    /// Whether a server whose types have these fingerprints may be called.
    pub(super) fn fits(&self, theirs: (u64, u64)) -> bool {
        self.fingerprints.is_none_or(|ours| ours == theirs)
    }
}
