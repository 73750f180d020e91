//! Callers that go on without: the result's default, a local fallback, and calls that are made again later.
#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use rpc::{CallOptions, CallReport, Client, Code, Executed, PluginConfig, RpcError, Server, rpc_service};

use common::{log, until};

mod common;

#[rpc_service(name = "test.Notes")]
trait Notes {
    /// How many there are.
    #[rpc(idempotent)]
    async fn count(&self, owner: String) -> Result<u64, RpcError>;

    /// Keeps one.
    async fn add(&self, note: String) -> Result<(), RpcError>;

    /// Has an error of the service's own.
    async fn refuse(&self) -> Result<Vec<String>, RpcError>;

    /// Does not answer in time.
    async fn hang(&self) -> Result<Option<u8>, RpcError>;

    /// Panics.
    async fn panic(&self) -> Result<String, RpcError>;
}

#[derive(Debug, Default, Clone)]
struct Kept(Arc<Mutex<Vec<String>>>);

impl Notes for Kept {
    async fn count(&self, _: String) -> Result<u64, RpcError> {
        Ok(self.0.lock().unwrap().len() as u64)
    }

    async fn add(&self, note: String) -> Result<(), RpcError> {
        self.0.lock().unwrap().push(note);
        Ok(())
    }

    async fn refuse(&self) -> Result<Vec<String>, RpcError> {
        Err(RpcError::new("not today"))
    }

    async fn hang(&self) -> Result<Option<u8>, RpcError> {
        std::future::pending().await
    }

    async fn panic(&self) -> Result<String, RpcError> {
        panic!("at the far side")
    }
}

/// Answers locally.
struct Local;

impl Notes for Local {
    async fn count(&self, owner: String) -> Result<u64, RpcError> {
        Ok(owner.len() as u64)
    }

    async fn add(&self, _: String) -> Result<(), RpcError> {
        Err(RpcError::new("kept nowhere"))
    }

    async fn refuse(&self) -> Result<Vec<String>, RpcError> {
        Ok(vec!["local".into()])
    }

    async fn hang(&self) -> Result<Option<u8>, RpcError> {
        Ok(Some(1))
    }

    async fn panic(&self) -> Result<String, RpcError> {
        Ok(rpc::Context::current().unwrap().instance().to_owned())
    }
}

/// A port on which nobody listens.
fn nobody() -> std::net::SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

fn client(address: std::net::SocketAddr, fault: impl Into<PluginConfig>) -> Client {
    Client::builder().registry(format!("direct://{address}")).fault(fault).build().unwrap()
}

async fn server(kept: &Kept) -> Server {
    Server::builder().service(NotesDispatcher::new(kept.clone())).listen("127.0.0.1:0").start().await.unwrap()
}

#[tokio::test]
async fn fail_safe_answers_for_the_far_side_with_the_default() {
    let server = server(&Kept::default()).await;
    let notes: NotesStub = client(server.address(), "failSafe").stub().unwrap();
    let soon = notes.with(CallOptions::new().timeout(Duration::from_millis(200)));
    assert_eq!(soon.hang().await.unwrap(), None);
    assert_eq!(notes.panic().await.unwrap(), "");
    let absent: NotesStub = client(nobody(), "failSafe").stub().unwrap();
    assert_eq!(absent.count("me".into()).await.unwrap(), 0);
    absent.add("lost".into()).await.unwrap();
}

#[tokio::test]
async fn the_services_own_error_is_an_answer_to_every_strategy() {
    let server = server(&Kept::default()).await;
    for fault in ["failFast", "failOver", "failSafe", "failBack"] {
        let notes: NotesStub = client(server.address(), fault).stub().unwrap();
        assert_eq!(notes.refuse().await.unwrap_err().message(), "not today", "{fault}");
    }
}

#[tokio::test]
async fn a_fallback_answers_in_place_of_the_default() {
    let client = client(nobody(), "failSafe");
    let notes: NotesStub = client.stub_with_fallback(NotesDispatcher::new(Local)).unwrap();
    assert_eq!(notes.count("owner".into()).await.unwrap(), 5);
    assert_eq!(notes.refuse().await.unwrap(), ["local"]);
    assert_eq!(notes.panic().await.unwrap(), "fallback");
    assert_eq!(notes.add("x".into()).await.unwrap_err().message(), "kept nowhere");
}

#[tokio::test]
async fn what_cannot_pass_by_itself_is_not_hidden() {
    let server = server(&Kept::default()).await;
    let client = Client::builder().registry(format!("direct://{}", server.address())).fault("failSafe");
    let notes: NotesStub = client.max_frame(1_000).build().unwrap().stub().unwrap();
    let error = notes.add("x".repeat(2_000)).await.unwrap_err();
    assert_eq!((error.code(), error.executed()), (Code::TooLarge, Executed::No));
}

#[tokio::test]
async fn a_report_says_that_the_caller_went_on_without() {
    let reports: Arc<Mutex<Vec<CallReport>>> = Arc::default();
    let seen = Arc::clone(&reports);
    let client = Client::builder().registry(format!("direct://{}", nobody())).fault("failSafe");
    let client = client.observe(move |report| seen.lock().unwrap().push(report.clone())).build().unwrap();
    client.stub::<NotesStub>().unwrap().count("me".into()).await.unwrap();
    let report = reports.lock().unwrap().pop().unwrap();
    assert!(report.degraded);
    assert_eq!((report.error, report.executed), (Some(Code::Unavailable), Executed::No));
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct NoDefault(u8);

#[rpc_service(name = "test.Strict")]
trait Strict {
    async fn lenient(&self) -> Result<u8, RpcError>;
    async fn strict(&self) -> Result<NoDefault, RpcError>;
    async fn list(&self) -> Result<Vec<NoDefault>, RpcError>;
    async fn aliased(&self) -> Aliased;
}

type Aliased = Result<NoDefault, RpcError>;

struct StrictLocal;

impl Strict for StrictLocal {
    async fn lenient(&self) -> Result<u8, RpcError> {
        Ok(7)
    }

    async fn strict(&self) -> Result<NoDefault, RpcError> {
        Ok(NoDefault(8))
    }

    async fn list(&self) -> Result<Vec<NoDefault>, RpcError> {
        Ok(vec![NoDefault(9)])
    }

    async fn aliased(&self) -> Aliased {
        self.strict().await
    }
}

#[tokio::test]
async fn methods_without_a_default_are_named_when_the_stub_is_made() {
    for fault in ["failSafe", "failBack"] {
        let client = client(nobody(), fault);
        let error = client.stub::<StrictStub>().unwrap_err().to_string();
        assert!(error.contains("without `Default`: strict, aliased;"), "{error}");
        assert!(error.contains("test.Strict"), "{error}");
        let strict: StrictStub = client.stub_with_fallback(StrictDispatcher::new(StrictLocal)).unwrap();
        assert_eq!(strict.aliased().await.unwrap().0, 8);
        let error = client.stub_with_fallback::<StrictStub>(NotesDispatcher::new(Local)).unwrap_err().to_string();
        assert_eq!(error, "service `test.Strict`: the fallback implements service `test.Notes`");
    }
    client(nobody(), "failOver").stub::<StrictStub>().unwrap();
}

#[tokio::test]
async fn fail_back_delivers_every_call_once_the_provider_is_there() {
    let address = nobody();
    let fault = PluginConfig::new("failBack").with("pauseMs", 200).with("retries", 10);
    let client = client(address, fault);
    let notes: NotesStub = client.stub().unwrap();
    for number in 0..300 {
        notes.add(number.to_string()).await.unwrap();
    }
    let kept = Kept::default();
    let server = Server::builder().service(NotesDispatcher::new(kept.clone())).listen(address.to_string());
    let server = server.start().await.unwrap();
    until(Duration::from_secs(5), "all calls are delivered", || kept.0.lock().unwrap().len() >= 300).await;
    let mut delivered: Vec<u32> = kept.0.lock().unwrap().iter().map(|note| note.parse().unwrap()).collect();
    delivered.sort_unstable();
    assert_eq!(delivered, Vec::from_iter(0..300));
    // Once it has left, every answer has arrived.
    server.shutdown().await;
    assert_eq!(client.shutdown().await, 0);
}

#[tokio::test]
async fn a_client_that_is_shut_down_says_how_many_calls_it_leaves_undone() {
    let client = client(nobody(), PluginConfig::new("failBack").with("pauseMs", 50));
    let notes: NotesStub = client.stub().unwrap();
    for _ in 0..50 {
        notes.add("never".into()).await.unwrap();
    }
    assert_eq!(client.shutdown().await, 50);
    assert_eq!(notes.add("refused".into()).await.unwrap_err().code(), Code::Unavailable);
}

/// What is logged of the calls to this address with these words.
fn logged(address: std::net::SocketAddr, words: &str) -> Vec<String> {
    let mut lines = log::since(0, words);
    lines.retain(|line| line.contains(&format!(" instance={address} ")));
    lines
}

#[tokio::test]
async fn each_call_that_goes_on_without_is_one_line_in_the_log() {
    log::keep();
    for fault in ["failSafe", "failBack"] {
        let address = nobody();
        let notes: NotesStub = client(address, fault).stub().unwrap();
        for _ in 0..3 {
            notes.count("me".into()).await.unwrap();
        }
        let lines = logged(address, "the call failed; its caller goes on without");
        assert_eq!(lines.len(), 3, "{fault}: {lines:?}");
        for line in lines {
            assert!(line.starts_with("WARN ") && line.contains(" service=test.Notes method=count "), "{line}");
            assert!(line.contains(" error=unavailable: ") && line.contains("Connection refused"), "{line}");
        }
    }
}

#[tokio::test]
async fn a_call_that_is_given_up_is_one_line_in_the_log_with_the_last_failure() {
    log::keep();
    // Nobody is ever there, or somebody is in the end who has no such service.
    for (retries, elsewhere, words, cause) in [
        (2, false, "gave up on a call: it failed each time", " error=unavailable: "),
        (100, true, "gave up on a call: making it again cannot help, or might do harm", " error=service not found: "),
    ] {
        let address = nobody();
        let fault = PluginConfig::new("failBack").with("pauseMs", 20).with("retries", retries);
        let client = client(address, fault);
        client.stub::<NotesStub>().unwrap().add("never".into()).await.unwrap();
        let other = Server::builder().service(StrictDispatcher::new(StrictLocal)).listen(address.to_string());
        let _other = if elsewhere { Some(other.start().await.unwrap()) } else { None };
        until(Duration::from_secs(5), words, || !logged(address, words).is_empty()).await;
        let [line] = &logged(address, words)[..] else { panic!("one line") };
        assert!(line.starts_with("WARN ") && line.contains(" service=test.Notes method=add attempt="), "{line}");
        assert!(line.contains(cause), "{line}");
    }
}

#[tokio::test]
async fn settings_that_are_none_are_refused() {
    let builder = || Client::builder().registry(format!("direct://{}", nobody()));
    for (name, value) in [("retries", -1), ("retries", 101), ("maxCalls", -5), ("delay", 1)] {
        let error = builder().fault(PluginConfig::new("failBack").with(name, value)).build().unwrap_err();
        assert!(error.to_string().contains("`failBack`"), "{error}");
    }
}
