//! A server over the MySQL protocol that answers like the front end of Apache Doris or StarRocks, for tests
//! of their clients. Neither is available from a package registry.
//!
//! Unknown statements are errors, and all statements are recorded. It keeps a catalogue in memory and no
//! rows. Tests control it with [`Double::tell`], one JSON object each; `steer` lists them.
//!
//! Rules that it keeps, by clause: the three ways of texts (and the one of StarRocks, which is that of `ALTER TABLE`
//! in Doris before 4.0), the key as a prefix, key and distribution types, distribution and partition within the key,
//! NULL to NOT NULL, defaults that fit their type and do not change, the servers' own matrix of types, texts that do not shrink, one job
//! a table and no other ALTER meanwhile, no change of views and materialized views, buckets of partitioned tables only,
//! neither buckets nor copies of colocated tables and in cloud mode, nodes counted for existing partitions only, `REPLACE` as the aggregate of values that
//! are merged on read, `ON UPDATE` that a definition without it takes away, `RENAME COLUMN` with `TO` in StarRocks
//! alone, SET with constants only, no prepared statements, `NO_BACKSLASH_ESCAPES` (the lexing turns).

mod catalogue;
mod ddl;
mod lexer;
mod parse;
mod query;
mod session;
mod show;
mod steer;
mod wire;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use catalogue::Catalogue;
pub use catalogue::Product;
use parse::Syntax;
use session::Session;
use steer::World;

/// What the double is.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The product.
    pub product: Product,
    /// Its version.
    pub version: String,
    /// Whether `information_schema` has defaults and partitions, and for StarRocks layouts, as in the newest
    /// versions.
    pub new_catalogue: bool,
    /// Whether data lies in a storage that all nodes share: Doris' cloud mode.
    pub cloud: bool,
}

impl Settings {
    /// An Apache Doris.
    pub fn doris() -> Settings {
        Settings { product: Product::Doris, version: "4.0.2".to_owned(), new_catalogue: false, cloud: false }
    }

    /// One whose `ALTER TABLE` an older parser reads.
    pub fn older_doris() -> Settings {
        Settings { version: "3.1.4".to_owned(), ..Settings::doris() }
    }

    /// A StarRocks.
    pub fn starrocks() -> Settings {
        Settings { product: Product::StarRocks, version: "3.5.8".to_owned(), ..Settings::doris() }
    }
}

/// A running double. It ends when it is dropped, its connections with it.
pub struct Double {
    address: SocketAddr,
    world: Arc<Mutex<World>>,
    _runtime: Runtime,
}

impl Double {
    /// Starts one on a free port of this machine. Databases `ods` and `dwd` exist.
    pub fn start(settings: Settings) -> io::Result<Double> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        let world = Arc::new(Mutex::new(World::new(Catalogue::new(settings))));
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
        let address = listener.local_addr()?;
        runtime.spawn(accept(listener, world.clone()));
        Ok(Double { address, world, _runtime: runtime })
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Controls it, or queries its state.
    pub fn tell(&self, asked: &Value) -> Result<Value, String> {
        self.world.lock().control(asked)
    }

    /// The executed texts, in order.
    pub fn carried_out(&self) -> Vec<String> {
        self.world.lock().carried_out()
    }
}

/// An error in the front end's words.
fn refused(message: impl Into<String>) -> Syntax {
    (1105, format!("errCode = 2, detailMessage = {}", message.into()))
}

async fn accept(listener: TcpListener, world: Arc<Mutex<World>>) {
    let mut id = 0;
    while let Ok((stream, _)) = listener.accept().await {
        id += 1;
        // A failed connection does not affect others.
        tokio::spawn(Session::serve(id, world.clone(), stream));
    }
}
