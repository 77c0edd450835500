//! The settings in the interface.

use ::http::Method;
use lakeport_base::Error;
use lakeport_http::{Call, Data, Role, Route};

use crate::config::{Explained, explain};
use crate::core::Core;
use crate::part::Part;

pub fn part() -> Part<Core> {
    let list = "List the settings with their values, sources and meanings, without secrets";
    Part {
        tags: &[("settings", "What the operator has set")],
        routes: vec![
            Route::new(Method::GET, "/api/v1/settings", Role::Admin, "listSettings", list, settings)
                .unbound(),
        ],
        ..Part::default()
    }
}

/// `GET /api/v1/settings`
async fn settings(call: Call<Core>) -> Result<Data<Vec<Explained>>, Error> {
    Ok(Data::new(&explain(&call.state.config)))
}
