//! Whatever bytes a server sends, it harms nobody but the calls that were sent to it.
#![cfg(target_os = "linux")]

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use common::raw::{DESCRIBE, Frame, HELLO, RESPONSE, Raw, STATUS, Welcome, header};
use common::traffic::{Echo, EchoDispatcher, EchoStub, Mirror};
use common::{client, hold_to, process, server, stub, within};
use rpc::{CallOptions, Code, Executed, Server};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, MutexGuard};
use tokio::task::AbortHandle;

mod common;

/// How long connecting may take by default.
const CONNECT_TIMEOUT: Duration = Duration::from_millis(500);
/// A call that is refused or cut off ends at once.
const AT_ONCE: Duration = Duration::from_millis(100);
const MAY_GROW: usize = 64 << 20;

/// The tests share their memory: one at a time.
static ALONE: Mutex<()> = Mutex::const_new(());

/// What a server does with a client whose hello it has read.
type Script = Arc<dyn Fn(Raw, Welcome) -> rpc::BoxFuture<'static, ()> + Send + Sync>;

/// A script; `then end` closes the connection after it, which otherwise stays open until the client gives up.
macro_rules! script {
    (|$raw:ident, $welcome:ident| $body:expr, then end) => {
        Arc::new(|mut $raw: Raw, $welcome: Welcome| -> rpc::BoxFuture<'static, ()> {
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

/// A server that follows a script beside one that is honest.
struct Stage {
    good: Server,
    bad: SocketAddr,
    acting: AbortHandle,
    resident: usize,
    _alone: MutexGuard<'static, ()>,
}

impl Stage {
    async fn set(script: Script) -> Self {
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
    async fn play(what: &str, script: Script, promised: Duration, code: Code, message: &str) {
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

    async fn end(self, what: &str) {
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
async fn honest_start(raw: &mut Raw, welcome: &Welcome) -> Frame {
    raw.send(&hello(&welcome.bytes())).await.unwrap();
    raw.read().await.unwrap().expect("a request")
}

fn hello(payload: &[u8]) -> Vec<u8> {
    Frame::new(HELLO, 0, 0, payload).bytes()
}

/// An honest answer to an echo.
fn answer(request: &Frame) -> Vec<u8> {
    // Method and time left come before the argument.
    Frame::new(RESPONSE, 0, request.id, &request.payload[12..]).bytes()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_hello_makes_an_instance_unavailable() {
    let scripts: [(&str, &str, Script); 11] = [
        (
            "another protocol",
            "HTTP?",
            script!(|raw, _welcome| raw.send(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap()),
        ),
        (
            "a giant length",
            "4294967295 bytes",
            script!(|raw, _welcome| raw.send(&header(HELLO, 0, 0, 0, u32::MAX)).await.unwrap()),
        ),
        ("flags", "undefined flags", script!(|raw, _welcome| raw.send(&header(HELLO, 1, 0, 0, 3)).await.unwrap())),
        (
            "an answer",
            "Response frame instead",
            script!(|raw, _welcome| raw.send(&header(RESPONSE, 0, 1, 0, 0)).await.unwrap()),
        ),
        ("nothing in it", "malformed", script!(|raw, _welcome| raw.send(&hello(b"")).await.unwrap())),
        ("another version", "not offered", script!(|raw, _welcome| raw.send(&hello(&[0, 1, 2, 2, 0])).await.unwrap())),
        ("no common version", "speaks 7 to 9", script!(|raw, _welcome| raw.send(&hello(&[1, 7, 9])).await.unwrap())),
        (
            "an unknown outcome",
            "neither welcome",
            script!(|raw, _welcome| raw.send(&hello(&[9, 1, 1, 1, 0])).await.unwrap()),
        ),
        (
            "2^32 methods",
            "malformed",
            script!(|raw, welcome| {
                let mut bytes = Welcome { methods: Vec::new(), ..welcome }.bytes();
                let count = bytes.len() - 4;
                bytes[count..].copy_from_slice(&u32::MAX.to_le_bytes());
                raw.send(&hello(&bytes)).await.unwrap();
            }),
        ),
        (
            "half of it, then the end",
            "closed the connection",
            script!(|raw, welcome| {
            let bytes = hello(&welcome.bytes());
            raw.send(&bytes[..bytes.len() / 2]).await.unwrap();
        }, then end),
        ),
        ("a reset", "cannot connect", script!(|raw, _welcome| raw.reset(), then end)),
    ];
    for (what, message, script) in scripts {
        Stage::play(&format!("hello: {what}"), script, AT_ONCE, Code::Unavailable, message).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_does_not_say_hello_costs_the_connect_timeout() {
    let silence: Script = script!(|_raw, _welcome| {});
    Stage::play("silence", silence, CONNECT_TIMEOUT, Code::Unavailable, "no connection within 500ms").await;
    let trickle: Script = script!(|raw, welcome| {
        for byte in hello(&welcome.bytes()) {
            if raw.send(&[byte]).await.is_err() {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    Stage::play("a trickle", trickle, CONNECT_TIMEOUT, Code::Unavailable, "no connection within 500ms").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_of_zero_refuse_calls_before_they_are_sent() {
    let full: Script = script!(|raw, welcome| {
        raw.send(&hello(&Welcome { max_in_flight: 0, ..welcome }.bytes())).await.unwrap();
    });
    Stage::play("no call in flight", full, AT_ONCE, Code::Overloaded, "all 0 calls").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bad_answers_lose_the_connection_and_say_why() {
    let scripts: [(&str, &str, Script); 9] = [
        (
            "a giant length",
            "4294967295 bytes",
            script!(|raw, welcome| {
                let request = honest_start(&mut raw, &welcome).await;
                raw.send(&header(RESPONSE, 0, 1, request.id, u32::MAX)).await.unwrap();
            }),
        ),
        (
            "undefined flags",
            "undefined flags 0x80",
            script!(|raw, welcome| {
                let request = honest_start(&mut raw, &welcome).await;
                raw.send(&header(RESPONSE, 0x80, 1, request.id, 0)).await.unwrap();
            }),
        ),
        (
            "error and status at once",
            "both an error and a status",
            script!(|raw, welcome| {
                let request = honest_start(&mut raw, &welcome).await;
                raw.send(&header(RESPONSE, 3, 1, request.id, 0)).await.unwrap();
            }),
        ),
        (
            "a status without a code",
            "the code of a status",
            script!(|raw, welcome| {
                let request = honest_start(&mut raw, &welcome).await;
                raw.send(&header(RESPONSE, STATUS, 1, request.id, 0)).await.unwrap();
            }),
        ),
        (
            "a request",
            "sent a Request frame",
            script!(|raw, welcome| {
                honest_start(&mut raw, &welcome).await;
                raw.send(&Frame::request(1, 0, b"").bytes()).await.unwrap();
            }),
        ),
        (
            "a second hello",
            "sent a Hello frame",
            script!(|raw, welcome| {
                honest_start(&mut raw, &welcome).await;
                raw.send(&hello(&welcome.bytes())).await.unwrap();
            }),
        ),
        (
            "noise",
            "not this protocol",
            script!(|raw, welcome| {
                honest_start(&mut raw, &welcome).await;
                raw.send(&[0xAA; 1 << 20]).await.ok();
            }),
        ),
        (
            "half an answer",
            "closed the connection",
            script!(|raw, welcome| {
            let answer = answer(&honest_start(&mut raw, &welcome).await);
            raw.send(&answer[..answer.len() - 1]).await.unwrap();
        }, then end),
        ),
        (
            "the end",
            "closed the connection",
            script!(|raw, welcome| {
            honest_start(&mut raw, &welcome).await;
        }, then end),
        ),
    ];
    for (what, message, script) in scripts {
        Stage::play(&format!("answer: {what}"), script, AT_ONCE, Code::ConnectionLost, message).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_answers_fail_the_one_call_and_are_cut_short() {
    let reply = |flags: u8, kind: u8, payload: &'static [u8]| -> Script {
        Arc::new(move |mut raw: Raw, welcome: Welcome| -> rpc::BoxFuture<'static, ()> {
            Box::pin(async move {
                let mut request = honest_start(&mut raw, &welcome).await;
                loop {
                    raw.send(&Frame::new(kind, flags, request.id, payload).bytes()).await.unwrap();
                    match raw.read().await {
                        Ok(Some(next)) => request = next,
                        _ => break,
                    }
                }
            })
        })
    };
    let megabytes: &'static [u8] = vec![b'x'; 7 << 20].leak();
    let play = Stage::play;
    play("an unknown status", reply(STATUS, RESPONSE, b"\xC8new"), AT_ONCE, Code::Internal, "new").await;
    play("a description", reply(0, DESCRIBE, &[0; 8]), AT_ONCE, Code::Internal, "with a description").await;
    play("a result that is none", reply(0, RESPONSE, b"\x05five"), AT_ONCE, Code::Codec, "cannot be decoded").await;
    play("an error that is none", reply(1, RESPONSE, b"\xFF"), AT_ONCE, Code::Codec, "cannot be decoded").await;
    play("a status of megabytes", reply(STATUS, RESPONSE, megabytes), AT_ONCE * 10, Code::Internal, "xxx").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_to_nobody_harm_nobody() {
    let script: Script = script!(|raw, welcome| {
        let mut request = honest_start(&mut raw, &welcome).await;
        loop {
            let stranger = |id| Frame::new(RESPONSE, 0, id, b"\x05wrong").bytes();
            let mut bytes = [stranger(u64::MAX), stranger(request.id ^ 1), stranger(request.id + (1 << 32))].concat();
            bytes.extend(answer(&request));
            bytes.extend(stranger(request.id));
            bytes.extend(Frame::new(DESCRIBE, 0, request.id, [0; 8]).bytes());
            raw.send(&bytes).await.unwrap();
            request = match raw.read().await {
                Ok(Some(next)) => next,
                _ => break,
            };
        }
    }, then end);
    let stage = Stage::set(script).await;
    let stub: EchoStub = stub(stage.bad);
    for call in 0..1_000u32 {
        assert_eq!(stub.echo(call.to_le_bytes().to_vec()).await.unwrap(), call.to_le_bytes());
    }
    stage.end("answers to nobody").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silence_after_the_hello_ends_at_the_deadline() {
    let script: Script = script!(|raw, welcome| {
        honest_start(&mut raw, &welcome).await;
    });
    let stage = Stage::set(script).await;
    let timeout = Duration::from_millis(300);
    let stub = stub::<EchoStub>(stage.bad).with(CallOptions::new().timeout(timeout));
    let started = Instant::now();
    let error = stub.echo(Vec::new()).await.unwrap_err();
    assert!(started.elapsed() >= timeout);
    hold_to(timeout, started.elapsed(), "deadline");
    assert_eq!((error.code(), error.executed()), (Code::DeadlineExceeded, Executed::Maybe), "{error}");
    stage.end("silence after the hello").await;
}

/// Says that the types of the echo's arguments are others.
fn other_types(welcome: &Welcome) -> Welcome {
    let mut welcome = welcome.clone();
    welcome.methods.iter_mut().for_each(|method| method.2 ^= 1);
    welcome
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_hides_its_types_is_passed_over() {
    let reply = |kind: u8, flags: u8, payload: Vec<u8>| -> Script {
        Arc::new(move |mut raw: Raw, welcome: Welcome| -> rpc::BoxFuture<'static, ()> {
            let payload = payload.clone();
            Box::pin(async move {
                let question = honest_start(&mut raw, &other_types(&welcome)).await;
                assert_eq!(question.kind, DESCRIBE);
                raw.send(&Frame::new(kind, flags, question.id, payload).bytes()).await.ok();
                raw.closed().await;
            })
        })
    };
    let megabytes = vec![b'x'; 7 << 20];
    let text = |text: &[u8]| [&(text.len() as u32).to_le_bytes(), text].concat();
    let texts = [text(&megabytes), text(b"")].concat();
    let mut lines = Vec::new();
    (0..500_000).for_each(|line| lines.extend(format!("v{line}: u8\n").bytes()));
    let lines = [text(&lines), text(b"")].concat();
    let unknown = "could not be learned";
    let play =
        async |what, script, message| Stage::play(what, script, AT_ONCE * 10, Code::SchemaMismatch, message).await;
    play("texts cut off", reply(DESCRIBE, 0, vec![9; 8]), unknown).await;
    play("a status", reply(DESCRIBE, STATUS, b"\x02nothing here".to_vec()), unknown).await;
    play("a status of megabytes", reply(DESCRIBE, STATUS, megabytes.clone()), unknown).await;
    play("an answer of megabytes", reply(RESPONSE, 0, megabytes), unknown).await;
    play("texts of megabytes", reply(DESCRIBE, 0, texts), "here").await;
    play("texts of many lines", reply(DESCRIBE, 0, lines), "here").await;
    let silence = script!(|raw, welcome| {
        honest_start(&mut raw, &other_types(&welcome)).await;
    });
    play("silence", silence, unknown).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_waits_for_the_types_beyond_its_deadline() {
    let asked = Arc::new(tokio::sync::Notify::new());
    let script: Script = {
        let asked = Arc::clone(&asked);
        Arc::new(move |mut raw: Raw, welcome: Welcome| -> rpc::BoxFuture<'static, ()> {
            let asked = Arc::clone(&asked);
            Box::pin(async move {
                honest_start(&mut raw, &other_types(&welcome)).await;
                asked.notify_one();
                raw.closed().await;
            })
        })
    };
    let stage = Stage::set(script).await;
    let stub: EchoStub = stub(stage.bad);
    let patient = tokio::spawn({
        let stub = stub.with(CallOptions::new().timeout(Duration::from_secs(60)));
        async move { stub.echo(Vec::new()).await }
    });
    asked.notified().await;
    let timeout = Duration::from_millis(50);
    let started = Instant::now();
    stub.with(CallOptions::new().timeout(timeout)).echo(Vec::new()).await.unwrap_err();
    hold_to(timeout, started.elapsed(), "deadline");
    within(CONNECT_TIMEOUT, "the types", patient).await.unwrap().unwrap_err();
    stage.end("silence about types").await;
}
