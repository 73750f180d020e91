//! Which of several sources counts, and what is said of mistakes.

use std::collections::HashMap;
use std::path::PathBuf;

use super::*;
use crate::Client;

/// All that a file can say.
const FULL: &str = r#"
registry = "script:config"

[client]
loadBalancer = "roundRobin"
fault = { name = "failFast", retries = 2 }
timeoutMs = 2000
codec = "json"
connectTimeoutMs = 400
maxFrameBytes = 1000
refreshMs = 9000
events = false

[client.services.Probe]
loadBalancer = { name = "counted", points = [1, 2] }
fault = "failFast"
timeoutMs = 500

[client.services.Probe.methods.echo]
loadBalancer = "roundRobin"
fault = { name = "failOver", retries = 5 }
timeoutMs = 200

[client.services.Probe.methods.nap]

[server]
listen = "127.0.0.1:9000"
advertise = "10.0.0.1:9000"
id = "probe-1"
weight = 0
maxFrameBytes = 2000
maxInFlight = 7

[server.metadata]
"far off" = 'a "b" c'
"#;

/// What is printed of nothing: all defaults.
const DEFAULTS: &str = r#"[client]
codec = "bincode"
connectTimeoutMs = 500
events = true
fault = "failFast"
loadBalancer = "roundRobin"
maxFrameBytes = 8388608
refreshMs = 30000
timeoutMs = 3000

[server]
listen = "0.0.0.0:0"
maxFrameBytes = 8388608
maxInFlight = 1024
weight = 100
"#;

fn read(text: &str) -> Config {
    Config::from_toml(text).unwrap()
}

fn refusal(text: &str) -> String {
    Config::from_toml(text).unwrap_err().to_string()
}

/// A configuration without a file, of these variables.
fn environment(variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let variables: HashMap<_, _> = variables.iter().copied().collect();
    Config::from_sources(None, |name| variables.get(name).map(OsString::from))
}

/// A file that goes with its test.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("rpc-config-{}-{name}.toml", std::process::id()));
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    /// Its configuration, with these variables over it.
    fn load(&self, variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let variables: HashMap<_, _> = variables.iter().copied().collect();
        Config::from_sources(Some(&self.0), |name| variables.get(name).map(OsString::from))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn nothing_said_is_all_defaults() {
    assert_eq!(Config::default().to_string(), DEFAULTS);
    assert_eq!(read("").to_string(), DEFAULTS);
    assert_eq!(environment(&[]).unwrap().to_string(), DEFAULTS);
    let defaults = Client::builder();
    assert_eq!(format!("{defaults:?}"), format!("{:?}", Config::default().client()));
}

#[test]
fn what_is_printed_loads_to_the_same() {
    let lines = r#"server.metadata."a\nb" = "c\nd\"\"\"'''\u0000e" "#;
    let controls = r#"
        server.metadata."\u007F\u0001\u0085" = "\u007F"
        client.fault = { name = "failFast", "\u007F" = { "\u007F" = ["\u007F"] } }
        client.services."\u007F" = { fault = "failFast" }"#;
    for text in
        ["", FULL, DEFAULTS, lines, controls, "[client.services.Probe.methods.nap]", "[client.services.\"a.b\"]"]
    {
        let printed = read(text).to_string();
        assert_eq!(read(&printed).to_string(), printed, "{text}");
        let (once, again) = (read(text), read(&printed));
        assert_eq!(format!("{:?}", again.client()), format!("{:?}", once.client()), "{text}");
        assert_eq!(again.server.metadata, once.server.metadata);
    }
    let printed = read(FULL).to_string();
    for line in FULL.lines().filter(|line| !line.is_empty()) {
        assert!(printed.contains(line), "{line} is missing in {printed}");
    }
}

#[test]
fn a_password_is_not_printed() {
    let table = "registry = { name = \"etcd\", url = \"etcd://ann:secret@a:1\" }";
    for text in ["registry = \"etcd://ann:secret@a:1\"", table] {
        let config = read(text);
        for printed in [config.to_string(), format!("{config:?}")] {
            assert!(printed.contains("etcd://***@a:1") && !printed.contains("secret"), "{printed}");
        }
    }
}

#[cfg(unix)]
#[test]
fn a_password_in_a_variable_that_is_no_text_is_not_shown() {
    use std::os::unix::ffi::OsStringExt;
    let url = || OsString::from_vec(b"etcd://ann:secret@a:1\xff".to_vec());
    let error = Config::from_sources(None, |name| (name == "RPC_REGISTRY").then(url)).unwrap_err().to_string();
    assert_eq!(error, "`RPC_REGISTRY` is `etcd://***@a:1\u{fffd}`; give it the url of a registry");
}

#[test]
fn a_setting_that_no_file_can_hold_does_not_keep_it_from_being_printed() {
    let mut config = Config::default();
    config.set_fault(PluginConfig::new("failFast").with("weights", HashMap::from([([1_u8, 2], 3)])));
    let printed = config.to_string();
    assert!(printed.starts_with("# this configuration cannot be written as a file: setting `weights`"), "{printed}");
}

#[test]
fn the_program_counts_before_the_environment_and_that_before_the_file() {
    let file = File::new("precedence", FULL);
    let mut config = file.load(&[]).unwrap();
    assert_eq!(config.timeout(), Duration::from_secs(2));
    assert_eq!(config.registry().unwrap().to_string(), "script:config");
    let variables = [("RPC_TIMEOUT_MS", "70"), ("RPC_REGISTRY", "script:environment"), ("RPC_FAULT", "failSafe")];
    config = file.load(&variables).unwrap();
    assert_eq!(config.timeout(), Duration::from_millis(70));
    assert_eq!(config.registry().unwrap().to_string(), "script:environment");
    assert_eq!(config.fault().key(), "failSafe");
    config.set_timeout(Duration::from_micros(1_001));
    config.set_registry("script:program");
    config.set_fault(config.fault().clone().with("retries", 3));
    let printed = config.to_string();
    for line in ["timeoutMs = 2", "registry = \"script:program\"", "fault = { name = \"failSafe\", retries = 3 }"] {
        assert!(printed.contains(line), "{line} is missing in {printed}");
    }
}

#[test]
fn what_is_overridden_counts_for_all_calls() {
    let file = File::new("overridden", FULL);
    let overridden =
        [("RPC_TIMEOUT_MS", "70"), ("RPC_LOAD_BALANCER", "random"), ("RPC_FAULT", "failSafe"), ("RPC_OTHER", "")];
    let config = file.load(&overridden).unwrap();
    for (key, value) in [("timeoutMs = ", "70"), ("loadBalancer = ", "\"random\""), ("fault = ", "\"failSafe\"")] {
        let printed = config.to_string();
        let values: Vec<_> = printed.lines().filter_map(|line| line.strip_prefix(key)).collect();
        assert_eq!(values, [value], "{key}");
    }
    // The rest of the sections is as it was.
    let config = file.load(&overridden[1..2]).unwrap().to_string();
    assert!(
        config.contains(
            "[client.services.Probe.methods.echo]\nfault = { name = \"failOver\", retries = 5 }\ntimeoutMs = 200"
        ),
        "{config}"
    );
}

#[test]
fn who_asked_for_a_plugin_is_told_by_the_client_that_cannot_have_it() {
    let asked = [("RPC_FAULT", "failfast"), ("RPC_REGISTRY", "fixed:a:1")];
    let mut config = environment(&asked).unwrap();
    let error = config.client().build().unwrap_err().to_string();
    assert!(error.starts_with("`RPC_FAULT`: unknown fault strategy `failfast`;"), "{error}");
    config.set_fault("failsafe");
    let error = config.client().build().unwrap_err().to_string();
    assert!(error.starts_with("`client.fault`: unknown fault strategy `failsafe`;"), "{error}");
}

#[test]
fn the_file_is_the_programs_or_that_of_the_environment() {
    let (ours, theirs) =
        (File::new("ours", "registry = \"script:ours\""), File::new("theirs", "registry = \"script:theirs\""));
    let named = ("RPC_CONFIG", theirs.0.to_str().unwrap());
    assert_eq!(environment(&[named]).unwrap().registry().unwrap().to_string(), "script:theirs");
    assert_eq!(ours.load(&[named]).unwrap().registry().unwrap().to_string(), "script:ours");
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_who_names_it() {
    let error = Config::from_sources(Some("no/such.toml".as_ref()), |_| None).unwrap_err();
    assert_eq!(error.to_string(), "the configuration file `no/such.toml` cannot be read");
    assert!(format!("{error:?}").contains("cannot be read: No such file"), "{error:?}");
    let error = environment(&[("RPC_CONFIG", "no/such.toml")]).unwrap_err();
    assert_eq!(error.to_string(), "the configuration file `no/such.toml`, which `RPC_CONFIG` names, cannot be read");
}

#[test]
fn a_mistake_in_a_file_is_told_with_the_file() {
    let file = File::new("mistake", "\n  registry = 5");
    assert_eq!(
        file.load(&[]).unwrap_err().to_string(),
        format!(
            "`{}`, line 2, column 14: `registry`: invalid type: integer `5`, expected the url of a registry, or a table of its `name` and its settings",
            file.0.display()
        )
    );
}

#[test]
fn a_variable_that_is_none_of_its_values_is_named() {
    for (name, value, told) in [
        ("RPC_TIMEOUT_MS", "soon", "`RPC_TIMEOUT_MS` is `soon`; give it a number of milliseconds, 1 or more"),
        ("RPC_TIMEOUT_MS", "0", "`RPC_TIMEOUT_MS` is `0`; give it a number of milliseconds, 1 or more"),
        ("RPC_TIMEOUT_MS", "-1", "`RPC_TIMEOUT_MS` is `-1`; give it a number of milliseconds, 1 or more"),
        ("RPC_TIMEOUT_MS", "", "`RPC_TIMEOUT_MS` is empty; give it a number of milliseconds, 1 or more, or unset it"),
        ("RPC_REGISTRY", "", "`RPC_REGISTRY` is empty; give it the url of a registry, or unset it"),
        ("RPC_LOAD_BALANCER", "", "`RPC_LOAD_BALANCER` is empty; give it the key of a load balancer, or unset it"),
        ("RPC_FAULT", "", "`RPC_FAULT` is empty; give it the key of a fault strategy, or unset it"),
        ("RPC_CONFIG", "", "`RPC_CONFIG` is empty; give it the path of a configuration file, or unset it"),
    ] {
        assert_eq!(environment(&[(name, value)]).unwrap_err().to_string(), told);
    }
    environment(&[("RPC_OTHER", ""), ("RPC_TIMEOUT", "soon")]).unwrap();
}

#[test]
fn a_text_that_is_no_toml_is_told_with_the_place() {
    for (text, told) in [
        ("registry = \"a\"\n[client\n", "line 2, column 8: unclosed table, expected `]`"),
        ("registry = ", "line 1, column 12: string values must be quoted, expected literal string"),
        ("[client]\n[client]", "line 2, column 2: duplicate key"),
    ] {
        assert_eq!(refusal(text), told);
    }
}

#[test]
fn a_field_or_value_that_cannot_be_said_is_told_with_its_key() {
    const PLUGIN: &str = "expected the key of a plugin, or a table of its `name` and its settings";
    const MILLIS: &str = "expected a number of milliseconds, 1 or more";
    const POLICY: &str = "`loadBalancer`, `fault`, `timeoutMs`";
    for (text, told) in [
        ("clint = 1", "line 1, column 1: `clint`: unknown field `clint`, expected one of `registry`, `client`, `server`".to_owned()),
        ("client = 1", "line 1, column 10: `client`: invalid type: integer `1`, expected a table".to_owned()),
        ("[client]\ntimeoutms = 1", "line 2, column 1: `client.timeoutms`: unknown field `timeoutms`, expected one of `loadBalancer`, `fault`, `codec`, `timeoutMs`, `connectTimeoutMs`, `maxFrameBytes`, `refreshMs`, `events`, `services`".to_owned()),
        ("[client]\ntimeoutMs = 0", format!("line 2, column 13: `client.timeoutMs`: invalid value: integer `0`, {MILLIS}")),
        ("client.refreshMs = -5", format!("line 1, column 20: `client.refreshMs`: invalid value: integer `-5`, {MILLIS}")),
        ("[client]\ntimeoutMs = \"3s\"", format!("line 2, column 13: `client.timeoutMs`: invalid type: string \"3s\", {MILLIS}")),
        ("[client]\nconnectTimeoutMs = 1.5", format!("line 2, column 20: `client.connectTimeoutMs`: invalid type: floating point `1.5`, {MILLIS}")),
        ("[client]\nmaxFrameBytes = 0", "line 2, column 17: `client.maxFrameBytes`: invalid value: integer `0`, expected a number from 1 to 4294967295".to_owned()),
        ("[client]\ncodec = \"JSON\"", "line 2, column 9: `client.codec`: unknown variant `JSON`, expected `bincode` or `json`".to_owned()),
        ("[client]\nevents = \"yes\"", "line 2, column 10: `client.events`: invalid type: string \"yes\", expected a boolean".to_owned()),
        ("[client]\nfault = 5", format!("line 2, column 9: `client.fault`: invalid type: integer `5`, {PLUGIN}")),
        ("[client]\nfault = { retries = 5 }", "line 2, column 9: `client.fault`: the table has no `name`; give it the key of the plugin".to_owned()),
        ("[client.fault]\nretries = 5", "line 1, column 1: `client.fault`: the table has no `name`; give it the key of the plugin".to_owned()),
        ("[client]\nfault = { name = 5 }", "line 2, column 18: `client.fault.name`: invalid type: integer `5`, expected a string".to_owned()),
        ("[client]\nfault = { name = \"a\", x = nan }", "line 2, column 9: `client.fault`: setting `x` has no value; give it one".to_owned()),
        ("[client]\nfault = { name = \"a\", x = [{ y = nan }] }", "line 2, column 9: `client.fault`: setting `x` has no value; give it one".to_owned()),
        ("[client]\nfault = { name = \"a\", x = 1979-05-27 }", "line 2, column 9: `client.fault`: setting `x` is a date or a time; write it in quotes".to_owned()),
        ("[client]\nfault = { name = \"a\", x = { y = [07:32:00] } }", "line 2, column 9: `client.fault`: setting `x` is a date or a time; write it in quotes".to_owned()),
        ("[client]\nfault = { name = \"a\", x = 9223372036854775808 }", "line 2, column 9: `client.fault`: setting `x` is larger than 9223372036854775807; give it a smaller number, or write it in quotes".to_owned()),
        ("[client.services.A]\ntimeoutMs = 0", format!("line 2, column 13: `client.services.A.timeoutMs`: invalid value: integer `0`, {MILLIS}")),
        ("[client.services.A]\nevents = true", format!("line 2, column 1: `client.services.A.events`: unknown field `events`, expected one of {POLICY}, `methods`")),
        ("[client.services.A.methods.b]\nfault = 1", format!("line 2, column 9: `client.services.A.methods.b.fault`: invalid type: integer `1`, {PLUGIN}")),
        ("[client.services.A.methods.b]\nmethods = 1", format!("line 2, column 1: `client.services.A.methods.b.methods`: unknown field `methods`, expected one of {POLICY}")),
        ("[server]\nweight = -1", "line 2, column 10: `server.weight`: invalid value: integer `-1`, expected a number from 0 to 4294967295".to_owned()),
        ("[server]\nmaxInFlight = 4294967296", "line 2, column 15: `server.maxInFlight`: invalid value: integer `4294967296`, expected a number from 1 to 4294967295".to_owned()),
        ("[server]\nlisten = 9000", "line 2, column 10: `server.listen`: invalid type: integer `9000`, expected a string".to_owned()),
        ("[server.metadata]\nzone = 1", "line 2, column 8: `server.metadata.zone`: invalid type: integer `1`, expected a string".to_owned()),
    ] {
        assert_eq!(refusal(text), told);
    }
}
