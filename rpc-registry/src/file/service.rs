//! The instances of one service, as its directory has them.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rpc_core::ServiceInstance;
use rpc_core::registry::InstanceList;

use super::entry::Entry;
use super::error::Failure;
use super::root::{self, Root};
use crate::value::Reader;

/// Where the instances of a service are, and how they are read.
#[derive(Clone, Debug)]
pub(super) struct Service {
    root: Arc<Root>,
    reader: Arc<Reader>,
    name: String,
    dir: PathBuf,
}

impl Service {
    /// # Errors
    ///
    /// When it has no name.
    pub(super) fn new(root: Arc<Root>, reader: Arc<Reader>, name: &str) -> Result<Self, Failure> {
        if name.is_empty() {
            return Err(Failure::Empty("service name"));
        }
        let dir = root.path().join(file_name(name));
        Ok(Self { root, reader, name: name.to_owned(), dir })
    }

    /// Its directory.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Makes its directory if it is not there.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub(super) fn make(&self) -> Result<(), Failure> {
        self.root.make()?;
        root::make(&DirBuilder::new(), &self.dir)
    }

    /// All instances whose providers live, by id; the files of the others are removed. Nothing if there is no directory.
    ///
    /// # Errors
    ///
    /// When the directory cannot be read. A single file that cannot be read costs a warning and no other instance.
    pub(super) fn list(&self) -> Result<Option<InstanceList>, Failure> {
        self.root.check()?;
        let Some(entries) = self.entries()? else { return Ok(None) };
        let mut instances = BTreeMap::new();
        for entry in &entries {
            // The later one counts if two have the same id.
            instances.extend(self.instance(entry)?.map(|instance| (instance.id.clone(), instance)));
        }
        let places: Vec<_> = entries.iter().map(place).collect();
        self.reader.forget(&self.dir.join("").to_string_lossy(), |place| places.iter().any(|there| there == place));
        Ok(Some(InstanceList::new(instances.into_values().collect())))
    }

    /// The registrations, the earliest first.
    fn entries(&self) -> Result<Option<Vec<Entry>>, Failure> {
        let files = match fs::read_dir(&self.dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(Failure::at("read", &self.dir))?,
        };
        let mut entries = Vec::new();
        for file in files {
            let file = file.map_err(Failure::at("read", &self.dir))?;
            // One that vanishes meanwhile is none.
            if file.file_type().is_ok_and(|file_type| file_type.is_file()) {
                entries.extend(Entry::of_lock(&self.dir, &file.file_name()));
            }
        }
        entries.sort();
        Ok(Some(entries))
    }

    /// The instance of a registration whose provider lives.
    fn instance(&self, entry: &Entry) -> Result<Option<ServiceInstance>, Failure> {
        let value = entry.lives().and_then(|lives| if lives { entry.read() } else { Ok(None) });
        match value {
            // Where upper case is lower case, two services may share a directory.
            Ok(Some((version, value))) => {
                let instance = self.reader.read(&place(entry), version, &value);
                Ok(instance.filter(|instance| instance.service == self.name))
            }
            Ok(None) => Ok(None),
            Err(Failure::Io { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
                self.reader.refuse(&place(entry), 0, &source);
                Ok(None)
            }
            Err(failure) => Err(failure),
        }
    }
}

/// What is said of an entry.
fn place(entry: &Entry) -> String {
    entry.value_path().to_string_lossy().into_owned()
}

/// The name of a service as that of a directory: letters, digits, `-`, `_` and, but for the first place, `.` as they are, all other bytes
/// as `%` and two digits.
fn file_name(service: &str) -> String {
    let mut name = String::new();
    for byte in service.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => name.push(char::from(byte)),
            b'.' if !name.is_empty() => name.push('.'),
            _ => name.push_str(&format!("%{byte:02X}")),
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_has_a_directory_of_its_own_whatever_its_name() {
        for (service, name) in [
            ("shop.Users_2-x", "shop.Users_2-x"),
            ("..", "%2E."),
            (".hidden", "%2Ehidden"),
            ("a/b", "a%2Fb"),
            ("a%2Fb", "a%252Fb"),
            ("ä \0", "%C3%A4%20%00"),
        ] {
            assert_eq!(file_name(service), name);
        }
    }
}
