//! Runs a type until all that its bytes can hold was seen.
//!
//! A run deserializes one value. An enum shows one variant in a run and an option one side, so runs are repeated, each
//! taking a turn not taken yet, until nothing is left or nothing new is learned. Types are kept by identity, hence a
//! recursive type ends where it meets itself: there the run takes the shortest way to a value that it knows.
//!
//! Each value is written again, to see whether it is written as it was read. `Serialize` may leave out what is empty, so some
//! more runs fill containers down to a certain level only.

use std::collections::HashMap;

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::ShapeError;
use super::definition::{Definition, Form, Identity, Kind, Part, path};
use super::probe;
use super::tracer::{Failed, Tracer};
use super::verify::verify;

/// The deepest nesting that is followed; the codec does not decode deeper values.
pub(super) const MAX_DEPTH: usize = 128;

/// Questions answered for one type before the rest counts as unknown.
const MAX_STEPS: usize = 1_000_000;

/// Questions answered in the runs that leave containers empty.
const MAX_SPARSE_STEPS: usize = 100_000;

/// Probe values offered in one place before it counts as refusing all.
const MAX_TRIES: usize = 24;

/// Why a place could not be filled in this run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// The next run goes another way.
    Again,
    /// It contains itself, and no way to a value is known yet.
    Recursion,
    /// It refuses every probe value.
    Dead,
}

#[derive(Debug)]
pub(super) struct Trace<'a> {
    pub(super) definitions: Vec<Definition>,
    /// Why the innermost place failed; `None` if a visitor refused a value.
    pub(super) failure: Option<Failure>,
    pub(super) error: Option<ShapeError>,
    /// Inside a type that is open already: take the shortest way, explore nothing.
    pub(super) quiet: usize,
    /// Containers nested deeper than this stay empty; `None` while there is more to see.
    filled_levels: Option<usize>,
    /// A container stayed empty for its level alone.
    left_empty: bool,
    name: &'a str,
    identities: HashMap<Identity, usize>,
    unfinished: Vec<bool>,
    stack: Vec<(usize, usize)>,
    depth: usize,
    steps: usize,
    progress: usize,
    learned: usize,
}

/// Everything there is to see of `T`; the first definition holds the value itself.
pub(super) fn trace<T: Serialize + DeserializeOwned>(name: &str) -> Result<Vec<Definition>, ShapeError> {
    let mut trace = Trace::new(name);
    let mut idle = 0;
    while trace.survey() && idle < trace.patience() {
        let before = trace.progress;
        trace.run::<T>()?;
        idle = if trace.progress > before { 0 } else { idle + 1 };
    }
    trace.run_sparsely::<T>()?;
    Ok(trace.definitions)
}

impl<'a> Trace<'a> {
    fn new(name: &'a str) -> Self {
        Trace {
            definitions: vec![Definition::new(Kind::Root, &[], 1)],
            failure: None,
            error: None,
            quiet: 0,
            filled_levels: None,
            left_empty: false,
            name,
            identities: HashMap::new(),
            unfinished: Vec::new(),
            stack: Vec::new(),
            depth: 0,
            steps: 0,
            progress: 0,
            learned: 0,
        }
    }

    /// Reads one value, and checks that it is written alike.
    fn run<T: Serialize + DeserializeOwned>(&mut self) -> Result<(), ShapeError> {
        let value = self.within(0, 0, |trace| T::deserialize(Tracer { trace }));
        if let Some(error) = self.error.take() {
            return Err(error);
        }
        match value {
            Ok(value) => verify(&value, &self.definitions, self.name),
            // Why there is no value is noted in the trace.
            Err(Failed) => Ok(()),
        }
    }

    /// Shows every struct with its containers empty, for what `Serialize` leaves out then.
    fn run_sparsely<T: Serialize + DeserializeOwned>(&mut self) -> Result<(), ShapeError> {
        let enums = self.definitions.iter().filter(|definition| definition.kind == Kind::Enum);
        let turns = enums.map(|definition| definition.parts.len()).max().unwrap_or(1);
        let end = MAX_STEPS.min(self.steps + MAX_SPARSE_STEPS);
        for level in 0..MAX_DEPTH {
            self.filled_levels = Some(level);
            self.left_empty = false;
            for _ in 0..turns {
                if self.steps >= end {
                    return Ok(());
                }
                self.run::<T>()?;
            }
            if !self.left_empty {
                break;
            }
        }
        Ok(())
    }

    /// Notes which types lead to something not seen yet; says whether there is any.
    fn survey(&mut self) -> bool {
        let reaches = |definition: &Definition, unfinished: &[bool]| {
            definition.reachable().iter().any(|part| {
                self.is_fresh(part)
                    || !self.is_blocked(part)
                        && part.forms.iter().any(|form| matches!(form, Form::Type(id) if unfinished[*id]))
            })
        };
        let mut unfinished = vec![false; self.definitions.len()];
        loop {
            let mut changed = false;
            for (id, definition) in self.definitions.iter().enumerate().rev() {
                if !unfinished[id] && reaches(definition, &unfinished) {
                    unfinished[id] = true;
                    changed = true;
                }
            }
            if !changed {
                break;
            }
        }
        let any = unfinished[0] && self.steps < MAX_STEPS;
        self.unfinished = unfinished;
        any
    }

    /// Runs without news before giving up: enough for every enum to take each of its turns.
    fn patience(&self) -> usize {
        16 + self.definitions.iter().map(|definition| definition.parts.len()).sum::<usize>()
    }

    /// Fills one place.
    pub(super) fn within<R>(
        &mut self,
        definition: usize,
        part: usize,
        run: impl FnOnce(&mut Self) -> Result<R, Failed>,
    ) -> Result<R, Failed> {
        self.stack.push((definition, part));
        let result = self.nested(run);
        self.stack.pop();
        match result {
            Ok(_) => self.filled(definition, part),
            Err(Failed) => self.failed(definition, part),
        }
        result
    }

    /// Goes one level deeper.
    pub(super) fn nested<R>(&mut self, run: impl FnOnce(&mut Self) -> Result<R, Failed>) -> Result<R, Failed> {
        self.failure = None;
        self.steps += 1;
        if self.depth == MAX_DEPTH || self.steps > MAX_STEPS {
            return Err(self.fail(Failure::Dead));
        }
        self.depth += 1;
        let result = run(self);
        self.depth -= 1;
        result
    }

    fn filled(&mut self, definition: usize, part: usize) {
        self.failure = None;
        let definition = &mut self.definitions[definition];
        if definition.kind == Kind::Enum {
            definition.shortest.get_or_insert(part);
        }
        let done = &mut definition.parts[part].done;
        if !*done {
            *done = true;
            self.progress += 1;
            self.learned += 1;
        }
    }

    fn failed(&mut self, definition: usize, part: usize) {
        let part = &mut self.definitions[definition].parts[part];
        let failure = self.failure.unwrap_or_else(|| {
            part.tries += 1;
            self.progress += 1;
            if part.tries < MAX_TRIES { Failure::Again } else { Failure::Dead }
        });
        if failure == Failure::Dead && !part.dead {
            part.dead = true;
            self.progress += 1;
        }
        self.failure = Some(failure);
    }

    /// Gives up this run, or the part of it that can go on without the place.
    pub(super) fn fail(&mut self, failure: Failure) -> Failed {
        self.failure = Some(failure);
        Failed
    }

    /// Keeps the next runs from failing in the same place, unless something new makes it worth it.
    pub(super) fn avoid(&mut self, definition: usize, part: usize) {
        if self.failure != Some(Failure::Again) {
            self.definitions[definition].parts[part].blocked_at = Some(self.learned);
        }
    }

    /// Notes what the innermost place holds.
    pub(super) fn record(&mut self, form: Form) {
        let Some(&(definition, part)) = self.stack.last() else {
            return;
        };
        let forms = &mut self.definitions[definition].parts[part].forms;
        if !forms.contains(&form) {
            forms.push(form);
            self.progress += 1;
        }
    }

    /// Notes that the innermost place holds this type, and gives its number and whether it is open already.
    pub(super) fn open(&mut self, identity: Identity) -> (usize, bool) {
        let next = self.definitions.len();
        let id = *self.identities.entry(identity).or_insert(next);
        if id == next {
            let Identity { kind, names, parts, .. } = identity;
            self.definitions.push(Definition::new(kind, names, parts));
        }
        self.record(Form::Type(id));
        let open = self.stack.iter().any(|(definition, _)| *definition == id);
        (id, open)
    }

    /// Notes that a value of the type was built from its first `asked` places.
    pub(super) fn built(&mut self, id: usize, asked: usize) {
        let definition = &mut self.definitions[id];
        definition.asked = definition.asked.max(asked);
        if !definition.built {
            definition.built = true;
            self.progress += 1;
            self.learned += 1;
        }
    }

    /// Notes that the enum does not know this variant.
    pub(super) fn absent(&mut self, id: usize, variant: usize) {
        self.definitions[id].parts[variant].absent = true;
        self.progress += 1;
        self.failure = Some(Failure::Again);
    }

    /// Whether a run should go into this place, which it could leave out.
    pub(super) fn explores(&mut self, id: usize, part: usize) -> bool {
        let part = &self.definitions[id].parts[part];
        if let Some(levels) = self.filled_levels {
            let container = |(id, _): &&(usize, usize)| self.definitions[*id].is_container();
            let empty = self.stack.iter().filter(container).count() >= levels;
            let works = self.quiet == 0 && part.done && !self.is_blocked(part);
            self.left_empty |= works && empty;
            return works && !empty;
        }
        self.quiet == 0 && (self.is_fresh(part) || !self.is_blocked(part) && self.is_unfinished(part))
    }

    /// The variant to show in this run: one never seen, else one that leads to something not seen, else one that works.
    pub(super) fn choose(&self, id: usize) -> Result<usize, Failure> {
        let Definition { parts, turn, .. } = &self.definitions[id];
        if let Some(fresh) = parts.iter().position(|part| self.is_fresh(part)) {
            return Ok(fresh);
        }
        let all = |wanted: &dyn Fn(&Part) -> bool| -> Vec<usize> {
            (0..parts.len()).filter(|index| !parts[*index].absent && wanted(&parts[*index])).collect()
        };
        let leading = all(&|part| !self.is_blocked(part) && self.is_unfinished(part));
        let working = all(&|part| part.done);
        if self.filled_levels.is_some() && !working.is_empty() {
            return Ok(working[turn % working.len()]);
        }
        let blocked = parts.iter().any(|part| self.is_blocked(part) && !part.dead);
        if !leading.is_empty() {
            return Ok(leading[turn % leading.len()]);
        }
        match working.len() {
            0 if blocked => Err(Failure::Recursion),
            0 => Err(Failure::Dead),
            count => Ok(working[self.probe() % count]),
        }
    }

    /// Which probe value to offer: a place that refused some asks for the next, and so for all within it.
    pub(super) fn probe(&self) -> usize {
        let tries = |(definition, part): &(usize, usize)| self.definitions[*definition].parts[*part].tries;
        self.stack.iter().rev().map(tries).find(|tries| *tries > 0).unwrap_or(0)
    }

    /// How many elements a sequence has. Only a place that itself refused some gets many, for lengths multiply inwards.
    pub(super) fn length(&self) -> usize {
        let length = probe::length(self.probe());
        match self.stack.last() {
            Some((definition, part)) if self.definitions[*definition].parts[*part].tries > 0 => length,
            _ => length.min(1),
        }
    }

    /// Ends all runs: the type cannot be carried.
    pub(super) fn refuse(&mut self, what: &'static str, instead: &'static str) -> Failed {
        let path = path(&self.definitions, self.name, &self.stack);
        self.error.get_or_insert(ShapeError::Unsuitable { path, what, instead });
        self.fail(Failure::Dead)
    }

    fn is_fresh(&self, part: &Part) -> bool {
        !part.done && !part.dead && !part.absent && !self.is_blocked(part)
    }

    fn is_blocked(&self, part: &Part) -> bool {
        part.blocked_at == Some(self.learned)
    }

    fn is_unfinished(&self, part: &Part) -> bool {
        let unfinished = |id: &usize| self.unfinished.get(*id).copied().unwrap_or(true);
        part.forms.iter().any(|form| matches!(form, Form::Type(id) if unfinished(id)))
    }
}
