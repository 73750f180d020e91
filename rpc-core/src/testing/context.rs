//! What travels beside the arguments.

use std::time::Duration;

use tokio::time::Instant;

use super::Network;
use super::probe::{Counting, Probe, ProbeStub};
use crate::{CallOptions, Code, Context, Executed, Metadata};

#[tokio::test(start_paused = true)]
async fn a_handler_sees_the_metadata_and_the_time_left() {
    let (network, service) = (Network::default(), Counting::default());
    let _server = network.serve("10.0.0.1:1", service.server()).await;
    let probe: ProbeStub = network.client("10.0.0.1:1").build().unwrap().stub().unwrap();
    let options = CallOptions::new().timeout(Duration::from_millis(700)).metadata("tenant", "blue");
    let (left, tenant) = probe.with(options).time_left("tenant".into()).await.unwrap();
    assert_eq!((left, tenant.as_deref()), (700, Some("blue")));
    let (left, tenant) = probe.time_left("tenant".into()).await.unwrap();
    assert_eq!((left, tenant), (3_000, None));
}

#[tokio::test(start_paused = true)]
async fn a_call_inside_a_handler_passes_the_trace_on_and_nothing_else() {
    let (network, service) = (Network::default(), Counting::default());
    let _server = network.serve("10.0.0.1:1", service.server()).await;
    let probe: ProbeStub = network.client("10.0.0.1:1").build().unwrap().stub().unwrap();
    let mut metadata = Metadata::default();
    metadata.insert("traceparent".into(), "00-1".into());
    metadata.insert("tenant".into(), "blue".into());
    let context = Context::local("test", Instant::now() + Duration::from_secs(1), metadata);
    let seen = async |key: &str| {
        let call = context.clone().scope(async { probe.time_left(key.into()).await });
        call.await.unwrap().1
    };
    assert_eq!(seen("traceparent").await.as_deref(), Some("00-1"));
    assert_eq!(seen("tenant").await, None);
}

#[tokio::test(start_paused = true)]
async fn metadata_that_do_not_fit_are_refused_before_anything_is_sent() {
    let (network, service) = (Network::default(), Counting::default());
    let _server = network.serve("10.0.0.1:1", service.server()).await;
    let probe: ProbeStub = network.client("10.0.0.1:1").build().unwrap().stub().unwrap();
    let options = CallOptions::new().metadata("long", "x".repeat(65_536));
    let error = probe.with(options).echo("hello".into()).await.unwrap_err();
    assert_eq!((error.code(), error.executed()), (Code::BadRequest, Executed::No));
    assert!(error.message().contains("`long`"), "{error}");
    assert_eq!(network.connects(), 0);
}
