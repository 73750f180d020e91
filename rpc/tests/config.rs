//! A configuration acts: on all calls, on those of one service, on those of one method; and its mistakes are told when a client or a server
//! is made of it.
#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

use std::collections::BTreeSet;
use std::error::Error as _;
use std::net::SocketAddr;
use std::time::Duration;

use rpc::{CallOptions, Client, Code, Config, Context, PluginConfig, Policy, RpcError, Server, rpc_service};

#[rpc_service(name = "test.Accounts")]
trait Accounts {
    /// The instance that answers.
    #[rpc(idempotent)]
    async fn instance(&self, owner: String) -> Result<String, RpcError>;

    /// The same, by another name.
    #[rpc(idempotent)]
    async fn instance_too(&self, owner: String) -> Result<String, RpcError>;

    /// Does not answer in time.
    async fn hang(&self) -> Result<u8, RpcError>;

    /// The same, by another name.
    async fn hang_too(&self) -> Result<u8, RpcError>;
}

#[rpc_service]
trait Strict {
    async fn lenient(&self) -> Result<u8, RpcError>;

    async fn strict(&self) -> Result<NoDefault, RpcError>;
}

#[derive(serde::Serialize, serde::Deserialize)]
struct NoDefault(u8);

struct Bank;

impl Accounts for Bank {
    async fn instance(&self, _: String) -> Result<String, RpcError> {
        Ok(Context::current().unwrap().instance().to_owned())
    }

    async fn instance_too(&self, owner: String) -> Result<String, RpcError> {
        self.instance(owner).await
    }

    async fn hang(&self) -> Result<u8, RpcError> {
        std::future::pending().await
    }

    async fn hang_too(&self) -> Result<u8, RpcError> {
        std::future::pending().await
    }
}

/// Servers, each an instance of its own.
async fn serve(count: usize) -> Vec<Server> {
    let mut servers = Vec::new();
    for _ in 0..count {
        let server = Server::builder().service(AccountsDispatcher::new(Bank)).listen("127.0.0.1:0");
        servers.push(server.start().await.unwrap());
    }
    servers
}

/// A client of these servers.
fn client(servers: &[Server], text: &str) -> Client {
    let addresses: Vec<_> = servers.iter().map(|server| server.address().to_string()).collect();
    let mut config = Config::from_toml(text).unwrap();
    config.set_registry(format!("direct://{}", addresses.join(",")));
    config.client().build().unwrap()
}

/// A port on which nobody listens.
fn nobody() -> SocketAddr {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}

/// A client whose calls find nobody.
fn lonely(text: &str) -> Client {
    let mut config = Config::from_toml(text).unwrap();
    config.set_registry(format!("direct://{}", nobody()));
    config.client().build().unwrap()
}

#[tokio::test]
async fn a_methods_own_load_balancer_chooses_for_it_alone() {
    let servers = serve(3).await;
    let text = "[client.services.Accounts]\nloadBalancer = { name = 'consistentHash', virtualNodes = 40 }\n\
                [client.services.Accounts.methods.instance_too]\nloadBalancer = 'roundRobin'";
    let accounts: AccountsStub = client(&servers, text).stub().unwrap();
    let (mut by_key, mut in_turn) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..30 {
        by_key.insert(accounts.instance("ann".into()).await.unwrap());
        in_turn.insert(accounts.instance_too("ann".into()).await.unwrap());
    }
    assert_eq!((by_key.len(), in_turn.len()), (1, 3));
}

#[tokio::test]
async fn a_key_is_made_for_the_methods_whose_balancer_uses_one() {
    let servers = serve(3).await;
    let text = "client.services.Accounts.methods.instance.loadBalancer = 'consistentHash'";
    let accounts: AccountsStub = client(&servers, text).stub().unwrap();
    let (mut by_key, mut in_turn) = (BTreeSet::new(), BTreeSet::new());
    for _ in 0..30 {
        by_key.insert(accounts.instance("ann".into()).await.unwrap());
        in_turn.insert(accounts.instance_too("ann".into()).await.unwrap());
    }
    assert_eq!((by_key.len(), in_turn.len()), (1, 3));
}

#[tokio::test]
async fn the_nearest_timeout_counts_and_that_of_the_call_before_all() {
    let servers = serve(1).await;
    let text = "client.timeoutMs = 60000\n[client.services.Accounts]\ntimeoutMs = 70\n\
                [client.services.Accounts.methods.hang_too]\ntimeoutMs = 90";
    let accounts: AccountsStub = client(&servers, text).stub().unwrap();
    let asked = accounts.with(CallOptions::new().timeout(Duration::from_millis(40)));
    for (error, limit) in [
        (accounts.hang().await.unwrap_err(), "`test.Accounts.hang`: 70ms passed"),
        (accounts.hang_too().await.unwrap_err(), "`test.Accounts.hang_too`: 90ms passed"),
        (asked.hang_too().await.unwrap_err(), "`test.Accounts.hang_too`: 40ms passed"),
    ] {
        assert_eq!(error.code(), Code::DeadlineExceeded);
        assert!(error.message().starts_with(limit), "{error}");
    }
}

#[tokio::test]
async fn a_methods_own_fault_strategy_goes_around_it_alone() {
    let text = "[client.services.Accounts]\nfault = { name = 'failOver', retries = 1, backoffMs = 1 }\n\
                [client.services.Accounts.methods]\nhang = { fault = 'failSafe' }\nhang_too = { fault = 'failFast' }";
    let accounts: AccountsStub = lonely(text).stub().unwrap();
    assert_eq!(accounts.hang().await.unwrap(), 0);
    let fast = accounts.hang_too().await.unwrap_err();
    assert!(!fast.message().contains("runs"), "{fast}");
    let twice = accounts.instance("ann".into()).await.unwrap_err();
    assert!(twice.message().starts_with("nothing was sent in 2 runs"), "{twice}");
}

#[tokio::test]
async fn only_methods_that_may_be_degraded_need_a_default() {
    let refusal = |text| lonely(text).stub::<StrictStub>().unwrap_err().to_string();
    for text in ["client.fault = 'failSafe'", "client.services.Strict.methods.strict.fault = 'failSafe'"] {
        assert!(refusal(text).contains("without `Default`: strict;"), "{}", refusal(text));
    }
    for text in [
        "client.services.Strict.methods.lenient.fault = 'failSafe'",
        "[client]\nfault = 'failSafe'\n[client.services.Strict.methods.strict]\nfault = 'failFast'",
    ] {
        lonely(text).stub::<StrictStub>().unwrap();
    }
}

#[tokio::test]
async fn a_client_that_is_shut_down_ends_the_strategies_of_all_methods() {
    let text = "[client.services.Accounts]\nfault = 'failBack'\n\
                [client.services.Accounts.methods]\nhang = { fault = 'failBack' }\nhang_too = { fault = 'failFast' }";
    let client = lonely(text);
    let accounts: AccountsStub = client.stub().unwrap();
    accounts.hang().await.unwrap();
    for _ in 0..2 {
        accounts.instance("ann".into()).await.unwrap();
    }
    accounts.hang_too().await.unwrap_err();
    assert_eq!(client.shutdown().await, 3);
}

#[test]
fn builders_say_the_same_as_a_file() {
    let text = "registry = { name = 'direct', url = 'direct://a:1' }\n\
                [client]\nloadBalancer = 'random'\nfault = { name = 'failOver', retries = 1 }\n\
                timeoutMs = 1\nconnectTimeoutMs = 2\nmaxFrameBytes = 3\nrefreshMs = 4\nevents = false\n\
                [client.services.Accounts]\ntimeoutMs = 5\nfault = 'failSafe'\n\
                [client.services.Accounts.methods.hang]\nloadBalancer = 'random'\n\
                [server]\nlisten = 'a:1'\nadvertise = 'b:1'\nid = 'c'\nweight = 6\nmaxFrameBytes = 7\nmaxInFlight = 8\n\
                [server.metadata]\nzone = 'd'";
    let config = Config::from_toml(text).unwrap();
    let registry = || PluginConfig::new("direct").with("url", "direct://a:1");
    let client = Client::builder()
        .registry(registry())
        .load_balancer("random")
        .fault(PluginConfig::new("failOver").with("retries", 1))
        .timeout(Duration::from_millis(1))
        .connect_timeout(Duration::from_millis(2))
        .max_frame(3)
        .refresh(Duration::from_millis(4))
        .events(false)
        .service("Accounts", Policy::new().timeout(Duration::from_millis(5)).fault("failFast"))
        .service("Accounts", Policy::new().fault("failSafe"))
        .method("Accounts", "hang", Policy::new().load_balancer("random"));
    assert_eq!(format!("{:?}", config.client()), format!("{client:?}"));
    let server = Server::builder().registry(registry()).listen("a:1").advertise("b:1").id("c").weight(6);
    let server = server.max_frame(7).max_in_flight(8).metadata("zone", "d");
    assert_eq!(format!("{:?}", config.server()), format!("{server:?}"));
}

#[tokio::test]
async fn a_server_and_a_client_of_one_configuration_find_each_other() {
    let text = "registry = { name = 'memory', url = 'memory:config' }\n\
                [server]\nlisten = '127.0.0.1:0'\nid = 'bank-1'\nweight = 7\nmetadata = { zone = 'a' }";
    let config = Config::from_toml(text).unwrap();
    let _server = config.server().service(AccountsDispatcher::new(Bank)).start().await.unwrap();
    let client = config.client().build().unwrap();
    assert_eq!(client.stub::<AccountsStub>().unwrap().instance("ann".into()).await.unwrap(), "bank-1");
    let known = client.instances::<AccountsStub>().unwrap().list;
    assert_eq!((known[0].weight, known[0].metadata["zone"].as_str()), (7, "a"));
}

#[test]
fn the_environment_of_the_process_counts() {
    // Variables are set for a process of its own: this one has threads.
    const VARIABLE: &str = "RPC_TIMEOUT_MS";
    if std::env::var_os(VARIABLE).is_some() {
        assert_eq!(Config::load(None).unwrap().timeout(), Duration::from_millis(1_234));
        return;
    }
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "the_environment_of_the_process_counts"]).env(VARIABLE, "1234");
    let output = child.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// What is said when a client is built of this.
fn refusal(text: &str) -> String {
    let mut config = Config::from_toml(text).unwrap();
    if config.registry().is_none() {
        config.set_registry("direct://a:1");
    }
    let error = config.client().build().unwrap_err();
    error.source().map_or_else(|| error.to_string(), |source| format!("{error}: {source}"))
}

#[test]
fn a_mistake_is_told_when_the_client_is_built_with_its_key() {
    const BALANCERS: &str = "registered: consistentHash, random, roundRobin";
    const FAULTS: &str = "registered: failBack, failFast, failOver, failSafe";
    const IS_LINKED: &str = "is the crate that brings it named in the program (`use the_crate as _;`), and the cargo feature on that it may need?";
    const SERVICES: &str = "there are: Accounts, Strict; remove the section, or use the crate that has the trait";
    const METHODS: &str = "it has: instance, instance_too, hang, hang_too";
    for (text, told) in [
        ("client.fault = 'failover'", format!("`client.fault`: unknown fault strategy `failover`; did you mean `failOver`? {FAULTS}")),
        ("client.loadBalancer = 'leastActive'", format!("`client.loadBalancer`: unknown load balancer `leastActive`; {BALANCERS}; {IS_LINKED}")),
        ("client.services.Accounts.fault = ''", format!("`client.services.Accounts.fault`: unknown fault strategy ``; {FAULTS}; {IS_LINKED}")),
        (
            "client.services.Accounts.methods.hang.loadBalancer = 'randon'",
            format!("`client.services.Accounts.methods.hang.loadBalancer`: unknown load balancer `randon`; did you mean `random`? {BALANCERS}"),
        ),
        (
            "client.services.Accounts.methods.hang.fault = { name = 'failOver', retries = 11 }",
            "`client.services.Accounts.methods.hang.fault`: fault strategy `failOver` refuses its settings: setting `retries` is not accepted".to_owned(),
        ),
        (
            "client.services.Accounts.loadBalancer = { name = 'consistentHash', nodes = 1 }",
            "`client.services.Accounts.loadBalancer`: load balancer `consistentHash` refuses its settings: setting `nodes` is not accepted".to_owned(),
        ),
        ("client.services.Acounts.timeoutMs = 1", format!("`client.services.Acounts`: there is no service `Acounts` in this program; did you mean `Accounts`? {SERVICES}")),
        ("client.services.'test.Accounts'.timeoutMs = 1", format!("`client.services.test.Accounts`: there is no service `test.Accounts` in this program; did you mean `Accounts`? {SERVICES}")),
        ("client.services.Users = {}", format!("`client.services.Users`: there is no service `Users` in this program; {SERVICES}")),
        (
            "client.services.Accounts.methods.hangs.timeoutMs = 1",
            format!("`client.services.Accounts.methods.hangs`: service `Accounts` has no method `hangs`; did you mean `hang`? {METHODS}"),
        ),
        ("client.services.Accounts.methods.get = {}", format!("`client.services.Accounts.methods.get`: service `Accounts` has no method `get`; {METHODS}")),
        ("registry = 'localhost'", "`registry`: `localhost` is not a url; write the key of a plugin and its address, such as `direct://localhost:9000`".to_owned()),
        (
            "registry = { name = 'direct', url = 'direct://a:1', weight = 1 }",
            "`registry`: registry `direct` refuses its settings: setting `weight` is not accepted".to_owned(),
        ),
    ] {
        assert_eq!(refusal(text), told);
    }
}

#[test]
fn no_time_is_told_with_its_key() {
    let client = || Client::builder().registry("direct://a:1");
    let no_time = || Policy::new().timeout(Duration::ZERO);
    for (client, key) in [
        (client().service("Accounts", no_time()), "client.services.Accounts.timeoutMs"),
        (client().method("Accounts", "hang", no_time()), "client.services.Accounts.methods.hang.timeoutMs"),
        (client().max_frame(0), "client.maxFrameBytes"),
    ] {
        let told = format!("`{key}` is 0; give it 1 or more, or leave it to its default");
        assert_eq!(client.build().unwrap_err().to_string(), told);
    }
}

#[tokio::test]
async fn a_mistake_of_a_server_is_told_when_it_is_started() {
    let start = async |server: rpc::ServerBuilder| {
        let server = server.service(AccountsDispatcher::new(Bank)).listen("127.0.0.1:0").start();
        server.await.unwrap_err().to_string()
    };
    let registry = |text| Config::from_toml(text).unwrap().server();
    let told = start(registry("registry = 'memry:a'")).await;
    assert!(
        told.starts_with("`registry`: unknown registry (to register in) `memry`; did you mean `memory`?"),
        "{told}"
    );
    let told = start(Server::builder().max_in_flight(0)).await;
    assert_eq!(
        told,
        "`server.maxInFlight` is 0, and every call would be refused; give it 1 or more, or leave it to its default"
    );
}
