use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use lakeport_store::testing::on_each_store;
use lakeport_store::{Db, Value};
use tempfile::TempDir;

use super::rotate::{Rotated, rotate_at};
use super::*;
use crate::{datasources, idempotency};

const HOUR_MS: i64 = 60 * 60 * 1000;

/// Not `compose::encrypted_columns`, which would compile the whole server into these tests.
fn columns() -> [EncryptedColumn; 3] {
    [datasources::SECRET, datasources::READ_SECRET, idempotency::BODY]
}

fn in_folder() -> (TempDir, Keys) {
    let folder = tempfile::tempdir().unwrap();
    let keys = Keys::open(None, folder.path(), false).unwrap();
    (folder, keys)
}

fn of(texts: &[&str]) -> Keys {
    Keys::open(Some(&texts.join(",")), Path::new("nowhere"), true).unwrap()
}

fn refused(opened: anyhow::Result<Keys>) -> String {
    format!("{:#}", opened.unwrap_err())
}

#[test]
fn the_first_start_creates_a_private_key() {
    let (folder, keys) = in_folder();
    let path = folder.path().join("secret.key");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let sealed = keys.encrypt("a/1/b", b"geheim");
    let again = Keys::open(None, folder.path(), false).unwrap();
    assert_eq!(again.decrypt("a/1/b", &sealed).unwrap().bytes(), b"geheim");
}

#[test]
fn first_starts_at_the_same_time_agree_on_one_key() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Keys::open(None, folder.path(), false).unwrap().ids();
    let all: Vec<Vec<String>> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..8).map(|_| scope.spawn(open)).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(all.iter().all(|ids| *ids == all[0] && ids.len() == 1), "{all:?}");
}

#[test]
fn a_key_readable_by_others_is_refused() {
    let (folder, _) = in_folder();
    let path = folder.path().join("secret.key");
    fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
    let message = refused(Keys::open(None, folder.path(), false));
    assert!(message.contains("mode 640") && message.contains("chmod 600"), "{message}");
}

#[test]
fn a_damaged_key_file_names_the_line() {
    let (folder, _) = in_folder();
    let path = folder.path().join("secret.key");
    fs::write(&path, "# ours\nbm90IDMyIGJ5dGVz 2026-01-01T00:00:00Z\n").unwrap();
    let message = refused(Keys::open(None, folder.path(), false));
    assert!(message.contains("line 2") && message.contains("12 bytes"), "{message}");
    assert!(!message.contains("bm90"), "{message}");
    fs::write(&path, "").unwrap();
    assert!(refused(Keys::open(None, folder.path(), false)).contains("there is none"));
}

#[test]
fn a_shared_store_needs_the_key_setting() {
    let folder = tempfile::tempdir().unwrap();
    let message = refused(Keys::open(None, folder.path(), true));
    assert!(message.contains("lakeport key new") && message.contains("openssl rand -base64 32"), "{message}");
    assert!(!folder.path().join("secret.key").exists());
    Keys::open(Some(&new_key()), folder.path(), true).unwrap();
}

#[test]
fn of_several_keys_the_first_encrypts_and_all_decrypt() {
    let (old, new) = (new_key(), new_key());
    let before = of(&[&old]);
    let sealed = before.encrypt("a/1/b", b"x");
    let both = of(&[&new, &old]);
    assert_eq!(both.decrypt("a/1/b", &sealed).unwrap().text(), Some("x"));
    let sealed = both.encrypt("a/1/b", b"y");
    let error = before.decrypt("a/1/b", &sealed).unwrap_err();
    assert_eq!((error.status(), error.code()), (503, "secret_unreadable"));
    assert!(error.to_string().contains(&both.ids()[0]), "{error}");
}

#[test]
fn a_wrong_key_setting_is_not_repeated() {
    let message = check_setting(&format!("{},geheimnis", *new_key())).unwrap_err();
    assert!(message.contains("key 2") && !message.contains("geheimnis"), "{message}");
    check_setting(&new_key()).unwrap();
}

#[test]
fn a_moved_ciphertext_does_not_decrypt() {
    let keys = of(&[&new_key()]);
    let sealed = keys.encrypt(&context("datasources", &["7"], "secret"), b"x");
    for other in ["datasources/8/secret", "datasources/7/read_secret", ""] {
        assert_eq!(keys.decrypt(other, &sealed).unwrap_err().code(), "secret_unreadable");
    }
    assert_eq!(keys.decrypt("datasources/7/secret", b"short").unwrap_err().code(), "secret_unreadable");
}

#[test]
fn parts_of_a_primary_key_cannot_run_into_each_other() {
    assert_ne!(context("t", &["a/b", "c"], "x"), context("t", &["a", "b/c"], "x"));
    assert_ne!(context("t", &["a%2Fb"], "x"), context("t", &["a/b"], "x"));
}

#[test]
fn a_digest_is_verified_by_its_key() {
    let (old, new) = (new_key(), new_key());
    let stored = of(&[&old]).digest(b"body");
    let both = of(&[&new, &old]);
    assert!(both.is_digest_of(&stored, b"body"));
    assert!(!both.is_digest_of(&stored, b"other"));
    assert_ne!(both.digest(b"body"), stored);
    assert!(!of(&[&new]).is_digest_of(&stored, b"body"));
    for nonsense in ["", ":", "zz:zz", &stored[..20]] {
        assert!(!both.is_digest_of(nonsense, b"body"));
    }
}

#[test]
fn nothing_shows_a_secret() {
    assert_eq!(format!("{:?}", Secret::from("geheim".to_owned())), "***");
    let text = new_key();
    assert!(!format!("{:?}", of(&[&text])).contains(text.trim_end_matches('=')));
}

/// Three data sources and one stored answer; the answer's primary key has characters of a path.
const ANSWER: [&str; 4] = ["token/1", "POST", "/api/v1/tokens", "k%2F1"];

async fn fill(db: &Db, keys: &Keys) {
    const SOURCE: &str = "INSERT INTO datasources (name, kind, url, secret, read_secret, created_at, updated_at) \
        VALUES ($1, 'sqlite', 'u', $2, $3, 1, 1)";
    const KEPT: &str = "INSERT INTO idempotency_keys (caller, method, path, key, body_digest, claim, body, \
        encrypted, created_at, expires_at) VALUES ($1, $2, $3, $4, '', '', $5, $6, 1, 1)";
    for id in 1..=3_i64 {
        let secret = keys.encrypt(&format!("datasources/{id}/secret"), format!("s{id}").as_bytes());
        let read = (id == 2).then(|| keys.encrypt("datasources/2/read_secret", b"r2"));
        db.execute(SOURCE, &[id.to_string().into(), secret.into(), read.into()]).await.unwrap();
    }
    let sealed = keys.encrypt(&context("idempotency_keys", &ANSWER, "body"), b"token");
    let key = ANSWER.map(Value::from);
    let values: Vec<Value> = key.iter().cloned().chain([sealed.into(), 1.into()]).collect();
    db.execute(KEPT, &values).await.unwrap();
    let plain: Vec<Value> =
        key[..3].iter().cloned().chain(["plain".into(), b"open".to_vec().into(), 0.into()]).collect();
    db.execute(KEPT, &plain).await.unwrap();
}

/// Checks that these keys decrypt everything; returns the ids of the keys in use.
async fn all_read(db: &Db, keys: &Keys) -> Vec<String> {
    let mut ids = Vec::new();
    let mut open = |context: &str, sealed: Vec<u8>| {
        ids.push(hex::encode(&sealed[1..9]));
        keys.decrypt(context, &sealed).unwrap().text().unwrap().to_owned()
    };
    for row in db.read("SELECT id, secret, read_secret FROM datasources ORDER BY id", &[]).await.unwrap() {
        let id: i64 = row.get(0).unwrap();
        assert_eq!(open(&format!("datasources/{id}/secret"), row.get(1).unwrap()), format!("s{id}"));
        if let Some(read) = row.get(2).unwrap() {
            assert_eq!(open("datasources/2/read_secret", read), "r2");
        }
    }
    let rows = db.read("SELECT body FROM idempotency_keys ORDER BY encrypted", &[]).await.unwrap();
    assert_eq!(rows[0].get::<Vec<u8>>(0).unwrap(), b"open");
    assert_eq!(open(&context("idempotency_keys", &ANSWER, "body"), rows[1].get(0).unwrap()), "token");
    ids.sort();
    ids.dedup();
    ids
}

#[tokio::test]
async fn a_rotation_reencrypts_and_keeps_previous_key() {
    on_each_store(async |db| {
        let (folder, server) = in_folder();
        let first = server.ids();
        fill(&db, &server).await;
        let cli = Keys::open(None, folder.path(), false).unwrap();
        let rotated = rotate_at(&db, &cli, &columns(), now_ms()).await.unwrap();
        assert_eq!((rotated.made, rotated.changed, &rotated.kept), (true, 5, &first));
        assert_eq!(all_read(&db, &server).await, std::slice::from_ref(&rotated.key));
        assert_eq!(server.ids(), [rotated.key, first[0].clone()]);
    })
    .await;
}

#[tokio::test]
async fn a_new_key_is_used_at_once() {
    on_each_store(async |db| {
        let (folder, server) = in_folder();
        let late = server.encrypt("a/1/b", b"late");
        let cli = Keys::open(None, folder.path(), false).unwrap();
        let rotated = rotate(&db, &cli, &columns()).await.unwrap();
        let sealed = server.encrypt("a/1/b", b"x");
        assert_eq!(hex::encode(&sealed[1..9]), rotated.key);
        assert!(server.digest(b"x").starts_with(&rotated.key));
        assert_eq!(cli.decrypt("a/1/b", &late).unwrap().text(), Some("late"), "written during the rotation");
    })
    .await;
}

#[tokio::test]
async fn keys_go_once_nothing_can_be_under_them_any_more() {
    on_each_store(async |db| {
        let (_folder, keys) = in_folder();
        fill(&db, &keys).await;
        let start = now_ms();
        let mut made = keys.ids();
        for hours in [0, 0, 30, 60] {
            made.push(rotate_at(&db, &keys, &columns(), start + hours * HOUR_MS).await.unwrap().key);
            assert_eq!(all_read(&db, &keys).await, made[made.len() - 1..]);
        }
        let ids = keys.ids();
        assert_eq!(ids, [made[4].clone(), made[3].clone()], "all of {made:?}");
    })
    .await;
}

#[tokio::test]
async fn rapid_rotations_keep_recent_keys() {
    on_each_store(async |db| {
        let (_folder, keys) = in_folder();
        let first = keys.ids();
        let start = now_ms();
        for _ in 0..3 {
            rotate_at(&db, &keys, &columns(), start).await.unwrap();
        }
        assert_eq!(keys.ids().len(), 4);
        assert!(keys.ids().contains(&first[0]));
    })
    .await;
}

#[tokio::test]
async fn a_killed_rotation_is_completed_later() {
    on_each_store(async |db| {
        let (folder, keys) = in_folder();
        fill(&db, &keys).await;
        // Killed between the new key and the rows, and while a temporary file was written.
        let path = folder.path().join("secret.key");
        let lock = file::try_lock(&path).unwrap();
        let held = keys.followed();
        let new = Key::random(now_ms());
        file::write(&path, &[&new, held.newest()], &lock).unwrap();
        drop(lock);
        fs::write(folder.path().join("secret.key.new"), "half").unwrap();
        let after = Keys::open(None, folder.path(), false).unwrap();
        assert_eq!(all_read(&db, &after).await, [held.newest().id.to_string()]);
        let rotated = rotate(&db, &after, &columns()).await.unwrap();
        assert_eq!((all_read(&db, &keys).await, rotated.changed), (vec![rotated.key], 5));
    })
    .await;
}

#[tokio::test]
async fn two_rotations_at_once_are_one_too_many() {
    on_each_store(async |db| {
        let (folder, keys) = in_folder();
        let _first = file::try_lock(&folder.path().join("secret.key")).unwrap();
        let message = rotate(&db, &keys, &columns()).await.unwrap_err().to_string();
        assert!(message.contains("another `lakeport key rotate`"), "{message}");
    })
    .await;
}

#[tokio::test]
async fn rotation_skips_secrets_under_current_key() {
    on_each_store(async |db| {
        let (old, new) = (new_key(), new_key());
        let before = of(&[&old]);
        fill(&db, &before).await;
        let alone = rotate(&db, &before, &columns()).await.unwrap();
        let id = before.ids().remove(0);
        assert_eq!(alone, Rotated { key: id.clone(), ..Rotated::default() });
        let both = of(&[&new, &old]);
        let rotated = rotate(&db, &both, &columns()).await.unwrap();
        assert_eq!((rotated.made, rotated.changed, &rotated.kept), (false, 5, &vec![id]));
        all_read(&db, &of(&[&new])).await;
    })
    .await;
}

#[tokio::test]
async fn an_undecryptable_secret_is_named_and_skipped() {
    on_each_store(async |db| {
        let (_folder, keys) = in_folder();
        fill(&db, &keys).await;
        let foreign = of(&[&new_key()]).encrypt("datasources/1/secret", b"x");
        let set = "UPDATE datasources SET secret = $1 WHERE id = 1";
        db.execute(set, &[foreign.clone().into()]).await.unwrap();
        let rotated = rotate(&db, &keys, &columns()).await.unwrap();
        assert_eq!((rotated.changed, rotated.unreadable), (4, vec!["datasources/1/secret".to_owned()]));
        let rows = db.read("SELECT secret FROM datasources WHERE id = 1", &[]).await.unwrap();
        assert_eq!(rows[0].get::<Vec<u8>>(0).unwrap(), foreign);
    })
    .await;
}

#[tokio::test]
async fn many_secrets_are_reencrypted_in_batches() {
    on_each_store(async |db| {
        let (_folder, keys) = in_folder();
        const SQL: &str = "INSERT INTO datasources (name, kind, url, secret, created_at, updated_at) \
            VALUES ($1, 'sqlite', 'u', $2, 1, 1)";
        let count = 2 * store::BATCH_ROWS as i64 + 1;
        let mut tx = db.begin().await.unwrap();
        for id in 1..=count {
            let sealed = keys.encrypt(&format!("datasources/{id}/secret"), b"x");
            tx.execute(SQL, &[id.to_string().into(), sealed.into()]).await.unwrap();
        }
        tx.commit().await.unwrap();
        assert_eq!(rotate(&db, &keys, &columns()).await.unwrap().changed, count as u64);
    })
    .await;
}
