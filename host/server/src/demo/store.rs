//! The store's mark that the example company was created.

use lakeport_base::Error;
use lakeport_store::Db;

pub async fn is_there(db: &Db) -> Result<bool, Error> {
    Ok(!db.read("SELECT 1 FROM demo WHERE id = 1", &[]).await?.is_empty())
}

pub async fn set_there(db: &Db, now_ms: i64) -> Result<(), Error> {
    const SET: &str = "INSERT INTO demo (id, set_up_at) VALUES (1, $1) ON CONFLICT (id) DO NOTHING";
    db.execute(SET, &[now_ms.into()]).await.map(drop)
}
