//! Finds the route of a request, by the path first, then the method: an unknown path is 404, a known path
//! with another method is 405 with the allowed methods. GET routes answer HEAD.

use std::collections::BTreeMap;

use http::Method;
use lakeport_base::Error;

use super::Endpoint;

/// All routes; immutable.
pub struct Router {
    endpoints: Vec<Endpoint>,
    /// For each path the indices of its routes.
    paths: matchit::Router<Vec<usize>>,
}

/// The result of a look-up: the route's index, and the path's parameters, still percent-encoded.
pub struct Found {
    pub place: usize,
    pub parameters: Vec<(String, String)>,
}

impl Router {
    /// Fails when two routes have the same operation id, the same method and path, or ambiguous paths.
    pub fn new(endpoints: Vec<Endpoint>) -> anyhow::Result<Router> {
        let mut by_path: BTreeMap<&'static str, Vec<usize>> = BTreeMap::new();
        let mut by_operation: BTreeMap<&'static str, &'static str> = BTreeMap::new();
        for (place, route) in endpoints.iter().enumerate() {
            if let Some(other) = by_operation.insert(route.id, route.path) {
                anyhow::bail!("two routes are called {}: {} and {other}", route.id, route.path);
            }
            let here = by_path.entry(route.path).or_default();
            if let Some(&other) = here.iter().find(|&&other| endpoints[other].method == route.method) {
                anyhow::bail!(
                    "two routes for {} {}: {} and {}",
                    route.method,
                    route.path,
                    endpoints[other].id,
                    route.id
                );
            }
            here.push(place);
        }
        let names = |places: &[usize]| -> String {
            places.iter().map(|&place| endpoints[place].id).collect::<Vec<_>>().join(", ")
        };
        let mut paths = matchit::Router::new();
        for (path, places) in &by_path {
            if let Err(error) = paths.insert(*path, places.clone()) {
                let other = match &error {
                    matchit::InsertError::Conflict { with } => by_path.get(with.as_str()).map(|p| names(p)),
                    _ => None,
                };
                let other = other.unwrap_or_else(|| "not a path".to_owned());
                anyhow::bail!("route {path} ({}): {error} ({other})", names(places));
            }
        }
        Ok(Router { endpoints, paths })
    }

    pub fn endpoints(&self) -> &[Endpoint] {
        &self.endpoints
    }

    /// 404 for an unknown path, 405 for a known one with another method.
    pub fn find(&self, method: &Method, path: &str) -> Result<Found, Error> {
        let Ok(matched) = self.paths.at(path) else { return Err(unknown_path(path)) };
        let wanted = if method == Method::HEAD { &Method::GET } else { method };
        let place = matched.value.iter().find(|&&place| self.endpoints[place].method == *wanted);
        let Some(&place) = place else {
            return Err(Error::method_not_allowed(self.allowed(matched.value)));
        };
        let parameters =
            matched.params.iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        Ok(Found { place, parameters })
    }

    /// The methods of a path; empty if the path is unknown.
    pub fn methods(&self, path: &str) -> Vec<&'static str> {
        self.paths.at(path).map(|matched| self.allowed(matched.value)).unwrap_or_default()
    }

    /// In a fixed order, with HEAD if there is GET.
    fn allowed(&self, places: &[usize]) -> Vec<&'static str> {
        let has = |name: &str| places.iter().any(|&place| self.endpoints[place].method.as_str() == name);
        ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
            .into_iter()
            .filter(|name| has(name) || (*name == "HEAD" && has("GET")))
            .collect()
    }
}

fn unknown_path(path: &str) -> Error {
    Error::refused(404, "not_found", format!("unknown path {path}"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{Bare, Call, Role, Route};
    use super::*;

    async fn nothing(_: Call<()>) -> Result<Bare<()>, Error> {
        Ok(Bare::new(&()))
    }

    fn route(method: Method, path: &'static str, operation: &'static str) -> Endpoint {
        Route::new(method, path, Role::Viewer, operation, "Does nothing", nothing).bind(&Arc::new(()))
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
    fn an_operation_has_one_route() {
        let routes = vec![route(Method::GET, "/a", "same"), route(Method::GET, "/b", "same")];
        let message = Router::new(routes).err().expect("a conflict").to_string();
        assert!(message.contains("/a") && message.contains("/b"), "{message}");
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
        assert_eq!(router.endpoints()[found.place].id, "get");
        assert_eq!(found.parameters, [("id".to_owned(), "x%3Ay".to_owned())]);
    }
}
