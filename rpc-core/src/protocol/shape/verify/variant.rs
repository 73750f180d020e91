//! Which variant of an enum is written.

use super::Disagreement;
use super::compound::Compound;
use super::place::Place;
use super::written::{Found, Written};
use crate::protocol::shape::definition::Definition;

const NUMBERS: &str = "move a skipped variant behind all others, and skip it in both directions";
const NAMES: &str = "use `rename` and `skip` for both directions alike";

impl<'w, 'd> Place<'w, 'd> {
    /// The enum and the place of the variant, if they are known.
    pub(super) fn variant(&self, index: u32, name: &'static str) -> Result<Option<(usize, usize)>, Disagreement> {
        let Found::Type(id) = self.find(Written::Enum)? else {
            return Ok(None);
        };
        let index = index as usize;
        self.walk.definitions[id].check_variant(index, name)?;
        Ok(Some((id, index)))
    }

    pub(super) fn within_variant(
        self,
        index: u32,
        name: &'static str,
        written: Written,
        len: usize,
    ) -> Result<Compound<'w, 'd>, Disagreement> {
        let Some((id, index)) = self.variant(index, name)? else {
            return Ok(Compound::new(self.walk, Found::Unknown, len));
        };
        let Place { walk, .. } = self;
        walk.stack.push((id, index));
        let forms = &walk.definitions[id].parts[index].forms;
        Place { walk, forms }.compound(written, len).map(Compound::of_variant)
    }
}

impl Definition {
    /// Whether the variant is read under this number and name. serde lists an alias beside its name, so that the names of
    /// the variants behind it stand further on in the list than their numbers say; but they keep their order.
    fn check_variant(&self, index: usize, name: &'static str) -> Result<(), Disagreement> {
        let here = self.parts.get(index).filter(|part| !part.absent);
        let (part, listed) = match (here, self.listed(name)) {
            (_, Some(listed)) if listed < index => {
                let read = format!("variant `{name}` as number {listed}");
                return Err(Disagreement::differs(read, format!("it as number {index}"), NUMBERS));
            }
            (Some(part), Some(listed)) => (part, listed),
            (Some(part), None) => {
                let read = format!("variant `{}` as number {index}", part.name());
                return Err(Disagreement::differs(read, format!("variant `{name}`"), NAMES));
            }
            (None, _) => {
                return Err(Disagreement::differs(
                    format!("no variant of number {index}"),
                    format!("`{name}`"),
                    NUMBERS,
                ));
            }
        };
        for (other, part) in self.parts.iter().enumerate() {
            let Some(other_name) = part.written.get() else { continue };
            if self.listed(other_name).map(|at| at.cmp(&listed)) != Some(other.cmp(&index)) {
                let read = format!("variant `{}` as number {index}", self.parts[index].name);
                let written = format!("variant `{name}`, and as number {other} variant `{other_name}`");
                return Err(Disagreement::differs(read, written, NAMES));
            }
        }
        part.written.set(Some(name));
        Ok(())
    }
}
