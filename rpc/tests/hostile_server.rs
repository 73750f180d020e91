//! Whatever bytes a server sends, it harms nobody but the calls that were sent to it.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::raw::{DESCRIBE, Frame, HELLO, RESPONSE, Raw, STATUS, Welcome, header};
use common::stage::{AT_ONCE, CONNECT_TIMEOUT, Script, Stage, answer, hello, honest_start, script};
use common::traffic::{Echo, EchoStub};
use common::{hold_to, stub};
use rpc::{CallOptions, Code, Executed};

mod common;

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
