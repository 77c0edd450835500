//! The granted folder, in memory.

use std::collections::BTreeMap;

use crate::Error;
use crate::bindings::host::files::{File, FilePage};
use crate::{Page, Timestamp};

/// The longest file, in bytes.
const FILE_MAX_BYTES: usize = 8 * 1024 * 1024;
/// The longest path, in bytes, and the most segments of it.
const PATH_MAX_BYTES: usize = 200;
const SEGMENTS_MAX: usize = 8;

#[derive(Default)]
pub struct Folder {
    files: BTreeMap<String, (Vec<u8>, Timestamp)>,
}

impl Folder {
    pub fn content(&self, path: &str) -> Option<Vec<u8>> {
        self.files.get(path).map(|(content, _)| content.clone())
    }

    pub fn read(&self, path: &str) -> Result<Vec<u8>, Error> {
        check_path(path)?;
        self.content(path).ok_or_else(|| Error::not_found(format!("there is no file {path}")))
    }

    pub fn write(&mut self, path: &str, content: &[u8], now_ms: Timestamp) -> Result<bool, Error> {
        check_path(path)?;
        if content.len() > FILE_MAX_BYTES {
            return Err(Error::limit_exceeded(format!("a file has {FILE_MAX_BYTES} bytes at most")));
        }
        if self.files.get(path).is_some_and(|(old, _)| old == content) {
            return Ok(false);
        }
        self.files.insert(path.to_owned(), (content.to_vec(), now_ms));
        Ok(true)
    }

    /// Pages by path: the cursor is the last path of the page before.
    pub fn entries(&self, folder: &str, page: &Page) -> Result<FilePage, Error> {
        if !folder.is_empty() {
            check_path(folder)?;
        }
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let after = page.cursor.as_deref().unwrap_or_default();
        let below = self.files.iter().filter(|(path, _)| path.starts_with(&prefix) && path.as_str() > after);
        let file = |(path, (content, modified)): (&String, &(Vec<u8>, Timestamp))| File {
            path: path.clone(),
            size: content.len() as u64,
            modified: *modified,
        };
        let limit = page.limit.max(1) as usize;
        let mut files: Vec<File> = below.take(limit + 1).map(file).collect();
        let is_more = files.len() > limit;
        files.truncate(limit);
        let next = files.last().filter(|_| is_more).map(|last| last.path.clone());
        Ok(FilePage { files, next })
    }

    pub fn remove(&mut self, path: &str) -> Result<bool, Error> {
        check_path(path)?;
        Ok(self.files.remove(path).is_some())
    }
}

fn check_path(path: &str) -> Result<(), Error> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let fits =
        |segment: &str| !segment.is_empty() && !segment.starts_with('.') && segment.bytes().all(is_plain);
    let is_path =
        path.len() <= PATH_MAX_BYTES && path.split('/').count() <= SEGMENTS_MAX && path.split('/').all(fits);
    if is_path { Ok(()) } else { Err(Error::invalid_input(format!("{path:?} is no path of the folder"))) }
}
