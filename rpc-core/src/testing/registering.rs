//! A server's place in a registry: taken when it serves, given back before it says so to its clients.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use rpc_macros::rpc_service;
use tokio::time::Instant;

use super::fake::Fake;
use super::probe::Counting;
use super::{Network, assert_took};
use crate::lock::lock;
use crate::protocol::frame::{Header, Kind};
use crate::registry::{Registrar, Registration};
use crate::{BoxError, BoxFuture, RpcError, ServiceInstance, Settings, StartError, register};

const ADDRESS: &str = "10.0.0.1:1";

static BOOKS: LazyLock<Mutex<HashMap<String, Book>>> = LazyLock::new(Mutex::default);

/// The registry `book:NAME`, which keeps what it was asked for.
#[derive(Debug, Clone, Default)]
struct Book {
    entries: Arc<Mutex<Vec<String>>>,
    /// The service that is not taken.
    refuses: Option<&'static str>,
    /// How long an update and a release take each.
    delay: Duration,
}

impl Book {
    /// Opens it under this name.
    fn open(self, name: &str) -> Self {
        lock(&BOOKS).insert(format!("book:{name}"), self.clone());
        self
    }

    fn note(&self, entry: String) {
        lock(&self.entries).push(entry);
    }

    fn entries(&self) -> Vec<String> {
        lock(&self.entries).clone()
    }
}

impl Registrar for Book {
    fn register<'a>(&'a self, instance: ServiceInstance) -> BoxFuture<'a, Result<Box<dyn Registration>, BoxError>> {
        Box::pin(async move {
            if self.refuses == Some(&*instance.service) {
                return Err("the book is full".into());
            }
            self.note(format!("register {} at {}", instance.service, instance.address));
            Ok(Box::new(Entry { book: self.clone(), service: instance.service }) as Box<dyn Registration>)
        })
    }
}

#[derive(Debug)]
struct Entry {
    book: Book,
    service: String,
}

impl Registration for Entry {
    fn update(&self, instance: ServiceInstance) -> BoxFuture<'_, Result<(), BoxError>> {
        Box::pin(async move {
            tokio::time::sleep(self.book.delay).await;
            self.book.note(format!("update {} to weight {}", self.service, instance.weight));
            Ok(())
        })
    }

    fn release(&self) -> BoxFuture<'_, Result<(), BoxError>> {
        Box::pin(async move {
            tokio::time::sleep(self.book.delay).await;
            self.book.note(format!("release {}", self.service));
            Ok(())
        })
    }
}

register!(dyn Registrar, "book", |settings: &Settings| {
    let book = settings.url().and_then(|url| lock(&BOOKS).get(url).cloned()).ok_or("no such book")?;
    Ok::<_, BoxError>(Arc::new(book))
});

#[rpc_service(crate = crate)]
trait Second {
    async fn nothing(&self) -> Result<(), RpcError>;
}

struct Nothing;

impl Second for Nothing {
    async fn nothing(&self) -> Result<(), RpcError> {
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn clients_are_sent_away_only_after_the_registration_is_taken_back() {
    let book = Book { delay: Duration::from_millis(100), ..Book::default() }.open("order");
    let network = Network::default();
    let server = network.serve(ADDRESS, Counting::default().server().registry("book:order")).await;
    let mut client = Fake::new(network.dial(ADDRESS).await);
    client.greet().await;
    let told = tokio::spawn({
        let book = book.clone();
        async move {
            assert_eq!(client.read().await.unwrap().header.kind, Kind::GoAway);
            book.note("go away".into());
            client.send(Header::plain(Kind::GoAwayEcho, 0), &[]).await;
            assert!(client.read().await.is_none());
        }
    });
    let started = Instant::now();
    assert_eq!(server.shutdown().await, 0);
    assert_took(started, Duration::from_millis(200));
    told.await.unwrap();
    let order = ["register Probe at 10.0.0.1:1", "update Probe to weight 0", "release Probe", "go away"];
    assert_eq!(book.entries(), order);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_refused_takes_back_those_before_it() {
    let book = Book { refuses: Some("Second"), ..Book::default() }.open("refuses");
    let server = Counting::default().server().service(SecondDispatcher::new(Nothing)).registry("book:refuses");
    let address = ADDRESS.parse().unwrap();
    let error = server.serve_clients(Network::default().listen(address), address).await.unwrap_err();
    assert_eq!(error.to_string(), "service `Second` cannot be registered in `book:refuses`");
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "the book is full");
    let order = ["register Probe at 10.0.0.1:1", "update Probe to weight 0", "release Probe"];
    assert_eq!(book.entries(), order);
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_hangs_delays_the_end_by_a_second_and_a_half() {
    let book = Book { delay: Duration::from_secs(3_600), ..Book::default() }.open("hangs");
    let network = Network::default();
    let server = network.serve(ADDRESS, Counting::default().server().registry("book:hangs")).await;
    let started = Instant::now();
    assert_eq!(server.shutdown().await, 0);
    assert_took(started, Duration::from_millis(1_500));
    assert_eq!(book.entries(), ["register Probe at 10.0.0.1:1"]);
}

#[tokio::test]
async fn every_interface_is_never_what_is_registered() {
    let book = Book::default().open("wildcard");
    let server = || Counting::default().server().registry("book:wildcard");
    for wildcard in ["0.0.0.0:0", "[::]:0"] {
        // What this machine has to offer instead is its own affair; where it has nothing, that is said.
        match server().listen(wildcard).start().await {
            Ok(_) => {
                let entry = book.entries().pop().unwrap();
                assert!(
                    !entry.contains("at 0.0.0.0:") && !entry.contains("at [::]:") && !entry.ends_with(":0"),
                    "{entry}"
                );
            }
            Err(error) => assert!(matches!(error, StartError::Advertise(address) if address.port() != 0), "{error}"),
        }
    }
    let _server = server().listen("0.0.0.0:0").advertise("probe:80").start().await.unwrap();
    assert_eq!(book.entries().pop().as_deref(), Some("register Probe at probe:80"));
}
