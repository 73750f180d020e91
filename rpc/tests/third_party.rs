//! Plugins of a crate that we do not know are chosen by key like our own.
#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

use std::sync::{Arc, Mutex};

use plugin as _;
use rpc::{Client, Context, RpcError, Server, rpc_service};

mod common;

#[rpc_service(name = "test.Desk")]
trait Desk {
    #[rpc(idempotent)]
    async fn ask(&self) -> Result<String, RpcError>;
}

/// Answers, unless it is the senior one.
struct Clerk;

impl Desk for Clerk {
    async fn ask(&self) -> Result<String, RpcError> {
        let instance = Context::current().unwrap().instance().to_owned();
        assert_ne!(instance, "senior", "the senior clerk is out");
        Ok(instance)
    }
}

#[tokio::test]
async fn a_registry_a_balancer_and_a_fault_strategy_are_chosen_by_key() {
    let mut clerks: Vec<Server> = Vec::new();
    for id in ["junior", "senior", "middle"] {
        let clerk = common::server(DeskDispatcher::new(Clerk)).registry("noticeBoard:hall").id(id);
        clerks.push(clerk.start().await.unwrap());
    }
    let asked: Arc<Mutex<Vec<Vec<String>>>> = Arc::default();
    let keep = Arc::clone(&asked);
    let client = Client::builder().registry("noticeBoard:hall").load_balancer("seniority").fault("onceMore");
    let client = client.observe(move |report| {
        keep.lock().unwrap().push(report.steps.iter().map(|step| step.instance.clone()).collect());
    });
    let desk: DeskStub = client.build().unwrap().stub().unwrap();
    for _ in 0..3 {
        assert_eq!(desk.ask().await.unwrap(), "middle");
    }
    assert_eq!(*asked.lock().unwrap(), [["senior", "middle"]; 3]);
    for clerk in clerks {
        assert_eq!(clerk.shutdown().await, 0);
    }
    let gone = Client::builder().registry("noticeBoard:hall").build().unwrap().stub::<DeskStub>().unwrap();
    assert_eq!(gone.ask().await.unwrap_err().code(), rpc::Code::NoInstance);
}
