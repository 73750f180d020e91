//! Calls go on while instances come and go, whatever the balancer.
#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rpc::loadbalancer::LoadBalancer;
use rpc::registry::Registrar;
use rpc::{Client, Code, ServiceInstance, Settings, extension};

use common::traffic::{Echo, EchoDispatcher, EchoStub, Mirror};
use common::within;

mod common;

const CALLERS: usize = 1_000;
const ROUNDS: usize = 3;
const SEEN_WITHIN: Duration = Duration::from_secs(1);

/// What a caller has met.
#[derive(Debug, Default)]
struct Met {
    answered: usize,
    no_instance: usize,
}

async fn call_on(echo: EchoStub, stop: Arc<AtomicBool>) -> Met {
    let mut met = Met::default();
    while !stop.load(Ordering::Relaxed) {
        match echo.echo(b"x".to_vec()).await {
            Ok(body) => {
                assert_eq!(body, b"x");
                met.answered += 1;
            }
            Err(error) => {
                assert_eq!(error.code(), Code::NoInstance, "{error}");
                met.no_instance += 1;
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    }
    met
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_meets_an_instance_or_none_and_nothing_else() {
    let server = common::server(EchoDispatcher::new(Mirror)).start().await.unwrap();
    let balancers = extension::keys::<dyn LoadBalancer>();
    assert!(balancers.len() >= 3, "{balancers:?}");
    for key in balancers {
        let url = format!("memory:{key}");
        let registry = extension::build::<dyn Registrar>("memory", &Settings::from_url(&url).unwrap().1).unwrap();
        let client = Client::builder().registry(url).load_balancer(key).timeout(Duration::from_secs(30));
        let client = client.build().unwrap();
        let echo: EchoStub = client.stub().unwrap();
        let mut changes = client.changes::<EchoStub>().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let callers: Vec<_> = (0..CALLERS).map(|_| tokio::spawn(call_on(echo.clone(), Arc::clone(&stop)))).collect();
        assert_eq!(echo.echo(b"x".to_vec()).await.unwrap_err().code(), Code::NoInstance);
        for _ in 0..ROUNDS {
            let instance = ServiceInstance::new("test.Echo", server.address().to_string());
            let registration = registry.register(instance).await.unwrap();
            within(SEEN_WITHIN, "an instance is seen", changes.next()).await.unwrap();
            assert_eq!(echo.echo(b"known".to_vec()).await.unwrap(), b"known");
            registration.release().await.unwrap();
            within(SEEN_WITHIN, "no instance is seen", changes.next()).await.unwrap();
            assert_eq!(echo.echo(b"x".to_vec()).await.unwrap_err().code(), Code::NoInstance);
        }
        stop.store(true, Ordering::Relaxed);
        let mut met = Met::default();
        for caller in callers {
            let one = caller.await.unwrap();
            met.answered += one.answered;
            met.no_instance += one.no_instance;
        }
        println!("{key}: {met:?}");
        // Which of the two the callers meet is up to the scheduler; the rounds above have met both.
        assert!(met.answered + met.no_instance > 0, "{met:?}");
    }
}
