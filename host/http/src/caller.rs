//! The caller and its rights.

use std::fmt;

use lakeport_base::Error;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The role that a route requires. A role includes the lower ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// No identity is required: health, the OpenAPI description.
    #[serde(skip)]
    Anyone,
    Viewer,
    Editor,
    Approver,
    Admin,
}

impl Role {
    /// All roles of identities, lowest first.
    pub const ALL: [Role; 4] = [Role::Viewer, Role::Editor, Role::Approver, Role::Admin];

    /// The name in tokens and answers.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Anyone => "anyone",
            Role::Viewer => "viewer",
            Role::Editor => "editor",
            Role::Approver => "approver",
            Role::Admin => "admin",
        }
    }

    /// The role of this name.
    pub fn named(name: &str) -> Option<Role> {
        Role::ALL.into_iter().find(|role| role.as_str() == name)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// How a caller was authenticated.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Identity {
    /// Not at all: valid for [`Role::Anyone`] only.
    Anonymous,
    /// A program of this machine, in local mode.
    Local,
    /// A token, by its id.
    Token(i64),
    /// A subject of the OIDC issuer.
    Oidc(String),
}

/// The authenticated caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    pub identity: Identity,
    /// The name in the audit log.
    pub name: String,
    pub role: Role,
    /// Names of the data sources that it is bound to; `None`: all.
    pub datasources: Option<Vec<String>>,
    /// If not empty, the caller may only do what these scopes allow.
    pub scopes: Vec<String>,
    /// When its token or JWT expires, milliseconds since 1970; `None`: never.
    pub expires_at_ms: Option<i64>,
}

impl Caller {
    /// A caller without an identity.
    pub fn anonymous() -> Caller {
        Caller {
            identity: Identity::Anonymous,
            name: "anonymous".to_owned(),
            role: Role::Anyone,
            datasources: None,
            scopes: Vec::new(),
            expires_at_ms: None,
        }
    }

    /// A caller that passed the checks of local mode: a program of this machine's user.
    pub fn local() -> Caller {
        Caller {
            identity: Identity::Local,
            name: "local".to_owned(),
            role: Role::Admin,
            ..Caller::anonymous()
        }
    }

    /// Separates idempotency keys and rate limits of different callers.
    pub fn key(&self) -> String {
        match &self.identity {
            Identity::Anonymous => "anonymous".to_owned(),
            Identity::Local => "local".to_owned(),
            Identity::Token(id) => format!("token:{id}"),
            Identity::Oidc(subject) => format!("oidc:{subject}"),
        }
    }

    /// `anonymous`, `local`, `token` or `oidc`.
    pub fn kind(&self) -> &'static str {
        match &self.identity {
            Identity::Anonymous => "anonymous",
            Identity::Local => "local",
            Identity::Token(_) => "token",
            Identity::Oidc(_) => "oidc",
        }
    }

    /// Whether it is bound to data sources.
    pub fn is_bound(&self) -> bool {
        self.datasources.is_some()
    }

    /// Whether it may use this data source: cause statements on it, and see its SQL, values, error texts and logs.
    pub fn may_use(&self, datasource: &str) -> bool {
        self.datasources.as_ref().is_none_or(|names| names.iter().any(|name| name == datasource))
    }

    /// 403 unless it may use this data source.
    pub fn check_datasource(&self, name: &str) -> Result<(), Error> {
        if self.may_use(name) {
            return Ok(());
        }
        Err(not_allowed(format!("{} is bound to other data sources than `{name}`", self.name)))
    }

    /// 403 unless a token with this binding is as narrow as its own. `None`: all data sources.
    pub fn check_binding(&self, wanted: Option<&[String]>) -> Result<(), Error> {
        let outside = wanted.into_iter().flatten().find(|name| !self.may_use(name));
        match (wanted, outside) {
            (None, _) if self.is_bound() => {
                Err(not_allowed(format!("{} is bound to data sources, and this token is not", self.name)))
            }
            (_, Some(name)) => self.check_datasource(name),
            _ => Ok(()),
        }
    }

    /// 403 if it is bound to data sources, because `what` concerns others.
    pub fn check_unbound(&self, what: &str) -> Result<(), Error> {
        if !self.is_bound() {
            return Ok(());
        }
        let message = format!(
            "{} is bound to data sources, and {what} concerns others; ask an admin who is not",
            self.name
        );
        Err(not_allowed(message))
    }
}

fn not_allowed(message: String) -> Error {
    Error::forbidden("datasource_not_allowed", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binding_is_never_widened() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let bound = Caller { datasources: Some(names(&["a", "b"])), ..Caller::local() };
        assert!(bound.check_binding(Some(&names(&["b"]))).is_ok());
        assert!(bound.check_binding(Some(&[])).is_ok());
        for wider in [None, Some(names(&["a", "c"]))] {
            let error = bound.check_binding(wider.as_deref()).unwrap_err();
            assert_eq!((error.status(), error.code()), (403, "datasource_not_allowed"));
        }
        assert!(Caller::local().check_binding(None).is_ok());
        assert!(bound.check_datasource("a").is_ok() && bound.check_datasource("c").is_err());
        assert!(bound.check_unbound("this").is_err() && Caller::local().check_unbound("this").is_ok());
    }

    #[test]
    fn a_role_may_do_all_that_a_lower_one_may() {
        assert!(Role::Admin > Role::Approver && Role::Approver > Role::Editor);
        assert!(Role::Editor > Role::Viewer && Role::Viewer > Role::Anyone);
    }

    #[test]
    fn a_role_is_found_by_its_name() {
        assert!(Role::ALL.into_iter().all(|role| Role::named(role.as_str()) == Some(role)));
        assert_eq!(Role::named("anyone"), None);
        assert_eq!(Role::named("root"), None);
    }
}
