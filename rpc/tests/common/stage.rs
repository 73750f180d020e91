//! A server that follows a script, and what it may do to a client.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use rpc::{BoxFuture, CallOptions, Code, Executed, Server};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, MutexGuard};
use tokio::task::AbortHandle;

use super::raw::{Frame, HELLO, RESPONSE, Raw, Welcome};
use super::traffic::{Echo, EchoDispatcher, EchoStub, Mirror};
use super::{client, process, server, stub, within};

/// How long connecting may take by default.
pub(crate) const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);
/// A call that is refused or cut off ends at once.
pub(crate) const AT_ONCE: Duration = Duration::from_millis(100);
const MAY_GROW: usize = 64 << 20;

/// The tests share their memory: one at a time.
static ALONE: Mutex<()> = Mutex::const_new(());

/// What a server does with a client whose hello it has read.
pub(crate) type Script = Arc<dyn Fn(Raw, Welcome) -> BoxFuture<'static, ()> + Send + Sync>;

/// A script; `then end` closes the connection after it, which otherwise stays open until the client gives up.
macro_rules! script {
    (|$raw:ident, $welcome:ident| $body:expr, then end) => {
        Arc::new(|mut $raw: crate::common::raw::Raw, $welcome: crate::common::raw::Welcome| -> rpc::BoxFuture<'static, ()> {
            Box::pin(async move {
                let (_, _) = (&mut $raw, &$welcome);
                $body;
            })
        })
    };
    (|$raw:ident, $welcome:ident| $body:expr) => {
        script!(
            |$raw, $welcome| {
                $body;
                $raw.closed().await
            },
            then end
        )
    };
}

pub(crate) use script;

/// A server that follows a script beside one that is honest.
pub(crate) struct Stage {
    good: Server,
    pub(crate) bad: SocketAddr,
    acting: AbortHandle,
    resident: usize,
    _alone: MutexGuard<'static, ()>,
}

impl Stage {
    pub(crate) async fn set(script: Script) -> Self {
        let alone = ALONE.lock().await;
        let good = server(EchoDispatcher::new(Mirror)).start().await.unwrap();
        let (_, welcome) = Raw::greet(good.address()).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let bad = listener.local_addr().unwrap();
        let acting = tokio::spawn(async move {
            loop {
                let raw = Raw::accept(&listener).await;
                tokio::spawn(script(raw, welcome.clone()));
            }
        });
        Self { good, bad, acting: acting.abort_handle(), resident: process::resident(), _alone: alone }
    }

    /// A call that can only go to the bad server fails in time, as said; with a good one beside it, calls succeed.
    pub(crate) async fn play(what: &str, script: Script, promised: Duration, code: Code, message: &str) {
        let stage = Self::set(script).await;
        let call = stub::<EchoStub>(stage.bad);
        let error = within(promised, what, call.echo(b"call".to_vec())).await.expect_err("the server is bad");
        println!("  {}: {:.200}", error.code(), error.message());
        assert!(error.to_string().len() < 10_000, "{what}: {} bytes of error", error.to_string().len());
        assert_eq!(error.code(), code, "{what}: {error}");
        assert!(error.message().contains(message), "{what}: {error} should say: {message}");
        assert!(error.message().contains("test.Echo.echo"), "{what}: {error} should name the method");
        let may_have_run = !matches!(code, Code::Unavailable | Code::Overloaded | Code::SchemaMismatch);
        assert_eq!(error.executed() != Executed::No, may_have_run, "{what}: {error:?}");
        stage.end(what).await;
    }

    pub(crate) async fn end(self, what: &str) {
        let both: EchoStub = client(&[self.bad, self.good.address()]).build().unwrap().stub().unwrap();
        let mut answered = 0;
        for call in 0..4u8 {
            match both.with(CallOptions::new().timeout(CONNECT_TIMEOUT * 2)).echo(vec![call]).await {
                Ok(body) => {
                    assert_eq!(body, [call]);
                    answered += 1;
                }
                Err(error) => println!("  beside a good server: {}", error.code()),
            }
        }
        assert!(answered >= 2, "{what}: {answered} of 4 calls were answered");
        let growth = process::growth(self.resident);
        assert!(growth < MAY_GROW, "{what}: memory grew by {growth} bytes");
        self.acting.abort();
    }
}

/// Says an honest hello and reads the request.
pub(crate) async fn honest_start(raw: &mut Raw, welcome: &Welcome) -> Frame {
    raw.send(&hello(&welcome.bytes())).await.unwrap();
    raw.read().await.unwrap().expect("a request")
}

pub(crate) fn hello(payload: &[u8]) -> Vec<u8> {
    Frame::new(HELLO, 0, 0, payload).bytes()
}

/// An honest answer to an echo.
pub(crate) fn answer(request: &Frame) -> Vec<u8> {
    // Method and time left come before the argument.
    Frame::new(RESPONSE, 0, request.id, &request.payload[12..]).bytes()
}
