//! `example-consumer call`, run as a user runs it.

#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "what fails outside of a test function fails the test all the same")]

mod common;

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use common::{Provider, Summary, call, consumer, provider, signal};

/// Providers that are in no registry.
fn two_providers() -> [Provider; 2] {
    ["p1", "p2"].map(|id| provider("memory:none", id))
}

/// The registry in which just these are.
fn direct(providers: &[Provider]) -> String {
    let addresses: Vec<_> = providers.iter().map(|provider| provider.address.as_str()).collect();
    format!("direct://{}", addresses.join(","))
}

/// An address that nobody listens on.
fn nobody() -> String {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    format!("direct://{address}")
}

/// What a consumer that makes no calls says, which ends with this code.
fn refusal(code: i32, arguments: &[&str]) -> String {
    let output = consumer(arguments).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    said
}

#[test]
fn a_call_is_one_of_whoami_unless_more_is_asked_for() {
    let providers = two_providers();
    let output = consumer(&["call", "--registry", &direct(&providers), "--json"]).output().unwrap();
    let (shown, said) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert_eq!((output.status.code(), said.as_str()), (Some(0), ""));
    let value: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let names: Vec<_> = value.as_object().unwrap().keys().collect();
    let all = ["attempts", "byInstance", "degraded", "elapsedMs", "errors", "failed", "latencyUs", "ok", "requests"];
    assert_eq!(names, all);
    let errors = r#""errors":{"unavailable":0,"timeout":0,"overloaded":0,"connectionLost":0,"schema":0,"remote":0,"application":0,"internal":0}"#;
    assert!(shown.contains(errors), "{shown}");
    assert_eq!(shown.lines().count(), 1);
    assert_eq!(call(&direct(&providers), &[]).answered(), 1);
}

#[test]
fn people_are_told_the_sum_and_the_first_error_of_each_kind() {
    let providers = two_providers();
    let output = consumer(&["call", "--registry", &direct(&providers), "--requests", "10"]).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.starts_with("10 calls in ") && shown.contains(": 10 ok, 0 failed, 0 degraded\n"), "{shown}");
    assert!(shown.contains("\n10 requests were sent\n"), "{shown}");
    let output = consumer(&["call", "--registry", &direct(&providers)]).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.starts_with("1 call in ") && shown.contains("\n1 request was sent\n"), "{shown}");
    let nobody = nobody();
    let output = consumer(&["call", "--registry", &nobody, "--requests", "10"]).output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    let error = "\n     10  unavailable: `UserService.whoami`: no instance can take the call (";
    assert!(shown.contains(error), "{shown}");
}

#[test]
fn every_method_is_answered_by_every_provider() {
    let providers = two_providers();
    for method in ["whoami", "get-user", "create-user", "nap"] {
        let summary = call(&direct(&providers), &["--method", method, "--requests", "200", "--concurrency", "50"]);
        assert_eq!((summary.ok, summary.attempts), (200, 200), "{method}");
        assert!(summary.by_instance.values().eq(&[100, 100]), "{method}: {summary:?}");
    }
}

#[test]
fn a_nap_takes_its_time() {
    let providers = two_providers();
    let summary = call(&direct(&providers), &["--method", "nap", "--nap-ms", "250"]);
    println!("{summary:?}");
    assert!(summary.latency_us.p50 >= 250_000 && summary.elapsed_ms >= 250, "{summary:?}");
}

#[test]
fn failures_are_counted_by_kind_and_do_not_matter_to_the_exit_code() {
    let unavailable = call(&nobody(), &["--requests", "20", "--concurrency", "3"]);
    assert_eq!((unavailable.failed, unavailable.attempts, unavailable.errors["unavailable"]), (20, 0, 20));
    let providers = two_providers();
    let naps = ["--method", "nap", "--nap-ms", "60000", "--timeout-ms", "50", "--requests", "8", "--concurrency", "4"];
    let timeout = call(&direct(&providers), &naps);
    assert_eq!((timeout.failed, timeout.attempts, timeout.errors["timeout"]), (8, 8, 8));
    let retried = call(&nobody(), &["--fault", "failOver", "--retries", "0", "--requests", "5"]);
    assert_eq!((retried.failed, retried.errors["unavailable"]), (5, 5));
}

#[test]
fn calls_that_go_on_without_an_answer_are_degraded_and_neither_failed_nor_answered() {
    for fault in ["failSafe", "failBack"] {
        let summary = call(&nobody(), &["--fault", fault, "--requests", "5"]);
        assert_eq!((summary.ok, summary.failed, summary.degraded, summary.answered()), (0, 0, 5, 0), "{fault}");
    }
}

#[test]
fn a_key_goes_to_one_provider_and_keys_in_turn_go_to_several() {
    let providers = two_providers();
    let registry = direct(&providers);
    let by_key = |more: &[&str]| {
        let arguments = ["--load-balancer", "consistentHash", "--requests", "200", "--concurrency", "8"];
        call(&registry, &[&arguments[..], more].concat())
    };
    let (one, again) = (by_key(&["--key", "x"]), by_key(&["--key", "x"]));
    assert_eq!((one.ok, one.by_instance.len()), (200, 1));
    assert_eq!(one.by_instance, again.by_instance);
    let many = by_key(&["--keys", "100"]);
    assert_eq!((many.ok, many.by_instance.len()), (200, 2));
    // Each key is used twice, and goes to the same provider both times.
    assert!(many.by_instance.values().all(|answers| answers % 2 == 0), "{many:?}");
}

#[test]
fn a_rate_is_kept_and_a_slow_answer_holds_nothing_up() {
    let providers = two_providers();
    let naps = ["--method", "nap", "--nap-ms", "500", "--rate", "200", "--requests", "200"];
    let summary = call(&direct(&providers), &naps);
    println!("{summary:?}");
    assert_eq!(summary.ok, 200);
    // The last one begins after 995 ms. One after the other they would take 100 s.
    assert!((1_495..10_000).contains(&summary.elapsed_ms), "{summary:?}");
}

#[test]
fn an_open_loop_keeps_to_the_number_of_calls_under_way() {
    let naps = ["--method", "nap", "--nap-ms", "50", "--rate", "1000", "--requests", "20", "--concurrency", "2"];
    let summary = call(&direct(&two_providers()), &naps);
    println!("{summary:?}");
    // Ten times two at a time; the last ones wait for the others, which counts as their latency.
    assert_eq!(summary.ok, 20);
    assert!(summary.elapsed_ms >= 500 && summary.latency_us.max >= 450_000, "{summary:?}");
}

#[test]
fn calls_are_made_for_a_time_instead_of_a_number() {
    let providers = two_providers();
    for pace in [&["--concurrency", "4"][..], &["--rate", "100"]] {
        let summary = call(&direct(&providers), &[&["--duration-s", "1"], pace].concat());
        println!("{summary:?}");
        assert_eq!(summary.ok, summary.requests);
        assert!((900..10_000).contains(&summary.elapsed_ms), "{summary:?}");
        // The last one is due 10 ms before the end, which a busy machine may miss.
        assert!(pace[0] == "--concurrency" || (50..=100).contains(&summary.requests), "{summary:?}");
    }
}

#[test]
fn no_call_is_begun_once_the_time_is_over_however_many_are_due() {
    let naps = ["--method", "nap", "--nap-ms", "50", "--rate", "1000000", "--concurrency", "2", "--duration-s", "1"];
    let summary = call(&direct(&two_providers()), &naps);
    println!("{summary:?}");
    // Two at a time, each begun within the second.
    assert!((2..=40).contains(&summary.ok) && summary.ok == summary.requests, "{summary:?}");
    assert!(summary.elapsed_ms < 10_000, "{summary:?}");
}

#[test]
fn who_interrupts_or_ends_it_gets_the_sum_so_far() {
    let providers = two_providers();
    for (end, pace) in [("-INT", ["--concurrency", "4"]), ("-TERM", ["--rate", "100"])] {
        let process = calling(&providers, &pace, Stdio::piped());
        signal(&process, end);
        let output = process.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{end}");
        let summary = Summary::read(&output.stdout);
        assert!(summary.elapsed_ms < 20_000, "{summary:?}");
    }
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once() {
    // Nobody reads the sum, and there is no room left for it.
    let (mut full, _unread) = UnixStream::pair().unwrap();
    full.set_nonblocking(true).unwrap();
    while full.write(&[0]).is_ok() {}
    full.set_nonblocking(false).unwrap();
    let providers = two_providers();
    let process = calling(&providers, &[], OwnedFd::from(full).into());
    let mut consumer = Provider { process, id: "the consumer".to_owned(), address: String::new() };
    consumer.signal("-INT");
    consumer.signal("-TERM");
    assert_eq!(consumer.ended().await.code(), Some(1));
}

/// A consumer that makes calls, and looks for signals.
fn calling(providers: &[Provider], pace: &[&str], stdout: Stdio) -> Child {
    let naps = ["call", "--registry", &direct(providers), "--method", "nap", "--nap-ms", "1", "--duration-s", "60"];
    let process = consumer(&[&naps[..], &["--json"], pace].concat()).stdout(stdout).spawn().unwrap();
    let started = Instant::now();
    while !catches_interrupts(process.id()) {
        assert!(started.elapsed() < Duration::from_secs(10), "it does not look for signals");
        std::thread::sleep(Duration::from_millis(1));
    }
    process
}

/// Whether a process has a handler for SIGINT.
fn catches_interrupts(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
    u64::from_str_radix(caught.trim(), 16).unwrap() & 0b10 != 0
}

#[test]
fn a_mistake_ends_it_with_2_and_is_named_before_anybody_is_asked() {
    let nobody = nobody();
    for (arguments, error) in [
        (
            &["--load-balancer", "roundrobin"][..],
            "error: `client.loadBalancer`: unknown load balancer `roundrobin`; did you mean `roundRobin`? registered: ",
        ),
        (
            &["--fault", "failover"],
            "error: `client.fault`: unknown fault strategy `failover`; did you mean `failOver`? registered: ",
        ),
        (
            &["--retries", "3"],
            "error: `client.fault`: fault strategy `failFast` refuses its settings: setting `retries` is not accepted: ",
        ),
        (
            &["--fault", "failOver", "--retries", "11"],
            "error: `client.fault`: fault strategy `failOver` refuses its settings: ",
        ),
        (&["--retries", "-1"], "error: invalid value '-1' for '--retries <N>': "),
        (&["--timeout-ms", "0"], "error: `client.timeoutMs` is 0; give it 1 or more, "),
        (&["--nap-ms", "5"], "error: `--nap-ms` is for `--method nap`\n"),
        (&["--requests", "0"], "error: invalid value '0' for '--requests <N>': "),
        (&["--concurrency", "0"], "error: invalid value '0' for '--concurrency <N>': "),
        (&["--rate", "-5"], "error: invalid value '-5' for '--rate <PER_S>': "),
        (&["--rate", "0"], "error: invalid value '0' for '--rate <PER_S>': "),
        (&["--keys", "0"], "error: invalid value '0' for '--keys <N>': "),
        (&["--duration-s", "0"], "error: invalid value '0' for '--duration-s <N>': "),
        (&["--duration-s", "5", "--requests", "5"], "error: the argument '--duration-s <N>' cannot be used with "),
        (&["--key", "x", "--keys", "5"], "error: the argument '--key <K>' cannot be used with "),
        (&["--method", "who"], "error: invalid value 'who' for '--method <METHOD>'\n"),
    ] {
        let said = refusal(2, &[&["call", "--registry", &nobody], arguments].concat());
        assert!(said.starts_with(error), "{said}");
    }
    let said = refusal(2, &["call", "--registry", "nowhere"]);
    assert!(said.starts_with("error: `registry`: `nowhere` is not a url; "), "{said}");
}
