//! A file that appears complete or not at all: written beside its place under another name, readable by its
//! owner only, and renamed once it is on disk. An unfinished file is removed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::Context;

const MODE: u32 = 0o600;

pub struct Aside {
    /// `None` once it was renamed.
    file: Option<File>,
    aside: PathBuf,
    place: PathBuf,
}

impl Aside {
    pub fn create(place: &Path) -> anyhow::Result<Aside> {
        if fs::symlink_metadata(place).is_ok_and(|found| !found.is_file()) {
            anyhow::bail!("{} exists and is not a regular file; use another path", place.display());
        }
        let name = place.file_name().with_context(|| format!("{} is not a file path", place.display()))?;
        let name = format!(".{}.{}", name.to_string_lossy(), std::process::id());
        let aside = place.with_file_name(name);
        let file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(&aside);
        let file = file.with_context(|| format!("cannot write {}", aside.display()))?;
        Ok(Aside { file: Some(file), aside, place: place.to_owned() })
    }

    /// Moves it to its final place; returns its size in bytes.
    pub fn finish(mut self) -> anyhow::Result<u64> {
        let file = self.file.take().expect("it is finished once");
        let put = || -> io::Result<u64> {
            file.sync_all()?;
            fs::rename(&self.aside, &self.place)?;
            let folder = self.place.parent().filter(|folder| !folder.as_os_str().is_empty());
            File::open(folder.unwrap_or(Path::new(".")))?.sync_all()?;
            Ok(file.metadata()?.len())
        };
        put().with_context(|| format!("cannot write {}", self.place.display()))
    }
}

impl Write for Aside {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_mut().expect("it is finished once").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().expect("it is finished once").flush()
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        if self.file.is_some() {
            let _gone_already_or_left = fs::remove_file(&self.aside);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_finished_file_replaces_the_old_privately() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("b");
        fs::write(&place, "old").unwrap();
        let mut aside = Aside::create(&place).unwrap();
        aside.write_all(b"new!").unwrap();
        assert_eq!(fs::read(&place).unwrap(), b"old");
        assert_eq!(aside.finish().unwrap(), 4);
        assert_eq!(fs::read(&place).unwrap(), b"new!");
        assert_eq!(fs::metadata(&place).unwrap().permissions().mode() & 0o777, MODE);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn one_that_is_given_up_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let mut aside = Aside::create(&folder.path().join("b")).unwrap();
        aside.write_all(b"half").unwrap();
        drop(aside);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
