//! A server whose types differ, and which hides how, is passed over at once.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use common::raw::{DESCRIBE, Frame, RESPONSE, Raw, STATUS, Welcome};
use common::stage::{AT_ONCE, CONNECT_TIMEOUT, Script, Stage, honest_start, script};
use common::traffic::{Echo, EchoStub};
use common::{hold_to, stub, within};
use rpc::{CallOptions, Code};

mod common;

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
