//! An etcd of the test's own: on free ports, in a temporary directory, ended with the test.

use std::fs::{self, File};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long etcd may take to answer.
const READY_WITHIN: Duration = Duration::from_secs(30);
/// How often other ports are tried, as another process may be quicker to take them.
const TRIES: usize = 5;

pub(crate) struct Server {
    directory: PathBuf,
    /// For clients, and for other members.
    ports: [u16; 2],
    /// Beyond those that every test needs.
    arguments: &'static [&'static str],
    /// Nothing while it is stopped.
    process: Option<Child>,
}

impl Server {
    /// Starts one and waits until it answers.
    pub(crate) async fn start() -> Self {
        Self::start_with(&[]).await
    }

    /// The same, with these arguments more.
    pub(crate) async fn start_with(arguments: &'static [&'static str]) -> Self {
        for _ in 0..TRIES {
            let mut server = Self { directory: directory(), ports: free_ports(), arguments, process: None };
            fs::create_dir(&server.directory).unwrap();
            server.process = Some(server.spawn());
            if server.is_ready().await {
                return server;
            }
        }
        panic!("etcd does not start");
    }

    /// Kills it. Its data stay.
    pub(crate) fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// Starts it again on the same ports, with the data of before.
    pub(crate) async fn start_again(&mut self) {
        self.process = Some(self.spawn());
        assert!(self.is_ready().await, "etcd does not start again");
    }

    /// Forgets all data, while it is stopped.
    pub(crate) fn wipe(&self) {
        fs::remove_dir_all(self.directory.join("data")).unwrap();
    }

    /// Where clients connect to.
    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.ports[0])
    }

    fn spawn(&self) -> Child {
        let [client, peer] = self.ports.map(|port| format!("http://127.0.0.1:{port}"));
        let log = || Stdio::from(File::create(self.directory.join("log")).unwrap());
        let mut command = Command::new("etcd");
        command
            .args(["--name", "test", "--data-dir"])
            .arg(self.directory.join("data"))
            .args(["--listen-client-urls", &client, "--advertise-client-urls", &client])
            .args(["--listen-peer-urls", &peer, "--initial-advertise-peer-urls", &peer])
            .args(["--initial-cluster", &format!("test={peer}")])
            .args(self.arguments);
        // Architectures that etcd itself is not tested on.
        command.env("ETCD_UNSUPPORTED_ARCH", std::env::consts::ARCH.replace("aarch64", "arm64"));
        match command.stdin(Stdio::null()).stdout(log()).stderr(log()).spawn() {
            Ok(process) => process,
            Err(error) => panic!("cannot start etcd: {error}; install it (on Debian: apt-get install etcd-server)"),
        }
    }

    /// Waits until it answers, or has ended.
    async fn is_ready(&mut self) -> bool {
        let started = Instant::now();
        let address = self.address();
        while !answers(&address).await {
            if self.process.as_mut().unwrap().try_wait().unwrap().is_some() {
                return false;
            }
            assert!(started.elapsed() < READY_WITHIN, "etcd does not answer; see {}", self.log().display());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        true
    }

    fn log(&self) -> PathBuf {
        self.directory.join("log")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop();
        // What is left over harms nobody.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// Whether etcd has a leader: it answers requests over HTTP with its health.
async fn answers(address: &str) -> bool {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let ask = async {
        let mut stream = tokio::net::TcpStream::connect(address).await?;
        stream.write_all(b"GET /health HTTP/1.0\r\n\r\n").await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await?;
        std::io::Result::Ok(answer)
    };
    matches!(tokio::time::timeout(Duration::from_secs(2), ask).await, Ok(Ok(answer)) if answer.contains(r#""true""#))
}

fn directory() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    Path::new(&std::env::temp_dir()).join(format!("rpc-test-etcd-{}-{number}", std::process::id()))
}

fn free_ports() -> [u16; 2] {
    let listeners = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    listeners.each_ref().map(|listener| listener.local_addr().unwrap().port())
}
