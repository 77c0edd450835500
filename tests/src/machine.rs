//! The machine of a server under test: its clock jumps and its disk is full when a test says so. `machine.c` is loaded
//! into the server, so that the server's own code, SQLite's and Rust's see the same clock and the same disk.

use std::os::unix::fs::FileExt as _;
use std::process::Command;

use crate::Server;

/// The clock and the disk of one server; they follow the real ones until they are set.
pub struct Machine {
    numbers: std::fs::File,
    _folder: tempfile::TempDir,
}

impl Machine {
    /// For a server that does not run yet; `None`, with a message, where there is no C compiler.
    pub fn under(server: &mut Server) -> Option<Machine> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (library, numbers) = (folder.path().join("machine.so"), folder.path().join("numbers"));
        let source = crate::workspace().join("tests/src/machine.c");
        let compiled =
            Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).status();
        if !compiled.is_ok_and(|status| status.success()) {
            eprintln!("NOT TESTED: there is no C compiler (cc), and so no other clock and no full disk");
            return None;
        }
        std::fs::write(&numbers, [0; 16]).expect("a temporary file");
        let disk = format!("{}/", server.data().display());
        server.set("LD_PRELOAD", &library.display().to_string());
        server.set("MACHINE", &numbers.display().to_string());
        server.set("MACHINE_DISK", &disk);
        let numbers = std::fs::OpenOptions::new().write(true).open(numbers).expect("it was just written");
        Some(Machine { numbers, _folder: folder })
    }

    /// Makes the wall clock jump to this many seconds before or after the real time.
    pub fn set_clock(&self, ahead_s: i64) {
        self.set(0, ahead_s);
    }

    /// Leaves no room for the data folder, or makes room again.
    pub fn fill_disk(&self, is_full: bool) {
        self.set(1, i64::from(is_full));
    }

    fn set(&self, place: u64, number: i64) {
        self.numbers.write_all_at(&number.to_ne_bytes(), place * 8).expect("the file takes it");
    }
}
