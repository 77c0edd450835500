//! The log on standard error. Lines of requests are written together, a few milliseconds late: one write a line
//! costs as much as a small read of the store. Warnings and errors are written at once, with all that waits before
//! them. A process that is killed loses what it logged in its last [`DELAY`], and no warning.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;

/// How long a line waits for others.
const DELAY: Duration = Duration::from_millis(20);
/// So much waits at the most.
const WAITING_MAX_BYTES: usize = 64 * 1024;

/// Lines on their way out.
#[derive(Clone)]
pub struct Log(Arc<Shared>);

struct Shared {
    waiting: Mutex<Vec<u8>>,
    has_lines: Condvar,
    /// Held while lines are written, so that they stay in order.
    out: Mutex<Box<dyn Write + Send>>,
}

/// One line.
pub struct Line<'l> {
    log: &'l Log,
    is_urgent: bool,
}

/// Writes what waits when it is dropped.
pub struct FlushAtEnd(Log);

impl Log {
    /// A thread of its own writes what is not urgent; it ends with the process.
    #[expect(clippy::disallowed_methods, reason = "the thread does nothing else, and waits for more lines")]
    pub fn start(out: impl Write + Send + 'static) -> std::io::Result<(Log, FlushAtEnd)> {
        let log = Log(Arc::new(Shared {
            waiting: Mutex::default(),
            has_lines: Condvar::new(),
            out: Mutex::new(Box::new(out)),
        }));
        let writer = log.clone();
        std::thread::Builder::new().name("log".to_owned()).spawn(move || {
            loop {
                let mut waiting = writer.0.waiting.lock();
                writer.0.has_lines.wait_while(&mut waiting, |waiting| waiting.is_empty());
                drop(waiting);
                std::thread::sleep(DELAY);
                writer.flush();
            }
        })?;
        Ok((log.clone(), FlushAtEnd(log)))
    }

    fn flush(&self) {
        let mut out = self.0.out.lock();
        let lines = std::mem::take(&mut *self.0.waiting.lock());
        // The reader of the log may have gone away: no reason not to serve.
        let _ = out.write_all(&lines).and_then(|()| out.flush());
    }

    fn add(&self, line: &[u8], is_urgent: bool) {
        let mut waiting = self.0.waiting.lock();
        let is_first = waiting.is_empty();
        waiting.extend_from_slice(line);
        let is_full = waiting.len() > WAITING_MAX_BYTES;
        drop(waiting);
        if is_urgent || is_full {
            self.flush();
        } else if is_first {
            self.0.has_lines.notify_one();
        }
    }
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.log.add(bytes, self.is_urgent);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl<'l> MakeWriter<'l> for Log {
    type Writer = Line<'l>;

    fn make_writer(&'l self) -> Line<'l> {
        Line { log: self, is_urgent: true }
    }

    fn make_writer_for(&'l self, about: &Metadata<'_>) -> Line<'l> {
        Line { log: self, is_urgent: *about.level() <= Level::WARN }
    }
}

impl Drop for FlushAtEnd {
    fn drop(&mut self) {
        self.0.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Kept(Arc<Mutex<Vec<u8>>>);

    impl Kept {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().clone()).unwrap()
        }
    }

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_warning_is_written_at_once_behind_what_waits() {
        let kept = Kept::default();
        let (log, _end) = Log::start(kept.clone()).unwrap();
        log.add(b"a\n", false);
        log.add(b"b\n", true);
        assert_eq!(kept.text(), "a\nb\n");
    }

    #[tokio::test]
    async fn lines_are_written_soon_and_at_the_end() {
        let kept = Kept::default();
        let (log, end) = Log::start(kept.clone()).unwrap();
        log.add(b"a\n", false);
        let written = async {
            while kept.text().is_empty() {
                tokio::time::sleep(DELAY).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), written).await.unwrap();
        assert_eq!(kept.text(), "a\n");
        log.add(b"b\n", false);
        drop(end);
        assert_eq!(kept.text(), "a\nb\n");
    }

    #[test]
    fn much_is_not_kept_waiting() {
        let kept = Kept::default();
        let (log, _end) = Log::start(kept.clone()).unwrap();
        log.add(&vec![b'a'; WAITING_MAX_BYTES + 1], false);
        assert_eq!(kept.text().len(), WAITING_MAX_BYTES + 1);
    }
}
