//! The format of a packed block.
//!
//! The executions of a task are a group, ordered by time, so that a task's executions are found without reading the
//! others. A group is: twice the number of its executions, plus one if it has a task; the task; the length of the rest in
//! bytes; its executions. An execution is: the time since the one before it; a byte with the status, whether it has a
//! duration, and the duration's lowest four bits; the rest of the duration. Numbers are LEB128. An execution takes
//! some 8 bytes.

use lakeport_base::Error;

use crate::execution_records::Status;

/// The bit that says that a duration follows.
const IS_TIMED: u8 = 1 << 3;
/// The bits of the status.
const STATUS: u8 = IS_TIMED - 1;
/// The bits of a duration that are beside the status.
const LOW_BITS: u32 = 4;
const LOW: u64 = (1 << LOW_BITS) - 1;

/// What statistics need of an execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// `None`: the engine does not report the task.
    pub task_id: Option<i64>,
    pub at_ms: i64,
    pub status: Status,
    /// `None`: unfinished.
    pub duration_ms: Option<i64>,
}

/// Packs executions. The first of them began at `first_at_ms`.
pub fn pack(mut entries: Vec<Entry>, first_at_ms: i64) -> Vec<u8> {
    entries.sort_unstable();
    let (mut packed, mut group) = (Vec::with_capacity(entries.len() * 10), Vec::new());
    for of_task in entries.chunk_by(|one, next| one.task_id == next.task_id) {
        group.clear();
        let mut before_ms = first_at_ms;
        for entry in of_task {
            put(&mut group, entry.at_ms.wrapping_sub(before_ms).cast_unsigned());
            before_ms = entry.at_ms;
            let duration = entry.duration_ms.map(i64::cast_unsigned);
            let low = duration.map_or(0, |duration| IS_TIMED | (((duration & LOW) as u8) << LOW_BITS));
            group.push(entry.status as u8 | low);
            if let Some(duration) = duration {
                put(&mut group, duration >> LOW_BITS);
            }
        }
        let task_id = of_task[0].task_id;
        put(&mut packed, (2 * of_task.len() + usize::from(task_id.is_some())) as u64);
        if let Some(id) = task_id {
            put(&mut packed, id.cast_unsigned());
        }
        put(&mut packed, group.len() as u64);
        packed.extend_from_slice(&group);
    }
    packed
}

/// The number of a task's executions.
pub fn count(packed: &[u8], task_id: i64) -> Result<i64, Error> {
    let mut left = Bytes(packed);
    while !left.0.is_empty() {
        let group = left.group().ok_or_else(damaged)?;
        if group.task_id == Some(task_id) {
            return i64::try_from(group.count).map_err(Error::internal);
        }
    }
    Ok(0)
}

/// Calls `take` with the executions of a task, or of all; those of one task are ordered by time.
#[inline]
pub fn each(
    packed: &[u8],
    first_at_ms: i64,
    task_id: Option<i64>,
    mut take: impl FnMut(Entry),
) -> Result<(), Error> {
    let mut left = Bytes(packed);
    while !left.0.is_empty() {
        let mut group = left.group().ok_or_else(damaged)?;
        if task_id.is_some() && group.task_id != task_id {
            continue;
        }
        let mut at_ms = first_at_ms;
        for _ in 0..group.count {
            at_ms = at_ms.wrapping_add(group.entries.number().ok_or_else(damaged)?.cast_signed());
            let (status, duration_ms) = group.entries.status_and_duration().ok_or_else(damaged)?;
            take(Entry { task_id: group.task_id, at_ms, status, duration_ms });
        }
    }
    Ok(())
}

fn damaged() -> Error {
    Error::internal(anyhow::anyhow!("a packed block of executions is damaged"))
}

fn put(bytes: &mut Vec<u8>, mut number: u64) {
    while number > 0x7f {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The executions of one task.
struct Group<'b> {
    task_id: Option<i64>,
    count: u64,
    entries: Bytes<'b>,
}

/// Bytes to read. `None`: they end too early, or make no sense.
struct Bytes<'b>(&'b [u8]);

impl<'b> Bytes<'b> {
    fn group(&mut self) -> Option<Group<'b>> {
        let head = self.number()?;
        let task_id = if head & 1 == 1 { Some(self.number()?.cast_signed()) } else { None };
        let length = usize::try_from(self.number()?).ok()?;
        let (entries, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(Group { task_id, count: head >> 1, entries: Bytes(entries) })
    }

    #[inline]
    fn status_and_duration(&mut self) -> Option<(Status, Option<i64>)> {
        let head = self.byte()?;
        let status = *Status::ALL.get(usize::from(head & STATUS))?;
        if head & IS_TIMED == 0 {
            return Some((status, None));
        }
        let duration = (self.number()? << LOW_BITS) | u64::from(head >> LOW_BITS);
        Some((status, Some(duration.cast_signed())))
    }

    #[inline]
    fn number(&mut self) -> Option<u64> {
        let first = self.byte()?;
        if first <= 0x7f {
            return Some(first.into());
        }
        let (mut number, mut shift) = (u64::from(first & 0x7f), 7);
        loop {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f).checked_shl(shift)?;
            if byte <= 0x7f {
                return Some(number);
            }
            shift += 7;
        }
    }

    #[inline]
    fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn unpacked(packed: &[u8], first_at_ms: i64, task_id: Option<i64>) -> Vec<Entry> {
        let mut entries = Vec::new();
        each(packed, first_at_ms, task_id, |entry| entries.push(entry)).unwrap();
        entries
    }

    fn entry() -> impl Strategy<Value = Entry> {
        let task_id = prop_oneof![Just(None), (0..4_i64).prop_map(Some), any::<i64>().prop_map(Some)];
        let at_ms = prop_oneof![0..100_000_i64, any::<i64>()];
        let duration_ms = prop_oneof![Just(None), (0..100_i64).prop_map(Some), any::<i64>().prop_map(Some)];
        let status = prop::sample::select(&Status::ALL);
        (task_id, at_ms, status, duration_ms).prop_map(|(task_id, at_ms, status, duration_ms)| Entry {
            task_id,
            at_ms,
            status,
            duration_ms,
        })
    }

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked(mut entries in prop::collection::vec(entry(), 0..50)) {
            let first_at_ms = entries.iter().map(|entry| entry.at_ms).min().unwrap_or_default();
            let packed = pack(entries.clone(), first_at_ms);
            entries.sort_unstable();
            prop_assert_eq!(unpacked(&packed, first_at_ms, None), entries.clone());
            for task_id in entries.iter().filter_map(|entry| entry.task_id).chain([7]) {
                let mut of_task = entries.clone();
                of_task.retain(|entry| entry.task_id == Some(task_id));
                prop_assert_eq!(count(&packed, task_id).unwrap(), of_task.len() as i64);
                prop_assert_eq!(unpacked(&packed, first_at_ms, Some(task_id)), of_task);
            }
        }

        #[test]
        fn other_bytes_are_an_error_at_most(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let _ = count(&bytes, 7);
            let _ = each(&bytes, 0, None, |_| {});
        }
    }

    #[test]
    fn an_execution_takes_few_bytes() {
        let entry = |n: i64| Entry {
            task_id: Some(n % 100),
            at_ms: 1_790_000_000_000 + n * 8_000,
            status: Status::Success,
            duration_ms: Some(n * 37 % 10_000),
        };
        let packed = pack((0..2_000).map(entry).collect(), 1_790_000_000_000);
        assert!(packed.len() < 2_000 * 8, "{}", packed.len());
    }
}
