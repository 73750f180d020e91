//! The list of instances is cached, kept fresh by events and on a period, and outlives its registry.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::Instant;

use super::probe::{Counting, Probe, ProbeStub};
use super::script::{PREPARED, Script, State};
use super::{Network, assert_took, until};
use crate::{CallOptions, Client, ClientBuilder, Code, Executed, Server, Source};

const A: &str = "10.0.0.1:1";
const B: &str = "10.0.0.2:1";

/// Two instances on a network, and a client builder that finds them by the script of this name.
async fn stage(name: &str) -> (Network, [Counting; 2], [Server; 2], ClientBuilder) {
    let (network, services) = (Network::default(), [Counting::default(), Counting::default()]);
    let servers = [network.serve(A, services[0].server()).await, network.serve(B, services[1].server()).await];
    let client = Client::builder().registry(format!("script:{name}")).connect(network.clone());
    (network, services, servers, client)
}

fn pushing(addresses: &[&'static str]) -> State {
    State { addresses: addresses.to_vec(), pushes: true, ..State::default() }
}

fn polled(addresses: &[&'static str]) -> State {
    State { addresses: addresses.to_vec(), ..State::default() }
}

#[tokio::test(start_paused = true)]
async fn callers_that_come_together_share_the_first_lookup() {
    let script = Script::new("together", State { delay: Duration::from_secs(1), ..polled(&[A]) });
    let (_network, services, _servers, client) = stage("together").await;
    let probe: ProbeStub = client.build().unwrap().stub().unwrap();
    let started = Instant::now();
    let calls: Vec<_> = (0..64)
        .map(|_| {
            let probe = probe.clone();
            tokio::spawn(async move { probe.echo("hello".into()).await })
        })
        .collect();
    for call in calls {
        call.await.unwrap().unwrap();
    }
    assert_took(started, Duration::from_secs(1));
    assert_eq!((script.lookups(), services[0].started()), (1, 64));
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_the_first_list_waits_no_longer_than_its_deadline() {
    Script::new("hanging", State { delay: Duration::from_secs(3_600), ..polled(&[A]) });
    let (_network, _services, _servers, client) = stage("hanging").await;
    let probe: ProbeStub = client.build().unwrap().stub().unwrap();
    let started = Instant::now();
    let error = probe.with(CallOptions::new().timeout(Duration::from_millis(700))).echo("x".into()).await.unwrap_err();
    assert_took(started, Duration::from_millis(700));
    assert_eq!((error.code(), error.executed()), (Code::DeadlineExceeded, Executed::No));
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_hangs_has_failed_after_five_seconds() {
    Script::new("hung", State { delay: Duration::from_secs(3_600), ..polled(&[A]) });
    let (_network, _services, _servers, client) = stage("hung").await;
    let probe: ProbeStub = client.timeout(Duration::from_secs(60)).build().unwrap().stub().unwrap();
    let started = Instant::now();
    let error = probe.echo("x".into()).await.unwrap_err();
    assert_took(started, Duration::from_secs(5));
    assert_eq!(error.code(), Code::Unavailable);
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(cause, "the registry did not answer a lookup within 5 s");
}

#[tokio::test(start_paused = true)]
async fn a_first_list_is_asked_for_again_when_somebody_wants_it() {
    let script = Script::new("fails at first", State { fails: Some("down"), ..polled(&[A]) });
    let (_network, _services, _servers, client) = stage("fails at first").await;
    let probe: ProbeStub = client.build().unwrap().stub().unwrap();
    for _ in 0..10 {
        let error = probe.echo("x".into()).await.unwrap_err();
        assert_eq!((error.code(), error.executed()), (Code::Unavailable, Executed::No));
        assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "down");
    }
    let times = script.lookups.lock().unwrap().clone();
    let gaps = times.windows(2).map(|pair| pair[1] - pair[0]);
    assert!(gaps.clone().all(|gap| gap >= Duration::from_millis(100)), "{:?}", gaps.collect::<Vec<_>>());
    script.change(|state| state.fails = None);
    let started = Instant::now();
    probe.echo("x".into()).await.unwrap();
    assert!(started.elapsed() <= Duration::from_millis(110), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn ready_says_whether_the_registry_answers_and_what() {
    let script = Script::new("readiness", State { fails: Some("down"), ..polled(&[]) });
    let (_network, _services, _servers, client) = stage("readiness").await;
    let client = client.build().unwrap();
    let error = client.ready::<ProbeStub>(Duration::from_secs(60)).await.unwrap_err();
    assert_eq!(error.code(), Code::Unavailable);
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "down");

    script.change(|state| (state.fails, state.delay) = (None, Duration::from_secs(1)));
    let started = Instant::now();
    let error = client.ready::<ProbeStub>(Duration::from_millis(700)).await.unwrap_err();
    assert_took(started, Duration::from_millis(700));
    let text = "deadline exceeded: service `Probe`: registry `script:readiness` gave no answer within 700ms";
    assert_eq!((error.code(), error.executed()), (Code::DeadlineExceeded, Executed::No));
    assert_eq!(error.to_string(), text);

    assert_eq!(client.ready::<ProbeStub>(Duration::from_secs(60)).await.unwrap().list, []);
    let asked = script.lookups();
    assert_eq!(client.ready::<ProbeStub>(Duration::ZERO).await.unwrap().list, []);
    assert_eq!(script.lookups(), asked);
}

#[tokio::test(start_paused = true)]
async fn an_event_reaches_the_next_call() {
    let script = Script::new("events", pushing(&[A]));
    let (_network, services, _servers, client) = stage("events").await;
    let client = client.build().unwrap();
    let (probe, mut changes): (ProbeStub, _) = (client.stub().unwrap(), client.changes::<ProbeStub>().unwrap());
    probe.echo("x".into()).await.unwrap();
    assert_eq!(changes.next().await.unwrap().added[0].address, A);

    let started = Instant::now();
    script.change(|state| state.addresses = vec![B]);
    let change = changes.next().await.unwrap();
    assert!(started.elapsed() < Duration::from_secs(1));
    assert_eq!((&*change.added[0].address, &*change.removed[0].address, change.source), (B, A, Source::Event));
    probe.echo("x".into()).await.unwrap();
    assert_eq!((services[0].started(), services[1].started()), (1, 1));
    assert_eq!(script.lookups(), 0);
}

#[tokio::test(start_paused = true)]
async fn without_events_a_change_is_seen_when_the_period_is_over() {
    for (name, state) in [("cannot push", polled(&[A])), ("may not push", pushing(&[A]))] {
        let script = Script::new(name, state);
        let (_network, _services, _servers, client) = stage(name).await;
        let client = client.events(false).build().unwrap();
        let (probe, mut changes): (ProbeStub, _) = (client.stub().unwrap(), client.changes::<ProbeStub>().unwrap());
        probe.echo("x".into()).await.unwrap();
        changes.next().await.unwrap();
        let started = Instant::now();
        script.change(|state| state.addresses = vec![A, B]);
        let change = changes.next().await.unwrap();
        let took = started.elapsed();
        assert!(took >= Duration::from_secs(24) && took <= Duration::from_millis(36_010), "{name}: {took:?}");
        assert_eq!(change.source, Source::Refresh);
    }
}

#[tokio::test(start_paused = true)]
async fn a_hundred_clients_that_start_together_do_not_ask_together() {
    let script = Script::new("jitter", polled(&[A]));
    let (_network, _services, _servers, _) = stage("jitter").await;
    let clients: Vec<Client> = (0..100)
        .map(|_| Client::builder().registry("script:jitter").refresh(Duration::from_secs(10)).build().unwrap())
        .collect();
    let _following: Vec<_> = clients.iter().map(|client| client.changes::<ProbeStub>().unwrap()).collect();
    let started = Instant::now();
    tokio::time::sleep(Duration::from_secs(60)).await;
    let times: Vec<f64> = script.lookups.lock().unwrap().iter().map(|at| (*at - started).as_secs_f64()).collect();
    let most = times
        .iter()
        .filter(|at| **at > 1.0)
        .map(|from| times.iter().filter(|at| **at >= *from && **at < from + 1.0).count());
    let most = most.max().unwrap();
    println!("{} lookups, at most {most} in a second after the first", times.len());
    assert!(most <= 50, "{most}");
    assert!(times.len() >= 500, "{}", times.len());
}

#[tokio::test(start_paused = true)]
async fn calls_go_on_while_the_registry_is_down_and_the_age_shows() {
    for (name, state) in [("down, polled", polled(&[A])), ("down, pushing", pushing(&[A]))] {
        let script = Script::new(name, state);
        let (_network, _services, _servers, client) = stage(name).await;
        let client = client.build().unwrap();
        let probe: ProbeStub = client.stub().unwrap();
        probe.echo("x".into()).await.unwrap();
        script.change(|state| state.fails = Some("down"));
        let lookups = script.lookups();
        for _ in 0..600 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            probe.echo("x".into()).await.unwrap();
        }
        let instances = client.instances::<ProbeStub>().unwrap();
        assert_eq!((instances.list.len(), instances.failure.as_deref()), (1, Some("down")), "{name}");
        assert!(instances.age >= Duration::from_secs(560), "{name}: {:?}", instances.age);
        // Every 30 s where nothing else is to be had, every 5 s while a watch is down, each within a fifth.
        let lookups = script.lookups() - lookups;
        let expected = if name.ends_with("polled") { 16..=25 } else { 100..=150 };
        assert!(expected.contains(&lookups), "{name}: {lookups}");

        script.change(|state| {
            state.fails = None;
            state.addresses = vec![A, B];
        });
        let started = Instant::now();
        while client.instances::<ProbeStub>().unwrap().list.len() < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let bound = if name.ends_with("polled") { 36 } else { 1 };
        assert!(started.elapsed() <= Duration::from_secs(bound), "{name}: {:?}", started.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_lookup_that_began_before_an_event_does_not_undo_it() {
    let script = Script::new("older lookup", State { delay: Duration::from_secs(4), ..pushing(&[A]) });
    let (_network, services, _servers, client) = stage("older lookup").await;
    let client = client.build().unwrap();
    let probe: ProbeStub = client.stub().unwrap();
    probe.echo("x".into()).await.unwrap();
    until_lookups(&script, 1).await;
    script.change(|state| state.addresses = vec![B]);
    until(|| client.instances::<ProbeStub>().unwrap().list[0].address == B).await;
    for _ in 0..100 {
        probe.echo("x".into()).await.unwrap();
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!((services[0].started(), services[1].started(), script.lookups()), (1, 100, 1));
}

#[tokio::test(start_paused = true)]
async fn a_lookup_that_hangs_after_the_first_list_keeps_no_call_waiting() {
    let script = Script::new("hangs later", polled(&[A]));
    let (_network, services, _servers, client) = stage("hangs later").await;
    let client = client.refresh(Duration::from_secs(1)).build().unwrap();
    let probe: ProbeStub = client.stub().unwrap();
    probe.echo("x".into()).await.unwrap();
    script.change(|state| state.delay = Duration::from_secs(3_600));
    for _ in 0..1_200 {
        let started = Instant::now();
        probe.echo("x".into()).await.unwrap();
        assert_took(started, Duration::ZERO);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let failure = client.instances::<ProbeStub>().unwrap().failure;
    assert_eq!(failure.as_deref(), Some("the registry did not answer a lookup within 5 s"));
    assert_eq!(services[0].started(), 1_201);
}

#[tokio::test(start_paused = true)]
async fn only_a_changed_list_is_prepared_again() {
    let script = Script::new("prepared", polled(&[A, B]));
    let (_network, _services, _servers, client) = stage("prepared").await;
    let client = client.load_balancer("counted").refresh(Duration::from_secs(1)).build().unwrap();
    let probe: ProbeStub = client.stub().unwrap();
    probe.echo("x".into()).await.unwrap();
    until_lookups(&script, 1_000).await;
    assert_eq!(PREPARED.load(Ordering::Relaxed), 1);
    for round in 0..10 {
        // The order of arrival is no change.
        script.change(|state| state.addresses = if round % 2 == 0 { vec![A] } else { vec![B, A] });
        until_lookups(&script, script.lookups() + 3).await;
    }
    assert_eq!(PREPARED.load(Ordering::Relaxed), 11);
}

async fn until_lookups(script: &Script, count: usize) {
    while script.lookups() < count {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_instance_that_left_the_list_finishes_what_it_was_asked() {
    let script = Script::new("left", pushing(&[A]));
    let (_network, services, _servers, client) = stage("left").await;
    let client = client.build().unwrap();
    let probe: ProbeStub = client.stub().unwrap();
    let nap = tokio::spawn({
        let probe = probe.clone();
        async move { probe.nap(2_500).await }
    });
    until(|| services[0].running() == 1).await;
    script.change(|state| state.addresses = vec![B]);
    until(|| client.instances::<ProbeStub>().unwrap().list[0].address == B).await;
    probe.echo("x".into()).await.unwrap();
    assert_eq!(nap.await.unwrap().unwrap(), 2_500);
}

#[tokio::test(start_paused = true)]
async fn an_empty_list_is_an_error_at_once_and_an_instance_ends_it() {
    let script = Script::new("empty", pushing(&[]));
    let (_network, _services, _servers, client) = stage("empty").await;
    let client = client.build().unwrap();
    let (probe, mut changes): (ProbeStub, _) = (client.stub().unwrap(), client.changes::<ProbeStub>().unwrap());
    for _ in 0..3 {
        let started = Instant::now();
        let error = probe.echo("x".into()).await.unwrap_err();
        assert_took(started, Duration::ZERO);
        assert_eq!((error.code(), error.executed()), (Code::NoInstance, Executed::No));
        assert!(error.message().contains("no instance of service `Probe`"), "{error}");
        script.change(|state| state.addresses = vec![A]);
        assert_eq!(changes.next().await.unwrap().added.len(), 1);
        probe.echo("x".into()).await.unwrap();
        script.change(|state| state.addresses = vec![]);
        assert_eq!(changes.next().await.unwrap().removed.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_watched_is_watched_again_when_the_watch_comes_back() {
    let script = Script::new("watch again", pushing(&[A]));
    let (_network, _services, _servers, client) = stage("watch again").await;
    let client = client.build().unwrap();
    let probe: ProbeStub = client.stub().unwrap();
    probe.echo("x".into()).await.unwrap();
    script.change(|state| state.fails = Some("cut"));
    tokio::time::sleep(Duration::from_secs(60)).await;
    script.change(|state| state.fails = None);
    tokio::time::sleep(Duration::from_secs(10)).await;
    let lookups = script.lookups();
    script.change(|state| state.addresses = vec![B]);
    until(|| client.instances::<ProbeStub>().unwrap().list[0].address == B).await;
    assert_eq!(script.lookups(), lookups, "the change came by an event");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_fails_twice_is_still_a_watch() {
    let script = Script::new("fails twice", pushing(&[A]));
    let (_network, _services, _servers, client) = stage("fails twice").await;
    let client = client.build().unwrap();
    let probe: ProbeStub = client.stub().unwrap();
    probe.echo("x".into()).await.unwrap();
    for failure in ["cut", "still cut"] {
        script.change(|state| state.fails = Some(failure));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    script.change(|state| {
        state.fails = None;
        state.addresses = vec![B];
    });
    until(|| client.instances::<ProbeStub>().unwrap().list[0].address == B).await;
    assert_eq!((script.watches(), script.lookups()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_at_once_is_no_busy_loop_and_lookups_serve_instead() {
    let script = Script::new("ends", State { watch_ends: true, ..pushing(&[A]) });
    let (_network, _services, _servers, client) = stage("ends").await;
    let probe: ProbeStub = client.build().unwrap().stub().unwrap();
    let started = Instant::now();
    probe.echo("x".into()).await.unwrap();
    assert_took(started, Duration::ZERO);
    tokio::time::sleep(Duration::from_secs(60)).await;
    println!("{} watches, {} lookups in a minute", script.watches(), script.lookups());
    assert!((10..=25).contains(&script.watches()), "{}", script.watches());
    assert!((10..=25).contains(&script.lookups()), "{}", script.lookups());
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_takes_long_to_open_does_not_keep_the_first_call_waiting() {
    let script = Script::new("slow watch", State { watch_delay: Duration::from_secs(4), ..pushing(&[A]) });
    let (_network, _services, _servers, client) = stage("slow watch").await;
    let client = client.build().unwrap();
    let probe: ProbeStub = client.stub().unwrap();
    let started = Instant::now();
    probe.echo("x".into()).await.unwrap();
    assert_took(started, Duration::from_millis(100));
    tokio::time::sleep(Duration::from_secs(5)).await;
    script.change(|state| state.addresses = vec![B]);
    until(|| client.instances::<ProbeStub>().unwrap().list[0].address == B).await;
}

#[tokio::test(start_paused = true)]
async fn a_call_on_its_way_to_a_provider_that_was_replaced_finds_the_new_one() {
    let script = Script::new("replaced", pushing(&["10.0.0.3:1"]));
    let (network, services, _servers, client) = stage("replaced").await;
    // It accepts, but says no hello: connecting to it takes the whole timeout.
    let _mute = network.listen("10.0.0.3:1".parse().unwrap());
    let probe: ProbeStub = client.build().unwrap().stub().unwrap();
    let call = tokio::spawn(async move { probe.echo("x".into()).await });
    tokio::time::sleep(Duration::from_millis(100)).await;
    script.change(|state| state.addresses = vec![A]);
    assert_eq!(call.await.unwrap().unwrap(), "x");
    assert_eq!(services[0].started(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_balancer_that_panics_on_a_list_leaves_the_last_one_in_use_until_it_does_not() {
    let script = Script::new("panics", pushing(&[A]));
    let (_network, services, _servers, client) = stage("panics").await;
    let client = client.load_balancer("panicking").build().unwrap();
    let probe: ProbeStub = client.stub().unwrap();
    probe.echo("x".into()).await.unwrap();
    script.change(|state| state.addresses = vec![A, B]);
    until(|| client.instances::<ProbeStub>().unwrap().failure.is_some()).await;
    let instances = client.instances::<ProbeStub>().unwrap();
    assert_eq!(instances.failure.as_deref(), Some("the load balancer panicked on the list"));
    assert_eq!(instances.list[0].address, A);
    probe.echo("x".into()).await.unwrap();
    script.change(|state| state.addresses = vec![B]);
    until(|| client.instances::<ProbeStub>().unwrap().list[0].address == B).await;
    probe.echo("x".into()).await.unwrap();
    assert_eq!((services[0].started(), services[1].started()), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_tries_on_without_a_pause_leaves_the_registry_its_turn() {
    let script = Script::new("tries on", pushing(&[]));
    let (_network, _services, _servers, client) = stage("tries on").await;
    let probe: ProbeStub = client.build().unwrap().stub().unwrap();
    assert_eq!(probe.echo("x".into()).await.unwrap_err().code(), Code::NoInstance);
    script.change(|state| state.addresses = vec![A]);
    let mut tries = 0;
    while probe.echo("x".into()).await.is_err() {
        tries += 1;
        assert!(tries < 10_000, "the new list is never seen");
    }
}
