//! The processes that are started: this program once more, with another command.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context as _, ensure};
use nix::sys::prctl;
use nix::sys::signal::Signal;

use crate::cell::Cell;
use crate::load::Measured;
use crate::stack::Stack;
use crate::usage::Usage;

/// Has the system end this process when the one that started it has ended, however that came.
pub(crate) fn end_with_parent() -> anyhow::Result<()> {
    prctl::set_pdeathsig(Signal::SIGKILL).context("cannot ask to be ended with the parent")
}

fn this_program() -> anyhow::Result<Command> {
    Ok(Command::new(std::env::current_exe().context("cannot tell which program this is")?))
}

/// A server at work; ended when it is dropped.
#[derive(Debug)]
pub(crate) struct Server {
    stack: Stack,
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    address: String,
}

impl Server {
    /// Starts one and waits until it serves.
    pub(crate) fn start(stack: Stack) -> anyhow::Result<Self> {
        let mut command = this_program()?;
        command.arg("serve").arg(stack.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().with_context(|| format!("cannot start a server of {stack}"))?;
        let (input, output) = (process.stdin.take(), process.stdout.take());
        let mut server = Self {
            stack,
            process,
            input: input.expect("it is piped"),
            output: BufReader::new(output.expect("it is piped")),
            address: String::new(),
        };
        server.address = server.line()?;
        Ok(server)
    }

    /// Where it serves.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// What it has used by now.
    pub(crate) fn usage(&mut self) -> anyhow::Result<Usage> {
        writeln!(self.input).with_context(|| format!("cannot ask the server of {}", self.stack))?;
        Ok(serde_json::from_str(&self.line()?)?)
    }

    /// Loads it, from a process of its own: in a closed loop, or in an open one with this rate.
    pub(crate) fn load(&self, cell: Cell, seconds: f64, rate: Option<u32>) -> anyhow::Result<Measured> {
        let stack = self.stack;
        let mut command = this_program()?;
        command.arg("load").args([stack.to_string(), cell.to_string(), self.address.clone(), seconds.to_string()]);
        command.args(rate.map(|rate| format!("--rate={rate}"))).stdin(Stdio::null());
        let output = command.output().with_context(|| format!("cannot start a load generator of {stack}"))?;
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{stack}, {cell}: {}", error.trim().trim_start_matches("error: "));
        serde_json::from_slice(&output.stdout).with_context(|| format!("cannot read what {stack} measured"))
    }

    fn line(&mut self) -> anyhow::Result<String> {
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        ensure!(line.ends_with('\n'), "the server of {} has ended", self.stack);
        Ok(line.trim_end().to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
