//! What is called, how, and how often.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::ensure;
use clap::{Args, ValueEnum, value_parser};
use rpc::{Client, Config};

/// How long a nap takes unless told otherwise, in milliseconds.
const NAP_MS: u64 = 100;
/// Calls under way at a time, at most.
const MAX_UNDER_WAY: u32 = 10_000;

/// The arguments of `call`. What concerns the client wins over the configuration, for all services and methods.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The configuration [default: the file that RPC_CONFIG names, if it does]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Where the providers are found [default: `file:`, a directory of yours on this machine]
    #[arg(long, value_name = "URL")]
    registry: Option<String>,
    /// The load balancer
    #[arg(long, value_name = "KEY")]
    load_balancer: Option<String>,
    /// The fault strategy
    #[arg(long, value_name = "KEY")]
    fault: Option<String>,
    /// The setting `retries` of the fault strategy
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    retries: Option<u32>,
    /// How long a call may take, all attempts together
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    timeout_ms: Option<u64>,

    /// What is called
    #[arg(long, value_enum, default_value_t = Method::Whoami)]
    pub(super) method: Method,
    /// How long each nap takes; for the method `nap` [default: 100]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    nap_ms: Option<u64>,
    /// The hash key of every call
    #[arg(long, value_name = "K", conflicts_with = "keys")]
    key: Option<String>,
    /// Hash keys for the calls in turn: key-0, key-1, and so on, this many
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(u64).range(1..))]
    keys: Option<u64>,

    /// How many calls are made
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 1, value_parser = value_parser!(u64).range(1..))]
    pub(super) requests: u64,
    /// How long calls are made, instead of how many
    #[arg(long, value_name = "N", allow_negative_numbers = true, conflicts_with = "requests", value_parser = value_parser!(u64).range(1..=86_400))]
    pub(super) duration_s: Option<u64>,
    /// How many calls are under way at a time [default: 1]; with `--rate`, how many at most [default: 10000]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = value_parser!(u32).range(1..=i64::from(MAX_UNDER_WAY)))]
    concurrency: Option<u32>,
    /// How many calls are begun in a second, whatever becomes of those before
    #[arg(long, value_name = "PER_S", allow_negative_numbers = true, value_parser = value_parser!(u32).range(1..=1_000_000))]
    pub(super) rate: Option<u32>,

    /// Sums up in one line of JSON
    #[arg(long)]
    pub(super) json: bool,
}

/// A method of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Method {
    /// The id of the instance that answers
    Whoami,
    /// The users that providers begin with, in turn
    GetUser,
    /// The users user-1, user-2, and so on
    CreateUser,
    /// A pause at the provider
    Nap,
}

impl Arguments {
    /// The client that makes the calls.
    pub(super) fn client(&self) -> anyhow::Result<Client> {
        ensure!(self.nap_ms.is_none() || self.method == Method::Nap, "`--nap-ms` is for `--method nap`");
        let mut config = Config::load(self.config.as_deref())?;
        if let Some(url) = &self.registry {
            config.set_registry(url.as_str());
        } else if config.registry().is_none() {
            config.set_registry("file:");
        }
        if let Some(key) = &self.load_balancer {
            config.set_load_balancer(key.as_str());
        }
        if let Some(key) = &self.fault {
            config.set_fault(key.as_str());
        }
        if let Some(retries) = self.retries {
            config.set_fault(config.fault().clone().with("retries", retries));
        }
        if let Some(timeout) = self.timeout_ms {
            config.set_timeout(Duration::from_millis(timeout));
        }
        Ok(config.client().build()?)
    }

    /// How long each nap takes, in milliseconds.
    pub(super) fn nap_ms(&self) -> u64 {
        self.nap_ms.unwrap_or(NAP_MS)
    }

    /// How many calls are under way at a time, at most.
    pub(super) fn concurrency(&self) -> u32 {
        self.concurrency.unwrap_or(if self.rate.is_some() { MAX_UNDER_WAY } else { 1 })
    }

    /// How many calls are to be made, and until when.
    pub(super) fn limits(&self) -> (u64, Option<Duration>) {
        match self.duration_s {
            Some(seconds) => (u64::MAX, Some(Duration::from_secs(seconds))),
            None => (self.requests, None),
        }
    }

    /// The hash key of a call; the calls are counted from 0.
    pub(super) fn key(&self, number: u64) -> Option<String> {
        match self.keys {
            Some(keys) => Some(format!("key-{}", number % keys)),
            None => self.key.clone(),
        }
    }
}
