//! Handlers of tools.

use std::collections::HashMap;
use std::sync::Arc;

use lakeport_base::Error;
use lakeport_base::error::Detail;
use lakeport_bindings::tool::tool::ToolInfo;
use lakeport_http::{Bare, Json, Nothing, etag_of};
use lakeport_plugins::with_defaults;

use super::view::ToolView;
use super::{ToolPath, UpdateToolSettings, store};
use crate::agent::forms::ListQuery;
use crate::agent::steps::schema::{SETTINGS_MAX_BYTES, Schemas};
use crate::agent::topics::view::List;
use crate::agent::{Agent, Call};
use crate::audit::{Change, Commit};

/// `GET /api/v1/nl2sql/tools`
pub async fn list(call: Call<Nothing, ListQuery>) -> Result<Bare<List<ToolView>>, Error> {
    let paging = call.query.paging();
    let mut settings: HashMap<_, _> = store::all(&call.state.db).await?.into_iter().collect();
    let tools = call.state.plugins.registry().tools();
    let offset = usize::try_from(paging.offset()).unwrap_or(usize::MAX);
    let size = usize::try_from(paging.page_size).unwrap_or(0);
    let page = tools.iter().skip(offset).take(size);
    let views = page.map(|info| ToolView::new(info, settings.remove(&info.name).unwrap_or_default()));
    Ok(Bare::new(&List::new(&paging, tools.len() as i64, views.collect())))
}

/// `GET /api/v1/nl2sql/tools/{name}`
pub async fn get(call: Call<ToolPath>) -> Result<Bare<ToolView>, Error> {
    let name = call.path.name.0.as_str();
    let info = active(&call.state, name)?;
    let settings = store::of(&call.state.db, name).await?;
    let etag = etag_of(&settings);
    Ok(Bare::new(&ToolView::new(&info, settings)).with_etag(&etag))
}

/// `PUT /api/v1/nl2sql/tools/{name}/settings`
pub async fn update(
    call: Call<ToolPath, Nothing, Json<UpdateToolSettings>>,
) -> Result<Bare<ToolView>, Error> {
    let (state, name) = (&call.state, call.path.name.0.as_str());
    let info = active(state, name)?;
    let wrong = |message: String| Error::invalid(vec![Detail::new("settings", message)]);
    let mut tx = state.db.begin().await?;
    let before = store::lock(&mut tx, name, state.clock.now_ms()).await?;
    call.check_if_match(&etag_of(&before))?;
    let after = call.body.settings.clone().over(Some(before.clone())).unwrap_or_default();
    let given = with_defaults(&info.config_schema, after.clone());
    if given.to_string().len() > SETTINGS_MAX_BYTES {
        return Err(wrong(format!("has more than {SETTINGS_MAX_BYTES} bytes as JSON")));
    }
    Schemas::compile(&info).check_settings(&given).map_err(wrong)?;
    store::set(&mut tx, name, &after, state.clock.now_ms()).await?;
    let change = Change::of("tool_settings", name).before(&before).after(&after);
    let answer = Bare::new(&ToolView::new(&info, after.clone())).with_etag(&etag_of(&after));
    call.commit(tx, change, answer).await
}

fn active(state: &Agent, name: &str) -> Result<Arc<ToolInfo>, Error> {
    let tools = state.plugins.registry().tools();
    tools.into_iter().find(|info| info.name == name).ok_or_else(|| Error::not_found("tool", name))
}
