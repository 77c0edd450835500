//! Routes as data, and the table that finds one. The path decides first, then the method: an unknown path
//! is 404, a known path with another method is 405 and says what it takes. HEAD is answered by GET.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use http::Method;

use super::{Call, Reply};
use crate::error::Error;

/// What a caller must be for a route. A role may do all that a lower one may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// No identity is needed: health, the index.
    Anyone,
    Viewer,
    Editor,
    Approver,
    Admin,
}

/// How large a body may be; the numbers are the operator's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyLimit {
    /// `body_max_bytes`
    Standard,
    /// `plugin_upload_max_bytes`
    Upload,
}

type Answer = Pin<Box<dyn Future<Output = Result<Reply, Error>> + Send>>;

/// A handler with its type taken away, so that routes can stand in one list.
pub struct Handler<S>(Arc<dyn Fn(Call<S>) -> Answer + Send + Sync>);

impl<S> Handler<S> {
    pub(super) fn run(&self, call: Call<S>) -> Answer {
        (self.0)(call)
    }
}

impl<S> Clone for Handler<S> {
    fn clone(&self) -> Self {
        Handler(Arc::clone(&self.0))
    }
}

/// One method of one path.
pub struct Route<S> {
    pub method: Method,
    /// A path written whole, parameters in braces: `/api/v1/plugins/{name}`.
    pub path: &'static str,
    pub role: Role,
    /// The operation's name in the description of the interface: `listPlugins`.
    pub operation: &'static str,
    pub body_limit: BodyLimit,
    pub handler: Handler<S>,
}

impl<S> Clone for Route<S> {
    fn clone(&self) -> Self {
        Route { method: self.method.clone(), handler: self.handler.clone(), ..*self }
    }
}

impl<S: 'static> Route<S> {
    pub fn new<F, A>(
        method: Method,
        path: &'static str,
        role: Role,
        operation: &'static str,
        handler: F,
    ) -> Self
    where
        F: Fn(Call<S>) -> A + Send + Sync + 'static,
        A: Future<Output = Result<Reply, Error>> + Send + 'static,
    {
        let handler = Handler(Arc::new(move |call| Box::pin(handler(call)) as Answer));
        Route { method, path, role, operation, body_limit: BodyLimit::Standard, handler }
    }

    /// Takes bodies up to the operator's limit for uploads.
    #[must_use]
    pub fn upload(mut self) -> Self {
        self.body_limit = BodyLimit::Upload;
        self
    }
}

/// All routes; immutable once built.
pub struct Router<S> {
    paths: matchit::Router<Vec<Route<S>>>,
}

/// What a path led to: the route, and its parameters as they stood in the path (still percent-encoded).
pub struct Found<'r, S> {
    pub route: &'r Route<S>,
    pub parameters: Vec<(String, String)>,
}

impl<S: 'static> Router<S> {
    /// Fails when two routes claim the same method and path, or their paths cannot be told apart.
    pub fn new(routes: Vec<Route<S>>) -> anyhow::Result<Router<S>> {
        let mut by_path: BTreeMap<&'static str, Vec<Route<S>>> = BTreeMap::new();
        for route in routes {
            let here = by_path.entry(route.path).or_default();
            if let Some(other) = here.iter().find(|other| other.method == route.method) {
                anyhow::bail!(
                    "two routes for {} {}: {} and {}",
                    route.method,
                    route.path,
                    other.operation,
                    route.operation
                );
            }
            here.push(route);
        }
        let mut operations: Vec<(&'static str, String)> = Vec::new();
        let mut paths = matchit::Router::new();
        for (path, routes) in by_path {
            let names: Vec<&str> = routes.iter().map(|route| route.operation).collect();
            let names = names.join(", ");
            if let Err(error) = paths.insert(path, routes) {
                let other = match &error {
                    matchit::InsertError::Conflict { with } => {
                        operations.iter().find(|(path, _)| path == with).map(|(_, names)| names.as_str())
                    }
                    _ => None,
                };
                anyhow::bail!("route {path} ({names}): {error} ({})", other.unwrap_or("not a path"));
            }
            operations.push((path, names));
        }
        Ok(Router { paths })
    }

    /// 404 for an unknown path, 405 for a known one with another method.
    pub fn find(&self, method: &Method, path: &str) -> Result<Found<'_, S>, Error> {
        let Ok(matched) = self.paths.at(path) else { return Err(unknown_path(path)) };
        let wanted = if method == Method::HEAD { &Method::GET } else { method };
        let Some(route) = matched.value.iter().find(|route| route.method == *wanted) else {
            return Err(Error::method_not_allowed(method.as_str(), path, allowed(matched.value)));
        };
        let parameters =
            matched.params.iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        Ok(Found { route, parameters })
    }
}

fn unknown_path(path: &str) -> Error {
    Error::refused(404, "not_found", format!("there is nothing at {path}"))
}

/// In a fixed order, HEAD wherever there is GET.
fn allowed<S>(routes: &[Route<S>]) -> Vec<&'static str> {
    let has = |name: &str| routes.iter().any(|route| route.method.as_str() == name);
    ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
        .into_iter()
        .filter(|name| has(name) || (*name == "HEAD" && has("GET")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn nothing(_: Call<()>) -> Result<Reply, Error> {
        Ok(Reply::data(&()))
    }

    fn route(method: Method, path: &'static str, operation: &'static str) -> Route<()> {
        Route::new(method, path, Role::Viewer, operation, nothing)
    }

    #[test]
    fn two_routes_for_one_path_and_method_fail_naming_both() {
        let routes = vec![route(Method::GET, "/a/{id}", "first"), route(Method::GET, "/a/{id}", "second")];
        let message = Router::new(routes).err().expect("a conflict").to_string();
        assert!(message.contains("first") && message.contains("second"), "{message}");
    }

    #[test]
    fn paths_that_cannot_be_told_apart_fail_naming_both() {
        let routes = vec![route(Method::GET, "/a/{id}", "first"), route(Method::PUT, "/a/{name}", "second")];
        let message = Router::new(routes).err().expect("a conflict").to_string();
        assert!(message.contains("first") && message.contains("second"), "{message}");
    }

    #[test]
    fn the_path_decides_before_the_method() {
        let router = Router::new(vec![
            route(Method::GET, "/a/{id}", "get"),
            route(Method::DELETE, "/a/{id}", "delete"),
            route(Method::POST, "/a/run", "run"),
        ])
        .unwrap();
        assert_eq!(router.find(&Method::GET, "/b").err().unwrap().status(), 404);
        assert_eq!(router.find(&Method::GET, "/a/run").err().unwrap().status(), 405);
        let Error::Refused(refusal) = router.find(&Method::PUT, "/a/7").err().unwrap() else { panic!() };
        assert_eq!(refusal.allow, ["GET", "HEAD", "DELETE"]);
        let found = router.find(&Method::HEAD, "/a/x%3Ay").ok().unwrap();
        assert_eq!(found.route.operation, "get");
        assert_eq!(found.parameters, [("id".to_owned(), "x%3Ay".to_owned())]);
    }

    #[test]
    fn a_role_may_do_all_that_a_lower_one_may() {
        assert!(Role::Admin > Role::Approver && Role::Approver > Role::Editor);
        assert!(Role::Editor > Role::Viewer && Role::Viewer > Role::Anyone);
    }
}
